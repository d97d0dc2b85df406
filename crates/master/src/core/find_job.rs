//! Who may ask minions whether a job still runs there, without an entry for it.
//!
//! Invariant: a user learns nothing in this way about minions outside their rights,
//! neither from answers nor from which minions a target matches.

use super::acl::{Allowed, EVERY_MINION, authorise};
use super::perms::{Asked, Perm, Rule};

/// The function that everyone who authenticates may call: how the waiting
/// client learns whether its job still runs. No minion may, unless `peer` says
/// so, and of no other minions than one's own: the answer tells who matches.
pub const ALWAYS_ALLOWED: &str = "saltutil.find_job";

/// The part of a job's target that limits who is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whom {
    /// It consists of ids only, so matches reveal nothing else.
    pub by_ids: bool,
    /// It is a list of minions that a job of the caller's was for.
    pub of_own_job: bool,
}

/// As [`authorise`], for a local user: what everyone who authenticates may call
/// need not be listed. It may go where the user may command something, and to
/// the minions of their own job.
pub fn authorise_user(
    perms: &[Perm],
    job: &[Asked<'_>],
    whom: Whom,
    within: &mut dyn FnMut(&str) -> bool,
) -> Option<Allowed> {
    let is_listed = |asked: &Asked<'_>| asked.fun != ALWAYS_ALLOWED;
    let listed: Vec<Asked<'_>> = job.iter().copied().filter(is_listed).collect();
    if !listed.is_empty() {
        return authorise(perms, &listed, within);
    }
    if perms.is_empty() || job.is_empty() {
        return None;
    }
    authorise(perms, job, within)
        .or_else(|| commands(perms, whom, within))
        .or_else(|| whom.of_own_job.then_some(Allowed::OnlyResolved))
}

/// Where a user may command minions, whatever function it is.
fn commands(perms: &[Perm], whom: Whom, within: &mut dyn FnMut(&str) -> bool) -> Option<Allowed> {
    let is_anywhere = |perm: &Perm| match perm.rule() {
        Rule::Text(text, _) => !text.starts_with('@'),
        Rule::At(target, _) => target == EVERY_MINION,
        Rule::Nothing => false,
    };
    if perms.iter().any(is_anywhere) {
        return Some(Allowed::Anywhere);
    }
    let mut is_there = |perm: &Perm| match perm.rule() {
        Rule::At(target, _) => !target.starts_with('@') && within(target),
        Rule::Text(..) | Rule::Nothing => false,
    };
    (whom.by_ids && perms.iter().any(&mut is_there)).then_some(Allowed::OnlyResolved)
}

#[cfg(test)]
mod tests {
    use halite_proto::{Map, Value};

    use super::*;

    fn perms(given: &[Value]) -> Vec<Perm> {
        given.iter().map(Perm::new).collect()
    }

    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(|item| Value::from(*item)).collect())
    }

    #[test]
    fn only_users_with_rights_may_ask_for_jobs_without_an_entry() {
        let find_job = |perms: &[Value]| {
            let fun = ALWAYS_ALLOWED;
            let job = [Asked { fun, args: None }];
            authorise_user(&self::perms(perms), &job, Whom::default(), &mut |_| false)
        };
        assert_eq!(find_job(&["x.y".into()]), Some(Allowed::Anywhere));
        assert_eq!(find_job(&[]), None);
    }

    #[test]
    fn jobs_are_asked_for_where_the_user_may_command_or_has_commanded() {
        let at = |target: &str, fun: &str| Value::from(Map::from([(target, list(&[fun]))]));
        let web = at("web*", "test.ping");
        let whom = |by_ids, of_own_job| Whom { by_ids, of_own_job };
        let (some, only) = (Some(Allowed::Anywhere), Some(Allowed::OnlyResolved));
        for (given, whom, expect) in [
            (at("*", "test.ping"), Whom::default(), some),
            (web.clone(), whom(true, false), only),
            // Who matches a pillar is not theirs to learn.
            (web.clone(), whom(false, false), None),
            (at("db*", "test.ping"), whom(true, false), None),
            (at("db*", "test.ping"), whom(true, true), only),
            (at("web*", ALWAYS_ALLOWED), Whom::default(), only),
            ("@runner".into(), whom(true, false), None),
            ("@runner".into(), whom(true, true), only),
            (at("@runner", "test.ping"), whom(true, false), None),
        ] {
            let fun = ALWAYS_ALLOWED;
            let job = [Asked { fun, args: None }];
            let perms = perms(std::slice::from_ref(&given));
            let verdict = authorise_user(&perms, &job, whom, &mut |target| target == "web*");
            assert_eq!(verdict, expect, "{given:?} {whom:?}");
        }
    }
}
