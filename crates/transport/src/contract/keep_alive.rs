//! TCP keep-alive, which every transport over TCP uses.

/// TCP keep-alive: when the system asks a silent peer whether it still lives.
/// -1 leaves a value to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Whether to ask at all.
    pub on: bool,
    /// Seconds of silence before the first question.
    pub idle_s: i32,
    /// Unanswered questions before the connection is dead.
    pub count: i32,
    /// Seconds between questions.
    pub interval_s: i32,
}

impl KeepAlive {
    /// Salt's options for minions and for the publish port.
    pub const PEER: Self = Self {
        on: true,
        idle_s: 300,
        count: -1,
        interval_s: -1,
    };

    /// Salt's values for a master's request port.
    pub const SERVER: Self = Self {
        on: true,
        idle_s: 60,
        count: 3,
        interval_s: 15,
    };
}
