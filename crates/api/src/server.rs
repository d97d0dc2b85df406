//! The sockets: accepting connections, within limits of number, size and time,
//! and ending.
//!
//! Invariant: a connection costs a bounded amount of memory before its request
//! is whole, and none, upgraded or not, outlives the server by more than
//! `DRAIN_WITHIN`.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpUserTimeout;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::connections::{Connections, Held};
use crate::error::ServeError;
use crate::limits::{
    DRAIN_WITHIN, HANDSHAKE_WITHIN, HEAD_BYTES_MAX, HEAD_WITHIN, HEADERS_MAX, WRITE_WITHIN,
};
use crate::routes::{App, Peer};
use crate::tls::Tls;

/// Pause after an accept that failed for want of resources.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
    metrics: Option<Serving>,
    app: Arc<App>,
}

/// A page that is served until this is dropped: another server may need its port.
struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Server {
    /// Listens; connections are accepted once it runs.
    ///
    /// # Errors
    /// When the address or the files of TLS cannot be used.
    pub fn bind(app: Arc<App>) -> Result<Self, ServeError> {
        let settings = app.settings();
        let tls = settings
            .tls
            .as_ref()
            .map(Tls::read)
            .transpose()
            .map_err(|error| ServeError::Tls(Box::new(error)))?;
        let address = settings.listen;
        let listen = || {
            let socket = match address {
                SocketAddr::V4(_) => TcpSocket::new_v4()?,
                SocketAddr::V6(_) => TcpSocket::new_v6()?,
            };
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            socket.listen(settings.backlog)
        };
        let listener = listen().map_err(|source| ServeError::Listen { address, source })?;
        let metrics = app.serve_metrics()?.map(Serving);
        tracing::info!(%address, tls = tls.is_some(), "the API listens");
        Ok(Self {
            listener,
            tls,
            metrics,
            app,
        })
    }

    /// Serves until `stop` resolves; then requests under way have a moment to
    /// end, and streams of events end at once.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let (connections, mut all_gone) = Connections::new();
        let (ending, _) = watch::channel(false);
        tokio::pin!(stop);
        self.app.begin_looking();
        loop {
            let accepting = async {
                let slot = connections.slot().await;
                (slot, self.listener.accept().await)
            };
            let (slot, accepted) = tokio::select! {
                () = &mut stop => break,
                accepted = accepting => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let from = address.ip();
            let is_proxy = self.app.settings().is_proxy(from);
            let Some(held) = slot.and_then(|slot| connections.admit(slot, from, is_proxy)) else {
                tracing::debug!(%from, "closed a new connection: there are too many");
                continue;
            };
            let connection = Connection {
                app: Arc::clone(&self.app),
                ending: ending.subscribe(),
                peer: Peer::new(from, self.tls.is_some(), is_proxy),
                held: Arc::clone(&held),
            };
            let tls = self.tls.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = connection.serve(stream, tls) => {}
                    () = held.gives_way() => {}
                }
            });
        }
        drop(self.listener);
        drop(connections);
        drop(self.metrics);
        self.app.end();
        ending.send_replace(true);
        if tokio::time::timeout(DRAIN_WITHIN, all_gone.recv())
            .await
            .is_err()
        {
            tracing::warn!("stopping although requests are still being answered");
        }
    }
}

struct Connection {
    app: Arc<App>,
    ending: watch::Receiver<bool>,
    peer: Peer,
    held: Arc<Held>,
}

impl Connection {
    async fn serve(self, stream: TcpStream, tls: Option<Tls>) {
        let _ = stream.set_nodelay(true);
        limit_writing(&stream, WRITE_WITHIN);
        let Some(tls) = tls else {
            return self.requests(stream).await;
        };
        match tokio::time::timeout(HANDSHAKE_WITHIN, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.requests(stream).await,
            Ok(Err(error)) => {
                let error = halite_proto::chain(&error);
                tracing::debug!(from = %self.peer.address, "{error}");
            }
            Err(_) => tracing::debug!(from = %self.peer.address, "a TLS handshake took too long"),
        }
    }

    async fn requests(mut self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let (app, peer, held) = (self.app, self.peer, Arc::clone(&self.held));
        let service = service_fn(move |request: Request<hyper::body::Incoming>| {
            let (app, held) = (Arc::clone(&app), Arc::clone(&held));
            async move {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(held);
                Ok::<_, std::convert::Infallible>(app.answer(request, peer).await)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_headers(HEADERS_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = told_to_end(&mut self.ending, &self.held) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(from = %peer.address, "a connection ended: {error}");
        }
    }
}

/// Ends a connection whose other end takes nothing for so long.
fn limit_writing(stream: &TcpStream, within: Duration) {
    let ms = u32::try_from(within.as_millis()).unwrap_or(u32::MAX);
    if let Err(error) = setsockopt(stream, TcpUserTimeout, &ms) {
        tracing::debug!("the time of writing cannot be limited: {error}");
    }
}

/// Waits until the API ends, or nobody has proven anything for too long.
async fn told_to_end(ending: &mut watch::Receiver<bool>, held: &Held) {
    tokio::select! {
        _ = ending.wait_for(|ending| *ending) => {}
        () = held.is_overdue() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    /// How long the test waits for the end of a connection.
    const WITHIN: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn who_does_not_read_is_not_written_to_for_ever() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _silent = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        limit_writing(&stream, Duration::from_secs(1));
        let writing = async {
            loop {
                if let Err(error) = stream.write_all(&[0; 65_536]).await {
                    return error;
                }
            }
        };
        let ended = tokio::time::timeout(WITHIN, writing).await.unwrap();
        assert_eq!(ended.kind(), std::io::ErrorKind::TimedOut);
    }
}
