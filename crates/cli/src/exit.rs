//! Exit codes.
//!
//! They are Salt's (`salt/defaults/exitcodes.py`, 3008.5, and the observed codes of
//! its programs); where ours differ, `docs/differences.md` says so. Scripts test
//! them, so nothing else in the programs names a number.

use std::process::ExitCode;

/// How a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Ok,
    /// A minion's return code was not 0, a minion is missing, or something
    /// failed that has no code of its own.
    Failure,
    /// `salt` matched no minion or got nothing back.
    NoReturn,
    /// The configuration that a client reads was refused.
    ClientConfig,
    /// The master has not accepted this minion's key (`salt-call`).
    KeyPending,
    /// `salt` was called without a target or a function.
    Incomplete,
    /// An option or its value is wrong, or not supported.
    Usage,
    /// The user to run as does not exist.
    NoUser,
    /// Logging could not be set up.
    Unavailable,
    /// A daemon's configuration was refused.
    Config,
    /// The function that `salt-call` should run does not exist.
    NoFunction,
    /// What a function left as its return code.
    Passthrough(i64),
}

impl Exit {
    /// The number for the operating system.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failure => 1,
            Self::NoReturn | Self::ClientConfig | Self::KeyPending => 2,
            Self::Incomplete => 42,
            Self::Usage => 64,
            Self::NoUser => 67,
            Self::Unavailable => 69,
            Self::Config => 78,
            Self::NoFunction => 255,
            // The system keeps the lowest byte of any number.
            Self::Passthrough(code) => code.to_le_bytes()[0],
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_that_scripts_know() {
        for (exit, code) in [
            (Exit::Ok, 0),
            (Exit::Failure, 1),
            (Exit::NoReturn, 2),
            (Exit::ClientConfig, 2),
            (Exit::KeyPending, 2),
            (Exit::Incomplete, 42),
            (Exit::Usage, 64),
            (Exit::NoUser, 67),
            (Exit::Unavailable, 69),
            (Exit::Config, 78),
            (Exit::NoFunction, 255),
            (Exit::Passthrough(7), 7),
            (Exit::Passthrough(256), 0),
            (Exit::Passthrough(-1), 255),
        ] {
            assert_eq!(exit.code(), code, "{exit:?}");
        }
    }
}
