//! Scripts: fetched from the master, or given as code.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use halite_crypto::random_bytes;
use halite_process::child;
use halite_proto::{Map, Value};

use super::exec::{self, Ran, execute, give_to};
use super::options::{Options, Words};
use halite_call::{
    Call, CallError, CallResult, errno, os_error, paths, python, render_context, shlex,
};

/// A script that nobody but its user can read, gone when it has run.
struct TempScript(PathBuf);

impl TempScript {
    fn create(suffix: &str, content: &[u8]) -> io::Result<Self> {
        let name: String = random_bytes::<8>()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let path = std::env::temp_dir().join(format!("__salt.tmp.{name}{suffix}"));
        let script = Self(path);
        let mut file = paths::create_new(&script.0, 0o700)?;
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(0o500))?;
        Ok(script)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempScript {
    fn drop(&mut self) {
        let _ = paths::remove_file(&self.0);
    }
}

pub(super) fn script(call: &Call<'_>) -> CallResult {
    run_script(call)
}

pub(super) fn script_retcode(call: &Call<'_>) -> CallResult {
    let ret = run_script(call)?;
    Ok(ret.get("retcode").cloned().unwrap_or_default())
}

fn run_script(call: &Call<'_>) -> CallResult {
    let source = call.text("source");
    let Some(cached) = fetch(call, &source)? else {
        return Ok(Map::from([
            ("pid", Value::from(0)),
            ("retcode", 1.into()),
            ("stdout", "".into()),
            ("stderr", "".into()),
            ("cache_error", true.into()),
        ])
        .into());
    };
    let failed = |error: io::Error| {
        let (_, why) = errno(&error);
        CallError::command(format!("could not prepare the script {source}: {why}"))
    };
    let content = paths::read(&cached).map_err(|error| os_error(&error, &cached))?;
    let content = rendered(call, &cached, content)?;
    let name = source.split('?').next().unwrap_or_default();
    let suffix = Path::new(name)
        .extension()
        .map(|suffix| format!(".{}", suffix.to_string_lossy()));
    let script =
        TempScript::create(suffix.as_deref().unwrap_or_default(), &content).map_err(failed)?;

    let mut line = shlex::quote(&script.path().to_string_lossy());
    line.push_str(&arguments(call)?);
    let mut options = Options::read_for(call, Words::Line(line))?;
    // Through the shell, so that a script without a first line `#!` runs too.
    options.through_shell = true;
    give_to(script.path(), options.user.as_ref()).map_err(failed)?;
    if options.background {
        return in_background(&options, script);
    }
    let ran: Ran = execute(call, &options)?;
    Ok(ran.into_value(options.hide_output))
}

fn in_background(options: &Options, script: TempScript) -> CallResult {
    let command = exec::command(options)?;
    let pid = child::spawn_detached(command, &exec::run_as(options), script)
        .map_err(|error| exec::not_started(options, &error))?;
    Ok(super::started(pid))
}

/// The arguments as the rest of a command line. Only with `python_shell=True`
/// does the shell expand them.
fn arguments(call: &Call<'_>) -> Result<String, CallError> {
    let args = call.arg("args");
    let words = match args {
        Value::Nil => return Ok(String::new()),
        Value::List(items) => items.iter().map(python::str).collect(),
        line if call.flag("python_shell") => return Ok(format!(" {}", python::str(line))),
        line => shlex::split(&python::str(line))?,
    };
    Ok(words
        .iter()
        .map(|word| format!(" {}", shlex::quote(word)))
        .collect())
}

/// The path of the script on this machine; nothing if there is no such file.
fn fetch(call: &Call<'_>, source: &str) -> Result<Option<PathBuf>, CallError> {
    let kwargs = Map::from([("saltenv", call.arg("saltenv").clone())]);
    let cached = call.salt("cp.cache_file", &[source.into()], kwargs)?;
    Ok(cached
        .as_str()
        .map(PathBuf::from)
        .filter(|path| path.is_file()))
}

/// The script after its `template`.
fn rendered(call: &Call<'_>, path: &Path, content: Vec<u8>) -> Result<Vec<u8>, CallError> {
    match call.text_opt("template") {
        Some(engine) => {
            let context = call.clean_kwargs();
            let text = render_context::render(call, &engine, &content, Some(path), &context)?;
            Ok(text.into_bytes())
        }
        None => Ok(content),
    }
}

pub(super) fn exec_code(call: &Call<'_>) -> CallResult {
    Ok(run_code(call)?.stdout.into())
}

pub(super) fn exec_code_all(call: &Call<'_>) -> CallResult {
    Ok(run_code(call)?.into_value(false))
}

fn run_code(call: &Call<'_>) -> Result<Ran, CallError> {
    let lang = call.text("lang");
    let code = match call.arg("code") {
        Value::List(lines) => lines.iter().map(python::str).collect::<Vec<_>>().join("\n"),
        text => python::str(text),
    };
    let script = TempScript::create("", code.as_bytes())
        .map_err(|error| CallError::command(format!("could not write the code: {error}")))?;
    let mut words = vec![lang, script.path().display().to_string()];
    match call.arg("args") {
        Value::Nil => {}
        Value::List(items) => words.extend(items.iter().map(python::str)),
        one => words.push(python::str(one)),
    }
    let mut options = Options::read_for(call, Words::List(words))?;
    options.through_shell = false;
    give_to(script.path(), options.user.as_ref())
        .map_err(|error| CallError::command(format!("could not hand the code over: {error}")))?;
    execute(call, &options)
}
