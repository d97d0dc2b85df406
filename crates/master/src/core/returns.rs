//! What a return says beside its value: which states failed.
//!
//! Invariant: only `state.highstate` and `state.sls` report failed states one by
//! one, as in Salt; reactors rely on `state.apply` not doing so. The tag of such an
//! event is the name of a function, never one that a minion invented.

use halite_proto::returns::JobReturn;
use halite_proto::{Fun, Jid, Map, MinionId, Value};

const TELLING_FUNS: [&str; 2] = ["state.highstate", "state.sls"];

/// Events about failed states in one return; further ones are left out.
pub const FAILED_STATES_MAX: usize = 1000;

/// A state that failed, as two events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedState {
    /// The function that ran the states, part of the long tag.
    pub fun: String,
    /// `<module>.<function>` of the state, the short tag.
    pub state: String,
    /// Data of the short tag.
    pub short: Map,
    /// Data of the long tag `salt/job/<jid>/sub/<id>/error/<fun>`.
    pub long: Map,
}

/// The failed states in a return.
pub fn failed_states(job: &JobReturn, jid: &Jid, id: &MinionId) -> Vec<FailedState> {
    if job.retcode == 0 {
        return Vec::new();
    }
    let mut failed = Vec::new();
    for (n, fun) in job.fun.names().iter().enumerate() {
        if !TELLING_FUNS.contains(&fun.as_str()) {
            continue;
        }
        let Some((states, retcode)) = part_of(job, n, fun) else {
            continue;
        };
        for (tag, state) in states {
            let (Some(tag), Some(state)) = (tag.as_str(), state.as_map()) else {
                continue;
            };
            if state.get("result") != Some(&Value::Bool(false)) {
                continue;
            }
            if failed.len() == FAILED_STATES_MAX {
                return failed;
            }
            // In a return it is the minion's to choose what the states are
            // called, and what an event is called is what others trust.
            let one = describe(job, jid, id, fun, tag, state, &retcode);
            if Fun::parse(one.state.as_str()).is_ok() {
                failed.push(one);
            }
        }
    }
    failed
}

/// The states that one function of the job ran, and its return code.
fn part_of<'a>(job: &'a JobReturn, n: usize, fun: &str) -> Option<(&'a Map, Value)> {
    let Some(several) = &job.several else {
        return Some((job.ret.as_map()?, job.retcode.into()));
    };
    let part = |whole: &'a Value| match whole {
        Value::Map(map) => map.get(fun),
        Value::List(list) => list.get(n),
        _ => None,
    };
    let retcode = match &several.retcodes {
        Value::Map(map) => map.get(fun),
        Value::List(list) => list.get(n),
        _ => None,
    };
    let retcode = retcode.filter(|code| code.is_true())?.clone();
    Some((part(&job.ret)?.as_map()?, retcode))
}

fn describe(
    job: &JobReturn,
    jid: &Jid,
    id: &MinionId,
    fun: &str,
    tag: &str,
    state: &Map,
    retcode: &Value,
) -> FailedState {
    const SEPARATOR: &str = "_|-";
    let module = tag.split(SEPARATOR).next().unwrap_or_default();
    let function = tag.rsplit(SEPARATOR).next().unwrap_or_default();
    let name = format!("{module}.{function}");
    let mut short = state.clone();
    short.insert("retcode", retcode.clone());
    let mut long = short.clone();
    long.insert("jid", jid);
    long.insert("id", id);
    long.insert("success", false);
    long.insert("return", format!("Error: {name}"));
    long.insert("fun", fun);
    if let Some(user) = &job.user {
        long.insert("user", user.as_str());
    }
    FailedState {
        fun: fun.to_owned(),
        state: name,
        short,
        long,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(fun: &str, retcode: i64) -> JobReturn {
        let state = |result: bool| Value::from(Map::from([("result", result)]));
        let states = Map::from([
            ("file_|-a_|-/tmp/a_|-managed", state(true)),
            ("pkg_|-b_|-b_|-installed", state(false)),
        ]);
        JobReturn::from_map(Map::from([
            ("jid", Value::from("20261120141841939742")),
            ("fun", fun.into()),
            ("return", states.into()),
            ("retcode", retcode.into()),
        ]))
        .unwrap()
    }

    fn names(job: &JobReturn) -> Vec<String> {
        let jid = Jid::parse("20261120141841939742").unwrap();
        let id = MinionId::parse("web1").unwrap();
        failed_states(job, &jid, &id)
            .into_iter()
            .map(|failed| failed.state)
            .collect()
    }

    #[test]
    fn each_failed_state_is_told() {
        assert_eq!(names(&job("state.sls", 2)), ["pkg.installed"]);
        assert_eq!(names(&job("state.highstate", 2)), ["pkg.installed"]);
    }

    #[test]
    fn other_functions_and_good_returns_tell_nothing() {
        assert!(names(&job("state.apply", 2)).is_empty());
        assert!(names(&job("state.sls", 0)).is_empty());
        let mut odd = job("state.sls", 1);
        odd.ret = Value::List(vec!["Rendering SLS failed".into()]);
        assert!(names(&odd).is_empty());
    }

    #[test]
    fn a_state_cannot_be_called_as_an_event_of_somebody_else() {
        let mut evil = job("state.sls", 2);
        let state = Value::from(Map::from([("result", false)]));
        let names_of_states = [
            "salt/minion/web2_|-a_|-b_|-/start",
            "salt/key_|-a_|-b_|-x",
            "a\n\nb_|-a_|-b_|-x",
            "pkg_|-a_|-b_|-removed",
        ];
        let states = names_of_states.map(|name| (name, state.clone()));
        evil.ret = Map::from(states).into();
        assert_eq!(names(&evil), ["pkg.removed"]);
    }

    #[test]
    fn a_function_among_several_has_its_part() {
        let one = job("state.sls", 2);
        let several = JobReturn::from_map(Map::from([
            ("jid", Value::from("20261120141841939742")),
            (
                "fun",
                Value::List(vec!["test.ping".into(), "state.sls".into()]),
            ),
            (
                "return",
                Map::from([("test.ping", true.into()), ("state.sls", one.ret)]).into(),
            ),
            (
                "retcode",
                Map::from([("test.ping", 0), ("state.sls", 2)]).into(),
            ),
        ]))
        .unwrap();
        assert_eq!(names(&several), ["pkg.installed"]);
    }
}
