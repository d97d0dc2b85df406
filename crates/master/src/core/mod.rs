//! What the master decides, without sockets, files, clocks or randomness.

pub mod acl;
pub mod auth;
pub mod complaints;
pub mod counters;
pub mod eauth;
pub mod elsewhere;
pub mod gate;
pub mod gathering;
pub mod jobs;
pub mod lane;
pub mod mine;
pub mod missed;
pub mod peer;
pub mod presence;
pub mod reactions;
pub mod replay;
pub mod returns;
pub mod roster;
pub mod rules;
pub mod storms;
pub mod tags;
pub mod targets;
pub mod text;
