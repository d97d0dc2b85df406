//! Escaping, and functions that return text marked as safe.

use halite_proto::python;

use super::{defined, only};
use crate::error::{Error, ErrorKind, Result};
use crate::escape::escape_html;
use crate::eval::{Args, Machine};
use crate::json::{self, Style};
use crate::value::{self, Mapping, Native, Value, iterate, to_usize};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "escape" | "e" => |_, args| escape(args, false),
        "forceescape" => |_, args| escape(args, true),
        "safe" => |_, args| value::text(&only(args, "safe")?).map(Value::markup),
        "striptags" => |_, args| {
            let text = value::text(&only(args, "striptags")?)?;
            Ok(Value::str(unescape(&strip_tags(&text))))
        },
        "tojson" => to_json,
        "urlencode" => |_, args| url_encode(args),
        "xmlattr" => xml_attributes,
        _ => return None,
    })
}

fn escape(args: Args, force: bool) -> Result<Value> {
    let value = only(args, "escape")?;
    if matches!(value, Value::Markup(_)) && !force {
        return Ok(value);
    }
    Ok(Value::markup(escape_html(&value::text(&value)?)))
}

fn strip_tags(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        out.push_str(before);
        let end = if tag.starts_with("<!--") {
            tag.find("-->").map(|end| end + 3)
        } else {
            tag.find('>').map(|end| end + 1)
        };
        let Some(end) = end else {
            rest = tag;
            break;
        };
        rest = &tag[end..];
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#39;", "'")
        .replace("&#34;", "\"")
        .replace("&quot;", "\"")
        .replace("&nbsp;", "\u{a0}")
        .replace("&amp;", "&")
}

fn to_json(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, indent] = args.bind("do_tojson", ["value", "indent"], 1)?;
    let value = value.unwrap_or(Value::None);
    defined(&value)?;
    let indent = indent.filter(|indent| !indent.is_none());
    let style = Style {
        sort_keys: false,
        indent: match indent {
            Some(indent) => Some(to_usize(indent.want_int()?).unwrap_or_default()),
            None => None,
        },
        ascii: true,
    };
    let text = json::dump(&value, style)?
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\'', "\\u0027");
    Ok(Value::markup(text))
}

fn quoted(text: &str, query: bool) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte);
        match byte {
            byte if plain || (byte == b'/' && !query) => out.push(byte.into()),
            b' ' if query => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn url_encode(args: Args) -> Result<Value> {
    let value = only(args, "urlencode")?;
    defined(&value)?;
    let pairs = match &value {
        Value::Dict(Mapping(cell)) => cell.0.borrow().items(),
        Value::List(_) | Value::Tuple(_) => iterate(&value)?,
        other => return Ok(Value::str(quoted(&value::text(other)?, false))),
    };
    let mut parts = Vec::new();
    for pair in pairs {
        let items = iterate(&pair)?;
        let [key, value] = items.as_slice() else {
            return Err(Error::of_value(
                "not enough values to unpack (expected 2, got 1)",
            ));
        };
        parts.push(format!(
            "{}={}",
            quoted(&value::text(key)?, true),
            quoted(&value::text(value)?, true)
        ));
    }
    Ok(Value::str(parts.join("&")))
}

fn xml_attributes(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [value, space] = args.bind("do_xmlattr", ["d", "autospace"], 1)?;
    let space = super::flag(space, true)?;
    let value = value.unwrap_or(Value::None);
    defined(&value)?;
    let Value::Dict(Mapping(cell)) = &value else {
        let message = format!("'{}' object has no attribute 'items'", value.type_name());
        return Err(Error::new(ErrorKind::Attribute, message));
    };
    let mut parts = Vec::new();
    for (key, value) in cell.0.borrow().iter() {
        if value.is_none() || value.as_undefined().is_some() {
            continue;
        }
        let key = value::text(key.value())?;
        if key.contains(|c: char| c.is_whitespace() || "/>=".contains(c)) {
            let shown = python::str_repr(&key);
            return Err(Error::of_value(format!(
                "Invalid character in attribute name: {shown}"
            )));
        }
        let text = escape_html(&value::text(value)?);
        parts.push(format!("{}=\"{text}\"", escape_html(&key)));
    }
    let mut text = parts.join(" ");
    if space && !text.is_empty() {
        text.insert(0, ' ');
    }
    Ok(Value::str(text))
}
