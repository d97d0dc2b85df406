//! The environment of functions: that of the process, with the changes of
//! `environ.*` applied over it.
//!
//! Salt changes the environment of its process, which is one per job. Here jobs
//! share a process, and other threads may be reading its environment. Invariant:
//! the process's own environment is never written to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// What was changed: the new values, or nothing for what is gone.
type Layer = BTreeMap<String, Option<String>>;

/// What was changed for all jobs (`update_minion`).
static MINION: RwLock<Layer> = RwLock::new(Layer::new());

/// The environment of one job; clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Environment(Arc<Mutex<Layer>>);

/// Whom a change is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The rest of the job.
    Job,
    /// All that the minion does from now on.
    Minion,
}

impl Environment {
    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<String> {
        let own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = own.get(name) {
            return value.clone();
        }
        drop(own);
        let minion = MINION.read().unwrap_or_else(PoisonError::into_inner);
        match minion.get(name) {
            Some(value) => value.clone(),
            // What cannot be a name is not asked for: the system would panic.
            None if is_name(name) => std::env::var(name).ok(),
            None => None,
        }
    }

    /// All variables that are text.
    pub fn all(&self) -> BTreeMap<String, String> {
        self.over_process(|_| true)
    }

    /// What of it a program of another user gets: what was changed, and what
    /// holds for all users of a machine.
    pub fn for_other_users(&self) -> BTreeMap<String, String> {
        self.over_process(is_for_all_users)
    }

    /// What was changed, over those variables of the process that are kept.
    fn over_process(&self, keeps: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
        let mut all: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| keeps(name))
            .collect();
        let minion = MINION.read().unwrap_or_else(PoisonError::into_inner);
        lay_over(&mut all, &minion);
        drop(minion);
        let own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lay_over(&mut all, &own);
        all
    }

    /// Sets a variable, or removes it; false if the system has no way to hold
    /// such a name or value.
    pub fn set(&self, name: &str, value: Option<&str>, reach: Reach) -> bool {
        if !is_name(name) || value.is_some_and(|value| value.contains('\0')) {
            return false;
        }
        let value = value.map(str::to_owned);
        match reach {
            Reach::Job => self
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(name.to_owned(), value),
            Reach::Minion => MINION
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(name.to_owned(), value),
        };
        true
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// Where programs are, the language, the time zone, and the proxies.
fn is_for_all_users(name: &str) -> bool {
    const NAMES: [&str; 4] = ["PATH", "LANG", "LANGUAGE", "TZ"];
    const PROXIES: [&str; 5] = [
        "http_proxy",
        "https_proxy",
        "ftp_proxy",
        "all_proxy",
        "no_proxy",
    ];
    NAMES.contains(&name)
        || name.starts_with("LC_")
        || PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
}

fn lay_over(all: &mut BTreeMap<String, String>, layer: &Layer) {
    for (name, value) in layer {
        match value {
            Some(value) => all.insert(name.clone(), value.clone()),
            None => all.remove(name),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_keeps_its_changes_to_itself() {
        let (one, other) = (Environment::default(), Environment::default());
        assert!(one.set("HALITE_TEST_ONE", Some("1"), Reach::Job));
        assert_eq!(one.clone().get("HALITE_TEST_ONE").as_deref(), Some("1"));
        assert_eq!(other.get("HALITE_TEST_ONE"), None);
        assert!(one.set("PATH", None, Reach::Job));
        assert!(!one.all().contains_key("PATH"));
        assert!(other.all().contains_key("PATH"));
    }

    #[test]
    fn a_change_of_the_minion_reaches_all_jobs_but_not_the_process() {
        let (one, other) = (Environment::default(), Environment::default());
        assert!(one.set("HALITE_TEST_ALL", Some("1"), Reach::Minion));
        assert_eq!(other.get("HALITE_TEST_ALL").as_deref(), Some("1"));
        assert_eq!(other.all()["HALITE_TEST_ALL"], "1");
        assert!(std::env::var_os("HALITE_TEST_ALL").is_none());
    }

    #[test]
    fn other_users_get_what_was_set_and_what_holds_for_everybody() {
        let job = Environment::default();
        assert!(job.set("HALITE_TEST_OTHERS", Some("1"), Reach::Job));
        let all = job.for_other_users();
        assert_eq!(all["HALITE_TEST_OTHERS"], "1");
        assert!(all.contains_key("PATH"));
        // Cargo sets it for tests, as systemd sets others for daemons.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert!(!all.contains_key("CARGO_MANIFEST_DIR"));
        assert!(is_for_all_users("HTTPS_PROXY") && !is_for_all_users("AWS_SECRET_ACCESS_KEY"));
    }

    #[test]
    fn what_the_system_cannot_hold_is_refused() {
        let env = Environment::default();
        for (name, value) in [("", "x"), ("a=b", "x"), ("a\0", "x"), ("a", "\0")] {
            assert!(!env.set(name, Some(value), Reach::Job), "{name:?}");
        }
        assert_eq!(env.get("a=b"), None);
        assert_eq!(env.get(""), None);
    }
}
