//! Which SLS a minion uses, and which it does not (`state.show_state_usage`).

use std::collections::HashSet;

use halite_proto::{Map, Value};

use super::{Compiler, Matches};

impl Compiler<'_> {
    /// For every environment the SLS that `matches` has and those it has not.
    pub fn usage(&self, matches: &Matches) -> Map {
        let mut usage = Map::new();
        for env in self.avail.all() {
            let of_env = matches.get(&env).and_then(Value::as_list);
            let wanted: HashSet<&str> = of_env
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let names = self.avail.names(&env);
            let (used, unused): (Vec<_>, Vec<_>) = names
                .iter()
                .partition(|name| wanted.contains(name.as_str()));
            let list = |names: &[&String]| {
                let names = names.iter().map(|name| Value::from(name.as_str()));
                Value::List(names.collect())
            };
            let entry = Map::from([
                ("used", list(&used)),
                ("unused", list(&unused)),
                ("count_all", names.len().into()),
                ("count_used", used.len().into()),
                ("count_unused", unused.len().into()),
            ]);
            usage.insert(env, entry);
        }
        usage
    }
}
