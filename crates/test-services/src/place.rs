//! The place of a server: a directory, an address, a port.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use anyhow::{Context as _, Result};
use nix::unistd::{Uid, User};
use tempfile::TempDir;

/// What the directories begin with; the id of the process follows.
const PREFIX: &str = "halite-service-";

/// Root's servers run as this user: several refuse to run as root.
pub(crate) const UNPRIVILEGED: &str = "nobody";

/// The address that servers of this process have, in 127.128.0.0/9: the ids of
/// processes fit into it, so no other process has it.
pub(crate) fn address() -> IpAddr {
    const BASE: u32 = 0x7f80_0000;
    const ID_MAX: u32 = 0x007f_fffe;
    IpAddr::V4(Ipv4Addr::from_bits(BASE + std::process::id() % ID_MAX + 1))
}

/// A port of that address that is free.
pub(crate) fn free_port() -> Result<SocketAddr> {
    let listener = TcpListener::bind((address(), 0)).context("no port is free")?;
    Ok(listener.local_addr()?)
}

/// A directory that belongs to the user whom servers run as.
pub(crate) fn directory(name: &str, base: &Path) -> Result<TempDir> {
    sweep(base);
    let dir = tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-{name}-", std::process::id()))
        .tempdir_in(base)
        .context("could not make a directory for a server")?;
    give_away(dir.path())?;
    Ok(dir)
}

/// Gives a file or directory to the user whom servers run as.
pub(crate) fn give_away(path: &Path) -> Result<()> {
    let Some(user) = unprivileged()? else {
        return Ok(());
    };
    nix::unistd::chown(path, Some(user.uid), Some(user.gid))
        .with_context(|| format!("could not give {} to {UNPRIVILEGED}", path.display()))
}

/// The user whom servers run as, `None` if that is who runs this.
pub(crate) fn unprivileged() -> Result<Option<User>> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    let user = User::from_name(UNPRIVILEGED)?;
    Ok(Some(user.with_context(|| {
        format!("there is no user {UNPRIVILEGED}")
    })?))
}

/// Removes directories whose process was killed.
fn sweep(base: &Path) {
    let entries = std::fs::read_dir(base);
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| {
            let (pid, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
            pid.parse::<u32>().ok()
        });
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // Another test process may be at it as well.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
