//! Names of packages, and the architectures that may end them.

use halite_call::{Call, python};

/// Architectures that may end a package's name.
const ARCHES: &[&str] = &[
    "x86_64", "i386", "i486", "i586", "i686", "athlon", "ppc64", "ppc64le", "ppc", "s390x", "s390",
    "aarch64", "armv7hl", "armv7hnl", "sparc", "noarch", "src",
];

/// The name of a package: with its architecture if that is a foreign one.
pub(crate) fn resolve(name: &str, arch: &str, own: &str) -> String {
    let is_32 = |arch: &str| ["i386", "i486", "i586", "i686", "athlon"].contains(&arch);
    if arch == "noarch" || arch == own || arch == "(none)" || (is_32(own) && is_32(arch)) {
        name.to_owned()
    } else {
        format!("{name}.{arch}")
    }
}

pub(crate) fn own_arch(call: &Call<'_>) -> String {
    let grains = call.ctx.grains();
    grains.get("osarch").map(python::str).unwrap_or_default()
}

/// The name of a package in two: an architecture that is known, and the rest.
pub(crate) fn parse_arch(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some((short, arch)) if ARCHES.contains(&arch) => (short, Some(arch)),
        _ => (name, None),
    }
}

/// The name without an architecture that goes without saying.
pub(crate) fn normalize(call: &Call<'_>, name: &str) -> String {
    match parse_arch(name) {
        (short, Some(arch)) if resolve(short, arch, &own_arch(call)) == short => short.to_owned(),
        _ => name.to_owned(),
    }
}
