//! What users may do after logging in: `external_auth`, and the functions of
//! the master that its entries permit.
//!
//! Invariant: a way to log in that has no entry permits nothing, and nothing is
//! permitted to a name that only resembles an entry.

use halite_proto::{Map, Value};

use super::acl::{Asked, listed, names_user};

/// The entries of one way to log in; `None` where it is not configured.
pub fn backend<'a>(rules: &'a Map, name: &str) -> Option<&'a Map> {
    rules.get(name).and_then(Value::as_map)
}

/// The value of an option of a way to log in (`^filename`).
pub fn option<'a>(entries: &'a Map, name: &str) -> Option<&'a Value> {
    entries.get(&format!("^{name}"))
}

/// What the entries permit to `user`, a member of `groups`.
pub fn permitted(entries: &Map, user: &str, groups: &[String], is_permissive: bool) -> Vec<Value> {
    let mut perms = Vec::new();
    let mut is_named = false;
    let mut for_everybody = Vec::new();
    for (matcher, granted) in entries {
        let Some(matcher) = matcher.as_str() else {
            continue;
        };
        if matcher.starts_with('^') {
            continue;
        }
        if matcher == "*" {
            for_everybody = list_of(granted);
        } else if let Some(group) = matcher.strip_suffix('%') {
            let group = group.trim_end_matches('%');
            if groups.iter().any(|known| known == group) {
                perms.extend(list_of(granted));
            }
        } else if names_user(matcher, user) {
            is_named = true;
            perms.extend(list_of(granted));
        }
    }
    if !is_named || is_permissive {
        perms.extend(for_everybody);
    }
    perms
}

fn list_of(granted: &Value) -> Vec<Value> {
    match granted {
        Value::List(perms) => perms.clone(),
        Value::Nil => Vec::new(),
        one => vec![one.clone()],
    }
}

/// The two kinds of functions of a master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Office {
    /// `runner`.
    Runner,
    /// `wheel`.
    Wheel,
}

impl Office {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runner => "runner",
            Self::Wheel => "wheel",
        }
    }
}

/// Whether `perms` permit a function of the master; `args` has the keyword
/// arguments last, marked.
pub fn may_run(perms: &[Value], office: Office, fun: &str, args: &[Value]) -> bool {
    let Some((module, name)) = fun.split_once('.') else {
        return false;
    };
    let form = office.name();
    let is_office = |at: &str| {
        at.strip_prefix('@')
            .is_some_and(|at| at == form || at.strip_suffix('s') == Some(form))
    };
    let is_module = |at: &str| at.strip_prefix('@') == Some(module);
    perms.iter().any(|perm| match perm {
        Value::Str(at) => is_office(at) || is_module(at),
        Value::Map(map) if map.len() == 1 => map.iter().any(|(at, funs)| {
            let at = at.as_str().unwrap_or_default();
            (is_module(at) && listed(funs, Asked { fun: name, args }))
                || (is_office(at) && listed(funs, Asked { fun, args }))
        }),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(pairs: &[(&str, &[&str])]) -> Map {
        pairs
            .iter()
            .map(|(name, perms)| {
                let perms = perms.iter().map(|perm| Value::from(*perm)).collect();
                (Value::from(*name), Value::List(perms))
            })
            .collect()
    }

    fn perms(entries: &Map, user: &str, groups: &[&str], is_permissive: bool) -> Vec<String> {
        let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        permitted(entries, user, &groups, is_permissive)
            .iter()
            .filter_map(|perm| perm.as_str().map(str::to_owned))
            .collect()
    }

    #[test]
    fn everybody_means_who_is_not_named() {
        let entries = entries(&[
            ("^filename", &["/x"]),
            ("alice", &["a"]),
            ("al.*", &["b"]),
            ("ops%", &["g"]),
            ("*", &["all"]),
        ]);
        assert_eq!(perms(&entries, "alice", &[], false), ["a", "b"]);
        assert_eq!(perms(&entries, "bob", &[], false), ["all"]);
        // A group does not name the user.
        assert_eq!(perms(&entries, "bob", &["ops"], false), ["g", "all"]);
        assert_eq!(perms(&entries, "alice", &[], true), ["a", "b", "all"]);
    }

    #[test]
    fn functions_of_the_master_have_entries_of_their_own() {
        let all = |perm: &str| vec![Value::from(perm)];
        assert!(may_run(&all("@runner"), Office::Runner, "jobs.active", &[]));
        assert!(may_run(
            &all("@runners"),
            Office::Runner,
            "jobs.active",
            &[]
        ));
        assert!(!may_run(&all("@runner"), Office::Wheel, "key.list", &[]));
        assert!(may_run(&all("@jobs"), Office::Runner, "jobs.active", &[]));
        assert!(!may_run(&all("@jobs"), Office::Runner, "manage.up", &[]));
        // What permits functions of minions permits none of the master's.
        assert!(!may_run(&all(".*"), Office::Runner, "jobs.active", &[]));
        let only = |at: &str, fun: &str| vec![Value::from(Map::from([(at, list_of(&fun.into()))]))];
        assert!(may_run(
            &only("@jobs", "active"),
            Office::Runner,
            "jobs.active",
            &[]
        ));
        assert!(!may_run(
            &only("@jobs", "active"),
            Office::Runner,
            "jobs.lookup_jid",
            &[]
        ));
        assert!(may_run(
            &only("@runner", "jobs.*"),
            Office::Runner,
            "jobs.active",
            &[]
        ));
        assert!(!may_run(
            &only("@runner", "jobs.*"),
            Office::Runner,
            "manage.up",
            &[]
        ));
        assert!(!may_run(&all("@runner"), Office::Runner, "nodots", &[]));
    }
}
