//! Salt's transports for messages between minions and masters.

/// The option `transport`: how messages travel between minions and masters.
///
/// Only what is built is listed, so a value that exists can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transport {
    /// ZeroMQ, Salt's default.
    #[default]
    ZeroMq,
}

impl Transport {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::ZeroMq];

    /// The transport that a configuration calls by this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::ZeroMq => "zeromq",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transport_is_known_by_its_name() {
        for transport in Transport::ALL {
            assert_eq!(Transport::parse(transport.name()), Some(transport));
        }
        for unknown in ["", "ZeroMQ", "tcp", "ws"] {
            assert_eq!(Transport::parse(unknown), None, "{unknown:?}");
        }
    }
}
