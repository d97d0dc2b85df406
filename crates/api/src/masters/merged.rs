//! One answer of the answers of several masters about jobs.
//!
//! Pure. Invariant: what the first master says of a job stands; the others add what
//! it does not know.

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

/// One job: of the first master that knows it, with the results of all.
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
