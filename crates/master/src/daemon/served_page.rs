//! A port at which programs that watch this master ask for pages.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use halite_metrics::pages::{self, Answer};
use tokio::task::JoinHandle;

use crate::error::StartError;

/// A port that listens and is not served yet: whoever asks waits.
pub(super) struct ServedPage {
    listener: TcpListener,
    answer: Arc<Answer>,
}

impl ServedPage {
    /// Listens; `option` is what asks for it.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub(super) fn open(
        option: &'static str,
        address: SocketAddr,
        answer: Arc<Answer>,
    ) -> Result<Self, StartError> {
        let listen = || -> io::Result<TcpListener> {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = listen().map_err(|source| StartError::Option {
            option,
            why: format!("could not listen at {address}: {source}"),
        })?;
        Ok(Self { listener, answer })
    }

    /// Serves it, until the task is ended.
    pub(super) fn serve(self) -> JoinHandle<()> {
        let Self { listener, answer } = self;
        tokio::spawn(async move {
            match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => pages::serve(listener, answer, std::future::pending()).await,
                Err(error) => tracing::error!(%error, "a page cannot be served"),
            }
        })
    }
}
