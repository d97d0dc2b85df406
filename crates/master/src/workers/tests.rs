//! Lanes, their bounds and their ends.

use std::sync::mpsc::{self, Receiver, Sender};

use super::*;

impl Work for (usize, &'static str) {
    fn bytes(&self) -> usize {
        self.0
    }

    fn origin(&self) -> Origin {
        match self.1 {
            "of another" => Origin::of(Some([10, 0, 0, 1].into())),
            _ => Origin::Local,
        }
    }
}

const LIMITS: LaneLimits = LaneLimits {
    threads: 1,
    gives_way: false,
    busy_per_origin_max: usize::MAX,
    waiting_max: 3,
    bytes_max: 100,
    wait_max: Duration::from_secs(60),
};

const PATIENCE: Duration = Duration::from_secs(20);

struct Setup {
    workers: Workers<(usize, &'static str)>,
    gate: Sender<()>,
    done: Receiver<&'static str>,
}

fn setup(limits: LaneLimits) -> Setup {
    let (gate, gated) = mpsc::channel::<()>();
    let (told, done) = mpsc::channel();
    let late = told.clone();
    let gated = Mutex::new(gated);
    let workers = Workers::start(
        "test",
        limits,
        move |(_, name)| {
            if name == "panic" {
                panic!("as asked");
            }
            told.send(name).unwrap();
            if name == "blocks" {
                gated.lock().unwrap().recv().unwrap();
            }
        },
        move |_| late.send("late").unwrap(),
    )
    .unwrap();
    Setup {
        workers,
        gate,
        done,
    }
}

#[test]
fn one_sender_keeps_so_many_threads_busy() {
    let test = setup(LaneLimits {
        threads: 2,
        busy_per_origin_max: 1,
        ..LIMITS
    });
    test.workers.submit((1, "blocks")).unwrap();
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("blocks"));
    test.workers.submit((1, "behind it")).unwrap();
    test.workers.submit((1, "of another")).unwrap();
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("of another"));
    test.gate.send(()).unwrap();
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("behind it"));
    assert!(test.workers.drain(Instant::now() + PATIENCE));
}

#[test]
fn a_full_lane_refuses_and_then_takes_again() {
    let test = setup(LIMITS);
    test.workers.submit((1, "blocks")).unwrap();
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("blocks"));
    test.workers.submit((90, "a")).unwrap();
    assert_eq!(test.workers.submit((11, "too many bytes")), Err(NoRoom));
    test.workers.submit((5, "b")).unwrap();
    test.workers.submit((5, "c")).unwrap();
    assert_eq!(test.workers.submit((0, "too many")), Err(NoRoom));
    test.gate.send(()).unwrap();
    for name in ["a", "b", "c"] {
        assert_eq!(test.done.recv_timeout(PATIENCE), Ok(name));
    }
    test.workers.submit((200, "large but alone")).unwrap();
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("large but alone"));
}

#[test]
fn who_fills_a_lane_gives_way_to_others() {
    let test = setup(LIMITS);
    test.workers.submit((1, "blocks")).unwrap();
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("blocks"));
    for name in ["a", "b", "c"] {
        assert_eq!(test.workers.submit((1, name)), Ok(0));
    }
    assert_eq!(test.workers.submit((1, "of another")), Ok(1));
    test.gate.send(()).unwrap();
    for name in ["a", "of another", "b"] {
        assert_eq!(test.done.recv_timeout(PATIENCE), Ok(name));
    }
}

#[test]
fn who_is_preferred_has_room_in_a_lane_that_its_own_sender_fills() {
    let test = setup(LIMITS);
    test.workers.submit((1, "blocks")).unwrap();
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("blocks"));
    for name in ["a", "b", "c"] {
        assert_eq!(test.workers.submit((1, name)), Ok(0));
    }
    assert_eq!(test.workers.submit((1, "d")), Err(NoRoom));
    let preferred = test.workers.submit_as(Rank::Preferred, (1, "preferred"));
    assert_eq!(preferred, Ok(1));
    test.gate.send(()).unwrap();
    for name in ["preferred", "a", "b"] {
        assert_eq!(test.done.recv_timeout(PATIENCE), Ok(name));
    }
}

#[test]
fn what_waited_too_long_is_dropped() {
    let test = setup(LaneLimits {
        wait_max: Duration::ZERO,
        ..LIMITS
    });
    test.workers.submit((1, "a")).unwrap();
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("late"));
}

#[test]
fn a_panic_costs_one_request() {
    let test = setup(LIMITS);
    test.workers.submit((1, "panic")).unwrap();
    test.workers.submit((1, "a")).unwrap();
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("a"));
}

#[test]
fn draining_finishes_what_is_queued() {
    let test = setup(LIMITS);
    test.workers.submit((1, "blocks")).unwrap();
    test.workers.submit((1, "a")).unwrap();
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("blocks"));
    assert!(!test.workers.drain(Instant::now()));
    test.gate.send(()).unwrap();
    assert!(test.workers.drain(Instant::now() + PATIENCE));
    assert_eq!(test.done.recv_timeout(PATIENCE), Ok("a"));
    assert_eq!(test.workers.submit((1, "b")), Err(NoRoom));
}

#[test]
fn drained_threads_hold_nothing() {
    let test = setup(LaneLimits {
        threads: 8,
        ..LIMITS
    });
    assert!(test.workers.drain(Instant::now() + PATIENCE));
    // The senders are gone with what the threads had to do.
    assert_eq!(test.done.try_recv(), Err(mpsc::TryRecvError::Disconnected));
}
