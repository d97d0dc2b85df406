//! Runs against a world of a few lines: no system is touched.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::chunk::Chunk;
use crate::low::LowOptions;

/// What a state of the pretended world does, by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Succeed,
    Change,
    Fail,
}

struct Known;

impl Functions for Known {
    fn state(&self, full: &str) -> Option<Rc<Parameters>> {
        let known = ["t.do", "t.mod_beacon", "t.mod_watch", "t.mod_init", "n.do"];
        known.contains(&full).then(|| {
            Rc::new(Parameters {
                required: vec!["name".to_owned()],
                optional: Vec::new(),
                any: full != "n.do",
            })
        })
    }

    fn has_execution(&self, fun: &str) -> bool {
        fun == "x.y"
    }
}

/// Answers effects and writes down what was asked for.
#[derive(Default)]
struct World {
    does: BTreeMap<String, Does>,
    asked: Vec<String>,
    beside: Vec<StateCall>,
    now: u64,
}

impl World {
    fn of(states: &[(&str, Does)]) -> Self {
        let own = |(name, does): &(&str, Does)| ((*name).to_owned(), *does);
        Self {
            does: states.iter().map(own).collect(),
            ..Self::default()
        }
    }

    fn result(&self, call: &StateCall) -> Map {
        let name = call.low.get("name").and_then(Value::as_str).unwrap_or("");
        let does = self.does.get(name).copied().unwrap_or(Does::Succeed);
        let changes = match (does, call.fun.as_str()) {
            (Does::Change, _) | (_, "t.mod_watch") => Map::from([("a", 1)]),
            _ => Map::new(),
        };
        let result = match does {
            Does::Fail => Value::Bool(false),
            Does::Change if call.test => Value::Nil,
            _ => Value::Bool(true),
        };
        Map::from([
            ("name", Value::from(name)),
            ("changes", changes.into()),
            ("result", result),
            ("comment", call.fun.as_str().into()),
        ])
    }

    fn answer(&mut self, effect: Effect) -> Reply {
        match effect {
            Effect::Call(call) => {
                let trial = if call.test { " (test)" } else { "" };
                let name = call.low.get("name").and_then(Value::as_str).unwrap_or("");
                self.asked.push(format!("{} {name}{trial}", call.fun));
                Reply::State(Ok(self.result(&call).into()))
            }
            Effect::Start(call) => {
                self.asked.push(format!("start {}", call.tag));
                self.beside.push(*call);
                Reply::Done
            }
            Effect::Collect { tags, .. } => {
                let (done, still) = std::mem::take(&mut self.beside)
                    .into_iter()
                    .partition(|call| tags.contains(&call.tag));
                self.beside = still;
                let done: Vec<StateCall> = done;
                Reply::Collected(
                    done.iter()
                        .map(|call| (call.tag.clone(), self.result(call)))
                        .collect(),
                )
            }
            Effect::Serve { fun, .. } => {
                self.asked.push(fun);
                Reply::State(Ok(true.into()))
            }
            Effect::Salt { fun, args, .. } => {
                let good = args.first().and_then(Value::as_str) == Some("true");
                let value = match fun.as_str() {
                    "cmd.retcode" => i64::from(!good).into(),
                    _ => Value::from("slotted"),
                };
                Reply::Salt(Ok(Returned { value, retcode: 0 }))
            }
            Effect::Exists(path) => Reply::Yes(path == "/"),
            Effect::Matches(_) => Reply::Yes(true),
            Effect::Sleep { seconds, .. } => {
                self.now += seconds * 1_000_000;
                self.asked.push(format!("sleep {seconds}"));
                Reply::Waited(seconds)
            }
            Effect::Refresh(_) => {
                self.asked.push("refresh".to_owned());
                Reply::Done
            }
            Effect::Fire { tag, .. } => {
                self.asked.push(tag);
                Reply::Done
            }
            Effect::Gate(_) => Reply::Gate(Gate::Open),
        }
    }

    /// Runs to the end; steps are counted so that no run hangs unseen.
    fn run(&mut self, mut chunks: Vec<Chunk>, options: RunOptions) -> Map {
        for (place, chunk) in chunks.iter_mut().enumerate() {
            chunk.set("order", 10_000 + place);
        }
        let low = Low::order(chunks, &low_options(&|_| true)).unwrap();
        let mut run = Run::new(low, options, Rc::new(Known));
        for _ in 0..100_000 {
            self.now += 1000;
            let now = Moment {
                unix_micros: self.now,
                utc_offset_seconds: 0,
            };
            match run.next(now) {
                Step::Do(effect) => {
                    let reply = self.answer(effect);
                    run.answer(reply);
                }
                Step::Waiting => panic!("the run waits for nothing"),
                Step::Done(results) => return results,
            }
        }
        panic!("the run does not end");
    }
}

fn low_options<'a>(has_state: &'a dyn Fn(&str) -> bool) -> LowOptions<'a> {
    LowOptions {
        disabled_requisites: &[],
        aggregate: &Value::Nil,
        disabled_states: &[],
        orchestration_jid: None,
        has_state,
    }
}

/// A chunk of `t.do`; `more` are further arguments.
fn chunk(name: &str, more: &[(&str, Value)]) -> Chunk {
    let mut chunk = Chunk::new(Map::from([
        ("state", "t"),
        ("fun", "do"),
        ("name", name),
        ("__id__", name),
        ("__sls__", "s"),
    ]));
    for (key, value) in more {
        chunk.set(key, value.clone());
    }
    chunk
}

fn on(names: &[&str]) -> Value {
    let one = |name: &&str| Map::from([("t", *name)]).into();
    Value::List(names.iter().map(one).collect())
}

fn field(results: &Map, name: &str, key: &str) -> Value {
    let tag = format!("t_|-{name}_|-{name}_|-do");
    results
        .get(&tag)
        .and_then(|record| record.get(key))
        .cloned()
        .unwrap_or_else(|| panic!("no {key} of {name} in {results:?}"))
}

fn run(states: &[(&str, Does)], chunks: Vec<Chunk>) -> (Map, Vec<String>) {
    let mut world = World::of(states);
    let results = world.run(chunks, RunOptions::default());
    let asked = world
        .asked
        .into_iter()
        .filter(|asked| asked != "t.mod_init");
    (results, asked.collect())
}

#[test]
fn a_failure_stops_what_requires_it() {
    let chunks = vec![
        chunk("bad", &[]),
        chunk("needs", &[("require", on(&["bad"]))]),
        chunk("any", &[("require_any", on(&["bad", "good"]))]),
        chunk("good", &[]),
    ];
    let (results, asked) = run(&[("bad", Does::Fail)], chunks);
    assert_eq!(asked, ["t.do bad", "t.do good", "t.do any"]);
    assert_eq!(
        field(&results, "needs", "comment"),
        "One or more requisite failed: s.bad".into()
    );
    assert_eq!(field(&results, "needs", "__state_ran__"), false.into());
    assert_eq!(field(&results, "any", "result"), true.into());
}

#[test]
fn changes_are_watched() {
    let chunks = vec![
        chunk("conf", &[]),
        chunk("svc", &[("watch", on(&["conf"]))]),
        chunk("idle", &[("watch", on(&["svc2"]))]),
        chunk("svc2", &[]),
    ];
    let (results, asked) = run(&[("conf", Does::Change)], chunks);
    assert_eq!(
        asked,
        [
            "t.do conf",
            "t.do svc",
            "t.mod_watch svc",
            "t.do svc2",
            "t.do idle"
        ]
    );
    assert_eq!(field(&results, "svc", "comment"), "t.mod_watch".into());
    assert_eq!(field(&results, "svc", "__run_num__"), 2.into());
}

#[test]
fn a_prereq_runs_before_what_would_change() {
    let chunks = vec![
        chunk("down", &[("prereq", on(&["deploy"]))]),
        chunk("deploy", &[]),
        chunk("unneeded", &[("prereq", on(&["still"]))]),
        chunk("still", &[]),
    ];
    let (results, asked) = run(&[("deploy", Does::Change)], chunks);
    assert_eq!(
        asked,
        [
            "t.do deploy (test)",
            "t.do down",
            "t.do deploy",
            "t.do still (test)",
            "t.do still"
        ]
    );
    assert_eq!(
        field(&results, "unneeded", "comment"),
        "No changes detected".into()
    );
}

#[test]
fn a_failed_prereq_leaves_the_result_of_the_trial() {
    let chunks = vec![
        chunk("down", &[("prereq", on(&["deploy"]))]),
        chunk("deploy", &[]),
    ];
    let (results, asked) = run(&[("deploy", Does::Change), ("down", Does::Fail)], chunks);
    assert_eq!(asked, ["t.do deploy (test)", "t.do down"]);
    assert_eq!(field(&results, "deploy", "result"), Value::Nil);
    assert_eq!(field(&results, "deploy", "changes"), Map::new().into());
}

#[test]
fn listeners_react_once_at_the_end() {
    let chunks = vec![
        chunk("svc", &[("listen", on(&["a", "b", "lost"]))]),
        chunk("a", &[("listen_in", on(&["late"]))]),
        chunk("b", &[]),
        chunk("late", &[]),
    ];
    let (results, asked) = run(&[("a", Does::Change), ("b", Does::Change)], chunks);
    assert_eq!(asked[4..], ["t.mod_watch svc", "t.mod_watch late"]);
    let lost = results
        .get("Listen_Error_|-listen_lost_|-listen_t_|-Listen_Error")
        .unwrap();
    assert_eq!(
        lost.get("comment"),
        Some(&"Referenced state t: lost does not exist".into())
    );
    assert!(results.contains_key("t_|-listener_svc_|-svc_|-mod_watch"));
}

#[test]
fn states_with_beacons_have_them_added_at_the_end() {
    let chunks = vec![
        chunk(
            "a",
            &[("beacon", true.into()), ("require", on(&["failed"]))],
        ),
        chunk("failed", &[("beacon", false.into())]),
        chunk("svc", &[("listen", on(&["b"]))]),
        chunk("b", &[]),
    ];
    let (results, asked) = run(&[("failed", Does::Fail), ("b", Does::Change)], chunks);
    assert_eq!(
        asked[3..],
        ["t.mod_watch svc", "t.mod_beacon failed", "t.mod_beacon a"]
    );
    assert!(results.contains_key("t_|-beacon_a_|-a_|-mod_beacon"));
}

#[test]
fn attempts_are_told_in_the_comment() {
    let retry = Map::from([("attempts", 3), ("interval", 7)]);
    let chunks = vec![chunk("bad", &[("retry", retry.into())])];
    let (results, asked) = run(&[("bad", Does::Fail)], chunks);
    assert_eq!(
        asked,
        ["t.do bad", "sleep 7", "t.do bad", "sleep 7", "t.do bad"]
    );
    let one = |n| {
        format!("Attempt {n}: Returned a result of \"False\", with the following comment: \"t.do\"")
    };
    assert_eq!(
        field(&results, "bad", "comment"),
        format!("{}\n{}\nt.do", one(1), one(2)).into()
    );
    assert_eq!(field(&results, "bad", "__run_num__"), 2.into());
    assert!(field(&results, "bad", "duration").as_f64().unwrap() >= 14_000.0);
}

#[test]
fn failhard_ends_the_run() {
    let chunks = vec![
        chunk("bad", &[("failhard", true.into())]),
        chunk("never", &[]),
    ];
    let (results, _) = run(&[("bad", Does::Fail)], chunks);
    assert_eq!(results.len(), 1);
}

#[test]
fn conditions_decide_before_the_call() {
    let yes = |key: &str, value: Value| chunk(key, &[(key, value)]);
    let chunks = vec![
        yes("onlyif", "false".into()),
        yes("unless", "true".into()),
        yes("creates", "/".into()),
        yes(
            "check_cmd",
            Value::List(vec!["true".into(), "false".into()]),
        ),
    ];
    let (results, asked) = run(&[], chunks);
    assert_eq!(asked, ["t.do check_cmd"]);
    assert_eq!(
        field(&results, "onlyif", "comment"),
        "onlyif condition is false".into()
    );
    assert_eq!(
        field(&results, "unless", "comment"),
        "unless condition is true".into()
    );
    assert_eq!(field(&results, "creates", "comment"), "/ exists".into());
    assert_eq!(field(&results, "creates", "skip_watch"), true.into());
    assert_eq!(field(&results, "check_cmd", "result"), false.into());
}

#[test]
fn parallel_states_are_waited_for_by_those_that_need_them() {
    let chunks = vec![
        chunk("p", &[("parallel", true.into())]),
        chunk("q", &[("parallel", true.into()), ("require", on(&["p"]))]),
        chunk("after", &[("require", on(&["q"]))]),
    ];
    let (results, _) = run(&[("p", Does::Change)], chunks);
    for name in ["p", "q"] {
        assert_eq!(field(&results, name, "__parallel__"), true.into());
        assert_eq!(field(&results, name, "result"), true.into());
    }
    assert_eq!(field(&results, "after", "result"), true.into());
}

#[test]
fn mistakes_of_a_chunk_are_its_result() {
    let mut unknown = chunk("unknown", &[]);
    unknown.set("fun", "nothing");
    let mut extra = chunk("extra", &[("bogus", 1.into())]);
    extra.set("state", "n");
    let mut world = World::of(&[]);
    let results = world.run(vec![unknown, extra], RunOptions::default());
    let comment = |tag: &str| results.get(tag).and_then(|r| r.get("comment")).cloned();
    assert_eq!(
        comment("t_|-unknown_|-unknown_|-nothing"),
        Some(
            "State 't.nothing' was not found in SLS 's'\nReason: 't.nothing' is not available.\n"
                .into()
        )
    );
    assert_eq!(
        comment("n_|-extra_|-extra_|-do"),
        Some("'bogus' is an invalid keyword argument for 'n.do'".into())
    );
}

#[test]
fn a_record_has_its_fields_in_salts_order() {
    let (results, _) = run(&[], vec![chunk("a", &[])]);
    let record = results.values().next().and_then(Value::as_map).unwrap();
    let keys: Vec<&str> = record.keys().filter_map(Value::as_str).collect();
    let expect = [
        "name",
        "changes",
        "result",
        "comment",
        "__sls__",
        "__run_num__",
        "start_time",
        "duration",
        "__id__",
    ];
    assert_eq!(keys, expect);
}

#[test]
fn slots_are_filled() {
    let slot = Value::from("__slot__:salt:x.y(a) ~ !");
    let mut low = Low::order(vec![chunk("a", &[("text", slot)])], &low_options(&|_| true)).unwrap();
    low.warnings.clear();
    let mut run = Run::new(low, RunOptions::default(), Rc::new(Known));
    let mut world = World::of(&[]);
    let call = loop {
        match run.next(Moment::default()) {
            Step::Do(Effect::Call(call)) => break call,
            Step::Do(effect) => run.answer(world.answer(effect)),
            step => panic!("{step:?}"),
        }
    };
    assert_eq!(call.kwargs.get("text"), Some(&"slotted!".into()));
    assert!(matches!(run.next(Moment::default()), Step::Waiting));
}

#[test]
fn aggregated_chunks_are_joined_once() {
    let low = LowOptions {
        aggregate: &Value::Bool(true),
        ..low_options(&|_| true)
    };
    let chunks = vec![
        chunk("a", &[]),
        chunk("b", &[]),
        chunk("c", &[("require", on(&["a"]))]),
    ];
    let low = Low::order(chunks, &low).unwrap();
    let mut run = Run::new(low, RunOptions::default(), Rc::new(Known));
    let mut world = World::of(&[]);
    let (mut joined, mut calls) = (Vec::new(), Vec::new());
    let results = loop {
        match run.next(Moment::default()) {
            Step::Do(Effect::Serve { fun, args, .. }) if fun == "t.mod_aggregate" => {
                let mut low = args[0].as_map().cloned().unwrap();
                let chunks = args[1].as_list().unwrap();
                let tags = chunks.iter().map(|low| {
                    let chunk = Chunk::new(low.as_map().cloned().unwrap());
                    Value::from(chunk.tag())
                });
                low.insert("pkgs", chunks.len());
                low.insert("__agg_tags__", Value::List(tags.collect()));
                joined.push(chunks.len());
                run.answer(Reply::State(Ok(low.into())));
            }
            Step::Do(Effect::Call(call)) => {
                calls.push(call.kwargs.get("pkgs").is_some());
                run.answer(world.answer(Effect::Call(call)));
            }
            Step::Do(effect) => {
                let reply = world.answer(effect);
                run.answer(reply);
            }
            Step::Done(results) => break results,
            Step::Waiting => panic!("it waits for nothing"),
        }
    };
    assert_eq!(results.len(), 3);
    // `c` depends on a member of the group and is in none.
    assert_eq!((joined, calls), (vec![2], vec![true, false, false]));
}

#[test]
fn a_long_chain_of_requisites_costs_no_stack() {
    let name = |n: usize| format!("n{n}");
    let mut chunks = vec![chunk("n0", &[])];
    for n in 1..3000 {
        chunks.push(chunk(&name(n), &[("require", on(&[&name(n - 1)]))]));
    }
    let low = Low::order(chunks, &low_options(&|_| true)).unwrap();
    let mut run = Run::of_id(low, &name(2999), RunOptions::default(), Rc::new(Known));
    let mut world = World::of(&[]);
    let results = loop {
        match run.next(Moment::default()) {
            Step::Do(effect) => {
                let reply = world.answer(effect);
                run.answer(reply);
            }
            Step::Done(results) => break results,
            Step::Waiting => panic!("it waits for nothing"),
        }
    };
    assert_eq!(results.len(), 3000);
}

const KINDS: [&str; 9] = [
    "require",
    "require_any",
    "watch",
    "onchanges",
    "onfail",
    "onfail_all",
    "prereq",
    "listen",
    "watch_any",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever requires whatever: every chunk gets one result.
    #[test]
    fn every_chunk_gets_one_result(
        does in prop::collection::vec(0_u8..3, 2..14),
        edges in prop::collection::vec((0_usize..14, 0_usize..14, 0_usize..9), 0..24),
        beside in prop::collection::vec(any::<bool>(), 14),
        test in any::<bool>(),
        most in 1_usize..4,
    ) {
        let count = does.len();
        let name = |n: usize| format!("s{n}");
        let mut chunks: Vec<Chunk> = (0..count).map(|n| chunk(&name(n), &[])).collect();
        for (from, to, kind) in edges {
            let (from, to) = (from % count, to % count);
            let key = KINDS[kind];
            let mut list = chunks[from].get(key).and_then(Value::as_list).unwrap_or_default().to_vec();
            list.push(Map::from([("t", name(to))]).into());
            chunks[from].set(key, Value::List(list));
        }
        for (n, chunk) in chunks.iter_mut().enumerate() {
            if beside[n] {
                chunk.set("parallel", true);
            }
        }
        // A cycle is refused before anything runs.
        if Low::order(chunks.clone(), &low_options(&|_| true)).is_ok() {
            let kinds = [Does::Succeed, Does::Change, Does::Fail];
            let mut world = World::default();
            for (n, does) in does.iter().enumerate() {
                world.does.insert(name(n), kinds[usize::from(*does)]);
            }
            let options = RunOptions { test, parallel_max: Some(most), ..RunOptions::default() };
            let results = world.run(chunks, options);
            for n in 0..count {
                field(&results, &name(n), "result");
            }
            let own = results.keys().filter(|tag| tag.as_str().is_some_and(|t| t.ends_with("_|-do")));
            prop_assert_eq!(own.count(), count);
            let mut numbers: Vec<i64> = results
                .values()
                .filter_map(|record| record.get("__run_num__")?.as_i64())
                .collect();
            numbers.sort_unstable();
            let before = numbers.len();
            numbers.dedup();
            prop_assert_eq!(before, numbers.len(), "numbers are given once");
        }
    }
}
