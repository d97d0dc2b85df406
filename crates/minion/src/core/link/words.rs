//! The inputs and outputs of a link, and its state as shown to others.

use std::net::IpAddr;
use std::time::Duration;

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
    /// The master is busy with other sign-ins, and wants this one again after so
    /// long. Nobody has signed that.
    Busy(Duration),
    /// The reply cannot be trusted or understood; the text says why.
    Mistrusted(String),
}

/// The next action of the shell.
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
    /// The master is busy with other sign-ins.
    Busy,
    /// The master's answer cannot be trusted.
    Mistrusted(String),
}

/// The state of a link, for reports.
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
