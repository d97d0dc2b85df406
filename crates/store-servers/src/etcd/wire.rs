//! HTTP/1.1 requests and their answers, one at a time on one connection.
//!
//! Invariant: an answer that is longer than the limit is not read to its end, and
//! its connection is not used again.

use std::error::Error;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;

use crate::address::Address;
use crate::error::Failure;
use crate::limits::{ETCD_ANSWER_BYTES_MAX, ETCD_REASON_CHARS_MAX};
use crate::{io, tls};

/// A connection.
pub(super) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    /// An answer was not read to its end.
    is_spent: bool,
}

/// What is asked.
pub(super) struct Question<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) kind: &'static str,
    /// The value of the header `Authorization`.
    pub(super) authorization: Option<String>,
    pub(super) body: String,
}

impl HttpConnection {
    pub(super) async fn open(address: &Address) -> Result<Self, Failure> {
        let stream = tls::connect(address).await?;
        let opened = handshake(TokioIo::new(stream)).await;
        let (sender, driven) = opened.map_err(Failure::broken)?;
        io::spawn(async move {
            if let Err(error) = driven.await {
                tracing::debug!(%error, "a connection to a store has ended");
            }
        });
        let host = match address.host.contains(':') {
            true => format!("[{}]:{}", address.host, address.port),
            false => format!("{}:{}", address.host, address.port),
        };
        Ok(Self {
            sender,
            host,
            is_spent: false,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.is_spent && !self.sender.is_closed()
    }

    /// The status of the answer, and what it says.
    pub(super) async fn ask(
        &mut self,
        question: Question<'_>,
    ) -> Result<(StatusCode, Value), Failure> {
        let mut request = Request::builder()
            .method(question.method)
            .uri(question.path)
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, question.kind);
        if let Some(authorization) = question.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(Bytes::from(question.body)));
        let request = request.map_err(|error| Failure::Refused(error.to_string()))?;
        self.sender.ready().await.map_err(Failure::broken)?;
        let answer = self.sender.send_request(request).await;
        let answer = answer.map_err(Failure::broken)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ETCD_ANSWER_BYTES_MAX);
        let read = body.collect().await;
        let bytes = read.map_err(|error| self.unread(error))?.to_bytes();
        let said = serde_json::from_slice(&bytes);
        match said {
            Ok(said) => Ok((status, said)),
            // What is no etcd, or an interface that it does not serve, answers in words.
            Err(_) if !status.is_success() => Ok((status, Value::Null)),
            Err(error) => Err(Failure::Answer(format!("no JSON: {error}"))),
        }
    }

    fn unread(&mut self, error: Box<dyn Error + Send + Sync>) -> Failure {
        self.is_spent = true;
        match error.is::<LengthLimitError>() {
            true => Failure::TooLong {
                max: ETCD_ANSWER_BYTES_MAX,
            },
            false => Failure::Broken(error),
        }
    }
}

/// The words of an error, without what would not stand in one line. What version 2
/// names as its cause is the key, which may be a secret.
pub(super) fn reason(status: StatusCode, said: &Value) -> String {
    let words = ["message", "error"];
    let mut words = words.iter().filter_map(|name| said.get(*name)?.as_str());
    let words = words.next().unwrap_or_default().chars();
    let words: String = words
        .filter(|c| !c.is_control())
        .take(ETCD_REASON_CHARS_MAX)
        .collect();
    match words.is_empty() {
        true => format!("HTTP {status}"),
        false => words,
    }
}
