//! A pillar while files and external pillars are merged, with and without what the
//! minion has sent.
//!
//! Invariant: the master's own part holds nothing that the minion has sent or asked
//! for, so that it can be decrypted. Otherwise a minion could have texts decrypted
//! that are meant for others.

use halite_proto::Map;

use crate::merge::{Merging, Strategy};

/// What has been merged so far.
pub(crate) struct Laid<'a> {
    merging: Merging,
    overrides: &'a Map,
    /// What files and external pillars have given.
    own: Map,
    /// What the external pillars have given that the minion has asked for.
    asked: Vec<Map>,
    /// What was asked for is not on top of all else.
    is_between: bool,
    /// All of it upon the overrides, where that is not the same as `own`.
    seen: Option<Map>,
}

impl<'a> Laid<'a> {
    /// Nothing but overrides.
    pub(crate) fn new(merging: Merging, overrides: &'a Map) -> Self {
        Self {
            merging,
            overrides,
            own: Map::new(),
            asked: Vec::new(),
            is_between: false,
            seen: (!overrides.is_empty()).then(|| overrides.clone()),
        }
    }

    /// Lays `data` over it.
    pub(crate) fn add(&mut self, data: &Map) {
        self.own = self.merging.merge(std::mem::take(&mut self.own), data);
        if let Some(seen) = self.seen.take() {
            self.seen = Some(self.merging.merge(seen, data));
        }
    }

    /// Lays what the minion has asked for over it.
    pub(crate) fn add_asked(&mut self, data: Map) {
        let seen = self.seen.take().unwrap_or_else(|| self.own.clone());
        self.seen = Some(self.merging.merge(seen, &data));
        self.asked.push(data);
    }

    /// Lays what the minion has said over it, where the configuration has that.
    pub(crate) fn add_said(&mut self, data: Map) {
        self.is_between = true;
        self.add_asked(data);
    }

    /// Lays another one over it.
    pub(crate) fn join(&mut self, other: Self) {
        if self.seen.is_some() || other.seen.is_some() {
            let seen = self.seen.take().unwrap_or_else(|| self.own.clone());
            self.seen = Some(self.merging.merge(seen, other.seen()));
        }
        self.own = self
            .merging
            .merge(std::mem::take(&mut self.own), &other.own);
        self.asked.extend(other.asked);
        self.is_between |= other.is_between || !self.asked.is_empty();
    }

    /// Lays the overrides over what is seen.
    pub(crate) fn override_seen(&mut self) {
        if let Some(seen) = self.seen.take() {
            self.seen = Some(self.merging.merge(seen, self.overrides));
        }
    }

    /// The pillar so far, as external pillars see it.
    pub(crate) fn seen(&self) -> &Map {
        self.seen.as_ref().unwrap_or(&self.own)
    }

    /// The pillar, after `complete` was done to what is the master's own. The
    /// overrides are under and over it. Of the strategy `list` nothing is: it
    /// makes pairs of both, and `decrypt` is left out.
    ///
    /// What the minion has said is laid over what is decrypted; where nothing is
    /// (`decrypts`), it keeps its place among the external pillars.
    pub(crate) fn finish(self, decrypts: bool, complete: impl FnOnce(&mut Map, bool)) -> Map {
        let Self {
            merging,
            overrides,
            mut own,
            asked,
            is_between,
            seen,
        } = self;
        match seen {
            None => {
                complete(&mut own, true);
                own
            }
            Some(mut seen) if merging.strategy == Strategy::Pairs || is_between && !decrypts => {
                complete(&mut seen, false);
                merging.merge(seen, overrides)
            }
            Some(_) => {
                complete(&mut own, true);
                for data in &asked {
                    own = merging.merge(own, data);
                }
                merging.merge(merging.merge(overrides.clone(), &own), overrides)
            }
        }
    }
}
