//! The firmware's data about the machine: the execution module `smbios`.

use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};
use halite_target::pcre::Pcre;

use halite_call::host::{plain, run};

pub(crate) const MODULE: Module = Module {
    name: "smbios",
    functions: &[
        Function::new(
            "smbios.get",
            "(string, clean=True)",
            get,
            "One text of the firmware, such as system-serial-number; with clean nothing\nthat only stands in for one.",
        ),
        Function::new(
            "smbios.records",
            "(rec_type=None, fields=None, clean=True)",
            records,
            "The records of the firmware, all or those of a type, with all fields or\nsome.",
        ),
    ],
};

fn asked(call: &Call<'_>, words: &[&str]) -> Result<String, CallError> {
    let program = ["dmidecode", "smbios"]
        .into_iter()
        .find(|name| call.host().has(name))
        .ok_or_else(|| {
            CallError::NotFound("neither dmidecode nor smbios in the path.".to_owned())
        })?;
    let words: Vec<&str> = std::iter::once(program)
        .chain(words.iter().copied())
        .collect();
    Ok(run(call, &words)?.stdout)
}

fn is_in(pattern: &str, text: &str) -> bool {
    Pcre::searching(&format!("(?i){pattern}"))
        .and_then(|pattern| pattern.is_in(text))
        .unwrap_or(false)
}

/// Whether a value says anything.
fn is_clean(key: &str, value: &str) -> bool {
    if value.is_empty() || is_in("^none", value) {
        return false;
    }
    if key.contains("uuid") {
        let digits = value.chars().filter(char::is_ascii_hexdigit).count();
        return digits == 32 && value.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    }
    if ["serial", "part", "version"]
        .iter()
        .any(|word| key.contains(word))
    {
        return !is_in("^[0]+$", value)
            && !is_in("^[0]?1234567[8]?[9]?[0]?", value)
            && !is_in("sernum|part[_-]?number|specified|filled|applicable", value);
    }
    if ["asset", "manufacturer"]
        .iter()
        .any(|word| key.contains(word))
    {
        return !is_in("manufacturer|to be filled|available|asset|^no(ne|t)", value);
    }
    !is_in("to be filled", value)
        && !is_in(
            "un(known|specified)|no(t|ne)? (asset|provided|defined|available|present|specified)",
            value,
        )
}

fn get(call: &Call<'_>) -> CallResult {
    let name = call.text("string");
    plain(&name)?;
    let said = asked(call, &["-s", &name])?;
    let lines: Vec<&str> = said
        .trim()
        .split('\n')
        .filter(|line| !line.starts_with('#'))
        .collect();
    let value = lines.join("\n");
    let is_none = value.starts_with("/dev/mem") || call.flag("clean") && !is_clean(&name, &value);
    Ok(if is_none { Value::Nil } else { value.into() })
}

fn records(call: &Call<'_>) -> CallResult {
    let said = match call.arg("rec_type") {
        Value::Nil => asked(call, &[])?,
        kind => {
            let kind = python::str(kind);
            plain(&kind)?;
            asked(call, &["-t", &kind])?
        }
    };
    let fields = match call.arg("fields") {
        given if given.is_true() => Some(python::texts(given)),
        _ => None,
    };
    Ok(parse(&said, fields.as_deref(), call.flag("clean")).into())
}

fn parse(text: &str, fields: Option<&[String]>, clean: bool) -> Vec<Value> {
    let mut records = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // `Handle 0x0001, DMI type 1, 27 bytes`
        let mut parts = line.split(',');
        let first = parts.next().unwrap_or_default();
        let handle = first
            .strip_prefix("Handle ")
            .or_else(|| first.strip_prefix("handle "));
        let (Some(handle), Some(kind)) = (handle, parts.next()) else {
            continue;
        };
        let kind = kind.split_whitespace().next_back().unwrap_or_default();
        let description = lines.next().unwrap_or_default().trim();
        let mut rows = Vec::new();
        while let Some(row) = lines.next_if(|row| !row.to_lowercase().starts_with("handle ")) {
            rows.push(row);
        }
        let mut record = Map::from([
            ("handle", Value::from(handle.trim())),
            ("description", description.into()),
            ("type", kind.parse::<i64>().ok().into()),
        ]);
        let data = data(&rows, fields, clean);
        if !data.is_empty() {
            record.insert("data", data);
            records.push(record.into());
        } else if !clean {
            records.push(record.into());
        }
    }
    records
}

fn data(rows: &[&str], fields: Option<&[String]>, clean: bool) -> Map {
    let mut data = Map::new();
    let mut current: Option<(String, Option<Value>, Vec<Value>)> = None;
    // Salt leaves out a field that no other follows.
    let mut close = |current: Option<(String, Option<Value>, Vec<Value>)>| {
        let Some((key, value, mut list)) = current else {
            return;
        };
        if list.is_empty() {
            if let Some(value) = value {
                data.insert(key, value);
            }
            return;
        }
        list.splice(0..0, value);
        data.insert(key, list);
    };
    for row in rows {
        let depth = row.chars().take_while(|c| *c == '\t').count();
        let text = row.trim();
        if depth == 1 && !text.is_empty() {
            close(current.take());
            let (key, value) = text.split_once(':').unwrap_or((text, ""));
            let key = key.trim().to_lowercase().replace(' ', "_");
            let is_left_out = clean && key == "header_and_data"
                || fields.is_some_and(|fields| !fields.contains(&key));
            if !is_left_out {
                let value = cast(&key, value.trim(), clean);
                current = Some((key, value, Vec::new()));
            }
        } else if depth == 2
            && !text.is_empty()
            && let Some((key, _, list)) = &mut current
        {
            list.extend(cast(key, text, clean));
        }
    }
    data
}

/// A number, a list, or text.
fn cast(key: &str, value: &str, clean: bool) -> Option<Value> {
    if clean && !is_clean(key, value) {
        return None;
    }
    if is_in("^(serial|part|asset|product)", key) {
        return Some(value.into());
    }
    if value.contains(',') {
        let items = value.split(',').map(|item| item.trim().into());
        return Some(Value::List(items.collect()));
    }
    Some(
        value
            .parse::<i64>()
            .map_or_else(|_| value.into(), Value::from),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read() {
        let text = "# dmidecode\n\nHandle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\
                    \tManufacturer: QEMU\n\tSerial Number: Not Specified\n\tFamily: 5\n\
                    \tFeatures:\n\t\tone\n\t\ttwo, three\n\tWake-up Type: Power Switch\n\n";
        let records = parse(text, None, true);
        let data = records[0].get("data").unwrap();
        assert_eq!(data.get("manufacturer"), Some(&"QEMU".into()));
        assert_eq!(data.get("serial_number"), None);
        assert_eq!(data.get("family"), Some(&5.into()));
        let inner = vec![Value::from("two"), "three".into()];
        assert_eq!(
            data.get("features"),
            Some(&vec!["one".into(), inner.into()].into())
        );
        assert_eq!(records[0].get("type"), Some(&1.into()));
    }
}
