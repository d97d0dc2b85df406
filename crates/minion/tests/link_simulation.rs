//! One minion against several masters that come, go, hang, change their addresses
//! and their keys, in virtual time: thousands of random histories in a second.
//! After each history the faults end, and every link must be ready, with the keys
//! that its master has now, within a bounded time.
//!
//! A failing history prints its seed; `HALITE_SIM_SEED=<seed>` repeats it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what it expects"
)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use halite_minion::core::link::{Input, Link, LinkTiming, Notice, Output, SignInFailure};
use halite_proto::chance::Chance;

const HISTORIES: u64 = 3000;
const FAULTS_LAST: Duration = Duration::from_secs(180);
/// Longest pause plus one sign-in timeout and one resolution.
const BACK_WITHIN: Duration = Duration::from_secs(45);
const AUTH_TIMEOUT: Duration = Duration::from_secs(5);
const LATENCY: Duration = Duration::from_millis(2);
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PORT: u16 = 4505;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Up,
    /// Takes connections and never answers.
    Hung,
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Resolve,
    Fail,
    Hang,
}

#[derive(Debug)]
struct Master {
    health: Health,
    names: Names,
    /// Whether this minion's key is accepted.
    accepted: bool,
    /// A new one with every start and every rotation.
    key: u64,
}

/// A link, and what its shell would hold.
struct Shell {
    link: Link,
    /// The keys of the last sign-in.
    key: u64,
    subscribed: bool,
    connected: bool,
    /// Numbers the operations, so that answers to given up ones are told apart.
    resolution: u64,
    subscription: u64,
    signing_in: bool,
    ready: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Resolve { master: usize, number: u64 },
    SignIn { master: usize },
    SignInTimeout { master: usize },
    Connect { master: usize, number: u64 },
    Ping { master: usize },
    PingTimeout { master: usize },
    Publish { master: usize },
    Timer { master: usize },
    Fault,
}

struct Simulation {
    start: Instant,
    now: Duration,
    queue: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    sequence: u64,
    masters: Vec<Master>,
    shells: Vec<Shell>,
    chance: Chance,
    sign_ins: u64,
}

impl Simulation {
    fn new(seed: u64, masters: usize) -> Self {
        let mut chance = Chance::new(seed);
        let timing = LinkTiming {
            acceptance_wait_time: Duration::from_secs(10),
            alive_interval: seed.is_multiple_of(3).then_some(Duration::from_secs(5)),
            ..LinkTiming::default()
        };
        let mut simulation = Self {
            start: Instant::now(),
            now: Duration::ZERO,
            queue: BinaryHeap::new(),
            sequence: 0,
            masters: Vec::new(),
            shells: Vec::new(),
            sign_ins: 0,
            chance: chance.clone(),
        };
        for master in 0..masters {
            simulation.masters.push(Master {
                health: Health::Up,
                names: Names::Resolve,
                accepted: true,
                key: 1,
            });
            simulation.shells.push(Shell {
                link: Link::new(timing.clone(), chance.next_u64()),
                key: 0,
                subscribed: false,
                connected: false,
                resolution: 0,
                subscription: 0,
                signing_in: false,
                ready: false,
            });
            simulation.input(master, Input::Start);
            simulation.after(Duration::from_secs(1), Event::Publish { master });
        }
        simulation.after(Duration::from_secs(1), Event::Fault);
        simulation
    }

    fn run_until(&mut self, end: Duration) {
        while let Some(Reverse((at, _, _))) = self.queue.peek()
            && *at <= end
        {
            let Some(Reverse((at, _, event))) = self.queue.pop() else {
                return;
            };
            self.now = at;
            self.happen(event);
        }
        self.now = end;
    }

    fn after(&mut self, wait: Duration, event: Event) {
        self.sequence += 1;
        self.queue
            .push(Reverse((self.now + wait, self.sequence, event)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Resolve { master, number } if self.shells[master].resolution == number => {
                match self.masters[master].names {
                    Names::Resolve => self.input(master, Input::Resolved(ADDRESS)),
                    Names::Fail => self.input(master, Input::NotResolved("no such name".into())),
                    Names::Hang => {}
                }
            }
            Event::SignIn { master } if self.shells[master].signing_in => {
                let answer = &self.masters[master];
                if answer.health != Health::Up {
                    // The requester waits for the rest of its timeout.
                    self.after(AUTH_TIMEOUT - LATENCY, Event::SignInTimeout { master });
                    return;
                }
                self.shells[master].signing_in = false;
                if answer.accepted {
                    self.shells[master].key = answer.key;
                    self.input(master, Input::SignedIn { publish_port: PORT });
                } else {
                    self.input(master, Input::SignInFailed(SignInFailure::Pending));
                }
            }
            Event::SignInTimeout { master } if self.shells[master].signing_in => {
                self.shells[master].signing_in = false;
                self.input(master, Input::SignInFailed(SignInFailure::NoAnswer));
            }
            Event::Connect { master, number } if self.shells[master].subscription == number => {
                if self.masters[master].health == Health::Up && self.shells[master].subscribed {
                    self.shells[master].connected = true;
                    self.input(master, Input::Connected);
                } else if self.shells[master].subscribed {
                    // The socket goes on trying by itself.
                    self.after(Duration::from_secs(1), Event::Connect { master, number });
                }
            }
            Event::Ping { master } => match self.masters[master].health {
                Health::Up => self.input(master, Input::Pinged(true)),
                _ => self.after(AUTH_TIMEOUT - LATENCY, Event::PingTimeout { master }),
            },
            Event::PingTimeout { master } => self.input(master, Input::Pinged(false)),
            Event::Publish { master } => {
                self.publish(master);
                self.after(Duration::from_secs(1), Event::Publish { master });
            }
            Event::Timer { master } => {
                let now = self.start + self.now;
                self.shells[master].link.handle_timeout(now);
                self.perform(master);
            }
            Event::Fault if self.now < FAULTS_LAST => {
                self.fault();
                let wait = self.chance.up_to(Duration::from_secs(12));
                self.after(wait, Event::Fault);
            }
            // What is left was overtaken.
            _ => {}
        }
    }

    fn fault(&mut self) {
        let master = usize::try_from(self.chance.next_u64()).unwrap() % self.masters.len();
        match self.chance.next_u64() % 9 {
            0 | 1 => self.set_health(master, Health::Down),
            2 => self.set_health(master, Health::Hung),
            3 | 4 => self.set_health(master, Health::Up),
            5 => self.masters[master].names = Names::Fail,
            6 => self.masters[master].names = Names::Hang,
            7 => self.masters[master].names = Names::Resolve,
            _ => {
                // The key is deleted on the master: new publish key, and the
                // minion has to be accepted again.
                self.masters[master].accepted = !self.masters[master].accepted;
                self.masters[master].key += 1;
            }
        }
    }

    fn set_health(&mut self, master: usize, health: Health) {
        let before = std::mem::replace(&mut self.masters[master].health, health);
        if before == Health::Down && health != Health::Down {
            self.masters[master].key += 1;
        }
        if health == Health::Down && std::mem::take(&mut self.shells[master].connected) {
            self.input(master, Input::Disconnected);
        }
    }

    fn publish(&mut self, master: usize) {
        let (key, health) = (self.masters[master].key, self.masters[master].health);
        let shell = &self.shells[master];
        if health == Health::Up && shell.connected && shell.key != key {
            let credentials = shell.link.credentials();
            self.input(master, Input::Refused { credentials });
        }
    }

    fn input(&mut self, master: usize, input: Input) {
        let now = self.start + self.now;
        self.shells[master].link.handle(now, input);
        self.perform(master);
    }

    fn perform(&mut self, master: usize) {
        while let Some(output) = self.shells[master].link.poll() {
            let shell = &mut self.shells[master];
            match output {
                Output::Resolve => {
                    shell.resolution += 1;
                    let number = shell.resolution;
                    self.after(LATENCY, Event::Resolve { master, number });
                }
                Output::SignIn { .. } => {
                    assert!(!shell.signing_in, "two sign-ins at once");
                    shell.signing_in = true;
                    self.sign_ins += 1;
                    self.after(LATENCY, Event::SignIn { master });
                }
                Output::Subscribe { .. } => {
                    shell.subscription += 1;
                    shell.subscribed = true;
                    shell.connected = false;
                    let number = shell.subscription;
                    self.after(LATENCY, Event::Connect { master, number });
                }
                Output::Unsubscribe => {
                    shell.subscribed = false;
                    shell.connected = false;
                }
                Output::Ready { .. } => {
                    assert!(!shell.ready, "ready twice");
                    shell.ready = true;
                }
                Output::Lost => {
                    assert!(shell.ready, "lost what was not ready");
                    shell.ready = false;
                }
                Output::Ping => self.after(LATENCY, Event::Ping { master }),
                Output::RefusedForGood | Output::Say(_) => {}
            }
            let shell = &self.shells[master];
            assert_eq!(shell.ready, shell.link.is_ready());
            assert!(
                !shell.ready || shell.connected,
                "ready without a connection"
            );
        }
        let shell = &self.shells[master];
        let waits = shell.ready || shell.signing_in;
        assert!(
            waits || shell.link.next_timeout().is_some(),
            "stuck: {:?}",
            shell.link
        );
        if let Some(at) = shell.link.next_timeout() {
            let wait = at.saturating_duration_since(self.start + self.now);
            self.after(wait, Event::Timer { master });
        }
    }

    fn end_faults(&mut self) {
        for master in 0..self.masters.len() {
            self.masters[master].names = Names::Resolve;
            self.masters[master].accepted = true;
            self.set_health(master, Health::Up);
        }
    }
}

fn history(seed: u64) {
    let masters = [1, 2, 3, 5][usize::try_from(seed % 4).unwrap()];
    let mut simulation = Simulation::new(seed, masters);
    simulation.run_until(FAULTS_LAST);
    simulation.end_faults();
    simulation.run_until(FAULTS_LAST + BACK_WITHIN);
    for (master, (shell, is)) in simulation
        .shells
        .iter()
        .zip(&simulation.masters)
        .enumerate()
    {
        assert!(
            shell.ready,
            "master {master} is not ready: {:?}",
            shell.link
        );
        assert_eq!(shell.key, is.key, "master {master}: old keys");
    }
    // A fault makes a few sign-ins, a master that is away one in five seconds:
    // no history may turn into a storm.
    let seconds = (FAULTS_LAST + BACK_WITHIN).as_secs();
    let most = seconds * u64::try_from(masters).unwrap();
    assert!(
        simulation.sign_ins < most,
        "{} sign-ins in {seconds} s",
        simulation.sign_ins
    );
}

#[test]
fn every_history_ends_with_every_link_ready() {
    let seeds = match std::env::var("HALITE_SIM_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("HALITE_SIM_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 0..HISTORIES,
    };
    for seed in seeds {
        if let Err(panic) = std::panic::catch_unwind(|| history(seed)) {
            eprintln!("failed with HALITE_SIM_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// #32201 #30595: a key that waits for a week is offered at the pace that is
/// configured, is told of once, and leaves nothing behind.
#[test]
fn a_key_that_waits_for_a_week_keeps_its_pace() {
    const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
    for (wait, wait_max, pace) in [(10, 0, 10), (10, 60, 60), (1, 3, 3)] {
        let timing = LinkTiming {
            acceptance_wait_time: Duration::from_secs(wait),
            acceptance_wait_time_max: Duration::from_secs(wait_max),
            ..LinkTiming::default()
        };
        let start = Instant::now();
        let mut now = start;
        let mut link = Link::new(timing, 1);
        link.handle(now, Input::Start);
        let (mut offers, mut notices) = (0, 0);
        while now < start + WEEK {
            let mut waits = 0;
            while let Some(output) = link.poll() {
                waits += 1;
                match output {
                    Output::Resolve => link.handle(now, Input::Resolved(ADDRESS)),
                    Output::SignIn { .. } => {
                        offers += 1;
                        let pending = Input::SignInFailed(SignInFailure::Pending);
                        link.handle(now, pending);
                    }
                    Output::Say(notice) => {
                        assert_eq!(notice, Notice::Pending);
                        notices += 1;
                    }
                    other => panic!("unexpected {other:?}"),
                }
            }
            assert!(waits <= 3, "{waits} things to do at once");
            now = link.next_timeout().expect("a timer");
            link.handle_timeout(now);
        }
        let expected = WEEK.as_secs() / pace;
        let near = expected - 60..=expected + 60;
        assert!(near.contains(&offers), "{offers} offers, not {expected}");
        assert_eq!(notices, 1);
        // Accepted at last: it is ready with the next offer.
        while let Some(output) = link.poll() {
            match output {
                Output::Resolve => link.handle(now, Input::Resolved(ADDRESS)),
                Output::SignIn { .. } => link.handle(now, Input::SignedIn { publish_port: PORT }),
                Output::Subscribe { .. } => link.handle(now, Input::Connected),
                _ => {}
            }
        }
        assert!(link.is_ready());
    }
}

/// #34055: a fleet of a thousand whose master starts again comes back spread
/// over a moment, and is back within a bound.
#[test]
fn a_herd_comes_back_spread_and_in_time() {
    const HERD: u64 = 1000;
    /// The master is away for so long.
    const AWAY: Duration = Duration::from_secs(20);
    let timing = LinkTiming {
        retry_max: Duration::from_secs(4),
        ..LinkTiming::default()
    };
    let start = Instant::now();
    let mut back: Vec<Duration> = Vec::new();
    for seed in 0..HERD {
        let mut now = start;
        let mut link = Link::new(timing.clone(), seed);
        link.handle(now, Input::Start);
        while !link.is_ready() {
            while let Some(output) = link.poll() {
                let is_away = now < start + AWAY;
                match output {
                    Output::Resolve => link.handle(now, Input::Resolved(ADDRESS)),
                    Output::SignIn { .. } if is_away => {
                        link.handle(now, Input::SignInFailed(SignInFailure::NoAnswer));
                    }
                    Output::SignIn { .. } => {
                        link.handle(now, Input::SignedIn { publish_port: PORT });
                    }
                    Output::Subscribe { .. } => link.handle(now, Input::Connected),
                    _ => {}
                }
            }
            if let Some(at) = link.next_timeout().filter(|_| !link.is_ready()) {
                now = at;
                link.handle_timeout(now);
            }
        }
        back.push(now - start - AWAY);
    }
    back.sort();
    let last = back.last().copied().unwrap_or_default();
    assert!(
        last <= Duration::from_secs(6),
        "the last is back after {last:?}"
    );
    let busiest = (0..60).map(|tenth: u64| {
        let tick = Duration::from_millis(tenth * 100);
        let within = |at: &&Duration| (tick..tick + Duration::from_millis(100)).contains(*at);
        back.iter().filter(within).count()
    });
    let busiest = busiest.max().unwrap_or_default();
    assert!(
        busiest <= 100,
        "{busiest} of {HERD} within a tenth of a second"
    );
}
