//! The places of remotes in the configuration of a repository, which has them with
//! their passwords, as Salt writes them: read before git goes there, and written
//! where git was given them without (`password`).

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use halite_call::paths;
use halite_call::replace::{Dress, place_followed};

/// The mode that git gives a new file.
const MODE: u32 = 0o644;

/// The configuration of the repository that a directory belongs to, or of the one
/// that it is.
fn file(dir: &Path, is_root: bool) -> Option<PathBuf> {
    let most = if is_root { 1 } else { usize::MAX };
    for above in dir.ancestors().take(most) {
        let git = above.join(".git");
        if git.is_dir() {
            return Some(git.join("config"));
        }
        if let Ok(text) = paths::read_to_string(&git) {
            let at = above.join(text.strip_prefix("gitdir:")?.trim());
            let common = paths::read_to_string(at.join("commondir"));
            let at = common.map_or_else(|_| at.clone(), |common| at.join(common.trim()));
            return Some(at.join("config"));
        }
        if above.join("HEAD").is_file() && above.join("config").is_file() {
            return Some(above.join("config"));
        }
    }
    None
}

/// The places of all remotes.
pub(super) fn places(dir: &Path) -> Vec<String> {
    let text = file(dir, false).and_then(|file| paths::read_to_string(file).ok());
    places_in(&text.unwrap_or_default())
}

/// Writes the places of `remote`, or of all of a new clone, with their passwords.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(
    dir: &Path,
    remote: Option<&str>,
    places: &[(String, String)],
) -> io::Result<()> {
    let Some(file) = file(dir, remote.is_none()) else {
        return Ok(());
    };
    let mut text = paths::read_to_string(&file)?;
    for (plain, full) in places {
        text = with_place(&text, remote, plain, full);
    }
    let write = |to: &mut std::fs::File| {
        to.write_all(text.as_bytes())?;
        to.sync_all()
    };
    place_followed(&file, Dress::kept(MODE), write).map(drop)
}

fn places_in(text: &str) -> Vec<String> {
    let mut places = Vec::new();
    let mut is_remote = false;
    for line in text.lines() {
        is_remote = section(line).map_or(is_remote, |name| name.starts_with("remote "));
        places.extend(setting(line).filter(|_| is_remote).map(|(_, value)| value));
    }
    places
}

fn with_place(text: &str, remote: Option<&str>, plain: &str, full: &str) -> String {
    let wanted = remote.map(|name| format!("remote {}", quoted(name)));
    let is_wanted = |name: &str| match &wanted {
        Some(wanted) => name == wanted,
        None => name.starts_with("remote "),
    };
    let mut new = String::new();
    let mut is_here = false;
    for line in text.lines() {
        is_here = section(line).map_or(is_here, is_wanted);
        match setting(line) {
            Some((key, value)) if is_here && value == plain => {
                new.push_str(&format!("\t{key} = {}\n", quoted(full)));
            }
            _ => {
                new.push_str(line);
                new.push('\n');
            }
        }
    }
    new
}

/// What a line begins, without its brackets.
fn section(line: &str) -> Option<&str> {
    line.trim().strip_prefix('[')?.strip_suffix(']')
}

/// The name and the value of a line that says where a remote is.
fn setting(line: &str) -> Option<(&str, String)> {
    let (key, value) = line.split_once('=')?;
    let key = key.trim();
    let is_place = ["url", "pushurl"]
        .iter()
        .any(|name| key.eq_ignore_ascii_case(name));
    is_place.then(|| (key, unquoted(value.trim())))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn unquoted(value: &str) -> String {
    let (mut plain, mut is_quoted) = (String::new(), false);
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            '\\' => plain.extend(chars.next()),
            '#' | ';' if !is_quoted => break,
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://u@h/a\n\
        \tfetch = +refs/heads/*:refs/remotes/origin/*\n[remote \"b\"]\n\turl = https://u@h/a\n\
        \tpushurl = \"https://u:#;\\\"@h/c\"\n[url \"x\"]\n\turl = https://u@h/a\n";

    #[test]
    fn places_are_those_of_remotes() {
        let wanted = ["https://u@h/a", "https://u@h/a", "https://u:#;\"@h/c"];
        assert_eq!(places_in(TEXT), wanted);
    }

    #[test]
    fn a_place_is_changed_for_its_remote_alone() {
        let full = "https://u:p;\"@h/a";
        let new = with_place(TEXT, Some("b"), "https://u@h/a", full);
        let wanted = ["https://u@h/a", full, "https://u:#;\"@h/c"];
        assert_eq!(places_in(&new), wanted);
        assert_eq!(new.lines().count(), TEXT.lines().count());
        let new = with_place(TEXT, None, "https://u@h/a", full);
        assert_eq!(places_in(&new), [full, full, "https://u:#;\"@h/c"]);
        assert!(new.ends_with("[url \"x\"]\n\turl = https://u@h/a\n"));
    }

    #[test]
    fn the_configuration_of_a_repository_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["a/.git", "a/sub", "b/worktrees/w", "w"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("b/HEAD"), "").unwrap();
        std::fs::write(at("b/config"), "").unwrap();
        std::fs::write(at("b/worktrees/w/commondir"), "../..\n").unwrap();
        std::fs::write(at("w/.git"), "gitdir: ../b/worktrees/w\n").unwrap();
        assert_eq!(file(&at("a/sub"), false), Some(at("a/.git/config")));
        assert_eq!(file(&at("a/sub"), true), None);
        assert_eq!(file(&at("b"), true), Some(at("b/config")));
        let of_tree = file(&at("w"), true).unwrap().canonicalize().unwrap();
        assert_eq!(of_tree, at("b/config").canonicalize().unwrap());
    }
}
