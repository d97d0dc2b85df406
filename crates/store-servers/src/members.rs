//! Equivalent members of a cluster: they are tried in turn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::timeout;

use crate::address::Address;
use crate::error::Failure;
use crate::limits::MEMBER_TIME;

/// Which member is tried first: the last one that answered, or the one after the last
/// one that did not.
#[derive(Debug, Default)]
pub(crate) struct Members {
    first: AtomicUsize,
}

impl Members {
    pub(crate) const fn new() -> Self {
        Self {
            first: AtomicUsize::new(0),
        }
    }

    /// What the first member that answers gives. They share the time for connecting, so
    /// that those without an answer do not hide one that is there.
    pub(crate) async fn ask<T>(
        &self,
        address: &Address,
        question: impl AsyncFn(Address) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let named = [(address.host.clone(), address.port)];
        let members: Vec<_> = named.iter().chain(&address.members).collect();
        let limit = member_limit(address.connect_limit, members.len());
        let first = self.first.load(Ordering::Relaxed);
        let mut failure = None;
        for at in (first..).take(members.len()).map(|at| at % members.len()) {
            let Some((host, port)) = members.get(at) else {
                break;
            };
            let mut member = address.clone();
            (member.host, member.port) = (host.clone(), *port);
            // The time for all of them may be over while this one is tried.
            self.first
                .store((at + 1) % members.len(), Ordering::Relaxed);
            let answer = timeout(limit, question(member)).await;
            match answer.unwrap_or(Err(Failure::Unreached { limit })) {
                Ok(answer) => {
                    self.first.store(at, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(why) => failure = Some(why),
            }
        }
        Err(failure.unwrap_or_else(|| Failure::Refused("no member is named".to_owned())))
    }
}

/// How long one of so many members may take.
fn member_limit(all: Duration, members: usize) -> Duration {
    let members = u32::try_from(members).unwrap_or(u32::MAX).max(1);
    // One that is alone may take as long as connecting may.
    (all / members).max(MEMBER_TIME.min(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::ServerKind;

    #[test]
    fn members_share_the_time_for_connecting() {
        let s = Duration::from_secs;
        assert_eq!(member_limit(s(5), 1), s(5));
        assert_eq!(member_limit(s(6), 3), s(2));
        assert_eq!(member_limit(s(5), 16), s(1));
    }

    /// One that does not answer is tried once, not each time.
    #[test]
    fn a_silent_member_hides_no_other_and_comes_last_then() {
        let mut address = Address::new(ServerKind::Redis, "silent");
        address.members = vec![("talks".to_owned(), 1)];
        address.connect_limit = Duration::from_millis(100);
        let members = Members::new();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let asked = std::cell::RefCell::new(Vec::new());
        let question = async |member: Address| {
            asked.borrow_mut().push(member.host.clone());
            match member.host.as_str() {
                "silent" => std::future::pending().await,
                _ => Ok(member.port),
            }
        };
        for _ in 0..2 {
            assert_eq!(
                runtime.block_on(members.ask(&address, question)).unwrap(),
                1
            );
        }
        assert_eq!(*asked.borrow(), ["silent", "talks", "talks"]);
    }
}
