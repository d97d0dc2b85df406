//! The states of a minion's key and their names.

use std::fmt;

use halite_crypto::{HashType, clean_key, fingerprint_path, fingerprint_text};
use halite_proto::MinionId;

/// The state of a minion's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyState {
    /// The minion may sign in.
    Accepted,
    /// A key that came for an id that has another one. It is kept to be looked
    /// at; the id's own state is another matter.
    Denied,
    /// The minion waits for an answer.
    Pending,
    /// The minion may not sign in.
    Rejected,
}

impl KeyState {
    /// All states in the order in which screens list them.
    pub const ALL: [Self; 4] = [Self::Accepted, Self::Denied, Self::Pending, Self::Rejected];

    /// The states that an id can be in, by precedence: if a key is in several
    /// directories, the first one here decides.
    pub const LOOKUP: [Self; 3] = [Self::Rejected, Self::Pending, Self::Accepted];

    /// The directory below the pki directory, which is also the name in
    /// structured output.
    pub fn dir_name(self) -> &'static str {
        match self {
            Self::Accepted => "minions",
            Self::Denied => "minions_denied",
            Self::Pending => "minions_pre",
            Self::Rejected => "minions_rejected",
        }
    }

    /// The state of that directory.
    pub fn from_dir_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.dir_name() == name)
    }

    /// What `salt/key` events of 3008 call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Denied => "denied",
            Self::Pending => "pending",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A minion's key in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The state it is in.
    pub state: KeyState,
    /// Its text.
    pub pem: String,
}

impl StoredKey {
    /// Whether `pem` is the same key, line ends and outer white space aside.
    pub fn is_same_key(&self, pem: &str) -> bool {
        clean_key(&self.pem) == clean_key(pem)
    }
}

/// Ids by state, each list sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Minions that may sign in.
    pub accepted: Vec<MinionId>,
    /// Whose id was claimed with another key.
    pub denied: Vec<MinionId>,
    /// Minions that wait for a decision.
    pub pending: Vec<MinionId>,
    /// Minions that may not sign in.
    pub rejected: Vec<MinionId>,
}

impl Listing {
    /// The ids in one state.
    pub fn in_state(&self, state: KeyState) -> &[MinionId] {
        match state {
            KeyState::Accepted => &self.accepted,
            KeyState::Denied => &self.denied,
            KeyState::Pending => &self.pending,
            KeyState::Rejected => &self.rejected,
        }
    }

    /// The same with other ids in one state.
    #[must_use]
    pub fn with(mut self, state: KeyState, ids: Vec<MinionId>) -> Self {
        *self.of_mut(state) = ids;
        self
    }

    pub(crate) fn of_mut(&mut self, state: KeyState) -> &mut Vec<MinionId> {
        match state {
            KeyState::Accepted => &mut self.accepted,
            KeyState::Denied => &mut self.denied,
            KeyState::Pending => &mut self.pending,
            KeyState::Rejected => &mut self.rejected,
        }
    }

    /// Each state with its ids, in the order of [`KeyState::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (KeyState, &[MinionId])> {
        KeyState::ALL
            .into_iter()
            .map(|state| (state, self.in_state(state)))
    }

    /// Whether no state has any id.
    pub fn is_empty(&self) -> bool {
        KeyState::ALL
            .into_iter()
            .all(|state| self.in_state(state).is_empty())
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.iter().map(|(_, ids)| ids.len()).sum()
    }

    /// The part of it that is in one of `states`.
    #[must_use]
    pub fn only(mut self, states: &[KeyState]) -> Self {
        for state in KeyState::ALL {
            if !states.contains(&state) {
                self.of_mut(state).clear();
            }
        }
        self
    }
}

/// The change of one id's key, for the event and the message about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Whose key it is.
    pub id: MinionId,
    /// The state it was in.
    pub from: KeyState,
    /// The state it is in now; none when it was deleted.
    pub to: Option<KeyState>,
    /// The key's text.
    pub pem: String,
}

/// The form of a key's fingerprint; Salt has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FingerForm {
    /// The fingerprint of the lines between the armour: `master_finger`, `key.finger`,
    /// and `salt-key -f` of 3006 and 3007.
    Body,
    /// The fingerprint of the whole text: `salt-key -f` and `-F` of 3008.
    WholeText,
}

impl FingerForm {
    /// The fingerprint of a key's text.
    pub(crate) fn fingerprint(self, text: &[u8], hash_type: HashType) -> String {
        match self {
            Self::Body => fingerprint_path(text, hash_type),
            Self::WholeText => fingerprint_text(text, hash_type),
        }
    }
}
