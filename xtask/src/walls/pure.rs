//! Crates and modules that do no I/O and read no clock.

use std::fs;

use anyhow::{Context, Result};

use super::floors::Floors;
use super::source::{files, line_of, program};
use crate::build::root;

/// The same is true of the part of each daemon that decides.
const CORES: [&str; 2] = ["crates/master/src/core", "crates/minion/src/core"];

/// What stands for a file, a socket, another program, the environment or a
/// clock.
const IMPURE: [&str; 12] = [
    "std::fs",
    "std::os::unix::fs",
    "std::env::",
    "std::process::Command",
    "Command::new",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "TcpStream",
    "UdpSocket",
    "tokio::",
];

/// Where ARCHITECTURE.md makes an exception, and for what.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("crates/crypto/src/files.rs", "private files"),
    ("crates/crypto/src/files/", "private files"),
    ("crates/crypto/src/remnants.rs", "private files"),
];

/// Where something that is to be pure is not.
pub(super) fn check(floors: &Floors) -> Result<Vec<String>> {
    let dirs = floors.pure().map(|name| format!("crates/{name}/src"));
    let mut complaints = Vec::new();
    for dir in dirs.chain(CORES.map(str::to_owned)) {
        for file in files(&root().join(&dir))? {
            let path = file.strip_prefix(root()).unwrap_or(&file);
            let path = path.display().to_string();
            if EXCEPTIONS.iter().any(|(known, _)| path.starts_with(known)) {
                continue;
            }
            let text = fs::read_to_string(&file).with_context(|| path.clone())?;
            for (line, found) in impure(&text) {
                complaints.push(format!(
                    "{path}:{line}: `{found}` where there is no I/O and no clock \
                     (ARCHITECTURE.md, Floors): hand in what is needed as an argument"
                ));
            }
        }
    }
    Ok(complaints)
}

/// The lines of a text that are not pure, with what they use.
fn impure(text: &str) -> Vec<(usize, &'static str)> {
    let program = program(text);
    let mut found = Vec::new();
    for pattern in IMPURE {
        found.extend(
            program
                .match_indices(pattern)
                .map(|(at, _)| (line_of(&program, at), pattern)),
        );
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::{EXCEPTIONS, impure};
    use crate::build::root;

    #[test]
    fn files_and_clocks_are_found_outside_tests() {
        let text = "// std::fs\nuse std::fs;\nfn a() { Instant::now(); }\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(impure(text), [(2, "std::fs"), (3, "Instant::now")]);
        assert!(impure("use std::net::IpAddr;\nenv!(\"X\");").is_empty());
    }

    #[test]
    fn exceptions_are_still_needed() {
        for (path, what) in EXCEPTIONS {
            let path = root().join(path);
            assert!(path.exists(), "{}: {what}", path.display());
            if path.is_file() {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(!impure(&text).is_empty(), "{}: {what}", path.display());
            }
        }
    }
}
