//! Runs a command to its end, and describes the outcome.

use std::io;
use std::path::Path;
use std::process::Command;

use halite_process::child::{self, RunAs, RunOptions};
use halite_process::limits::OUTPUT_BYTES_MAX;
use halite_process::privileges::User;

use super::first_word;
use super::options::{Options, Words};
use halite_call::{Call, CallError, os_text, paths, python, shlex};

/// What a command came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ran {
    pub(crate) pid: u32,
    pub(crate) retcode: i64,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) timed_out: bool,
}

/// The end of an output that was longer than what is kept of it.
const CUT: &str = "\n[cut here: the command wrote more than a return can carry]";

/// Runs the command, sets the return code of the call.
pub(super) fn execute(call: &Call<'_>, options: &Options) -> Result<Ran, CallError> {
    let command = command(options)?;
    let run_options = RunOptions {
        stdin: options.stdin.clone(),
        merge_stderr: options.merge_stderr,
        timeout: options.timeout.as_ref().map(|(duration, _)| *duration),
        run_as: run_as(options),
        ..RunOptions::default()
    };
    let done = child::run(command, run_options, |group| call.cancel().watch(group))
        .map_err(|error| not_started(options, &error))?;
    if let Some(signal) = call.cancel().ended_by() {
        return Err(CallError::Ended(signal));
    }
    if let (true, Some((_, seconds))) = (done.timed_out, &options.timeout) {
        return Ok(Ran {
            pid: done.pid,
            retcode: 1,
            stdout: format!("{} : Timed out after {seconds} seconds", written(options)),
            stderr: String::new(),
            timed_out: true,
        });
    }
    let text = |bytes: Vec<u8>| {
        let is_cut = bytes.len() >= OUTPUT_BYTES_MAX;
        let text = options.encoding.decode(bytes);
        match (is_cut, options.rstrip) {
            (true, _) => text + CUT,
            (false, true) => halite_proto::python::trim_end(&text).to_owned(),
            (false, false) => text,
        }
    };
    let mut ran = Ran {
        pid: done.pid,
        retcode: done.code.into(),
        stdout: text(done.stdout),
        stderr: text(done.stderr),
        timed_out: false,
    };
    if done.cut {
        tracing::warn!("the output of a command was cut: it is too long to be returned");
    }
    let any_in = |texts: &[String], output: &str| texts.iter().any(|text| output.contains(text));
    if options.success_retcodes.contains(&ran.retcode)
        || any_in(&options.success_stdout, &ran.stdout)
        || any_in(&options.success_stderr, &ran.stderr)
    {
        ran.retcode = 0;
    }
    call.set_retcode(if options.ignore_retcode {
        0
    } else {
        ran.retcode
    });
    if ran.retcode != 0 && !options.ignore_retcode {
        complain(options, &Complaint::Execute(&ran));
    }
    Ok(ran)
}

/// The process to start.
pub(super) fn command(options: &Options) -> Result<Command, CallError> {
    let words = argv(options)?;
    let program = words
        .first()
        .ok_or_else(|| CallError::exception("IndexError", "list index out of range"))?;
    // Found in the environment of the command, not in that of the minion.
    let mut command = child::command(program);
    command
        .args(&words[1..])
        .current_dir(&options.cwd)
        .env_clear()
        .envs(options.env.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Whose rights it has.
pub(super) fn run_as(options: &Options) -> RunAs {
    RunAs {
        user: options.user.clone(),
        group: options.group,
        umask: options.umask,
    }
}

fn argv(options: &Options) -> Result<Vec<String>, CallError> {
    if options.through_shell {
        if !halite_call::host::is_executable(Path::new(&options.shell)) {
            return Err(CallError::command(format!(
                "The shell {} is not available",
                options.shell
            )));
        }
        let mut words = vec![options.shell.clone(), "-c".to_owned()];
        match &options.words {
            Words::Line(line) => words.push(line.clone()),
            Words::List(list) => words.extend(list.iter().cloned()),
        }
        return Ok(words);
    }
    match &options.words {
        Words::Line(line) => shlex::split(line),
        Words::List(list) => Ok(list.clone()),
    }
}

/// Why a command has not even started, as Salt words it.
pub(super) fn not_started(options: &Options, error: &io::Error) -> CallError {
    let words = argv(options).unwrap_or_default();
    let reason = match error.raw_os_error() {
        Some(_) => {
            let program = Path::new(words.first().map_or("", String::as_str));
            let closed = error.kind() == io::ErrorKind::PermissionDenied
                && nix::unistd::access(&options.cwd, nix::unistd::AccessFlags::X_OK).is_err();
            os_text(error, if closed { &options.cwd } else { program })
        }
        None => error.to_string(),
    };
    let timeout = options
        .timeout
        .as_ref()
        .map_or("None", |(_, seconds)| seconds);
    let executable = match options.through_shell {
        true => format!("'executable': '{}', ", options.shell),
        false => String::new(),
    };
    CallError::command(format!(
        "Unable to run command '{}' with the context '{{'cwd': '{}', 'shell': {}, 'stdout': -1, \
         'stderr': {}, 'with_communicate': {}, 'timeout': {timeout}, 'bg': {}, {executable}'close_fds': \
         True}}', reason: {reason}",
        written(options),
        options.cwd.display(),
        python::repr(&options.through_shell.into()),
        if options.merge_stderr { -2 } else { -1 },
        python::repr(&(!options.background).into()),
        python::repr(&options.background.into()),
    ))
}

fn written(options: &Options) -> String {
    match &options.words {
        Words::Line(line) if options.through_shell => line.clone(),
        _ => {
            let words = argv(options).unwrap_or_default();
            let words: Vec<halite_proto::Value> = words.into_iter().map(Into::into).collect();
            python::repr(&words.into())
        }
    }
}

/// What is logged about a command that failed.
pub(super) enum Complaint<'a> {
    /// By everything that runs commands.
    Execute(&'a Ran),
    /// Once more by `cmd.run` and `cmd.shell`.
    Run(&'a Ran),
}

pub(super) fn complain(options: &Options, complaint: &Complaint<'_>) {
    if options.quiet {
        return;
    }
    let (Complaint::Execute(ran) | Complaint::Run(ran)) = complaint;
    let retcode = ran.retcode;
    let word = first_word(&options.words);
    tracing::error!("Command '{word}' failed with return code: {retcode}");
    match complaint {
        Complaint::Execute(ran) => {
            if !ran.stdout.is_empty() {
                tracing::error!("stdout: {}", ran.stdout);
            }
            if !ran.stderr.is_empty() {
                tracing::error!("stderr: {}", ran.stderr);
            }
            tracing::error!("retcode: {retcode}");
        }
        Complaint::Run(ran) => tracing::error!("output: {}", ran.stdout),
    }
}

/// For scripts that another user is to run: the file must be that user's.
pub(super) fn give_to(path: &Path, user: Option<&User>) -> io::Result<()> {
    match user {
        Some(user) => paths::lchown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())),
        None => Ok(()),
    }
}
