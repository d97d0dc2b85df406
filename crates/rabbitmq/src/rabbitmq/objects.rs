//! The objects of the broker: users, virtual hosts, policies.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::control::{rows, written};

pub(super) fn users(call: &Call<'_>) -> Result<Map, CallError> {
    let rows = rows(call, &["list_users"])?.into_iter();
    let users = rows.map(|mut row| {
        let tags = row
            .remove("tags")
            .unwrap_or_else(|| Value::List(Vec::new()));
        (row.remove("user").unwrap_or_default(), tags)
    });
    Ok(users.collect())
}

pub(super) fn vhosts(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let rows = rows(call, &["list_vhosts"])?;
    Ok(rows
        .iter()
        .filter_map(|row| row.get("name").map(python::str))
        .collect())
}

/// Policies by virtual host and name.
pub(super) fn policies(call: &Call<'_>) -> Result<Map, CallError> {
    let vhost = call.text("vhost");
    let mut named = Map::new();
    for mut row in rows(call, &["list_policies", "-p", &vhost])? {
        let name = row.remove("name").unwrap_or_default();
        let field = |key: &str| row.get(key).cloned().unwrap_or_default();
        let definition = match field("definition") {
            text @ Value::Str(_) => text,
            other => written(&other)?.into(),
        };
        let about = Map::from([
            ("pattern", field("pattern")),
            ("apply_to", field("apply-to")),
            ("definition", definition),
            ("priority", python::str(&field("priority")).into()),
        ]);
        named.insert(name, about);
    }
    Ok(match named.is_empty() {
        true => Map::new(),
        false => Map::from([(vhost, named)]),
    })
}
