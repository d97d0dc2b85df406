//! Whether a run as a whole has succeeded: the return code of `state.apply`.
//!
//! Salt 3008.5, `salt.utils.state.check_result`: a failure that a state with
//! `onfail` and `onfail_stop: false` has handled is none.

use halite_proto::{Map, Value};

use crate::chunk::split_tag;

/// How deep results may be nested; deeper ones count as successes.
const DEPTH_MAX: usize = 32;

/// Whether no state failed, or only such as are handled in `high`, the high
/// data of the run.
pub fn is_success(results: &Map, high: Option<&Map>) -> bool {
    check(results, high, 0)
}

fn check(results: &Map, high: Option<&Map>, depth: usize) -> bool {
    if results.is_empty() {
        return false;
    }
    results.iter().all(|(tag, result)| {
        let good = match result {
            Value::Map(map) => match map.get("result") {
                Some(result) => *result != Value::Bool(false),
                None => depth >= DEPTH_MAX || check(map, high, depth + 1),
            },
            Value::List(_) if tag.as_str() == Some("__extend__") => true,
            _ => depth > 0,
        };
        good || is_handled(tag.as_str().unwrap_or_default(), results, high)
    })
}

/// Whether a state that waits for this one to fail has run, and well.
fn is_handled(tag: &str, results: &Map, high: Option<&Map>) -> bool {
    let (state, id) = match split_tag(tag) {
        Some([state, id, ..]) => (Some(state), id),
        None => (None, tag),
    };
    let mut handled = None;
    for (handler, module) in high.into_iter().flat_map(|high| handlers(high, state, id)) {
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

/// The states with `onfail` on this one and `onfail_stop: false`.
fn handlers<'h>(high: &'h Map, state: Option<&str>, id: &str) -> Vec<(&'h str, &'h str)> {
    let mut found = Vec::new();
    for (handler, body) in high {
        let (Some(handler), Some(body)) = (handler.as_str(), body.as_map()) else {
            continue;
        };
        if handler == id {
            continue;
        }
        for (module, args) in body {
            let (Some(module), Some(args)) = (module.as_str(), args.as_list()) else {
                continue;
            };
            let args = || args.iter().filter_map(Value::as_map);
            let goes_on = args().any(|arg| arg.get("onfail_stop") == Some(&Value::Bool(false)));
            let references = args()
                .filter_map(|arg| arg.get("onfail")?.as_list())
                .flatten()
                .filter_map(Value::as_map)
                .flatten();
            let mut references = references.map(|(module, name)| (module.as_str(), name.as_str()));
            if !module.starts_with("__")
                && goes_on
                && references.any(|(m, name)| name == Some(id) && (state.is_none() || m == state))
            {
                found.push((handler, module));
            }
        }
    }
    found
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
            None
        ));
        assert!(!is_success(
            &results(&[("a", Some(true)), ("b", Some(false))]),
            None
        ));
        assert!(!is_success(&Map::new(), None));
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
        assert!(is_success(&good, Some(&high)));
        assert!(!is_success(&good, None));
        let failed = results(&[bad, ("test_|-handler_|-handler_|-nop", Some(false))]);
        assert!(!is_success(&failed, Some(&high)));
    }
}
