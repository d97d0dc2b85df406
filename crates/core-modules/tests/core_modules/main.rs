//! Functions, compared with those of real Salt. `jobs.rs` and `real.rs` are programs of
//! their own: the one measures time, the other runs scripts that it has just written.

mod recorded;
mod render;
mod sent_files;
