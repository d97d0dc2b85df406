//! The last line of a state run of several minions on a terminal: how many have
//! changed, failed, or not answered. In a pipe there is none.

use halite_proto::{Map, Value};

use super::returns::Shown;

/// Names of minions that are shown of each kind.
pub(super) const NAMES_MAX: usize = 10;

/// Functions that run states.
const RUNS: [&str; 11] = [
    "state.apply",
    "state.high",
    "state.highstate",
    "state.low",
    "state.single",
    "state.sls",
    "state.sls_id",
    "state.sls_id_test",
    "state.template",
    "state.template_str",
    "state.test",
];

/// Whether a function runs states.
pub(super) fn runs_states(function: &Value) -> bool {
    function.as_str().is_some_and(|fun| RUNS.contains(&fun))
}

/// What came of a state run on several minions.
#[derive(Default)]
pub(super) struct Closing {
    changed: usize,
    would_change: usize,
    unchanged: usize,
    failed: Vec<String>,
    silent: Vec<String>,
}

impl Closing {
    /// A minion has ended.
    pub(super) fn add(&mut self, shown: &Shown) {
        if shown.is_missing {
            self.silent.push(shown.id.clone());
            return;
        }
        let records = || states(&shown.value);
        let has = |result: &Value| records().any(|record| record.get("result") == Some(result));
        let changes = |record: &Map| record.get("changes").is_some_and(Value::is_true);
        if shown.retcode != 0 || has(&Value::Bool(false)) {
            self.failed.push(shown.id.clone());
        } else if has(&Value::Nil) {
            self.would_change += 1;
        } else if records().any(changes) {
            self.changed += 1;
        } else {
            self.unchanged += 1;
        }
    }

    /// The line; nothing for a single minion, whose results say it all.
    pub(super) fn line(&self) -> Option<String> {
        let counts = [
            (self.changed, "changed"),
            (self.would_change, "would change"),
            (self.unchanged, "unchanged"),
        ];
        let named = [(&self.failed, "failed"), (&self.silent, "silent")];
        let total: usize = counts.iter().map(|(count, _)| count).sum::<usize>()
            + named.iter().map(|(ids, _)| ids.len()).sum::<usize>();
        if total < 2 {
            return None;
        }
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let named = named.iter().filter(|(ids, _)| !ids.is_empty());
        let parts: Vec<String> = counts
            .map(|(count, what)| format!("{count} {what}"))
            .chain(named.map(|(ids, what)| format!("{} {what} ({})", ids.len(), names(ids))))
            .collect();
        Some(format!("{total} minions: {}", parts.join(", ")))
    }
}

fn names(ids: &[String]) -> String {
    let shown = ids.get(..NAMES_MAX.min(ids.len())).unwrap_or_default();
    match ids.len().checked_sub(NAMES_MAX) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The records of a state run; none of any other return.
fn states(value: &Value) -> impl Iterator<Item = &Map> {
    let map = value.as_map().into_iter();
    map.flat_map(Map::values).filter_map(Value::as_map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(id: &str, result: Value, changes: Map, retcode: i64, is_missing: bool) -> Shown {
        let record = Map::from([("result", result), ("changes", changes.into())]);
        Shown {
            id: id.to_owned(),
            value: Map::from([("test_|-a_|-a_|-nop", record)]).into(),
            out: None,
            retcode,
            raw_retcode: retcode.into(),
            notes: Vec::new(),
            is_missing,
        }
    }

    #[test]
    fn minions_are_counted_by_what_came_of_them() {
        let some = || Map::from([("a", 1)]);
        let mut closing = Closing::default();
        closing.add(&shown("web1", true.into(), some(), 0, false));
        assert_eq!(closing.line(), None, "one minion");
        closing.add(&shown("web2", true.into(), Map::new(), 0, false));
        closing.add(&shown("web3", Value::Nil, some(), 0, false));
        closing.add(&shown("web4", false.into(), some(), 2, false));
        closing.add(&shown("web5", Value::Nil, Map::new(), 1, true));
        assert_eq!(
            closing.line().as_deref(),
            Some(
                "5 minions: 1 changed, 1 would change, 1 unchanged, 1 failed (web4), 1 silent (web5)"
            )
        );
        for number in 0..11 {
            closing.add(&shown(
                &format!("x{number}"),
                true.into(),
                Map::new(),
                1,
                false,
            ));
        }
        let line = closing.line().unwrap();
        assert!(line.contains("12 failed (web4, x0, x1, x2, x3, x4, x5, x6, x7, x8 and 2 more)"));
    }

    #[test]
    fn only_state_runs_have_it() {
        assert!(runs_states(&"state.apply".into()));
        assert!(!runs_states(&"state.show_top".into()));
        assert!(!runs_states(&Value::List(vec!["state.apply".into()])));
    }
}
