//! Making the JSON of recordings comparable.

use serde_json::Value as Json;

pub(crate) fn replaced(json: &Json, from: &str, to: &str) -> Json {
    serde_json::from_str(&json.to_string().replace(from, to)).unwrap()
}

/// Keys in order, since neither side promises one.
pub(crate) fn sorted(json: &Json) -> Json {
    match json {
        Json::Object(map) => {
            // Process ids are never the same.
            let mut entries: Vec<_> = map.iter().filter(|(key, _)| *key != "pid").collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            entries
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect()
        }
        Json::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Lists in order too, where real Salt makes them of sets.
pub(crate) fn listed(json: Json) -> Json {
    match json {
        Json::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, listed(value)))
            .collect(),
        Json::Array(items) => {
            let mut items: Vec<Json> = items.into_iter().map(listed).collect();
            items.sort_by_key(Json::to_string);
            Json::Array(items)
        }
        other => other,
    }
}
