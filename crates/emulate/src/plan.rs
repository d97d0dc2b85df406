//! The parameters of a herd.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use halite_minion::core::link::RETRY_FIRST;
use halite_proto::{MasterUri, MinionId, Transport};

use crate::limits::{DESCRIPTORS_KEPT, DESCRIPTORS_PER_LINK, DESCRIPTORS_PER_MINION};

/// The longest pause between tries to reach a master of a minion without `recon_max`.
const RETRY_MAX: Duration = Duration::from_secs(4);

/// `recon_default` and `recon_max` of a minion that sets none.
const RECON_DEFAULT: Duration = Duration::from_secs(1);
const RECON_MAX: Duration = Duration::from_secs(10);

/// A herd of minions.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many.
    pub count: u32,
    /// The number of the first one; several processes make one herd by it.
    pub first: u32,
    /// What ids begin with; the number follows.
    pub prefix: String,
    /// Their masters, each as it stands in `master:`.
    pub masters: Vec<(String, MasterUri)>,
    /// Where keys and the minions' directories are kept.
    pub dir: PathBuf,
    /// Key pairs that the minions share, in turn; `None`: each has its own.
    pub keys: Option<u32>,
    /// Bits of a key.
    pub key_bits: u32,
    /// The address of the first minion, which the others' follow; `None`: the
    /// system's choice.
    pub source: Option<Ipv4Addr>,
    /// Minions that are started in a second; `None`: as fast as it goes.
    pub ramp_per_s: Option<f64>,
    /// What they do with jobs.
    pub work: Work,
    /// How they come back.
    pub reconnect: Reconnect,
    /// Events that all of them send to their masters in a second.
    pub events_per_s: f64,
    /// Minions that are ended and started again in a second.
    pub churn_per_s: f64,
    /// `mine_interval` in minutes; 0: no mine.
    pub mine_interval: u32,
    /// `transport`.
    pub transport: Transport,
    /// `zmq_filtering`.
    pub filtering: bool,
}

/// What a minion does with a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// How long it thinks at least, before a job begins.
    pub think_min: Duration,
    /// How long it thinks at most.
    pub think_max: Duration,
    /// Bytes of what a state run returns, about.
    pub state_bytes: usize,
    /// The share of state runs that fail, 0 to 1.
    pub failing: f64,
    /// The share of minions that take jobs and never answer, 0 to 1.
    pub silent: f64,
}

/// The options of a minion about coming back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// The first pause of a link before it signs in again.
    pub first: Duration,
    /// The longest one.
    pub max: Duration,
    /// The first and the longest pause of a connection.
    pub connections: (Duration, Duration),
    /// `acceptance_wait_time`.
    pub acceptance: Duration,
    /// `random_reauth_delay`.
    pub renew_spread: Duration,
    /// `auth_timeout`.
    pub auth_timeout: Duration,
}

impl Plan {
    /// The id of the minion with this number.
    ///
    /// # Errors
    /// When the prefix is no part of an id.
    pub fn id(&self, number: u32) -> Result<MinionId, halite_proto::IdError> {
        MinionId::parse(format!("{}{number:05}", self.prefix))
    }

    /// The address of the minion with this number.
    pub fn address(&self, number: u32) -> Option<IpAddr> {
        let first = u32::from(self.source?);
        Some(Ipv4Addr::from(first.wrapping_add(number)).into())
    }

    /// The numbers of its minions.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.count)
    }

    /// The number of a minion's first link among those of the process.
    pub fn first_link(&self, number: u32) -> usize {
        number.saturating_sub(self.first) as usize * self.masters.len()
    }

    /// Links of all minions.
    pub fn links(&self) -> usize {
        self.count as usize * self.masters.len()
    }

    /// Descriptors that the process needs.
    pub fn descriptors(&self) -> u64 {
        let links = DESCRIPTORS_PER_LINK * self.masters.len() as u64;
        u64::from(self.count) * (links + DESCRIPTORS_PER_MINION) + DESCRIPTORS_KEPT
    }
}

impl Reconnect {
    /// As a minion with these options: where they are not set, links pause shorter than
    /// Salt's options say, and connections as these say.
    pub fn of_minion(recon_default: Option<Duration>, recon_max: Option<Duration>) -> Self {
        Self {
            first: recon_default.unwrap_or(RETRY_FIRST),
            max: recon_max.unwrap_or(RETRY_MAX),
            connections: (
                recon_default.unwrap_or(RECON_DEFAULT),
                recon_max.unwrap_or(RECON_MAX),
            ),
            acceptance: Duration::from_secs(10),
            renew_spread: Duration::ZERO,
            auth_timeout: Duration::from_secs(5),
        }
    }
}

impl Work {
    /// Whether the minion with this number never answers.
    pub fn is_silent(&self, number: u32) -> bool {
        is_among(number, self.silent)
    }
}

/// Whether a number is among a share of all numbers, spread evenly.
fn is_among(number: u32, share: f64) -> bool {
    let upto = |number: u32| (f64::from(number) * share).floor();
    upto(number.saturating_add(1)) > upto(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_that_are_set_hold_for_links_and_connections() {
        let (set, unset) = (Some(Duration::from_millis(7)), None);
        let plain = Reconnect::of_minion(unset, unset);
        assert_eq!((plain.first, plain.max), (RETRY_FIRST, RETRY_MAX));
        assert_eq!(plain.connections, (RECON_DEFAULT, RECON_MAX));
        let own = Reconnect::of_minion(set, unset);
        assert_eq!((Some(own.first), own.max), (set, RETRY_MAX));
        assert_eq!(
            (Some(own.connections.0), own.connections.1),
            (set, RECON_MAX)
        );
        let own = Reconnect::of_minion(unset, set);
        assert_eq!((own.first, Some(own.max)), (RETRY_FIRST, set));
        assert_eq!(
            (own.connections.0, Some(own.connections.1)),
            (RECON_DEFAULT, set)
        );
    }

    #[test]
    fn a_share_is_spread_evenly() {
        let count = |share| (0..1000).filter(|n| is_among(*n, share)).count();
        assert_eq!([0.0, 0.02, 0.5, 1.0].map(count), [0, 20, 500, 1000]);
        let first_half = (0..500).filter(|n| is_among(*n, 0.02)).count();
        assert_eq!(first_half, 10);
    }
}
