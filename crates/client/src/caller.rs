//! The user who gives a command, and the key file that proves it.
//!
//! The master writes a key for each user who may command it; being able to read the
//! file is the proof (`salt/client/__init__.py`, 3008.5).

use std::fs;
use std::path::{Path, PathBuf};

use halite_crypto::Secret;
use nix::unistd::{User, geteuid};

/// The user who runs the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name that is sent: with `sudo_` in front for who became root.
    pub name: String,
}

impl Caller {
    /// The user of this process; `sudo_user` is the variable `SUDO_USER`.
    pub fn current(sudo_user: Option<&str>) -> Self {
        let uid = geteuid();
        let user = if uid.is_root() {
            "root".to_owned()
        } else {
            let found = User::from_uid(uid).ok().flatten();
            found.map_or_else(|| uid.to_string(), |user| user.name)
        };
        Self::new(user, sudo_user)
    }

    fn new(user: String, sudo_user: Option<&str>) -> Self {
        match sudo_user {
            Some(sudo_user) if user == "root" && !sudo_user.is_empty() => Self {
                name: format!("sudo_{sudo_user}"),
            },
            _ => Self { name: user },
        }
    }

    /// The file with this caller's key. `master_user` is whom the master runs
    /// as.
    pub fn key_file(&self, cachedir: &Path, master_user: &str) -> PathBuf {
        let is_root = self.name == "root" || self.name.starts_with("sudo_");
        let owner = if is_root { master_user } else { &self.name };
        cachedir.join(format!(".{owner}_key"))
    }

    /// The key, or nothing where it cannot be read: the master refuses then.
    pub fn read_key(&self, cachedir: &Path, master_user: &str) -> Secret<String> {
        let file = self.key_file(cachedir, master_user);
        match fs::read_to_string(&file) {
            Ok(key) => Secret::new(key),
            Err(error) => {
                tracing::debug!(file = %file.display(), %error, "could not read the key file");
                Secret::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_that_of_the_user_or_of_the_masters_user() {
        for (user, sudo_user, master_user, name, file) in [
            ("root", None, "root", "root", ".root_key"),
            ("root", None, "salt", "root", ".salt_key"),
            ("root", Some("alice"), "salt", "sudo_alice", ".salt_key"),
            ("root", Some(""), "root", "root", ".root_key"),
            ("alice", None, "root", "alice", ".alice_key"),
            ("alice", Some("bob"), "root", "alice", ".alice_key"),
        ] {
            let caller = Caller::new(user.to_owned(), sudo_user);
            assert_eq!(caller.name, name);
            let path = caller.key_file(Path::new("/c"), master_user);
            assert_eq!(path, Path::new("/c").join(file));
        }
    }

    #[test]
    fn a_key_that_cannot_be_read_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let caller = Caller::new("root".to_owned(), None);
        assert_eq!(caller.read_key(dir.path(), "root").expose(), "");
        fs::write(dir.path().join(".root_key"), "k+/=").unwrap();
        assert_eq!(caller.read_key(dir.path(), "root").expose(), "k+/=");
    }
}
