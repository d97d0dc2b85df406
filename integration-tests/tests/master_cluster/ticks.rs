//! When masters ran a job of their schedule, by the job ids that they gave: a busy machine
//! may be slow to tell of it, and that is not what is measured.

use std::time::Duration;

use anyhow::{Context as _, Result};
use halite_integration_tests::Event;

/// The tag of a job of a schedule.
pub(crate) const TICK: &str = "__schedule_return";

/// How often the job of these tests is run.
pub(crate) const TICK_EVERY: Duration = Duration::from_secs(1);

/// What a busy machine adds to what happens within a master.
pub(crate) const BUSY: Duration = Duration::from_secs(1);

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Whether a master ran the job.
pub(crate) fn is_tick(event: &Event, id: &str) -> bool {
    event.tag == TICK && event.data["id"] == id
}

/// The job ids of a master's runs among events.
pub(crate) fn ticks(events: &[Event], id: &str) -> Result<Vec<String>> {
    let ran = events.iter().filter(|event| is_tick(event, id));
    let begun = ran.map(|event| event.data["jid"].as_str().map(str::to_owned));
    begun
        .collect::<Option<_>>()
        .context("an event without a job id")
}

/// The time from the last run of one master to the first one of its successor.
pub(crate) fn gap(before: &[String], after: &[String]) -> Result<Duration> {
    let last = time_of_day(before.last().context("the first master has run nothing")?)?;
    let first = time_of_day(after.first().context("its successor has run nothing")?)?;
    Ok(first
        .checked_sub(last)
        .unwrap_or_else(|| (first + DAY).saturating_sub(last)))
}

/// The time of day in a job id: a date, then hours, minutes, seconds and microseconds.
fn time_of_day(jid: &str) -> Result<Duration> {
    let number = |from: usize, to: usize| -> Result<u64> {
        let digits = jid.get(from..to).context("a short job id")?;
        Ok(digits.parse()?)
    };
    let seconds = (number(8, 10)? * 60 + number(10, 12)?) * 60 + number(12, 14)?;
    Ok(Duration::from_secs(seconds) + Duration::from_micros(number(14, 20)?))
}
