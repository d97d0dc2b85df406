//! Whatever a minion fires, it changes no result but its own, and the wait for
//! others becomes neither shorter nor longer.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::*;

const JID: &str = "20261120141841939742";
const QUESTION: &str = "20261120141846939742";
const EVIL: &str = "evil";
const OTHERS: [&str; 3] = ["a", "b", "evil2"];

/// An event of the evil minion, at a step of the honest course.
#[derive(Clone, Debug)]
struct Forged {
    step: usize,
    tag: String,
    data: Map,
}

/// Tags that a minion may cause: returns of its own, which the master fires, and tags
/// that resemble the master's.
fn tags() -> impl Strategy<Value = String> {
    let jid = prop_oneof![Just(JID), Just(QUESTION), Just("20261120141841939743")];
    let own = (jid.clone(), Just(EVIL)).prop_map(|(jid, id)| format!("salt/job/{jid}/ret/{id}"));
    let rest = "(prog|at|start|sub|ret/x|ret/evil|news|errors|new/x|error/x|x)/evil(/(0|ret/a))?";
    let near = (jid.clone(), rest).prop_map(|(jid, rest)| format!("salt/job/{jid}/{rest}"));
    let longer = (jid.clone(), "(0|_1|x)", "(new|error|ret/a|ret/evil)")
        .prop_map(|(jid, more, rest)| format!("salt/job/{jid}{more}/{rest}"));
    let others = prop_oneof![
        jid.prop_map(str::to_owned),
        Just(format!("salt/job/{JID}")),
        Just(format!("syndic/evil/{JID}")),
        "[a-z/]{0,20}",
    ];
    prop_oneof![4 => own, 2 => near, 2 => longer, 1 => others]
}

fn data() -> impl Strategy<Value = Map> {
    let ids = || vec(prop_oneof![Just("a"), Just("evil"), Just("nobody")], 0..3);
    let list = |ids: Vec<&str>| Value::from(ids.into_iter().map(Value::from).collect::<Vec<_>>());
    let value = prop_oneof![
        Just(Value::from(true)),
        Just(Value::Nil),
        Just(Value::from(Map::from([("jid", JID)]))),
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,5}".prop_map(Value::from),
        ids().prop_map(list),
    ];
    let name = prop_oneof![
        Just("id"),
        Just("resource_id"),
        Just("return"),
        Just("retcode"),
        Just("minions"),
        Just("missing"),
        Just("error"),
        Just("jid"),
        Just("out"),
        Just(NOTES),
    ];
    let id = prop_oneof![3 => Just(Value::from(EVIL)), 1 => Just(Value::from("a"))];
    (vec((name, value), 0..6), id).prop_map(|(fields, id)| {
        let mut data: Map = fields
            .into_iter()
            .map(|(name, value)| (Value::from(name), value))
            .collect();
        data.insert("id", id);
        data
    })
}

fn forged() -> impl Strategy<Value = Forged> {
    (0..6_usize, tags(), data()).prop_map(|(step, tag, data)| Forged { step, tag, data })
}

/// The reports about the others, with times, whether the evil minion is expected or not:
/// `a` returns, `b` works and returns late, `evil2` never does.
fn course(forgeries: &[Forged], is_expected: bool) -> Vec<(usize, Output)> {
    let start = Instant::now();
    let mut minions: Vec<String> = OTHERS.map(str::to_owned).to_vec();
    if is_expected {
        minions.push(EVIL.to_owned());
    }
    let options = CollectOptions {
        jid: Jid::parse(JID).unwrap(),
        minions,
        missing: vec!["gone".to_owned()],
        timeout: Duration::from_secs(5),
        gather_job_timeout: Duration::from_secs(10),
        syndic_wait: None,
    };
    let mut collector = Collector::new(start, options);
    let mut seen = Vec::new();
    for step in 0..9 {
        let now = start + Duration::from_secs(5 * step as u64);
        let honest = match step {
            0 => Some(("ret/a", JID, Value::from(true))),
            2 => Some(("ret/b", QUESTION, Map::from([("jid", JID)]).into())),
            3 => Some(("ret/b", JID, Value::from("late"))),
            _ => None,
        };
        match step {
            2 => collector.asked(now, Some(Jid::parse(QUESTION).unwrap())),
            5 => collector.asked(now, None),
            _ => {}
        }
        for forged in forgeries.iter().filter(|forged| forged.step == step) {
            collector.event(now, &forged.tag, &forged.data);
        }
        if let Some((rest, jid, value)) = honest {
            let id = rest.trim_start_matches("ret/");
            let data = Map::from([("id", Value::from(id)), ("return", value)]);
            collector.event(now, &format!("salt/job/{jid}/{rest}"), &data);
        }
        while let Some(output) = collector.poll(now) {
            seen.push((step, output));
        }
    }
    seen
}

/// Without what is the evil minion's own: its result, and its place among
/// those who are asked.
fn of_others(course: Vec<(usize, Output)>) -> Vec<(usize, Output)> {
    let others = course
        .into_iter()
        .filter_map(|(step, output)| match output {
            Output::Return(Return { ref id, .. }) | Output::Missing(ref id) if id == EVIL => None,
            Output::Ask(ids) => {
                let ids: Vec<String> = ids.into_iter().filter(|id| id != EVIL).collect();
                (!ids.is_empty()).then_some((step, Output::Ask(ids)))
            }
            output => Some((step, output)),
        });
    others.collect()
}

fn without_end(course: Vec<(usize, Output)>) -> Vec<(usize, Output)> {
    let is_result = |output: &Output| matches!(output, Output::Return(_) | Output::Refused);
    course
        .into_iter()
        .filter(|(_, output)| is_result(output))
        .collect()
}

proptest! {
    /// A minion outside the target changes nothing for others.
    #[test]
    fn a_stranger_to_the_job_changes_no_result_and_no_end(forged in vec(forged(), 0..40)) {
        prop_assert_eq!(of_others(course(&forged, false)), course(&[], false));
    }

    /// A targeted minion may be waited for as long as it works; the results of others
    /// stay the same.
    #[test]
    fn a_minion_of_the_job_changes_no_result_of_others(forged in vec(forged(), 0..40)) {
        let honest = without_end(of_others(course(&[], true)));
        prop_assert_eq!(without_end(of_others(course(&forged, true))), honest);
    }
}
