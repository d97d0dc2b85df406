//! Asks a range server for the hosts of an expression: Salt's `-R` and `R@`
//! (`range_server`).
//!
//! The request is one HTTP request, `GET /range/list?<expression>`; the answer has
//! one host a line, or a header `RangeException`. Invariant: only the configured
//! server is ever asked, an answer is waited for and read within limits, and a
//! server that does not answer is left alone for a while.

mod answer;
#[doc(hidden)]
pub mod fuzzing;
mod kept;
pub mod limits;
mod server;

pub use server::{RangeError, RangeServer};
