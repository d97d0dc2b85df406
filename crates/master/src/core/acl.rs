//! Who may publish what: the local key files, `publisher_acl` and its blacklist.
//!
//! Invariant: a job of several functions is allowed only if every one of them is
//! (Salt lets the whole job pass for one allowed function), and a user's key never
//! speaks for another user.

use std::collections::HashMap;

use halite_proto::{Map, Value};

use super::patterns::NamePattern;
use super::perms::{Asked, Perm, Rule};

/// What the name of a user behind sudo begins with.
pub const SUDO: &str = "sudo_";

/// The target of a rule that is about all minions.
pub(super) const EVERY_MINION: &str = "*";

/// `publisher_acl`.
#[derive(Clone, Debug, Default)]
pub struct PublisherAcl(Vec<(NamePattern, Vec<Perm>)>);

impl PublisherAcl {
    /// Reads it.
    pub fn new(given: &Map) -> Self {
        let entries = given.iter().map(|(pattern, perms)| {
            let pattern = NamePattern::new(pattern.as_str().unwrap_or_default());
            (pattern, Perm::list(perms))
        });
        Self(entries.collect())
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn listed(&self, user: &str) -> Option<Rights> {
        let of_user = self.0.iter().filter(|(pattern, _)| pattern.names(user));
        let perms: Vec<Perm> = of_user.flat_map(|(_, perms)| perms).cloned().collect();
        (!perms.is_empty()).then_some(Rights::Listed(perms))
    }
}

/// `publisher_acl_blacklist`.
#[derive(Clone, Debug, Default)]
pub struct Blacklist {
    users: Vec<NamePattern>,
    modules: Vec<NamePattern>,
}

impl Blacklist {
    /// Reads it.
    pub fn new(given: &Map) -> Self {
        let list = |name: &str| {
            let patterns = given.get(name).and_then(Value::as_list).unwrap_or_default();
            let texts = patterns.iter().filter_map(Value::as_str);
            texts.map(NamePattern::new).collect()
        };
        Self {
            users: list("users"),
            modules: list("modules"),
        }
    }

    /// Whether it forbids the user.
    pub fn forbids_user(&self, user: &str) -> bool {
        self.users.iter().any(|pattern| pattern.may_name(user))
    }

    /// Whether it forbids the function.
    pub fn forbids_fun(&self, fun: &str) -> bool {
        self.modules.iter().any(|pattern| pattern.may_name(fun))
    }
}

/// The master's users and what their keys are worth.
#[derive(Clone, Debug)]
pub struct Users<'a> {
    /// `user` of the configuration.
    pub configured: &'a str,
    /// The user the master runs as.
    pub running: &'a str,
    /// `sudo_acl`.
    pub sudo_acl: bool,
    /// `publisher_acl`.
    pub publisher_acl: &'a PublisherAcl,
}

/// What an authenticated request may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Everything.
    Full,
    /// What these entries permit.
    Listed(Vec<Perm>),
}

impl Users<'_> {
    /// Judges a request that says it comes from `user` and shows the key of
    /// `key_owner` (whose key file holds what was sent; `None` if no file does).
    ///
    /// `None` is a refusal. Where Salt takes any known key for root, we take
    /// only the key of the configured user, of root or of the running user: the
    /// other files belong to users with less rights.
    pub fn authenticate(&self, user: Option<&str>, key_owner: Option<&str>) -> Option<Rights> {
        let owner = key_owner?;
        let privileged = self.is_privileged(owner);
        match user {
            None if privileged => Some(Rights::Full),
            None => self.publisher_acl.listed(owner),
            Some(user) => match user.strip_prefix(SUDO) {
                Some(person) if privileged => {
                    if self.sudo_acl && !self.publisher_acl.is_empty() {
                        self.publisher_acl.listed(person)
                    } else {
                        Some(Rights::Full)
                    }
                }
                Some(_) => None,
                None if privileged => Some(Rights::Full),
                None if user == owner => self.publisher_acl.listed(user),
                None => None,
            },
        }
    }

    fn is_privileged(&self, owner: &str) -> bool {
        owner == "root" || owner == self.configured || owner == self.running
    }
}

/// Why a job is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// For every minion.
    Anywhere,
    /// Because all minions it was resolved to are within the user's own. It may
    /// only go to those, by their ids: minions read targets for themselves, and
    /// no two readers of globs and patterns agree about every one of them.
    OnlyResolved,
}

/// Judges a whole job; `within` says whether all its minions match a compound
/// target. `None` is a refusal.
pub fn authorise<'a>(
    perms: &'a [Perm],
    job: &[Asked<'_>],
    within: &mut dyn FnMut(&str) -> bool,
) -> Option<Allowed> {
    // Each target is looked at once, however many functions there are.
    let mut known: HashMap<&'a str, bool> = HashMap::new();
    let mut within = |target: &'a str| *known.entry(target).or_insert_with(|| within(target));
    let mut verdict = Allowed::Anywhere;
    for asked in job {
        match allowed(perms, *asked, &mut within)? {
            Allowed::Anywhere => {}
            Allowed::OnlyResolved => verdict = Allowed::OnlyResolved,
        }
    }
    (!job.is_empty()).then_some(verdict)
}

fn allowed<'a>(
    perms: &'a [Perm],
    asked: Asked<'_>,
    within: &mut dyn FnMut(&'a str) -> bool,
) -> Option<Allowed> {
    let is_anywhere = |perm: &Perm| match perm.rule() {
        Rule::Text(_, pattern) => pattern.matches(asked.fun),
        // Whoever is reached is one of all.
        Rule::At(target, funs) => target == EVERY_MINION && funs.list(asked),
        Rule::Nothing => false,
    };
    if perms.iter().any(is_anywhere) {
        return Some(Allowed::Anywhere);
    }
    let mut is_there = |perm: &'a Perm| match perm.rule() {
        Rule::At(target, funs) => !target.starts_with('@') && funs.list(asked) && within(target),
        Rule::Text(..) | Rule::Nothing => false,
    };
    perms
        .iter()
        .any(&mut is_there)
        .then_some(Allowed::OnlyResolved)
}

#[cfg(test)]
mod tests {
    use halite_call::args::part_surely;

    use super::*;

    fn perms(given: &[Value]) -> Vec<Perm> {
        given.iter().map(Perm::new).collect()
    }

    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(|item| Value::from(*item)).collect())
    }

    fn users(acl: &PublisherAcl) -> Users<'_> {
        Users {
            configured: "root",
            running: "root",
            sudo_acl: false,
            publisher_acl: acl,
        }
    }

    #[test]
    fn the_table_of_keys() {
        let acl = PublisherAcl::new(&Map::from([("fred", list(&["test.*"]))]));
        let limited = Some(Rights::Listed(perms(&["test.*".into()])));
        let users = users(&acl);
        for (user, owner, expect) in [
            (None, Some("root"), Some(Rights::Full)),
            (None, None, None),
            (Some("root"), Some("root"), Some(Rights::Full)),
            (Some("root"), Some("fred"), None),
            (Some("sudo_fred"), Some("root"), Some(Rights::Full)),
            (Some("sudo_fred"), Some("fred"), None),
            (Some("fred"), Some("root"), Some(Rights::Full)),
            (Some("fred"), Some("fred"), limited.clone()),
            (Some("bob"), Some("fred"), None),
            (Some("bob"), Some("bob"), None),
            (None, Some("fred"), limited.clone()),
        ] {
            assert_eq!(
                users.authenticate(user, owner),
                expect,
                "{user:?} {owner:?}"
            );
        }
        let strict = Users {
            sudo_acl: true,
            ..users
        };
        assert_eq!(
            strict.authenticate(Some("sudo_fred"), Some("root")),
            limited
        );
        assert_eq!(strict.authenticate(Some("sudo_bob"), Some("root")), None);
    }

    #[track_caller]
    fn check(given: &[Value], job: &[(&str, &[Value])], expect: Option<Allowed>) {
        let parted: Vec<_> = job.iter().map(|(_, args)| part_surely(args)).collect();
        let job: Vec<_> = job
            .iter()
            .zip(&parted)
            .map(|(&(fun, _), args)| Asked {
                fun,
                args: args.as_ref(),
            })
            .collect();
        let verdict = authorise(&perms(given), &job, &mut |target| target == "web*");
        assert_eq!(verdict, expect);
    }

    #[test]
    fn every_function_of_a_job_must_be_allowed() {
        let perms = [Value::from("test.*")];
        check(&perms, &[("test.ping", &[])], Some(Allowed::Anywhere));
        check(&perms, &[("test.ping", &[]), ("cmd.run", &[])], None);
        check(&perms, &[("saltutil.find_job", &[])], None);
        check(&[], &[], None);
    }

    #[test]
    fn an_entry_with_a_target_holds_for_its_minions() {
        let on = |target: &str| vec![Value::from(Map::from([(target, list(&["test.*"]))]))];
        check(
            &on("web*"),
            &[("test.ping", &[])],
            Some(Allowed::OnlyResolved),
        );
        check(&on("db*"), &[("test.ping", &[])], None);
        check(&on("@runner"), &[("test.ping", &[])], None);
    }

    #[test]
    fn arguments_are_judged_by_their_text() {
        let condition = Map::from([
            (
                "args",
                Value::List(vec![Value::from("ls( |$)"), Value::Nil]),
            ),
            ("kwargs", Value::from(Map::from([("cwd", "/tmp$")]))),
        ]);
        let fun = Map::from([("cmd.run", Value::from(condition))]);
        let perms = [Value::from(Map::from([(
            "web*",
            Value::List(vec![Value::from(fun)]),
        )]))];
        let keywords = |cwd: &str| {
            Value::from(Map::from([
                ("cwd", Value::from(cwd)),
                ("__kwarg__", Value::from(true)),
            ]))
        };
        let run = |args: &[Value], expect| check(&perms, &[("cmd.run", args)], expect);
        let yes = Some(Allowed::OnlyResolved);
        run(&["ls -l".into(), 1.into(), keywords("/tmp")], yes);
        run(&["ls -l".into(), 1.into(), keywords("/")], None);
        run(&["ls -l".into(), keywords("/tmp")], None);
        run(&["rm".into(), 1.into(), keywords("/tmp")], None);
        run(&[list(&["ls"]), 1.into(), keywords("/tmp")], None);
        // By the positions that the minion sees, not by those in the list.
        run(
            &["ls -l".into(), "a=1".into(), 1.into(), keywords("/tmp")],
            yes,
        );
        run(&["ls -l".into(), "a=1".into(), keywords("/tmp")], None);
        run(&["ls -l".into(), 1.into(), "cwd=/tmp".into()], yes);
        run(
            &["ls -l".into(), 1.into(), "cwd=/tmp".into(), "cwd=/".into()],
            None,
        );
        run(&[keywords("/tmp"), "ls -l".into(), 1.into()], yes);
        run(&[], None);
    }

    #[test]
    fn the_blacklist_stops_users_and_functions() {
        let blacklist = Blacklist::new(&Map::from([
            ("users", list(&["^(?!sudo_).*$", "bad*"])),
            ("modules", list(&["cmd.*"])),
        ]));
        assert!(blacklist.forbids_user("root") && !blacklist.forbids_user("sudo_x"));
        assert!(blacklist.forbids_fun("cmd.run") && !blacklist.forbids_fun("test.ping"));
        let none = Blacklist::new(&Map::new());
        assert!(!none.forbids_user("root") && !none.forbids_fun("cmd.run"));
    }

    #[test]
    fn an_entry_that_is_no_rule_of_salts_permits_nothing() {
        let map = |pairs: &[(&str, Value)]| {
            let pairs = pairs.iter().cloned();
            Value::from(
                pairs
                    .map(|(name, value)| (Value::from(name), value))
                    .collect::<Map>(),
            )
        };
        let anything = || Value::from(Map::new());
        let ping = || map(&[("test.ping", anything())]);
        for (funs, is_permitted) in [
            (ping(), true),
            (Value::List(vec![ping()]), true),
            // Of two functions it is not certain that both were meant.
            (
                map(&[("test.ping", anything()), ("test.arg", anything())]),
                false,
            ),
            (map(&[("test.ping", Value::Nil)]), false),
            (Value::List(vec![list(&["test.ping"])]), false),
            (
                map(&[(
                    "test.ping",
                    Value::List(vec![Value::List(vec![anything()])]),
                )]),
                false,
            ),
        ] {
            let args = part_surely(&[]);
            let asked = Asked {
                fun: "test.ping",
                args: args.as_ref(),
            };
            let perms = perms(&[map(&[("*", funs.clone())])]);
            let verdict = authorise(&perms, &[asked], &mut |_| true);
            assert_eq!(verdict.is_some(), is_permitted, "{funs:?}");
        }
    }
}
