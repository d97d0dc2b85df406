//! Who may publish what: the local key files, `publisher_acl` and its
//! blacklist.
//!
//! Invariant: a job of several functions is allowed only if every one of them
//! is (Salt lets the whole job pass for one allowed function), and a key that
//! was given to one user never speaks for another.

use halite_proto::{Map, Value};
use halite_target::{glob, pcre};

use super::text::{fullmatch, python_text};

/// The function that everyone who authenticates may call: how the waiting
/// client learns whether its job still runs.
pub const ALWAYS_ALLOWED: &str = "saltutil.find_job";

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
    pub publisher_acl: &'a Map,
}

/// What an authenticated request may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Everything.
    Full,
    /// What these entries of `publisher_acl` permit.
    Listed(Vec<Value>),
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
            None => self.listed(owner),
            Some(user) => match user.strip_prefix("sudo_") {
                Some(person) if privileged => {
                    if self.sudo_acl && !self.publisher_acl.is_empty() {
                        self.listed(person)
                    } else {
                        Some(Rights::Full)
                    }
                }
                Some(_) => None,
                None if privileged => Some(Rights::Full),
                None if user == owner => self.listed(user),
                None => None,
            },
        }
    }

    fn is_privileged(&self, owner: &str) -> bool {
        owner == "root" || owner == self.configured || owner == self.running
    }

    fn listed(&self, user: &str) -> Option<Rights> {
        let mut entries = Vec::new();
        for (pattern, perms) in self.publisher_acl {
            let pattern = pattern.as_str().unwrap_or_default();
            if names_user(pattern, user) {
                match perms {
                    Value::List(perms) => entries.extend(perms.iter().cloned()),
                    Value::Nil => {}
                    other => entries.push(other.clone()),
                }
            }
        }
        (!entries.is_empty()).then_some(Rights::Listed(entries))
    }
}

/// Whether `publisher_acl_blacklist` forbids `user` or one of `funs` outright.
pub fn is_blacklisted(blacklist: &Map, user: Option<&str>, funs: &[&str]) -> bool {
    let lists = |name: &str, text: &str| {
        blacklist
            .get(name)
            .and_then(Value::as_list)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .any(|pattern| names_user(pattern, text))
    };
    user.is_some_and(|user| lists("users", user)) || funs.iter().any(|fun| lists("modules", fun))
}

/// One function of a job with its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The function.
    pub fun: &'a str,
    /// Its arguments, keyword ones in a map at the end.
    pub args: &'a [Value],
}

/// Why a job is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// For every minion.
    Anywhere,
    /// Because all minions it was resolved to are within the user's own: it may
    /// only go to those, whatever else the target might match.
    OnlyResolved,
}

/// Judges a whole job; `within` says whether all its minions match a compound
/// target. `None` is a refusal.
pub fn authorise(
    perms: &[Value],
    job: &[Asked<'_>],
    within: &mut dyn FnMut(&str) -> bool,
) -> Option<Allowed> {
    let mut verdict = Allowed::Anywhere;
    for asked in job {
        if asked.fun == ALWAYS_ALLOWED {
            continue;
        }
        match allowed(perms, *asked, within)? {
            Allowed::Anywhere => {}
            Allowed::OnlyResolved => verdict = Allowed::OnlyResolved,
        }
    }
    (!job.is_empty()).then_some(verdict)
}

fn allowed(
    perms: &[Value],
    asked: Asked<'_>,
    within: &mut dyn FnMut(&str) -> bool,
) -> Option<Allowed> {
    let anywhere = perms
        .iter()
        .filter_map(Value::as_str)
        .any(|pattern| fun_matches(pattern, asked.fun));
    if anywhere {
        return Some(Allowed::Anywhere);
    }
    perms
        .iter()
        .filter_map(Value::as_map)
        .filter(|perm| perm.len() == 1)
        .flat_map(Map::iter)
        .filter_map(|(target, funs)| Some((target.as_str()?, funs)))
        .any(|(target, funs)| !target.starts_with('@') && listed(funs, asked) && within(target))
        .then_some(Allowed::OnlyResolved)
}

/// Whether the value under a target of an entry lists the function.
pub(super) fn listed(funs: &Value, asked: Asked<'_>) -> bool {
    match funs {
        Value::Str(pattern) => fun_matches(pattern, asked.fun),
        Value::List(funs) => funs.iter().any(|fun| listed(fun, asked)),
        Value::Map(conditions) => conditions.iter().any(|(pattern, condition)| {
            pattern
                .as_str()
                .is_some_and(|pattern| fun_matches(pattern, asked.fun))
                && arguments_fit(condition, asked.args)
        }),
        _ => false,
    }
}

fn arguments_fit(condition: &Value, args: &[Value]) -> bool {
    match condition {
        Value::List(choices) => choices.iter().any(|choice| arguments_fit(choice, args)),
        Value::Map(condition) => {
            let (positional, keywords) = split_keywords(args);
            let args_fit = match condition.get("args") {
                Some(Value::List(patterns)) => patterns.iter().enumerate().all(|(n, pattern)| {
                    positional
                        .get(n)
                        .is_some_and(|arg| argument_fits(pattern, arg))
                }),
                Some(_) => false,
                None => true,
            };
            let keywords_fit = match condition.get("kwargs") {
                Some(Value::Map(patterns)) => patterns.iter().all(|(name, pattern)| {
                    keywords
                        .and_then(|keywords| keywords.get_value(name))
                        .is_some_and(|arg| argument_fits(pattern, arg))
                }),
                Some(_) => false,
                None => true,
            };
            args_fit && keywords_fit
        }
        Value::Nil => true,
        _ => false,
    }
}

fn split_keywords(args: &[Value]) -> (&[Value], Option<&Map>) {
    match args {
        [positional @ .., Value::Map(keywords)] if keywords.contains_key("__kwarg__") => {
            (positional, Some(keywords))
        }
        _ => (args, None),
    }
}

fn argument_fits(pattern: &Value, arg: &Value) -> bool {
    match pattern {
        Value::Nil => true,
        _ => match (python_text(pattern), python_text(arg)) {
            (Some(pattern), Some(arg)) => pcre::match_start(&pattern, &arg).unwrap_or(false),
            // A list or a map has no text that a pattern could judge safely.
            _ => false,
        },
    }
}

/// A pattern that cannot be understood permits nothing.
fn fun_matches(pattern: &str, fun: &str) -> bool {
    pcre::match_start(pattern, fun).unwrap_or(false)
}

/// Exact text, glob or whole regular expression.
pub(super) fn names_user(pattern: &str, text: &str) -> bool {
    pattern == text || glob::fnmatch(pattern, text) || fullmatch(pattern, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(|item| Value::from(*item)).collect())
    }

    fn users(acl: &Map) -> Users<'_> {
        Users {
            configured: "root",
            running: "root",
            sudo_acl: false,
            publisher_acl: acl,
        }
    }

    #[test]
    fn the_table_of_keys() {
        let acl = Map::from([("fred", list(&["test.*"]))]);
        let limited = Some(Rights::Listed(vec![Value::from("test.*")]));
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
    fn check(perms: &[Value], job: &[(&str, &[Value])], expect: Option<Allowed>) {
        let job: Vec<_> = job.iter().map(|&(fun, args)| Asked { fun, args }).collect();
        let verdict = authorise(perms, &job, &mut |target| target == "web*");
        assert_eq!(verdict, expect);
    }

    #[test]
    fn every_function_of_a_job_must_be_allowed() {
        let perms = [Value::from("test.*")];
        check(&perms, &[("test.ping", &[])], Some(Allowed::Anywhere));
        check(&perms, &[("test.ping", &[]), ("cmd.run", &[])], None);
        check(
            &perms,
            &[("saltutil.find_job", &[]), ("cmd.run", &[])],
            None,
        );
        check(
            &perms,
            &[("saltutil.find_job", &[])],
            Some(Allowed::Anywhere),
        );
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
        run(&[], None);
    }

    #[test]
    fn the_blacklist_stops_users_and_functions() {
        let blacklist = Map::from([
            ("users", list(&["^(?!sudo_).*$", "bad*"])),
            ("modules", list(&["cmd.*"])),
        ]);
        assert!(is_blacklisted(&blacklist, Some("root"), &["test.ping"]));
        assert!(is_blacklisted(
            &blacklist,
            Some("sudo_x"),
            &["test.ping", "cmd.run"]
        ));
        assert!(!is_blacklisted(&blacklist, Some("sudo_x"), &["test.ping"]));
        assert!(!is_blacklisted(&Map::new(), Some("root"), &["cmd.run"]));
    }
}
