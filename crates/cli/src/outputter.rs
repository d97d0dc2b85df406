//! Outputters in Python: custom ones (`_output`, `outputter_dirs`), and those of
//! the installed Salt.
//!
//! Invariant: whatever fails there, the result is shown: the next best outputter is
//! used.

use std::path::PathBuf;

use halite_output::Outputter;
use halite_proto::{Map, Value, python};
use halite_pyworker::{PyError, PyHost, Raised, Request, Workers, directories, has_file, may_have};

/// The kind of these modules, and their directory.
const KIND: &str = "output";

/// Where outputters may be, and what they see.
pub(crate) struct Outputters {
    opts: Map,
    directories: Vec<PathBuf>,
}

impl Outputters {
    pub(crate) fn new(opts: &Map) -> Self {
        let mut directories = directories(opts, KIND);
        directories.retain(|directory| directory.is_dir());
        Self {
            opts: opts.clone(),
            directories,
        }
    }

    /// What the outputter of that name in Python makes of the data: nothing if
    /// there is none, or if it fails, which is logged. Salt's are asked for what
    /// the user `asked`, not for what a minion wishes.
    pub(crate) fn render(
        &self,
        name: &str,
        data: &Value,
        retcode: i64,
        asked: bool,
    ) -> Option<String> {
        let is_name = |c: char| c == '_' || c.is_alphanumeric();
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        // A file of users hides ours of the same name; Salt's are asked last.
        let is_users = has_file(&self.directories, name);
        if !is_users && (Outputter::parse(name).is_some() || name == "grains") {
            return None;
        }
        let salt = !is_users && !may_have(&self.directories, name);
        let may_ask_salt = asked && self.opts.get("python_fallback").is_none_or(Value::is_true);
        if salt && !may_ask_salt {
            return None;
        }
        let retcode = Map::from([("_retcode", retcode)]);
        let shown = match self.call(name, data, &retcode, salt) {
            // One that takes nothing but the data.
            Err(PyError::Raised(raised)) if raised.is("TypeError") => {
                self.call(name, data, &Map::new(), salt)
            }
            shown => shown,
        };
        match shown {
            Ok(Value::Str(text)) => Some(text),
            Ok(other) => Some(python::str(&other)),
            Err(PyError::Raised(raised)) if raised.is_missing(name) => None,
            Err(PyError::Raised(raised)) => {
                tracing::error!("the outputter {name} has failed: {}", raised.trace);
                None
            }
            Err(error) => {
                tracing::debug!(%error, name, "no outputter in Python");
                None
            }
        }
    }

    fn call(&self, name: &str, data: &Value, kwargs: &Map, salt: bool) -> Result<Value, PyError> {
        let request = Request::Call {
            kind: KIND,
            name: &format!("{name}.output"),
            args: std::slice::from_ref(data),
            kwargs,
            scope: &Map::new(),
            salt,
            job: None,
        };
        Workers::global().run(self, request)
    }
}

/// Whether an exception says that there is no such outputter.
trait Missing {
    fn is_missing(&self, name: &str) -> bool;
}

impl Missing for Raised {
    fn is_missing(&self, name: &str) -> bool {
        self.is("KeyError") && self.message == format!("'{name}.output'")
    }
}

impl PyHost for Outputters {
    fn data(&self, name: &str) -> Value {
        let of_opts = |name: &str| self.opts.get(name).cloned();
        match name {
            "opts" => self.opts.clone().into(),
            other => of_opts(other).unwrap_or_else(|| Map::new().into()),
        }
    }

    fn directories(&self, kind: &str) -> Vec<PathBuf> {
        directories(&self.opts, kind)
    }

    fn has_function(&self, _fun: &str) -> bool {
        false
    }

    fn call(&self, fun: &str, _args: Vec<Value>, _kwargs: Map) -> Result<Value, Raised> {
        Err(Raised::new("KeyError", format!("'{fun}'")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_not_asked_of_python() {
        let outputters = Outputters::new(&Map::from([("python_fallback", false)]));
        for name in ["json", "nested", "nosuch", "../x", ""] {
            assert_eq!(
                outputters.render(name, &Value::Nil, 0, true),
                None,
                "{name}"
            );
        }
    }

    #[test]
    fn a_file_of_users_is_an_outputter() {
        if !halite_test_support::have_programs(&["python3"]) {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write(
            "mine.py",
            "def output(data, **kwargs): return 'mine %r' % (data,)\n",
        );
        write("txt.py", "def output(data): return 'txt'\n");
        write(
            "broken.py",
            "def output(data, **kwargs): raise ValueError('oops')\n",
        );
        let place = dir.path().display().to_string();
        let outputters = Outputters::new(&Map::from([("outputter_dirs", place.as_str())]));
        let shown = outputters.render("mine", &Map::from([("web1", true)]).into(), 0, true);
        assert_eq!(shown.as_deref(), Some("mine {'web1': True}"));
        assert_eq!(
            outputters.render("txt", &Value::Nil, 0, true).as_deref(),
            Some("txt")
        );
        assert_eq!(outputters.render("broken", &Value::Nil, 0, true), None);
        assert_eq!(outputters.render("nosuch", &Value::Nil, 0, true), None);
        assert_eq!(outputters.render("json", &Value::Nil, 0, true), None);
    }
}
