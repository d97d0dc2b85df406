//! Which SLS of the top data match this minion.

use halite_proto::python;
use halite_proto::{Map, Value};

use super::Compiler;

/// Environments and their SLS. Names come as the top file gives them, which
/// may be anything.
pub type Matches = Map;

/// Targets within targets (`subfilter`) go no deeper than this; what is deeper
/// matches nothing.
const SUBFILTER_DEPTH_MAX: u8 = 32;

impl Compiler<'_> {
    /// The environments and SLS that `top` has for this minion.
    pub fn matches(&self, top: &Map) -> Matches {
        let settings = self.source.settings();
        let mut matches = Matches::new();
        for (env, targets) in top {
            if let Some(wanted) = &settings.saltenv
                && env.as_str() != Some(wanted)
            {
                continue;
            }
            for (target, items) in targets.as_map().into_iter().flatten() {
                self.filter(&mut matches, env, target, items, 0);
            }
        }
        self.add_master_tops(&mut matches);
        matches
    }

    fn filter(&self, matches: &mut Matches, env: &Value, target: &Value, items: &Value, depth: u8) {
        let single;
        let items = match items {
            Value::List(items) => items.as_slice(),
            other => {
                single = [other.clone()];
                &single
            }
        };
        if !self.is_meant(target, items) {
            return;
        }
        matches.get_or_insert_with(env.clone(), || Value::List(Vec::new()));
        for item in items {
            match item {
                Value::Str(_) => push(matches, env, item),
                Value::Map(item) => {
                    let subfilter = item.get("subfilter").and_then(Value::as_map);
                    if let Some(subfilter) = subfilter.filter(|_| depth < SUBFILTER_DEPTH_MAX) {
                        for (target, items) in subfilter {
                            self.filter(matches, env, target, items, depth + 1);
                        }
                    }
                    let other = item
                        .iter()
                        .rev()
                        .find(|(key, _)| *key != &Value::from("subfilter"));
                    if let Some((other_env, sls)) = other
                        && other_env.as_str().is_some_and(|env| self.avail.has(env))
                    {
                        push(matches, other_env, sls);
                    }
                }
                _ => {}
            }
        }
    }

    fn is_meant(&self, target: &Value, items: &[Value]) -> bool {
        let options = items.iter().filter_map(Value::as_map);
        let match_type = options
            .filter_map(|options| options.get("match"))
            .next_back();
        let match_type = match_type.map_or_else(|| "compound".to_owned(), python::str);
        self.source
            .matches(target, &match_type)
            .unwrap_or_else(|why| {
                tracing::error!(
                    "the target {} of the top file cannot be parsed: {why}",
                    python::repr(target)
                );
                false
            })
    }

    /// What the master's own tops say comes after the top file, or before it
    /// if `master_tops_first` is set.
    fn add_master_tops(&self, matches: &mut Matches) {
        for (env, more) in self.source.master_tops() {
            let more = more.as_list().unwrap_or_default().to_vec();
            let known = matches.get_value(&env).and_then(Value::as_list);
            let known = known.unwrap_or_default().to_vec();
            let (mut first, second) = if self.source.settings().master_tops_first {
                (more, known)
            } else {
                (known, more)
            };
            let second = second.into_iter().filter(|sls| !first.contains(sls));
            let second: Vec<_> = second.collect();
            first.extend(second);
            matches.insert(env, first);
        }
    }
}

/// What of `matches` is in `whitelist`; all of it if that is empty.
pub fn whitelisted(matches: Matches, whitelist: &[String]) -> Matches {
    if whitelist.is_empty() {
        return matches;
    }
    let mut kept = Matches::new();
    for (env, sls) in matches {
        for sls in sls.as_list().unwrap_or_default() {
            if sls
                .as_str()
                .is_some_and(|sls| whitelist.iter().any(|known| known == sls))
            {
                push(&mut kept, &env, sls);
            }
        }
    }
    kept
}

fn push(matches: &mut Matches, env: &Value, sls: &Value) {
    let list = matches.get_or_insert_with(env.clone(), || Value::List(Vec::new()));
    if let Value::List(list) = list {
        list.push(sls.clone());
    }
}
