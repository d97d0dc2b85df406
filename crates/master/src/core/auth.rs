//! Decides a sign-in: the answer to the minion, what happens to its key, and which
//! event is fired.
//!
//! Invariant: a key is granted access only when it is the accepted one, or when the
//! admin's configuration says to accept it; nothing a minion sends can replace an
//! accepted key outside `open_mode`.

/// The state of the offered key in the key store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownKey {
    /// No key of this id is known.
    None,
    /// A key waits to be accepted.
    Pending {
        /// Whether it is the offered one.
        same: bool,
    },
    /// A key is accepted.
    Accepted {
        /// Whether it is the offered one.
        same: bool,
    },
    /// The id's key was rejected.
    Rejected,
}

impl KnownKey {
    /// Whether the autoreject list has a say.
    pub fn asks_autoreject(self, open_mode: bool) -> bool {
        !open_mode && matches!(self, Self::None | Self::Pending { .. })
    }

    /// Whether autosign has a say: only then is it asked, because asking uses
    /// up a one-time approval.
    pub fn asks_autosign(self, open_mode: bool) -> bool {
        !open_mode && matches!(self, Self::None | Self::Pending { same: true })
    }
}

/// How many minions may be connected (`max_minions`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The limit; 0 means no limit.
    pub minions_max: usize,
    /// How many are connected now.
    pub connected: usize,
    /// Whether the one that signs in is among them.
    pub is_connected: bool,
}

impl Room {
    /// No limit.
    pub const UNLIMITED: Self = Self {
        minions_max: 0,
        connected: 0,
        is_connected: false,
    };

    fn is_full(self) -> bool {
        self.minions_max > 0 && self.connected > self.minions_max && !self.is_connected
    }
}

/// Everything a decision depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The state of the key in the key store.
    pub known: KnownKey,
    /// Whether a new minion may have this id.
    pub id_allowed: bool,
    /// Whether the offered key is a public key at all.
    pub key_usable: bool,
    /// Whether `open_mode` is on.
    pub open_mode: bool,
    /// The limit on connected minions.
    pub room: Room,
    /// Whether the id is on the autoreject list.
    pub autoreject: bool,
    /// Whether `auto_accept`, a list, a stub file or a grain approves the id.
    pub autosign: bool,
    /// Whether the wanted encryption algorithm exists.
    pub enc_algo_known: bool,
    /// Whether the wanted signature algorithm exists.
    pub sig_algo_known: bool,
}

/// The answer to the minion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The keys of the master: signed in.
    Granted,
    /// `ret: true`: wait until an admin accepts the key.
    Pending,
    /// `ret: false`: rejected or denied.
    Refused,
    /// `ret: false`: no new minion may have this id.
    BadId,
    /// `ret: "full"`.
    Full,
    /// `ret: "bad enc algo"`, unsigned.
    BadEncAlgo,
    /// `ret: "bad sig algo"`, unsigned.
    BadSigAlgo,
}

/// Where the offered key is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filing {
    /// Among the accepted ones, replacing whatever is known of the id.
    Accepted,
    /// Among the pending ones.
    Pending,
    /// Among the rejected ones.
    Rejected,
    /// Among the denied ones, beside what is known of the id.
    Denied,
}

/// The word an event `salt/auth` carries as `act`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Signed in.
    Accept,
    /// Waits for an admin.
    Pend,
    /// Rejected by an admin or a list.
    Reject,
    /// The id is known with another key.
    Denied,
    /// `max_minions` is reached.
    Full,
}

impl Act {
    /// The word on the event bus.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Pend => "pend",
            Self::Reject => "reject",
            Self::Denied => "denied",
            Self::Full => "full",
        }
    }

    /// The event's `result`: whether the key is not refused.
    pub fn result(self) -> bool {
        matches!(self, Self::Accept | Self::Pend)
    }
}

/// A decision with its effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer to the minion.
    pub verdict: Verdict,
    /// Where the key is put, if it is moved at all.
    pub filing: Option<Filing>,
    /// The `act` of the event, if one is fired.
    pub event: Option<Act>,
}

impl Decision {
    const fn new(verdict: Verdict, filing: Option<Filing>, event: Option<Act>) -> Self {
        Self {
            verdict,
            filing,
            event,
        }
    }

    const fn silent_refusal() -> Self {
        Self::new(Verdict::Refused, None, None)
    }
}

/// Decides a sign-in whose minion id is valid.
///
/// An unusable key is refused before it could be stored, pending included:
/// Salt files any text, and an admin would accept it later. So is an id that
/// new minions may not have, whatever would accept it; a key that is accepted
/// already keeps its id.
pub fn decide(facts: &Facts) -> Decision {
    if !facts.id_allowed && facts.known != (KnownKey::Accepted { same: true }) {
        return Decision::new(Verdict::BadId, None, None);
    }
    if facts.room.is_full() {
        return Decision::new(Verdict::Full, None, Some(Act::Full));
    }
    if facts.open_mode {
        return accept(facts);
    }
    match facts.known {
        KnownKey::Rejected => Decision::new(Verdict::Refused, None, Some(Act::Reject)),
        KnownKey::Accepted { same: true } => accept(facts),
        _ if !facts.key_usable => Decision::silent_refusal(),
        KnownKey::Accepted { same: false } => deny(),
        KnownKey::None | KnownKey::Pending { .. } if facts.autoreject => {
            Decision::new(Verdict::Refused, Some(Filing::Rejected), Some(Act::Reject))
        }
        KnownKey::Pending { same: false } => deny(),
        KnownKey::None | KnownKey::Pending { same: true } if facts.autosign => accept(facts),
        KnownKey::None => Decision::new(Verdict::Pending, Some(Filing::Pending), Some(Act::Pend)),
        KnownKey::Pending { same: true } => Decision::new(Verdict::Pending, None, Some(Act::Pend)),
    }
}

fn deny() -> Decision {
    Decision::new(Verdict::Refused, Some(Filing::Denied), Some(Act::Denied))
}

fn accept(facts: &Facts) -> Decision {
    if !facts.key_usable {
        return Decision::silent_refusal();
    }
    let filing = match facts.known {
        KnownKey::Accepted { same: true } => None,
        _ => Some(Filing::Accepted),
    };
    if !facts.enc_algo_known {
        Decision::new(Verdict::BadEncAlgo, filing, None)
    } else if !facts.sig_algo_known {
        Decision::new(Verdict::BadSigAlgo, filing, Some(Act::Accept))
    } else {
        Decision::new(Verdict::Granted, filing, Some(Act::Accept))
    }
}

#[cfg(test)]
mod tests;
