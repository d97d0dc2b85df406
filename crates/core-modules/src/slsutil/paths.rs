//! Which files and directories the state tree has.

use halite_proto::{Map, Value};

use halite_call::{Call, CallError, CallResult, python};

pub(super) fn file_exists(call: &Call<'_>) -> CallResult {
    Ok(Tree::new(call).file(&call.text("path"))?.into())
}

pub(super) fn dir_exists(call: &Call<'_>) -> CallResult {
    Ok(Tree::new(call).dir(&call.text("path"))?.into())
}

pub(super) fn path_exists(call: &Call<'_>) -> CallResult {
    Ok(Tree::new(call).path(&call.text("path"))?.into())
}

/// The lists of an environment, asked for once.
struct Tree<'c> {
    call: &'c Call<'c>,
    files: Option<Value>,
    dirs: Option<Value>,
}

impl<'c> Tree<'c> {
    fn new(call: &'c Call<'c>) -> Self {
        Self {
            call,
            files: None,
            dirs: None,
        }
    }

    fn list(&self, fun: &str) -> CallResult {
        let saltenv = self.call.arg("saltenv").clone();
        self.call.salt(fun, &[saltenv], Map::new())
    }

    fn file(&mut self, path: &str) -> Result<bool, CallError> {
        if self.files.is_none() {
            self.files = Some(self.list("cp.list_master")?);
        }
        Ok(holds(self.files.as_ref(), path))
    }

    fn dir(&mut self, path: &str) -> Result<bool, CallError> {
        if self.dirs.is_none() {
            self.dirs = Some(self.list("cp.list_master_dirs")?);
        }
        Ok(holds(self.dirs.as_ref(), path))
    }

    fn path(&mut self, path: &str) -> Result<bool, CallError> {
        Ok(self.file(path)? || self.dir(path)?)
    }
}

fn holds(list: Option<&Value>, path: &str) -> bool {
    let items = list.and_then(Value::as_list).unwrap_or_default();
    items.iter().any(|item| item.as_str() == Some(path))
}

pub(super) fn findup(call: &Call<'_>) -> CallResult {
    let mut tree = Tree::new(call);
    let mut start = match call.text_opt("startpath") {
        Some(start) => normal(&start),
        None => String::new(),
    };
    if !start.is_empty() && !tree.path(&start)? {
        return Err(CallError::invocation(format!(
            "Starting path not found in the state tree: {start}"
        )));
    }
    let names: Vec<String> = match call.arg("filenames") {
        Value::Str(name) => vec![name.clone()],
        Value::List(names) => names.iter().map(python::str).collect(),
        _ => {
            return Err(CallError::invocation(
                "Filenames argument must be a string or list of strings",
            ));
        }
    };
    loop {
        for name in &names {
            let full = if start.is_empty() {
                name.clone()
            } else {
                format!("{start}/{name}")
            };
            let full = normal(&full);
            if tree.path(&full)? {
                return Ok(full.into());
            }
        }
        if start.is_empty() {
            return Err(CallError::command(
                "File pattern(s) not found in path ancestry",
            ));
        }
        start = match start.rsplit_once('/') {
            Some((parent, _)) => parent.to_owned(),
            None => String::new(),
        };
    }
}

/// `posixpath.normpath`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let rooted = path.starts_with('/');
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}
