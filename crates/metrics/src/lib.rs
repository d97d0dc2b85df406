//! The counters and measurements of a daemon, and the page from which monitoring
//! reads them.
//!
//! Names, labels and the option `metrics` are those of Salt 3008, as its exporter
//! for Prometheus shows them: `salt.jobs.published` is `salt_jobs_published_total`.
//! Invariant: every label has a bounded number of values, whatever peers send, and
//! a page costs no more than its text.

mod instruments;
mod limits;
mod names;
pub mod pages;
mod plain;
mod process;
mod settings;

pub use instruments::{Count, Instruments, Timing};
pub use limits::SERIES_MAX;
pub use settings::{MetricsSettings, Mistake};
