//! What users' modules of several kinds see and say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use halite_proto::{Map, Value};
use halite_pyworker::{PyError, PyHost, Raised, Request, Workers};

/// One test at a time: they ask the same process, and what one job has left
/// behind is in that.
static ONE: Mutex<()> = Mutex::new(());

/// What has been logged since a test last looked.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct ToLog;

impl io::Write for ToLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Logs into [`LOG`], from before Python starts: it is told the level then.
fn log_warnings() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
            .with_ansi(false)
            .with_writer(|| ToLog)
            .init();
    });
    LOG.lock().unwrap().clear();
}

fn logged() -> String {
    String::from_utf8(std::mem::take(&mut *LOG.lock().unwrap())).unwrap()
}

struct Host {
    root: tempfile::TempDir,
    events: Mutex<Vec<(String, Map)>>,
    retcodes: Mutex<Vec<i64>>,
    _one: MutexGuard<'static, ()>,
}

impl Host {
    /// With the text of one module; `None`, which is reported, without Python.
    fn with(kind: &str, text: &str) -> Option<Self> {
        if !halite_test_support::have_programs(&["python3"]) {
            return None;
        }
        let host = Self {
            root: tempfile::tempdir().unwrap(),
            events: Mutex::default(),
            retcodes: Mutex::default(),
            _one: ONE.lock().unwrap_or_else(PoisonError::into_inner),
        };
        log_warnings();
        host.write(kind, "mine.py", text);
        Workers::global().run(&host, Request::Forget).unwrap();
        Some(host)
    }

    fn write(&self, kind: &str, name: &str, text: &str) {
        let path = self.root.path().join(kind).join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn call(&self, kind: &str, name: &str, args: &[Value], job: &str) -> Result<Value, PyError> {
        let request = Request::Call {
            kind,
            name,
            args,
            kwargs: &Map::new(),
            scope: &Map::from([("__jid__", job)]),
            salt: false,
            job: Some(job),
        };
        Workers::global().run(self, request)
    }

    fn list(&self, kind: &str) -> Vec<Value> {
        let list = Workers::global().run(self, Request::List { kind }).unwrap();
        list.as_list().unwrap().to_vec()
    }
}

impl PyHost for Host {
    fn data(&self, name: &str) -> Value {
        match name {
            "opts" => Map::from([("id", "m1")]).into(),
            _ => Map::new().into(),
        }
    }

    fn directories(&self, kind: &str) -> Vec<PathBuf> {
        vec![self.root.path().join(kind)]
    }

    fn has_function(&self, fun: &str) -> bool {
        fun == "test.echo" || fun.starts_with("cmd.")
    }

    fn call(&self, fun: &str, mut args: Vec<Value>, kwargs: Map) -> Result<Value, Raised> {
        if fun.starts_with("cmd.") {
            return Ok(Value::List(vec![fun.into(), args.into(), kwargs.into()]));
        }
        Ok(args.pop().unwrap_or_default())
    }

    fn event(&self, tag: &str, data: Map) -> Result<(), Raised> {
        self.events.lock().unwrap().push((tag.to_owned(), data));
        Ok(())
    }

    fn retcode(&self, retcode: i64) {
        self.retcodes.lock().unwrap().push(retcode);
    }
}

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
fn grains_run_commands_with_the_functions_that_they_bring_along() {
    let text = "import salt.modules.cmdmod\n__salt__ = {'cmd.run': salt.modules.cmdmod._run_quiet, 'cmd.run_all': salt.modules.cmdmod._run_all_quiet}\ndef grain():\n    return {'a': __salt__['cmd.run']('echo  a b'), 'b': __salt__['cmd.run_all']('echo $0; exit 3', python_shell=True)['retcode'], 'c': salt.modules.cmdmod.run(['echo', 'c'])}\n";
    let Some(host) = Host::with("grains", text) else {
        return;
    };
    let grains = Workers::global().run(&host, Request::Grains).unwrap();
    let wanted = Map::from([
        ("a", Value::from("a b")),
        ("b", 3.into()),
        ("c", "c".into()),
    ]);
    assert_eq!(grains, wanted.into());
}

/// The grains of a module `mine.py` whose `grain` tells what `words`, lines of a
/// map, come to: what is raised as its text.
fn grains_of_commands(words: &str) -> Option<Value> {
    let text = format!(
        "import salt.modules.cmdmod as c\ndef _said(run, *args, **kwargs):\n    try:\n        return run(*args, **kwargs)\n    except Exception as exc:\n        return '%s: %s' % (type(exc).__name__, exc)\ndef grain():\n    said = _said\n    return {{{words}}}\n"
    );
    let host = Host::with("grains", &text)?;
    Some(Workers::global().run(&host, Request::Grains).unwrap())
}

#[test]
fn commands_of_grains_run_as_salts_parameters_say() {
    let words = "
        'order': said(c._run_quiet, 'pwd', '/', None, 'utf-8', None, '/bin/sh', True),
        'order of all': said(c._run_all_quiet, 'echo $0', '/', None, None, '/bin/sh', True)['stdout'],
        'env': said(c.run, 'echo $A$B.', python_shell=True, env=[{'A': 1}, {'B': None}]),
        'umask': said(c._run_quiet, 'umask', python_shell=True, umask='077'),
        'success': said(c._run_all_quiet, 'false', success_retcodes=[1])['retcode'],
        'timeout': said(c._run_all_quiet, 'sleep 60', timeout=0.1)['retcode'],
        'shell': said(c.run, 'true', python_shell=True, shell='/no/such'),
        'template': said(c._run_quiet, 'true', template='jinja'),
        'odd': said(c.run, 'true', odd=1),
        'nobody': said(c._run_quiet, 'true', runas='no-such-user'),
        'mask': said(c._run_quiet, 'true', umask='9'),
        'cwd': said(c._run_quiet, 'true', 'here'),
    ";
    let Some(grains) = grains_of_commands(words) else {
        return;
    };
    let unsupported = "SaltInvocationError: salt.modules.cmdmod does not support";
    let wanted = Map::from([
        ("order", Value::from("/")),
        ("order of all", "/bin/sh".into()),
        ("env", "1.".into()),
        ("umask", "0077".into()),
        ("success", 0.into()),
        ("timeout", 1.into()),
        (
            "shell",
            "CommandExecutionError: The shell /no/such is not available".into(),
        ),
        ("template", format!("{unsupported} template here").into()),
        ("odd", format!("{unsupported} odd here").into()),
        (
            "nobody",
            "CommandExecutionError: User 'no-such-user' is not available".into(),
        ),
        ("mask", "CommandExecutionError: Invalid umask: '9'".into()),
        (
            "cwd",
            "CommandExecutionError: Specified cwd 'here' either not absolute or does not exist"
                .into(),
        ),
    ]);
    assert_eq!(grains, wanted.into());
}

#[test]
fn commands_of_grains_run_as_who_is_asked_for() {
    if !halite_test_support::have_root() {
        return;
    }
    let words = "
        'named': said(c._run_quiet, 'id -un', runas='nobody'),
        'by place': said(c._run_quiet, 'id -u', None, None, None, 'nobody'),
        'groups': said(c._run_all_quiet, 'id -G', None, None, 'nobody')['stdout'],
        'group': said(c.run, 'id -gn', runas='nobody', group='daemon'),
        'home': said(c.run, 'echo $HOME $USER $SECRET_OF_PROGRAM', python_shell=True, runas='nobody'),
    ";
    let text =
        format!("**(__import__('os').environ.update(SECRET_OF_PROGRAM='x') or {{}}),{words}");
    let Some(grains) = grains_of_commands(&text) else {
        return;
    };
    let id = |args: &[&str]| {
        let done = std::process::Command::new("id")
            .args(args)
            .output()
            .unwrap();
        String::from_utf8(done.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    };
    let home = std::fs::read_to_string("/etc/passwd").unwrap();
    let home = home.lines().find_map(|line| line.strip_prefix("nobody:"));
    let home = home.and_then(|rest| rest.split(':').nth(4)).unwrap();
    let wanted = Map::from([
        ("named", Value::from("nobody")),
        ("by place", id(&["-u", "nobody"]).into()),
        ("groups", id(&["-G", "nobody"]).into()),
        ("group", "daemon".into()),
        ("home", format!("{home} nobody").into()),
    ]);
    assert_eq!(grains, wanted.into());
}

#[test]
fn commands_of_functions_are_run_by_the_host() {
    let text = "import salt.modules.cmdmod as c\ndef quiet():\n    return c._run_quiet('id', '/', runas='nobody', env=[{'A': 1}])\ndef rendered():\n    return c._run_quiet('id', template='jinja', pillar_override={'a': 1})\n";
    let Some(host) = Host::with("modules", text) else {
        return;
    };
    let kwargs = Map::from([
        ("python_shell", Value::from(false)),
        ("cwd", "/".into()),
        ("runas", "nobody".into()),
        ("env", Value::List(vec![Map::from([("A", 1)]).into()])),
        ("output_loglevel", "quiet".into()),
        ("ignore_retcode", true.into()),
    ]);
    let wanted = vec![
        "cmd.run".into(),
        vec![Value::from("id")].into(),
        kwargs.into(),
    ];
    let quiet = host.call("modules", "mine.quiet", &[], "1").unwrap();
    assert_eq!(quiet, Value::List(wanted));
    let refused = host.call("modules", "mine.rendered", &[], "1");
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("not support pillar_override"), "{refused}");
    // What hides the host's function, and calls Salt's, does not call itself.
    host.write(
        "modules",
        "cmd.py",
        "import salt.modules.cmdmod as c\ndef run(cmd): return c.run(cmd)\n",
    );
    Workers::global().run(&host, Request::Forget).unwrap();
    let own = host.call("modules", "cmd.run", &["echo own".into()], "2");
    assert_eq!(own.unwrap(), "own".into());
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
