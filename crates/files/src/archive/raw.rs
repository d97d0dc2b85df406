//! Functions that run a program with the caller's options: the caller decides what
//! it reads and writes, and which links it follows.

use halite_call::{Call, CallError, CallResult};

use super::exec::{as_arguments, list_of, split, words};
use halite_call::python;

/// Runs a command and returns its lines.
fn lines(call: &Call<'_>, command: Vec<String>) -> CallResult {
    let (command, options) = as_arguments(call, command);
    let out = call.salt("cmd.run", &[command], options)?;
    Ok(split(&python::str(&out)))
}

pub(super) fn tar(call: &Call<'_>) -> CallResult {
    let Some(options) = call.text_opt("options") else {
        return Err(CallError::invocation("Tar options can not be empty"));
    };
    let mut command = vec!["tar".to_owned()];
    command.extend(words(Some(options)));
    command.push(call.text("tarfile"));
    if let Some(dest) = call.text_opt("dest") {
        command.extend(["-C".to_owned(), dest]);
    }
    command.extend(list_of(call.arg("sources")));
    lines(call, command)
}

pub(super) fn gzip(call: &Call<'_>) -> CallResult {
    let mut command = vec!["gzip".to_owned()];
    command.extend(words(call.text_opt("options")));
    command.push(call.text("sourcefile"));
    lines(call, command)
}

pub(super) fn gunzip(call: &Call<'_>) -> CallResult {
    let mut command = vec!["gunzip".to_owned()];
    command.extend(words(call.text_opt("options")));
    command.push(call.text("gzipfile"));
    lines(call, command)
}

pub(super) fn cmd_zip(call: &Call<'_>) -> CallResult {
    let mut command = vec!["zip".to_owned(), "-r".to_owned(), call.text("zip_file")];
    command.extend(list_of(call.arg("sources")));
    lines(call, command)
}

pub(super) fn rar(call: &Call<'_>) -> CallResult {
    let mut command = vec!["rar", "a", "-idp"]
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    command.push(call.text("rarfile"));
    command.extend(list_of(call.arg("sources")));
    lines(call, command)
}
