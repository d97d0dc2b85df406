//! Searches for tokens that were made at another master and are presented here: that
//! master may not have sent them to its peers yet, or this master may have been down.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use halite_cluster::data::{DataKind, DataName, Search};
use halite_proto::MinionId;
use halite_store::TokenId;

use super::SharedData;
use crate::clock::now_s;
use crate::core::budget::Budget;
use crate::limits::{SEARCHES_PER_SECOND_MAX, SEEK_ALONE_MAX, SEEK_FRESH_MAX, SEEK_MAX};

/// How often peers are asked.
pub(super) struct Searches {
    /// Since when this master is there.
    begun: Instant,
    /// Anybody can show a token that there is not.
    budget: Mutex<Budget<()>>,
}

impl Searches {
    pub(super) fn begin(now: Instant) -> Self {
        let max = SEARCHES_PER_SECOND_MAX;
        Self {
            begun: now,
            budget: Mutex::new(Budget::new(max, max, 1)),
        }
    }

    fn may_begin(&self) -> bool {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        budget.take((), now_s())
    }

    /// How long a search may still take that has begun at `since`. A master that has just
    /// come waits for its first link, and then for a peer that has much to tell it.
    fn left(&self, search: Search, since: Instant, now: Instant) -> Duration {
        let until = match search {
            Search::Over => now,
            Search::Alone => self.begun + SEEK_ALONE_MAX,
            Search::Open => (since + SEEK_MAX).max(self.begun + SEEK_FRESH_MAX),
        };
        until.saturating_duration_since(now)
    }
}

/// The name under which masters speak of a token: it has the form of an id.
pub(super) fn name_of(token: &TokenId) -> Option<DataName> {
    let id = MinionId::parse(token.expose()).ok()?;
    Some(DataName::new(DataKind::Token, id))
}

impl SharedData {
    /// Waits until something is stored here that a peer has, until no peer has it, or for
    /// a bounded time.
    pub(super) fn search(&self, name: &DataName) {
        let since = Instant::now();
        if !self.searches.may_begin() || !self.exchange().seek(since, name) {
            return;
        }
        self.act();
        let mut exchange = self.exchange();
        loop {
            let now = Instant::now();
            let left = self.searches.left(exchange.search(name), since, now);
            if left.is_zero() {
                return exchange.seek_no_more(now, name);
            }
            let waited = self.came.wait_timeout(exchange, left);
            (exchange, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_waits_for_a_first_link_only_behind_a_start() {
        let begun = Instant::now();
        let searches = Searches::begin(begun);
        let left = |search, after| {
            let now = begun + after;
            searches.left(search, now, now)
        };
        let long = SEEK_FRESH_MAX * 10;
        assert_eq!(left(Search::Alone, Duration::ZERO), SEEK_ALONE_MAX);
        assert_eq!(left(Search::Alone, long), Duration::ZERO);
        assert_eq!(left(Search::Open, Duration::ZERO), SEEK_FRESH_MAX);
        assert_eq!(left(Search::Open, long), SEEK_MAX);
        assert_eq!(left(Search::Over, Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn peers_are_asked_so_often_in_a_second() {
        let searches = Searches::begin(Instant::now());
        // The second may change once meanwhile.
        let begun = (0..3 * SEARCHES_PER_SECOND_MAX).filter(|_| searches.may_begin());
        assert!((SEARCHES_PER_SECOND_MAX..=2 * SEARCHES_PER_SECOND_MAX).contains(&begun.count()));
    }
}
