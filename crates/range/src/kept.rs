//! Recent answers, and servers that did not answer: one command asks several times,
//! and many minions ask the same.

use std::time::Instant;

use crate::limits::{KEPT_FOR, KEPT_MAX, LEFT_ALONE_FOR};

/// What a server has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The hosts of an expression.
    Hosts {
        expression: String,
        hosts: Vec<String>,
    },
    /// It could not be reached, and why.
    Unreachable(String),
}

/// Recent answers.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    items: Vec<(Instant, String, Answer)>,
}

impl Kept {
    pub(crate) const fn new() -> Self {
        Self { items: Vec::new() }
    }

    /// What is known by now of an expression on a server.
    pub(crate) fn get(&mut self, server: &str, expression: &str, now: Instant) -> Option<Answer> {
        self.items.retain(|(at, _, found)| {
            let time = match found {
                Answer::Hosts { .. } => KEPT_FOR,
                Answer::Unreachable(_) => LEFT_ALONE_FOR,
            };
            now.saturating_duration_since(*at) < time
        });
        let fits = |found: &Answer| match found {
            Answer::Hosts {
                expression: known, ..
            } => known == expression,
            Answer::Unreachable(_) => true,
        };
        let mut items = self.items.iter();
        let item = items.find(|(_, of, found)| of == server && fits(found))?;
        Some(item.2.clone())
    }

    pub(crate) fn put(&mut self, server: &str, found: Answer, now: Instant) {
        if self.items.len() >= KEPT_MAX {
            self.items.remove(0);
        }
        self.items.push((now, server.to_owned(), found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_silences_are_kept_for_their_time() {
        let now = Instant::now();
        let mut kept = Kept::new();
        let answer = Answer::Hosts {
            expression: "%a".to_owned(),
            hosts: vec!["h".to_owned()],
        };
        kept.put("one:80", answer.clone(), now);
        assert_eq!(kept.get("one:80", "%a", now), Some(answer.clone()));
        assert_eq!(kept.get("one:80", "%b", now), None);
        assert_eq!(kept.get("two:80", "%a", now), None);
        assert_eq!(kept.get("one:80", "%a", now + KEPT_FOR), None);
        let silence = Answer::Unreachable("why".to_owned());
        kept.put("one:80", silence.clone(), now);
        let later = now + KEPT_FOR;
        assert_eq!(kept.get("one:80", "%b", later), Some(silence));
        assert_eq!(kept.get("one:80", "%b", now + LEFT_ALONE_FOR), None);
        for _ in 0..3 * KEPT_MAX {
            kept.put("one:80", answer.clone(), now);
        }
        assert_eq!(kept.items.len(), KEPT_MAX);
    }
}
