//! Lines at the end of the terminal that show the progress of a job: one for all
//! minions, and in state runs one for each minion that reports its state. In a pipe
//! there are none.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::returns::Shown;
use crate::Screen;
use halite_client::{FleetProgress, MinionProgress};

/// Names of minions that are still awaited are shown up to so many.
const NAMES_MAX: usize = 3;

/// Minions with a line of their own.
const LINES_MAX: usize = 10;

/// Rows of the terminal that are left to results.
const ROWS_LEFT: usize = 4;

/// Seconds are shown from here on.
const SECONDS_SHOWN: Duration = Duration::from_secs(2);

/// How long a job has before it is shown whom it waits for, where nobody has
/// asked for more. Most have ended by then.
const SILENT: Duration = Duration::from_millis(400);

/// How far a job is.
pub(super) struct Progress {
    on: bool,
    total: usize,
    answered: usize,
    failed: usize,
    silent: usize,
    awaited: BTreeSet<String>,
    in_batches: bool,
    places: FleetProgress,
    begun: Instant,
    shown_after: Duration,
    is_shown: bool,
}

impl Progress {
    /// Nobody of `total` minions has answered; nothing is ever shown unless it
    /// is `on`.
    pub(super) fn new(on: bool, total: usize, places: FleetProgress) -> Self {
        Self {
            on,
            total,
            answered: 0,
            failed: 0,
            silent: 0,
            awaited: BTreeSet::new(),
            in_batches: false,
            places,
            begun: Instant::now(),
            shown_after: Duration::ZERO,
            is_shown: false,
        }
    }

    /// It is shown only where a job is slow.
    pub(super) fn when_slow(mut self) -> Self {
        self.shown_after = SILENT;
        self
    }

    /// Whether it is shown at all.
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Who is awaited, by name.
    pub(super) fn awaiting<'a>(&mut self, ids: impl IntoIterator<Item = &'a String>) {
        self.awaited = ids.into_iter().cloned().collect();
    }

    /// The job goes to some of the minions after others.
    pub(super) fn in_batches(self) -> Self {
        Self {
            in_batches: true,
            ..self
        }
    }

    /// These are the next that the job has gone to.
    pub(super) fn sent(&mut self, ids: &[String]) {
        self.awaited.extend(ids.iter().cloned());
    }

    /// Who is awaited, sorted.
    pub(super) fn awaited(&self) -> Vec<String> {
        self.awaited.iter().cloned().collect()
    }

    /// From when on it is shown.
    pub(super) fn shown_from(&self) -> Instant {
        self.begun + self.shown_after
    }

    /// A minion has answered, or will not.
    pub(super) fn ended(&mut self, shown: &Shown) {
        self.awaited.remove(&shown.id);
        self.places.ended(&shown.id);
        if shown.is_missing {
            self.silent += 1;
        } else {
            self.answered += 1;
            self.failed += usize::from(shown.retcode != 0);
        }
    }

    /// Shows the lines.
    pub(super) fn show(&mut self, screen: &mut Screen<'_>) {
        if self.on && screen.has_status_line() && self.begun.elapsed() >= self.shown_after {
            let (columns, rows) = screen.size();
            let most = LINES_MAX.min(rows.saturating_sub(ROWS_LEFT));
            screen.status(&self.lines(Instant::now(), most, columns));
            self.is_shown = true;
        }
    }

    /// Takes the lines away, before anything else is shown.
    pub(super) fn clear(&mut self, screen: &mut Screen<'_>) {
        if std::mem::take(&mut self.is_shown) {
            screen.status(&[]);
        }
    }

    fn lines(&self, now: Instant, most: usize, columns: usize) -> Vec<String> {
        let places = self.places.all();
        let width = places.keys().map(|id| id.chars().count()).max();
        let mut lines: Vec<String> = places
            .iter()
            .take(most)
            .map(|(id, place)| place_line(id, width.unwrap_or(0), place, now))
            .collect();
        let names = match places.is_empty() {
            true => self.names(),
            false => String::new(),
        };
        let mut line = self.line(now);
        // Half a name is worth less than none.
        if line.chars().count() + names.chars().count() < columns {
            line.push_str(&names);
        }
        lines.push(line);
        lines
    }

    fn line(&self, now: Instant) -> String {
        let ended = self.answered + self.silent;
        let left = self.total.saturating_sub(ended);
        let running = match self.in_batches {
            true => self.awaited.len(),
            false => left,
        };
        let mut line = format!(
            "{} of {} answered, {running} running",
            self.answered, self.total
        );
        if left > running {
            line.push_str(&format!(", {} waiting", left - running));
        }
        if self.silent > 0 {
            line.push_str(&format!(", {} silent", self.silent));
        }
        if self.failed > 0 {
            line.push_str(&format!(", {} failed", self.failed));
        }
        line.push_str(&elapsed(now.saturating_duration_since(self.begun)));
        line
    }

    /// Who is awaited, where they are few, and why they are silent.
    fn names(&self) -> String {
        let reasons = self.awaited.iter().map(|id| self.places.reason(id));
        if !(1..=NAMES_MAX).contains(&self.awaited.len()) {
            return match reasons.flatten().count() {
                0 => String::new(),
                away => format!(" ({away} not connected or not accepted)"),
            };
        }
        let named = self.awaited.iter().zip(reasons).map(|(id, why)| match why {
            Some(why) => format!("{id}: {why}"),
            None => id.clone(),
        });
        format!(" ({})", named.collect::<Vec<_>>().join(", "))
    }
}

fn place_line(id: &str, width: usize, place: &MinionProgress, now: Instant) -> String {
    let MinionProgress {
        number,
        of,
        state,
        function,
        since,
    } = place;
    // What minions say is shown, never obeyed by the terminal.
    let state: String = state
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    let elapsed = elapsed(now.saturating_duration_since(*since));
    format!("{id:width$}  {number} of {of}  {state} ({function}){elapsed}")
}

/// `, 12 s`, where it is worth saying.
fn elapsed(time: Duration) -> String {
    if time < SECONDS_SHOWN {
        return String::new();
    }
    match (time.as_secs() / 60, time.as_secs() % 60) {
        (0, seconds) => format!(", {seconds} s"),
        (minutes, seconds) => format!(", {minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::{Map, Value};

    use super::*;

    fn shown(id: &str, retcode: i64, is_missing: bool) -> Shown {
        Shown {
            id: id.to_owned(),
            value: Value::Nil,
            out: None,
            retcode,
            raw_retcode: retcode.into(),
            notes: Vec::new(),
            is_missing,
        }
    }

    fn last(progress: &Progress, now: Instant) -> String {
        progress.lines(now, 10, 80).pop().unwrap()
    }

    #[test]
    fn the_line_counts_and_names_the_last_ones() {
        let ids: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let mut progress = Progress::new(true, 5, FleetProgress::default());
        progress.awaiting(&ids);
        let begun = progress.begun;
        assert_eq!(last(&progress, begun), "0 of 5 answered, 5 running");
        progress.ended(&shown("a", 0, false));
        progress.ended(&shown("b", 2, false));
        progress.ended(&shown("c", 1, true));
        assert_eq!(
            last(&progress, begun + Duration::from_secs(3)),
            "2 of 5 answered, 2 running, 1 silent, 1 failed, 3 s (d, e)"
        );
        // Names that do not fit are left out.
        let narrow = |columns| progress.lines(begun, 10, columns).concat();
        let line = "2 of 5 answered, 2 running, 1 silent, 1 failed";
        assert_eq!(narrow(line.len() + 7), line);
        assert_eq!(narrow(line.len() + 8), format!("{line} (d, e)"));
    }

    #[test]
    fn who_is_silent_is_named_with_the_reason() {
        let places = FleetProgress::default();
        let mut progress = Progress::new(true, 5, places.clone()).when_slow();
        let ids: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        progress.awaiting(&ids[..2]);
        places.silent([("b".to_owned(), "not connected")].into());
        let begun = progress.begun;
        assert_eq!(
            last(&progress, begun),
            "0 of 5 answered, 5 running (a, b: not connected)"
        );
        progress.awaiting(&ids);
        assert_eq!(
            last(&progress, begun),
            "0 of 5 answered, 5 running (1 not connected or not accepted)"
        );
    }

    #[test]
    fn in_batches_those_that_come_later_are_waiting() {
        let mut progress = Progress::new(true, 5, FleetProgress::default()).in_batches();
        let begun = progress.begun;
        progress.sent(&["a".to_owned(), "b".to_owned()]);
        assert_eq!(
            last(&progress, begun),
            "0 of 5 answered, 2 running, 3 waiting (a, b)"
        );
        progress.ended(&shown("a", 0, false));
        progress.sent(&["c".to_owned()]);
        assert_eq!(
            last(&progress, begun),
            "1 of 5 answered, 2 running, 2 waiting (b, c)"
        );
        assert_eq!(progress.awaited(), ["b", "c"]);
    }

    #[test]
    fn minions_in_state_runs_have_lines_of_their_own() {
        let places = FleetProgress::default();
        let mut progress = Progress::new(true, 2, places.clone());
        let begun = progress.begun;
        for (id, number) in [("web1", 3), ("longer-id", 12)] {
            let data = Map::from([
                ("n", Value::from(number)),
                ("len", 40.into()),
                ("id", "a\x1b[2Jstate".into()),
                ("fun", "pkg.installed".into()),
            ]);
            places.take(&format!("at/{id}"), &data, begun);
        }
        assert_eq!(
            progress.lines(begun + Duration::from_secs(75), 10, 80),
            [
                "longer-id  12 of 40  a [2Jstate (pkg.installed), 1 min 15 s",
                "web1       3 of 40  a [2Jstate (pkg.installed), 1 min 15 s",
                "0 of 2 answered, 2 running, 1 min 15 s",
            ]
        );
        assert_eq!(progress.lines(begun, 1, 80).len(), 2);
        progress.ended(&shown("web1", 0, false));
        assert_eq!(progress.lines(begun, 10, 80).len(), 2);
    }

    #[test]
    fn in_a_pipe_nothing_is_shown() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut screen = Screen::to_writers(&mut out, &mut err);
        let mut progress = Progress::new(true, 5, FleetProgress::default());
        progress.show(&mut screen);
        progress.clear(&mut screen);
        drop(screen);
        assert!(out.is_empty() && err.is_empty());
    }
}
