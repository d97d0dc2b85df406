//! The order of publications.

/// Lets each publication through once and in order: a serial that is not
/// larger than the last one seen belongs to a repeated or late message.
///
/// One gate belongs to one publish key; a new key starts a new gate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SerialGate {
    last: u64,
}

impl SerialGate {
    /// A gate that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a message with this serial may pass; it is remembered if so.
    /// A message without one always passes, as with Salt.
    pub fn admit(&mut self, serial: Option<u64>) -> bool {
        match serial {
            None => true,
            Some(serial) if serial > self.last => {
                self.last = serial;
                true
            }
            Some(_) => false,
        }
    }

    /// Closes the gate for all serials up to `last`: they were used before.
    pub fn raise(&mut self, last: u64) {
        self.last = self.last.max(last);
    }

    /// The last serial that passed, 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }
}
