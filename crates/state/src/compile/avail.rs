//! The existing environments and SLS, each asked for once.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use halite_target::glob::{self, Glob};
use indexmap::IndexMap;

use crate::source::SlsSource;

/// The SLS of an environment, sorted.
pub(super) type Names = Rc<[String]>;

pub(super) struct Avail<'s> {
    source: &'s dyn SlsSource,
    envs: OnceCell<Vec<String>>,
    names: RefCell<IndexMap<String, Names>>,
}

impl<'s> Avail<'s> {
    pub(super) fn new(source: &'s dyn SlsSource) -> Self {
        Self {
            source,
            envs: OnceCell::new(),
            names: RefCell::new(IndexMap::new()),
        }
    }

    /// The environments in the order in which they are looked at.
    pub(super) fn envs(&self) -> &[String] {
        self.envs.get_or_init(|| {
            let settings = self.source.settings();
            let served = self.source.envs();
            if !settings.env_order.is_empty() {
                let mut order = distinct(settings.env_order.iter().cloned());
                if !served.is_empty() {
                    order.retain(|env| served.contains(env));
                }
                return order;
            }
            let base = std::iter::once("base".to_owned());
            distinct(
                base.chain(settings.file_roots.iter().cloned())
                    .chain(served),
            )
        })
    }

    /// Whether there is such an environment; `base` always is.
    pub(super) fn has(&self, env: &str) -> bool {
        env == "base" || self.envs().iter().any(|known| known == env)
    }

    /// All environments, `base` first.
    pub(super) fn all(&self) -> Vec<String> {
        let base = std::iter::once("base".to_owned());
        distinct(base.chain(self.envs().iter().cloned()))
    }

    /// The SLS of an environment.
    pub(super) fn names(&self, env: &str) -> Names {
        if let Some(names) = self.names.borrow().get(env) {
            return Rc::clone(names);
        }
        let names: Names = self.source.list_states(env).into();
        self.names
            .borrow_mut()
            .insert(env.to_owned(), Rc::clone(&names));
        names
    }

    /// The SLS of an environment whose names match `pattern`.
    pub(super) fn matching(&self, env: &str, pattern: &str) -> Vec<String> {
        let names = self.names(env);
        if !glob::is_glob(pattern) {
            let known = names.binary_search_by(|name| name.as_str().cmp(pattern));
            return known.map(|_| pattern.to_owned()).into_iter().collect();
        }
        let pattern = Glob::new(pattern);
        let matching = names.iter().filter(|name| pattern.matches(name));
        matching.cloned().collect()
    }
}

fn distinct(envs: impl Iterator<Item = String>) -> Vec<String> {
    let set: indexmap::IndexSet<String> = envs.collect();
    set.into_iter().collect()
}
