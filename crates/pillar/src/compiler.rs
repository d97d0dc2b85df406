//! The options of a pillar compiler, read once, and what they give for a request.

use std::sync::Arc;

use halite_proto::Map;

use crate::options::SettingsError;
use crate::repository::Repositories;
use crate::request::Request;
use crate::settings::Settings;
use crate::tree::{Ignore, Tree};

/// Compiles pillars: the options, read once.
#[derive(Debug)]
pub struct Compiler {
    pub(crate) settings: Settings,
    /// Where the external pillar `git` reads.
    pub(crate) repositories: Option<Arc<dyn Repositories>>,
    pub(crate) ignore: Ignore,
    opts: Map,
}

impl Compiler {
    /// A compiler with the options of a master, or of a minion without one.
    ///
    /// # Errors
    /// When an option names something that there is not.
    pub fn new(opts: &Map) -> Result<Self, SettingsError> {
        Ok(Self {
            settings: Settings::from_opts(opts)?,
            repositories: None,
            ignore: Ignore::from_opts(opts)?,
            opts: opts.clone(),
        })
    }

    /// The same, with repositories for the external pillar `git`. Without them
    /// it is a module in Python.
    #[must_use]
    pub fn with_repositories(self, repositories: Arc<dyn Repositories>) -> Self {
        Self {
            repositories: Some(repositories),
            ..self
        }
    }

    /// `overrides` laid over a pillar that was compiled without them.
    pub fn lay_over(&self, pillar: Map, overrides: &Map) -> Map {
        if overrides.is_empty() {
            return pillar;
        }
        self.settings.merging.merge(pillar, overrides)
    }

    /// The options it was made with.
    pub fn opts(&self) -> &Map {
        &self.opts
    }

    /// The options as the files see them: those of the minion laid over.
    pub fn opts_for(&self, request: &Request) -> Map {
        let mut opts = self.opts.clone();
        let (saltenv, pillarenv) = self.envs_of(request);
        opts.insert("file_client", "local");
        opts.insert("grains", Map::clone(&request.grains));
        opts.insert("saltenv", saltenv);
        opts.insert("pillarenv", pillarenv);
        opts.insert("id", request.id.as_str());
        opts.insert("minion_id", request.id.as_str());
        opts.insert("state_top", format!("salt://{}", self.settings.top));
        if let Some(given) = &request.roots {
            opts.insert("pillar_roots", given.shown());
        }
        opts
    }

    /// The pillar roots as they are for a minion.
    pub(crate) fn tree(&self, request: &Request) -> Tree {
        if let Some(given) = &request.roots {
            return Tree::given(given);
        }
        let (saltenv, pillarenv) = self.envs_of(request);
        let env = pillarenv.or(saltenv).unwrap_or_else(|| "base".to_owned());
        Tree::new(&self.settings.roots, &env)
    }

    /// The environments of states and of the pillar of a request.
    pub(crate) fn envs_of(&self, request: &Request) -> (Option<String>, Option<String>) {
        let settings = &self.settings;
        let saltenv = request.saltenv.clone().or_else(|| settings.saltenv.clone());
        let pillarenv = match &request.pillarenv {
            Some(env) => Some(env.clone()),
            None if settings.pillarenv_from_saltenv => {
                request.saltenv.clone().or_else(|| settings.saltenv.clone())
            }
            None => settings.pillarenv.clone(),
        };
        (saltenv, pillarenv.filter(|env| !env.is_empty()))
    }
}
