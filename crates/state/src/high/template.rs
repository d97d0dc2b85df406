//! High data given as one text, without the files around it (`state.template_str`).

use halite_proto::{Map, Value};

use crate::mistake::{About, Mistake};
use crate::text::ordered_str;

/// Brings the declarations of one template into the shape of high data. Its
/// mistakes are about parts of the SLS without a name of the environment
/// `base`.
///
/// # Errors
/// What is wrong with them, in Salt's words.
pub fn pad_template(high: Value, template: &str) -> Result<Map, Vec<Mistake>> {
    let Value::Map(mut high) = high else {
        let text = format!("Template {template} does not render to a dictionary");
        return Err(vec![text.into()]);
    };
    for item in ["include", "exclude", "extends"] {
        if high.contains_key(item) {
            let text = format!(
                "The '{item}' declaration found on '{template}' is invalid when rendering single templates"
            );
            return Err(vec![mistake(text, &[item.into()])]);
        }
    }
    let mut errors = Vec::new();
    for (id, body) in &mut high {
        match body {
            Value::Map(states) => *states = pad(std::mem::take(states), id, template, &mut errors),
            Value::Str(short) if short.contains('.') => {
                let mut parts = short.split('.');
                let (module, function) = (parts.next(), parts.next());
                let args = vec![Value::from(function)];
                *body = Map::from([(Value::from(module), Value::List(args))]).into();
            }
            _ => {
                let name = ordered_str(id);
                let text = format!("ID {name} in template {template} is not a dictionary");
                errors.push(mistake(text, std::slice::from_ref(id)));
            }
        }
    }
    if errors.is_empty() {
        Ok(high)
    } else {
        Err(errors)
    }
}

fn mistake(text: String, path: &[Value]) -> Mistake {
    Mistake::new(text).about(About::sls("base", "", path.iter().cloned()))
}

/// `file.managed: [...]` becomes `file: [..., managed]`.
fn pad(states: Map, id: &Value, template: &str, errors: &mut Vec<Mistake>) -> Map {
    let id_text = ordered_str(id);
    let mut padded = Map::with_capacity(states.len());
    let mut modules = std::collections::HashSet::new();
    for (key, args) in states {
        let name = ordered_str(&key);
        if name.starts_with('_') {
            padded.insert(key, args);
            continue;
        }
        if args.is_nil() {
            let text = format!(
                "ID '{id_text}' in template {template} contains a short declaration ({name}) with a trailing colon. When not passing any arguments to a state, the colon must be omitted."
            );
            errors.push(mistake(text, &[id.clone(), key]));
            continue;
        }
        let mut parts = name.split('.');
        let module = parts.next().unwrap_or_default().to_owned();
        match (args, parts.next()) {
            (Value::List(mut args), Some(function)) => {
                if !modules.insert(module.clone()) {
                    let text = format!(
                        "ID '{id_text}' in template '{template}' contains multiple state declarations of the same type"
                    );
                    errors.push(mistake(text, &[id.clone(), key]));
                    continue;
                }
                args.push(function.into());
                padded.insert(module, args);
            }
            (args, _) => {
                modules.insert(name);
                padded.insert(key, args);
            }
        }
    }
    padded
}
