//! What custom modules of several kinds see and return.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[path = "modules/commands.rs"]
mod commands;
#[path = "modules/host.rs"]
mod host;

use halite_proto::{Map, Value};
use halite_pyworker::{Request, Workers};

use host::{Host, logged};

#[test]
fn a_job_finds_nothing_of_another_one_and_tells_its_return_code() {
    let text = "def count():\n    __context__['n'] = __context__.get('n', 0) + 1\n    __opts__['left'] = 1\n    return __context__['n']\ndef left():\n    return 'left' in __opts__\ndef fail(n):\n    __context__['retcode'] = n\n    return 'done'\n";
    let Some(host) = Host::with("modules", text) else {
        return;
    };
    let call = |name: &str, job: &str| host.call("modules", name, &[], job).unwrap();
    assert_eq!(call("mine.count", "1"), 1.into());
    assert_eq!(call("mine.count", "1"), 2.into());
    assert_eq!(call("mine.count", "2"), 1.into());
    assert_eq!(call("mine.left", "2"), true.into());
    assert_eq!(call("mine.left", "3"), false.into());
    let done = host.call("modules", "mine.fail", &[5.into()], "3").unwrap();
    assert_eq!(done, "done".into());
    assert_eq!(call("mine.left", "3"), false.into());
    assert_eq!(*host.retcodes.lock().unwrap(), [5]);
}

#[test]
fn a_module_shows_its_own_functions_alone() {
    let text = "from os.path import join\nfrom functools import wraps\n__virtual_aliases__ = ('also',)\n__outputter__ = {'own': 'txt'}\ndef deco(f):\n    @wraps(f)\n    def inner(*args):\n        return f(*args)\n    return inner\ndef own():\n    return 1\n@deco\ndef decorated():\n    return 2\nlam = lambda: 3\nclass Class:\n    def __call__(self):\n        return 4\ninstance = Class()\n";
    let Some(host) = Host::with("modules", text) else {
        return;
    };
    let names: Vec<Value> = host
        .list("modules")
        .iter()
        .map(|m| m.get("name").cloned().unwrap())
        .collect();
    assert_eq!(names, ["mine".into(), "also".into()]);
    let functions = host.list("modules")[0].get("functions").cloned().unwrap();
    let shown: Vec<&str> = functions
        .as_map()
        .unwrap()
        .keys()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(shown, ["deco", "decorated", "lam", "own"]);
    assert_eq!(
        functions.get("own").unwrap().get("out"),
        Some(&"txt".into())
    );
    assert_eq!(
        host.call("modules", "also.decorated", &[], "1").unwrap(),
        2.into()
    );
}

#[test]
fn why_a_module_is_not_there_is_said_as_salt_says_it() {
    let Some(host) = Host::with("modules", "1/0\n") else {
        return;
    };
    for (name, text) in [
        ("exits.py", "import sys\nsys.exit(3)\n"),
        ("init.py", "def __init__(opts): raise ValueError('x')\n"),
        ("none.py", "def __virtual__(): return None\n"),
        (
            "raises.py",
            "def __virtual__(): raise ValueError('in it')\n",
        ),
        ("syntax.py", "def f(:\n"),
        (
            "two.py",
            "__virtualname__ = 'other'\ndef __virtual__(): return False, 'why'\n",
        ),
    ] {
        host.write("modules", name, text);
    }
    let mut why: Vec<String> = host
        .list("modules")
        .iter()
        .map(|module| module.get("why").unwrap().as_str().unwrap().to_owned())
        .collect();
    why.sort();
    assert_eq!(
        why,
        [
            "'exits' __virtual__ returned False: 3",
            "'init' __virtual__ returned False: __init__ failed",
            "'mine' __virtual__ returned False: division by zero",
            "'none' __virtual__ returned False",
            "'other' __virtual__ returned False: why",
            "'raises' __virtual__ returned False: Exception raised when processing __virtual__ function for salt.loaded.ext.module.raises. Module will not be loaded: in it",
            "'syntax' __virtual__ returned False: invalid syntax (syntax.py, line 1)",
            "'two' __virtual__ returned False: why",
        ]
    );
}

#[test]
fn renderers_read_texts_and_executors_call_functions() {
    let text = "import io\ndef render(data, saltenv='base', sls='', argline='', **kwargs):\n    return io.StringIO(data.read().upper() + saltenv + sls + argline + kwargs['tmplpath'])\n";
    let Some(host) = Host::with("renderers", text) else {
        return;
    };
    let kwargs = Map::from([("tmplpath", "/x"), ("argline", "a")]);
    let request = Request::Render {
        name: "mine.render",
        data: &"text".into(),
        saltenv: "dev",
        sls: "s",
        kwargs: &kwargs,
        salt: false,
    };
    let rendered = Workers::global().run(&host, request).unwrap();
    assert_eq!(rendered, "TEXTdevsa/x".into());
    host.write(
        "executors",
        "around.py",
        "def execute(opts, data, func, args, kwargs):\n    return [opts['id'], data['fun'], func(*args, **kwargs)]\n",
    );
    let request = Request::Execute {
        name: "around.execute",
        fun: "test.echo",
        data: &Map::from([("fun", "test.echo")]),
        args: &[7.into()],
        kwargs: &Map::new(),
        salt: false,
        job: Some("1"),
    };
    let executed = Workers::global().run(&host, request).unwrap();
    let wanted: Vec<Value> = vec!["m1".into(), "test.echo".into(), 7.into()];
    assert_eq!(executed, wanted.into());
}

#[test]
fn threads_ask_and_log_while_their_call_lasts() {
    let text = "import logging, threading\nlog = logging.getLogger(__name__)\ndef all():\n    out = []\n    def run(n):\n        log.warning('thread %s', n)\n        out.append(__salt__['test.echo'](n))\n    threads = [threading.Thread(target=run, args=(n,)) for n in range(16)]\n    for thread in threads: thread.start()\n    for thread in threads: thread.join()\n    return sorted(out)\n";
    let Some(host) = Host::with("modules", text) else {
        return;
    };
    let all = host.call("modules", "mine.all", &[], "1").unwrap();
    assert_eq!(all, (0..16).map(Value::from).collect::<Vec<_>>().into());
}

#[test]
fn runners_fire_events_about_themselves() {
    let text = "def run():\n    __jid_event__.fire_event({'message': __jid__}, 'progress')\n    return 1\n";
    let Some(host) = Host::with("runners", text) else {
        return;
    };
    assert_eq!(
        host.call("runners", "mine.run", &[], "7").unwrap(),
        1.into()
    );
    let events = host.events.lock().unwrap().clone();
    assert_eq!(
        events,
        [("progress".to_owned(), Map::from([("message", "7")]))]
    );
}

#[test]
fn odd_texts_and_dates_cross() {
    let text = "import datetime, os\ndef odd():\n    return os.fsdecode(b'\\xffabc')\ndef date():\n    return datetime.datetime(2020, 1, 2, 3, 4, 5)\ndef year(date):\n    return date.year\n";
    let Some(host) = Host::with("modules", text) else {
        return;
    };
    let odd = host.call("modules", "mine.odd", &[], "1").unwrap();
    assert_eq!(odd, Value::Bytes(b"\xffabc".to_vec()));
    let date = host.call("modules", "mine.date", &[], "1").unwrap();
    assert_eq!(date, Value::Ext(78, b"20200102T03:04:05.000000".to_vec()));
    assert_eq!(
        host.call("modules", "mine.year", &[date], "1").unwrap(),
        2020.into()
    );
}

#[test]
fn modules_import_those_beside_them_and_utilities_while_they_are_loaded() {
    let text = "import aaa, tool, parts.one\nfrom aaa import number\ndef sum():\n    return aaa.number() + tool.number() + parts.one.number() + number()\n";
    let Some(host) = Host::with("modules", text) else {
        return;
    };
    host.write("modules", "aaa.py", "def number(): return 1\n");
    host.write("modules", "parts/__init__.py", "");
    host.write("modules", "parts/one.py", "def number(): return 10\n");
    host.write("utils", "tool.py", "def number(): return 100\n");
    let sum = |job| host.call("modules", "mine.sum", &[], job).unwrap();
    assert_eq!(sum("1"), 112.into());
    host.write("modules", "aaa.py", "def number(): return 1000 # changed\n");
    assert_eq!(sum("2"), 2110.into());
    host.write(
        "states",
        "later.py",
        "import sys\ndef path(): return [p for p in sys.path if p in ('', '.') or 'modules' in p]\n",
    );
    let none = host.call("states", "later.path", &[], "3").unwrap();
    assert_eq!(none, Value::List(Vec::new()));
}

#[test]
fn the_parts_of_salt_that_modules_import_most_are_there_without_salt() {
    let text = "import salt.utils.files, salt.utils.network, salt.utils.path, salt.modules.test\nfrom salt.utils.versions import LooseVersion\nfrom salt.utils.decorators import memoize\nimport salt.modules.cmdmod\nfrom salt.exceptions import CommandExecutionError, SaltInvocationError\n@memoize\ndef all():\n    with salt.utils.files.fopen('/dev/null') as file:\n        return [file.read(), salt.utils.network.interfaces()['lo']['inet'][0]['netmask'], salt.modules.test.echo(7), LooseVersion('1.10') > LooseVersion('1.9'), salt.utils.path.join('/a', '/b')]\ndef missing():\n    return salt.utils.files.no_such_function()\ndef private():\n    return salt.modules.cmdmod._gone()\n";
    let Some(host) = Host::with("modules", text) else {
        return;
    };
    let all = host.call("modules", "mine.all", &[], "1").unwrap();
    let wanted: Vec<Value> = vec![
        "".into(),
        "255.0.0.0".into(),
        7.into(),
        true.into(),
        "/a/b".into(),
    ];
    assert_eq!(all, wanted.into());
    for (name, what) in [("missing", "no_such_function"), ("private", "_gone")] {
        let failed = host.call("modules", &format!("mine.{name}"), &[], "1");
        let text = failed.unwrap_err().to_string();
        assert!(text.contains(&format!("no attribute '{what}'")), "{text}");
        assert!(text.contains("install the package salt there"), "{text}");
    }
}

#[test]
fn a_module_that_cannot_import_something_is_warned_of_with_what_helps() {
    let text = "import os\nimport salt.client\ndef grain(): return {'a': 1}\n";
    let Some(host) = Host::with("grains", text) else {
        return;
    };
    host.write("grains", "other.py", "import no_such_library\n");
    host.write("grains", "third.py", "from salt.utils.files import odd\n");
    let grains = Workers::global().run(&host, Request::Grains).unwrap();
    assert_eq!(grains, Map::new().into());
    let log = logged();
    let at = |name: &str| host.root.path().join("grains").join(name);
    for (name, what, remedy) in [
        (
            "mine.py",
            "importing salt.client failed in line 2",
            "set python_executable",
        ),
        (
            "other.py",
            "importing no_such_library failed in line 1",
            "install it for ",
        ),
        (
            "third.py",
            "importing salt.utils.files failed in line 1",
            "install the package salt there",
        ),
    ] {
        let named = format!("{} of _grains is not loaded", at(name).display());
        let line = log.lines().find(|line| line.contains(&named));
        let line = line.unwrap_or_else(|| panic!("{named}: {log}"));
        assert!(line.contains(what) && line.contains(remedy), "{line}");
    }
}

#[test]
fn programs_are_found_beside_the_path_of_a_daemon() {
    let text = "import os, salt.utils.path\nfrom salt.utils.decorators.path import which as needs\n@needs('sh')\ndef _needing():\n    return True\ndef grain():\n    before = os.environ.get('PATH')\n    os.environ['PATH'] = '/nowhere'\n    try:\n        return {'a': salt.utils.path.which('sh'), 'b': _needing(), 'c': salt.utils.path.which('no-such-program')}\n    finally:\n        os.environ['PATH'] = before\n";
    let Some(host) = Host::with("grains", text) else {
        return;
    };
    let grains = Workers::global().run(&host, Request::Grains).unwrap();
    let wanted = Map::from([
        ("a", Value::from("/bin/sh")),
        ("b", true.into()),
        ("c", Value::Nil),
    ]);
    assert_eq!(grains, wanted.into());
}
