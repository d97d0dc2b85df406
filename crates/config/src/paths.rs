//! Puts `root_dir` before paths, as Salt does.

use std::path::{Component, Path, PathBuf};

/// The longest a socket directory may be compared with the cache directory
/// before Salt uses a short one instead: sockets have short names.
const SOCK_DIR_CHARS_OVER_CACHEDIR: usize = 10;

/// `path` below `root`, unless it is there already. A relative path is meant
/// below it too.
pub(crate) fn below(root: &Path, path: &Path) -> PathBuf {
    let root = tidy(&Path::new("/").join(root));
    if path.starts_with(&root) {
        return tidy(path);
    }
    tidy(&root.join(path.strip_prefix("/").unwrap_or(path)))
}

/// The same for a log: `file:///dev/log` and `udp://host:514` are no paths.
pub(crate) fn log_below(root: &Path, log: &Path) -> PathBuf {
    let scheme = log.to_str().and_then(|text| text.split_once("://"));
    if scheme.is_some_and(|(scheme, _)| !scheme.contains('/')) {
        return log.to_owned();
    }
    below(root, log)
}

/// The directory of sockets: one in the cache directory if the configured one
/// has a name so long that sockets in it might not fit.
pub(crate) fn sock_dir(sock_dir: &Path, cachedir: &Path) -> PathBuf {
    let length = |path: &Path| path.as_os_str().len();
    if length(sock_dir) > length(cachedir) + SOCK_DIR_CHARS_OVER_CACHEDIR {
        return cachedir.join(".salt-unix");
    }
    sock_dir.to_owned()
}

/// The path without `.`, `..` and doubled separators.
fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_as_in_salt() {
        for (root, path, expected) in [
            ("/", "/etc/salt", "/etc/salt"),
            ("/", "rel/x", "/rel/x"),
            ("/r", "/etc/salt", "/r/etc/salt"),
            ("/r/", "/r/pki", "/r/pki"),
            ("/r", "/rest/pki", "/r/rest/pki"),
            ("/r", "rel/sock", "/r/rel/sock"),
            ("/r", "/a//b/../c", "/r/a/c"),
        ] {
            let joined = below(Path::new(root), Path::new(path));
            assert_eq!(joined, Path::new(expected), "{root} {path}");
        }
    }

    #[test]
    fn a_log_may_be_no_path() {
        let root = Path::new("/r");
        for log in ["file:///dev/log", "udp://loghost:514", "tcp://h:1/LOG_USER"] {
            assert_eq!(log_below(root, Path::new(log)), Path::new(log));
        }
        let log = log_below(root, Path::new("/var/log/salt/minion"));
        assert_eq!(log, Path::new("/r/var/log/salt/minion"));
    }

    #[test]
    fn a_long_socket_directory_gives_way() {
        let short = sock_dir(
            Path::new("/a/very/long/directory/for/sockets"),
            Path::new("/c"),
        );
        assert_eq!(short, Path::new("/c/.salt-unix"));
        let kept = sock_dir(Path::new("/run/salt"), Path::new("/var/cache"));
        assert_eq!(kept, Path::new("/run/salt"));
    }
}
