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

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::backoff::{Backoff, Chance};

/// How long the first pause after a failure is; later ones double.
pub const RETRY_FIRST: Duration = Duration::from_millis(200);

/// How long a subscription may take to connect before the link starts over.
pub const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a name may take to resolve before the link tries again.
pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Credentials younger than this are not renewed because a message did not
/// decrypt with them: a forged message must not make a minion sign in for ever.
pub const RENEW_INTERVAL_MIN: Duration = Duration::from_millis(500);

/// Longest pause between sign-ins that a master refused for a reason that only
/// an administrator can change (another key, a bad signature).
pub const MISTRUST_PAUSE_MAX: Duration = Duration::from_secs(60);

/// Unanswered pings in a row after which a connected master counts as lost.
pub const PINGS_MISSED_MAX: u32 = 2;

/// How the link behaves over time; Salt's options of the same names.
#[derive(Clone, Debug)]
pub struct LinkTiming {
    /// Pause while the minion's key waits for acceptance.
    pub acceptance_wait_time: Duration,
    /// Bound of that pause when it grows; zero: it does not grow.
    pub acceptance_wait_time_max: Duration,
    /// First pause before a master that does not answer is tried again.
    pub retry_first: Duration,
    /// Longest pause between tries to reach a master that does not answer.
    pub retry_max: Duration,
    /// `recon_randomize`: whether these pauses are spread by chance.
    pub spread: bool,
    /// `retry_dns`: the pause before a name is looked up again; none: that of
    /// a master that does not answer.
    pub retry_dns: Option<Duration>,
    /// `retry_dns_count`: how often it is looked up at that pace before the
    /// pauses become [`MISTRUST_PAUSE_MAX`].
    pub retry_dns_count: Option<u64>,
    /// `random_reauth_delay`: sign-ins that follow new keys of the master are
    /// spread over this time.
    pub renew_spread: Duration,
    /// Whether a rejected key is tried again.
    pub rejected_retry: bool,
    /// Whether the link wants publications; `salt-call` only asks.
    pub subscribes: bool,
    /// `master_alive_interval`: how often a connected master is asked for a
    /// sign of life; none: its connection is trusted.
    pub alive_interval: Option<Duration>,
}

impl Default for LinkTiming {
    fn default() -> Self {
        Self {
            acceptance_wait_time: Duration::from_secs(10),
            acceptance_wait_time_max: Duration::ZERO,
            retry_first: RETRY_FIRST,
            retry_max: Duration::from_secs(10),
            spread: true,
            retry_dns: None,
            retry_dns_count: None,
            renew_spread: Duration::ZERO,
            rejected_retry: false,
            subscribes: true,
            alive_interval: None,
        }
    }
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The minion starts, or the link is wanted again.
    Start,
    /// The master's name has this address now.
    Resolved(IpAddr),
    /// The master's name has no address.
    NotResolved(String),
    /// The master accepted the sign-in; its publications come from this port.
    SignedIn {
        /// The port the master publishes on.
        publish_port: u16,
    },
    /// The sign-in failed.
    SignInFailed(SignInFailure),
    /// The subscription is connected.
    Connected,
    /// The subscription has lost its connection.
    Disconnected,
    /// A publication or reply did not open with the credentials numbered so,
    /// or the master asked for a new sign-in.
    Refused {
        /// Which credentials, as numbered by [`Link::credentials`].
        credentials: u64,
    },
    /// The master has answered the ping, or has not in time.
    Pinged(bool),
    /// The link is not wanted any more.
    Stop,
}

/// Why a sign-in did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInFailure {
    /// Nothing answered in time.
    NoAnswer,
    /// The master holds the minion's key and waits for `salt-key -a`.
    Pending,
    /// The minion's key is rejected or denied.
    Rejected,
    /// The master has all the minions it may have.
    Full,
    /// The reply cannot be trusted or understood; the text says why.
    Mistrusted(String),
}

/// What the shell is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Find the address of the master's name.
    Resolve,
    /// Sign in at this address.
    SignIn {
        /// Where the master's name led.
        address: IpAddr,
    },
    /// Open a subscription there, in place of any there was.
    Subscribe {
        /// Where the master's name led.
        address: IpAddr,
        /// The port from the sign-in.
        port: u16,
    },
    /// Close the subscription.
    Unsubscribe,
    /// Ask the master for a sign of life, on its request port.
    Ping,
    /// The link is ready: commands can arrive and requests be made.
    Ready {
        /// Whether it is ready for the first time since the minion started.
        first: bool,
    },
    /// The link is no longer ready.
    Lost,
    /// The master refused this minion for good; the shell decides what that
    /// means for the minion as a whole. The link keeps trying slowly.
    RefusedForGood,
    /// Something to say to the log, once per change.
    Say(Notice),
}

/// Something an operator may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The key waits for acceptance on this master.
    Pending,
    /// The key is rejected on this master.
    Rejected,
    /// The master is full.
    Full,
    /// The master's name cannot be resolved.
    NotResolved(String),
    /// The master does not answer.
    NoAnswer,
    /// The master's answer cannot be trusted.
    Mistrusted(String),
}

/// Where a link stands, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not started, or stopped.
    Idle,
    /// The name is being looked up.
    Resolving,
    /// A sign-in is under way.
    SigningIn,
    /// Signed in; the subscription is not connected yet.
    Subscribing,
    /// Commands can arrive.
    Ready,
    /// A pause before the next try.
    Paused,
}

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

    /// Takes note of what happened at `now`.
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

    /// Takes note that time has passed.
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

    /// Where the link stands.
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
        self.pause(now, pause, Some(notice));
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

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 1));
    const PORT: u16 = 4505;

    fn outputs(link: &mut Link) -> Vec<Output> {
        std::iter::from_fn(|| link.poll()).collect()
    }

    fn ready_link(now: Instant) -> Link {
        let mut link = Link::new(LinkTiming::default(), 1);
        link.handle(now, Input::Start);
        link.handle(now, Input::Resolved(ADDRESS));
        link.handle(now, Input::SignedIn { publish_port: PORT });
        link.handle(now, Input::Connected);
        assert!(link.is_ready());
        outputs(&mut link);
        link
    }

    #[test]
    fn the_way_to_ready() {
        let now = Instant::now();
        let mut link = Link::new(LinkTiming::default(), 1);
        link.handle(now, Input::Start);
        assert_eq!(outputs(&mut link), [Output::Resolve]);
        link.handle(now, Input::Resolved(ADDRESS));
        assert_eq!(outputs(&mut link), [Output::SignIn { address: ADDRESS }]);
        link.handle(now, Input::SignedIn { publish_port: PORT });
        assert_eq!(
            outputs(&mut link),
            [Output::Subscribe {
                address: ADDRESS,
                port: PORT
            }]
        );
        assert_eq!(link.phase(), Phase::Subscribing);
        link.handle(now, Input::Connected);
        assert_eq!(outputs(&mut link), [Output::Ready { first: true }]);
        assert_eq!(link.next_timeout(), None);
    }

    #[test]
    fn a_pending_key_is_said_once_and_tried_at_the_configured_pace() {
        let mut now = Instant::now();
        let timing = LinkTiming {
            acceptance_wait_time: Duration::from_secs(3),
            acceptance_wait_time_max: Duration::from_secs(7),
            ..LinkTiming::default()
        };
        let mut link = Link::new(timing, 1);
        link.handle(now, Input::Start);
        let mut pauses = Vec::new();
        let mut notices = 0;
        for _ in 0..4 {
            link.handle(now, Input::Resolved(ADDRESS));
            link.handle(now, Input::SignInFailed(SignInFailure::Pending));
            notices += outputs(&mut link)
                .iter()
                .filter(|o| matches!(o, Output::Say(_)))
                .count();
            let until = link.next_timeout().unwrap();
            pauses.push((until - now).as_secs());
            now = until;
            link.handle_timeout(now);
        }
        assert_eq!(pauses, [3, 6, 7, 7]);
        assert_eq!(notices, 1);
    }

    #[test]
    fn a_lost_connection_signs_in_again_and_is_not_first() {
        let now = Instant::now();
        let mut link = ready_link(now);
        link.handle(now, Input::Disconnected);
        assert_eq!(
            outputs(&mut link),
            [Output::Lost, Output::Unsubscribe, Output::Resolve]
        );
        link.handle(now, Input::Resolved(ADDRESS));
        link.handle(now, Input::SignedIn { publish_port: PORT });
        link.handle(now, Input::Connected);
        assert_eq!(
            outputs(&mut link).last(),
            Some(&Output::Ready { first: false })
        );
    }

    #[test]
    fn refused_credentials_are_renewed_once_without_losing_the_subscription() {
        let now = Instant::now();
        let mut link = ready_link(now);
        let later = now + RENEW_INTERVAL_MIN;
        link.handle(now, Input::Refused { credentials: 1 });
        assert_eq!(outputs(&mut link), [], "they are too young to be at fault");
        link.handle(later, Input::Refused { credentials: 1 });
        link.handle(later, Input::Refused { credentials: 1 });
        assert_eq!(outputs(&mut link), [Output::SignIn { address: ADDRESS }]);
        assert!(link.is_ready());
        link.handle(later, Input::SignedIn { publish_port: PORT });
        assert_eq!(outputs(&mut link), []);
        link.handle(
            later + RENEW_INTERVAL_MIN,
            Input::Refused { credentials: 1 },
        );
        assert_eq!(outputs(&mut link), [], "those were replaced already");
    }

    #[test]
    fn sign_ins_after_new_keys_are_spread_where_it_is_wished() {
        let timing = LinkTiming {
            renew_spread: Duration::from_secs(60),
            ..LinkTiming::default()
        };
        let now = Instant::now();
        let mut link = Link::new(timing, 1);
        link.handle(now, Input::Start);
        link.handle(now, Input::Resolved(ADDRESS));
        link.handle(now, Input::SignedIn { publish_port: PORT });
        link.handle(now, Input::Connected);
        outputs(&mut link);
        let later = now + RENEW_INTERVAL_MIN;
        link.handle(later, Input::Refused { credentials: 1 });
        assert_eq!(outputs(&mut link), []);
        let at = link.next_timeout().unwrap();
        assert!(at > later && at <= later + Duration::from_secs(60));
        link.handle(later, Input::Refused { credentials: 1 });
        assert_eq!(link.next_timeout(), Some(at), "one at a time");
        link.handle_timeout(at);
        assert_eq!(outputs(&mut link), [Output::SignIn { address: ADDRESS }]);
        assert!(link.is_ready());
    }

    #[test]
    fn a_name_without_an_address_is_looked_up_at_the_configured_pace() {
        let timing = LinkTiming {
            retry_dns: Some(Duration::from_secs(7)),
            retry_dns_count: Some(2),
            ..LinkTiming::default()
        };
        let mut now = Instant::now();
        let mut link = Link::new(timing, 1);
        link.handle(now, Input::Start);
        let mut pauses = Vec::new();
        for _ in 0..3 {
            link.handle(now, Input::NotResolved("no such host".to_owned()));
            let at = link.next_timeout().unwrap();
            pauses.push((at - now).as_secs());
            now = at;
            link.handle_timeout(now);
        }
        assert_eq!(pauses, [7, 60, 60]);
    }

    #[test]
    fn a_link_that_only_asks_is_ready_once_signed_in() {
        let now = Instant::now();
        let timing = LinkTiming {
            subscribes: false,
            ..LinkTiming::default()
        };
        let mut link = Link::new(timing, 1);
        link.handle(now, Input::Start);
        link.handle(now, Input::Resolved(ADDRESS));
        link.handle(now, Input::SignedIn { publish_port: PORT });
        let all = outputs(&mut link);
        assert_eq!(all.last(), Some(&Output::Ready { first: true }));
        assert!(
            !all.iter()
                .any(|output| matches!(output, Output::Subscribe { .. }))
        );
    }

    #[test]
    fn a_connected_master_that_never_answers_is_lost() {
        let mut now = Instant::now();
        let timing = LinkTiming {
            alive_interval: Some(Duration::from_secs(5)),
            ..LinkTiming::default()
        };
        let mut link = Link::new(timing, 1);
        link.handle(now, Input::Start);
        link.handle(now, Input::Resolved(ADDRESS));
        link.handle(now, Input::SignedIn { publish_port: PORT });
        link.handle(now, Input::Connected);
        outputs(&mut link);
        for answers in [true, false] {
            now = link.next_timeout().unwrap();
            link.handle_timeout(now);
            assert_eq!(outputs(&mut link), [Output::Ping]);
            assert_eq!(link.next_timeout(), None, "one ping at a time");
            link.handle(now, Input::Pinged(answers));
        }
        assert_eq!(
            outputs(&mut link),
            [Output::Ping],
            "one missed answer is chance"
        );
        link.handle(now, Input::Pinged(false));
        let all = outputs(&mut link);
        assert_eq!(all.first(), Some(&Output::Lost), "{all:?}");
        assert!(link.next_timeout().is_some());
        link.handle(now, Input::Pinged(true));
        assert_eq!(outputs(&mut link), [], "too late to matter");
    }

    #[test]
    fn a_moved_publish_port_is_followed() {
        let now = Instant::now();
        let mut link = ready_link(now);
        let later = now + RENEW_INTERVAL_MIN;
        link.handle(later, Input::Refused { credentials: 1 });
        link.handle(
            later,
            Input::SignedIn {
                publish_port: PORT + 1,
            },
        );
        let all = outputs(&mut link);
        assert_eq!(
            all.last(),
            Some(&Output::Subscribe {
                address: ADDRESS,
                port: PORT + 1
            })
        );
    }

    #[test]
    fn a_rejected_key_is_reported_and_still_tried() {
        let now = Instant::now();
        let mut link = Link::new(LinkTiming::default(), 1);
        link.handle(now, Input::Start);
        link.handle(now, Input::Resolved(ADDRESS));
        link.handle(now, Input::SignInFailed(SignInFailure::Rejected));
        let all = outputs(&mut link);
        assert!(all.contains(&Output::RefusedForGood), "{all:?}");
        assert!(link.next_timeout().is_some());
    }

    /// Whatever arrives in whatever order, the link never gets stuck: it is
    /// ready, waits for an answer it asked for, or has a timer.
    #[test]
    fn no_order_of_events_leaves_a_link_stuck() {
        for seed in 0..3000 {
            let mut chance = Chance::new(seed);
            let mut now = Instant::now();
            let mut link = Link::new(LinkTiming::default(), seed);
            link.handle(now, Input::Start);
            let mut signing_in = false;
            for _ in 0..60 {
                for output in outputs(&mut link) {
                    signing_in |= matches!(output, Output::SignIn { .. });
                }
                let stuck = !link.is_ready() && !signing_in && link.next_timeout().is_none();
                assert!(!stuck, "seed {seed}: {link:?}");
                now += chance.up_to(Duration::from_secs(4));
                let input = match chance.next_u64() % 10 {
                    0 => Input::Resolved(ADDRESS),
                    1 => Input::NotResolved("no such host".to_owned()),
                    2 | 3 if signing_in => Input::SignedIn { publish_port: PORT },
                    4 if signing_in => Input::SignInFailed(SignInFailure::NoAnswer),
                    5 if signing_in => Input::SignInFailed(SignInFailure::Mistrusted("x".into())),
                    6 => Input::Connected,
                    7 => Input::Disconnected,
                    8 => Input::Refused {
                        credentials: link.credentials(),
                    },
                    _ => {
                        link.handle_timeout(now);
                        continue;
                    }
                };
                if matches!(input, Input::SignedIn { .. } | Input::SignInFailed(_)) {
                    signing_in = false;
                }
                link.handle(now, input);
            }
        }
    }
}
