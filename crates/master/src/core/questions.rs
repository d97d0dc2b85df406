//! Which requests of other masters are answered with facts, which need a read of
//! all files.
//!
//! Invariant: a request is answered once. A replayed one costs the check of its
//! signature, and takes nobody's turn.

use std::collections::HashMap;

use halite_proto::Nonce;

/// How much the clocks of two masters may differ for them to talk, in seconds.
const CLOCKS_APART_MAX: u64 = 600;

/// Seconds between two answers.
const PAUSE_S: i64 = 1;

/// Questions that are remembered. Beyond it none is answered until the oldest are too old
/// to be asked again; only holders of the master's key get this far.
const REMEMBERED_MAX: usize = 4096;

/// The questions that were answered lately.
#[derive(Debug, Default)]
pub struct Questions {
    asked: HashMap<Nonce, i64>,
    answered: Option<i64>,
}

/// Whether a question may be of now.
pub fn is_timely(ts: i64, now: i64) -> bool {
    now.abs_diff(ts) <= CLOCKS_APART_MAX
}

impl Questions {
    /// Whether a question is to be answered, that is timely and signed with the
    /// master's key.
    pub fn admit(&mut self, nonce: &Nonce, ts: i64, now: i64) -> bool {
        let is_soon = |last: i64| (0..PAUSE_S).contains(&now.saturating_sub(last));
        if self.answered.is_some_and(is_soon) || !self.admit_order(nonce, ts, now) {
            return false;
        }
        self.answered = Some(now);
        true
    }

    /// The same for what reads no files, and takes no turn.
    pub fn admit_order(&mut self, nonce: &Nonce, ts: i64, now: i64) -> bool {
        if self.asked.contains_key(nonce) {
            return false;
        }
        if self.asked.len() >= REMEMBERED_MAX {
            self.asked.retain(|_, ts| is_timely(*ts, now));
        }
        if self.asked.len() >= REMEMBERED_MAX {
            return false;
        }
        self.asked.insert(nonce.clone(), ts);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonce(number: usize) -> Nonce {
        Nonce::parse(format!("{number:032x}")).unwrap()
    }

    #[test]
    fn a_question_is_answered_once_and_starves_no_other() {
        let mut questions = Questions::default();
        assert!(questions.admit(&nonce(1), 1000, 1000));
        for now in [1000, 1001, 1600] {
            assert!(!questions.admit(&nonce(1), 1000, now));
        }
        assert!(questions.admit(&nonce(2), 1600, 1600));
        assert!(!questions.admit(&nonce(3), 1600, 1600));
        assert!(questions.admit_order(&nonce(4), 1600, 1600));
        assert!(!questions.admit_order(&nonce(4), 1600, 1600));
        assert!(questions.admit(&nonce(3), 1600, 1601));
        assert!(is_timely(1000, 1600) && !is_timely(1000, 1601) && !is_timely(i64::MIN, 1000));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut questions = Questions::default();
        let now = |number: usize| 1000 + i64::try_from(number / 8).unwrap();
        let admitted = (0..REMEMBERED_MAX + 10).filter(|number| {
            questions.answered = None;
            questions.admit(&nonce(*number), now(*number), 1300)
        });
        assert_eq!(admitted.count(), REMEMBERED_MAX);
        questions.answered = None;
        assert!(questions.admit(&nonce(9999), 2000, 2000));
    }
}
