//! Commands that check a new content before it is put in place.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::paths::{self, Held};
use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use crate::core::write::Body;
use crate::core::{mode, path};
use halite_call::os_error;

/// What the command says.
pub(super) enum Checked {
    /// It is content.
    Good,
    /// It is not; the comment says why.
    Refused(String),
}

/// Where the content is shown to the command.
pub(super) struct ShownContent<'a> {
    /// The directory; the system's for temporary files if none.
    pub(super) directory: Option<&'a str>,
    /// What the file's name ends with.
    pub(super) extension: &'a str,
    /// The mode.
    pub(super) mode: Option<&'a str>,
    /// The file that is to be replaced, whose mode and owner it has.
    pub(super) like: Option<&'a Path>,
}

/// A file that is gone when it is dropped.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = paths::remove_file(&self.0);
    }
}

/// Writes the content to a file of its own and runs the command with it.
pub(super) fn check_body(
    call: &Call<'_>,
    command: &str,
    body: &Body,
    place: &ShownContent<'_>,
) -> Result<Checked, CallError> {
    let directory = place
        .directory
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let random: String = halite_crypto::random_bytes::<6>()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let file = directory.join(format!("__salt.tmp.{random}{}", place.extension));
    let wrong = |error: std::io::Error| os_error(&error, &file);
    let mut open = paths::create_new(&file, 0o600).map_err(wrong)?;
    let temporary = Temporary(file.clone());
    let bytes = body.read().map_err(wrong)?;
    open.write_all(&bytes).map_err(wrong)?;
    // Its name may be somebody else's by now.
    let held = Held::of(open, &file);
    if let Some(data) = place.like.and_then(|like| fs::metadata(like).ok()) {
        let _ = held.chown(Some(data.uid()), Some(data.gid()));
        let _ = held.set_mode(data.mode());
    }
    if let Some(bits) = place.mode.and_then(mode::parse) {
        let _ = held.set_mode(bits);
    }
    // A program that is being written cannot be run.
    drop(held);
    let answer = judge(call, command, &temporary.0.display().to_string())?;
    Ok(match answer.get("result") {
        Some(Value::Bool(true)) => Checked::Good,
        _ => Checked::Refused(answer.get("comment").map(python::str).unwrap_or_default()),
    })
}

/// Runs the command with the file's name behind it.
fn judge(call: &Call<'_>, command: &str, file: &str) -> Result<Map, CallError> {
    let line = format!("{command} {}", path::shell_quote(file));
    let mut options = Map::new();
    let low = call.job.state.as_ref().map(|scope| &scope.low);
    for key in ["runas", "env", "timeout", "umask"] {
        if let Some(value) = low.and_then(|low| low.get(key)) {
            options.insert(key, value.clone());
        }
    }
    let out = call.salt("cmd.run_all", &[line.into()], options)?;
    let code = out.get("retcode").and_then(Value::as_i64).unwrap_or(1);
    // The command's failure is the state's business, not the call's.
    call.set_retcode(0);
    if code == 0 {
        return Ok(Map::from([("result", true)]));
    }
    let mut comment = String::from("check_cmd execution failed");
    for stream in ["stdout", "stderr"] {
        if let Some(text) = out
            .get(stream)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
        {
            comment.push('\n');
            comment.push_str(text);
        }
    }
    Ok(Map::from([
        ("comment", Value::from(comment)),
        ("result", false.into()),
        ("skip_watch", true.into()),
    ]))
}

pub(super) fn mod_run_check_cmd(call: &Call<'_>) -> CallResult {
    let answer = judge(call, &call.text("cmd"), &call.text("filename"))?;
    Ok(match answer.get("result") {
        Some(Value::Bool(true)) => true.into(),
        _ => answer.into(),
    })
}
