//! INI files as Python's `configparser` reads and writes them, for
//! `slsutil.serialize`.

use halite_proto::{Map, Value};

use halite_call::python;

/// The text of a map of maps; `DEFAULT` is its own section.
///
/// # Errors
/// For anything else.
pub(super) fn write(data: &Value) -> Result<String, String> {
    let sections = data
        .as_map()
        .ok_or_else(|| format!("'{}' object has no attribute 'items'", data.type_name()))?;
    let mut out = String::new();
    for (name, options) in sections {
        let options = options
            .as_map()
            .ok_or_else(|| format!("'{}' object is not iterable", options.type_name()))?;
        out.push_str(&format!("[{}]\n", python::str(name)));
        for (key, value) in options {
            let key = python::str(key).to_lowercase();
            let value = python::str(value).replace('\n', "\n\t");
            out.push_str(&format!("{key} = {value}\n"));
        }
        out.push('\n');
    }
    Ok(out)
}

/// A map of maps of texts.
///
/// # Errors
/// For lines that are no section, option or continuation.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let mut sections = Map::new();
    let mut current: Option<(String, Map)> = None;
    let mut last: Option<String> = None;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let indented = line.starts_with([' ', '\t']);
        if let (true, Some((_, options)), Some(key)) = (indented, &mut current, &last) {
            if let Some(Value::Str(value)) = options.get_mut(key) {
                value.push('\n');
                value.push_str(trimmed);
            }
            continue;
        }
        if let Some(name) = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            if let Some((name, options)) = current.take() {
                sections.insert(name, options);
            }
            current = Some((name.to_owned(), Map::new()));
            last = None;
            continue;
        }
        let Some((_, options)) = &mut current else {
            return Err(format!(
                "File contains no section headers.\nfile: '<string>', line: {}\n{}",
                index + 1,
                python::repr(&line.into())
            ));
        };
        let (key, value) = match trimmed.find(['=', ':']) {
            Some(at) => (&trimmed[..at], trimmed[at + 1..].trim()),
            None => {
                return Err(format!(
                    "Source contains parsing errors: '<string>'\n\t[line {:2}]: {}",
                    index + 1,
                    python::repr(&line.into())
                ));
            }
        };
        let key = key.trim().to_lowercase();
        options.insert(key.as_str(), value);
        last = Some(key);
    }
    if let Some((name, options)) = current.take() {
        sections.insert(name, options);
    }
    Ok(sections.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_read_back() {
        let data = read("# c\n[Main]\nKey = a\n  b\nx: 1\n[other]\n").unwrap();
        assert_eq!(data.get("Main").unwrap().get("key"), Some(&"a\nb".into()));
        assert_eq!(
            write(&data).unwrap(),
            "[Main]\nkey = a\n\tb\nx = 1\n\n[other]\n\n"
        );
        assert!(read("a = 1").unwrap_err().contains("no section headers"));
    }
}
