//! The environment that functions share with the commands of their job.
#![allow(clippy::unwrap_used)]

use halite_call::{Job, run_function};
use halite_fake_minion::{FakeMinion, job, kwargs};
use halite_proto::{Map, Value};

const NAME: &str = "HALITE_ENVIRON_TEST";

#[test]
fn a_variable_lasts_as_long_as_its_job() {
    let minion = FakeMinion::new();
    let one = job("environ.setval");
    let run = |fun: &str, args: &[Value]| run_function(&minion, fun, args, &one).ret;
    let shown = |job: &Job| {
        let line = Value::from(format!("echo \"${{{NAME}-none}}\""));
        let args = [line, kwargs([("python_shell", true.into())])];
        run_function(&minion, "cmd.run", &args, job).ret
    };
    assert_eq!(
        run("environ.setval", &[NAME.into(), "x".into()]),
        "x".into()
    );
    assert_eq!(run("environ.get", &[NAME.into()]), "x".into());
    assert_eq!(
        run("environ.has_value", &[NAME.into(), "x".into()]),
        true.into()
    );
    assert_eq!(shown(&one), "x".into());
    assert_eq!(shown(&job("cmd.run")), "none".into());
    assert_eq!(
        run("environ.setval", &[NAME.into(), false.into()]),
        "".into()
    );
    assert_eq!(shown(&one), "".into());
    let unset = kwargs([("false_unsets", true.into())]);
    assert_eq!(
        run("environ.setval", &[NAME.into(), false.into(), unset]),
        Value::Nil
    );
    assert_eq!(shown(&one), "none".into());
    assert_eq!(
        run("environ.setval", &["".into(), "x".into()]),
        false.into()
    );
    assert_eq!(
        run("environ.setval", &[NAME.into(), 3.into()]),
        false.into()
    );
}

#[test]
fn several_are_set_at_once_and_others_cleared() {
    let minion = FakeMinion::new();
    let one = job("environ.setenv");
    let run = |fun: &str, args: &[Value]| run_function(&minion, fun, args, &one).ret;
    let wanted = Map::from([(NAME, Value::from("1"))]);
    let flags = kwargs([("clear_all", true.into()), ("false_unsets", true.into())]);
    let done = run("environ.setenv", &[wanted.clone().into(), flags]);
    assert_eq!(done.get(NAME), Some(&"1".into()));
    assert_eq!(done.get("PATH"), Some(&Value::Nil));
    assert_eq!(run("environ.items", &[]), wanted.into());
    let wrong = Map::from([(NAME, Value::from(1))]);
    assert_eq!(run("environ.setenv", &[wrong.into()]), false.into());
    assert_eq!(run("environ.setenv", &["x".into()]), false.into());
}
