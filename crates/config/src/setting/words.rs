//! Options that are one of a few words.

use halite_proto::{Transport, Value};
use halite_yaml::Node;

use super::Setting;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* } $allowed:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl Setting for $name {
            const ALLOWED: &'static str = $allowed;

            fn read(node: &Node) -> Option<Self> {
                match node.as_str()? {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }

            fn to_value(&self) -> Value {
                Value::from(match self {
                    $(Self::$variant => $word,)*
                })
            }
        }
    };
}

words! {
    /// `master_type`.
    MasterType {
        /// Every master of the list is served.
        Str = "str",
        /// The first that answers, the next when it is lost.
        Failover = "failover",
        /// Like failover, starting with one that the id decides.
        Distributed = "distributed",
        /// A function gives the masters.
        Func = "func",
        /// No master.
        Disable = "disable",
    }
    "str, failover, distributed, func or disable"
}

words! {
    /// `master_uri_format`.
    UriFormat {
        /// Names or addresses, with or without ports.
        Default = "default",
        /// Addresses without ports.
        IpOnly = "ip_only",
    }
    "default or ip_only"
}

words! {
    /// `ipc_mode`.
    IpcMode {
        /// Unix sockets.
        Ipc = "ipc",
        /// TCP on the loopback interface.
        Tcp = "tcp",
    }
    "ipc or tcp"
}

words! {
    /// `api`, an option of our own.
    ApiHost {
        /// In `salt-api`, where that is started.
        Separate = "separate",
        /// Within the master, which starts and ends it.
        Embedded = "embedded",
    }
    "separate (what salt-api serves) or embedded (what the master serves itself)"
}

words! {
    /// `event_bus_framing`, an option of our own.
    BusFraming {
        /// What the program at the other end wants, as far as can be told.
        Auto = "auto",
        /// As 3007 and later.
        Bare = "bare",
        /// As 3006, each event's length in front.
        Prefixed = "prefixed",
    }
    "auto, bare (Salt 3007 and later) or prefixed (Salt 3006)"
}

/// `minion_data_layout`, an option of our own: the release of Salt whose programs find
/// minions' grains, pillar and mine in the master's cache directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataLayout {
    /// 3008 alone.
    Salt3008,
    /// 3006 and 3007 as well.
    Salt3006,
}

impl Setting for DataLayout {
    const ALLOWED: &'static str = "3008, or 3006 (which serves 3007 too)";

    fn read(node: &Node) -> Option<Self> {
        let release = match node.as_scalar()? {
            Value::Int(number) => number.to_string(),
            text => text.as_str()?.to_owned(),
        };
        match release.as_str() {
            "3008" => Some(Self::Salt3008),
            "3006" => Some(Self::Salt3006),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::from(match self {
            Self::Salt3008 => 3008,
            Self::Salt3006 => 3006,
        })
    }
}

impl Setting for Transport {
    const ALLOWED: &'static str = "zeromq (the tcp and ws transports are not honoured here)";

    fn read(node: &Node) -> Option<Self> {
        Self::parse(node.as_str()?)
    }

    fn to_value(&self) -> Value {
        Value::from(self.name())
    }
}

macro_rules! named {
    ($(#[$doc:meta])* $name:ident, [$($word:literal),*], $allowed:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(pub String);

        impl Setting for $name {
            const ALLOWED: &'static str = $allowed;

            fn read(node: &Node) -> Option<Self> {
                let text = node.as_str()?.to_ascii_lowercase();
                [$($word),*].contains(&text.as_str()).then_some(Self(text))
            }

            fn to_value(&self) -> Value {
                Value::from(self.0.as_str())
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

named! {
    /// `hash_type`.
    HashName, ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"],
    "md5, sha1, sha224, sha256, sha384 or sha512"
}

named! {
    /// A level of logging.
    LevelName,
    ["all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet"],
    "all, garbage, trace, debug, profile, info, warning, error, critical or quiet"
}
