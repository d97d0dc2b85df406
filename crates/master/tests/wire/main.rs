//! A master in this process against a handmade minion.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod access;
mod away_store;
mod away_whole_store;
mod believed;
mod cleaning;
mod clones;
mod daemon;
mod event_store;
mod evil_minion;
mod ext_jobs;
mod faulty_store;
mod floods;
mod full_store;
mod hostile;
mod jobs;
mod late;
mod logged;
mod modules;
mod options;
mod others;
mod overload;
mod pillar;
mod presence;
mod requests;
mod return_pieces;
mod room;
mod same_names;
mod shared_store;
mod sign_in;
mod store_runners;
mod stranger;
mod support;
mod unproven;
