//! What shells and interpreters there are, and PowerShell.

use halite_proto::{Map, Value};

use halite_call::host::{run_quietly, which};
use halite_call::{Call, CallError, CallResult, python};

/// A shell, what its version follows, and the command that tells it.
const SHELLS: [(&str, &str, &[&str]); 8] = [
    ("bash", "version ", &["bash", "--version"]),
    ("zsh", "zsh ", &["zsh", "--version"]),
    ("tcsh", "tcsh ", &["tcsh", "--version"]),
    (
        "powershell",
        "PSVersion",
        &["powershell", "-NonInteractive", "$PSVersionTable"],
    ),
    ("perl", "", &["perl", "-e", "printf \"%vd\\n\", $^V;"]),
    ("python", "Python ", &["python", "-V"]),
    ("ruby", "ruby ", &["ruby", "-v"]),
    ("php", "PHP ", &["php", "-v"]),
];

/// The word behind `prefix` that begins with a digit.
fn version(text: &str, prefix: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let prefix = prefix.to_lowercase();
    lower.match_indices(&prefix).find_map(|(at, found)| {
        let rest = text.get(at + found.len()..)?.trim_start();
        let word = rest.split_whitespace().next()?;
        word.starts_with(|c: char| c.is_ascii_digit())
            .then(|| word.to_owned())
    })
}

pub(super) fn shell_info(call: &Call<'_>) -> CallResult {
    let shell = call.text("shell");
    let known = SHELLS.iter().find(|(name, ..)| *name == shell);
    let Some((_, prefix, words)) = known else {
        let error = format!("Salt does not know how to get the version number for {shell}");
        return Ok(Map::from([("error", Value::from(error)), ("installed", Value::Nil)]).into());
    };
    let Some(ran) = run_quietly(call, words)? else {
        let program = words.first().copied().unwrap_or_default();
        let error = format!(
            "Unable to run command '{}' Reason: [Errno 2] No such file or directory: '{program}'",
            words.join(" ")
        );
        return Ok(Map::from([("error", Value::from(error)), ("installed", false.into())]).into());
    };
    let said = [ran.stdout.as_str(), ran.stderr.as_str()].join("\n");
    let mut info = Map::from([("installed", Value::from(false))]);
    let path = words.first().and_then(|program| which(program));
    info.insert("path", path.map(|path| path.display().to_string()));
    let raw = version(&said, prefix);
    if let Some(raw) = &raw {
        info.insert("version_raw", raw.as_str());
        let digits: String = raw
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        let mut parts: Vec<&str> = digits.split('.').take(3).collect();
        if parts.len() == 1 {
            parts.push("0");
        }
        info.insert("installed", true);
        info.insert("version", parts.join("."));
    } else {
        info.insert("installed", Value::Nil);
        let error = format!(
            "The version regex pattern for shell {shell}, could not find the version string"
        );
        tracing::error!("{error}");
        info.insert("error", error);
        info.insert("stdout", said);
    }
    Ok(info.into())
}

/// The command line of PowerShell for a command that is to say JSON.
fn command(call: &Call<'_>) -> Result<(String, String), CallError> {
    let shell = call.text("shell");
    if !["powershell", "pwsh"].contains(&shell.as_str()) {
        return Err(CallError::command(
            "Must specify a valid powershell binary. Must be 'powershell' or 'pwsh'",
        ));
    }
    let program = ["powershell", "pwsh"]
        .into_iter()
        .find(|name| which(name).is_some());
    let Some(program) = program else {
        return Err(CallError::command(
            "PowerShell is not installed: there is neither 'powershell' nor 'pwsh'",
        ));
    };
    let mut text = match call.arg("cmd") {
        Value::List(words) => words.iter().map(python::str).collect::<Vec<_>>().join(" "),
        text => python::str(text),
    };
    if call.flag("encode_cmd") {
        return Err(CallError::invocation(
            "encode_cmd is for Windows, where command lines are in UTF-16",
        ));
    }
    text.push_str(" | ConvertTo-JSON");
    if !call.arg("depth").is_nil() {
        text.push_str(&format!(" -Depth {}", call.int("depth")?));
    }
    Ok((program.to_owned(), text))
}

fn run(call: &Call<'_>) -> Result<Map, CallError> {
    let (program, text) = command(call)?;
    let words = [
        program.as_str(),
        "-NonInteractive",
        "-NoProfile",
        "-Command",
        &text,
    ];
    let words = Value::List(words.iter().map(|word| Value::from(*word)).collect());
    let mut options = Map::from([("python_shell", false)]);
    for name in [
        "cwd",
        "stdin",
        "runas",
        "env",
        "clean_env",
        "timeout",
        "ignore_retcode",
    ] {
        options.insert(name, call.arg(name).clone());
    }
    match call.salt("cmd.run_all", &[words], options)? {
        Value::Map(ran) => Ok(ran),
        _ => Ok(Map::new()),
    }
}

/// What the command said, as data; nothing if it is none.
fn data(ran: &Map) -> Option<Value> {
    let said = ran.get("stdout").and_then(Value::as_str)?;
    let node = halite_yaml::load(said, "PowerShell").ok()?;
    Some(node.into_value())
}

pub(super) fn powershell(call: &Call<'_>) -> CallResult {
    let ran = run(call)?;
    match data(&ran) {
        Some(data) => Ok(data),
        None => {
            tracing::error!("Error converting PowerShell JSON return");
            Ok(Map::new().into())
        }
    }
}

pub(super) fn powershell_all(call: &Call<'_>) -> CallResult {
    let mut ran = run(call)?;
    let result = match data(&ran) {
        Some(Value::Nil) | None => Value::List(Vec::new()),
        Some(one) if call.flag("force_list") && one.as_list().is_none() => vec![one].into(),
        Some(data) => data,
    };
    ran.retain(|name, _| name.as_str() != Some("stdout"));
    ran.insert("result", result);
    Ok(ran.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found() {
        let bash = "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)";
        assert_eq!(
            version(bash, "version ").as_deref(),
            Some("5.2.15(1)-release")
        );
        assert_eq!(
            version("Python 3.11.7", "Python ").as_deref(),
            Some("3.11.7")
        );
        assert_eq!(version("5.36.0\n", "").as_deref(), Some("5.36.0"));
        assert_eq!(version("none", "Python "), None);
    }
}
