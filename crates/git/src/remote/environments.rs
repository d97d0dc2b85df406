//! The environments of a remote, and the commit of each.

use std::collections::BTreeSet;

use super::{RefType, Remote};

/// What is different for an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerSaltenv {
    /// `mountpoint`, without slashes around it.
    pub mountpoint: Option<String>,
    /// `root`, without slashes around it.
    pub root: Option<String>,
    /// `ref`: the branch, tag or commit.
    pub reference: Option<String>,
}

impl Remote {
    /// The environments of a remote with these branches and tags.
    pub fn envs<'a>(
        &self,
        branches: impl IntoIterator<Item = &'a str>,
        tags: impl IntoIterator<Item = &'a str>,
    ) -> BTreeSet<String> {
        let mut envs: BTreeSet<String> = self.mapped().map(|(env, _)| env.to_owned()).collect();
        if is_hex(&self.base) {
            envs.insert("base".to_owned());
        }
        let has = |kind| self.ref_types.contains(&kind);
        let branches = branches.into_iter().filter(|_| has(RefType::Branch));
        let tags = tags.into_iter().filter(|_| has(RefType::Tag));
        for name in branches.chain(tags) {
            // One that `saltenv` maps is there under that name alone.
            if self.mapped().any(|(_, reference)| reference == name) {
                continue;
            }
            if name == self.base {
                envs.insert("base".to_owned());
            } else if !self.disable_saltenv_mapping {
                envs.insert(name.to_owned());
            }
        }
        envs.retain(|env| self.exposed.shows(env));
        envs
    }

    /// Whether [`Self::envs`] has an environment of a remote for which `has`
    /// says what branches and tags there are.
    pub fn has_env(&self, saltenv: &str, has: impl Fn(RefType, &str) -> bool) -> bool {
        if !self.exposed.shows(saltenv) {
            return false;
        }
        if self.mapped().any(|(env, _)| env == saltenv) {
            return true;
        }
        let is_there = |name: &str| {
            let mut kinds = [RefType::Branch, RefType::Tag].into_iter();
            kinds.any(|kind| self.ref_types.contains(&kind) && has(kind, name))
                && !self.mapped().any(|(_, reference)| reference == name)
        };
        // A branch that is called as the environment; what `base` names is
        // there as `base` alone.
        let has_namesake =
            !self.disable_saltenv_mapping && saltenv != self.base && is_there(saltenv);
        has_namesake || saltenv == "base" && (is_hex(&self.base) || is_there(&self.base))
    }

    /// The branch, tag or commit of an environment; `None` if it has none.
    pub fn reference<'a>(&'a self, saltenv: &'a str) -> Option<&'a str> {
        if let Some(all) = &self.all_saltenvs {
            return Some(all);
        }
        if saltenv == "base" {
            return Some(&self.base);
        }
        let mapped = self
            .saltenv
            .get(saltenv)
            .and_then(|it| it.reference.as_deref());
        match (mapped, self.disable_saltenv_mapping) {
            (Some(mapped), _) => Some(mapped),
            (None, true) => None,
            (None, false) => Some(saltenv),
        }
    }

    /// What the reference of an environment may be. Where the environment itself
    /// is the name, minions choose it: then a commit must be named by all digits
    /// of its id, which nobody can guess, and no list may say which environments
    /// are to be seen.
    pub(crate) fn kinds<'a>(&'a self, saltenv: &str) -> impl Iterator<Item = RefType> + use<'a> {
        let mapped = self.saltenv.get(saltenv);
        let is_configured = self.all_saltenvs.is_some()
            || saltenv == "base"
            || mapped.is_some_and(|per| per.reference.is_some());
        let may_be_commit = is_configured || is_commit_id(saltenv) && self.exposed.shows_all();
        let kinds = self.ref_types.iter().copied();
        kinds.filter(move |kind| may_be_commit || *kind != RefType::Sha)
    }

    /// `mountpoint` for an environment.
    pub fn mountpoint(&self, saltenv: &str) -> &str {
        let own = self
            .saltenv
            .get(saltenv)
            .and_then(|it| it.mountpoint.as_deref());
        own.unwrap_or(&self.mountpoint)
    }

    /// `root` for an environment.
    pub fn root(&self, saltenv: &str) -> &str {
        let own = self.saltenv.get(saltenv).and_then(|it| it.root.as_deref());
        own.unwrap_or(&self.root)
    }

    fn mapped(&self) -> impl Iterator<Item = (&str, &str)> {
        let envs = self.saltenv.iter();
        envs.filter_map(|(env, per)| Some((env.as_str(), per.reference.as_deref()?)))
    }
}

/// Whether a name is the whole id of a commit.
pub fn is_commit_id(name: &str) -> bool {
    name.len() == 40 && is_hex(name)
}

/// Whether a name may be the id of a commit, or the beginning of one.
pub(crate) fn is_hex(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
