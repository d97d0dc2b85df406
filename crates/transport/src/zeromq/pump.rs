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

/// Sends without waiting. Returns whether the socket took the message; one it
/// does not take is gone. (A ROUTER and a PUB take everything, a DEALER of a
/// requester holds one message at a time.)
pub(super) fn send(socket: &impl AsZmqSocket, frames: Frames) -> Result<bool, SocketError> {
    let socket = socket.get_socket();
    let last = frames.len().saturating_sub(1);
    for (index, frame) in frames.into_iter().enumerate() {
        let more = if index < last { zmq::SNDMORE } else { 0 };
        match socket.send(frame, zmq::DONTWAIT | more) {
            Ok(()) => {}
            // Only the first frame of a message is ever refused.
            Err(zmq::Error::EAGAIN) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// Takes a message that is already here.
pub(super) fn try_receive(socket: &impl AsZmqSocket) -> Result<Option<Frames>, SocketError> {
    let socket = socket.get_socket();
    let mut frames = Frames::new();
    loop {
        let mut frame = Message::new();
        match socket.recv(&mut frame, zmq::DONTWAIT) {
            Ok(()) => {
                let more = frame.get_more();
                frames.push(frame);
                if !more {
                    return Ok(Some(frames));
                }
            }
            Err(zmq::Error::EAGAIN) => return Ok(None),
            Err(zmq::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

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
