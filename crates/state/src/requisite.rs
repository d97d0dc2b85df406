//! The kinds of requisites.
//!
//! Invariant: the order of the variants is their weight, which decides how far
//! a dependency moves forward (Salt's `utils/requisite.py`, 3008.5).

/// A relation of a state to one it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requisite {
    /// Run only if the other failed.
    Onfail,
    /// Run if any of the others failed.
    OnfailAny,
    /// Run if all of the others failed.
    OnfailAll,
    /// Run after the other, and only if it did not fail.
    Require,
    /// Run if any of the others did not fail.
    RequireAny,
    /// Run only if the other changed something.
    Onchanges,
    /// Run if any of the others changed something.
    OnchangesAny,
    /// Like require, and react to changes with `mod_watch`.
    Watch,
    /// Like watch, satisfied by any of the others.
    WatchAny,
    /// Run before the other, and only if the other would change something.
    Prereq,
    /// The other end of prereq.
    Prerequired,
    /// React to changes at the end of the run.
    Listen,
}

impl Requisite {
    /// Every kind, lightest first.
    pub const ALL: [Self; 12] = [
        Self::Onfail,
        Self::OnfailAny,
        Self::OnfailAll,
        Self::Require,
        Self::RequireAny,
        Self::Onchanges,
        Self::OnchangesAny,
        Self::Watch,
        Self::WatchAny,
        Self::Prereq,
        Self::Prerequired,
        Self::Listen,
    ];

    /// Those that become edges of the graph, in the order in which they are
    /// looked at.
    pub const DIRECT: [Self; 10] = [
        Self::Require,
        Self::RequireAny,
        Self::Watch,
        Self::WatchAny,
        Self::Prereq,
        Self::Onfail,
        Self::OnfailAny,
        Self::OnfailAll,
        Self::Onchanges,
        Self::OnchangesAny,
    ];

    /// The argument that declares it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Onfail => "onfail",
            Self::OnfailAny => "onfail_any",
            Self::OnfailAll => "onfail_all",
            Self::Require => "require",
            Self::RequireAny => "require_any",
            Self::Onchanges => "onchanges",
            Self::OnchangesAny => "onchanges_any",
            Self::Watch => "watch",
            Self::WatchAny => "watch_any",
            Self::Prereq => "prereq",
            Self::Prerequired => "prerequired",
            Self::Listen => "listen",
        }
    }

    /// The kind that the argument `name` declares.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// How much it counts for the order.
    pub fn weight(self) -> u8 {
        self as u8
    }
}
