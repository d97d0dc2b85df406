//! Checks the shape of high data.

use halite_proto::{Map, Value};

use super::first;
use crate::keywords::is_requisite;
use crate::mistake::{About, Mistake};
use crate::text::{ordered, ordered_str};

/// Everything that is wrong with the shape of `high`, in Salt's words.
pub fn verify(high: &Map) -> Vec<Mistake> {
    let mut errors = Vec::new();
    for (id, body) in high {
        let sls = body.get("__sls__").map(ordered).unwrap_or_default();
        let id_text = ordered(id);
        let about = |path: &[&Value]| {
            let none = Map::new();
            let body = body.as_map().unwrap_or(&none);
            About::declared(body, path.iter().map(|key| (*key).clone()))
        };
        if id.as_str().is_none() {
            let text = format!(
                "ID '{id_text}' in SLS '{sls}' is not formed as a string, but is type {}. It may need to be quoted.",
                id.type_name()
            );
            errors.push(Mistake::new(text).about(about(&[id])));
        } else if id_text.starts_with("__") {
            continue;
        }
        let Some(body) = body.as_map() else {
            let text = format!(
                "The type {id_text} in {} is not formatted as a dictionary",
                ordered_str(body)
            );
            errors.push(text.into());
            continue;
        };
        for (key, args) in body {
            let state = ordered(key);
            if !state.starts_with("__") {
                let path: &[&Value] = &[id, key];
                let place = Declaration {
                    id: &id_text,
                    sls: &sls,
                    about: &|part| about(&[path, part].concat()),
                };
                place.verify_state(&state, args, &mut errors);
            }
        }
    }
    errors
}

struct Declaration<'a> {
    id: &'a str,
    sls: &'a str,
    /// A part of the state's arguments.
    about: &'a dyn Fn(&[&Value]) -> About,
}

impl Declaration<'_> {
    fn verify_state(&self, state: &str, args: &Value, errors: &mut Vec<Mistake>) {
        let Self { id, sls, .. } = self;
        if args.is_nil() {
            let text = format!(
                "ID '{id}' in SLS '{sls}' contains a short declaration ({state}) with a trailing colon. When not passing any arguments to a state, the colon must be omitted."
            );
            errors.push(self.mistake(text, &[]));
            return;
        }
        let Some(args) = args.as_list() else {
            let text = format!("State '{id}' in SLS '{sls}' is not formed as a list");
            errors.push(self.mistake(text, &[]));
            return;
        };
        let mut functions: Vec<&str> = Vec::new();
        functions.extend(state.split_once('.').map(|(_, function)| function));
        for arg in args {
            match arg {
                Value::Str(function) => {
                    functions.push(function);
                    if function.trim().contains(' ') {
                        let text = format!(
                            "The function \"{function}\" in state \"{id}\" in SLS \"{sls}\" has whitespace, a function with whitespace is not supported, perhaps this is an argument that is missing a \":\""
                        );
                        errors.push(self.mistake(text, &[arg]));
                    }
                }
                Value::Map(arg) => self.verify_arg(arg, errors),
                _ => {}
            }
        }
        match functions.len() {
            0 => {
                let text = format!("No function declared in state '{id}' in SLS '{sls}'");
                errors.push(self.mistake(text, &[]));
            }
            1 => {}
            _ => {
                let text = format!(
                    "Too many functions declared in state '{id}' in SLS '{sls}'. Please choose one of the following: {}",
                    functions.join(", ")
                );
                errors.push(self.mistake(text, &[]));
            }
        }
    }

    fn verify_arg(&self, arg: &Map, errors: &mut Vec<Mistake>) {
        let Self { id, sls, .. } = self;
        let Some((key, value)) = first(arg) else {
            return;
        };
        let part = key;
        let key = ordered(key);
        if key == "names" && value.as_list().is_none() {
            let text = format!(
                "The 'names' argument in state '{id}' in SLS '{sls}' needs to be formed as a list"
            );
            errors.push(self.mistake(text, &[part]));
        }
        if !is_requisite(&key) {
            return;
        }
        match value.as_list() {
            None => {
                let text = format!(
                    "The {key} statement in state '{id}' in SLS '{sls}' needs to be formed as a list"
                );
                errors.push(self.mistake(text, &[part]));
            }
            Some(references) => {
                for reference in references {
                    self.verify_reference(part, reference, errors);
                }
            }
        }
        if arg.len() != 1 {
            let text =
                format!("Multiple dictionaries defined in argument of state '{id}' in SLS '{sls}'");
            errors.push(self.mistake(text, &[part]));
        }
    }

    fn verify_reference(&self, kind: &Value, reference: &Value, errors: &mut Vec<Mistake>) {
        let Self { id, sls, .. } = self;
        if reference.as_str().is_some() {
            return;
        }
        let single = reference.as_map().filter(|map| map.len() == 1);
        let Some((key, value)) = single.and_then(first) else {
            let text = format!(
                "Requisite declaration {} in state {id} in SLS {sls} is not formed as a single key dictionary",
                ordered_str(reference)
            );
            let several = reference.as_map().and_then(first).map(|(key, _)| key);
            errors.push(self.mistake(text, &[kind, several.unwrap_or(reference)]));
            return;
        };
        let part = key;
        let key = ordered_str(key);
        if let Some((module, _)) = key.split_once('.') {
            let text = format!(
                "Invalid requisite type '{key}' in state '{id}', in SLS '{sls}'. Requisite types must not contain dots, did you mean '{module}'?"
            );
            errors.push(self.mistake(text, &[kind, part, value]));
        }
        if matches!(value, Value::List(_) | Value::Map(_)) {
            let text = format!(
                "Illegal requisite \"{}\" in SLS \"{sls}\", please check your syntax.\n",
                ordered_str(value)
            );
            errors.push(self.mistake(text, &[kind, part]));
        }
    }

    fn mistake(&self, text: String, part: &[&Value]) -> Mistake {
        Mistake::new(text).about((self.about)(part))
    }
}
