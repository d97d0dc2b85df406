//! One row for each minion, of the rows that several masters have for it.
//!
//! Pure. Invariant: that a minion is connected to one master is not hidden by another one
//! that does not have it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use halite_proto::{Map, Value};

/// What masters know of minions. A row is that of the first master whose word on the
/// connection counts most; it names the masters of all rows, has the newest highstate of
/// all, and of what else that master does not know what another one does.
pub(crate) fn merge(answers: Vec<Value>) -> Value {
    let (known, unknown): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|answer| answer.as_map().is_some());
    if known.is_empty() {
        return unknown.into_iter().next().unwrap_or_default();
    }
    let mut rows: BTreeMap<String, Vec<Map>> = BTreeMap::new();
    for answer in known {
        let Value::Map(of) = answer else { continue };
        for (id, row) in of {
            if let (Some(id), Value::Map(row)) = (id.as_str(), row) {
                rows.entry(id.to_owned()).or_default().push(row);
            }
        }
    }
    let mut merged = Map::new();
    for (id, rows) in rows {
        merged.insert(id.as_str(), connection(rows));
    }
    merged.into()
}

/// The weight of a master's report on a connection: a connection counts more than none,
/// and a proof by the minion more than its address.
fn weight(row: &Map) -> u8 {
    let is_proven = row.get("proven").and_then(Value::as_bool) == Some(true);
    match (row.get("connected").and_then(Value::as_bool), is_proven) {
        (Some(true), true) => 4,
        (Some(true), false) => 3,
        (Some(false), true) => 2,
        (Some(false), false) => 1,
        (None, _) => 0,
    }
}

/// Fields that a master may lack and another one has.
const FILLED_UP: [&str; 4] = ["version", "system", "addresses", "clones"];

/// The row of one minion.
fn connection(mut rows: Vec<Map>) -> Map {
    let mut masters: Vec<String> = Vec::new();
    for row in &rows {
        let named = row.get("masters").and_then(Value::as_list);
        let named = named.unwrap_or_default().iter().filter_map(Value::as_str);
        masters.extend(named.map(str::to_owned));
    }
    masters.sort_unstable();
    masters.dedup();
    // The first of those that count the same stays first.
    rows.sort_by_key(|row| Reverse(weight(row)));
    let mut rows = rows.into_iter();
    let mut merged = rows.next().unwrap_or_default();
    for other in rows {
        for name in FILLED_UP {
            if merged.get(name).is_none_or(is_nothing)
                && let Some(value) = other.get(name)
            {
                merged.insert(name, value.clone());
            }
        }
        if jid_of(&other) > jid_of(&merged)
            && let Some(highstate) = other.get("highstate")
        {
            merged.insert("highstate", highstate.clone());
        }
    }
    let masters = masters.into_iter().map(Value::from);
    merged.insert("masters", Value::List(masters.collect()));
    merged
}

fn is_nothing(value: &Value) -> bool {
    matches!(value, Value::Nil) || value.as_list().is_some_and(<[Value]>::is_empty)
}

/// The job of the highstate of a row.
fn jid_of(row: &Map) -> Option<&str> {
    row.get("highstate")?.get("jid")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minion_has_the_masters_of_all_rows_and_the_newest_highstate() {
        let row = |master: &'static str, connected: Option<bool>, more: Map| {
            let masters: Vec<Value> = (connected == Some(true))
                .then(|| master.into())
                .into_iter()
                .collect();
            let mut row = Map::from([
                ("connected", Value::from(connected)),
                ("proven", connected.is_some().into()),
                ("master", master.into()),
                ("masters", Value::List(masters)),
                ("version", Value::Nil),
            ]);
            for (name, value) in more {
                row.insert(name.as_str().unwrap(), value);
            }
            row
        };
        let highstate = |jid: &'static str| Map::from([("highstate", Map::from([("jid", jid)]))]);
        let of = |rows: &[(&'static str, Map)]| -> Value {
            let rows = rows
                .iter()
                .map(|(id, row)| (Value::from(*id), Value::from(row.clone())));
            rows.collect::<Map>().into()
        };
        let version = Map::from([("version", "3008.5")]);
        let merged = merge(vec![
            of(&[
                ("web1", row("m1", Some(false), highstate("2026010104"))),
                ("web2", row("m1", Some(true), highstate("2026010101"))),
                ("web3", row("m1", None, Map::new())),
            ]),
            "is not available".into(),
            of(&[
                ("web1", row("m2", Some(true), highstate("2026010103"))),
                ("web2", row("m2", Some(true), version)),
                ("web4", row("m2", Some(false), Map::new())),
            ]),
        ]);
        let at = |id: &str, name: &str| merged.get(id).and_then(|row| row.get(name)).cloned();
        let names = |names: &[&'static str]| {
            Some(Value::List(
                names.iter().map(|name| (*name).into()).collect(),
            ))
        };
        assert_eq!(at("web1", "connected"), Some(true.into()));
        assert_eq!(at("web1", "masters"), names(&["m2"]));
        let newest = at("web1", "highstate").unwrap();
        assert_eq!(newest.get("jid"), Some(&"2026010104".into()));
        assert_eq!(at("web2", "master"), Some("m1".into()));
        assert_eq!(at("web2", "masters"), names(&["m1", "m2"]));
        assert_eq!(at("web2", "version"), Some("3008.5".into()));
        assert_eq!(at("web3", "masters"), names(&[]));
        assert_eq!(at("web4", "connected"), Some(false.into()));
        assert_eq!(merge(vec!["refused".into()]), "refused".into());
    }
}
