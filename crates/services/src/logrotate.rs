//! Log rotation: the execution module `logrotate`.

use std::fs;
use std::path::Path;

use halite_call::host::replace_file;
use halite_call::{Call, CallError, CallResult, Function, Module, os_error, python};
use halite_proto::{Map, Value};

/// Files that include each other no deeper than so.
const INCLUDES_MAX: usize = 8;

pub(crate) const MODULE: Module = Module {
    name: "logrotate",
    functions: &[
        Function::new(
            "logrotate.get",
            "(key, value=None, conf_file='/etc/logrotate.conf')",
            get,
            "A setting, or the settings of a log, or one of them.",
        ),
        Function::new(
            "logrotate.set",
            "(key, value, setting=None, conf_file='/etc/logrotate.conf')",
            set,
            "Sets a setting of all logs, or with setting one of a log.",
        ),
        Function::new(
            "logrotate.show_conf",
            "(conf_file='/etc/logrotate.conf')",
            |call| Ok(parsed(call, &call.text("conf_file"), 0)?.into()),
            "All settings, of included files too.",
        ),
    ],
};

const SCRIPTS: [&str; 5] = [
    "firstaction",
    "lastaction",
    "prerotate",
    "postrotate",
    "preremove",
];

/// Whether a word alone on a line begins a block, rather than being a flag.
fn is_log(word: &str) -> bool {
    word.starts_with(['/', '~', '"', '\'']) || word.contains(['*', '?', '['])
}

/// The value of a setting: nothing, a number or text.
fn value(words: &[&str]) -> Value {
    match words {
        [] => true.into(),
        [one] => python::int(&(*one).into()).map_or_else(|_| (*one).into(), Value::from),
        many => many.join(" ").into(),
    }
}

fn parsed(call: &Call<'_>, file: &str, depth: usize) -> Result<Map, CallError> {
    let text =
        halite_call::paths::read(call.host().path(file)).map_err(|error| os_error(&error, file))?;
    let text = String::from_utf8_lossy(&text);
    let mut all = Map::new();
    let (mut block, mut names): (Map, Vec<String>) = (Map::new(), Vec::new());
    let mut pending: Vec<String> = Vec::new();
    let mut is_block = false;
    let mut script: Option<(String, Vec<Value>)> = None;
    for line in text.lines().map(str::trim) {
        if let Some((name, body)) = &mut script {
            if line != "endscript" {
                body.push(line.into());
                continue;
            }
            let target = if is_block { &mut block } else { &mut all };
            target.insert(name.as_str(), std::mem::take(body));
            script = None;
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.contains('{') && !line.contains('}') {
            is_block = true;
            names = std::mem::take(&mut pending);
            let more = words.iter().filter(|word| **word != "{");
            names.extend(more.map(|word| (*word).to_owned()));
            continue;
        }
        if line.contains('}') {
            is_block = false;
            for name in names.drain(..) {
                all.insert(name, block.clone());
            }
            block = Map::new();
            continue;
        }
        let Some((first, rest)) = words.split_first() else {
            continue;
        };
        if !is_block && rest.is_empty() && is_log(first) {
            pending.push((*first).to_owned());
            continue;
        }
        if let ("include", [directory]) = (*first, rest) {
            include(call, &mut all, directory, depth)?;
        }
        if SCRIPTS.contains(first) && rest.is_empty() && is_block {
            script = Some(((*first).to_owned(), Vec::new()));
            continue;
        }
        let target = if is_block { &mut block } else { &mut all };
        target.insert(*first, value(rest));
    }
    all.extend(
        pending
            .into_iter()
            .map(|name| (name, true))
            .collect::<Map>(),
    );
    Ok(all)
}

/// Adds what the files of a directory say.
fn include(call: &Call<'_>, all: &mut Map, directory: &str, depth: usize) -> Result<(), CallError> {
    if depth >= INCLUDES_MAX {
        return Err(CallError::command(format!(
            "files of logrotate include each other too deeply: {directory}"
        )));
    }
    all.insert("include", directory);
    let entries =
        fs::read_dir(call.host().path(directory)).map_err(|error| os_error(&error, directory))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let mut files = match all.remove("include files") {
        Some(Value::Map(files)) => files,
        _ => Map::new(),
    };
    for name in names {
        let path = Path::new(directory).join(&name).display().to_string();
        let inner = parsed(call, &path, depth + 1)?;
        let keys: Vec<Value> = inner.keys().cloned().collect();
        all.extend(inner);
        files.insert(name, keys);
    }
    all.insert("include files", files);
    Ok(())
}

fn get(call: &Call<'_>) -> CallResult {
    let all = parsed(call, &call.text("conf_file"), 0)?;
    let found = all.get(&call.text("key")).cloned();
    let Some(name) = call.text_opt("value") else {
        return Ok(found.unwrap_or_else(|| false.into()));
    };
    let inner = found.as_ref().and_then(|found| found.get(&name));
    Ok(inner.cloned().unwrap_or_else(|| false.into()))
}

/// The lines of a block.
fn block(key: &str, settings: &Map) -> String {
    let mut lines = String::new();
    for (name, value) in settings {
        let name = python::str(name);
        match value {
            Value::List(body) if SCRIPTS.contains(&name.as_str()) => {
                let body: String = body
                    .iter()
                    .map(|line| format!("        {}\n", python::str(line)))
                    .collect();
                lines.push_str(&format!("    {name}\n{body}    endscript\n"));
            }
            Value::Bool(true) => lines.push_str(&format!("    {name} \n")),
            value => lines.push_str(&format!("    {name} {}\n", python::str(value))),
        }
    }
    format!("{key} {{\n{lines}}}")
}

/// Where the block of a key begins and ends in a text.
fn place(text: &str, key: &str) -> Option<std::ops::Range<usize>> {
    let starts = text.match_indices(key).map(|(at, _)| at);
    let mut starts = starts.filter(|at| *at == 0 || text[..*at].ends_with('\n'));
    starts.find_map(|start| {
        let rest = text.get(start..)?;
        let open = rest.find('{')?;
        let close = rest.get(open..)?.find('}')?;
        Some(start..start + open + close + 1)
    })
}

fn set(call: &Call<'_>) -> CallResult {
    let (key, name) = (call.text("key"), call.text("value"));
    let conf = call.text("conf_file");
    let all = parsed(call, &conf, 0)?;
    // The file that has it, if that is an included one.
    let included = all.get("include files").and_then(Value::as_map);
    let of = included.into_iter().flatten().find(|(_, keys)| {
        let keys = keys.as_list().unwrap_or_default();
        keys.iter().any(|known| known.as_str() == Some(&key))
    });
    let directory = all.get("include").map(python::str).unwrap_or_default();
    let file = match of {
        Some((file, _)) => {
            let path = Path::new(&directory).join(python::str(file));
            path.display().to_string()
        }
        None => conf,
    };
    let old = call.host().read_to_change(&file)?;
    let known = all.get(&key);
    let new = match call.arg("setting") {
        Value::Nil => with_value(call, &old, &key, known)?,
        setting => with_setting(&old, &key, &name, setting, known)?,
    };
    let Some(new) = new else {
        return Ok(true.into());
    };
    let changed = new != old;
    if changed {
        replace_file(&call.host().path(&file), new.as_bytes())
            .map_err(|error| os_error(&error, &file))?;
    }
    Ok(changed.into())
}

/// The file with the value of the call; `None` if it has that already.
fn with_value(
    call: &Call<'_>,
    old: &str,
    key: &str,
    known: Option<&Value>,
) -> Result<Option<String>, CallError> {
    if known.is_some_and(|known| known.as_map().is_some()) {
        return Err(CallError::invocation(format!(
            "Error: {key} includes a dict, and a specific setting inside the dict was not declared"
        )));
    }
    let wanted = call.arg("value");
    if known == Some(wanted) {
        return Ok(None);
    }
    let line = match wanted {
        Value::Bool(true) => key.to_owned(),
        wanted if wanted.is_true() => format!("{key} {}", python::str(wanted)),
        _ => String::new(),
    };
    Ok(Some(with_line(old, key, &line)))
}

/// The file with a setting within the block of a key; `None` if it has that already.
fn with_setting(
    old: &str,
    key: &str,
    name: &str,
    setting: &Value,
    known: Option<&Value>,
) -> Result<Option<String>, CallError> {
    let mut settings = match known {
        None => Map::new(),
        Some(Value::Map(settings)) => settings.clone(),
        Some(_) => {
            return Err(CallError::invocation(
                "Error: A setting for a dict was declared, but the configuration line given is not a dict",
            ));
        }
    };
    if settings.get(name) == Some(setting) {
        return Ok(None);
    }
    match setting.is_true() {
        true => {
            settings.insert(name, setting.clone());
        }
        false => {
            settings.remove(name);
        }
    }
    let block = block(key, &settings);
    Ok(Some(match place(old, key) {
        Some(range) => {
            let mut new = old.to_owned();
            new.replace_range(range, &block);
            new
        }
        None => format!("{}{block}\n", ended(old)),
    }))
}

fn ended(text: &str) -> String {
    match text.is_empty() || text.ends_with('\n') {
        true => text.to_owned(),
        false => format!("{text}\n"),
    }
}

/// The text with the line of a key replaced, or put before the others.
fn with_line(old: &str, key: &str, line: &str) -> String {
    let is_it = |known: &str| known.split_whitespace().next() == Some(key);
    if !old.lines().any(is_it) {
        return format!("{line}\n{old}");
    }
    let lines = old.lines().map(|known| match is_it(known) {
        true => format!("{line}\n"),
        false => format!("{known}\n"),
    });
    lines.collect()
}
