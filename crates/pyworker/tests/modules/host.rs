//! The program that runs modules, from their view.

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

pub(crate) fn logged() -> String {
    String::from_utf8(std::mem::take(&mut *LOG.lock().unwrap())).unwrap()
}

/// What modules ask: functions, and where their files are.
pub(crate) struct Host {
    pub(crate) root: tempfile::TempDir,
    pub(crate) events: Mutex<Vec<(String, Map)>>,
    pub(crate) retcodes: Mutex<Vec<i64>>,
    _one: MutexGuard<'static, ()>,
}

impl Host {
    /// With the text of one module; `None`, which is reported, without Python.
    pub(crate) fn with(kind: &str, text: &str) -> Option<Self> {
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

    pub(crate) fn write(&self, kind: &str, name: &str, text: &str) {
        let path = self.root.path().join(kind).join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn call(
        &self,
        kind: &str,
        name: &str,
        args: &[Value],
        job: &str,
    ) -> Result<Value, PyError> {
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

    pub(crate) fn list(&self, kind: &str) -> Vec<Value> {
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
