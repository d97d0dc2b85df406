//! The commits that the files of a run come from, if they come from git: a run uses
//! the same ones from beginning to end.

use std::collections::BTreeMap;

use crate::fields::{Fields, MessageError, Put};
use crate::{Map, SaltEnv, Value};

/// The field of requests for files. Only between Halite peers.
pub const COMMITS: &str = "halite_commits";

/// Remotes in one field at most, all environments together; what is beyond is
/// not looked at, and served as it is now.
pub const COMMITS_MAX: usize = 4096;

/// For each environment the commit of each remote that has one, by the remote's
/// directory in the master's cache.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commits(BTreeMap<SaltEnv, BTreeMap<String, String>>);

/// The wish for the commits of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitsOf {
    /// The environment.
    pub saltenv: SaltEnv,
}

impl Commits {
    /// Adds an environment with its commits.
    pub fn insert(&mut self, saltenv: SaltEnv, commits: BTreeMap<String, String>) {
        self.0.insert(saltenv, commits);
    }

    /// The commits of an environment, if they are said.
    pub fn of_env(&self, saltenv: &SaltEnv) -> Option<&BTreeMap<String, String>> {
        self.0.get(saltenv)
    }

    /// Whether none are said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds those of other environments.
    pub fn extend(&mut self, more: &Self) {
        for (env, commits) in &more.0 {
            let known = self.0.entry(env.clone());
            known.or_insert_with(|| commits.clone());
        }
    }

    /// As it travels.
    pub fn to_value(&self) -> Value {
        let envs = self.0.iter().map(|(env, commits)| {
            let commits = commits.iter();
            let commits: Map = commits
                .map(|(dir, id)| (Value::from(dir.as_str()), Value::from(id.as_str())))
                .collect();
            (Value::from(env.as_str()), Value::Map(commits))
        });
        envs.collect::<Map>().into()
    }

    /// Reads what travels; what makes no sense is left out.
    pub fn from_value(value: &Value) -> Self {
        let mut this = Self::default();
        let mut left = COMMITS_MAX;
        for (env, commits) in value.as_map().into_iter().flat_map(Map::iter) {
            let env = env.as_str().and_then(|env| SaltEnv::parse(env).ok());
            let (Some(env), Some(commits)) = (env, commits.as_map()) else {
                continue;
            };
            let commits: BTreeMap<String, String> = commits
                .iter()
                .filter_map(|(dir, id)| Some((dir.as_str()?.to_owned(), id.as_str()?.to_owned())))
                .take(left)
                .collect();
            left -= commits.len();
            this.insert(env, commits);
        }
        this
    }

    pub(crate) fn take(fields: &mut Fields) -> Self {
        let value = fields.value(COMMITS);
        value.as_ref().map(Self::from_value).unwrap_or_default()
    }

    pub(crate) fn put(&self, map: &mut Map) {
        if !self.is_empty() {
            map.put(COMMITS, self.to_value());
        }
    }
}

impl CommitsOf {
    pub(crate) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            saltenv: fields.need("saltenv", Fields::name)?,
        })
    }

    pub(crate) fn put(&self, cmd: &'static str, map: &mut Map) {
        map.put("cmd", cmd);
        map.put("saltenv", &self.saltenv);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_come_back_as_they_were_and_what_is_odd_is_left_out() {
        let mut commits = Commits::default();
        let base = SaltEnv::base();
        let one = BTreeMap::from([("states".to_owned(), "00".repeat(20))]);
        commits.insert(base.clone(), one.clone());
        assert_eq!(Commits::from_value(&commits.to_value()), commits);
        let odd = Map::from([
            ("../x", Value::from(Map::from([("states", "00")]))),
            ("dev", Value::from("x")),
            (
                "base",
                Value::from(Map::from([
                    ("states", Value::from("00".repeat(20))),
                    ("x", 7.into()),
                ])),
            ),
        ]);
        let read = Commits::from_value(&odd.into());
        assert_eq!(read.of_env(&base), Some(&one));
        assert_eq!(read, commits);
        let many = (0..=COMMITS_MAX).map(|n| (Value::from(n.to_string()), Value::from("00")));
        let many = Map::from([("base", many.collect::<Map>())]);
        let read = Commits::from_value(&many.into());
        assert_eq!(read.of_env(&base).unwrap().len(), COMMITS_MAX);
        assert_eq!(Commits::from_value(&Value::Nil), Commits::default());
    }
}
