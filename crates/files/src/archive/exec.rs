//! `archive.*` as functions.

use std::path::{Path, PathBuf};

use halite_call::addresses::redacted;
use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::format::Format;
use super::pack::make_zip;
use super::read::{Contents, open_zip};
use super::staged::{Old, Stage};
use super::unpack::Unzip;
use crate::sources::{Scheme, fetch, scheme};
use halite_call::os_text;

/// What a program says; one that fails is an error, with what it said.
fn said_of_success(
    call: &Call<'_>,
    command: Vec<String>,
    env: Option<Map>,
) -> Result<String, CallError> {
    let (command, mut options) = as_arguments(call, command);
    if let Some(env) = env {
        options.insert("env", env);
    }
    options.insert("redirect_stderr", true);
    let out = call.salt("cmd.run_all", &[command], options)?;
    let said = out.get("stdout").map(python::str).unwrap_or_default();
    if out.get("retcode").and_then(Value::as_i64) != Some(0) {
        return Err(CallError::command(said));
    }
    Ok(said)
}

pub(super) fn as_arguments(call: &Call<'_>, command: Vec<String>) -> (Value, Map) {
    let command: Vec<Value> = command.into_iter().map(Value::from).collect();
    let mut options = Map::from([("python_shell", Value::from(false))]);
    for key in ["cwd", "runas", "template"] {
        if let Some(value) = call.get(key).filter(|value| value.is_true()) {
            options.insert(key, value.clone());
        }
    }
    (command.into(), options)
}

pub(super) fn split(said: &str) -> Value {
    said.lines().map(Value::from).collect::<Vec<_>>().into()
}

pub(super) fn words(text: Option<String>) -> Vec<String> {
    text.unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// A list, or text with commas.
pub(super) fn list_of(value: &Value) -> Vec<String> {
    python::texts(value)
}

pub(super) fn zip(call: &Call<'_>) -> CallResult {
    let cwd = call.text_opt("cwd");
    let sources = list_of(call.arg("sources"));
    if cwd.is_none() && sources.iter().any(|source| !source.starts_with('/')) {
        return Err(CallError::invocation(
            "Relative paths require the 'cwd' parameter",
        ));
    }
    let names = make_zip(Path::new(&call.text("zip_file")), &sources, cwd.as_deref())?;
    Ok(names
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

pub(super) fn unrar(call: &Call<'_>) -> CallResult {
    let mut command = vec!["unrar", "x", "-idp"]
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    command.push(call.text("rarfile"));
    for exclude in list_of(call.arg("excludes")) {
        command.extend(["-x".to_owned(), exclude]);
    }
    let dest = call.text("dest");
    let stage = Stage::new(call, Path::new(&dest), call.text_opt("runas").as_deref())?;
    command.push(format!("{}/", stage.path().display()));
    let (command, options) = as_arguments(call, command);
    let said = python::str(&call.salt("cmd.run", &[command], options)?);
    let said = stage.said(&said);
    // It asks whether an old file is to give way, and nobody answers.
    stage.deliver(Old::Kept)?;
    Ok(trimmed(call, split(&said)))
}

pub(super) fn cmd_unzip(call: &Call<'_>) -> CallResult {
    let mut command = vec!["unzip".to_owned()];
    command.extend(words(call.text_opt("options")));
    let options = call.text_opt("options").unwrap_or_default();
    let dest = call.text("dest");
    let stage = Stage::new(call, Path::new(&dest), call.text_opt("runas").as_deref())?;
    let to = stage.path().display().to_string();
    command.extend([call.text("zip_file"), "-d".to_owned(), to]);
    let excludes = list_of(call.arg("excludes"));
    if !excludes.is_empty() {
        command.push("-x".to_owned());
        command.extend(excludes);
    }
    let env = match call.text_opt("password") {
        Some(password) => Some(Map::from([("UNZIP", unzip_password(&password)?)])),
        None => None,
    };
    let said = match said_of_success(call, command, env) {
        Ok(said) => stage.said(&said),
        Err(CallError::Command(said)) => return Err(CallError::command(stage.said(&said))),
        Err(error) => return Err(error),
    };
    match stage.deliver(Old::of_unzip(&options))? {
        None => Ok(trimmed(call, split(&said))),
        // As the program says it where it meets the file.
        Some(stayed) => Err(CallError::command(format!(
            "{}\nreplace {}? [y]es, [n]o, [A]ll, [N]one, [r]ename:  NULL\n(EOF or read error, \
             treating as \"[N]one\" ...)",
            said.lines().next().unwrap_or_default(),
            stayed.display()
        ))),
    }
}

/// Options of unzip as it takes them from its environment, which nobody reads
/// but its user. It knows quotes there, and no way to write one.
fn unzip_password(password: &str) -> Result<String, CallError> {
    let has_space = password.contains(|char: char| char.is_ascii_whitespace());
    if !has_space && !password.starts_with('"') {
        return Ok(format!("-P {password}"));
    }
    if password.contains(['"', '\\']) {
        return Err(CallError::invocation(
            "this password can only be handed to unzip on its command line, where everybody \
             reads it: without `options`, `runas` and `use_cmd_unzip` unzip is not needed",
        ));
    }
    Ok(format!("-P \"{password}\""))
}

pub(super) fn unzip(call: &Call<'_>) -> CallResult {
    if call.text_opt("runas").is_some() || call.text_opt("options").is_some() {
        return cmd_unzip(call);
    }
    let (archive, dest) = (call.text("zip_file"), call.text("dest"));
    let excludes = list_of(call.arg("excludes"));
    let names = Unzip {
        archive: Path::new(&archive),
        dest: Path::new(&dest),
        excludes: &excludes,
        password: call.text_opt("password").as_deref(),
        permissions: call.flag("extract_perms"),
    }
    .run()?;
    let names: Vec<Value> = names.into_iter().map(Value::from).collect();
    Ok(trimmed(call, names.into()))
}

/// The first lines, if not all are wanted.
fn trimmed(call: &Call<'_>, lines: Value) -> Value {
    let wanted = match call.arg("trim_output") {
        Value::Bool(false) | Value::Nil => return lines,
        Value::Bool(true) => 100,
        other => usize::try_from(python::int(other).unwrap_or(100)).unwrap_or(100),
    };
    match lines {
        Value::List(mut lines) if lines.len() > wanted => {
            lines.truncate(wanted);
            lines.push(format!("List trimmed after {wanted} files.").into());
            lines.into()
        }
        lines => lines,
    }
}

/// The archive as a file of this machine.
fn local(call: &Call<'_>) -> Result<PathBuf, CallError> {
    let name = call.text("name");
    match scheme(&name) {
        Scheme::Salt | Scheme::Remote => {
            let env = call.text("saltenv");
            fetch::cache(call, &fetch::FetchRequest::fresh(&name, &env))?
                .ok_or_else(|| CallError::command(format!("Failed to cache {}", redacted(&name))))
        }
        _ => Ok(crate::sources::local_path(&name).into()),
    }
}

/// What a failure tells more of follows these words.
pub(super) const MORE: &str = ". Additional info follows:\n\n";

/// Adds where the archive lies to a failure that does not say it.
fn located(error: &CallError, path: &Path) -> CallError {
    let text = error.to_string();
    if text.contains(MORE) {
        return CallError::command(text);
    }
    CallError::command(format!(
        "{text}{MORE}archive location:\n    {}",
        path.display()
    ))
    .tidy()
}

trait Tidy {
    fn tidy(self) -> Self;
}

impl Tidy for CallError {
    /// One full stop is enough.
    fn tidy(self) -> Self {
        match self {
            Self::Command(text) => Self::Command(text.replace(".. Additional", ". Additional")),
            other => other,
        }
    }
}

/// What is in an archive; `decompress` is the command line of a program for
/// what tar cannot read.
pub(super) fn contents(
    path: &Path,
    format: Format,
    strip: usize,
    decompress: Option<&str>,
) -> Result<Contents, CallError> {
    let decompress = decompress.map(halite_call::shlex::split).transpose()?;
    match Contents::of(path, format, decompress.as_deref()) {
        Ok(contents) if strip > 0 => Ok(contents.stripped(strip)),
        Ok(contents) => Ok(contents),
        Err(error) => Err(located(&error, path)),
    }
}

pub(super) fn list(call: &Call<'_>) -> CallResult {
    let path = local(call)?;
    let format = match call.text_opt("archive_format") {
        Some(name) => Format::parse(&name.to_lowercase()).ok_or_else(|| {
            let error = CallError::command(format!("Unsupported archive format '{name}'"));
            located(&error, &path)
        })?,
        None => Format::guess(&path.display().to_string()).ok_or_else(|| {
            let error = CallError::command(
                "Unable to guess archive format, please pass an 'archive_format' argument.",
            );
            located(&error, &path)
        })?,
    };
    let strip = match call.arg("strip_components") {
        Value::Nil => 0,
        count => usize::try_from(python::int(count)?).unwrap_or(0),
    };
    let decompress = call.text_opt("options");
    let contents = contents(&path, format, strip, decompress.as_deref())?;
    if call.flag("verbose") {
        return Ok(contents.verbose());
    }
    let names: Vec<Value> = contents
        .names()
        .into_iter()
        .map(|name| Value::from(name.as_str()))
        .collect();
    Ok(names.into())
}

pub(super) fn is_encrypted(call: &Call<'_>) -> CallResult {
    let path = local(call)?;
    if !path.exists() {
        let error = std::io::Error::from_raw_os_error(nix::libc::ENOENT);
        return Err(located(&CallError::command(os_text(&error, &path)), &path));
    }
    let mut zip = open_zip(&path).map_err(|error| located(&error, &path))?;
    for at in 0..zip.len() {
        if zip.by_index_raw(at).is_ok_and(|entry| entry.encrypted()) {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_written_as_unzip_reads_it() {
        for (password, option) in [
            ("plain", Some("-P plain")),
            ("q\"u\\o;$(te)", Some("-P q\"u\\o;$(te)")),
            ("of two words", Some("-P \"of two words\"")),
            ("\"begins", None),
            ("with \"both", None),
            ("a \\", None),
        ] {
            assert_eq!(
                unzip_password(password).ok().as_deref(),
                option,
                "{password}"
            );
        }
    }
}
