//! The words of `parted`, and arguments that must be one of them.

use halite_call::{Call, CallError};

use crate::devices::is_block;

pub(super) const UNITS: [&str; 13] = [
    "s", "B", "kB", "MB", "MiB", "GB", "GiB", "TB", "TiB", "%", "cyl", "chs", "compact",
];

pub(super) const DISK_FLAGS: [&str; 3] = [
    "cylinder_alignment",
    "pmbr_boot",
    "implicit_partition_table",
];

pub(super) const PARTITION_FLAGS: [&str; 19] = [
    "boot",
    "root",
    "swap",
    "hidden",
    "raid",
    "lvm",
    "lba",
    "hp-service",
    "palo",
    "prep",
    "msftres",
    "bios_grub",
    "atvrecv",
    "diag",
    "legacy_boot",
    "msftdata",
    "irst",
    "esp",
    "type",
];

pub(super) const LABELS: [&str; 10] = [
    "aix", "amiga", "bsd", "dvh", "gpt", "loop", "mac", "msdos", "pc98", "sun",
];

const FILE_SYSTEMS: [&str; 15] = [
    "btrfs",
    "ext2",
    "ext3",
    "ext4",
    "fat",
    "fat32",
    "fat16",
    "linux-swap",
    "reiserfs",
    "hfs",
    "hfs+",
    "hfsx",
    "NTFS",
    "ntfs",
    "ufs",
];

pub(super) fn invalid(what: &str) -> CallError {
    CallError::command(format!("Invalid {what}"))
}

pub(super) fn valid(known: &[&str], given: &str, what: &str) -> Result<(), CallError> {
    match known.contains(&given) {
        true => Ok(()),
        false => Err(invalid(what)),
    }
}

pub(super) fn device(call: &Call<'_>) -> Result<String, CallError> {
    let device = call.text("device");
    match is_block(call, &device) {
        true => Ok(device),
        false => Err(invalid("device passed to partition module.")),
    }
}

pub(super) fn number(call: &Call<'_>, name: &str, what: &str) -> Result<String, CallError> {
    match call.int(name) {
        Ok(number) if number >= 0 => Ok(number.to_string()),
        _ => Err(invalid(what)),
    }
}

/// A place on a disk: a number with a unit.
pub(super) fn boundary(call: &Call<'_>, name: &str) -> Result<String, CallError> {
    let text = call.text(name);
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let unit = text.get(digits..).unwrap_or_default();
    if digits == 0 || !unit.is_empty() && !UNITS.contains(&unit) {
        return Err(CallError::command(format!(
            "Invalid partition boundary passed: \"{text}\""
        )));
    }
    Ok(text)
}

pub(super) fn is_file_system(kind: &str) -> bool {
    FILE_SYSTEMS.contains(&kind) || kind == "xfs"
}
