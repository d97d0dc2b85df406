//! The schedule under virtual time: which jobs run, when, how often.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use halite_proto::{Map, Value};
use halite_schedule::strptime::strptime;
use halite_schedule::{Due, Local, Now, Table};

/// A Friday.
const START: &str = "2026-11-20T16:02:03";

struct Sim {
    table: Table,
    started: Local,
    steady: Duration,
}

fn yaml(text: &str) -> Map {
    // The tests are written in JSON, which needs no other crate's YAML.
    fn value(text: &serde_json::Value) -> Value {
        match text {
            serde_json::Value::Null => Value::Nil,
            serde_json::Value::Bool(flag) => (*flag).into(),
            serde_json::Value::Number(number) => number.as_i64().unwrap().into(),
            serde_json::Value::String(text) => text.as_str().into(),
            serde_json::Value::Array(items) => Value::List(items.iter().map(value).collect()),
            serde_json::Value::Object(map) => Value::Map(
                map.iter()
                    .map(|(key, item)| (key.as_str(), value(item)))
                    .collect(),
            ),
        }
    }
    match value(&serde_json::from_str(text).unwrap()) {
        Value::Map(map) => map,
        other => panic!("{other:?}"),
    }
}

impl Sim {
    fn new(schedule: &str) -> Self {
        Self {
            table: Table::new(&yaml(schedule), 7),
            started: strptime(START, "%Y-%m-%dT%H:%M:%S").unwrap(),
            steady: Duration::from_secs(1000),
        }
    }

    fn now(&self) -> Now {
        let gone = self.steady - Duration::from_secs(1000);
        Now {
            local: Local(self.started.0 + i64::try_from(gone.as_millis()).unwrap()),
            steady: self.steady,
        }
    }

    /// Lets time pass; what ran, as `time name`. Jobs end at once.
    fn run_for(&mut self, seconds: u64) -> Vec<String> {
        self.run(seconds, true)
    }

    fn run(&mut self, seconds: u64, they_end: bool) -> Vec<String> {
        let end = self.steady + Duration::from_secs(seconds);
        let mut ran = Vec::new();
        let mut looks = 0;
        loop {
            looks += 1;
            assert!(looks < 100_000, "it looks too often");
            let now = self.now();
            for due in self.table.poll(now) {
                ran.push(format!("{} {}", &now.local.to_string()[5..], due.name));
                if they_end {
                    self.table.finished(&due.name);
                }
            }
            let wait = self.table.next_timeout(self.now()).unwrap_or(Duration::MAX);
            let next = self
                .steady
                .saturating_add(wait.max(Duration::from_millis(1)));
            if next > end {
                self.steady = end;
                return ran;
            }
            self.steady = next;
        }
    }

    fn manage(&mut self, request: &str) -> (Option<Due>, Map) {
        let managed = self.table.manage(&yaml(request), self.now());
        let answer = managed.answer.map(|(_, answer)| answer);
        (managed.run, answer.unwrap_or_default())
    }

    fn status(&self, name: &str, key: &str) -> String {
        let status = self.table.status(name, self.now());
        let value = status.get(key).cloned().unwrap_or(Value::Nil);
        value
            .as_str()
            .map_or_else(|| format!("{value:?}"), str::to_owned)
    }
}

#[test]
fn an_interval_runs_at_the_start_and_then_every_so_often() {
    let mut sim = Sim::new(r#"{"j": {"function": "test.ping", "seconds": 20}}"#);
    assert_eq!(
        sim.run_for(45),
        ["11-20T16:02:03 j", "11-20T16:02:23 j", "11-20T16:02:43 j"]
    );
    assert_eq!(sim.status("j", "_next_fire_time"), "2026-11-20T16:03:03");
    assert_eq!(sim.status("j", "_last_run"), "2026-11-20T16:02:43");
    let mut sim =
        Sim::new(r#"{"j": {"function": "test.ping", "minutes": 1, "run_on_start": false}}"#);
    assert_eq!(sim.run_for(65), ["11-20T16:03:03 j"]);
}

#[test]
fn moments_of_the_day_the_week_and_the_calendar_are_kept() {
    let mut sim = Sim::new(
        r#"{"tea": {"function": "test.ping", "when": ["4:30pm", "Monday 8am"]},
            "cron": {"function": "test.ping", "cron": "0 */12 * * *"},
            "once": {"function": "test.ping", "once": "2026-11-21T01:00:00"},
            "past": {"function": "test.ping", "once": "2026-11-20T01:00:00"}}"#,
    );
    assert_eq!(
        sim.run_for(3 * 86_400),
        [
            "11-20T16:30:00 tea",
            "11-21T00:00:00 cron",
            "11-21T01:00:00 once",
            "11-21T12:00:00 cron",
            "11-21T16:30:00 tea",
            "11-22T00:00:00 cron",
            "11-22T12:00:00 cron",
            "11-22T16:30:00 tea",
            "11-23T00:00:00 cron",
            "11-23T08:00:00 tea",
            "11-23T12:00:00 cron",
        ]
    );
    assert_eq!(sim.status("past", "_skip_reason"), "late");
}

#[test]
fn a_machine_that_slept_does_not_catch_up_on_moments_long_past() {
    let mut sim = Sim::new(
        r#"{"tea": {"function": "test.ping", "when": "4:30pm"},
            "every": {"function": "test.ping", "minutes": 1, "run_on_start": false},
            "cron": {"function": "test.ping", "cron": "*/10 * * * *"}}"#,
    );
    assert_eq!(sim.run_for(10).len(), 0);
    sim.steady += Duration::from_secs(3600);
    let ran = sim.run_for(1);
    assert_eq!(ran, ["11-20T17:02:13 every", "11-20T17:02:13 cron"]);
}

#[test]
fn a_splay_comes_on_top_and_within_its_bounds() {
    let mut sim = Sim::new(
        r#"{"j": {"function": "test.ping", "seconds": 60, "run_on_start": false,
                  "splay": {"start": 10, "end": 15}},
            "splay": 3, "k": {"function": "test.ping", "seconds": 60, "run_on_start": false}}"#,
    );
    let ran = sim.run_for(80);
    assert_eq!(ran.len(), 2, "{ran:?}");
    let second = |line: &str| line[12..14].parse::<u32>().unwrap();
    assert!(
        ran[0].ends_with('k') && (4..=6).contains(&second(&ran[0])),
        "{ran:?}"
    );
    assert!(
        ran[1].ends_with('j') && (13..=18).contains(&second(&ran[1])),
        "{ran:?}"
    );
}

#[test]
fn ranges_bound_when_a_job_may_run() {
    let mut sim = Sim::new(
        r#"{"in": {"function": "a.b", "minutes": 10, "run_on_start": false,
                   "range": {"start": "4:20pm", "end": "4:40pm"}},
            "out": {"function": "a.b", "minutes": 10, "run_on_start": false,
                    "range": {"start": "4:00pm", "end": "4:40pm", "invert": true}},
            "skip": {"function": "a.b", "minutes": 15, "run_on_start": false,
                     "skip_during_range": {"start": "4:15pm", "end": "4:25pm"}}}"#,
    );
    assert_eq!(
        sim.run_for(3000),
        [
            "11-20T16:20:00 in",
            "11-20T16:30:00 in",
            "11-20T16:32:03 skip",
            "11-20T16:40:00 in",
            "11-20T16:40:00 out",
            "11-20T16:47:03 skip",
            "11-20T16:50:00 out",
        ]
    );
    assert_eq!(sim.status("in", "_skip_reason"), "not_in_range");
}

#[test]
fn a_job_may_run_as_soon_as_its_skip_range_is_over() {
    let mut sim = Sim::new(
        r#"{"j": {"function": "a.b", "minutes": 15, "run_on_start": false,
                  "skip_during_range": {"start": "4:15pm", "end": "4:25pm"},
                  "run_after_skip_range": true},
            "skip_function": "test.nop",
            "k": {"function": "a.b", "minutes": 15, "run_on_start": false,
                  "skip_during_range": {"start": "4:15pm", "end": "4:25pm"}}}"#,
    );
    sim.run_for(895);
    sim.steady += Duration::from_secs(5);
    let due = sim.table.poll(sim.now());
    assert_eq!(due.len(), 1);
    assert_eq!(
        (due[0].name.as_str(), due[0].function.as_str()),
        ("k", "test.nop")
    );
    sim.table.finished("k");
    assert_eq!(sim.run_for(600), ["11-20T16:25:01 j"]);
}

#[test]
fn until_and_after_bound_a_job() {
    let mut sim = Sim::new(
        r#"{"u": {"function": "a.b", "minutes": 1, "until": "2026-11-20 16:04"},
            "a": {"function": "a.b", "minutes": 1, "run_on_start": false,
                  "after": "2026-11-20 16:05"}}"#,
    );
    assert_eq!(
        sim.run_for(200),
        ["11-20T16:02:03 u", "11-20T16:03:03 u", "11-20T16:05:03 a"]
    );
}

#[test]
fn no_more_run_at_once_than_may() {
    let mut sim = Sim::new(
        r#"{"one": {"function": "a.b", "seconds": 10},
            "two": {"function": "a.b", "seconds": 10, "maxrunning": 2},
            "all": {"function": "a.b", "seconds": 10, "jid_include": false}}"#,
    );
    let ran = sim.run(35, false);
    let times = |name: &str| ran.iter().filter(|line| line.ends_with(name)).count();
    assert_eq!((times("one"), times("two"), times("all")), (1, 2, 4));
    assert_eq!(sim.status("one", "_skip_reason"), "maxrunning");
    sim.table.finished("one");
    assert!(sim.run_for(10).iter().any(|line| line.ends_with("one")));
}

#[test]
fn jobs_are_added_changed_and_taken_away_while_it_runs() {
    let mut sim = Sim::new("{}");
    assert_eq!(sim.table.next_timeout(sim.now()), None);
    let (_, answer) = sim.manage(
        r#"{"func": "add", "name": "j", "schedule": {"j": {"function": "a.b", "seconds": 10}}}"#,
    );
    assert!(answer.get("schedule").unwrap().get("j").is_some());
    assert_eq!(sim.run_for(15).len(), 2);
    sim.manage(r#"{"func": "disable_job", "name": "j"}"#);
    assert_eq!(sim.run_for(30).len(), 0);
    assert_eq!(sim.status("j", "_skip_reason"), "disabled");
    let (run, _) = sim.manage(r#"{"func": "run_job", "name": "j"}"#);
    assert_eq!(run.unwrap().function, "a.b");
    sim.table.finished("j");
    sim.manage(r#"{"func": "enable_job", "name": "j"}"#);
    assert_eq!(sim.run_for(10).len(), 1, "it starts no second time");
    sim.manage(
        r#"{"func": "modify", "name": "j", "schedule":
            {"function": "a.c", "seconds": 30, "run_on_start": false}}"#,
    );
    assert_eq!(sim.run_for(31).len(), 1);
    sim.manage(r#"{"func": "disable"}"#);
    assert_eq!(sim.run_for(100).len(), 0);
    assert_eq!(
        sim.table.to_save().get("enabled"),
        Some(&Value::Bool(false))
    );
    sim.manage(r#"{"func": "enable"}"#);
    sim.manage(r#"{"func": "delete", "name": "j"}"#);
    assert_eq!(sim.run_for(100).len(), 0);
    assert!(sim.table.schedule().get("j").is_none());
}

#[test]
fn a_moment_can_be_skipped_or_put_off() {
    let mut sim = Sim::new(r#"{"j": {"function": "a.b", "cron": "*/10 * * * *"}}"#);
    sim.manage(r#"{"func": "skip_job", "name": "j", "time": "2026-11-20T16:10:00"}"#);
    sim.manage(
        r#"{"func": "postpone_job", "name": "j", "time": "2026-11-20T16:20:00",
            "new_time": "2026-11-20T16:25:00"}"#,
    );
    assert_eq!(sim.run_for(1800), ["11-20T16:25:00 j", "11-20T16:30:00 j"]);
}

/// One turn is skipped, not those that are near it.
#[test]
fn one_turn_of_a_short_interval_can_be_skipped_or_put_off() {
    let mut sim = Sim::new(r#"{"j": {"function": "a.b", "seconds": 4, "run_on_start": false}}"#);
    sim.manage(r#"{"func": "skip_job", "name": "j", "time": "2026-11-20T16:02:07"}"#);
    sim.manage(
        r#"{"func": "postpone_job", "name": "j", "time": "2026-11-20T16:02:15",
            "new_time": "2026-11-20T16:02:17"}"#,
    );
    assert_eq!(
        sim.run_for(19),
        ["11-20T16:02:11 j", "11-20T16:02:17 j", "11-20T16:02:21 j"]
    );
}

#[test]
fn the_pillar_adds_jobs_that_cannot_be_changed_here() {
    let mut sim = Sim::new(r#"{"own": {"function": "a.b", "seconds": 10}}"#);
    let pillar = yaml(
        r#"{"schedule": {"p": {"function": "a.p", "when": "tea"}, "own": {"function": "x.y"}},
            "whens": {"tea": "4:30pm"}}"#,
    );
    sim.table.set_pillar(&pillar, &Map::new());
    sim.manage(r#"{"func": "delete", "name": "p"}"#);
    sim.manage(r#"{"func": "disable_job", "name": "p"}"#);
    let ran = sim.run_for(1700);
    assert_eq!(ran.iter().filter(|line| line.ends_with(" p")).count(), 1);
    assert_eq!(
        sim.status("own", "function"),
        "a.b",
        "the configuration wins"
    );
    assert!(!sim.table.to_save().contains_key("p"));
    sim.table.set_pillar(&Map::new(), &Map::new());
    sim.run_for(10);
    assert!(sim.table.schedule().get("p").is_none());
}

#[test]
fn a_job_that_cannot_be_meant_is_said_and_costs_no_other() {
    let mut sim = Sim::new(
        r#"{"bad": {"function": "a.b", "cron": "x"}, "worse": "no map",
            "__mine_interval": {"function": "mine.update", "minutes": 60},
            "good": {"function": "a.b", "seconds": 30}}"#,
    );
    assert_eq!(sim.run_for(10), ["11-20T16:02:03 good"]);
    assert_eq!(
        sim.status("bad", "_error"),
        "Invalid cron string. Ignoring job bad."
    );
}
