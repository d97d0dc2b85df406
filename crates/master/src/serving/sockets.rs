//! Every socket of the master: two ports for minions, three for programs on
//! its host.
//!
//! Invariant: either all are bound or none is, and their files go when they
//! are closed.

use std::fs;
use std::path::{Path, PathBuf};

use halite_transport::fleet::{
    LocalPublishOptions, LocalPublishSocket, PresenceWatch, PublishPort, PublishPortOptions,
    RequestPort, RequestPortOptions,
};
use halite_transport::ipc::{BusOptions, EventBus, LateListening};
use halite_transport::{BindError, Endpoint};

use super::settings::SocketSettings;
use crate::error::StartError;
use crate::limits;

/// Names of Salt's sockets below `sock_dir`.
const EVENTS_OUT: &str = "master_event_pub.ipc";
const EVENTS_IN: &str = "master_event_pull.ipc";
const PUBLICATIONS_IN: &str = "publish_pull.ipc";
/// No socket: an empty file that says that a master is up.
const UP_MARK: &str = "workers.ipc";

/// The sockets, bound before anything slow is done: who cannot have the port
/// should know at once, and early requests wait instead of failing.
pub(crate) struct Bound {
    pub(crate) request_port: RequestPort,
    pub(crate) publish_port: PublishPort,
    pub(crate) local_publish: LocalPublishSocket,
    pub(crate) bus: EventBus,
    pub(crate) marks: Marks,
}

impl Bound {
    /// Binds all of them; `presence` receives who subscribes.
    ///
    /// # Errors
    /// When one cannot be bound.
    pub(crate) fn bind(
        settings: &SocketSettings,
        sock_dir: &Path,
        presence: PresenceWatch,
    ) -> Result<Self, StartError> {
        let at = |port| listen_at(settings, port);
        let local = Local::of(settings, sock_dir);
        let request_port = RequestPort::bind(
            &[at(settings.ret_port)?],
            RequestPortOptions {
                transport: settings.transport,
                backlog: settings.backlog,
                ipv6: settings.ipv6,
                ..RequestPortOptions::default()
            },
        )
        .map_err(listen("requests (option ret_port)"))?;
        let publish_port = PublishPort::bind(
            &[at(settings.publish_port)?],
            PublishPortOptions {
                transport: settings.transport,
                peer_messages_max: settings.pub_hwm,
                backlog: settings.backlog,
                ipv6: settings.ipv6,
                keep_alive: settings.keep_alive,
                filtering: settings.filtering,
                syndics: settings.syndics,
                presence: Some(presence),
                ..PublishPortOptions::default()
            },
        )
        .map_err(listen(
            "minions that wait for publications (option publish_port)",
        ))?;
        let local_publish = LocalPublishSocket::bind(
            std::slice::from_ref(&local.publications_in),
            LocalPublishOptions {
                transport: settings.transport,
                ..LocalPublishOptions::default()
            },
        )
        .map_err(listen("publications of local programs"))?;
        let bus = EventBus::bind(
            &local.events_out,
            &local.events_in,
            BusOptions {
                framing_of: settings.framing_of,
                late: Some(LateListening {
                    span: limits::LATE_LISTENING,
                    owner_bytes_max: limits::LATE_BYTES_PER_MINION_MAX,
                    bytes_max: limits::LATE_BYTES_MAX,
                }),
                ..BusOptions::master(settings.framing)
            },
        )
        .map_err(listen("local programs on the event bus"))?;
        let marks = Marks::make(sock_dir, local.paths());
        Ok(Self {
            request_port,
            publish_port,
            local_publish,
            bus,
            marks,
        })
    }
}

/// Where local programs reach the master.
struct Local {
    events_out: Endpoint,
    events_in: Endpoint,
    publications_in: Endpoint,
}

impl Local {
    fn of(settings: &SocketSettings, sock_dir: &Path) -> Self {
        const LOOPBACK: &str = "127.0.0.1";
        let socket = |name| Endpoint::ipc(sock_dir.join(name));
        let (events_out, events_in) = match settings.local_ports {
            None => (socket(EVENTS_OUT), socket(EVENTS_IN)),
            Some(ports) => (
                Endpoint::tcp(LOOPBACK, ports.events_out),
                Endpoint::tcp(LOOPBACK, ports.events_in),
            ),
        };
        Self {
            events_out,
            events_in,
            publications_in: socket(PUBLICATIONS_IN),
        }
    }

    /// The socket files among them.
    fn paths(&self) -> Vec<PathBuf> {
        [&self.events_out, &self.events_in, &self.publications_in]
            .into_iter()
            .filter_map(|endpoint| endpoint.path().map(Path::to_owned))
            .collect()
    }
}

fn listen(what: &'static str) -> impl FnOnce(BindError) -> StartError {
    move |source| StartError::Listen { what, source }
}

/// The endpoint of one of the master's ports.
///
/// # Errors
/// When `interface` is no address.
pub(crate) fn listen_at(settings: &SocketSettings, port: u16) -> Result<Endpoint, StartError> {
    Endpoint::parse(&tcp_text(&settings.interface, port)).map_err(|error| StartError::Interface {
        why: error.to_string(),
    })
}

fn tcp_text(interface: &str, port: u16) -> String {
    if interface.contains(':') && !interface.starts_with('[') {
        format!("tcp://[{interface}]:{port}")
    } else {
        format!("tcp://{interface}:{port}")
    }
}

/// Files that say that a master is up, and the sockets' own; they go when it
/// does. The sockets remove theirs when they are closed, but a request that
/// hangs on a dead disk may keep one open to the end.
pub(crate) struct Marks {
    up: PathBuf,
    sockets: Vec<PathBuf>,
}

impl Marks {
    fn make(sock_dir: &Path, sockets: Vec<PathBuf>) -> Self {
        let up = sock_dir.join(UP_MARK);
        // Salt has a socket of this name, which stays where its master was
        // killed.
        let _ = fs::remove_file(&up);
        if let Err(error) = fs::write(&up, b"") {
            tracing::warn!("could not make {}: {error}", up.display());
        }
        Self { up, sockets }
    }

    /// The file that says that a master is up.
    pub(crate) fn up(&self) -> &Path {
        &self.up
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        for path in self.sockets.iter().chain([&self.up]) {
            let _ = fs::remove_file(path);
        }
    }
}
