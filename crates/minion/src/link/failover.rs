//! Sends a request to another master instead of waiting for one that is gone.
//!
//! Only the link's phase counts: a master that is slow to answer is waited for.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::core::link::Phase;
use crate::link::channel::ChannelError;

/// Waits for the answer of a master, but stops when its link is down for `gone_after`
/// while one of the others is ready.
pub(crate) async fn while_linked<T>(
    mut own: watch::Receiver<Phase>,
    others: Vec<watch::Receiver<Phase>>,
    gone_after: Duration,
    answer: impl Future<Output = Result<T, ChannelError>>,
) -> Result<T, ChannelError> {
    if others.is_empty() {
        return answer.await;
    }
    let gone = async move {
        loop {
            let _ = own.wait_for(|phase| *phase != Phase::Ready).await.is_ok();
            let back = own.wait_for(|phase| *phase == Phase::Ready);
            let is_back = matches!(timeout(gone_after, back).await, Ok(Ok(_)));
            if !is_back && others.iter().any(|other| *other.borrow() == Phase::Ready) {
                return;
            }
            if own.has_changed().is_err() {
                // The link's task has ended; it tells of nothing any more.
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        answer = answer => answer,
        () = gone => Err(ChannelError::NotSignedIn),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::sync::oneshot;

    use super::*;

    const AT_ONCE: Duration = Duration::ZERO;
    const LATER: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_master_that_is_gone_is_not_waited_for() {
        let (own, told) = watch::channel(Phase::Ready);
        let (_other, other) = watch::channel(Phase::Ready);
        let never = pending::<Result<(), ChannelError>>();
        let asked = tokio::spawn(while_linked(told, vec![other], AT_ONCE, never));
        own.send(Phase::SigningIn).unwrap();
        assert!(matches!(asked.await, Ok(Err(ChannelError::NotSignedIn))));
    }

    #[tokio::test]
    async fn a_short_outage_is_waited_for() {
        let (_own, told) = watch::channel(Phase::Paused);
        let (_other, other) = watch::channel(Phase::Ready);
        let (answer, answered) = oneshot::channel();
        let slow = async { Ok(answered.await.unwrap()) };
        let asked = tokio::spawn(while_linked(told, vec![other], LATER, slow));
        answer.send(5).unwrap();
        assert_eq!(asked.await.unwrap().unwrap(), 5);
    }

    #[tokio::test]
    async fn where_nobody_else_is_ready_the_master_is_waited_for() {
        let (_own, told) = watch::channel(Phase::Paused);
        let (_other, other) = watch::channel(Phase::Paused);
        let (answer, answered) = oneshot::channel();
        let slow = async { Ok(answered.await.unwrap()) };
        let short = Duration::from_millis(1);
        let asked = tokio::spawn(while_linked(told, vec![other], short, slow));
        let mut later = tokio::time::interval(short);
        for _ in 0..5 {
            later.tick().await;
        }
        answer.send(5).unwrap();
        assert_eq!(asked.await.unwrap().unwrap(), 5);
        let (own, told) = watch::channel(Phase::Ready);
        drop(own);
        let at_once = while_linked(told, vec![], AT_ONCE, ready(Ok(6)));
        assert_eq!(at_once.await.unwrap(), 6);
    }
}
