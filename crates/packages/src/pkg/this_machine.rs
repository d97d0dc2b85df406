//! Which package manager this machine has.

use halite_call::Call;
use halite_proto::Value;

use super::error::PkgError;
use super::provider::Provider;
use super::{apk, apt, dnf, pacman, zypper};

/// The package manager of this machine.
///
/// # Errors
/// When there is none that is known.
pub(crate) fn provider(call: &Call<'_>) -> Result<&'static dyn Provider, PkgError> {
    let named = call
        .opt("providers")
        .get("pkg")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let grains = call.ctx.grains();
    let family = grains
        .get("os_family")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let host = call.host();
    let found: Option<&'static dyn Provider> = match (named.as_deref(), family) {
        (Some("aptpkg"), _) | (None, "Debian") => Some(&apt::Apt),
        (Some("yumpkg"), _) | (None, "RedHat") => Some(&dnf::Dnf),
        (Some("zypperpkg"), _) | (None, "Suse") => Some(&zypper::Zypper),
        (Some("apkpkg"), _) | (None, "Alpine") => Some(&apk::Apk),
        (Some("pacmanpkg"), _) | (None, "Arch") => Some(&pacman::Pacman),
        _ if host.has("apt-get") && host.has("dpkg-query") => Some(&apt::Apt),
        _ if host.has("rpm") && (host.has("dnf") || host.has("yum")) => Some(&dnf::Dnf),
        _ => None,
    };
    found.ok_or_else(|| {
        PkgError::command(format!(
            "No package manager is known for this system (os_family {family:?})"
        ))
    })
}
