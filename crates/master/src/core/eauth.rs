//! What users may do after logging in: `external_auth`, and the functions of the
//! master that its entries permit.
//!
//! Invariant: a login method without an entry permits nothing, and a name that only
//! resembles an entry gets no rights.

use halite_call::args::Parted;
use halite_proto::{Map, Value};

use super::perms::{Asked, Perm, Rule};

/// The entries of one way to log in; `None` where it is not configured.
pub fn backend<'a>(rules: &'a Map, name: &str) -> Option<&'a Map> {
    rules.get(name).and_then(Value::as_map)
}

/// The value of an option of a way to log in (`^filename`).
pub fn option<'a>(entries: &'a Map, name: &str) -> Option<&'a Value> {
    entries.get(&format!("^{name}"))
}

/// The rights in the entries of one login method, and their users.
#[derive(Clone, Debug, Default)]
pub struct Grants(Vec<(Whom, Vec<Perm>)>);

#[derive(Clone, Debug)]
enum Whom {
    /// `*`: users without an entry of their own.
    Everybody,
    /// `ops%`: the members of a group.
    Group(String),
    /// A user, of just this name: `j.doe` is not also `jxdoe`.
    User(String),
}

impl Grants {
    /// Reads the entries of a way to log in.
    pub fn new(entries: &Map) -> Self {
        let entries = entries.iter().filter_map(|(matcher, granted)| {
            let matcher = matcher.as_str().filter(|name| !name.starts_with('^'))?;
            let whom = match matcher.strip_suffix('%') {
                Some(group) => Whom::Group(group.trim_end_matches('%').to_owned()),
                None if matcher == "*" => Whom::Everybody,
                None => Whom::User(matcher.to_owned()),
            };
            Some((whom, Perm::list(granted)))
        });
        Self(entries.collect())
    }

    /// Whether they could permit anything to `user`, a member of `groups`;
    /// `None` if the groups are not known.
    pub fn could_permit(&self, user: &str, groups: Option<&[String]>) -> bool {
        self.0.iter().any(|(whom, granted)| {
            let is_meant = match whom {
                Whom::Everybody => true,
                Whom::Group(group) => groups.is_none_or(|groups| groups.contains(group)),
                Whom::User(name) => name == user,
            };
            is_meant && !granted.is_empty()
        })
    }

    /// The rights of `user`, a member of `groups`.
    pub fn permitted(&self, user: &str, groups: &[String], is_permissive: bool) -> Vec<Perm> {
        let mut perms = Vec::new();
        let mut is_named = false;
        let mut for_everybody = &[][..];
        for (whom, granted) in &self.0 {
            match whom {
                Whom::Everybody => for_everybody = granted,
                Whom::Group(group) if groups.contains(group) => perms.extend_from_slice(granted),
                Whom::User(name) if name == user => {
                    is_named = true;
                    perms.extend_from_slice(granted);
                }
                Whom::Group(_) | Whom::User(_) => {}
            }
        }
        if !is_named || is_permissive {
            perms.extend_from_slice(for_everybody);
        }
        perms
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

/// Whether `perms` permit a function of the master with these arguments.
pub fn may_run(perms: &[Perm], office: Office, fun: &str, args: &Parted) -> bool {
    let args = Some(args);
    let Some((module, name)) = fun.split_once('.') else {
        return false;
    };
    let form = office.name();
    let is_office = |at: &str| {
        at.strip_prefix('@')
            .is_some_and(|at| at == form || at.strip_suffix('s') == Some(form))
    };
    let is_module = |at: &str| at.strip_prefix('@') == Some(module);
    perms.iter().any(|perm| match perm.rule() {
        Rule::Text(at, _) => is_office(at) || is_module(at),
        Rule::At(at, funs) => {
            (is_module(at) && funs.list(Asked { fun: name, args }))
                || (is_office(at) && funs.list(Asked { fun, args }))
        }
        Rule::Nothing => false,
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
        Grants::new(entries)
            .permitted(user, &groups, is_permissive)
            .iter()
            .filter_map(|perm| perm.given().as_str().map(str::to_owned))
            .collect()
    }

    #[test]
    fn everybody_means_who_is_not_named() {
        let entries = entries(&[
            ("^filename", &["/x"]),
            ("alice", &["a"]),
            ("al.*", &["b"]),
            ("al*", &["c"]),
            ("ops%", &["g"]),
            ("*", &["all"]),
        ]);
        // An entry is a name, even one that looks like a pattern.
        assert_eq!(perms(&entries, "alice", &[], false), ["a"]);
        assert_eq!(perms(&entries, "al.*", &[], false), ["b"]);
        assert_eq!(perms(&entries, "al*", &[], false), ["c"]);
        assert_eq!(perms(&entries, "bob", &[], false), ["all"]);
        // A group does not name the user.
        assert_eq!(perms(&entries, "bob", &["ops"], false), ["g", "all"]);
        assert_eq!(perms(&entries, "alice", &[], true), ["a", "all"]);
    }

    #[test]
    fn nobody_is_asked_about_whom_no_entry_could_mean() {
        let may = |entries: &[(&str, &[&str])], user: &str, groups: Option<&[String]>| {
            Grants::new(&self::entries(entries)).could_permit(user, groups)
        };
        let ops = ["ops".to_owned()];
        let named: &[(&str, &[&str])] = &[("alice", &["a"]), ("b.*", &["a"]), ("bob", &[])];
        assert!(may(named, "alice", Some(&[])));
        assert!(!may(named, "root", Some(&[])));
        assert!(!may(named, "bob", Some(&[])), "without any right");
        assert!(may(&[("*", &["a"])], "root", Some(&[])));
        let grouped: &[(&str, &[&str])] = &[("ops%", &["a"])];
        assert!(may(grouped, "root", Some(&ops)));
        assert!(!may(grouped, "root", Some(&[])));
        assert!(may(grouped, "root", None), "only the way to log in knows");
    }

    #[test]
    fn functions_of_the_master_have_entries_of_their_own() {
        let none = Parted::default();
        let all = |perm: &str| vec![Perm::new(&perm.into())];
        assert!(may_run(
            &all("@runner"),
            Office::Runner,
            "jobs.active",
            &none
        ));
        assert!(may_run(
            &all("@runners"),
            Office::Runner,
            "jobs.active",
            &none
        ));
        assert!(!may_run(&all("@runner"), Office::Wheel, "key.list", &none));
        assert!(may_run(&all("@jobs"), Office::Runner, "jobs.active", &none));
        assert!(!may_run(&all("@jobs"), Office::Runner, "manage.up", &none));
        // What permits functions of minions permits none of the master's.
        assert!(!may_run(&all(".*"), Office::Runner, "jobs.active", &none));
        let only = |at: &str, fun: &str| {
            let funs = Value::List(vec![fun.into()]);
            vec![Perm::new(&Map::from([(at, funs)]).into())]
        };
        assert!(may_run(
            &only("@jobs", "active"),
            Office::Runner,
            "jobs.active",
            &none
        ));
        assert!(!may_run(
            &only("@jobs", "active"),
            Office::Runner,
            "jobs.lookup_jid",
            &none
        ));
        assert!(may_run(
            &only("@runner", "jobs.*"),
            Office::Runner,
            "jobs.active",
            &none
        ));
        assert!(!may_run(
            &only("@runner", "jobs.*"),
            Office::Runner,
            "manage.up",
            &none
        ));
        assert!(!may_run(&all("@runner"), Office::Runner, "nodots", &none));
    }
}
