//! Properties of every value and every message: packing and reading are inverse,
//! and no bytes make a decoder panic.

#![allow(
    clippy::unwrap_used,
    reason = "a property that cannot be checked is a failed test"
)]
#![allow(
    clippy::expect_used,
    reason = "the decoders are shared with the fuzz targets"
)]

mod arbitrary;
mod decoders;
mod given;
mod messages;
mod values;
