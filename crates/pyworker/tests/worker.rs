//! Python code in its process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use halite_proto::{Map, Value};
use halite_pyworker::{PROGRAM, PyError, PyHost, Raised, Request, Workers, command};

struct Host {
    root: tempfile::TempDir,
    pillar: Map,
}

impl Host {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            pillar: Map::from([("k", "v")]),
        }
    }

    fn write(&self, kind: &str, name: &str, text: &str) {
        let path = self.root.path().join(kind).join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn call(&self, name: &str, args: &[Value]) -> Result<Value, PyError> {
        let request = Request::Call {
            kind: "modules",
            name,
            args,
            kwargs: &Map::new(),
            scope: &Map::new(),
            salt: false,
            job: None,
        };
        Workers::global().run(self, request)
    }

    fn code(&self, source: &str) -> Result<Value, PyError> {
        let request = Request::Code {
            source,
            path: "/srv/x.sls",
            names: &Map::from([("sls", "x"), ("saltenv", "base")]),
        };
        Workers::global().run(self, request)
    }
}

impl PyHost for Host {
    fn data(&self, name: &str) -> Value {
        match name {
            "opts" => Map::from([("id", "m1")]).into(),
            "grains" => Map::from([("os", "Debian")]).into(),
            _ => self.pillar.clone().into(),
        }
    }

    fn directories(&self, kind: &str) -> Vec<PathBuf> {
        vec![
            self.root.path().join("first").join(kind),
            self.root.path().join(kind),
        ]
    }

    fn has_function(&self, fun: &str) -> bool {
        matches!(fun, "test.echo" | "test.fail")
    }

    fn call(&self, fun: &str, mut args: Vec<Value>, kwargs: Map) -> Result<Value, Raised> {
        match fun {
            "test.echo" => Ok(args.pop().unwrap_or_else(|| kwargs.into())),
            _ => Err(Raised::new("CommandExecutionError", "it failed")),
        }
    }
}

fn has_python() -> bool {
    halite_test_support::have_programs(&["python3"])
}

fn raised(result: Result<Value, PyError>) -> Raised {
    match result {
        Err(PyError::Raised(raised)) => raised,
        other => panic!("{other:?}"),
    }
}

#[test]
fn code_sees_the_world_and_calls_back() {
    if !has_python() {
        return;
    }
    let mut host = Host::new();
    let source = "def run():\n    print('noise')\n    return {'g': __grains__['os'], 'p': pillar['k'], 'i': \
                  opts['id'], 's': __sls__ + saltenv, 'e': __salt__['test.echo']([1, b'x']), 'h': \
                  'no.no' in __salt__, 't': (1, 2), 'a': salt.test.echo({1: 2})}\n";
    let value = host.code(source).unwrap();
    assert_eq!(value.get("g"), Some(&"Debian".into()));
    assert_eq!(value.get("p"), Some(&"v".into()));
    assert_eq!(value.get("s"), Some(&"xbase".into()));
    assert_eq!(value.get("h"), Some(&false.into()));
    let echo = Value::List(vec![1.into(), Value::Bytes(b"x".to_vec())]);
    assert_eq!(value.get("e"), Some(&echo));
    assert_eq!(value.get("t"), Some(&Value::List(vec![1.into(), 2.into()])));
    host.pillar.insert("k", "new");
    let value = host
        .code("def run():\n    return __pillar__['k']\n")
        .unwrap();
    assert_eq!(value, "new".into());
}

#[test]
fn exceptions_keep_their_class_and_trace() {
    if !has_python() {
        return;
    }
    let host = Host::new();
    let error = raised(host.code("def run():\n    return {}['x']\n"));
    assert_eq!(
        (error.class_name(), error.message.as_str()),
        ("KeyError", "'x'")
    );
    assert!(
        error.trace.contains("File \"/srv/x.sls\", line 2, in run"),
        "{}",
        error.trace
    );
    let error = raised(host.code("def run():\n    __salt__['test.fail']()\n"));
    assert!(error.is("CommandExecutionError"), "{error:?}");
    assert!(raised(host.code("def run(:\n")).is("SyntaxError"));
    assert!(raised(host.code("x = 1\n")).is("AttributeError"));
    // Code that ends its process does not end ours, nor the next call.
    let ended = host.code("import os\ndef run():\n    os._exit(3)\n");
    assert!(matches!(ended, Err(PyError::Ended(_))), "{ended:?}");
    assert_eq!(host.code("def run():\n    return 1\n").unwrap(), 1.into());
}

#[test]
fn synced_modules_have_what_salt_gives_them() {
    if !has_python() {
        return;
    }
    let host = Host::new();
    host.write(
        "modules",
        "mymod.py",
        "from salt.exceptions import CommandExecutionError\n__virtualname__ = 'mine'\n__func_alias__ = \
         {'list_': 'list'}\ndef __virtual__():\n    return __virtualname__\ndef list_(a, b=2):\n    \
         return [a, b, __salt__['other.f'](), __utils__['u.double'](4), __grains__['os']]\ndef \
         fail():\n    raise CommandExecutionError('no')\ndef count():\n    __context__['n'] = \
         __context__.get('n', 0) + 1\n    return __context__['n']\ndef _hidden():\n    pass\n",
    );
    host.write("modules", "other.py", "def f():\n    return 'other'\n");
    host.write(
        "modules",
        "never.py",
        "def __virtual__():\n    return (False, 'not here')\ndef f():\n    pass\n",
    );
    host.write("modules", "broken.py", "import no_such_module_at_all\n");
    host.write("utils", "u.py", "def double(n):\n    return n * 2\n");
    host.write(
        "grains",
        "g.py",
        "def more():\n    return {'mine': 1}\ndef _not():\n    return {'no': 1}\n",
    );
    let value = host.call("mine.list", &["x".into()]).unwrap();
    let wanted: Vec<Value> = vec![
        "x".into(),
        2.into(),
        "other".into(),
        8.into(),
        "Debian".into(),
    ];
    assert_eq!(value, wanted.into());
    assert!(raised(host.call("mine.fail", &[])).is("CommandExecutionError"));
    let error = raised(host.call("mine.list", &[]));
    assert!(
        error.is("TypeError") && error.message.contains("missing a required argument"),
        "{error:?}"
    );
    assert!(raised(host.call("mine._hidden", &[])).is("KeyError"));
    assert_eq!(host.call("mine.count", &[]).unwrap(), 1.into());
    assert_eq!(host.call("mine.count", &[]).unwrap(), 2.into());
    let grains = Workers::global().run(&host, Request::Grains).unwrap();
    assert_eq!(grains, Map::from([("mine", 1)]).into());
    let list = Workers::global()
        .run(&host, Request::List { kind: "modules" })
        .unwrap();
    let of = |name: &str| {
        let mut items = list.as_list().unwrap().iter();
        items
            .find(|item| item.get("name") == Some(&name.into()))
            .cloned()
            .unwrap()
    };
    let functions = of("mine").get("functions").cloned().unwrap();
    assert_eq!(
        functions.get("list").unwrap().get("signature"),
        Some(&"(a, b=2)".into())
    );
    assert_eq!(
        of("never").get("why"),
        Some(&"'never' __virtual__ returned False: not here".into())
    );
    assert!(
        of("broken")
            .get("why")
            .unwrap()
            .as_str()
            .unwrap()
            .contains("no_such_module_at_all")
    );
    // A changed file is read again.
    host.write(
        "modules",
        "other.py",
        "def f():\n    return 'changed indeed'\n",
    );
    let value = host.call("mine.list", &["x".into()]).unwrap();
    assert_eq!(value.as_list().unwrap()[2], "changed indeed".into());
}

/// A minion that is killed leaves no Python behind that works for nobody.
#[test]
fn code_without_an_end_ends_with_its_host() {
    if !has_python() {
        return;
    }
    let mut worker = command("python3", 2 << 30, 30)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to_worker = worker.stdin.take().unwrap();
    to_worker.write_all(PROGRAM.as_bytes()).unwrap();
    let source = r"from __main__ import TO_HOST\n\ndef run():\n    TO_HOST.raw.write(b'running')\n    while True: pass\n";
    let request =
        format!(r#"{{"do": "code", "path": "/srv/x.sls", "names": {{}}, "source": "{source}"}}"#);
    to_worker
        .write_all(&u32::try_from(request.len()).unwrap().to_be_bytes())
        .unwrap();
    to_worker.write_all(request.as_bytes()).unwrap();
    let mut from_worker = worker.stdout.take().unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"running") {
        let mut byte = [0];
        from_worker.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    drop(to_worker);
    let deadline = Instant::now() + Duration::from_secs(60);
    while worker.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            worker.kill().unwrap();
            worker.wait().unwrap();
            panic!("the worker outlives its host");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Root types `salt-call` in directories that others can write.
#[test]
fn no_module_comes_from_the_current_directory_or_the_environment() {
    if !has_python() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let hostile = "import os\nos.close(os.open(__file__ + '.ran', os.O_CREAT))\n";
    for module in ["inspect", "json", "encodings", "sitecustomize"] {
        std::fs::write(dir.path().join(format!("{module}.py")), hostile).unwrap();
    }
    let mut worker = command("python3", 2 << 30, 30)
        .current_dir(dir.path())
        .env("PYTHONPATH", dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to_worker = worker.stdin.take().unwrap();
    to_worker.write_all(PROGRAM.as_bytes()).unwrap();
    // It says that it is ready.
    let mut length = [0; 4];
    let mut from_worker = worker.stdout.take().unwrap();
    from_worker.read_exact(&mut length).unwrap();
    drop(to_worker);
    worker.wait().unwrap();
    let ran = std::fs::read_dir(dir.path()).unwrap().flatten();
    let ran = ran.filter(|entry| entry.path().extension().is_some_and(|end| end == "ran"));
    assert_eq!(ran.count(), 0);
}

/// What code does to its process costs at most the call itself: the next one is
/// answered.
#[test]
fn a_process_that_ends_or_forks_is_replaced() {
    if !has_python() {
        return;
    }
    let host = Host::new();
    let run = |body: &str| host.code(&format!("import os, signal, sys\ndef run():\n{body}"));
    let ended = [
        "    os._exit(3)\n",
        "    os.kill(os.getpid(), signal.SIGKILL)\n",
    ];
    for body in ended {
        assert!(matches!(run(body), Err(PyError::Ended(_))), "{body}");
        assert_eq!(run("    return 1\n").unwrap(), 1.into(), "{body}");
    }
    assert_eq!(raised(run("    sys.exit(3)\n")).class_name(), "SystemExit");
    assert_eq!(
        raised(run("    return len('x' * (1 << 40))\n")).class_name(),
        "MemoryError"
    );
    assert_eq!(
        run("    print('out', flush=True)\n    os.write(1, b'raw')\n    return 2\n").unwrap(),
        2.into()
    );
    // Only one of the two answers, and it is heard while the other goes on.
    let forked = "    child = os.fork()\n    if not child:\n        return 'child'\n    os.waitpid(child, 0)\n    return 'parent'\n";
    assert_eq!(run(forked).unwrap(), "parent".into());
    let asks = "    child = os.fork()\n    if not child:\n        try:\n            __salt__['test.echo']('x')\n        except RuntimeError:\n            os._exit(7)\n        os._exit(0)\n    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n";
    assert_eq!(run(asks).unwrap(), 7.into());
    // A child that holds on keeps nobody waiting for the parent that is gone.
    let stop = host.root.path().join("stop");
    let late = host.root.path().join("late");
    let holds = format!(
        "    import time\n    if not os.fork():\n        for _ in range(6000):\n            if os.path.exists({stop:?}):\n                os._exit(0)\n            time.sleep(0.01)\n        open({late:?}, 'w')\n        os._exit(0)\n    os._exit(4)\n"
    );
    assert!(matches!(run(&holds), Err(PyError::Ended(_))));
    std::fs::write(&stop, "").unwrap();
    assert!(!late.exists());
    assert_eq!(run("    return 3\n").unwrap(), 3.into());
}

#[test]
fn a_process_without_work_is_ended_and_a_killed_one_is_not_asked() {
    if !has_python() {
        return;
    }
    let host = Host::new();
    // No other test of this program has to do with these.
    let workers = Workers::beacons();
    let id = || {
        let request = Request::Code {
            source: "import os\ndef run():\n    return os.getpid()\n",
            path: "/srv/x.sls",
            names: &Map::new(),
        };
        workers.run(&host, request).unwrap().as_i64().unwrap()
    };
    let stat = |id: i64| std::fs::read_to_string(format!("/proc/{id}/stat"));
    let first = id();
    assert_eq!(id(), first);
    assert!(workers.end_unused(Duration::from_secs(3600)).is_some());
    assert_eq!(id(), first);
    assert_eq!(workers.end_unused(Duration::ZERO), None);
    assert!(stat(first).is_err());
    let second = id();
    let killed = Command::new("kill")
        .args(["-9", &second.to_string()])
        .status();
    assert!(killed.unwrap().success());
    // A zombie can be waited for only when its other threads have ended too.
    let threads = |id: i64| {
        std::fs::read_dir(format!("/proc/{id}/task"))
            .unwrap()
            .count()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !(stat(second).unwrap().contains(") Z ") && threads(second) == 1) {
        assert!(Instant::now() < deadline, "a killed process does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_ne!(id(), second);
}
