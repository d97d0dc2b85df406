//! Every entrance of a master against every caller that can reach it, over real
//! sockets, and floods while a fleet works.
//!
//! `doors` is the table: a request without a row does not compile, and an event, a
//! runner or a socket without one fails its test.

mod appointments;
mod callers;
mod capabilities;
mod code;
mod cost;
mod doors;
mod engines;
mod events;
mod knock;
mod load;
mod local;
mod ports;
mod requests;
mod runners;
mod salt;
mod stage;
