//! Requests to one request port.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use super::{RequestError, RequesterOptions, Transport};
#[cfg(test)]
use crate::in_process;
use crate::{Counters, Endpoint, zeromq};

/// A handle to ask one master. Clones share the connections; they close when
/// the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Requester(Variant);

#[derive(Clone, Debug)]
enum Variant {
    ZeroMq(zeromq::Requester),
    #[cfg(test)]
    InProcess(in_process::Requester),
}

impl Requester {
    /// Makes a requester; it connects with the first request.
    pub fn connect(endpoint: Endpoint, options: RequesterOptions) -> Self {
        Self(match options.transport {
            Transport::ZeroMq => Variant::ZeroMq(zeromq::Requester::connect(endpoint, options)),
        })
    }

    #[cfg(test)]
    pub(crate) fn connect_in_process(endpoint: Endpoint, options: RequesterOptions) -> Self {
        Self(Variant::InProcess(in_process::Requester::connect(
            endpoint, options,
        )))
    }

    /// Sends `payload` and waits for the reply, until there was no progress for
    /// `timeout`, which includes waiting for a connection. Bytes that were sent may be in
    /// buffers on the way, so a large request has more time. Dropping the future cancels
    /// the request.
    ///
    /// # Errors
    /// See `RequestError`; the next request is not affected by any of them.
    pub async fn request(
        &self,
        payload: Vec<u8>,
        timeout: Duration,
    ) -> Result<Vec<u8>, RequestError> {
        let answer = self.request_in_place(payload, timeout).await?;
        Ok(answer.into_vec())
    }

    /// Like [`Self::request`]; the reply stays where the transport has put it.
    ///
    /// # Errors
    /// See `RequestError`; the next request is not affected by any of them.
    pub async fn request_in_place(
        &self,
        payload: Vec<u8>,
        timeout: Duration,
    ) -> Result<Answer, RequestError> {
        Ok(Answer(match &self.0 {
            Variant::ZeroMq(requester) => {
                AnswerVariant::ZeroMq(requester.request(payload, timeout).await?)
            }
            #[cfg(test)]
            Variant::InProcess(requester) => {
                AnswerVariant::InProcess(requester.request(payload, timeout).await?)
            }
        }))
    }

    /// Whom this asks.
    pub fn endpoint(&self) -> &Endpoint {
        match &self.0 {
            Variant::ZeroMq(requester) => requester.endpoint(),
            #[cfg(test)]
            Variant::InProcess(requester) => requester.endpoint(),
        }
    }

    /// The counters of the requester.
    pub fn counters(&self) -> Arc<Counters> {
        match &self.0 {
            Variant::ZeroMq(requester) => requester.counters(),
            #[cfg(test)]
            Variant::InProcess(requester) => requester.counters(),
        }
    }
}

/// A reply, where the transport has put it: a large one is not copied.
pub struct Answer(AnswerVariant);

enum AnswerVariant {
    ZeroMq(zeromq::Answer),
    #[cfg(test)]
    InProcess(Vec<u8>),
}

impl Answer {
    fn into_vec(self) -> Vec<u8> {
        match self.0 {
            AnswerVariant::ZeroMq(answer) => answer.into_vec(),
            #[cfg(test)]
            AnswerVariant::InProcess(answer) => answer,
        }
    }
}

impl Deref for Answer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            AnswerVariant::ZeroMq(answer) => answer,
            #[cfg(test)]
            AnswerVariant::InProcess(answer) => answer,
        }
    }
}

impl DerefMut for Answer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            AnswerVariant::ZeroMq(answer) => answer,
            #[cfg(test)]
            AnswerVariant::InProcess(answer) => answer,
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({} bytes)", self.len())
    }
}
