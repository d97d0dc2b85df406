//! The arguments of functions and states in the form of the documentation.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use halite_proto::{Value, python};

use crate::signature::{Param, Signature};

/// Types by the names of arguments: Salt gives one name one meaning. A line that
/// ends with a colon names the type of the names below it.
const KINDS: &str = include_str!("pages/arguments.txt");

static KIND_BY_NAME: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut kind = "";
    let mut kinds = BTreeMap::new();
    for line in KINDS.lines() {
        match line.strip_suffix(':') {
            Some(next) => kind = next,
            None => kinds.extend(line.split_whitespace().map(|name| (name, kind))),
        }
    }
    kinds
});

/// Types that say more than that of a default does.
const STRONGER_THAN_DEFAULTS: [&str; 3] =
    ["any value", "a number of seconds", "octal digits in quotes"];

/// The arguments, one a line: its type, and what it is when it is not given.
pub(crate) fn arguments(signature: &Signature) -> String {
    let named = signature.params.iter().chain(&signature.keyword_only);
    let shown = named.filter(|param| !param.name.starts_with('_'));
    let mut text: String = shown.map(line).collect();
    if let Some(name) = &signature.varargs {
        text.push_str(&format!("        *{name}: any number of values\n"));
    }
    if let Some(name) = &signature.kwargs {
        text.push_str(&format!("        **{name}: further values by name\n"));
    }
    text
}

fn line(param: &Param) -> String {
    let name = &param.name;
    let kind = kind_of(param).map_or_else(String::new, |kind| format!("{kind}, "));
    match &param.default {
        None => format!("        {name}: {kind}must be given\n"),
        Some(default) => format!("        {name}: {kind}default {}\n", python::repr(default)),
    }
}

/// The type of an argument: that of its default, or what its name means.
pub fn kind_of(param: &Param) -> Option<&'static str> {
    let by_name = KIND_BY_NAME.get(param.name.as_str()).copied();
    if let Some(kind) = by_name.filter(|kind| STRONGER_THAN_DEFAULTS.contains(kind)) {
        return Some(kind);
    }
    match &param.default {
        Some(Value::Bool(_)) => Some("true or false"),
        Some(Value::Int(_) | Value::Float(_)) => Some("a number"),
        Some(Value::Str(_)) => Some("a text"),
        Some(Value::List(_)) => Some("a list"),
        Some(Value::Map(_)) => Some("a map"),
        _ => by_name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_types_by_default_and_by_name() {
        let signature = "(cwd, timeout=False, force=True, no_such=None, **kwargs)";
        let text = arguments(&Signature::parse(signature).unwrap());
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "cwd: a path, must be given",
                "timeout: a number of seconds, default False",
                "force: true or false, default True",
                "no_such: default None",
                "**kwargs: further values by name",
            ]
        );
    }
}
