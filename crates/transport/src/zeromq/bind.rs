//! Binds one socket to several endpoints, and reports the actual addresses.

use std::path::Path;

use tmq::{AsZmqSocket, FromZmqSocket, SocketBuilder};
use tracing::debug;

use crate::socket_file::SocketFile;
use crate::{BindError, Endpoint};

/// A bound socket.
pub(super) struct Bound<T> {
    pub(super) socket: T,
    /// As asked for, with the ports that were taken. Never empty.
    pub(super) endpoints: Vec<Endpoint>,
    /// Must live as long as the socket.
    pub(super) files: Vec<SocketFile>,
}

/// Binds a socket to all `endpoints`; the files of `ipc` ones get `mode`.
pub(super) fn bind<T>(
    builder: SocketBuilder<T>,
    endpoints: &[Endpoint],
    mode: u32,
) -> Result<Bound<T>, BindError>
where
    T: FromZmqSocket<T> + AsZmqSocket,
{
    let (first, rest) = endpoints.split_first().ok_or(BindError::NoEndpoint)?;
    let mut files = Vec::new();
    let socket = place(first, mode, &mut files, |address| {
        builder
            .bind(address)
            .map_err(|error| BindError::new(first, error))
    })?;
    let mut bound = vec![taken(first, socket.get_socket())];
    for endpoint in rest {
        place(endpoint, mode, &mut files, |address| {
            socket
                .get_socket()
                .bind(address)
                .map_err(|error| BindError::new(endpoint, error.into()))
        })?;
        bound.push(taken(endpoint, socket.get_socket()));
    }
    Ok(Bound {
        socket,
        endpoints: bound,
        files,
    })
}

/// Binds a socket to one more socket file. What it has bound already, and what
/// waits in it, stays.
pub(super) fn bind_file(
    socket: &impl AsZmqSocket,
    path: &Path,
    mode: u32,
) -> Result<SocketFile, BindError> {
    let endpoint = Endpoint::ipc(path);
    let (file, ()) = SocketFile::bind(path, mode, |staged| {
        socket
            .get_socket()
            .bind(&Endpoint::ipc(staged).to_string())
            .map_err(|error| BindError::new(&endpoint, error.into()))
    })?;
    Ok(file)
}

/// Closes the listener of a socket file.
pub(super) fn unbind_file(socket: &impl AsZmqSocket, file: &SocketFile) {
    let address = Endpoint::ipc(file.bound_at()).to_string();
    if let Err(error) = socket.get_socket().unbind(&address) {
        debug!(%error, "could not close the listener of a removed socket file");
    }
}

fn place<T>(
    endpoint: &Endpoint,
    mode: u32,
    files: &mut Vec<SocketFile>,
    bind: impl FnOnce(&str) -> Result<T, BindError>,
) -> Result<T, BindError> {
    match endpoint {
        Endpoint::Tcp { .. } => bind(&endpoint.to_string()),
        Endpoint::Ipc(path) => {
            let (file, socket) = SocketFile::bind(path, mode, |staged| {
                bind(&Endpoint::ipc(staged).to_string())
            })?;
            files.push(file);
            Ok(socket)
        }
    }
}

/// The endpoint with the port the system gave where none was asked for.
fn taken(endpoint: &Endpoint, socket: &zmq::Socket) -> Endpoint {
    let Endpoint::Tcp { host, port: 0 } = endpoint else {
        return endpoint.clone();
    };
    let port = socket
        .get_last_endpoint()
        .ok()
        .and_then(Result::ok)
        .and_then(|text| Endpoint::parse(&text).ok())
        .and_then(|endpoint| endpoint.port());
    port.map_or_else(|| endpoint.clone(), |port| Endpoint::tcp(host, port))
}
