//! Contexts of files and types of ports.

use std::io::ErrorKind;
use std::path::Path;

use halite_call::{Call, CallError, CallResult, os_error, python};
use halite_proto::{Map, Value};

use super::{output, ran};

/// Kinds of files by their letters.
const KINDS: [(&str, &str); 8] = [
    ("a", "all files"),
    ("f", "regular file"),
    ("d", "directory"),
    ("c", "character device"),
    ("b", "block device"),
    ("s", "socket"),
    ("l", "symbolic link"),
    ("p", "named pipe"),
];

/// The parts of a context.
const PARTS: [&str; 4] = ["sel_user", "sel_role", "sel_type", "sel_level"];

pub(crate) fn kind(letter: &str) -> Result<&'static str, CallError> {
    let found = KINDS.iter().find(|(known, _)| *known == letter);
    found.map(|(_, name)| *name).ok_or_else(|| {
        CallError::invocation(format!(
            "Invalid file type code '{letter}'; expected one of: a, f, d, c, b, s, l, p"
        ))
    })
}

fn parts(context: &str) -> Option<Map> {
    let values: Vec<&str> = context.splitn(4, ':').collect();
    let whole = values.len() == 4 && values.iter().all(|value| !value.is_empty());
    whole.then(|| PARTS.into_iter().zip(values).collect())
}

fn wrong_context(context: &str) -> CallError {
    CallError::invocation(format!(
        "Invalid SELinux context string: {context}. Expected \"sel_user:sel_role:sel_type:sel_level\""
    ))
}

/// The context that is set for the files `name`, as the arguments want it.
pub(crate) fn context(call: &Call<'_>) -> Result<Option<Map>, CallError> {
    let name = call.text("name");
    let wanted_kind = match call.text_opt("filetype") {
        Some(letter) => Some(kind(&letter)?),
        None => None,
    };
    let listing = output(call, &["semanage", "fcontext", "--list"])?;
    for line in listing.lines() {
        let Some(rest) = line
            .strip_prefix(&name)
            .filter(|rest| rest.starts_with(' '))
        else {
            continue;
        };
        let Some((file_kind, context)) = rest.trim().rsplit_once(' ') else {
            continue;
        };
        let Some(context) = parts(context) else {
            continue;
        };
        let fits = |argument: &str| {
            let wanted = call.text_opt(argument);
            wanted.is_none() || wanted.as_deref() == context.get(argument).and_then(Value::as_str)
        };
        let file_kind = file_kind.trim();
        if wanted_kind.is_none_or(|wanted| wanted == file_kind)
            && ["sel_type", "sel_user", "sel_level"].into_iter().all(fits)
        {
            let mut found = Map::from([("filespec", name.as_str()), ("filetype", file_kind)]);
            found.extend(context);
            return Ok(Some(found));
        }
    }
    Ok(None)
}

pub(super) fn change_context(call: &Call<'_>, action: &str) -> CallResult {
    let sel_type = call.text_opt("sel_type");
    write_context(call, action, sel_type.as_deref())
}

/// Adds, or deletes; what there is, is changed.
pub(crate) fn write_context(call: &Call<'_>, action: &str, sel_type: Option<&str>) -> CallResult {
    let name = call.text("name");
    let mut action = action;
    if action == "add" {
        let listing = output(call, &["semanage", "fcontext", "--list"])?;
        if listing.contains(&format!("{name} ")) {
            action = "modify";
        }
    }
    let mut words = vec![
        "semanage".to_owned(),
        "fcontext".to_owned(),
        format!("--{action}"),
    ];
    if let Some(letter) = call.text_opt("filetype").filter(|letter| letter != "a") {
        kind(&letter)?;
        words.extend(["--ftype".to_owned(), letter]);
    }
    let (user, level) = (call.text_opt("sel_user"), call.text_opt("sel_level"));
    for (option, value) in [
        ("--type", sel_type.map(str::to_owned)),
        ("--seuser", user),
        ("--range", level),
    ] {
        if let Some(value) = value {
            words.extend([option.to_owned(), value]);
        }
    }
    words.push(name);
    ran(call, &words)
}

fn restorecon(call: &Call<'_>, options: &[&str]) -> CallResult {
    let mut words = vec!["restorecon".to_owned()];
    words.extend(options.iter().map(|option| (*option).to_owned()));
    if call.flag("recursive") {
        words.push("-R".to_owned());
    }
    // The program looks real paths up in the policy: what it is given must be what is
    // meant, and what it sets is what the policy says of that.
    let name = call.text("name");
    match call.host().hand_link(Path::new(&name)) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Err(os_error(&error, &name));
        }
        // Of what is not there the program says so.
        _ => words.push(name),
    }
    ran(call, &words)
}

pub(crate) fn unapplied(call: &Call<'_>) -> Result<String, CallError> {
    let ran = restorecon(call, &["-n", "-v"])?;
    Ok(ran.get("stdout").map(python::str).unwrap_or_default())
}

/// A file with the context that it had and gets.
fn relabelled(line: &str) -> Option<(&str, &str, &str)> {
    if let Some(rest) = line.strip_prefix("Would relabel ") {
        let (rest, new) = rest.rsplit_once(" to ")?;
        let (file, old) = rest.rsplit_once(" from ")?;
        return Some((file, old, new));
    }
    let rest = line.strip_prefix("restorecon reset ")?;
    let (rest, new) = rest.rsplit_once("->")?;
    let (file, old) = rest.rsplit_once(" context ")?;
    Some((file, old, new))
}

pub(super) fn fcontext_apply_policy(call: &Call<'_>) -> CallResult {
    apply(call).map(Value::from)
}

pub(crate) fn apply(call: &Call<'_>) -> Result<Map, CallError> {
    let before = unapplied(call)?;
    let Value::Map(mut ran) = restorecon(call, &["-v", "-F"])? else {
        return Ok(Map::new());
    };
    if ran.get("retcode").and_then(Value::as_i64) != Some(0) {
        return Ok(ran);
    }
    let known = ["Would relabel", "restorecon reset"];
    if !known.iter().any(|begin| before.starts_with(begin)) {
        ran.insert("retcode", 1);
        ran.insert("error", "Unrecognized response from restorecon command.");
        return Ok(ran);
    }
    let mut changes = Map::new();
    for (file, old, new) in before.lines().filter_map(relabelled) {
        let mut old = parts(old).ok_or_else(|| wrong_context(old))?;
        let mut new = parts(new).ok_or_else(|| wrong_context(new))?;
        for part in PARTS {
            if old.get(part) == new.get(part) {
                old.remove(part);
                new.remove(part);
            }
        }
        changes.insert(file, Map::from([("old", old), ("new", new)]));
    }
    if !changes.is_empty() {
        ran.insert("changes", changes);
    }
    Ok(ran)
}

/// `tcp/8080` or `tcp/8080-8090`, or both arguments.
fn named_port(call: &Call<'_>) -> Result<(String, String), CallError> {
    let name = call.text("name");
    let (protocol, port) = (call.text("protocol"), call.text("port"));
    let read = |text: &str| -> Option<(String, String)> {
        let (protocol, port) = text.split_once('/')?;
        let digits = port.replacen('-', "", 1);
        let good = ["tcp", "udp"].contains(&protocol)
            && digits.len() > 1
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !port.starts_with('-')
            && !port.ends_with('-');
        good.then(|| (protocol.to_owned(), port.to_owned()))
    };
    read(&name)
        .or_else(|| read(&format!("{protocol}/{port}")))
        .ok_or_else(|| {
            CallError::invocation(format!(
                "Invalid name \"{name}\" format and protocol and port not provided or invalid: \"{protocol}\" \"{port}\"."
            ))
        })
}

/// The type of the port that the arguments name.
pub(crate) fn port(call: &Call<'_>, sel_type: Option<&str>) -> Result<Option<Map>, CallError> {
    let (protocol, port) = named_port(call)?;
    let listing = output(call, &["semanage", "port", "--list"])?;
    for line in listing.lines() {
        let mut words = line.split_whitespace();
        let (Some(known), Some(of)) = (words.next(), words.next()) else {
            continue;
        };
        let ports: Vec<&str> = words.collect();
        let has = ports.iter().any(|item| item.trim_end_matches(',') == port);
        if of == protocol && has && sel_type.is_none_or(|wanted| wanted == known) {
            return Ok(Some(Map::from([
                ("sel_type", known),
                ("protocol", of),
                ("port", ports.join(" ").as_str()),
            ])));
        }
    }
    Ok(None)
}

pub(crate) fn change_port(call: &Call<'_>, action: &str) -> CallResult {
    let option = |name: &str| {
        call.get(name)
            .filter(|value| value.is_true())
            .map(python::str)
    };
    let sel_type = option("sel_type").filter(|_| action != "delete");
    if action == "add" && sel_type.is_none() {
        return Err(CallError::invocation(
            "SELinux Type is required to add a policy",
        ));
    }
    let (protocol, port) = named_port(call)?;
    let mut words: Vec<String> = [
        "semanage",
        "port",
        &format!("--{action}"),
        "--proto",
        &protocol,
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(sel_type) = sel_type {
        words.extend(["--type".to_owned(), sel_type]);
    }
    if let Some(range) = option("sel_range").filter(|_| action != "delete") {
        words.extend(["--range".to_owned(), range]);
    }
    words.push(port);
    ran(call, &words)
}
