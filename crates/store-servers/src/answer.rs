//! How much of an answer is read into memory.
//!
//! Invariant: whatever a server sends, at most [`ANSWER_BYTES_MAX`] bytes of it are read
//! for one question. After that the connection is not used again.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::Failure;
use crate::limits::{ANSWER_BYTES_MAX, ANSWER_ROWS_MAX};

/// How many bytes a server may still send.
#[derive(Clone, Debug)]
pub(crate) struct Allowance(Arc<Left>);

#[derive(Debug)]
struct Left {
    bytes: AtomicUsize,
    /// The server had more to say.
    is_spent: AtomicBool,
}

impl Allowance {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Left {
            bytes: AtomicUsize::new(ANSWER_BYTES_MAX),
            is_spent: AtomicBool::new(false),
        }))
    }

    /// A new question is asked.
    pub(crate) fn renew(&self) {
        self.0.bytes.store(ANSWER_BYTES_MAX, Ordering::Relaxed);
    }

    /// Nothing more is read: the answer has more parts than are wanted.
    pub(crate) fn spend(&self) {
        self.0.bytes.store(0, Ordering::Relaxed);
        self.0.is_spent.store(true, Ordering::Relaxed);
    }

    /// Whether an answer was not read to its end.
    pub(crate) fn is_spent(&self) -> bool {
        self.0.is_spent.load(Ordering::Relaxed)
    }
}

/// A connection that is read from as far as the allowance goes.
pub(crate) struct Metered<S> {
    stream: S,
    allowance: Allowance,
}

impl<S> Metered<S> {
    pub(crate) fn new(stream: S, allowance: &Allowance) -> Self {
        Self {
            stream,
            allowance: allowance.clone(),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let bytes = buffer.filled().len().saturating_sub(before);
        let left = &self.allowance.0.bytes;
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(bytes)
        });
        if taken.is_err() {
            self.allowance.spend();
            return Poll::Ready(Err(io::Error::other("an answer is too long")));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Counts the rows of an answer, and their bytes.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    rows: usize,
    bytes: usize,
}

impl Counted {
    /// Counts one more row.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Failure> {
        self.rows += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.rows > ANSWER_ROWS_MAX {
            let max = ANSWER_ROWS_MAX;
            return Err(Failure::TooMany { max });
        }
        match self.bytes > ANSWER_BYTES_MAX {
            true => Err(Failure::answer_too_long()),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, repeat};

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn no_more_than_the_limit_is_read_for_one_question() {
        let allowance = Allowance::new();
        let mut stream = Metered::new(repeat(0), &allowance);
        let mut buffer = [0; 1000];
        stream.read_exact(&mut buffer).await.unwrap();
        let left = || allowance.0.bytes.load(Ordering::Relaxed);
        assert_eq!(left(), ANSWER_BYTES_MAX - buffer.len());
        allowance.renew();
        assert_eq!(left(), ANSWER_BYTES_MAX);
        allowance.0.bytes.store(buffer.len(), Ordering::Relaxed);
        stream.read_exact(&mut buffer).await.unwrap();
        assert!(!allowance.is_spent());
        stream.read_exact(&mut buffer[..1]).await.unwrap_err();
        assert!(allowance.is_spent());
    }

    #[test]
    fn rows_are_counted() {
        let mut many = Counted::default();
        for _ in 0..ANSWER_ROWS_MAX {
            many.add(0).unwrap();
        }
        assert!(matches!(many.add(0), Err(Failure::TooMany { .. })));
        let mut long = Counted::default();
        long.add(ANSWER_BYTES_MAX).unwrap();
        assert!(matches!(long.add(1), Err(Failure::TooLong { .. })));
    }
}
