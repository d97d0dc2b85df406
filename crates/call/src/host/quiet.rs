//! Programs from which functions get facts, on the machine that this process runs
//! on: without a shell, in the C locale, from `/`.

use std::io;
use std::path::PathBuf;

use halite_process::child::{self, RunOptions};
use halite_proto::python;

use crate::host_root::Host;
use crate::{Call, CallError};

/// What a program came to.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The code that it ended with.
    pub retcode: i64,
    /// What it wrote, without the blanks at the end.
    pub stdout: String,
    /// What it complained about, without the blanks at the end.
    pub stderr: String,
}

/// Runs a program to its end: no complaint, the return code of the call
/// untouched. `Ok(None)` when there is no such program.
///
/// # Errors
/// When it is there and cannot be run, or the job was stopped.
pub fn run_quietly(call: &Call<'_>, words: &[&str]) -> Result<Option<Answer>, CallError> {
    let Some((program, args)) = words.split_first() else {
        return Ok(None);
    };
    let mut command = child::command(program);
    command
        .args(args)
        .env("LC_ALL", "C")
        .env("LANGUAGE", "C")
        .current_dir("/");
    let done = match child::run(command, RunOptions::default(), |group| {
        call.cancel().watch(group)
    }) {
        Ok(done) => done,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(CallError::command(format!(
                "could not run {program}: {error}"
            )));
        }
    };
    let text = |bytes: Vec<u8>| python::trim_end(&String::from_utf8_lossy(&bytes)).to_owned();
    Ok(Some(Answer {
        retcode: done.code.into(),
        stdout: text(done.stdout),
        stderr: text(done.stderr),
    }))
}

/// The program called `name` on this machine. A path counts from `/` only.
pub fn which(name: &str) -> Option<PathBuf> {
    match name.contains('/') && !name.starts_with('/') {
        true => None,
        false => Host::default().which(name),
    }
}
