//! Pages of plain text over HTTP/1, for programs that watch a daemon.
//!
//! Invariant: the number of connections and the time of each are limited, and a
//! request has no body. Where all places are taken, a new connection replaces the
//! oldest, so nobody can lock others out by staying silent.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{self, SocketAddr};
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue, VARY};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::{sleep, timeout};

use crate::Instruments;
use crate::limits::{
    ACCEPT_PAUSE, CONNECTION_WITHIN, CONNECTIONS_MAX, HEAD_BYTES_MAX, PAGES_AT_ONCE_MAX,
};
use crate::plain;

/// The format of the page of metrics; clients that do not read it get Prometheus' text
/// format.
pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its status.
    pub status: u16,
    /// What it is written in.
    pub content_type: &'static str,
    /// Its text.
    pub body: String,
}

impl Page {
    /// A line of text.
    pub fn text(status: u16, line: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: format!("{line}\n"),
        }
    }

    /// The page as a client reads it.
    fn negotiated(self, accepts_open_metrics: bool) -> Self {
        match self.content_type == OPEN_METRICS && !accepts_open_metrics {
            false => self,
            true => Self {
                content_type: plain::TEXT,
                body: plain::from_open_metrics(&self.body),
                ..self
            },
        }
    }
}

/// Gives the page of a path, if there is one. It may block.
pub type Answer = dyn Fn(&str) -> Option<Page> + Send + Sync;

/// The page of metrics, at `/metrics`.
pub fn metrics(instruments: Instruments) -> Arc<Answer> {
    Arc::new(move |path| {
        let page = || match instruments.page() {
            Ok(body) => Page {
                status: 200,
                content_type: OPEN_METRICS,
                body,
            },
            Err(error) => Page::text(500, &format!("could not write the page: {error}")),
        };
        (path == "/metrics").then(page)
    })
}

/// A port for pages. It listens, and whoever asks waits until it is served.
pub struct PagePort {
    listener: net::TcpListener,
    answer: Arc<Answer>,
}

impl PagePort {
    /// Listens at an address.
    ///
    /// # Errors
    /// When the address is taken, or not this machine's.
    pub fn listen(address: SocketAddr, answer: Arc<Answer>) -> io::Result<Self> {
        let listener = net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, answer })
    }

    /// Serves pages until it is dropped.
    pub async fn serve(self) {
        match TcpListener::from_std(self.listener) {
            Ok(listener) => serve(listener, self.answer).await,
            Err(error) => tracing::error!(%error, "pages cannot be served"),
        }
    }
}

async fn serve(listener: TcpListener, answer: Arc<Answer>) {
    let writers = Arc::new(Semaphore::new(PAGES_AT_ONCE_MAX));
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                open.retain(|connection| !connection.is_finished());
                if open.len() >= CONNECTIONS_MAX
                    && let Some(oldest) = open.pop_front()
                {
                    oldest.abort();
                }
                let (answer, writers) = (Arc::clone(&answer), Arc::clone(&writers));
                let served = tokio::spawn(async move {
                    let served = requests(stream, answer, writers);
                    if timeout(CONNECTION_WITHIN, served).await.is_err() {
                        tracing::debug!("a connection for a page took too long");
                    }
                });
                open.push_back(served.abort_handle());
            }
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection for a page");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn requests(stream: TcpStream, answer: Arc<Answer>, writers: Arc<Semaphore>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (answer, writers) = (Arc::clone(&answer), Arc::clone(&writers));
        async move { Ok::<_, Infallible>(respond(&request, answer, writers).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!("a connection for a page ended: {error}");
    }
}

async fn respond(
    request: &Request<Incoming>,
    answer: Arc<Answer>,
    writers: Arc<Semaphore>,
) -> Response<Full<Bytes>> {
    let is_asked = [Method::GET, Method::HEAD].contains(request.method());
    let path = request.uri().path().to_owned();
    let accept = request.headers().get(ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    let accepts = plain::accepts_open_metrics(accept);
    let answer = move || answer(&path).map(|page| page.negotiated(accepts));
    let page = match is_asked {
        true => written(answer, writers).await,
        false => Some(Page::text(405, "only GET")),
    };
    let page = page.unwrap_or_else(|| Page::text(404, "there is no such page"));
    let mut response = Response::new(Full::new(Bytes::from(page.body)));
    *response.status_mut() =
        StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = HeaderValue::from_static(page.content_type);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    response
}

/// A page. It is written to its end, also if nobody waits for it any longer, and counts
/// until then.
async fn written(
    answer: impl FnOnce() -> Option<Page> + Send + 'static,
    writers: Arc<Semaphore>,
) -> Option<Page> {
    let writer = writers.acquire_owned().await.ok()?;
    let page = spawn_blocking(move || {
        let _writer = writer;
        answer()
    });
    page.await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn asked(address: SocketAddr, head: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{head} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        said
    }

    #[tokio::test]
    async fn a_page_is_served_and_nothing_else() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer: Arc<Answer> =
            Arc::new(|path: &str| (path == "/health").then(|| Page::text(503, "not ready")));
        tokio::spawn(serve(listener, answer));
        // Who says nothing takes one place of several.
        let _silent = TcpStream::connect(address).await.unwrap();
        let all = async {
            let said = asked(address, "GET /health").await;
            assert!(said.starts_with("HTTP/1.1 503") && said.ends_with("\r\n\r\nnot ready\n"));
            assert!(
                asked(address, "GET /other")
                    .await
                    .starts_with("HTTP/1.1 404")
            );
            assert!(
                asked(address, "POST /health")
                    .await
                    .starts_with("HTTP/1.1 405")
            );
        };
        timeout(Duration::from_secs(20), all).await.unwrap();
    }

    #[tokio::test]
    async fn metrics_are_in_the_format_that_is_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut instruments = Instruments::new(&crate::MetricsSettings::for_test());
        instruments.total("halite.lost", "Lost", || 7);
        tokio::spawn(serve(listener, metrics(instruments)));
        let page = async |accept: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).await.unwrap();
            said.replace("Content-Type", "content-type")
        };
        let all = async {
            let open = page("application/openmetrics-text; version=1.0.0").await;
            assert!(open.contains(&format!("content-type: {OPEN_METRICS}\r\n")));
            assert!(open.contains("# TYPE halite_lost counter\n") && open.ends_with("# EOF\n"));
            let plain = page("*/*").await;
            assert!(
                plain.contains("content-type: text/plain; version=0.0.4;"),
                "{plain}"
            );
            assert!(
                plain.contains("# TYPE halite_lost_total counter\n"),
                "{plain}"
            );
        };
        timeout(Duration::from_secs(20), all).await.unwrap();
    }

    #[tokio::test]
    async fn who_holds_all_connections_keeps_nobody_from_asking() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer: Arc<Answer> =
            Arc::new(|path: &str| (path == "/health").then(|| Page::text(200, "ready")));
        tokio::spawn(serve(listener, answer));
        let mut silent = Vec::new();
        for _ in 0..3 * CONNECTIONS_MAX {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let said = timeout(CONNECTION_WITHIN / 2, asked(address, "GET /health"));
        assert!(said.await.unwrap().starts_with("HTTP/1.1 200"));
        // The first of them had to go, and not only because its time was over.
        let mut oldest = silent.remove(0);
        let gone = timeout(CONNECTION_WITHIN / 2, oldest.read_u8());
        assert!(gone.await.unwrap().is_err());
    }
}
