//! A port for pages that monitoring programs read.

use std::net::SocketAddr;
use std::sync::Arc;

use halite_metrics::pages::{Answer, PagePort};

use crate::error::StartError;

/// Listens; `option` is what asks for it.
///
/// # Errors
/// When the address cannot be listened at.
pub(super) fn open(
    option: &'static str,
    address: SocketAddr,
    answer: Arc<Answer>,
) -> Result<PagePort, StartError> {
    PagePort::listen(address, answer).map_err(|source| StartError::Option {
        option,
        why: format!("could not listen at {address}: {source}"),
    })
}
