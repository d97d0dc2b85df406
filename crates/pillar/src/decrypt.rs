//! `decrypt_pillar`: encrypted parts of the pillar.

use halite_proto::{Map, Value};

use crate::effects::Effects;
use crate::settings::Decrypt;

/// Decrypts what the options name, in place, and gives what went wrong.
pub(crate) fn decrypt(settings: &Decrypt, pillar: &mut Map, effects: &dyn Effects) -> Vec<String> {
    let Some(paths) = &settings.paths else {
        return vec!["decrypt_pillar config option is malformed".to_owned()];
    };
    let mut errors = Vec::new();
    for (path, renderer) in paths {
        let parts: Vec<&str> = path.split(&settings.delimiter).collect();
        let Some(value) = find(pillar, &parts).filter(|value| !value.is_nil()) else {
            continue;
        };
        let renderer = renderer.as_deref().unwrap_or(&settings.default);
        let is_allowed =
            settings.allowed.is_empty() || settings.allowed.iter().any(|name| name == renderer);
        let decrypted = if is_allowed {
            effects.decrypt(renderer, value.clone())
        } else {
            Err(format!(
                "'{renderer}' is not a valid decryption renderer. Valid choices are: {}",
                settings.allowed.join(", ")
            ))
        };
        match decrypted {
            Ok(decrypted) => *value = decrypted,
            Err(error) => {
                tracing::error!(path, "a pillar value could not be decrypted");
                errors.push(format!("Failed to decrypt pillar key '{path}': {error}"));
            }
        }
    }
    errors
}

/// The value at a path through maps.
fn find<'p>(pillar: &'p mut Map, parts: &[&str]) -> Option<&'p mut Value> {
    let (first, rest) = parts.split_first()?;
    let value = pillar.get_mut(first)?;
    match (rest.is_empty(), value) {
        (true, value) => Some(value),
        (false, Value::Map(inner)) => find(inner, rest),
        (false, _) => None,
    }
}
