//! One state run at a time: which run has the turn, which ones wait, and which are
//! refused because another one runs.
//!
//! Jobs of this process are known here, whichever masters sent them; runs of other
//! Salt programs on the machine are known from their proc files. In Salt two jobs
//! that come at the same moment may refuse each other; here the first one gets the
//! turn.
//!
//! Invariant: at any time at most one run of a minion has the turn, except for
//! those with `concurrent` and those that were given up.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_call::{Call, CallError, Cancel, Job, MinionContext};
use halite_proto::{Map, Value};

use crate::limits::LOOK_AGAIN;

/// What a run does when another one has the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// It says so and ends.
    Refuse,
    /// It waits.
    Wait,
    /// It waits unless so many do or run already.
    WaitIfFewer(usize),
}

impl Queue {
    /// The argument `queue`, else the option `state_queue`.
    pub(crate) fn read(given: Option<&Value>, opts: &Map) -> Self {
        let given = given.filter(|value| !value.is_nil());
        match given.or_else(|| opts.get("state_queue")) {
            Some(Value::Bool(true)) => Self::Wait,
            Some(Value::Int(most)) if *most > 0 => {
                Self::WaitIfFewer(usize::try_from(*most).unwrap_or(usize::MAX))
            }
            _ => Self::Refuse,
        }
    }
}

/// The turn of a run; it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    number: Option<u64>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            known().entries.retain(|entry| entry.number != number);
        }
    }
}

#[derive(Debug)]
struct Entry {
    number: u64,
    home: PathBuf,
    jid: String,
    load: Map,
    waits: bool,
    cancel: Cancel,
}

#[derive(Debug, Default)]
struct Known {
    next: u64,
    entries: Vec<Entry>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    next: 0,
    entries: Vec::new(),
});

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the turn, waiting for it if `queue` says so. A run within a run
/// (the same job) has the turn already.
///
/// # Errors
/// The texts that name the runs which have it; or the end of the job while it
/// waited.
pub(crate) fn take(
    call: &Call<'_>,
    queue: Queue,
    concurrent: bool,
) -> Result<Result<Turn, Vec<String>>, CallError> {
    let home = call.ctx.cachedir();
    let jid = call.job.jid().unwrap_or_default().to_owned();
    let Some(number) = enter(&home, &jid, call.job, concurrent) else {
        return Ok(Ok(Turn { number: None }));
    };
    // From here on the entry goes when the turn is dropped.
    let turn = Turn {
        number: Some(number),
    };
    if concurrent {
        return Ok(Ok(turn));
    }
    let mut before = ahead(call.ctx, &home, &jid, number);
    let waits = match queue {
        Queue::Refuse => false,
        Queue::Wait => true,
        Queue::WaitIfFewer(most) => before.len() < most,
    };
    while !before.is_empty() {
        if !waits {
            return Ok(Err(before.iter().map(text).collect()));
        }
        if !call.cancel().sleep(LOOK_AGAIN) {
            let signal = call.cancel().ended_by().unwrap_or_default();
            return Err(CallError::Ended(signal));
        }
        before = ahead(call.ctx, &home, &jid, number);
    }
    Ok(Ok(turn))
}

/// The runs that go on now, this one's job excepted (`state.running`).
pub(crate) fn running(call: &Call<'_>) -> Vec<String> {
    let own = call.job.jid().unwrap_or_default();
    let all = active(call.ctx);
    let others = all.iter().filter(|load| is_state(load, own));
    others.map(text).collect()
}

/// The jobs that run on this machine.
pub(crate) fn active(ctx: &dyn MinionContext) -> Vec<Map> {
    ctx.jobs().map(|jobs| jobs.running()).unwrap_or_default()
}

/// Notes that the job asks for the turn; nothing if it has it already.
fn enter(home: &Path, jid: &str, job: &Job, concurrent: bool) -> Option<u64> {
    let mut known = known();
    // Another run may have its id, that of another master.
    let is_same = |entry: &Entry| {
        let mut what = ["fun", "arg"].into_iter();
        what.all(|field| entry.load.get(field) == job.load.get(field))
    };
    let mine =
        |entry: &Entry| !jid.is_empty() && entry.home == home && entry.jid == jid && is_same(entry);
    if known.entries.iter().any(mine) {
        return None;
    }
    let number = known.next;
    known.next += 1;
    let mut load = job.load.clone();
    load.insert("pid", std::process::id());
    known.entries.push(Entry {
        number,
        home: home.to_owned(),
        jid: jid.to_owned(),
        load,
        waits: !concurrent,
        cancel: job.cancel.clone(),
    });
    Some(number)
}

/// What has the turn or will have it before number `own`; if there is nothing,
/// `own` has it.
fn ahead(ctx: &dyn MinionContext, home: &Path, jid: &str, own: u64) -> Vec<Map> {
    let own_pid = i64::from(std::process::id());
    let mut found: Vec<Map> = active(ctx)
        .into_iter()
        .filter(|load| is_state(load, jid))
        .filter(|load| load.get("pid").and_then(Value::as_i64) != Some(own_pid))
        // One that came later may itself wait for this one.
        .filter(|load| jid.is_empty() || jid_of(load).is_none_or(|other| other < jid))
        .collect();
    let mut known = known();
    let others = known.entries.iter().filter(|entry| {
        let is_before = !entry.waits || entry.number < own;
        let counts = !entry.cancel.is_given_up();
        entry.home == home && entry.number != own && is_before && counts
    });
    found.extend(others.map(|entry| entry.load.clone()));
    if found.is_empty()
        && let Some(entry) = known.entries.iter_mut().find(|entry| entry.number == own)
    {
        entry.waits = false;
    }
    found
}

fn jid_of(load: &Map) -> Option<&str> {
    load.get("jid").and_then(Value::as_str)
}

fn is_state(load: &Map, own: &str) -> bool {
    let fun = load.get("fun").and_then(Value::as_str).unwrap_or_default();
    fun.starts_with("state.") && jid_of(load) != Some(own)
}

fn text(load: &Map) -> String {
    let field = |key: &str| {
        load.get(key)
            .map(halite_proto::python::str)
            .unwrap_or_default()
    };
    let jid = field("jid");
    format!(
        "The function \"{}\" is running as PID {} and was started at {} with jid {jid}",
        field("fun"),
        field("pid"),
        time_of(&jid)
    )
}

/// The time in a job id as Salt writes it: `2026, Nov 20 14:18:41.939742`.
fn time_of(jid: &str) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let digits = jid.len() >= 20 && jid.bytes().take(20).all(|byte| byte.is_ascii_digit());
    let part = |from: usize, to: usize| jid.get(from..to).unwrap_or_default();
    let month = part(4, 6).parse::<usize>().ok();
    let month = month.and_then(|month| MONTHS.get(month.checked_sub(1)?));
    match month {
        Some(month) if digits => format!(
            "{}, {month} {} {}:{}:{}.{}",
            part(0, 4),
            part(6, 8),
            part(8, 10),
            part(10, 12),
            part(12, 14),
            part(14, 20)
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_ids_are_told_as_times() {
        assert_eq!(
            time_of("20261120141841939742"),
            "2026, Nov 20 14:18:41.939742"
        );
        assert_eq!(time_of("x"), "");
    }

    #[test]
    fn a_run_that_was_given_up_holds_nobody_up() {
        let (home, ctx) = (
            Path::new("/given-up"),
            halite_fake_minion::FakeMinion::new(),
        );
        let stuck = Job::default();
        let first = enter(home, "20261120000000000001", &stuck, false).unwrap();
        assert!(ahead(&ctx, home, "20261120000000000001", first).is_empty());
        let jid = "20261120000000000002";
        let second = enter(home, jid, &Job::default(), false).unwrap();
        stuck.cancel.signal(9);
        assert_eq!(ahead(&ctx, home, jid, second).len(), 1);
        assert!(stuck.cancel.close(halite_call::Over::GivenUp));
        assert!(ahead(&ctx, home, jid, second).is_empty());
        assert!(!stuck.cancel.close(halite_call::Over::Returned));
        let turns = [first, second].map(|number| Turn {
            number: Some(number),
        });
        drop(turns);
    }

    #[test]
    fn the_queue_is_read() {
        let opts = Map::from([("state_queue", 2)]);
        assert_eq!(Queue::read(None, &opts), Queue::WaitIfFewer(2));
        assert_eq!(Queue::read(Some(&true.into()), &opts), Queue::Wait);
        assert_eq!(Queue::read(Some(&false.into()), &opts), Queue::Refuse);
        assert_eq!(Queue::read(None, &Map::new()), Queue::Refuse);
    }
}
