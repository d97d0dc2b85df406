//! `ldap`: a directory checks the password, and names the groups of a user and the
//! minions of an organisational unit.

use halite_ldap::Directory;
use halite_proto::{Map, Value};

use super::{Login, groups};
use crate::error::chain;

/// Before the name of an entry whose computers are minions, as a target.
const UNIT_BEGIN: &str = "ldap(";

/// Shows the directory a name and a password.
pub(super) fn log_in(
    directory: &Directory,
    entries: &Map,
    name: &str,
    password: &str,
) -> Result<Option<Login>, String> {
    let found = directory.log_in(name, password, groups::are_asked_for(entries));
    let found = found.map_err(|error| chain(&error))?;
    Ok(found.map(|groups| Login {
        groups,
        ..Login::default()
    }))
}

/// The same rights with `ldap(<entry>)` targets replaced by the minions found. An entry
/// that cannot be looked up permits nothing.
pub(super) fn expanded(directory: &Directory, perms: Vec<Value>) -> Vec<Value> {
    let computers = |base: &str| {
        directory.computers(base).unwrap_or_else(|error| {
            tracing::error!("external_auth: ldap: {base}: {}", chain(&error));
            Vec::new()
        })
    };
    perms
        .into_iter()
        .flat_map(|perm| match perm {
            Value::Map(targets) => replaced(targets, computers),
            other => vec![other],
        })
        .collect()
}

/// The entries for these targets.
fn replaced(targets: Map, computers: impl Fn(&str) -> Vec<String>) -> Vec<Value> {
    let is_unit = |target: &Value| unit(target).is_some();
    if !targets.keys().any(is_unit) {
        return vec![targets.into()];
    }
    let one = |target: Value, funs: &Value| -> Value {
        std::iter::once((target, funs.clone()))
            .collect::<Map>()
            .into()
    };
    targets
        .iter()
        .flat_map(|(target, funs)| match unit(target) {
            None => vec![one(target.clone(), funs)],
            Some(base) => {
                let ids = computers(base).into_iter();
                // A list of one: an id is not to be read as an expression.
                ids.filter(|id| !id.contains([' ', ',']))
                    .map(|id| one(format!("L@{id}").into(), funs))
                    .collect()
            }
        })
        .collect()
}

/// The name of the entry that a target means.
fn unit(target: &Value) -> Option<&str> {
    target.as_str()?.strip_prefix(UNIT_BEGIN)?.strip_suffix(')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_for_their_minions() {
        let funs = Value::List(vec!["test.*".into()]);
        let computers = |base: &str| match base {
            "OU=web,DC=x" => vec!["web1".to_owned(), "web* or *".to_owned()],
            _ => Vec::new(),
        };
        let entry = |target: &str| Value::from(Map::from([(target, funs.clone())]));
        let given = |target: &str| replaced(Map::from([(target, funs.clone())]), computers);
        assert_eq!(given("ldap(OU=web,DC=x)"), [entry("L@web1")]);
        assert_eq!(given("ldap(OU=gone,DC=x)"), []);
        assert_eq!(given("db*"), [entry("db*")]);
        let both = Map::from([("db*", funs.clone()), ("ldap(OU=web,DC=x)", funs.clone())]);
        assert_eq!(replaced(both, computers), [entry("db*"), entry("L@web1")]);
    }
}
