//! The decisions of a minion, without effects: no socket, no clock, no random
//! source, no thread. Time and chance come in as arguments, effects go out as
//! values, so a fleet of masters can be simulated in microseconds.

pub mod backoff;
pub mod beacons;
pub mod cluster_mark;
pub mod conductor;
pub mod jobs;
pub mod link;
pub mod origin;
pub mod ports;
pub mod private_reply;
pub mod publication;
pub mod rotation;
pub mod sign_in;
mod succession;
