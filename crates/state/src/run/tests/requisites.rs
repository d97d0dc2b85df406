//! How states depend on the results of others.

use super::*;

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
fn failhard_ends_the_run() {
    let chunks = vec![
        chunk("bad", &[("failhard", true.into())]),
        chunk("never", &[]),
    ];
    let (results, _) = run(&[("bad", Does::Fail)], chunks);
    assert_eq!(results.len(), 1);
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
