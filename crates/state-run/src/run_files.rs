//! The files of a state run: those from git come from the commits with which the
//! run began, whatever is fetched meanwhile.
//!
//! Invariant: each environment's commits are asked for once in a run, before its
//! first file.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use halite_call::{Ahead, ContextError, Files};
use halite_proto::request::{COMMITS, Commits, HeldFile};
use halite_proto::{Map, SaltEnv, Value};

/// The files of a minion, as one run sees them.
pub(crate) struct RunFiles<'m> {
    minion: &'m dyn Files,
    known: Mutex<BTreeMap<SaltEnv, Option<BTreeMap<String, String>>>>,
}

impl<'m> RunFiles<'m> {
    pub(crate) fn new(minion: &'m dyn Files) -> Self {
        Self {
            minion,
            known: Mutex::default(),
        }
    }

    /// All commits that files have come from.
    pub(crate) fn commits_used(&self) -> Commits {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut used = Commits::default();
        for (env, commits) in known.iter() {
            if let Some(commits) = commits {
                used.insert(env.clone(), commits.clone());
            }
        }
        used
    }

    /// The commits of an environment, asked for if nobody has yet.
    fn commits_of_env(&self, saltenv: &SaltEnv) -> Option<BTreeMap<String, String>> {
        // Held while the master is asked: parallel states wait for one answer.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(commits) = known.get(saltenv) {
            return commits.clone();
        }
        let commits = self.minion.commits(saltenv);
        known.insert(saltenv.clone(), commits.clone());
        commits
    }

    /// The field that a request for files has besides, if its files are from git.
    fn field(&self, load: &Map) -> Option<Value> {
        let saltenv = load.get("saltenv")?.as_str()?;
        let mut envs = vec![SaltEnv::parse(saltenv).ok()?];
        let path = load.get("path").and_then(Value::as_str).unwrap_or_default();
        // The path may name another environment.
        let named = path.split_once("saltenv=").map(|(_, rest)| rest);
        let named = named.and_then(|rest| rest.split(['&', '?']).next());
        envs.extend(named.and_then(|env| SaltEnv::parse(env).ok()));
        let mut commits = Commits::default();
        for env in envs {
            if let Some(of_env) = self.commits_of_env(&env) {
                commits.insert(env, of_env);
            }
        }
        (!commits.is_empty()).then(|| commits.to_value())
    }
}

fn with(mut load: Map, field: Value) -> Map {
    load.insert(COMMITS, field);
    load
}

impl Files for RunFiles<'_> {
    fn ask(&self, load: Map) -> Result<Value, ContextError> {
        match self.field(&load) {
            Some(field) => self.minion.ask_beyond(load.clone(), with(load, field)),
            None => self.minion.ask(load),
        }
    }

    fn ask_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        let beyond = match self.field(&beyond) {
            Some(field) => with(beyond, field),
            None => beyond,
        };
        self.minion.ask_beyond(load, beyond)
    }

    fn held(&self, files: &[HeldFile], commits: &Commits) -> Option<Vec<bool>> {
        let mut commits = commits.clone();
        for file in files {
            if commits.of_env(&file.saltenv).is_none()
                && let Some(of_env) = self.commits_of_env(&file.saltenv)
            {
                commits.insert(file.saltenv.clone(), of_env);
            }
        }
        self.minion.held(files, &commits)
    }

    fn commits(&self, saltenv: &SaltEnv) -> Option<BTreeMap<String, String>> {
        self.commits_of_env(saltenv)
    }

    fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
        let line = self.minion.ahead()?;
        Some(Box::new(RunAhead { files: self, line }))
    }
}

/// The minion's requests ahead, each with the commits of the run.
struct RunAhead<'r> {
    files: &'r RunFiles<'r>,
    line: Box<dyn Ahead + 'r>,
}

impl Ahead for RunAhead<'_> {
    fn ask(&mut self, load: Map, beyond: Option<Map>) {
        let beyond = match self.files.field(&load) {
            Some(field) => Some(with(beyond.unwrap_or_else(|| load.clone()), field)),
            None => beyond,
        };
        self.line.ask(load, beyond);
    }

    fn answer(&mut self) -> Option<Result<Value, ContextError>> {
        self.line.answer()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A master whose commit is another one each time it is asked.
    #[derive(Default)]
    struct Moving {
        asked: AtomicUsize,
        seen: Mutex<Vec<Map>>,
    }

    impl Files for Moving {
        fn ask(&self, load: Map) -> Result<Value, ContextError> {
            self.ask_beyond(load, Map::new())
        }

        fn ask_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
            assert!(load.get(COMMITS).is_none(), "a Salt master would get it");
            self.seen.lock().unwrap().push(beyond);
            Ok(Value::Nil)
        }

        fn held(&self, _: &[HeldFile], commits: &Commits) -> Option<Vec<bool>> {
            let seen = Map::from([(COMMITS, commits.to_value())]);
            self.seen.lock().unwrap().push(seen);
            None
        }

        fn commits(&self, saltenv: &SaltEnv) -> Option<BTreeMap<String, String>> {
            let id = self.asked.fetch_add(1, Ordering::Relaxed).to_string();
            (saltenv.as_str() != "none").then(|| BTreeMap::from([("states".to_owned(), id)]))
        }

        fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
            None
        }
    }

    #[test]
    fn a_run_goes_on_with_the_commits_it_began_with() {
        let master = Moving::default();
        let files = RunFiles::new(&master);
        let held = HeldFile {
            path: "x".to_owned(),
            saltenv: SaltEnv::base(),
            hash_type: "sha256".to_owned(),
            hsum: "00".to_owned(),
        };
        files.held(&[held], &Commits::default());
        let load = |env: &str, path: &str| Map::from([("saltenv", env), ("path", path)]);
        files.ask(load("base", "a")).unwrap();
        files
            .ask_beyond(load("base", "a"), load("base", "a"))
            .unwrap();
        files.ask(load("dev", "a")).unwrap();
        files.ask(load("base", "a?saltenv=dev")).unwrap();
        files.ask(load("none", "a")).unwrap();
        let pinned = |seen: &Map| {
            let commits = seen
                .get(COMMITS)
                .map(Commits::from_value)
                .unwrap_or_default();
            ["base", "dev"].map(|env| {
                let env = SaltEnv::parse(env).unwrap();
                commits
                    .of_env(&env)
                    .map(|commits| commits["states"].clone())
            })
        };
        let (zero, one) = (Some("0".to_owned()), Some("1".to_owned()));
        let seen: Vec<_> = master.seen.lock().unwrap().iter().map(pinned).collect();
        let base = [zero.clone(), None];
        assert_eq!(
            seen,
            [
                base.clone(),
                base.clone(),
                base,
                [None, one.clone()],
                [zero, one],
                [None, None]
            ]
        );
        assert_eq!(master.asked.load(Ordering::Relaxed), 3);
        assert_eq!(
            files.commits_used().of_env(&SaltEnv::base()).unwrap()["states"],
            "0"
        );
    }
}
