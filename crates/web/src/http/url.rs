//! Forms in addresses and bodies.

use halite_call::python;
use halite_proto::{Map, Value};

/// Names and values as a form sends them.
pub(super) fn form(map: &Map) -> String {
    let mut pairs = Vec::new();
    for (name, value) in map {
        pairs.push(format!(
            "{}={}",
            quoted(&python::str(name)),
            quoted(&python::str(value))
        ));
    }
    pairs.join("&")
}

/// An address with more questions, given as a map.
pub(super) fn with_params(url: &str, params: Option<&Value>) -> String {
    let Some(Value::Map(params)) = params.filter(|params| params.is_true()) else {
        return url.to_owned();
    };
    let (address, fragment) = match url.split_once('#') {
        Some((address, fragment)) => (address, format!("#{fragment}")),
        None => (url, String::new()),
    };
    let joint = match address.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some(_) => "&",
    };
    format!("{address}{joint}{}{fragment}", form(params))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => quoted.push('+'),
            byte if byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte) => {
                quoted.push(char::from(byte));
            }
            byte => quoted.push_str(&format!("%{byte:02X}")),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_added_where_they_belong() {
        let params = Value::from(Map::from([("a", Value::from("b c")), ("d", "&ü".into())]));
        let more = |url| with_params(url, Some(&params));
        assert_eq!(more("http://h/x"), "http://h/x?a=b+c&d=%26%C3%BC");
        assert_eq!(
            more("http://h/x?z=1#f"),
            "http://h/x?z=1&a=b+c&d=%26%C3%BC#f"
        );
        assert_eq!(with_params("http://h", None), "http://h");
    }
}
