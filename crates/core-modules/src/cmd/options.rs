//! The command and its options, read from a call.

use std::path::PathBuf;
use std::time::Duration;

use halite_process::privileges::{User, UserError, lookup_group};
use halite_proto::{Map, Value};
use nix::unistd::Gid;

use super::env;
use halite_call::render_context;
use halite_call::{Call, CallError, python};

/// The command: a line, or words.
#[derive(Debug, Clone)]
pub(super) enum Words {
    Line(String),
    List(Vec<String>),
}

/// How it runs.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) words: Words,
    pub(super) through_shell: bool,
    pub(super) shell: String,
    pub(super) cwd: PathBuf,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) user: Option<User>,
    pub(super) group: Option<Gid>,
    pub(super) umask: Option<u32>,
    pub(super) env: Vec<(String, String)>,
    pub(super) merge_stderr: bool,
    pub(super) background: bool,
    pub(super) timeout: Option<(Duration, String)>,
    pub(super) rstrip: bool,
    pub(super) encoding: Encoding,
    pub(super) hide_output: bool,
    pub(super) ignore_retcode: bool,
    pub(super) quiet: bool,
    pub(super) success_retcodes: Vec<i64>,
    pub(super) success_stdout: Vec<String>,
    pub(super) success_stderr: Vec<String>,
}

/// How the output's bytes become text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Latin1,
}

impl Encoding {
    pub(super) fn decode(self, bytes: Vec<u8>) -> String {
        match self {
            Self::Utf8 => String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            Self::Latin1 => bytes.into_iter().map(char::from).collect(),
        }
    }
}

impl Options {
    /// Reads the parameters that the function has.
    pub(super) fn read(call: &Call<'_>) -> Result<Self, CallError> {
        let words = match call.get("cmd").unwrap_or(&Value::Nil) {
            Value::List(items) => Words::List(items.iter().map(python::str).collect()),
            other => Words::Line(rendered(call, python::str(other))?),
        };
        if matches!(&words, Words::Line(line) if line.trim().is_empty()) {
            return Err(CallError::exception(
                "IndexError",
                "list index out of range",
            ));
        }
        Self::read_for(call, words)
    }

    /// Reads the parameters for a command that does not come from `cmd`.
    pub(super) fn read_for(call: &Call<'_>, words: Words) -> Result<Self, CallError> {
        let get = |name: &str| call.get(name).unwrap_or(&Value::Nil);
        let text = |name: &str| {
            Some(get(name))
                .filter(|value| value.is_true())
                .map(python::str)
        };
        refuse(call)?;
        if let Words::Line(line) = &words {
            check_permitted(call, line)?;
        }
        let runas = text("runas").or_else(|| of_state(call, "runas"));
        let user = runas.map(|name| lookup_user(&name)).transpose()?;
        let user = user.filter(|user| user.uid != nix::unistd::geteuid());
        let group = text("group").map(|name| find_group(&name)).transpose()?;
        let shell = text("shell").unwrap_or_else(halite_call::default_shell);
        let cwd = text("cwd").map(|cwd| rendered(call, cwd)).transpose()?;
        let cwd = env::directory(cwd.as_deref(), user.as_ref())?;
        let variables = env::variables(call, user.as_ref(), &shell)?;
        Ok(Self {
            through_shell: through_shell(call),
            words,
            shell,
            cwd,
            stdin: text("stdin").map(|text| text.replace("\\n", "\n").into_bytes()),
            user,
            group,
            umask: match text("umask") {
                Some(text) => Some(umask(&text)?),
                None => mask_of_state(call),
            },
            env: variables,
            merge_stderr: false,
            background: get("bg").is_true(),
            timeout: timeout(get("timeout"))?,
            rstrip: call.get("rstrip").is_none_or(Value::is_true),
            encoding: encoding(text("output_encoding").as_deref())?,
            hide_output: get("hide_output").is_true(),
            ignore_retcode: get("ignore_retcode").is_true(),
            quiet: get("output_loglevel").as_str() == Some("quiet"),
            success_retcodes: success_retcodes(get("success_retcodes"))?,
            success_stdout: python::texts(get("success_stdout")),
            success_stderr: python::texts(get("success_stderr")),
        })
    }
}

/// What the state that is carried out says of `key`: it holds for all commands
/// that are run for it.
fn of_state(call: &Call<'_>, key: &str) -> Option<String> {
    let low = &call.job.state.as_ref()?.low;
    low.get(key)
        .filter(|value| value.is_true())
        .map(python::str)
}

/// The mask that the state asks for; the engine has read it already.
fn mask_of_state(call: &Call<'_>) -> Option<u32> {
    let mask = call.job.state.as_ref()?.low.get("__umask__")?.as_i64()?;
    u32::try_from(mask).ok()
}

/// The command, or where it runs, after its `template`.
fn rendered(call: &Call<'_>, text: String) -> Result<String, CallError> {
    // The template of a script is the script, not its name.
    let engine = call.get("cmd").and_then(|_| call.get("template"));
    match engine.filter(|engine| engine.is_true()) {
        Some(engine) => {
            let engine = python::str(engine);
            if !matches!(engine.as_str(), "jinja" | "py") {
                return Err(CallError::command(format!(
                    "Attempted to render file paths with unavailable engine {engine}"
                )));
            }
            let none = Map::new();
            render_context::render(call, &engine, text.as_bytes(), None, &none)
        }
        None => Ok(text),
    }
}

/// Whether the shell gets the line: as asked for, or since the call came from
/// a command line, where people expect it (unless `cmd_safe` is on).
fn through_shell(call: &Call<'_>) -> bool {
    match call.get("python_shell").unwrap_or(&Value::Nil) {
        Value::Nil => {
            call.opt("cmd_safe").as_bool() == Some(false) || call.kwargs().contains_key("__pub_jid")
        }
        asked => asked.is_true(),
    }
}

/// What is not there yet is refused, not ignored.
fn refuse(call: &Call<'_>) -> Result<(), CallError> {
    let on = |name: &str| call.get(name).is_some_and(Value::is_true);
    if on("use_vt") {
        return Err(CallError::command(
            "use_vt is not supported: this minion gives commands no terminal",
        ));
    }
    if on("encoded_cmd") {
        return Err(CallError::command(
            "encoded_cmd is for PowerShell, which this minion does not run",
        ));
    }
    Ok(())
}

fn check_permitted(call: &Call<'_>, line: &str) -> Result<(), CallError> {
    let listed = |option: &str| {
        let patterns = python::texts(call.opt(option));
        (!patterns.is_empty()).then(|| {
            patterns
                .iter()
                .any(|pattern| halite_target::glob::fnmatch(pattern, line))
        })
    };
    if listed("cmd_blacklist_glob") == Some(true) || listed("cmd_whitelist_glob") == Some(false) {
        return Err(CallError::command(format!(
            "This shell command is not permitted: \"{line}\""
        )));
    }
    Ok(())
}

fn lookup_user(name: &str) -> Result<User, CallError> {
    User::lookup(name).map_err(|error| match error {
        UserError::NoUser { .. } => CallError::command(format!("User '{name}' is not available")),
        other => CallError::command(other.to_string()),
    })
}

fn find_group(name: &str) -> Result<Gid, CallError> {
    lookup_group(name).map_err(|_| CallError::command(format!("Group '{name}' is not available")))
}

/// A mask in octal, with or without the leading zero.
fn umask(text: &str) -> Result<u32, CallError> {
    u32::from_str_radix(text.trim_start_matches("0o"), 8)
        .ok()
        .filter(|mask| *mask <= 0o777)
        .ok_or_else(|| CallError::command(format!("Invalid umask: '{text}'")))
}

fn timeout(value: &Value) -> Result<Option<(Duration, String)>, CallError> {
    let text = python::str(value);
    match value {
        Value::Nil | Value::Bool(_) => Ok(None),
        Value::Int(_) | Value::Float(_) => {
            let seconds = value.as_f64().unwrap_or_default();
            Ok(Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|duration| !duration.is_zero())
                .map(|duration| (duration, text)))
        }
        _ => Err(CallError::exception(
            "salt.exceptions.TimedProcTimeoutError",
            format!("Error: timeout {text} must be a number"),
        )),
    }
}

fn encoding(name: Option<&str>) -> Result<Encoding, CallError> {
    let Some(name) = name else {
        return Ok(Encoding::Utf8);
    };
    match name.to_ascii_lowercase().replace('_', "-").as_str() {
        "utf-8" | "utf8" | "ascii" | "us-ascii" => Ok(Encoding::Utf8),
        "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1" => Ok(Encoding::Latin1),
        _ => Err(CallError::exception(
            "LookupError",
            format!("unknown encoding: {name}"),
        )),
    }
}

fn success_retcodes(value: &Value) -> Result<Vec<i64>, CallError> {
    let items: Vec<Value> = match value {
        Value::Nil => Vec::new(),
        Value::List(items) => items.clone(),
        Value::Str(text) => text.split(',').map(Value::from).collect(),
        one => vec![one.clone()],
    };
    items
        .iter()
        .map(python::int)
        .collect::<Result<_, _>>()
        .map_err(|_| CallError::invocation("success_retcodes must be a list of integers"))
}
