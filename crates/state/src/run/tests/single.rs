//! One state: whether and how it is called, and the record of it.

use super::*;
use crate::chunk::TAKEN;

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
fn mistakes_of_a_chunk_are_its_result() {
    let mut unknown = chunk("unknown", &[]);
    unknown.set("fun", "nothing");
    let mut extra = chunk("extra", &[("bogus", 1.into())]);
    extra.set("state", "n");
    let mut machine = FakeMachine::of(&[]);
    let results = machine.run(vec![unknown, extra], RunOptions::default());
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
    let mut machine = FakeMachine::of(&[]);
    let call = loop {
        match run.next(Moment::default()) {
            Step::Do(Effect::Call(call)) => break call,
            Step::Do(effect) => run.answer(machine.answer(effect)),
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
    let mut machine = FakeMachine::of(&[]);
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
                low.insert(TAKEN, Value::List(tags.collect()));
                joined.push(chunks.len());
                run.answer(Reply::State(Ok(low.into())));
            }
            Step::Do(Effect::Call(call)) => {
                calls.push(call.kwargs.get("pkgs").is_some());
                run.answer(machine.answer(Effect::Call(call)));
            }
            Step::Do(effect) => {
                let reply = machine.answer(effect);
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
