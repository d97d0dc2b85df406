//! `file.recurse`: a directory of the master, copied here with all its content.

mod plan;

use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn, python, run_state_function};
use halite_proto::{Map, Value};

use self::plan::{Tree, choose, plan_all};
use super::{below, common, walk};
use crate::core::{dirs, mode, path};

pub(super) fn recurse(call: &Call<'_>) -> CallResult {
    let mut name = common::name(call);
    let mut ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.recurse");
    }
    if name.len() > 1 {
        name = name.trim_end_matches('/').to_owned();
    }
    let (user, group) = (common::user(call), call.arg("group").clone());
    if let Some(wrong) = complaint(call, &name, &user, &group) {
        return common::failed(ret, wrong);
    }
    let sources = match sources(call) {
        Ok(sources) => sources,
        Err(wrong) => return common::failed(ret, wrong),
    };
    let mut chosen = choose(call, &sources)?;
    let Some((_, saltenv)) = chosen.first().cloned() else {
        return common::failed(
            ret,
            "Recurse failed: none of the specified sources were found",
        );
    };
    if !call.flag("merge") {
        chosen.truncate(1);
    }
    let at = Path::new(&name);
    if !at.is_dir() {
        if at.exists() {
            return common::failed(
                ret,
                format!("The path {name} exists and is not a directory"),
            );
        }
        if !call.is_test() {
            let mode = mode::normalize(call.arg("dir_mode"));
            dirs::make_all(at, &user, &group, mode.as_deref())?;
        }
    }
    let tree = plan_all(call, &name, &chosen)?;
    let mut comments: Vec<(String, Value)> = Vec::new();
    let mut run = Run {
        call,
        ret: &mut ret,
        comments: &mut comments,
        user,
        group,
        saltenv,
    };
    run.dirs(&tree)?;
    run.files(&tree)?;
    run.links(&tree)?;
    if call.flag("clean") {
        run.clean(at, &tree)?;
    }
    ret.comment = summary(&comments)
        .unwrap_or_else(|| {
            if ret.changes.is_empty() && ret.result == Some(true) {
                format!("The directory {name} is in the correct state")
            } else {
                format!("Recursively updated {name}")
            }
        })
        .into();
    Ok(ret.into())
}

/// What is wrong with the arguments, besides the sources.
fn complaint(call: &Call<'_>, name: &str, user: &Value, group: &Value) -> Option<String> {
    if call.kwargs().contains_key("mode") {
        let text =
            "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'.";
        return Some(text.to_owned());
    }
    common::check_user(call, user, group)
        .or_else(|| (!path::is_absolute(name)).then(|| common::not_absolute(name)))
}

/// The sources, all of a master, or what is wrong with one.
fn sources(call: &Call<'_>) -> Result<Vec<String>, String> {
    let sources: Vec<String> = common::list(call.arg("source"))
        .iter()
        .map(python::str)
        .collect();
    match sources.iter().find(|source| !source.starts_with("salt://")) {
        Some(wrong) => Err(format!(
            "Recurse failed: Invalid source '{wrong}' (must be a salt:// URI)"
        )),
        None => Ok(sources),
    }
}

/// The comments on single paths as one text; nothing if there is none.
fn summary(comments: &[(String, Value)]) -> Option<String> {
    let mut text = String::new();
    for (path, comment) in comments {
        let comment = match comment {
            Value::List(lines) => lines.iter().map(python::str).collect::<Vec<_>>().join("\n"),
            other => python::str(other),
        };
        text.push_str(&format!("\n#### {path} ####\n{comment}\n"));
    }
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The state at work.
struct Run<'r, 'c> {
    call: &'r Call<'c>,
    ret: &'r mut StateReturn,
    comments: &'r mut Vec<(String, Value)>,
    user: Value,
    group: Value,
    saltenv: String,
}

impl Run<'_, '_> {
    /// Carries out another state and adds its result to this one's.
    fn state(&mut self, fun: &str, path: &str, mut kwargs: Map) -> Result<(), CallError> {
        kwargs.insert("name", path);
        kwargs.insert("user", self.user.clone());
        kwargs.insert("group", self.group.clone());
        let result = run_state_function(self.call.ctx, fun, Vec::new(), kwargs, self.call.job)?;
        let Value::Map(mut result) = result else {
            return Ok(());
        };
        let outcome = result.get("result").cloned().unwrap_or_default();
        match outcome {
            Value::Bool(true) => {}
            Value::Bool(false) => self.ret.result = Some(false),
            _ if self.ret.result == Some(true) => self.ret.result = None,
            _ => {}
        }
        let comment = result.remove("comment").unwrap_or_default();
        if outcome != Value::Bool(true) && comment.is_true() {
            self.comments.push((path.to_owned(), comment));
        }
        if let Some(changes) = result.remove("changes").filter(Value::is_true) {
            self.ret.changes.insert(path, changes);
        }
        Ok(())
    }

    fn links(&mut self, tree: &Tree) -> Result<(), CallError> {
        for (path, target) in &tree.links {
            let kwargs = Map::from([
                ("target", Value::from(target.as_str())),
                ("makedirs", true.into()),
                ("force", self.call.arg("force_symlinks").clone()),
                ("mode", self.call.arg("sym_mode").clone()),
            ]);
            self.state("file.symlink", path, kwargs)?;
        }
        Ok(())
    }

    fn dirs(&mut self, tree: &Tree) -> Result<(), CallError> {
        let clean = self.call.flag("clean");
        for path in &tree.dirs {
            let at = Path::new(path);
            if clean && at.exists() && !at.is_dir() {
                self.replaced(
                    path,
                    "Replacing file with a directory",
                    "Replaced file with a directory",
                )?;
                if self.call.is_test() {
                    continue;
                }
            }
            let kwargs = Map::from([
                ("makedirs", Value::from(true)),
                ("dir_mode", self.call.arg("dir_mode").clone()),
            ]);
            self.state("file.directory", path, kwargs)?;
        }
        Ok(())
    }

    fn files(&mut self, tree: &Tree) -> Result<(), CallError> {
        let call = self.call;
        let keep_mode = python::str(call.arg("file_mode")).eq_ignore_ascii_case("keep");
        let file_mode = if keep_mode {
            Value::from("keep")
        } else {
            mode::normalize(call.arg("file_mode")).into()
        };
        let passed = call.clean_kwargs();
        for (path, source) in &tree.files {
            if call.flag("clean") && call.flag("replace") && Path::new(path).is_dir() {
                self.replaced(
                    path,
                    "Replacing directory with a file",
                    "Replaced directory with a new file",
                )?;
                if call.is_test() {
                    continue;
                }
            }
            let mut kwargs = Map::new();
            for (key, value) in &passed {
                let known = key.as_str().is_some_and(|key| PASSED.contains(&key));
                if known {
                    kwargs.insert(key.clone(), value.clone());
                }
            }
            for key in [
                "template",
                "context",
                "defaults",
                "replace",
                "backup",
                "keep_source",
            ] {
                kwargs.insert(key, call.arg(key).clone());
            }
            kwargs.insert("source", source.as_str());
            kwargs.insert("mode", file_mode.clone());
            kwargs.insert("makedirs", true);
            kwargs.insert("saltenv", self.saltenv.as_str());
            self.state("file.managed", path, kwargs)?;
        }
        Ok(())
    }

    /// Removes what is of the wrong kind, or says that it would be.
    fn replaced(&mut self, path: &str, would: &str, did: &str) -> Result<(), CallError> {
        if self.call.is_test() {
            self.ret.result = None;
            self.comments.push((path.to_owned(), would.into()));
            return Ok(());
        }
        walk::remove(Path::new(path))?;
        self.ret.changes.insert(path, Map::from([("diff", did)]));
        Ok(())
    }

    fn clean(&mut self, root: &Path, tree: &Tree) -> Result<(), CallError> {
        let name = root.display().to_string();
        let levels = walk::walk(root, None);
        let mut keep = tree.keep.clone();
        keep.extend(below::kept_by_others(self.call, &name, &levels));
        let choice = walk::Choice::new(&Value::Nil, self.call.arg("exclude_pat"))?;
        // While nothing is removed, what is in it is met as well.
        let gone = walk::unwanted(root, &keep, &choice, self.call.is_test());
        if gone.is_empty() {
            return Ok(());
        }
        let shown: Vec<Value> = gone
            .iter()
            .map(|path| path.display().to_string().into())
            .collect();
        if self.call.is_test() {
            if self.ret.result == Some(true) {
                self.ret.result = None;
            }
            self.comments.push(("removed".to_owned(), shown.into()));
            return Ok(());
        }
        for path in &gone {
            walk::remove_below(root, path)?;
        }
        self.ret.changes.insert("removed", shown);
        Ok(())
    }
}

/// Arguments of `file.managed` that pass through.
const PASSED: &[&str] = &[
    "show_changes",
    "skip_verify",
    "check_cmd",
    "tmp_dir",
    "tmp_ext",
    "encoding",
    "encoding_errors",
    "follow_symlinks",
    "attrs",
];
