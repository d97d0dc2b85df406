//! Programs that functions ask for facts, on the machine that this process runs
//! on: without a shell, in the C locale, from `/`.

use std::io;
use std::path::{Path, PathBuf};

use halite_process::child::{self, RunOptions};
use halite_proto::python;

use crate::host_root::{MORE_DIRECTORIES, is_executable};
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

/// The path of the program called `name`. Daemons are started with little in
/// `PATH`, so the directories of the system are searched as well.
pub fn which(name: &str) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    let path = Path::new(name);
    if path.is_absolute() {
        return is_executable(path).then(|| path.to_owned());
    }
    if name.contains('/') {
        return None;
    }
    let from_env = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = std::env::split_paths(&from_env)
        .chain(MORE_DIRECTORIES.iter().map(PathBuf::from))
        .collect();
    dirs.into_iter()
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|path| is_executable(path))
}
