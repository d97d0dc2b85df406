//! The key files with which programs on the master's host prove who they are:
//! `.root_key` and `.<user>_key` in the cache directory.
//!
//! Invariant: a key file is readable by its user only, from its first byte on,
//! and one that exists is kept, so running programs stay authorised over a
//! restart.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use halite_config::MasterConfig;
use halite_crypto::files::{self, FileError, MODE_SECRET, WriteOptions};
use halite_crypto::{Secret, SymmetricKey, constant_time_eq};
use halite_proto::{Map, Value};
use halite_target::glob;

use super::settings::AccessSettings;
use crate::core::text::fullmatch;
use crate::error::StartError;
use crate::settings::General;

/// A key file larger than this is not one.
const FILE_BYTES_MAX: u64 = 1024;

/// Permission bit that lets other users reach their key file in the cache
/// directory.
const OTHERS_MAY_ENTER: u32 = 0o001;

/// A user of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SystemUser {
    /// Login name.
    pub(crate) name: String,
    /// User id.
    pub(crate) uid: u32,
}

/// The users who get a key file.
pub(crate) struct Holders<'a> {
    /// `user` of the configuration.
    pub(crate) configured: &'a str,
    /// The user the master runs as.
    pub(crate) running: &'a str,
    /// `publisher_acl`.
    pub(crate) publisher_acl: &'a Map,
    /// `client_acl_verify`: only users of the host get one.
    pub(crate) only_existing: bool,
    /// The users of the host.
    pub(crate) system: &'a [SystemUser],
}

impl Holders<'_> {
    /// The names, those with full rights first.
    fn names(&self) -> Vec<String> {
        let mut names = vec![self.configured.to_owned(), self.running.to_owned()];
        for pattern in self.publisher_acl.keys().filter_map(Value::as_str) {
            if self.only_existing {
                names.extend(
                    self.system
                        .iter()
                        .map(|user| &user.name)
                        .filter(|name| glob::fnmatch(pattern, name) || fullmatch(pattern, name))
                        .cloned(),
                );
            } else {
                names.push(pattern.to_owned());
            }
        }
        names.retain(|name| is_file_name(name));
        let mut seen = Vec::new();
        names.retain(|name| {
            let new = !seen.contains(name);
            seen.push(name.clone());
            new
        });
        names
    }

    fn uid_of(&self, name: &str) -> Option<u32> {
        let user = self.system.iter().find(|user| user.name == name)?;
        Some(user.uid)
    }
}

/// The keys of the local users.
pub(crate) struct LocalKeys(Vec<LocalKey>);

/// A user, and what the key file holds.
struct LocalKey {
    name: String,
    key: Secret<String>,
    /// Whose the file is to be, if not this process's user's.
    owner: Option<u32>,
}

impl LocalKeys {
    /// Reads the key files below `cachedir`, making those that are missing.
    ///
    /// # Errors
    /// When a key file cannot be read or made.
    pub(crate) fn load(cachedir: &Path, holders: &Holders<'_>) -> Result<Self, FileError> {
        let mut keys = Vec::new();
        for name in holders.names() {
            let path = path_of(cachedir, &name);
            let owner = holders.uid_of(&name).filter(|_| name != holders.running);
            let key = load_or_make(&path, owner)?;
            keys.push(LocalKey { name, key, owner });
        }
        if !holders.publisher_acl.is_empty() {
            let_others_enter(cachedir)?;
        }
        Ok(Self(keys))
    }

    /// The keys that root has prepared, else those of the files.
    ///
    /// # Errors
    /// When a key file cannot be read or made.
    pub(crate) fn prepared_or_load(
        cachedir: &Path,
        holders: &Holders<'_>,
    ) -> Result<Self, FileError> {
        let prepared = PREPARED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match prepared {
            Some(keys) => Ok(keys),
            None => Self::load(cachedir, holders),
        }
    }

    /// Gives each file to its user, because an earlier start may have left it to another
    /// one.
    fn give_away(&self, cachedir: &Path, holders: &Holders<'_>) -> Result<(), FileError> {
        for LocalKey { name, .. } in &self.0 {
            let Some(uid) = holders.uid_of(name) else {
                continue;
            };
            let path = path_of(cachedir, name);
            lchown(&path, Some(uid), None).map_err(|source| FileError::Write { path, source })?;
        }
        Ok(())
    }

    /// Writes missing key files, each with the key that it had, so that programs that
    /// have read it stay authorised; returns which ones.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write_missing(&self, cachedir: &Path) -> Result<Vec<PathBuf>, FileError> {
        let mut written = Vec::new();
        for LocalKey { name, key, owner } in &self.0 {
            let path = path_of(cachedir, name);
            let found = fs::symlink_metadata(&path);
            if !found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
                continue;
            }
            write_key(&path, key, *owner)?;
            written.push(path);
        }
        Ok(written)
    }

    /// Whose key this is.
    pub(crate) fn owner_of(&self, key: &str) -> Option<&str> {
        // No early end: how long it takes does not tell which key was close.
        self.0.iter().rev().fold(None, |owner, known| {
            if constant_time_eq(known.key.expose().as_bytes(), key.as_bytes()) {
                Some(known.name.as_str())
            } else {
                owner
            }
        })
    }
}

/// Key files that root has made for a master that runs as another user.
static PREPARED: Mutex<Option<LocalKeys>> = Mutex::new(None);

/// Makes the key files while the process is root, each for its own user, and
/// keeps their content for the [`crate::Daemon`] that this process starts as
/// another user: it could neither give them away nor read them.
///
/// # Errors
/// When an option has no meaning, or a key file cannot be made.
pub fn prepare_local_keys(config: &MasterConfig) -> Result<(), StartError> {
    let general = General::from_config(config)?;
    let settings = AccessSettings::from_config(config)?;
    let system = system_users();
    let holders = Holders {
        configured: &general.user,
        running: &general.user,
        publisher_acl: &settings.publisher_acl,
        only_existing: settings.client_acl_verify,
        system: &system,
    };
    let keys = LocalKeys::load(&general.cachedir, &holders)
        .and_then(|keys| {
            keys.give_away(&general.cachedir, &holders)?;
            Ok(keys)
        })
        .map_err(|source| StartError::File {
            what: "the key files of local users",
            source,
        })?;
    *PREPARED.lock().unwrap_or_else(PoisonError::into_inner) = Some(keys);
    Ok(())
}

fn load_or_make(path: &Path, owner: Option<u32>) -> Result<Secret<String>, FileError> {
    match files::read_limited(path, FILE_BYTES_MAX) {
        Ok(bytes) if !bytes.is_empty() => {
            return Ok(Secret::new(String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(_) => {}
        Err(error) if error.kind() == Some(std::io::ErrorKind::NotFound) => {}
        Err(error) => return Err(error),
    }
    let key = Secret::new(SymmetricKey::generate().expose().to_owned());
    // Other masters of a cluster may make one in the same directory.
    let options = WriteOptions::new(MODE_SECRET);
    if owner.is_none() {
        return match files::create_exclusive(path, options, key.expose().as_bytes())? {
            true => Ok(key),
            false => {
                let bytes = files::read_limited(path, FILE_BYTES_MAX)?;
                Ok(Secret::new(String::from_utf8_lossy(&bytes).into_owned()))
            }
        };
    }
    write_key(path, &key, owner)?;
    Ok(key)
}

fn path_of(cachedir: &Path, name: &str) -> PathBuf {
    cachedir.join(format!(".{name}_key"))
}

fn write_key(path: &Path, key: &Secret<String>, owner: Option<u32>) -> Result<(), FileError> {
    let options = WriteOptions::new(MODE_SECRET);
    let write = |options| files::write_atomic(path, options, key.expose().as_bytes());
    match write(options.owned_by(owner)) {
        // A master that is not root serves its own user all the same.
        Err(error) if owner.is_some() && is_forbidden(&error) => {
            tracing::warn!(
                path = %path.display(),
                "this key file belongs to the master's user, so its own user cannot read it: only \
                 root can change the owner"
            );
            write(options)
        }
        other => other,
    }
}

fn is_forbidden(error: &FileError) -> bool {
    error.kind() == Some(std::io::ErrorKind::PermissionDenied)
}

/// Lets the users of `publisher_acl` reach their files in a directory.
pub(crate) fn let_others_enter(dir: &Path) -> Result<(), FileError> {
    let change = || {
        let mode = fs::metadata(dir)?.mode() & 0o7777;
        fs::set_permissions(dir, Permissions::from_mode(mode | OTHERS_MAY_ENTER))
    };
    change().map_err(|source| FileError::Write {
        path: dir.to_owned(),
        source,
    })
}

/// Reads the host's own users.
pub(crate) fn system_users() -> Vec<SystemUser> {
    let passwd = PathBuf::from("/etc/passwd");
    parse_passwd(&fs::read_to_string(passwd).unwrap_or_default())
}

fn parse_passwd(text: &str) -> Vec<SystemUser> {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?.to_owned();
            let uid = fields.nth(1)?.parse().ok()?;
            is_file_name(&name).then_some(SystemUser { name, uid })
        })
        .collect()
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nfred:x:1000:1000::/:/bin/sh\njunk\n";

    fn load(dir: &Path, acl: &Map, only_existing: bool) -> LocalKeys {
        let system = parse_passwd(PASSWD);
        let holders = Holders {
            configured: "root",
            running: "root",
            publisher_acl: acl,
            only_existing,
            // Nobody is chowned to in a test.
            system: &system
                .into_iter()
                .map(|user| SystemUser {
                    uid: nix::unistd::getuid().as_raw(),
                    ..user
                })
                .collect::<Vec<_>>(),
        };
        LocalKeys::load(dir, &holders).unwrap()
    }

    #[test]
    fn the_root_key_is_private_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        load(dir.path(), &Map::new(), true);
        let path = dir.path().join(".root_key");
        let key = fs::read_to_string(&path).unwrap();
        assert_eq!(key.len(), SymmetricKey::CHARS);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let again = load(dir.path(), &Map::new(), true);
        assert_eq!(fs::read_to_string(&path).unwrap(), key);
        assert_eq!(again.owner_of(&key), Some("root"));
        assert_eq!(again.owner_of(""), None);
        assert_eq!(again.owner_of(&key[1..]), None);
    }

    #[test]
    fn users_of_the_acl_get_a_key_if_they_exist() {
        let dir = tempfile::tempdir().unwrap();
        let acl = Map::from([
            ("fr*", Value::Nil),
            ("ghost", Value::Nil),
            ("../x", Value::Nil),
        ]);
        let keys = load(dir.path(), &acl, true);
        let fred = fs::read_to_string(dir.path().join(".fred_key")).unwrap();
        assert_eq!(keys.owner_of(&fred), Some("fred"));
        assert!(!dir.path().join(".ghost_key").exists());
        load(dir.path(), &acl, false);
        assert!(dir.path().join(".ghost_key").exists());
        assert_ne!(fs::metadata(dir.path()).unwrap().mode() & 0o001, 0);
    }
}
