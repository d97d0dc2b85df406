//! The only code that touches a library socket's readiness.
//!
//! `ZMQ_FD` becomes readable once when something *may* have changed, and every
//! operation on the socket, in either direction, may take that signal in. A
//! task may therefore sleep only after it has asked for the socket's events and
//! found nothing to do, with its waker registered before that question.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use tmq::{AsZmqSocket, Message, Multipart};
use tokio::time::{Interval, MissedTickBehavior, interval};
use zmq::PollEvents;

use crate::SocketError;
use crate::limits::SAFETY_POLL;

/// A message's frames.
pub(super) type Frames = Vec<Message>;

/// Waits for a message. Nothing is lost when this future is dropped.
pub(super) async fn receive<S>(socket: &mut S) -> Result<Frames, SocketError>
where
    S: AsZmqSocket + Stream<Item = tmq::Result<Multipart>> + Unpin,
{
    poll_fn(|cx| poll_receive(socket, cx)).await
}

fn poll_receive<S>(socket: &mut S, cx: &mut Context<'_>) -> Poll<Result<Frames, SocketError>>
where
    S: AsZmqSocket + Stream<Item = tmq::Result<Multipart>> + Unpin,
{
    loop {
        match Pin::new(&mut *socket).poll_next(cx) {
            Poll::Ready(Some(Ok(frames))) => return Poll::Ready(Ok(frames.0.into())),
            Poll::Ready(Some(Err(tmq::TmqError::Zmq(zmq::Error::EINTR)))) => continue,
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error.into())),
            Poll::Ready(None) | Poll::Pending => {}
        }
        // The waker is registered; what comes after this question wakes us.
        if !events(socket)?.contains(zmq::POLLIN) {
            return Poll::Pending;
        }
    }
}

fn events(socket: &impl AsZmqSocket) -> Result<PollEvents, SocketError> {
    loop {
        match socket.get_socket().get_events() {
            Err(zmq::Error::EINTR) => {}
            other => return other.map_err(SocketError::from),
        }
    }
}

/// The timer of the safety poll.
pub(super) fn safety_poll() -> Interval {
    let mut timer = interval(SAFETY_POLL);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    timer
}
