//! The messages that wait to be written to one connection.
//!
//! A port has thousands of connections over which nothing goes for minutes, so an empty
//! queue keeps no memory. It has no bound of its own: who sends looks at what waits.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// For how many messages an empty queue keeps its room.
const ROOM_KEPT: usize = 4;

/// Where messages for a connection go; when it is dropped, no more come.
#[derive(Debug)]
pub(super) struct OutboxSender<T>(Arc<Queue<T>>);

/// Where a connection takes them.
#[derive(Debug)]
pub(super) struct Outbox<T>(Arc<Queue<T>>);

#[derive(Debug)]
struct Queue<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    /// The task that waits for a message.
    waker: Option<Waker>,
    has_sender: bool,
    has_connection: bool,
}

/// A queue of one sender.
pub(super) fn outbox<T>() -> (OutboxSender<T>, Outbox<T>) {
    let queue = Arc::new(Queue(Mutex::new(State {
        waiting: VecDeque::new(),
        waker: None,
        has_sender: true,
        has_connection: true,
    })));
    (OutboxSender(Arc::clone(&queue)), Outbox(queue))
}

impl<T> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> OutboxSender<T> {
    /// Queues a message; false if the connection has ended.
    pub(super) fn send(&self, message: T) -> bool {
        let mut state = self.0.lock();
        if !state.has_connection {
            return false;
        }
        state.waiting.push_back(message);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }
}

impl<T> Drop for OutboxSender<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.has_sender = false;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Outbox<T> {
    /// The next message; `None` when no more come. Nothing is lost when the future is
    /// dropped.
    pub(super) async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    fn poll_recv(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.lock();
        if let Some(message) = state.waiting.pop_front() {
            if state.waiting.is_empty() {
                state.waiting.shrink_to(ROOM_KEPT);
            }
            return Poll::Ready(Some(message));
        }
        if !state.has_sender {
            return Poll::Ready(None);
        }
        if !(state.waker.as_ref()).is_some_and(|waker| waker.will_wake(cx.waker())) {
            state.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().waiting.is_empty()
    }
}

impl<T> Drop for Outbox<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.has_connection = false;
        let waiting = std::mem::take(&mut state.waiting);
        // What goes with a message may lock something else.
        drop(state);
        drop(waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_come_in_order_and_end_with_their_sender() {
        let (sender, mut messages) = outbox();
        let taking = tokio::spawn(async move {
            let mut taken = Vec::new();
            while let Some(message) = messages.recv().await {
                taken.push(message);
            }
            taken
        });
        for message in 0..100 {
            assert!(sender.send(message));
            tokio::task::yield_now().await;
        }
        drop(sender);
        assert_eq!(taking.await.unwrap(), (0..100).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn an_empty_queue_keeps_no_memory() {
        let (sender, mut messages) = outbox();
        for message in 0..1000 {
            assert!(sender.send(message));
        }
        assert!(!messages.is_empty());
        for message in 0..1000 {
            assert_eq!(messages.recv().await, Some(message));
        }
        assert!(messages.is_empty());
        assert!(messages.0.lock().waiting.capacity() <= ROOM_KEPT);
    }

    #[test]
    fn what_waits_goes_with_its_connection() {
        let (sender, messages) = outbox();
        let message = Arc::new(());
        assert!(sender.send(Arc::clone(&message)));
        drop(messages);
        assert_eq!(Arc::strong_count(&message), 1);
        assert!(!sender.send(message));
    }
}
