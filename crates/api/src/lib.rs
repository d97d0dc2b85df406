//! Salt's REST interface: the work of `salt-api`, by the options of
//! `rest_cherrypy`.
//!
//! Requests become low data, low data becomes commands of a client of the master,
//! and the returns become JSON or YAML. Invariant: only the master decides what a
//! user may do; without credentials nothing is sent to it.

mod address;
mod connections;
pub mod decode;
pub mod encode;
mod error;
mod event_text;
mod events;
pub mod fault;
#[doc(hidden)]
pub mod fuzzing;
pub mod limits;
mod low;
mod masters;
mod meters;
mod pages;
mod routes;
pub mod server;
mod sessions;
pub mod settings;
mod slots;
mod static_files;
mod strangers;
mod throttle;
mod tls;

pub use error::ServeError;
pub use routes::{App, Peer};
pub use server::Server;
pub use settings::{ApiSettings, doubts, faults};
