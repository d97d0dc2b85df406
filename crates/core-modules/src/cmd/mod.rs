//! `cmd.*`: commands of the system.

mod chroot;
mod env;
mod exec;
mod find;
mod options;
mod script;
mod shells;

use halite_process::child;
use halite_proto::{Map, Value};

use exec::{Complaint, Ran, complain, execute};
use halite_call::{Call, CallError, CallResult, Function, Module};
use options::{Options, Words};

const RUN: &str = "(cmd, cwd=None, stdin=None, runas=None, group=None, shell=SHELL, python_shell=None, env=None, clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, redirect_stderr=True, bg=False, password=None, encoded_cmd=False, raise_err=False, prepend_path=None, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";
const RUN_ALL: &str = "(cmd, cwd=None, stdin=None, runas=None, group=None, shell=SHELL, python_shell=None, env=None, clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, redirect_stderr=False, password=None, encoded_cmd=False, prepend_path=None, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";
const RUN_STREAM: &str = "(cmd, cwd=None, stdin=None, runas=None, group=None, shell=SHELL, python_shell=None, env=None, clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, password=None, prepend_path=None, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";
const RUN_BG: &str = "(cmd, cwd=None, runas=None, group=None, shell=SHELL, python_shell=None, env=None, clean_env=False, template=None, umask=None, timeout=None, output_encoding=None, output_loglevel='debug', log_callback=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, password=None, prepend_path=None, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";
const RETCODE: &str = "(cmd, cwd=None, stdin=None, runas=None, group=None, shell=SHELL, python_shell=None, env=None, clean_env=False, template=None, umask=None, output_encoding=None, output_loglevel='debug', log_callback=None, timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, password=None, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";
const SHELL: &str = "(cmd, cwd=None, stdin=None, runas=None, group=None, shell=SHELL, env=None, clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, bg=False, password=None, prepend_path=None, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";
const CHROOT: &str = "(root, cmd, cwd=None, stdin=None, runas=None, group=None, shell=SHELL, python_shell=True, binds=None, env=None, clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, output_loglevel='quiet', log_callback=None, hide_output=False, timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, bg=False, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";
const SCRIPT: &str = "(source, args=None, cwd=None, stdin=None, runas=None, group=None, shell=SHELL, python_shell=None, env=None, template=None, umask=None, output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, timeout=None, reset_system_locale=True, saltenv=None, use_vt=False, bg=False, password=None, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";
const SCRIPT_RETCODE: &str = "(source, args=None, cwd=None, stdin=None, runas=None, group=None, shell=SHELL, python_shell=None, env=None, template='jinja', umask=None, timeout=None, reset_system_locale=True, saltenv=None, output_encoding=None, output_loglevel='debug', log_callback=None, use_vt=False, password=None, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";

macro_rules! with_options {
    ($text:literal) => {
        concat!(
            $text,
            "\n\nThe command runs through the shell when called from the command line, else\nonly with python_shell=True. runas and group change whose rights it has; cwd,\nenv, clean_env, prepend_path and umask its surroundings; timeout ends it with\nall its children. success_retcodes, success_stdout and success_stderr say what\ncounts as success, ignore_retcode that nothing counts as failure."
        )
    };
}

pub(super) const MODULE: Module = Module {
    name: "cmd",
    functions: &[
        Function::new(
            "cmd.exec_code",
            "(lang, code, cwd=None, args=None, **kwargs)",
            script::exec_code,
            "Runs code in the language of an interpreter and returns what it writes.",
        ),
        Function::new(
            "cmd.exec_code_all",
            "(lang, code, cwd=None, args=None, **kwargs)",
            script::exec_code_all,
            "Runs code in the language of an interpreter and returns its output, errors\nand return code.",
        ),
        Function::new(
            "cmd.has_exec",
            "(cmd)",
            find::has_exec,
            "Whether there is such a program.",
        ),
        Function::new(
            "cmd.powershell",
            "(cmd, cwd=None, stdin=None, runas=None, shell='powershell', env=None, clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, output_loglevel='debug', hide_output=False, timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, password=None, depth=None, encode_cmd=False, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)",
            shells::powershell,
            "Runs a command of PowerShell, as which pwsh is taken here, and returns what\nit has as JSON.",
        ),
        Function::new(
            "cmd.powershell_all",
            "(cmd, cwd=None, stdin=None, runas=None, shell='powershell', env=None, clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, output_loglevel='debug', quiet=False, timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, password=None, depth=None, encode_cmd=False, force_list=False, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)",
            shells::powershell_all,
            "Runs a command of PowerShell and returns its return code, its errors and\nwhat it has as JSON.",
        ),
        Function::new(
            "cmd.retcode",
            RETCODE,
            retcode,
            with_options!("Runs a command and returns its return code."),
        ),
        Function::new(
            "cmd.run",
            RUN,
            run,
            with_options!("Runs a command and returns what it writes, errors included."),
        ),
        Function::new(
            "cmd.run_all",
            RUN_ALL,
            run_all,
            with_options!(
                "Runs a command and returns its process id, return code, output and errors."
            ),
        ),
        Function::new(
            "cmd.run_bg",
            RUN_BG,
            run_bg,
            with_options!("Starts a command without waiting for it and returns its process id."),
        ),
        Function::new(
            "cmd.run_chroot",
            CHROOT,
            chroot::run_chroot,
            "Runs a command with another root directory, in which /dev, /proc, /sys and\nbinds are mounted for as long. What it leaves running there is ended.",
        ),
        Function::new(
            "cmd.run_stderr",
            RUN_STREAM,
            run_stderr,
            with_options!("Runs a command and returns its errors."),
        ),
        Function::new(
            "cmd.run_stdout",
            RUN_STREAM,
            run_stdout,
            with_options!("Runs a command and returns its output without errors."),
        ),
        Function::new(
            "cmd.script",
            SCRIPT,
            script::script,
            with_options!("Fetches a script from the master (or from a path) and runs it."),
        ),
        Function::new(
            "cmd.script_retcode",
            SCRIPT_RETCODE,
            script::script_retcode,
            with_options!("Fetches a script, runs it and returns its return code."),
        ),
        Function::new(
            "cmd.shell",
            SHELL,
            shell,
            with_options!("Runs a command line through the shell, always."),
        ),
        Function::new(
            "cmd.shell_info",
            "(shell, list_modules=False)",
            shells::shell_info,
            "Path and version of a shell or interpreter: bash, zsh, tcsh, perl, python,\nruby, php or powershell.",
        ),
        Function::new(
            "cmd.shells",
            "()",
            find::shells,
            "Lists the login shells of the system (/etc/shells).",
        ),
        Function::new(
            "cmd.tty",
            "(device, echo='')",
            find::tty,
            "Writes a text to a terminal, tty* or pts*.",
        ),
        Function::new(
            "cmd.which",
            "(cmd)",
            find::which_,
            "The path of a program, or None.",
        ),
        Function::new(
            "cmd.which_bin",
            "(cmds)",
            find::which_bin,
            "The path of the first of several programs that there is, or None.",
        ),
    ],
};

fn run(call: &Call<'_>) -> CallResult {
    let mut options = Options::read(call)?;
    options.merge_stderr = call.flag("redirect_stderr");
    run_for_output(call, &options, call.flag("raise_err"))
}

fn shell(call: &Call<'_>) -> CallResult {
    let mut options = Options::read(call)?;
    options.through_shell = true;
    options.merge_stderr = true;
    run_for_output(call, &options, false)
}

fn run_for_output(call: &Call<'_>, options: &Options, raise: bool) -> CallResult {
    if options.background {
        start(options)?;
        return Ok("".into());
    }
    let ran = execute(call, options)?;
    let failed = ran.retcode != 0;
    if failed && !options.ignore_retcode {
        complain(options, &Complaint::Run(&ran));
    }
    let output = if options.hide_output {
        String::new()
    } else {
        ran.stdout
    };
    if failed && raise && !options.ignore_retcode {
        return Err(CallError::Command(output));
    }
    Ok(output.into())
}

fn run_stdout(call: &Call<'_>) -> CallResult {
    let options = Options::read(call)?;
    let ran = execute(call, &options)?;
    Ok(if options.hide_output {
        "".into()
    } else {
        ran.stdout.into()
    })
}

fn run_stderr(call: &Call<'_>) -> CallResult {
    let options = Options::read(call)?;
    let ran = execute(call, &options)?;
    Ok(if options.hide_output {
        "".into()
    } else {
        ran.stderr.into()
    })
}

fn run_all(call: &Call<'_>) -> CallResult {
    let mut options = Options::read(call)?;
    options.merge_stderr = call.flag("redirect_stderr");
    if options.background {
        return Ok(started(start(&options)?));
    }
    Ok(execute(call, &options)?.into_value(options.hide_output))
}

/// What there is to tell of a command that runs on by itself.
fn started(pid: u32) -> Value {
    Map::from([
        ("pid", Value::from(pid)),
        ("retcode", Value::Nil),
        ("stdout", "".into()),
        ("stderr", "".into()),
    ])
    .into()
}

fn retcode(call: &Call<'_>) -> CallResult {
    let mut options = Options::read(call)?;
    options.merge_stderr = true;
    Ok(execute(call, &options)?.retcode.into())
}

fn run_bg(call: &Call<'_>) -> CallResult {
    let options = Options::read(call)?;
    Ok(Map::from([("pid", start(&options)?)]).into())
}

fn start(options: &Options) -> Result<u32, CallError> {
    let command = exec::command(options)?;
    child::spawn_detached(command, &exec::run_as(options), ())
        .map_err(|error| exec::not_started(options, &error))
}

/// The first word of the command, for messages.
fn first_word(words: &Words) -> String {
    match words {
        Words::Line(line) => line
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned(),
        Words::List(list) => list.first().cloned().unwrap_or_default(),
    }
}

impl Ran {
    fn into_value(self, hide_output: bool) -> Value {
        let shown = |text: String| if hide_output { String::new() } else { text };
        let pid = Value::from(self.pid);
        let retcode = Value::from(self.retcode);
        let (stdout, stderr) = (
            Value::from(shown(self.stdout)),
            Value::from(shown(self.stderr)),
        );
        if self.timed_out {
            Map::from([
                ("stdout", stdout),
                ("stderr", stderr),
                ("retcode", retcode),
                ("pid", pid),
            ])
            .into()
        } else {
            Map::from([
                ("pid", pid),
                ("retcode", retcode),
                ("stdout", stdout),
                ("stderr", stderr),
            ])
            .into()
        }
    }
}
