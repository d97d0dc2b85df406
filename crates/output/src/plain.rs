//! The outputters that are a loop: `txt` (`salt/output/txt.py`, 3008.5) and
//! `newline_values_only` (`salt/output/newline_values_only.py`, 3006.30).

use halite_proto::Value;

use crate::{Indent, Unfit, pprint, python};

pub(crate) fn txt(data: &Value) -> String {
    let mut out = String::new();
    match data {
        Value::Map(map) => {
            for (key, value) in map {
                let key = python::str(key);
                let mut line = |text: &str| {
                    out.push_str(&key);
                    out.push_str(": ");
                    out.push_str(text);
                    out.push('\n');
                };
                match value {
                    Value::Str(text) => python::lines(text).for_each(line),
                    Value::Bytes(bytes) => {
                        for part in byte_lines(bytes) {
                            line(&python::repr(&Value::Bytes(part.to_vec())));
                        }
                    }
                    _ => line(&python::str(value)),
                }
            }
        }
        Value::Str(text) => out.push_str(text),
        _ => out.push_str(&pprint::render(data, Indent::Unset)),
    }
    out
}

pub(crate) fn newline_values_only(data: &Value) -> Result<String, Unfit> {
    let map = data.as_map().ok_or(Unfit)?;
    let mut lines = Vec::new();
    for value in map.values() {
        match value {
            Value::List(items) => lines.extend(items.iter().map(python::str)),
            _ => lines.push(python::str(value)),
        }
    }
    Ok(lines.join("\n"))
}

/// `bytes.splitlines()`, which knows fewer line ends than the one of text.
fn byte_lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = rest
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
            .unwrap_or(rest.len());
        let (line, behind) = rest.split_at(at);
        lines.push(line);
        rest = behind
            .strip_prefix(b"\r\n")
            .or_else(|| behind.get(1..))
            .unwrap_or_default();
    }
    lines
}

#[cfg(test)]
mod tests {
    use halite_proto::Map;

    use super::*;

    #[test]
    fn bytes_are_shown_line_by_line() {
        let data = Map::from([("a", Value::Bytes(b"x\r\n\xff\n\nz".to_vec()))]);
        assert_eq!(txt(&data.into()), "a: b'x'\na: b'\\xff'\na: b''\na: b'z'\n");
    }
}
