//! Runs against each other and from outside: turns, queues, kills, pauses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use halite_call::{Cancel, Job, Outcome, run_function};
use halite_proto::{Map, Value};

use crate::local_minion::LocalMinion;

/// How long anything may take before a test gives up.
const DEADLINE: Duration = Duration::from_secs(60);

/// A minion in a directory of its own.
struct Place {
    dir: tempfile::TempDir,
    minion: LocalMinion,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let minion = LocalMinion::laid_out(dir.path(), ("os", "Debian"));
        Self { dir, minion }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A state that says that it runs and goes on when it may.
    fn gated(&self) -> Vec<Value> {
        let (ran, may) = (self.path().join("ran"), self.path().join("may"));
        let command = format!(
            "echo $$ > {}; while [ ! -e {} ]; do sleep 0.02; done",
            ran.display(),
            may.display()
        );
        vec!["cmd.run".into(), command.into()]
    }

    fn wait_for(&self, name: &str) {
        let begun = Instant::now();
        let path = self.path().join(name);
        while !std::fs::read(&path).is_ok_and(|text| !text.is_empty()) {
            assert!(begun.elapsed() < DEADLINE, "{name} did not come");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn open(&self) {
        std::fs::write(self.path().join("may"), "x").unwrap();
    }

    fn run(&self, jid: &str, cancel: Cancel, fun: &str, args: &[Value]) -> Outcome {
        let load = Map::from([("jid", jid), ("fun", fun)]);
        let job = Job {
            load,
            cancel,
            ..Job::default()
        };
        run_function(&self.minion.context, fun, args, &job)
    }

    fn nop(&self, jid: &str, more: &[(&str, Value)]) -> Outcome {
        let mut keywords = Map::from([("__kwarg__", Value::Bool(true))]);
        for (key, value) in more {
            keywords.insert(*key, value.clone());
        }
        let args = ["test.nop".into(), "x".into(), keywords.into()];
        self.run(jid, Cancel::default(), "state.single", &args)
    }
}

fn jid(number: u8) -> String {
    format!("202601010000000000{number:02}")
}

fn soon(results: &Receiver<Outcome>) -> Outcome {
    results.recv_timeout(DEADLINE).unwrap()
}

#[test]
fn a_second_run_is_refused_queued_or_let_in() {
    let place = Place::new();
    let (sender, results) = channel();
    thread::scope(|threads| {
        threads.spawn(|| {
            let args = place.gated();
            sender
                .send(place.run(&jid(1), Cancel::default(), "state.single", &args))
                .unwrap();
        });
        place.wait_for("ran");
        let refused = place.nop(&jid(2), &[]);
        assert_eq!(refused.retcode, 1);
        let said = refused.ret.as_list().unwrap()[0].as_str().unwrap();
        let begins = "The function \"state.single\" is running as PID ";
        assert!(said.starts_with(begins), "{said}");
        assert!(said.ends_with(&format!("with jid {}", jid(1))), "{said}");
        assert_eq!(
            place.nop(&jid(3), &[("concurrent", true.into())]).retcode,
            0
        );

        let (queued_sender, queued) = channel();
        let place = &place;
        threads.spawn(move || {
            queued_sender
                .send(place.nop(&jid(4), &[("queue", true.into())]))
                .unwrap();
        });
        assert!(queued.try_recv().is_err(), "the queued run did not wait");
        place.open();
        assert_eq!(soon(&results).retcode, 0);
        assert_eq!(soon(&queued).retcode, 0);
    });
    assert_eq!(place.nop(&jid(5), &[]).retcode, 0);
}

#[test]
fn of_runs_that_begin_together_one_goes_on() {
    let place = Place::new();
    let (sender, results) = channel();
    thread::scope(|threads| {
        for number in 1..=6 {
            let (place, sender) = (&place, sender.clone());
            threads.spawn(move || {
                let args = place.gated();
                sender
                    .send(place.run(&jid(number), Cancel::default(), "state.single", &args))
                    .unwrap();
            });
        }
        let refused = (0..5).filter(|_| soon(&results).retcode == 1).count();
        assert_eq!(refused, 5);
        place.wait_for("ran");
        place.open();
        assert_eq!(soon(&results).retcode, 0);
    });
}

#[test]
fn a_killed_run_ends_with_its_commands() {
    let place = Place::new();
    let cancel = Cancel::default();
    let (sender, results) = channel();
    thread::scope(|threads| {
        let (place, other) = (&place, cancel.clone());
        threads.spawn(move || {
            let args = place.gated();
            sender
                .send(place.run(&jid(1), other, "state.single", &args))
                .unwrap();
        });
        place.wait_for("ran");
        cancel.signal(9);
        let outcome = soon(&results);
        assert!(!outcome.success);
        assert!(
            outcome.ret.as_str().unwrap().contains("ended by signal 9"),
            "{outcome:?}"
        );
    });
    let child = std::fs::read_to_string(place.path().join("ran")).unwrap();
    let begun = Instant::now();
    while Path::new("/proc").join(child.trim()).exists() {
        assert!(begun.elapsed() < DEADLINE, "the command goes on");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(place.nop(&jid(2), &[]).retcode, 0);
}

#[test]
fn a_run_is_paused_and_ended_softly() {
    let place = Place::new();
    let sls = format!(
        "first:\n  cmd.run:\n    - name: {}\nsecond: test.nop\nthird: test.nop\n",
        serde_json::to_string(place.gated()[1].as_str().unwrap()).unwrap()
    );
    std::fs::write(place.path().join("srv/steps.sls"), sls).unwrap();
    let (sender, results) = channel();
    thread::scope(|threads| {
        let place = &place;
        threads.spawn(move || {
            let args = ["steps".into()];
            sender
                .send(place.run(&jid(1), Cancel::default(), "state.sls", &args))
                .unwrap();
        });
        place.wait_for("ran");
        let end = [jid(1).into(), "third".into()];
        place.run(&jid(2), Cancel::default(), "state.soft_kill", &end);
        place.open();
        let outcome = soon(&results);
        let run = outcome.ret.as_map().unwrap();
        let ids: Vec<&str> = run
            .values()
            .filter_map(|record| record.get("__id__")?.as_str())
            .collect();
        assert_eq!(ids, ["first", "second"]);
    });
    let left = place.path().join("var/cache/salt/minion/state_pause");
    let left = std::fs::read_dir(left).map_or(0, Iterator::count);
    assert_eq!(left, 0, "the pause outlives its run");
}

#[test]
fn a_cleaned_directory_keeps_what_it_requires_by_id() {
    let place = Place::new();
    let dir = place.path().join("d");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("stray"), "x").unwrap();
    let sls = format!(
        "kept:\n  file.managed:\n    - name: {dir}/kept\n    - contents: hello\n\
         whole:\n  file.directory:\n    - name: {dir}\n    - clean: true\n    - require:\n      - file: kept\n",
        dir = dir.display()
    );
    std::fs::write(place.path().join("srv/clean.sls"), sls).unwrap();
    let outcome = run_function(
        &place.minion.context,
        "state.apply",
        &["clean".into()],
        &Job::default(),
    );
    assert_eq!(outcome.retcode, 0, "{:?}", outcome.ret);
    assert!(dir.join("kept").exists());
    assert!(!dir.join("stray").exists());
}
