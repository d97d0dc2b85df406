//! From a low chunk to the arguments of its function, and the checks of a chunk
//! before anything is called.
//!
//! Salt 3008.5: `State.verify_data` and `salt.utils.args.format_call`.

use halite_proto::{Map, Value};

use super::options::{Functions, Parameters};
use crate::chunk::Chunk;
use crate::keywords;

/// Arguments in the places that the signature gives them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Arguments {
    pub(super) args: Vec<Value>,
    pub(super) kwargs: Map,
}

/// Names that are the engine's even though Salt would hand them on to a
/// function without `**kwargs`, which then could not be called.
const BESIDE_KEYWORDS: [&str; 4] = ["__agg__", "aggregate", "force_reload_modules", "name_order"];

/// What is wrong with the chunk, one line each; the mask of `umask` is read.
pub fn verify(chunk: &mut Chunk, functions: &dyn Functions) -> Vec<String> {
    let mut errors = Vec::new();
    for key in ["state", "fun", "name"] {
        if !chunk.has(key) {
            errors.push(format!("Missing \"{key}\" data"));
        }
    }
    let name = chunk.name();
    if name.is_true() && name.as_str().is_none() {
        let place = match chunk.get("__sls__") {
            Some(sls) => format!("in SLS '{}' ", halite_proto::python::str(sls)),
            None => String::new(),
        };
        errors.push(format!(
            "ID '{}' {place}is not formed as a string, but is a {}",
            chunk.name_text(),
            name.type_name()
        ));
    }
    if let Some(umask) = chunk.remove("umask") {
        let text = halite_proto::python::str(&umask);
        match octal(&text) {
            Some(mask) => chunk.set("__umask__", i64::from(mask)),
            None => errors.push(format!("Invalid umask: {text}")),
        }
    }
    if !errors.is_empty() {
        return errors;
    }
    let full = chunk.full_name();
    match functions.state(&full) {
        Some(parameters) => parameters
            .required
            .iter()
            .filter(|name| !chunk.has(name))
            .map(|name| format!("Missing parameter {name} for state {full}"))
            .collect(),
        None if chunk.has("__sls__") => vec![
            format!(
                "State '{full}' was not found in SLS '{}'",
                chunk
                    .get("__sls__")
                    .map(halite_proto::python::str)
                    .unwrap_or_default()
            ),
            format!("Reason: {}", functions.why_missing(&full)),
        ],
        None => vec![format!("Specified state '{full}' was not found")],
    }
}

fn octal(text: &str) -> Option<u32> {
    let text = text.trim();
    let digits = text
        .strip_prefix("0o")
        .or_else(|| text.strip_prefix("0O"))
        .unwrap_or(text);
    u32::from_str_radix(digits, 8)
        .ok()
        .filter(|mask| *mask <= 0o7777)
}

/// The arguments of the function `full` from its chunk.
pub(super) fn arguments(
    chunk: &Chunk,
    full: &str,
    parameters: &Parameters,
) -> Result<Arguments, String> {
    let mut bound = Arguments::default();
    for name in &parameters.optional {
        if let Some(value) = chunk.get(name) {
            bound.kwargs.insert(name.as_str(), value.clone());
        }
    }
    for name in &parameters.required {
        bound
            .args
            .push(chunk.get(name).cloned().unwrap_or_default());
    }
    let rest = chunk.map().iter().filter(|(key, _)| {
        key.as_str().is_none_or(|key| {
            !parameters.names(key) && !keywords::is_internal(key) && key != "__agg__"
        })
    });
    if parameters.any {
        bound
            .kwargs
            .extend(rest.map(|(key, value)| (key.clone(), value.clone())));
        return Ok(bound);
    }
    let extra: Vec<String> = rest
        .map(|(key, _)| halite_proto::python::str(key))
        .filter(|key| !BESIDE_KEYWORDS.contains(&key.as_str()))
        .map(|key| format!("'{key}'"))
        .collect();
    match extra.as_slice() {
        [] => Ok(bound),
        [one] => Err(format!("{one} is an invalid keyword argument for '{full}'")),
        [others @ .., last] => Err(format!(
            "{} and {last} are invalid keyword arguments for '{full}'",
            others.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(required: &[&str], optional: &[&str], any: bool) -> Parameters {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Parameters {
            required: names(required),
            optional: names(optional),
            any,
        }
    }

    fn chunk() -> Chunk {
        Chunk::new(Map::from([
            ("state", Value::from("t")),
            ("fun", "f".into()),
            ("name", "n".into()),
            ("__id__", "i".into()),
            ("order", 1.into()),
            ("require", Value::List(Vec::new())),
            ("runas", "me".into()),
            ("a", 1.into()),
            ("b", 2.into()),
        ]))
    }

    #[test]
    fn the_engines_words_are_handed_on_only_where_they_are_parameters() {
        let any = arguments(&chunk(), "t.f", &parameters(&["name"], &["runas"], true)).unwrap();
        assert_eq!(any.args, ["n".into()]);
        let expect = Map::from([
            ("runas", Value::from("me")),
            ("a", 1.into()),
            ("b", 2.into()),
        ]);
        assert_eq!(any.kwargs, expect);
        let some = arguments(&chunk(), "t.f", &parameters(&["name"], &["a"], false));
        assert_eq!(
            some.unwrap_err(),
            "'b' is an invalid keyword argument for 't.f'"
        );
        let none = arguments(&chunk(), "t.f", &parameters(&["name"], &[], false));
        assert_eq!(
            none.unwrap_err(),
            "'a' and 'b' are invalid keyword arguments for 't.f'"
        );
    }

    #[test]
    fn masks_are_octal() {
        for (text, mask) in [("027", 0o27), ("27", 0o27), ("0o77", 0o77)] {
            assert_eq!(octal(text), Some(mask));
        }
        assert_eq!(octal("zz"), None);
        assert_eq!(octal("9"), None);
    }
}
