//! `file.comment_line` and related functions, and `file.psed`.

use std::fs;
use std::path::Path;

use halite_call::paths::Handed;
use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::paths::arg;
use super::replace::{backup_suffix, keep_beside};
use crate::core::regex::{self, Pattern, Template};
use crate::core::text::Text;
use crate::core::{diff, lines, path, text, write};
use halite_call::os_error;

pub(super) fn comment_line(call: &Call<'_>) -> CallResult {
    run(call, call.flag("cmnt"))
}

pub(super) fn comment(call: &Call<'_>) -> CallResult {
    run(call, true)
}

pub(super) fn uncomment(call: &Call<'_>) -> CallResult {
    run(call, false)
}

fn run(call: &Call<'_>, comments: bool) -> CallResult {
    let name = arg(call, "path");
    let real = path::real_to_change(&name).map_err(|error| os_error(&error, Path::new(&name)))?;
    if !real.is_file() {
        return Err(CallError::invocation(format!("File not found: {name}")));
    }
    let mark = call.text("char");
    let given = call.text("regex");
    let anchored = given.starts_with('^');
    let ends = given.ends_with('$');
    let bare = given.trim_start_matches('^').trim_end_matches('$');
    let end = if ends { "$" } else { "" };
    let expression = if comments {
        let start = if anchored { "^" } else { "" };
        format!("{start}({bare}){end}")
    } else {
        format!("^{}(\\s*{bare}){end}", regex::escape(&mark))
    };
    let old = Text::new(text::read(&real)?);
    let pattern = Pattern::new(&old.fit(&expression), 0)?;
    let mark = old.fit(&mark);
    let (mut new, mut was, mut now) = (String::new(), Vec::new(), Vec::new());
    for line in lines::kept(&old.text) {
        if pattern.captures_start(line)?.is_none() {
            new.push_str(line);
            continue;
        }
        let changed = if comments {
            format!("{mark}{line}")
        } else {
            line.strip_prefix(mark.as_str()).unwrap_or(line).to_owned()
        };
        new.push_str(&changed);
        was.push(line);
        now.push(changed);
    }
    if was.is_empty() {
        return Ok(false.into());
    }
    if let Some(suffix) = backup_suffix(call.arg("backup")) {
        keep_beside(&name, &real, &suffix)?;
    }
    write::update(&real, &old.bytes(&new)).map_err(|error| {
        CallError::command(format!(
            "Unable to write file '{}'. Exception: {}",
            real.display(),
            halite_call::os_text(&error, &real)
        ))
    })?;
    let now: Vec<&str> = now.iter().map(String::as_str).collect();
    Ok(diff::unified(&was, &now, "", "").into())
}

pub(super) fn psed(call: &Call<'_>) -> CallResult {
    let name = arg(call, "path");
    let at = Path::new(&name);
    let multi = call.flag("multi");
    let (mut before, after) = (call.text("before"), call.text("after"));
    let after_template = Template::parse(&after)?;
    if call.flag("escape_all") {
        before = regex::escape(&before);
    }
    let mut flags = 0;
    let mut all = false;
    for letter in call.text("flags").chars() {
        match letter {
            'g' => all = true,
            'i' | 'I' => flags |= regex::IGNORECASE,
            'M' | 'm' => flags |= regex::MULTILINE,
            'S' => flags |= 16,
            _ => {}
        }
    }
    let content = Text::new(text::read(at)?);
    let suffix = backup_suffix(call.arg("backup"));
    let pattern = Pattern::new(&content.fit(&before), flags)?;
    let count = usize::from(!all);
    let limit = call.text_opt("limit");
    let new = if multi {
        pattern.replace(&after_template, &content.text, count)?.0
    } else {
        let limit = limit.map(|limit| Pattern::new(&limit, flags)).transpose()?;
        let mut new = String::new();
        for line in lines::kept(&content.text) {
            let meant = match &limit {
                Some(limit) => limit.is_in(line)?,
                None => true,
            };
            if meant {
                new.push_str(&pattern.replace(&after_template, line, count)?.0);
            } else {
                new.push_str(line);
            }
        }
        new
    };
    if let Some(suffix) = &suffix {
        let real = path::real_to_change(&name).map_err(|error| os_error(&error, at))?;
        keep_beside(&name, &real, suffix)?;
    }
    write::update(at, &content.bytes(&new)).map_err(|error| os_error(&error, at))?;
    Ok(Value::Nil)
}

/// The arguments of `sed` for a text that is to be matched as it is.
fn sed_escape(text: &str, all: bool) -> String {
    let special = if all { "\\^.[$()|*+?{/&" } else { "/" };
    let mut out = String::new();
    for c in text.chars() {
        if special.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

pub(super) fn sed(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    if !Path::new(&path).exists() {
        return Ok(false.into());
    }
    let all = call.flag("escape_all");
    let before = sed_escape(&call.text("before"), all);
    let after = sed_escape(&call.text("after"), all);
    let limit = call
        .text_opt("limit")
        .map(|limit| format!("/{limit}/ "))
        .unwrap_or_default();
    let negate = if call.flag("negate_match") { "!" } else { "" };
    let mut command: Vec<Value> = vec!["sed".into()];
    let backup = call.text_opt("backup").unwrap_or_default();
    command.push(format!("-i{backup}").into());
    command.extend(call.text("options").split_whitespace().map(Value::from));
    let limit = limit.trim_end();
    let script = format!("{limit}{negate}s/{before}/{after}/{}", call.text("flags"));
    command.push(script.into());
    // It reads what a link leads to, and puts a file in the link's place.
    let at = Path::new(&path);
    let handed = Handed::name(at).and_then(|_| Handed::link(at));
    let handed = handed.map_err(|error| os_error(&error, at))?;
    command.push(handed.word().into());
    let out = call.salt(
        "cmd.run_all",
        &[command.into()],
        Map::from([("python_shell", false)]),
    )?;
    Ok(handed.said_in(out))
}

pub(super) fn sed_contains(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let at = Path::new(&path);
    if !at.exists() {
        return Ok(false.into());
    }
    let before = sed_escape(&call.text("text"), false);
    let limit = call
        .text_opt("limit")
        .map(|limit| format!("/{limit}/ "))
        .unwrap_or_default();
    let script = format!("{limit}s/{before}/$/{}", call.text("flags"));
    let handed = Handed::target(at).map_err(|error| os_error(&error, at))?;
    let command: Vec<Value> = vec![
        "sed".into(),
        "-n".into(),
        "-r".into(),
        "-e".into(),
        format!("{script}p").into(),
        handed.word().into(),
    ];
    let out = call.salt(
        "cmd.run",
        &[command.into()],
        Map::from([("python_shell", false)]),
    )?;
    Ok((!python::str(&out).is_empty()).into())
}

pub(super) fn patch(call: &Call<'_>) -> CallResult {
    let program = call.host().which("patch").ok_or_else(|| {
        CallError::command(
            "patch executable not found. Is the distribution's patch package installed?",
        )
    })?;
    let mut command: Vec<Value> = vec![program.display().to_string().into()];
    let mut options: Vec<String> = call.texts_of_options();
    if call.flag("dry_run") && !options.iter().any(|option| option == "--dry-run") {
        options.push("--dry-run".to_owned());
    }
    let numbered = |options: &[String], short: &str, long: &str| {
        options
            .iter()
            .any(|option| option.starts_with(short) || option.starts_with(long))
    };
    if !options
        .iter()
        .any(|option| option == "-N" || option == "--forward")
    {
        options.push("-N".to_owned());
    }
    let original = call.text("originalfile");
    let is_dir = fs::metadata(&original).is_ok_and(|data| data.is_dir());
    if !numbered(&options, "-r", "--reject-file") {
        options.push("--reject-file=-".to_owned());
    }
    command.extend(options.into_iter().map(Value::from));
    command.push(format!("--input={}", call.text("patchfile")).into());
    let at = Path::new(&original);
    let handed = match is_dir {
        true => Handed::target(at),
        false => Handed::name(at),
    };
    let handed = handed.map_err(|error| os_error(&error, at))?;
    if is_dir {
        command.push(format!("--directory={}", handed.word()).into());
        command.push("--strip=0".into());
    } else {
        command.push(handed.word().into());
    }
    let out = call.salt(
        "cmd.run_all",
        &[command.into()],
        Map::from([("python_shell", false)]),
    )?;
    Ok(handed.said_in(out))
}

trait Options {
    fn texts_of_options(&self) -> Vec<String>;
}

impl Options for Call<'_> {
    fn texts_of_options(&self) -> Vec<String> {
        self.text_opt("options")
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }
}
