//! What dnf and zypper share: the database of `rpm` below both.

mod database;
mod info;
mod names;
mod verify;

pub(crate) use database::{
    current, file_info, files, installed, list_plain, observed, observed_attributes, owner, rpm,
    with_attributes,
};
pub(crate) use info::{info, info_installed};
pub(crate) use names::{normalize, own_arch, parse_arch, resolve};
pub(crate) use verify::{checksum, diff, modified, verify};
