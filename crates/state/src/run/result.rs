//! Whether a run as a whole has succeeded: the return code of `state.apply`.
//!
//! Salt 3008.5, `salt.utils.state.check_result`: a failure that a state with
//! `onfail` and `onfail_stop: false` has handled does not count.

use halite_proto::{Map, Value};

use crate::chunk::split_tag;

/// How deep results may be nested; deeper ones count as successes.
const DEPTH_MAX: usize = 32;

/// The states of a run that handle the failure of others: those with `onfail`
/// and `onfail_stop: false`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handlers(Vec<Handler>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Handler {
    id: String,
    module: String,
    /// Whose failure it handles: modules and ids.
    of: Vec<(Option<String>, Option<String>)>,
}

impl Handlers {
    /// The handlers that the high data declares.
    pub fn from_high(high: &Map) -> Self {
        let mut found = Vec::new();
        for (id, body) in high {
            let (Some(id), Some(body)) = (id.as_str(), body.as_map()) else {
                continue;
            };
            for (module, args) in body {
                let (Some(module), Some(args)) = (module.as_str(), args.as_list()) else {
                    continue;
                };
                let args = || args.iter().filter_map(Value::as_map);
                let goes_on = args().any(|arg| arg.get("onfail_stop") == Some(&Value::Bool(false)));
                if module.starts_with("__") || !goes_on {
                    continue;
                }
                let references = args()
                    .filter_map(|arg| arg.get("onfail")?.as_list())
                    .flatten()
                    .filter_map(Value::as_map)
                    .flatten();
                let text = |value: &Value| value.as_str().map(str::to_owned);
                found.push(Handler {
                    id: id.to_owned(),
                    module: module.to_owned(),
                    of: references
                        .map(|(module, name)| (text(module), text(name)))
                        .collect(),
                });
            }
        }
        Self(found)
    }

    /// Those of the failure of this state.
    fn handling<'h>(
        &'h self,
        state: Option<&'h str>,
        id: &'h str,
    ) -> impl Iterator<Item = (&'h str, &'h str)> {
        let is_meant = move |handler: &&Handler| {
            handler.id != id
                && handler.of.iter().any(|(module, name)| {
                    name.as_deref() == Some(id) && (state.is_none() || module.as_deref() == state)
                })
        };
        let meant = self.0.iter().filter(is_meant);
        meant.map(|handler| (handler.id.as_str(), handler.module.as_str()))
    }
}

/// Whether no state failed, or only such as are handled.
pub fn is_success(results: &Map, handlers: &Handlers) -> bool {
    check(results, handlers, 0)
}

fn check(results: &Map, handlers: &Handlers, depth: usize) -> bool {
    if results.is_empty() {
        return false;
    }
    results.iter().all(|(tag, result)| {
        let good = match result {
            Value::Map(map) => match map.get("result") {
                Some(result) => *result != Value::Bool(false),
                None => depth >= DEPTH_MAX || check(map, handlers, depth + 1),
            },
            Value::List(_) if tag.as_str() == Some("__extend__") => true,
            _ => depth > 0,
        };
        good || is_handled(tag.as_str().unwrap_or_default(), results, handlers)
    })
}

/// Whether a state that waits for this one to fail has run, and well.
fn is_handled(tag: &str, results: &Map, handlers: &Handlers) -> bool {
    let (state, id) = match split_tag(tag) {
        Some([state, id, ..]) => (Some(state), id),
        None => (None, tag),
    };
    let mut handled = None;
    for (handler, module) in handlers.handling(state, id) {
        for (tag, result) in results {
            let is_handlers = tag
                .as_str()
                .and_then(split_tag)
                .is_some_and(|[state, id, ..]| state == module && id == handler);
            if is_handlers && let Some(Value::Bool(result)) = result.get("result") {
                handled = Some(*result);
                if !result {
                    return false;
                }
            }
        }
        handled.get_or_insert(false);
    }
    handled.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(pairs: &[(&str, Option<bool>)]) -> Map {
        let mut all = Map::new();
        for (tag, result) in pairs {
            let result = result.map_or(Value::Nil, Value::Bool);
            all.insert(*tag, Map::from([("result", result)]));
        }
        all
    }

    #[test]
    fn one_failure_is_enough() {
        assert!(is_success(
            &results(&[("a", Some(true)), ("b", None)]),
            &Handlers::default()
        ));
        assert!(!is_success(
            &results(&[("a", Some(true)), ("b", Some(false))]),
            &Handlers::default()
        ));
        assert!(!is_success(&Map::new(), &Handlers::default()));
    }

    #[test]
    fn a_failure_may_be_handled() {
        let onfail = Map::from([(
            "onfail",
            Value::List(vec![Map::from([("test", "bad")]).into()]),
        )]);
        let goes_on = Map::from([("onfail_stop", false)]);
        let body = Value::List(vec!["nop".into(), onfail.into(), goes_on.into()]);
        let high = Map::from([("handler", Map::from([("test", body)]))]);
        let bad = ("test_|-bad_|-bad_|-f", Some(false));
        let good = results(&[bad, ("test_|-handler_|-handler_|-nop", Some(true))]);
        let handlers = Handlers::from_high(&high);
        assert!(is_success(&good, &handlers));
        assert!(!is_success(&good, &Handlers::default()));
        let failed = results(&[bad, ("test_|-handler_|-handler_|-nop", Some(false))]);
        assert!(!is_success(&failed, &handlers));
    }
}
