//! `stateful`: a command whose output says whether it changed anything.
//!
//! Salt 3008.5, `salt/states/cmd.py`: JSON, or a last line of `name=value`.

use halite_call::{CallError, shlex};
use halite_proto::python;
use halite_proto::{Map, Value};

/// What `stateful` asks for.
pub(super) struct Stateful {
    /// The output is read.
    pub(super) wanted: bool,
    /// The command of test mode.
    pub(super) test_name: Option<Value>,
}

impl Stateful {
    /// Reads the argument: true, or a list whose first entry names the command
    /// of test mode.
    pub(super) fn read(value: &Value) -> Self {
        match value {
            Value::List(entries) => Self {
                wanted: !entries.is_empty(),
                test_name: entries
                    .first()
                    .and_then(|entry| entry.get("test_name"))
                    .cloned(),
            },
            other => Self {
                wanted: *other == Value::Bool(true),
                test_name: None,
            },
        }
    }
}

/// The result of a state as the output of its command tells it.
///
/// # Errors
/// When `changed` is neither yes nor no.
pub(super) fn reinterpreted(mut record: Map) -> Result<Map, CallError> {
    let ran = match record.insert("changes", Map::new()) {
        Some(Value::Map(ran)) => ran,
        _ => Map::new(),
    };
    record.insert("comment", "");
    let text = |key: &str| ran.get(key).and_then(Value::as_str).unwrap_or_default();
    let out = text("stdout").to_owned();
    let out = out.as_str();
    if out.is_empty() {
        record.insert("comment", text("stderr"));
        return Ok(record);
    }
    let told = match halite_proto::json::read(out) {
        Ok(Value::Map(told)) => Ok((told, "")),
        Ok(_) => {
            return Ok(fail(
                record,
                "script JSON output must be a JSON object (e.g., {})!",
            ));
        }
        Err(_) => pairs(out),
    };
    let Ok((mut told, before)) = told else {
        let why =
            "Failed parsing script output! Stdout must be JSON or a line of name=value pairs.";
        let mut record = fail(record, why);
        record.insert("changes", ran);
        return Ok(record);
    };
    let changed = match told.get("changed") {
        Some(changed) => is_yes(changed)?,
        None => false,
    };
    if let Some(comment) = told.remove("comment") {
        record.insert("comment", comment);
    }
    if changed {
        for (key, value) in ran {
            told.get_or_insert_with(key, || value);
        }
        told.insert("stdout", before);
        record.insert("changes", told);
    }
    Ok(record)
}

/// The pairs of the last line, and what stands before it.
fn pairs(out: &str) -> Result<(Map, &str), ()> {
    let last = out.trim_end().rfind('\n');
    let line = last.and_then(|at| out.get(at + 1..)).unwrap_or(out);
    let mut told = Map::new();
    for word in shlex::split(line).map_err(|_| ())? {
        let (name, value) = word.split_once('=').ok_or(())?;
        if value.contains('=') {
            return Err(());
        }
        told.insert(name, value);
    }
    // A single line loses its last character in Salt, which is kept so.
    let before = last.or_else(|| out.char_indices().next_back().map(|(at, _)| at));
    Ok((
        told,
        before.and_then(|at| out.get(..at)).unwrap_or_default(),
    ))
}

fn fail(mut record: Map, why: &str) -> Map {
    record.insert("comment", why);
    record.insert("result", false);
    record
}

fn is_yes(value: &Value) -> Result<bool, CallError> {
    let text = python::str(value);
    match text.to_lowercase().as_str() {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => Err(CallError::exception(
            "ValueError",
            format!("Failed parsing boolean value: {text}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(out: &str) -> Map {
        let ran = Map::from([
            ("pid", Value::from(1)),
            ("retcode", 0.into()),
            ("stdout", out.into()),
            ("stderr", "".into()),
        ]);
        let record = Map::from([("changes", Value::Map(ran)), ("result", true.into())]);
        reinterpreted(record).unwrap()
    }

    #[test]
    fn the_last_line_tells() {
        let record = applied("work\nmore\n\nchanged=yes comment='It is done' x=1");
        assert_eq!(record.get("comment"), Some(&"It is done".into()));
        let changes = record.get("changes").unwrap();
        assert_eq!(changes.get("x"), Some(&"1".into()));
        assert_eq!(changes.get("stdout"), Some(&"work\nmore\n".into()));
        assert_eq!(changes.get("retcode"), Some(&0.into()));
        let record = applied("\nchanged=no comment=same");
        assert_eq!(record.get("changes"), Some(&Map::new().into()));
    }

    #[test]
    fn json_tells() {
        let record = applied("{\"changed\": true, \"comment\": \"ok\", \"a\": [1]}");
        assert_eq!(record.get("comment"), Some(&"ok".into()));
        assert_eq!(
            record.get("changes").and_then(|c| c.get("stdout")),
            Some(&"".into())
        );
        assert_eq!(applied("[1]").get("result"), Some(&false.into()));
    }

    #[test]
    fn other_output_is_a_failure() {
        let record = applied("\nchanged=yes comment=a b");
        assert_eq!(record.get("result"), Some(&false.into()));
        assert!(record.get("changes").unwrap().get("stdout").is_some());
    }
}
