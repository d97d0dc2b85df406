//! Which links are up: all of them, or one at a time with the others behind it
//! (`master_type: failover` and `distributed`).
//!
//! Like the link, a state machine without effects: the shell reports what links say
//! and performs its [`Output`]s. Invariant: while the minion runs and has a master
//! at all, at least one link is up or a timer is set.
//!
//! Changing masters is make before break where there is a choice: for a failback
//! the old link stays until the new one is ready, so no command is lost.

mod order;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use halite_proto::chance::Chance;

pub use self::order::distributed_order;
use super::backoff::Backoff;

/// How several masters are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every master is served.
    Hot,
    /// One at a time, in this order of preference.
    Failover {
        /// Places in the `master:` list.
        order: Vec<usize>,
        /// How often the first one is asked whether it is back; none: it is
        /// not returned to as long as another serves.
        failback: Option<Duration>,
        /// Whether every new search starts anywhere in the list.
        shuffle: bool,
        /// `master_tries` and the pause that follows this many rounds over the list;
        /// `None`: the pauses only grow.
        tries: Option<(u32, Duration)>,
    },
}

/// The report of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The minion starts.
    Start,
    /// This link is ready.
    Ready(usize),
    /// This link was ready and no longer is.
    Lost(usize),
    /// This link cannot get on: no answer, no name, not accepted, mistrusted.
    Stuck(usize),
    /// This master has answered a ping.
    Answered(usize),
}

/// The next action of the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Bring this link up.
    Up(usize),
    /// Take this link down.
    Down(usize),
    /// Ask this master, whose link is down, for a sign of life.
    Ping(usize),
    /// A switch to this master begins although another serves.
    FailBack(usize),
    /// Every master has failed, as often as was to be tried in a row.
    NoneLeft,
}

/// First pause after every master of the list has failed.
const ROUND_PAUSE: Duration = Duration::from_millis(500);

/// Longest such pause.
const ROUND_PAUSE_MAX: Duration = Duration::from_secs(10);

/// How long a failback may take before it is abandoned for now.
const FAILBACK_TIMEOUT: Duration = Duration::from_secs(15);

/// Decides which links are up.
#[derive(Debug)]
pub struct Conductor {
    masters: usize,
    mode: Mode,
    state: State,
    timer: Option<Instant>,
    rounds: Backoff,
    rounds_failed: u32,
    chance: Chance,
    outputs: VecDeque<Output>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Every link is up, for good.
    Hot,
    /// Trying the master at this place of the order.
    Trying {
        place: usize,
        failed: usize,
    },
    /// All have failed; a pause until the next round.
    Resting,
    /// Served by the master at this place.
    Served {
        place: usize,
    },
    /// Served by one while the first one's link comes up.
    FailingBack {
        place: usize,
    },
}

impl Conductor {
    /// A conductor of `masters` links. `seed` spreads its pauses.
    pub fn new(masters: usize, mode: Mode, seed: u64) -> Self {
        Self {
            masters,
            mode,
            state: State::Idle,
            timer: None,
            rounds: Backoff::new(ROUND_PAUSE, ROUND_PAUSE_MAX, seed),
            rounds_failed: 0,
            chance: Chance::new(seed),
            outputs: VecDeque::new(),
        }
    }

    /// Handles an input that arrived at `now`.
    pub fn handle(&mut self, now: Instant, input: Input) {
        match (self.state, input) {
            (State::Idle, Input::Start) => self.start(now),
            (State::Idle | State::Hot, _) => {}
            (State::Trying { place, .. }, Input::Ready(link)) if self.is_at(place, link) => {
                self.rounds.reset();
                self.rounds_failed = 0;
                self.serve(now, place);
            }
            (State::Trying { place, failed }, Input::Stuck(link) | Input::Lost(link))
                if self.is_at(place, link) =>
            {
                self.outputs.push_back(Output::Down(link));
                self.try_next(now, place, failed + 1);
            }
            (State::Served { place }, Input::Lost(link)) if self.is_at(place, link) => {
                self.outputs.push_back(Output::Down(link));
                self.try_next(now, place, 0);
            }
            (State::Served { place }, Input::Answered(link))
                if self.is_at(0, link) && place > 0 =>
            {
                self.state = State::FailingBack { place };
                self.timer = Some(now + FAILBACK_TIMEOUT);
                self.outputs.push_back(Output::FailBack(link));
                self.outputs.push_back(Output::Up(link));
            }
            (State::FailingBack { place }, input) => self.fail_back(now, place, input),
            _ => {}
        }
    }

    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.timer.is_none_or(|timer| now < timer) {
            return;
        }
        self.timer = None;
        match self.state {
            State::Resting => self.search(now),
            State::Served { place } => {
                if let Some(first) = self.link_at(0).filter(|_| place > 0) {
                    self.outputs.push_back(Output::Ping(first));
                }
                self.serve(now, place);
            }
            State::FailingBack { place } => {
                self.give_up_failback();
                self.serve(now, place);
            }
            State::Idle | State::Hot | State::Trying { .. } => {}
        }
    }

    /// The next thing to do, until there is none.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Self::handle_timeout`] wants to be called.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timer
    }

    fn start(&mut self, now: Instant) {
        match self.mode {
            Mode::Hot => {
                self.state = State::Hot;
                self.outputs.extend((0..self.masters).map(Output::Up));
            }
            Mode::Failover { .. } => self.search(now),
        }
    }

    /// Begins at the top of the list, or anywhere in it.
    fn search(&mut self, now: Instant) {
        if let Mode::Failover {
            order,
            failback,
            shuffle: true,
            ..
        } = &mut self.mode
        {
            // The first one keeps its place where it is returned to.
            let fixed = usize::from(failback.is_some());
            for at in (fixed + 1..order.len()).rev() {
                let span = u64::try_from(at - fixed + 1).unwrap_or(1);
                let other = usize::try_from(self.chance.next_u64() % span).unwrap_or(0);
                order.swap(at, fixed + other);
            }
        }
        self.try_place(now, 0, 0);
    }

    fn try_next(&mut self, now: Instant, place: usize, failed: usize) {
        self.try_place(now, place + 1, failed);
    }

    fn try_place(&mut self, now: Instant, place: usize, failed: usize) {
        let Mode::Failover { order, tries, .. } = &self.mode else {
            return;
        };
        self.timer = None;
        if order.is_empty() || failed >= order.len() {
            self.state = State::Resting;
            self.rounds_failed += 1;
            let mut pause = self.rounds.pause();
            if let Some((tries, rest)) = tries.filter(|(tries, _)| self.rounds_failed >= *tries) {
                debug_assert!(tries > 0, "a limit of zero rounds is no limit");
                pause = pause.max(rest);
                self.rounds_failed = 0;
                self.outputs.push_back(Output::NoneLeft);
            }
            self.timer = Some(now + pause);
            return;
        }
        let place = place % order.len();
        self.state = State::Trying { place, failed };
        self.outputs
            .extend(order.get(place).copied().map(Output::Up));
    }

    fn serve(&mut self, now: Instant, place: usize) {
        self.state = State::Served { place };
        self.timer = match &self.mode {
            Mode::Failover {
                failback: Some(interval),
                ..
            } if place > 0 => Some(now + *interval),
            _ => None,
        };
    }

    fn fail_back(&mut self, now: Instant, place: usize, input: Input) {
        let first = self.link_at(0);
        let serving = self.link_at(place);
        match input {
            Input::Ready(link) if Some(link) == first => {
                self.outputs.extend(serving.map(Output::Down));
                self.serve(now, 0);
            }
            Input::Stuck(link) | Input::Lost(link) if Some(link) == first => {
                self.give_up_failback();
                self.serve(now, place);
            }
            // The one that served is gone: the first one's link is all there is.
            Input::Lost(link) if Some(link) == serving => {
                self.outputs.push_back(Output::Down(link));
                self.timer = None;
                self.state = State::Trying {
                    place: 0,
                    failed: 0,
                };
            }
            _ => {}
        }
    }

    fn give_up_failback(&mut self) {
        self.outputs.extend(self.link_at(0).map(Output::Down));
    }

    fn is_at(&self, place: usize, link: usize) -> bool {
        self.link_at(place) == Some(link)
    }

    fn link_at(&self, place: usize) -> Option<usize> {
        match &self.mode {
            Mode::Failover { order, .. } => order.get(place).copied(),
            Mode::Hot => None,
        }
    }
}

#[cfg(test)]
mod tests;
