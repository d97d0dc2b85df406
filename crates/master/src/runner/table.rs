//! The runners: a closed table.

use std::sync::Arc;

use halite_proto::{Map, Value};

use super::error::Ran;
use super::python;
use super::{
    Call, auth, banks, batch, cache, cluster, cluster_roots, config, event, fileserver, git_pillar,
    http, jobs, manage, masters, matching, migrate, mine, minions, network,
};
use super::{
    Runners, pillar, queue, reactor, running, salt, saltutil, sdb, state, store, survey, test,
    unavailable,
};
use crate::functions::UsersFunction;

/// A runner.
pub(crate) struct Function {
    /// Its full name, `jobs.active`.
    pub(crate) name: &'static str,
    /// Its parameters in Python's notation.
    pub(crate) signature: &'static str,
    /// Its documentation.
    pub(crate) doc: &'static str,
    /// The function.
    pub(super) run: fn(&Call<'_>) -> Ran,
}

impl Function {
    pub(super) const fn new(
        name: &'static str,
        signature: &'static str,
        run: fn(&Call<'_>) -> Ran,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            signature,
            doc,
            run,
        }
    }

    /// The name that messages about wrong arguments use.
    pub(crate) fn python_name(&self) -> &'static str {
        self.name
            .split_once('.')
            .map_or(self.name, |(_, name)| name)
    }

    /// The documentation in the form that is shown: set off by blank lines and indented,
    /// with an example of the call.
    pub(crate) fn doc_text(&self) -> String {
        let mut text = String::from("\n");
        for line in self.doc.lines() {
            if !line.is_empty() {
                text.push_str("    ");
                text.push_str(line);
            }
            text.push('\n');
        }
        text.push_str("\n    CLI Example:\n\n        salt-run ");
        text.push_str(self.name);
        let required = self.signature.trim_matches(['(', ')']).split(", ");
        for name in required.filter(|name| !name.is_empty() && !name.contains(['=', '*'])) {
            text.push_str(&format!(" <{name}>"));
        }
        text.push_str("\n    ");
        text
    }
}

const TABLES: &[&[Function]] = &[
    auth::FUNCTIONS,
    banks::FUNCTIONS,
    batch::FUNCTIONS,
    cache::FUNCTIONS,
    cluster::FUNCTIONS,
    cluster_roots::FUNCTIONS,
    config::FUNCTIONS,
    event::FUNCTIONS,
    fileserver::FUNCTIONS,
    git_pillar::FUNCTIONS,
    http::FUNCTIONS,
    jobs::FUNCTIONS,
    manage::FUNCTIONS,
    masters::FUNCTIONS,
    matching::FUNCTIONS,
    migrate::FUNCTIONS,
    mine::FUNCTIONS,
    minions::FUNCTIONS,
    network::FUNCTIONS,
    pillar::FUNCTIONS,
    queue::FUNCTIONS,
    reactor::FUNCTIONS,
    running::FUNCTIONS,
    salt::FUNCTIONS,
    saltutil::FUNCTIONS,
    sdb::FUNCTIONS,
    state::FUNCTIONS,
    store::FUNCTIONS,
    survey::FUNCTIONS,
    test::FUNCTIONS,
];

/// A runner: ours, or one that users wrote.
pub(crate) enum Found {
    Ours(&'static Function),
    Users(UsersFunction),
}

impl Found {
    /// Its parameters in Python's notation.
    pub(super) fn signature(&self) -> &str {
        match self {
            Self::Ours(function) => function.signature,
            Self::Users(function) => &function.signature,
        }
    }

    /// The name that messages about wrong arguments use.
    pub(super) fn python_name(&self) -> &str {
        match self {
            Self::Ours(function) => function.python_name(),
            Self::Users(function) => &function.python_name,
        }
    }

    /// The documentation in the form that is shown.
    pub(super) fn doc_text(&self) -> String {
        match self {
            Self::Ours(function) => function.doc_text(),
            Self::Users(function) => function.doc.clone(),
        }
    }

    /// Runs it.
    pub(super) fn run(&self, call: &Call<'_>) -> Ran {
        match self {
            Self::Ours(function) => (function.run)(call),
            Self::Users(function) => function.run(call),
        }
    }
}

/// The runner of that name: users' own hide ours, as with Salt.
///
/// # Errors
/// With the reason, where one of Salt's is known to be missing.
pub(crate) fn find(runners: &Arc<Runners>, name: &str) -> Result<Found, Option<&'static str>> {
    if let Some(function) = python::find(runners, name) {
        return Ok(Found::Users(function));
    }
    match all().find(|function| function.name == name) {
        Some(function) => Ok(Found::Ours(function)),
        None => Err(unavailable::reason(name)),
    }
}

/// Whether we have a runner of that name.
pub(super) fn is_ours(name: &str) -> bool {
    all().any(|function| function.name == name)
}

/// The documentation of every runner.
pub(crate) fn docs() -> Map {
    let mut names: Vec<&Function> = all().collect();
    names.sort_unstable_by_key(|function| function.name);
    names
        .into_iter()
        .map(|function| (Value::from(function.name), Value::from(function.doc_text())))
        .collect()
}

pub(super) fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.iter().flat_map(|table| table.iter())
}

#[cfg(test)]
mod tests {
    use halite_call::Signature;

    use super::*;

    #[test]
    fn every_runner_can_be_called_and_is_described() {
        let mut names = Vec::new();
        for function in all() {
            let signature = Signature::parse(function.signature);
            assert!(signature.is_ok(), "{}: {signature:?}", function.name);
            assert!(function.name.split_once('.').is_some(), "{}", function.name);
            assert!(function.doc.ends_with('.'), "{}", function.name);
            names.push(function.name);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a name is there twice");
    }

    #[test]
    fn documentation_shows_the_call() {
        let function = all().find(|function| function.name == "jobs.lookup_jid");
        let text = function.unwrap().doc_text();
        assert!(
            text.ends_with("salt-run jobs.lookup_jid <jid>\n    "),
            "{text}"
        );
    }
}
