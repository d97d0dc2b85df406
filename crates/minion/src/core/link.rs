//! The link to one master, as a state machine: what to do next, and when.
//!
//! A minion has one link per entry of its `master:` list; no link knows of any
//! other, so a master that is down, slow or mistaken cannot hold the rest up.
//! The machine does nothing itself: the shell performs its [`Output`]s
//! (resolve a name, sign in, subscribe) and reports back with [`Input`]s.
//!
//! Invariant: at most one resolution or sign-in is under way at any time, and
//! whenever none is and the link is not ready, a timer is set.
//!
//! ```text
//!            +-------------------- pause <------------------+
//!            v                                              | failed
//!  Start -> resolving -> signing in -> subscribing -> READY |
//!                           ^                           |   |
//!                           +---- disconnected, --------+---+
//!                                 credentials refused
//! ```

mod timing;
mod words;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use halite_proto::chance::Chance;

use super::backoff::Backoff;
pub use timing::{
    COME_AGAIN_MAX, LinkTiming, MISTRUST_PAUSE_MAX, PINGS_MISSED_MAX, RENEW_INTERVAL_MIN,
    RESOLVE_TIMEOUT, RETRY_FIRST, SUBSCRIBE_TIMEOUT,
};
pub use words::{Input, Notice, Output, Phase, SignInFailure};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Idle,
    Resolving,
    SigningIn,
    Signed,
    Paused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feed {
    Closed,
    Connecting,
    Connected,
}

/// The link to one master.
#[derive(Debug)]
pub struct Link {
    timing: LinkTiming,
    step: Step,
    feed: Feed,
    address: Option<IpAddr>,
    publish_port: u16,
    deadline: Option<Instant>,
    retry: Backoff,
    acceptance: Duration,
    mistrust: Backoff,
    credentials: u64,
    signed_at: Option<Instant>,
    renew_at: Option<Instant>,
    not_resolved: u64,
    /// Sign-ins in a row without an answer.
    unanswered: u32,
    chance: Chance,
    was_ready: bool,
    announced: bool,
    said: Option<Notice>,
    ping_at: Option<Instant>,
    pings_missed: u32,
    outputs: VecDeque<Output>,
}

impl Link {
    /// A link that has not started. `seed` spreads its pauses.
    pub fn new(timing: LinkTiming, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let wait = timing.acceptance_wait_time;
        Self {
            step: Step::Idle,
            feed: Feed::Closed,
            address: None,
            publish_port: 0,
            deadline: None,
            retry: Backoff::new(timing.retry_first, timing.retry_max, chance.next_u64())
                .spread(timing.spread),
            acceptance: wait,
            mistrust: Backoff::new(wait, MISTRUST_PAUSE_MAX, chance.next_u64()),
            credentials: 0,
            signed_at: None,
            renew_at: None,
            not_resolved: 0,
            unanswered: 0,
            chance,
            was_ready: false,
            announced: false,
            said: None,
            ping_at: None,
            pings_missed: 0,
            outputs: VecDeque::new(),
            timing,
        }
    }

    /// Handles an input that arrived at `now`.
    pub fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Start if self.step == Step::Idle => self.resolve(now),
            Input::Resolved(address) if self.step == Step::Resolving => {
                self.address = Some(address);
                self.not_resolved = 0;
                self.sign_in();
            }
            Input::NotResolved(why) if self.step == Step::Resolving => {
                self.not_resolved(now, why);
            }
            Input::SignedIn { publish_port } if self.step == Step::SigningIn => {
                self.signed_in(now, publish_port);
            }
            Input::SignInFailed(failure) if self.step == Step::SigningIn => {
                self.sign_in_failed(now, failure);
            }
            Input::Connected if self.feed == Feed::Connecting => {
                self.feed = Feed::Connected;
                self.check_ready(now);
            }
            Input::Disconnected if self.feed != Feed::Closed => self.disconnected(now),
            Input::Refused { credentials } => self.refused(now, credentials),
            Input::Pinged(answered) if self.announced => self.pinged(now, answered),
            Input::Stop => self.stop(),
            // What is left was overtaken by something else meanwhile.
            _ => {}
        }
    }

    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.ping_at.is_some_and(|at| now >= at) {
            // Not again before the answer is there, or its absence.
            self.ping_at = None;
            self.outputs.push_back(Output::Ping);
        }
        if self.renew_at.is_some_and(|at| now >= at) {
            self.renew_at = None;
            if self.step == Step::Signed {
                self.sign_in();
            }
        }
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.deadline = None;
        match self.step {
            Step::Resolving => self.not_resolved(now, "no answer from the resolver".to_owned()),
            Step::Signed if self.feed == Feed::Connecting => {
                let pause = self.retry.pause();
                self.pause(now, pause, Some(Notice::NoAnswer));
            }
            Step::Paused => self.resolve(now),
            Step::Idle | Step::SigningIn | Step::Signed => {}
        }
    }

    /// The next thing to do, until there is none.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Self::handle_timeout`] wants to be called.
    pub fn next_timeout(&self) -> Option<Instant> {
        let timers = [self.deadline, self.ping_at, self.renew_at];
        timers.into_iter().flatten().min()
    }

    /// The number of the credentials in use; 0 before the first sign-in.
    pub fn credentials(&self) -> u64 {
        self.credentials
    }

    /// Whether commands can arrive and requests be made.
    pub fn is_ready(&self) -> bool {
        self.announced
    }

    /// The state of the link.
    pub fn phase(&self) -> Phase {
        match self.step {
            Step::Idle => Phase::Idle,
            _ if self.announced => Phase::Ready,
            Step::Resolving => Phase::Resolving,
            Step::SigningIn => Phase::SigningIn,
            Step::Signed => Phase::Subscribing,
            Step::Paused => Phase::Paused,
        }
    }

    fn resolve(&mut self, now: Instant) {
        self.step = Step::Resolving;
        self.deadline = Some(now + RESOLVE_TIMEOUT);
        self.outputs.push_back(Output::Resolve);
    }

    fn not_resolved(&mut self, now: Instant, why: String) {
        self.not_resolved += 1;
        let tries = self.timing.retry_dns_count;
        let pause = match self.timing.retry_dns {
            _ if tries.is_some_and(|tries| self.not_resolved >= tries) => MISTRUST_PAUSE_MAX,
            Some(pause) => pause,
            None => self.retry.pause(),
        };
        self.pause(now, pause, Some(Notice::NotResolved(why)));
    }

    fn sign_in(&mut self) {
        self.renew_at = None;
        self.step = Step::SigningIn;
        // The sign-in has a timeout of its own and always reports back.
        self.deadline = None;
        if let Some(address) = self.address {
            self.outputs.push_back(Output::SignIn { address });
        }
    }

    fn signed_in(&mut self, now: Instant, publish_port: u16) {
        self.step = Step::Signed;
        self.deadline = None;
        self.credentials += 1;
        self.signed_at = Some(now);
        self.said = None;
        self.unanswered = 0;
        self.retry.reset();
        self.mistrust.reset();
        self.acceptance = self.timing.acceptance_wait_time;
        let moved = self.publish_port != publish_port;
        self.publish_port = publish_port;
        if !self.timing.subscribes || (self.feed == Feed::Connected && !moved) {
            self.check_ready(now);
        } else if let Some(address) = self.address {
            self.feed = Feed::Connecting;
            self.deadline = Some(now + SUBSCRIBE_TIMEOUT);
            self.outputs.push_back(Output::Subscribe {
                address,
                port: publish_port,
            });
        }
    }

    fn sign_in_failed(&mut self, now: Instant, failure: SignInFailure) {
        let (pause, notice) = match failure {
            SignInFailure::NoAnswer => (self.retry.pause(), Notice::NoAnswer),
            SignInFailure::Busy(wait) => (self.busy_pause(wait), Notice::Busy),
            SignInFailure::Pending => (self.acceptance_pause(), Notice::Pending),
            SignInFailure::Full => (self.acceptance_pause(), Notice::Full),
            SignInFailure::Rejected => {
                if !self.timing.rejected_retry {
                    self.outputs.push_back(Output::RefusedForGood);
                }
                (self.acceptance_pause(), Notice::Rejected)
            }
            SignInFailure::Mistrusted(why) => (self.mistrust.pause(), Notice::Mistrusted(why)),
        };
        let is_unserved = matches!(notice, Notice::NoAnswer | Notice::Busy);
        self.unanswered += u32::from(is_unserved);
        let is_last = self.unanswered >= self.timing.sign_in_tries;
        let notice = (is_last || !is_unserved).then_some(notice);
        self.pause(now, pause, notice);
    }

    /// The wait that the master asks for, within bounds: no shorter than without an
    /// answer, and a program that only asks is not kept waiting longer than that either.
    fn busy_pause(&mut self, wait: Duration) -> Duration {
        let max = match self.timing.subscribes {
            true => COME_AGAIN_MAX,
            false => self.timing.retry_max.min(COME_AGAIN_MAX),
        };
        let wait = wait.min(max);
        let spread = self.chance.up_to(wait / 8);
        (wait + spread).max(self.retry.pause())
    }

    /// Salt's rule: the same pause each time, or one step longer up to a bound.
    fn acceptance_pause(&mut self) -> Duration {
        let pause = self.acceptance;
        if self.timing.acceptance_wait_time_max > Duration::ZERO {
            let grown = self.acceptance + self.timing.acceptance_wait_time;
            self.acceptance = grown.min(self.timing.acceptance_wait_time_max);
        }
        pause
    }

    fn pause(&mut self, now: Instant, pause: Duration, notice: Option<Notice>) {
        self.renew_at = None;
        self.lose();
        self.close_feed();
        self.step = Step::Paused;
        self.deadline = Some(now + pause);
        if let Some(notice) = notice
            && self.said.as_ref() != Some(&notice)
        {
            self.said = Some(notice.clone());
            self.outputs.push_back(Output::Say(notice));
        }
    }

    fn disconnected(&mut self, now: Instant) {
        self.renew_at = None;
        // The socket reconnects by itself, but a master that was restarted has
        // new keys: sign in first, then subscribe afresh.
        self.lose();
        self.close_feed();
        if self.step == Step::Signed {
            self.resolve(now);
        }
    }

    fn refused(&mut self, now: Instant, credentials: u64) {
        let stale = credentials != self.credentials;
        let young = self
            .signed_at
            .is_some_and(|at| now.duration_since(at) < RENEW_INTERVAL_MIN);
        if self.step != Step::Signed || stale || young || self.renew_at.is_some() {
            return;
        }
        match self.timing.renew_spread {
            Duration::ZERO => self.sign_in(),
            spread => self.renew_at = Some(now + self.chance.up_to(spread)),
        }
    }

    fn pinged(&mut self, now: Instant, answered: bool) {
        if answered {
            self.pings_missed = 0;
            self.ping_at = self.timing.alive_interval.map(|interval| now + interval);
            return;
        }
        self.pings_missed += 1;
        if self.pings_missed < PINGS_MISSED_MAX {
            self.outputs.push_back(Output::Ping);
        } else {
            let pause = self.retry.pause();
            self.pause(now, pause, Some(Notice::NoAnswer));
        }
    }

    fn stop(&mut self) {
        self.lose();
        self.close_feed();
        self.step = Step::Idle;
        self.deadline = None;
        self.renew_at = None;
        // Whoever starts the link again wants to hear why it is stuck.
        self.said = None;
    }

    fn check_ready(&mut self, now: Instant) {
        let fed = self.feed == Feed::Connected || !self.timing.subscribes;
        if self.step == Step::Signed && fed {
            self.deadline = None;
            if !self.announced {
                self.announced = true;
                self.pings_missed = 0;
                self.ping_at = self.timing.alive_interval.map(|interval| now + interval);
                let first = !std::mem::replace(&mut self.was_ready, true);
                self.outputs.push_back(Output::Ready { first });
            }
        }
    }

    fn lose(&mut self) {
        self.ping_at = None;
        if std::mem::take(&mut self.announced) {
            self.outputs.push_back(Output::Lost);
        }
    }

    fn close_feed(&mut self) {
        if self.feed != Feed::Closed {
            self.feed = Feed::Closed;
            self.outputs.push_back(Output::Unsubscribe);
        }
    }
}
