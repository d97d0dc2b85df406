//! Graphs of any shape and depth.

use proptest::prelude::*;

use super::*;

#[test]
fn a_long_chain_of_requisites_costs_no_stack() {
    let name = |n: usize| format!("n{n}");
    let mut chunks = vec![chunk("n0", &[])];
    for n in 1..3000 {
        chunks.push(chunk(&name(n), &[("require", on(&[&name(n - 1)]))]));
    }
    let low = Low::order(chunks, &low_options(&|_| true)).unwrap();
    let mut run = Run::of_id(low, &name(2999), RunOptions::default(), Rc::new(Known));
    let mut machine = FakeMachine::of(&[]);
    let results = loop {
        match run.next(Moment::default()) {
            Step::Do(effect) => {
                let reply = machine.answer(effect);
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
            let mut machine = FakeMachine::default();
            for (n, does) in does.iter().enumerate() {
                machine.does.insert(name(n), kinds[usize::from(*does)]);
            }
            let options = RunOptions { test, parallel_max: Some(most), ..RunOptions::default() };
            let results = machine.run(chunks, options);
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
