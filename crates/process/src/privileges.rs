//! The user and groups as which the process runs.
//!
//! Invariant: groups are set before the group id, and that before the user id,
//! since none of this is allowed after it.

use std::ffi::CString;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::sys::stat::Mode;
use nix::unistd::{self, Gid, Group, Uid};
use thiserror::Error;

/// Why a user is not one, or cannot be become.
#[derive(Debug, Error)]
pub enum UserError {
    /// There is no such user.
    #[error("user {name:?} does not exist")]
    NoUser {
        /// The name or number asked for.
        name: String,
    },
    /// There is no such group.
    #[error("group {name:?} does not exist")]
    NoGroup {
        /// The name or number asked for.
        name: String,
    },
    /// The user database could not be read.
    #[error("could not look up {name:?}")]
    Lookup {
        /// What was looked up.
        name: String,
        /// Why not.
        #[source]
        source: Errno,
    },
    /// The process may not become somebody else.
    #[error("could not become user {name:?} (only root may)")]
    Become {
        /// Whom.
        name: String,
        /// Why not.
        #[source]
        source: Errno,
    },
}

/// A user of the system, with all groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Login name.
    pub name: String,
    /// User id.
    pub uid: Uid,
    /// Id of the primary group.
    pub gid: Gid,
    /// Every group the user is in.
    pub groups: Vec<Gid>,
    /// Home directory.
    pub home: PathBuf,
    /// Login shell.
    pub shell: PathBuf,
}

impl User {
    /// The user called `name`, or with that number.
    ///
    /// # Errors
    /// When there is none.
    pub fn lookup(name: &str) -> Result<Self, UserError> {
        let failed = |source| UserError::Lookup {
            name: name.to_owned(),
            source,
        };
        let mut found = unistd::User::from_name(name).map_err(failed)?;
        if let (None, Ok(uid)) = (&found, name.parse()) {
            found = unistd::User::from_uid(Uid::from_raw(uid)).map_err(failed)?;
        }
        let user = found.ok_or_else(|| UserError::NoUser {
            name: name.to_owned(),
        })?;
        let c_name = CString::new(user.name.as_str()).map_err(|_| failed(Errno::EINVAL))?;
        Ok(Self {
            groups: unistd::getgrouplist(&c_name, user.gid).map_err(failed)?,
            name: user.name,
            uid: user.uid,
            gid: user.gid,
            home: user.dir,
            shell: user.shell,
        })
    }

    /// The user the process acts as; a bare number when it has no name.
    ///
    /// # Errors
    /// When the user database cannot be read.
    pub fn current() -> Result<Self, UserError> {
        let uid = unistd::geteuid();
        match Self::lookup(&uid.to_string()) {
            Err(UserError::NoUser { name }) => Ok(Self {
                name,
                uid,
                gid: unistd::getegid(),
                groups: Vec::new(),
                home: PathBuf::from("/"),
                shell: PathBuf::from("/bin/sh"),
            }),
            other => other,
        }
    }
}

/// The id of the group called `name`, or with that number.
///
/// # Errors
/// When there is none.
pub fn lookup_group(name: &str) -> Result<Gid, UserError> {
    let failed = |source| UserError::Lookup {
        name: name.to_owned(),
        source,
    };
    if let Some(group) = Group::from_name(name).map_err(failed)? {
        return Ok(group.gid);
    }
    name.parse()
        .map(Gid::from_raw)
        .map_err(|_| UserError::NoGroup {
            name: name.to_owned(),
        })
}

/// Gives up root for `user` for good: all supplementary groups become those of
/// the user, and so do the variables that say who the user is. Does nothing
/// when the process is that user already. To be called before any thread is
/// started.
///
/// # Errors
/// When the process is somebody else and not root.
pub fn become_user(user: &User) -> Result<(), UserError> {
    if unistd::getuid() == user.uid && unistd::geteuid() == user.uid {
        return Ok(());
    }
    let failed = |source| UserError::Become {
        name: user.name.clone(),
        source,
    };
    unistd::setgroups(&user.groups).map_err(failed)?;
    unistd::setgid(user.gid).map_err(failed)?;
    unistd::setuid(user.uid).map_err(failed)?;
    // A process that could take root back has not given it up.
    if !user.uid.is_root() && unistd::setuid(Uid::from_raw(0)).is_ok() {
        return Err(failed(Errno::EPERM));
    }
    describe_in_environment(user);
    Ok(())
}

/// Commands and libraries look for their files in `HOME`, and root's is none
/// of the user's business. A variable that is not set stays so, as in Salt.
fn describe_in_environment(user: &User) {
    let name = user.name.as_ref();
    let variables = [
        ("HOME", user.home.as_os_str()),
        ("SHELL", user.shell.as_os_str()),
        ("USER", name),
        ("LOGNAME", name),
    ];
    let set: Vec<_> = variables
        .into_iter()
        .filter(|(name, _)| std::env::var_os(name).is_some())
        .collect();
    if let Err(error) = crate::sys::set_env_single_threaded(&set) {
        tracing::warn!(%error, "the environment variables still describe the former user");
    }
}

/// Whether the process is root.
pub fn is_root() -> bool {
    unistd::geteuid().is_root()
}

/// Sets the mask of new files' modes and returns the former one.
pub fn umask(mask: u32) -> u32 {
    nix::sys::stat::umask(Mode::from_bits_truncate(mask)).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_by_number() {
        let root = User::lookup("root").unwrap();
        assert_eq!(root.uid.as_raw(), 0);
        assert_eq!(User::lookup("0").unwrap(), root);
        let error = User::lookup("no-such-user").unwrap_err();
        assert_eq!(error.to_string(), "user \"no-such-user\" does not exist");
    }

    #[test]
    fn nothing_is_done_for_the_user_one_is() {
        become_user(&User::current().unwrap()).unwrap();
    }
}
