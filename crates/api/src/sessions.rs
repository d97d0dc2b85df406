//! Sessions: each belongs to a token of the master.
//!
//! Invariant: a session ends no later than its token, and holds no rights of its
//! user.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_crypto::{Secret, random_bytes};

use crate::limits::{SESSIONS_MAX, SESSIONS_PER_USER_MAX};

/// The header that names a session, and wins over the cookie.
pub(crate) const AUTH_HEADER: &str = "x-auth-token";

/// All sessions.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<String, Session>>);

struct Session {
    token: Secret<String>,
    /// The way and the name of the login.
    user: String,
    ends: Instant,
}

impl Sessions {
    /// Begins a session and returns its id, or `None` if there is no place. A user who
    /// begins many ends only their own.
    pub(crate) fn begin(
        &self,
        token: String,
        user: String,
        lifetime: Duration,
        now: Instant,
    ) -> Option<String> {
        let mut id = String::with_capacity(40);
        for byte in random_bytes::<20>() {
            // Writing to a String cannot fail.
            write!(id, "{byte:02x}").ok();
        }
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.ends > now);
        let own = || sessions.iter().filter(|(_, session)| session.user == user);
        if own().count() >= SESSIONS_PER_USER_MAX {
            let first = own().min_by_key(|(_, session)| session.ends);
            if let Some(first) = first.map(|(id, _)| id.clone()) {
                sessions.remove(&first);
            }
        }
        if sessions.len() >= SESSIONS_MAX {
            return None;
        }
        let session = Session {
            token: Secret::new(token),
            user,
            ends: now + lifetime,
        };
        sessions.insert(id.clone(), session);
        Some(id)
    }

    /// The token of a session that has not ended.
    pub(crate) fn token(&self, id: &str, now: Instant) -> Option<String> {
        let sessions = self.lock();
        let session = sessions.get(id).filter(|session| session.ends > now)?;
        Some(session.token.expose().clone())
    }

    /// The token of a session that has not ended, and the way and the name of its login.
    pub(crate) fn token_and_user(&self, id: &str, now: Instant) -> Option<(String, String)> {
        let sessions = self.lock();
        let session = sessions.get(id).filter(|session| session.ends > now)?;
        Some((session.token.expose().clone(), session.user.clone()))
    }

    /// Ends a session; its token.
    pub(crate) fn end(&self, id: &str) -> Option<String> {
        let ended = self.lock().remove(id)?;
        Some(ended.token.expose().clone())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn begin(sessions: &Sessions, user: &str, now: Instant) -> Option<String> {
        sessions.begin("t1".to_owned(), user.to_owned(), HOUR, now)
    }

    #[test]
    fn a_session_ends_with_its_token_or_a_logout() {
        let sessions = Sessions::default();
        let now = Instant::now();
        let id = begin(&sessions, "ali", now).unwrap();
        assert_eq!(id.len(), 40);
        assert_eq!(sessions.token(&id, now).as_deref(), Some("t1"));
        assert_eq!(sessions.token(&id, now + HOUR), None);
        assert_eq!(sessions.token("t1", now), None);
        assert_eq!(sessions.end(&id).as_deref(), Some("t1"));
        assert_eq!(sessions.token(&id, now), None);
    }

    #[test]
    fn who_begins_many_ends_only_their_own() {
        let sessions = Sessions::default();
        let now = Instant::now();
        let other = begin(&sessions, "bob", now).unwrap();
        let first = begin(&sessions, "ali", now).unwrap();
        let later = now + Duration::from_secs(1);
        for _ in 0..SESSIONS_PER_USER_MAX {
            assert!(begin(&sessions, "ali", later).is_some());
        }
        assert_eq!(sessions.len(), SESSIONS_PER_USER_MAX + 1);
        assert_eq!(sessions.token(&first, later), None);
        assert!(sessions.token(&other, later).is_some());
    }

    #[test]
    fn there_are_only_so_many() {
        let sessions = Sessions::default();
        let now = Instant::now();
        for number in 0..SESSIONS_MAX {
            assert!(begin(&sessions, &number.to_string(), now).is_some());
        }
        assert_eq!(begin(&sessions, "ali", now), None);
        assert_eq!(sessions.len(), SESSIONS_MAX);
        // Who has one may change it for another once it has ended.
        assert!(begin(&sessions, "ali", now + HOUR).is_some());
        assert_eq!(sessions.len(), 1);
    }
}
