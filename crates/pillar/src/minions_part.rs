//! The parts of a pillar that the minion chooses, beside its grains.
//!
//! Invariant: the pillar that is stored for decisions about others is made by the
//! master without these parts.

use halite_call::dicts::update;
use halite_proto::{Map, Value};

use crate::compiler::Compiler;
use crate::ext::External;
use crate::options::texts;
use crate::request::Request;

impl Compiler {
    /// Whether what the minion says of itself may be a part of its pillar: of
    /// modules in Python only they know.
    pub fn takes_minion_data(&self, request: &Request) -> bool {
        let takes_it = |external: &External| match external {
            External::MinionData(_) | External::Module(_) => true,
            External::Git { .. } => self.repositories.is_none(),
            _ => false,
        };
        !request.extra_minion_data.is_empty() && self.settings.externals.iter().any(takes_it)
    }

    /// The environment by which the request makes another pillar than the minion
    /// has without one.
    pub fn env_of(&self, request: &Request) -> Option<String> {
        if request.pillarenv.is_some() || !self.settings.pillarenv_from_saltenv {
            return request.pillarenv.clone();
        }
        let env = request.saltenv.clone().filter(|env| !env.is_empty());
        env.filter(|env| self.settings.saltenv.as_ref() != Some(env))
    }
}

/// Lays `data` over what `pass_to_ext_pillars` collects of a minion's options.
pub fn extra_minion_data(opts: &Map) -> Map {
    let mut extra = Map::new();
    for path in texts(opts.get("pass_to_ext_pillars")) {
        let Some(value) = halite_target::data::traverse(opts, &path, ":") else {
            continue;
        };
        let inner = path.split(':').rev().fold(value.clone(), |inner, part| {
            Map::from([(part, inner)]).into()
        });
        if let Value::Map(inner) = inner {
            update(&mut extra, &inner, true);
        }
    }
    extra
}
