//! Merges the answers of several masters about jobs and connections.
//!
//! Pure. Invariant: the first master's data about a job is kept; the others add
//! what it does not know.

use std::collections::{BTreeMap, HashMap};

use halite_proto::{Map, Value};

/// The list of all jobs, in the order of their ids.
pub(crate) fn jobs(answers: Vec<Value>) -> Value {
    let mut answers = answers.into_iter();
    let mut all = match answers.next() {
        Some(Value::Map(all)) => all,
        other => return other.unwrap_or_default(),
    };
    let own = all.len();
    for answer in answers {
        let Value::Map(more) = answer else { continue };
        for (jid, job) in more {
            if !has(&all, &jid) {
                all.insert(jid, job);
            }
        }
    }
    if all.len() == own {
        return all.into();
    }
    let mut sorted: Vec<(Value, Value)> = all.into_iter().collect();
    sorted.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
    sorted.into_iter().collect::<Map>().into()
}

/// The newest jobs up to a count, by their ids, from lists of jobs that name their ids.
pub(crate) fn newest(lists: Vec<Value>, count: usize) -> Value {
    let by_id = |list: Value| match list {
        Value::List(list) => {
            let named = list.into_iter();
            let named = named.filter_map(|job| Some((job.get("JID")?.clone(), job)));
            named.collect::<Map>().into()
        }
        other => other,
    };
    match jobs(lists.into_iter().map(by_id).collect()) {
        Value::Map(all) => {
            let older = all.len().saturating_sub(count);
            all.into_iter().skip(older).collect::<Map>().into()
        }
        other => other,
    }
}

/// The job of the first master that knows it, with the results of all.
pub(crate) fn job(answers: Vec<Value>) -> Value {
    let (known, unknown): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|answer| answer.as_map().is_some() && answer.get("Error").is_none());
    let mut known = known.into_iter();
    let Some(Value::Map(mut job)) = known.next() else {
        return unknown.into_iter().next().unwrap_or_default();
    };
    for other in known {
        let Some(Value::Map(results)) = other.get("Result") else {
            continue;
        };
        let Some(Value::Map(own)) = job.get_mut("Result") else {
            job.insert("Result", results.clone());
            continue;
        };
        for (id, result) in results {
            if !has(own, id) {
                own.insert(id.clone(), result.clone());
            }
        }
    }
    job.into()
}

/// The history of minions' connections. Changes that a master has seen itself are kept.
/// Reports from other masters of its cluster count where it has nothing itself, and for
/// the time before its start, as the first of them reports it.
pub(crate) fn history(answers: Vec<Value>) -> Value {
    let is_history = |answer: &Value| {
        answer
            .get("minions")
            .is_some_and(|of| of.as_map().is_some())
    };
    let (known, unknown): (Vec<_>, Vec<_>) = answers.into_iter().partition(is_history);
    if known.is_empty() {
        return unknown.into_iter().next().unwrap_or_default();
    }
    let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut began: HashMap<String, String> = HashMap::new();
    // Who is believed about which master, of the time since it began or before.
    let mut tellers: HashMap<(String, bool), usize> = HashMap::new();
    for (number, answer) in known.iter().enumerate() {
        if let (Some(own), Some(since)) = (text(answer, "master"), text(answer, "since")) {
            began.entry(own.clone()).or_insert(since);
            tellers.entry((own, true)).or_insert(number);
        }
    }
    let mut minions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (number, answer) in known.into_iter().enumerate() {
        let told = answer.get("minions").and_then(Value::as_map);
        for (id, changes) in told.into_iter().flatten() {
            let (Some(id), Some(changes)) = (id.as_str(), changes.as_list()) else {
                continue;
            };
            let all = minions.entry(id.to_owned()).or_default();
            for change in changes {
                let (Some(of), Some(at)) = (text(change, "master"), text(change, "at")) else {
                    continue;
                };
                let is_of_this_life = began.get(&of).is_none_or(|began| at >= *began);
                let teller = tellers.entry((of, is_of_this_life)).or_insert(number);
                if *teller == number {
                    all.push(change.clone());
                }
            }
        }
    }
    let mut merged = Map::new();
    for (id, mut changes) in minions {
        changes.sort_by_cached_key(|change| text(change, "at"));
        merged.insert(id.as_str(), Value::List(changes));
    }
    let mut masters: Vec<_> = began.into_iter().collect();
    masters.sort_unstable();
    let masters = masters
        .into_iter()
        .map(|(master, since)| (Value::from(master), Value::from(since)));
    Map::from([("masters", masters.collect::<Map>()), ("minions", merged)]).into()
}

/// Whether a map has a name; other keys are nobody's.
fn has(map: &Map, key: &Value) -> bool {
    key.as_str().is_none_or(|key| map.contains_key(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_all_masters_are_one_list_without_doubles() {
        let list = |jobs: &[(&'static str, &'static str)]| -> Value {
            jobs.iter()
                .map(|(jid, user)| (Value::from(*jid), Value::from(Map::from([("User", *user)]))))
                .collect::<Map>()
                .into()
        };
        let merged = jobs(vec![
            list(&[("2026010102", "m1"), ("2026010104", "m1")]),
            list(&[("2026010101", "m2"), ("2026010102", "m2")]),
            "an error".into(),
        ]);
        let expected = list(&[
            ("2026010101", "m2"),
            ("2026010102", "m1"),
            ("2026010104", "m1"),
        ]);
        assert_eq!(merged, expected);
        assert_eq!(jobs(Vec::new()), Value::Nil);
        assert_eq!(jobs(vec!["an error".into(), list(&[])]), "an error".into());
    }

    #[test]
    fn the_newest_jobs_of_all_masters_are_the_newest_of_each() {
        let list = |jids: &[&'static str]| -> Value {
            let jobs = jids.iter().map(|jid| Map::from([("JID", *jid)]).into());
            Value::List(jobs.collect())
        };
        let jids = |found: Value| -> Vec<String> {
            let Value::Map(found) = found else {
                panic!("no jobs");
            };
            let jids = found.keys().filter_map(Value::as_str);
            jids.map(str::to_owned).collect()
        };
        let both = || vec![list(&["2", "4"]), list(&["1", "2", "3"])];
        assert_eq!(jids(newest(both(), 3)), ["2", "3", "4"]);
        assert_eq!(jids(newest(both(), 9)), ["1", "2", "3", "4"]);
        assert_eq!(newest(vec!["refused".into()], 3), "refused".into());
    }

    #[test]
    fn each_master_is_believed_about_itself() {
        let change = |at: &'static str, change: &'static str, master: &'static str| {
            Value::from(Map::from([
                ("at", at),
                ("change", change),
                ("master", master),
            ]))
        };
        let of = |master: &'static str, changes: Vec<Value>| -> Value {
            let minions = Map::from([("web1", Value::List(changes))]);
            Map::from([
                ("master", Value::from(master)),
                ("since", "t0".into()),
                ("minions", minions.into()),
            ])
            .into()
        };
        let m1 = of(
            "m1",
            vec![
                change("t1", "connected", "m1"),
                change("t3", "connected", "m2"),
                change("t5", "connected", "m3"),
            ],
        );
        let m2 = of(
            "m2",
            vec![
                change("t2", "connected", "m2"),
                change("t4", "connected", "m3"),
                change("t6", "disconnected", "m2"),
            ],
        );
        let merged = history(vec![m1, m2, "not available".into()]);
        let expected = [
            change("t1", "connected", "m1"),
            change("t2", "connected", "m2"),
            change("t5", "connected", "m3"),
            change("t6", "disconnected", "m2"),
        ];
        let minions = merged.get("minions").unwrap();
        assert_eq!(minions.get("web1"), Some(&Value::List(expected.into())));
        let masters = Map::from([("m1", "t0"), ("m2", "t0")]);
        assert_eq!(merged.get("masters"), Some(&masters.into()));
        assert_eq!(history(vec!["refused".into()]), "refused".into());
    }

    #[test]
    fn what_others_knew_of_a_master_before_it_began_anew_is_not_lost() {
        let change = |at: &'static str, change: &'static str| {
            Value::from(Map::from([
                ("at", at),
                ("change", change),
                ("master", "m1"),
            ]))
        };
        let of = |master: &'static str, since: &'static str, changes: Vec<Value>| -> Value {
            let minions = Map::from([("web1", Value::List(changes))]);
            Map::from([
                ("master", Value::from(master)),
                ("since", since.into()),
                ("minions", minions.into()),
            ])
            .into()
        };
        let again = of("m1", "t5", vec![change("t6", "connected")]);
        let others = || {
            vec![
                change("t2", "connected"),
                change("t4", "disconnected"),
                change("t7", "connected"),
            ]
        };
        let merged = history(vec![
            again,
            of("m2", "t0", others()),
            of("m3", "t0", others()),
        ]);
        let expected = [
            change("t2", "connected"),
            change("t4", "disconnected"),
            change("t6", "connected"),
        ];
        let minions = merged.get("minions").unwrap();
        assert_eq!(minions.get("web1"), Some(&Value::List(expected.into())));
    }

    #[test]
    fn a_job_has_the_results_of_all_masters() {
        let job_of = |results: &[(&'static str, i64)]| -> Value {
            let results: Map = results
                .iter()
                .map(|(id, ret)| (Value::from(*id), Value::from(Map::from([("return", *ret)]))))
                .collect();
            Map::from([("jid", "1".into()), ("Result", Value::from(results))]).into()
        };
        let unknown = || Map::from([("Error", "no job")]).into();
        let merged = job(vec![
            unknown(),
            job_of(&[("web1", 1)]),
            job_of(&[("web1", 2), ("web2", 3)]),
        ]);
        assert_eq!(merged, job_of(&[("web1", 1), ("web2", 3)]));
        assert_eq!(job(vec![unknown(), unknown()]), unknown());
        assert_eq!(job(vec!["a text".into()]), "a text".into());
    }
}
