//! Whether high data has the shape it must have.

use halite_proto::{Map, Value};

use super::first;
use super::text::ordered_str;
use crate::keywords::is_requisite;

/// Everything that is wrong with the shape of `high`, in Salt's words.
pub fn verify(high: &Map) -> Vec<String> {
    let mut errors = Vec::new();
    for (id, body) in high {
        let sls = body.get("__sls__").map(ordered_str).unwrap_or_default();
        let id_text = ordered_str(id);
        if id.as_str().is_none() {
            errors.push(format!(
                "ID '{id_text}' in SLS '{sls}' is not formed as a string, but is type {}. It may need to be quoted.",
                id.type_name()
            ));
        } else if id_text.starts_with("__") {
            continue;
        }
        let Some(body) = body.as_map() else {
            errors.push(format!(
                "The type {id_text} in {} is not formatted as a dictionary",
                ordered_str(body)
            ));
            continue;
        };
        let place = Place {
            id: &id_text,
            sls: &sls,
        };
        for (state, args) in body {
            let state = ordered_str(state);
            if !state.starts_with("__") {
                place.verify_state(&state, args, &mut errors);
            }
        }
    }
    errors
}

struct Place<'a> {
    id: &'a str,
    sls: &'a str,
}

impl Place<'_> {
    fn verify_state(&self, state: &str, args: &Value, errors: &mut Vec<String>) {
        let Self { id, sls } = self;
        if args.is_nil() {
            errors.push(format!(
                "ID '{id}' in SLS '{sls}' contains a short declaration ({state}) with a trailing colon. When not passing any arguments to a state, the colon must be omitted."
            ));
            return;
        }
        let Some(args) = args.as_list() else {
            errors.push(format!(
                "State '{id}' in SLS '{sls}' is not formed as a list"
            ));
            return;
        };
        let mut functions: Vec<&str> = Vec::new();
        functions.extend(state.split_once('.').map(|(_, function)| function));
        for arg in args {
            match arg {
                Value::Str(function) => {
                    functions.push(function);
                    if function.trim().contains(' ') {
                        errors.push(format!(
                            "The function \"{function}\" in state \"{id}\" in SLS \"{sls}\" has whitespace, a function with whitespace is not supported, perhaps this is an argument that is missing a \":\""
                        ));
                    }
                }
                Value::Map(arg) => self.verify_arg(arg, errors),
                _ => {}
            }
        }
        match functions.len() {
            0 => errors.push(format!("No function declared in state '{id}' in SLS '{sls}'")),
            1 => {}
            _ => errors.push(format!(
                "Too many functions declared in state '{id}' in SLS '{sls}'. Please choose one of the following: {}",
                functions.join(", ")
            )),
        }
    }

    fn verify_arg(&self, arg: &Map, errors: &mut Vec<String>) {
        let Self { id, sls } = self;
        let Some((key, value)) = first(arg) else {
            return;
        };
        let key = ordered_str(key);
        if key == "names" && value.as_list().is_none() {
            errors.push(format!(
                "The 'names' argument in state '{id}' in SLS '{sls}' needs to be formed as a list"
            ));
        }
        if !is_requisite(&key) {
            return;
        }
        match value.as_list() {
            None => errors.push(format!(
                "The {key} statement in state '{id}' in SLS '{sls}' needs to be formed as a list"
            )),
            Some(references) => {
                for reference in references {
                    self.verify_reference(reference, errors);
                }
            }
        }
        if arg.len() != 1 {
            errors.push(format!(
                "Multiple dictionaries defined in argument of state '{id}' in SLS '{sls}'"
            ));
        }
    }

    fn verify_reference(&self, reference: &Value, errors: &mut Vec<String>) {
        let Self { id, sls } = self;
        if reference.as_str().is_some() {
            return;
        }
        let single = reference.as_map().filter(|map| map.len() == 1);
        let Some((key, value)) = single.and_then(first) else {
            errors.push(format!(
                "Requisite declaration {} in state {id} in SLS {sls} is not formed as a single key dictionary",
                ordered_str(reference)
            ));
            return;
        };
        let key = ordered_str(key);
        if let Some((module, _)) = key.split_once('.') {
            errors.push(format!(
                "Invalid requisite type '{key}' in state '{id}', in SLS '{sls}'. Requisite types must not contain dots, did you mean '{module}'?"
            ));
        }
        if matches!(value, Value::List(_) | Value::Map(_)) {
            errors.push(format!(
                "Illegal requisite \"{}\" in SLS \"{sls}\", please check your syntax.\n",
                ordered_str(value)
            ));
        }
    }
}
