//! The highstate figures of the metrics page. They are read once for the whole
//! page, so that they agree, and returns of highstates wait once for them.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use halite_metrics::Instruments;
use halite_proto::MinionId;

use crate::core::highstates::{Last, Outcome};
use crate::fleet::Fleet;
use crate::keys::Keys;
use crate::limits::HIGHSTATES_SHOWN_MAX;

/// How long what was read is good for: a page is made in less.
const GOOD_FOR: Duration = Duration::from_millis(500);

/// The last highstates of the minions whose keys are accepted.
struct Highstates {
    fleet: Weak<Fleet>,
    keys: Weak<Keys>,
    read: Mutex<Option<(Instant, Arc<Shown>)>>,
}

/// What one page shows.
#[derive(Default)]
struct Shown {
    known: u32,
    failed: u32,
    /// Minions with metrics of their own.
    first: Vec<(MinionId, Last)>,
}

impl Highstates {
    fn shown(&self) -> Arc<Shown> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, shown)) = &*read
            && at.elapsed() < GOOD_FOR
        {
            return Arc::clone(shown);
        }
        let shown = Arc::new(self.read_now().unwrap_or_default());
        *read = Some((Instant::now(), Arc::clone(&shown)));
        shown
    }

    /// The remembered highstates, without minions whose keys have been removed by this or
    /// another master.
    fn read_now(&self) -> Option<Shown> {
        let accepted = self.keys.upgrade()?.accepted.list();
        let fleet = self.fleet.upgrade()?;
        let mut last = fleet.highstates.lock();
        last.retain(|id| accepted.binary_search(id).is_ok());
        let first = last.first(HIGHSTATES_SHOWN_MAX).into_iter();
        let count = |minions: usize| u32::try_from(minions).unwrap_or(u32::MAX);
        Some(Shown {
            known: count(last.counted()),
            failed: count(last.failed()),
            first: first.map(|(id, last)| (id.clone(), last)).collect(),
        })
    }
}

/// Adds the figures.
pub(super) fn add(on: &mut Instruments, fleet: &Arc<Fleet>, keys: &Arc<Keys>) {
    let all = Arc::new(Highstates {
        fleet: Arc::downgrade(fleet),
        keys: Arc::downgrade(keys),
        read: Mutex::default(),
    });
    let of = Arc::clone(&all);
    let help = "Minions whose last highstate is known";
    on.gauge("halite.highstate.minions", help, move || {
        f64::from(of.shown().known)
    });
    let of = Arc::clone(&all);
    let help = "Minions whose last highstate failed";
    on.gauge("halite.highstate.minions_failed", help, move || {
        f64::from(of.shown().failed)
    });
    type Read = fn(i64, Outcome) -> f64;
    let shown: [(&str, &str, Read); 3] = [
        (
            "halite.highstate.last_timestamp_seconds",
            "When the last highstate of a minion was returned",
            |at_s, _| f64::from(u32::try_from(at_s).unwrap_or(u32::MAX)),
        ),
        (
            "halite.highstate.last_success",
            "Whether the last highstate of a minion went well",
            |_, outcome| f64::from(u8::from(outcome.is_ok)),
        ),
        (
            "halite.highstate.last_changed",
            "States that changed something in the last highstate of a minion",
            |_, outcome| f64::from(outcome.changed),
        ),
    ];
    for (name, help, read) in shown {
        let of = Arc::clone(&all);
        on.gauges(name, help, "minion", move || {
            let shown = of.shown();
            let rows = shown.first.iter();
            rows.map(|(id, (at_s, outcome))| (id.to_string(), read(*at_s, *outcome)))
                .collect()
        });
    }
}
