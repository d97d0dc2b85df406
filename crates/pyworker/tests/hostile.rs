//! Code of users that means harm, or does it: malformed frames, names that lead
//! elsewhere, and what a process of it holds of the program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use halite_proto::{Map, Value};
use halite_pyworker::{PyError, PyHost, Raised, Request, Workers, run_alone, run_endless};

struct Host(tempfile::TempDir);

impl Host {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
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

    fn run(&self, body: &str) -> Result<Value, PyError> {
        self.run_by(body, |request| Workers::global().run(self, request))
    }

    fn run_by(
        &self,
        body: &str,
        run: impl FnOnce(Request<'_>) -> Result<Value, PyError>,
    ) -> Result<Value, PyError> {
        let source = format!("import __main__, os, struct, subprocess\ndef run():\n{body}");
        let request = Request::Code {
            source: &source,
            path: "/srv/x.sls",
            names: &Map::new(),
        };
        run(request)
    }
}

impl PyHost for Host {
    fn data(&self, _name: &str) -> Value {
        Map::new().into()
    }

    fn directories(&self, kind: &str) -> Vec<PathBuf> {
        vec![self.0.path().join(kind)]
    }

    fn has_function(&self, _fun: &str) -> bool {
        false
    }

    fn call(&self, fun: &str, _args: Vec<Value>, _kwargs: Map) -> Result<Value, Raised> {
        Err(Raised::new("KeyError", fun))
    }
}

fn has_python() -> bool {
    halite_test_support::have_programs(&["python3"])
}

/// Whatever stands in the pipe, this call fails and the next one is answered.
#[test]
fn frames_that_are_none_end_the_process_and_nothing_else() {
    if !has_python() {
        return;
    }
    let host = Host::new();
    for frame in [
        r#"b"\xff\xff\xff\xff""#,
        r#"struct.pack(">I", 3) + b"no!""#,
        r#"struct.pack(">I", 2) + b"{}""#,
        r#"struct.pack(">I", 2) + b"\xff\xfe""#,
        r#"struct.pack(">I", 200000) + b"[" * 200000"#,
        r#"struct.pack(">I", 16) + b'{"unknown": "x"}'"#,
        // Half a frame, and the end.
        r#"struct.pack(">I", 16) + b'{"val'"#,
    ] {
        let ends = "    os._exit(0)\n";
        let body =
            format!("    __main__.TO_HOST.write({frame})\n    __main__.TO_HOST.flush()\n{ends}");
        let said = host.run(&body).unwrap_err();
        let is_told = matches!(said, PyError::Nonsense(_) | PyError::Ended(_));
        assert!(is_told, "{frame}: {said}");
        assert_eq!(host.run("    return 1\n").unwrap(), 1.into(), "{frame}");
    }
    let said = host.run("    return [0] * (5 << 20)\n").unwrap_err();
    assert!(said.to_string().contains("values"), "{said}");
    assert_eq!(host.run("    return 1\n").unwrap(), 1.into());
}

/// A name is that of a function of a file of users, and no path and no module of
/// Python's.
#[test]
fn names_lead_to_files_of_users_alone() {
    if !has_python() {
        return;
    }
    let host = Host::new();
    let modules = host.0.path().join("modules");
    std::fs::create_dir_all(&modules).unwrap();
    std::fs::write(host.0.path().join("above.py"), "def f():\n    return 1\n").unwrap();
    let own = "import os\nfrom os import system\ndef f():\n    return 1\ndef _g():\n    return 2\n";
    std::fs::write(modules.join("own.py"), own).unwrap();
    assert_eq!(host.call("own.f", &[]).unwrap(), 1.into());
    for name in [
        "../above.f",
        "..above.f",
        "own.../f",
        "own.system",
        "own.os.system",
        "own._g",
        "own.__init__",
        "os.system",
        "__main__.send",
        "builtins.eval",
        "salt.loaded.ext.modules.own.f",
        "own",
        ".f",
        "",
    ] {
        let said = host.call(name, &["id".into()]);
        assert!(matches!(said, Err(PyError::Raised(_))), "{name}: {said:?}");
    }
}

/// What looks like the notation of the frames stays what it is, in both directions.
#[test]
fn no_value_is_taken_for_the_notation_of_frames() {
    if !has_python() {
        return;
    }
    let host = Host::new();
    let modules = host.0.path().join("modules");
    std::fs::create_dir_all(&modules).unwrap();
    std::fs::write(modules.join("echo.py"), "def f(x):\n    return x\n").unwrap();
    let list = |items: &[Value]| Value::List(items.to_vec());
    for value in [
        Map::from([("__b", "eA==")]).into(),
        Map::from([("__i", "5")]).into(),
        Map::from([("__f", "nan")]).into(),
        Map::from([("__d", "20260102T03:04:05.000006")]).into(),
        Map::from([("__m", list(&[list(&["a".into(), 1.into()])]))]).into(),
        Map::from([("x", Value::from(Map::from([("__b", "eA==")])))]).into(),
        list(&[Map::from([("error", "x")]).into(), "value".into()]),
    ] {
        let value: Value = value;
        let said = host.call("echo.f", std::slice::from_ref(&value)).unwrap();
        assert_eq!(said, value);
    }
}

/// The process of users' code, and the programs that it starts, have of the files of
/// the program that runs it their own three streams.
#[test]
fn no_descriptor_of_the_program_reaches_users_code() {
    if !has_python() {
        return;
    }
    let host = Host::new();
    let secret = host.0.path().join("secret");
    std::fs::write(&secret, "x").unwrap();
    // A descriptor that is not closed by itself when a program begins.
    let file = File::open(&secret).unwrap();
    let inherited = nix::unistd::dup(&file).unwrap();
    let own = "sorted(os.readlink('/proc/self/fd/' + name) for name in os.listdir('/proc/self/fd') \
               if os.path.exists('/proc/self/fd/' + name))";
    // Each in a process that begins now.
    let run = |body: &str| {
        let said = host.run_by(body, |request| run_alone(&host, request));
        said.unwrap()
    };
    let of_process = run(&format!("    return {own}\n"));
    let of_child =
        run("    return subprocess.check_output(['ls', '-l', '/proc/self/fd']).decode()\n");
    let forked = run("    return os.popen('ls -l /proc/self/fd').read()\n");
    for said in [&of_process, &of_child, &forked] {
        let text = format!("{said:?}");
        assert!(!text.contains("secret"), "{text}");
    }
    for said in [&of_child, &forked] {
        // A line each, and one for the directory that is read.
        let text = said.as_str().unwrap();
        let links = text.lines().filter(|line| line.contains("->")).count();
        assert!(links <= 4, "{text}");
    }
    drop((file, inherited));
}

/// What code that is not meant to end has started ends with it, however that ends, and
/// even if it holds the pipe on which its end would be seen.
#[test]
fn nothing_that_endless_code_has_started_goes_on() {
    if !halite_test_support::have_programs(&["python3", "sleep"]) {
        return;
    }
    let host = Host::new();
    let noted = host.0.path().join("noted");
    for end in ["return 1", "os._exit(3)", "__main__.TO_HOST.close()"] {
        let body = format!(
            "    held = __main__.TO_HOST.fileno()\n    started = subprocess.Popen(['sleep', \
             '1000'], pass_fds=[held])\n    with open({noted:?}, 'w') as out:\n        \
             out.write(str(started.pid))\n    {end}\n"
        );
        let said = host.run_by(&body, |request| run_endless(&host, request));
        assert_eq!(said.is_ok(), end.starts_with("return"), "{end}: {said:?}");
        let stat = format!("/proc/{}/stat", std::fs::read_to_string(&noted).unwrap());
        let until = Instant::now() + Duration::from_secs(60);
        // One that nobody has waited for yet is over, too.
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < until, "{end}: it goes on");
            thread::yield_now();
        }
    }
}
