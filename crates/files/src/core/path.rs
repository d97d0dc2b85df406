//! Paths as Python's `os.path` handles them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use halite_call::paths::HeldName;

/// `os.path.normpath`.
pub(crate) fn normalize(path: &str) -> String {
    if path.is_empty() {
        return ".".to_owned();
    }
    let slashes = if path.starts_with("//") && !path.starts_with("///") {
        "//"
    } else if path.starts_with('/') {
        "/"
    } else {
        ""
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if !slashes.is_empty() => {}
            part => parts.push(part),
        }
    }
    let joined = format!("{slashes}{}", parts.join("/"));
    if joined.is_empty() {
        ".".to_owned()
    } else {
        joined
    }
}

/// `os.path.dirname`.
pub(crate) fn dirname(path: &str) -> &str {
    let Some(at) = path.rfind('/') else { return "" };
    let (head, _) = path.split_at(at + 1);
    let cut = head.trim_end_matches('/');
    if cut.is_empty() { head } else { cut }
}

/// `os.path.basename`.
pub(crate) fn basename(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, base)| base)
}

/// `os.path.join`.
pub(crate) fn join(first: &str, rest: &[&str]) -> String {
    let mut path = first.to_owned();
    for part in rest {
        if part.starts_with('/') {
            path = (*part).to_owned();
        } else if path.is_empty() || path.ends_with('/') {
            path.push_str(part);
        } else {
            path.push('/');
            path.push_str(part);
        }
    }
    path
}

/// `os.path.expanduser`, for `~` and `~user`.
pub(crate) fn expand_user(path: &str) -> String {
    let Some(rest) = path.strip_prefix('~') else {
        return path.to_owned();
    };
    let (name, rest) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let home = if name.is_empty() {
        std::env::var("HOME").ok()
    } else {
        let user = nix::unistd::User::from_name(name).ok().flatten();
        user.map(|user| user.dir.display().to_string())
    };
    match home {
        Some(home) => format!("{}{rest}", home.trim_end_matches('/')),
        None => path.to_owned(),
    }
}

/// Whether the path starts at the root.
pub(crate) fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
}

/// Whether something is there, be it a link that leads nowhere
/// (`os.path.lexists`).
pub(crate) fn is_there(path: impl AsRef<Path>) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Whether this is a symbolic link.
pub(crate) fn is_link(path: impl AsRef<Path>) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink())
}

/// `os.path.realpath`: links resolved as far as they lead somewhere.
pub(crate) fn real(path: &str) -> PathBuf {
    let full = absolute(path);
    let mut done = PathBuf::from("/");
    let mut left: Vec<String> = full
        .split('/')
        .rev()
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    let mut links = 0;
    while let Some(part) = left.pop() {
        match part.as_str() {
            "." => {}
            ".." => {
                done.pop();
            }
            _ => {
                done.push(&part);
                if links < LINKS_MAX
                    && let Ok(target) = fs::read_link(&done)
                {
                    links += 1;
                    done.pop();
                    if target.is_absolute() {
                        done = PathBuf::from("/");
                    }
                    let target = target.display().to_string();
                    left.extend(
                        target
                            .split('/')
                            .rev()
                            .filter(|part| !part.is_empty())
                            .map(str::to_owned),
                    );
                }
            }
        }
    }
    done
}

/// The path without links of a file that is going to be changed, as far as it
/// leads somewhere.
///
/// # Errors
/// When a link on the way is not followed.
pub(crate) fn real_to_change(path: &str) -> io::Result<PathBuf> {
    match HeldName::followed(Path::new(&absolute(path))) {
        Ok(place) => Ok(place.real_path()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        Err(_) => Ok(real(path)),
    }
}

/// Links on the way of one path; the rest is taken as it is.
const LINKS_MAX: u32 = 40;

/// `os.path.abspath`.
pub(crate) fn absolute(path: &str) -> String {
    if is_absolute(path) {
        return normalize(path);
    }
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    normalize(&join(&here.display().to_string(), &[path]))
}

/// Quotes a path for a shell, as `shlex.quote` does.
pub(crate) fn shell_quote(text: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !text.is_empty() && text.chars().all(safe) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\"'\"'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_pythons() {
        assert_eq!(normalize("a//b/./c/"), "a/b/c");
        assert_eq!(normalize("//a"), "//a");
        assert_eq!(normalize("/.."), "/");
        assert_eq!(normalize("../x"), "../x");
        assert_eq!(dirname("/a/b/"), "/a/b");
        assert_eq!(dirname("/"), "/");
        assert_eq!(basename("/a/b/"), "");
        assert_eq!(join("a", &["/b", "c"]), "/b/c");
        assert_eq!(join("a", &["", "c"]), "a/c");
    }

    #[test]
    fn links_are_resolved_as_far_as_they_lead() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("nowhere/x", base.join("l")).unwrap();
        let path = base.join("l").display().to_string();
        assert_eq!(real(&path), base.join("nowhere/x"));
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();
        real(&base.join("loop").display().to_string());
    }
}
