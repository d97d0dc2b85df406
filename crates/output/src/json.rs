//! JSON as Python's `json.dumps(data, ensure_ascii=False, default=repr)` writes
//! it (`salt/output/json_out.py`, 3008.5).

use halite_proto::Value;
use halite_proto::json::{self, Style};

use crate::{Indent, python};

const INDENT_DEFAULT: usize = 4;

/// The text; data with keys that JSON has no way to write is an empty object,
/// as in Salt.
pub(crate) fn render(data: &Value, indent: Indent) -> String {
    let (indent, sort_keys) = match indent {
        Indent::Unset => (Some(INDENT_DEFAULT), false),
        Indent::Compact => (None, false),
        Indent::Spaces(spaces) => (Some(spaces), false),
        Indent::Pretty => (Some(INDENT_DEFAULT), true),
    };
    let style = Style {
        indent,
        sort_keys,
        ascii: false,
        separators: None,
        default: Some(python::repr),
    };
    json::write(data, style).unwrap_or_else(|_| "{}".to_owned())
}

#[cfg(test)]
mod tests {
    use halite_proto::Map;

    use super::*;

    #[test]
    fn keys_that_json_cannot_have_spoil_the_document() {
        let bytes = Map::from([(Value::Bytes(vec![0xff]), 1)]);
        assert_eq!(render(&bytes.into(), Indent::Unset), "{}");
        let mixed = Map::from([(Value::from(1), 1), (Value::from("a"), 1)]);
        assert_eq!(render(&mixed.into(), Indent::Pretty), "{}");
    }

    #[test]
    fn what_json_has_no_word_for_is_its_repr() {
        let list = vec![Value::Bytes(vec![0xff]), Value::from("ä")];
        let text = render(&list.into(), Indent::Compact);
        assert_eq!(text, "[\"b'\\\\xff'\", \"ä\"]");
    }
}
