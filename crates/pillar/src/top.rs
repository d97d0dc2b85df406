//! Which SLS a minion gets: merges and matches the top files of all environments.
//!
//! Mirrors `salt/pillar/__init__.py` of 3008.5: where several tops name the same
//! target of an environment, only the last one counts; the default matcher is
//! `compound`.

use halite_proto::{Map, Value};
use halite_range::RangeServer;
use halite_target::{DEFAULT_DELIMITER, Reading, Subject, Target};

/// What the top files say together: environments with their targets, in the
/// order in which they count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Top {
    /// Environment to target to a list of matchers and SLS.
    pub envs: Map,
    /// SLS that may be missing, by environment.
    pub(crate) optional: Vec<(String, String)>,
}

/// What is said of a top file that is not what it should be.
pub(crate) const BAD_TOP: &str = "Error encountered while rendering pillar top file.";

impl Top {
    /// Merges the rendered tops, in their order.
    ///
    /// # Errors
    /// When one is not a map of maps of lists.
    pub(crate) fn merge(tops: &[Value]) -> Result<Self, &'static str> {
        let mut merged = Self::default();
        let mut orders: Vec<(Value, Value, i128)> = Vec::new();
        for top in tops {
            let top = top.as_map().ok_or(BAD_TOP)?;
            for (env, targets) in top {
                if env.as_str() == Some("include") {
                    continue;
                }
                let targets = targets.as_map().ok_or(BAD_TOP)?;
                for (target, items) in targets {
                    let (items, order) = merged.items(env, items)?;
                    let own = merged
                        .envs
                        .get_or_insert_with(env.clone(), || Map::new().into());
                    if let Value::Map(own) = own {
                        own.insert(target.clone(), items);
                    }
                    orders.retain(|(e, t, _)| (e, t) != (env, target));
                    orders.push((env.clone(), target.clone(), order));
                }
            }
        }
        let order_of = |env: &Value, target: &Value| {
            let known = orders.iter().find(|(e, t, _)| (e, t) == (env, target));
            known.map_or(0, |(_, _, order)| *order)
        };
        for (env, targets) in merged.envs.iter_mut() {
            if let Value::Map(targets) = targets {
                let mut sorted: Vec<_> = std::mem::take(targets).into_iter().collect();
                sorted.sort_by_key(|(target, _)| order_of(env, target));
                *targets = sorted.into_iter().collect();
            }
        }
        Ok(merged)
    }

    /// The matchers of a target, then its SLS, each once; and its order.
    fn items(&mut self, env: &Value, items: &Value) -> Result<(Value, i128), &'static str> {
        let mut matchers = Vec::new();
        let mut names: Vec<Value> = Vec::new();
        let mut order = 0;
        let mut may_miss = false;
        let characters;
        let items = match items {
            Value::List(items) => items.as_slice(),
            // Python takes a text apart.
            Value::Str(text) => {
                characters = text
                    .chars()
                    .map(|c| c.to_string().into())
                    .collect::<Vec<_>>();
                &characters
            }
            Value::Map(map) => {
                characters = map.keys().cloned().collect();
                &characters
            }
            _ => return Err(BAD_TOP),
        };
        for item in items {
            match item {
                Value::Map(map) => {
                    if map.contains_key("match") {
                        matchers.push(item.clone());
                    }
                    if let Some(value) = map.get("order") {
                        order = read_order(value)?;
                    }
                    may_miss |= map.get("ignore_missing").is_some_and(Value::is_true);
                }
                Value::Str(_) if !names.contains(item) => names.push(item.clone()),
                _ => {}
            }
        }
        if may_miss && let Some(env) = env.as_str() {
            let named = names.iter().filter_map(Value::as_str);
            self.optional
                .extend(named.map(|name| (env.to_owned(), name.to_owned())));
        }
        matchers.extend(names);
        Ok((matchers.into(), order))
    }

    /// The SLS of the minion `subject`, by environment.
    ///
    /// # Errors
    /// When a target names a matcher that there is none of.
    pub(crate) fn matches(
        &self,
        subject: &dyn Subject,
        pillarenv: Option<&str>,
        (nodegroups, server): (Option<&Map>, &RangeServer),
    ) -> Result<Vec<(String, Vec<String>)>, String> {
        let mut matches: Vec<(String, Vec<String>)> = Vec::new();
        for (env, targets) in &self.envs {
            let env = match env {
                Value::Str(env) => env.clone(),
                other => halite_yaml::python_str(other),
            };
            if pillarenv.is_some_and(|wanted| wanted != env) {
                continue;
            }
            for (target, items) in targets.as_map().into_iter().flatten() {
                let items = items.as_list().unwrap_or_default();
                if !is_meant(target, items, subject, (nodegroups, server))? {
                    continue;
                }
                let at = match matches.iter().position(|(known, _)| *known == env) {
                    Some(at) => at,
                    None => {
                        matches.push((env.clone(), Vec::new()));
                        matches.len() - 1
                    }
                };
                let Some((_, own)) = matches.get_mut(at) else {
                    continue;
                };
                for sls in items.iter().filter_map(Value::as_str) {
                    if !own.iter().any(|known| known == sls) {
                        own.push(sls.to_owned());
                    }
                }
            }
        }
        Ok(matches)
    }

    /// Whether an SLS may be missing.
    pub(crate) fn is_optional(&self, sls: &str, env: &str) -> bool {
        self.optional.iter().any(|(e, s)| e == env && s == sls)
    }
}

fn is_meant(
    target: &Value,
    items: &[Value],
    subject: &dyn Subject,
    (nodegroups, server): (Option<&Map>, &RangeServer),
) -> Result<bool, String> {
    let mut matchers = items.iter().filter_map(|item| item.get("match"));
    let matcher = match matchers.next_back() {
        None => "compound",
        Some(Value::Str(name)) => name,
        Some(other) => return Err(unknown_matcher(&halite_yaml::python_str(other))),
    };
    if !MATCHERS.contains(&matcher) {
        return Err(unknown_matcher(matcher));
    }
    // `data` looks into a data store that nothing fills any more.
    if matcher == "data" {
        return Ok(false);
    }
    let reading = Reading {
        delimiter: DEFAULT_DELIMITER,
        nodegroups,
        ranges: Some(server),
    };
    match Target::parse_with(target, matcher, &reading) {
        Ok(target) => Ok(target.matches(subject)),
        Err(error) => {
            tracing::error!(matcher, "a target of a pillar top file: {error}");
            Ok(false)
        }
    }
}

fn unknown_matcher(name: &str) -> String {
    format!("Attempting to match with unknown matcher: {name}")
}

const MATCHERS: &[&str] = &[
    "compound",
    "compound_pillar_exact",
    "data",
    "glob",
    "grain",
    "grain_pcre",
    "ipcidr",
    "list",
    "nodegroup",
    "pcre",
    "pillar",
    "pillar_exact",
    "pillar_pcre",
    "range",
];

/// Python's `int()`; text that is no number counts as 0.
fn read_order(value: &Value) -> Result<i128, &'static str> {
    match value {
        Value::Int(order) => Ok(*order),
        Value::Bool(order) => Ok((*order).into()),
        #[expect(clippy::cast_possible_truncation, reason = "what Python's int() does")]
        Value::Float(order) if order.is_finite() => Ok(*order as i128),
        Value::Str(text) => Ok(text.trim().parse().unwrap_or(0)),
        _ => Err(BAD_TOP),
    }
}
