//! The timing of a link: the options, and our own limits.

use std::time::Duration;

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

/// The longest time that a busy master may delay a minion's next sign-in, plus an eighth
/// of it by which the fleet is spread. The master's answer is not signed, but whoever can
/// forge it could as well block the minion.
pub const COME_AGAIN_MAX: Duration = Duration::from_secs(60);

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
    /// `auth_tries` where it is set and one master at a time serves: sign-ins
    /// without an answer before the link is stuck. The master may be starting.
    pub sign_in_tries: u32,
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
            sign_in_tries: 1,
            renew_spread: Duration::ZERO,
            rejected_retry: false,
            subscribes: true,
            alive_interval: None,
        }
    }
}
