//! Salt's REST interface: what `salt-api` does, by the options of
//! `rest_cherrypy`.
//!
//! Requests become low data, low data becomes commands of a client of the master,
//! and what comes back becomes JSON or YAML. Invariant: what somebody may do is
//! decided by the master alone; without credentials nothing is asked of it.

mod address;
pub mod decode;
pub mod encode;
mod error;
mod events;
pub mod fault;
#[doc(hidden)]
pub mod fuzzing;
pub mod limits;
mod low;
mod masters;
mod meters;
mod routes;
pub mod server;
mod sessions;
pub mod settings;
mod slots;
mod static_files;
mod throttle;
mod tls;

pub use error::ServeError;
pub use routes::{App, Peer};
pub use server::Server;
pub use settings::{ApiSettings, doubts, faults};
