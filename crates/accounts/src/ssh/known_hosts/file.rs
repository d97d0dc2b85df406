//! A `known_hosts` file: whose it is, and how it is written.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::host::replace_file;
use halite_call::paths::{self, Held};
use halite_call::{Call, CallError, os_text};
use halite_proto::{Map, Value};

use halite_call::host::accounts;

/// A `known_hosts` file.
pub(super) struct File {
    pub(super) path: PathBuf,
    owner: Option<accounts::User>,
}

impl File {
    /// The file that `config` and `user` mean, or why there is none.
    pub(super) fn of(call: &Call<'_>) -> Result<Self, Map> {
        let user = call.text_opt("user");
        let config = call
            .text_opt("config")
            .unwrap_or_else(|| default(user.is_some()));
        let owner = user.as_deref().and_then(|user| accounts::user(call, user));
        let named = match (&user, &owner) {
            _ if config.starts_with('/') => PathBuf::from(config),
            (None, _) => return Err(refused("Cannot determine absolute path to file.")),
            (Some(user), None) => return Err(refused(format!("User {user} does not exist"))),
            (Some(_), Some(owner)) => Path::new(&owner.home).join(config),
        };
        Ok(Self {
            path: call.host().path(named),
            owner,
        })
    }

    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    pub(super) fn missing(&self) -> Map {
        refused(format!("Known hosts file {} does not exist", self.shown()))
    }

    pub(super) fn failed(&self, what: &str, error: &io::Error) -> CallError {
        CallError::command(format!("{what}: '{}'", os_text(error, &self.path)))
    }

    /// The user whose file it is, if it can be given away.
    fn owner(&self, call: &Call<'_>) -> Option<&accounts::User> {
        let may = call.host().is_real() && nix::unistd::geteuid().is_root();
        self.owner.as_ref().filter(|_| may)
    }

    /// Gives something to the user whose file it is.
    fn give(&self, call: &Call<'_>, held: &Held) -> io::Result<()> {
        let id = |id: i64| u32::try_from(id).ok();
        match self.owner(call) {
            Some(owner) => held.chown(id(owner.uid), id(owner.gid)),
            None => Ok(()),
        }
    }

    /// Sets its mode and owner, which `ssh-keygen` does not keep.
    pub(super) fn restore(&self, call: &Call<'_>, mode: u32) -> Result<(), CallError> {
        let mode_failed = |error: io::Error| self.failed("Couldn't change the mode", &error);
        let held = Held::open(&self.path, true).map_err(mode_failed)?;
        held.set_mode(mode).map_err(mode_failed)?;
        self.give(call, &held)
            .map_err(|error| self.failed("Couldn't change the owner", &error))
    }

    /// Who runs a program that changes the file: the owner of the directory it
    /// is in, who could have a program of root's change another one.
    ///
    /// # Errors
    /// When a link on the way is not followed.
    pub(super) fn editor(&self, call: &Call<'_>) -> Result<Option<&str>, CallError> {
        let wrong = |error: io::Error| self.failed("Couldn't change known hosts file", &error);
        match Held::open(&self.path, true) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            held => drop(held.map_err(wrong)?),
        }
        let Some(owner) = self.owner(call).filter(|owner| owner.uid != 0) else {
            return Ok(None);
        };
        let parent = self.path.parent().unwrap_or_else(|| Path::new("/"));
        let parent = Held::open(parent, true).and_then(|parent| parent.data());
        let is_theirs = i64::from(parent.map_err(wrong)?.uid()) == owner.uid;
        Ok(is_theirs.then_some(owner.name.as_str()))
    }

    /// Whether it is there, as a file to which no link leads that is not
    /// followed: programs would wait for ever at a named pipe.
    ///
    /// # Errors
    /// When something else is there.
    pub(super) fn is_there(&self, call: &Call<'_>) -> Result<bool, CallError> {
        match paths::open_to_read(&self.path).and_then(|file| file.metadata()) {
            Ok(found) if found.is_file() => Ok(true),
            Ok(_) => Err(CallError::command(format!("{} is no file", self.shown()))),
            // A machine that is made up has programs, and not always files.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(!call.host().is_real()),
            Err(error) => Err(self.failed("Couldn't read known hosts file", &error)),
        }
    }

    pub(super) fn mode(&self) -> Option<u32> {
        let found = fs::metadata(&self.path).ok().filter(fs::Metadata::is_file);
        found.map(|found| found.mode() & 0o7777)
    }
}

/// An error as these functions return it.
pub(super) fn refused(why: impl Into<String>) -> Map {
    Map::from([
        ("status", Value::from("error")),
        ("error", why.into().into()),
    ])
}

/// Where known hosts are, as the states say it.
pub(crate) fn default(has_user: bool) -> String {
    match has_user {
        true => ".ssh/known_hosts",
        false => "/etc/ssh/ssh_known_hosts",
    }
    .to_owned()
}

pub(super) fn save(
    call: &Call<'_>,
    file: &File,
    text: &str,
    mode: Option<u32>,
) -> Result<(), CallError> {
    let failed = |error: &io::Error| file.failed("Couldn't append to known hosts file", error);
    if let Some(parent) = file.path.parent().filter(|parent| !parent.is_dir()) {
        let give = |made: &Held| match made.path() == parent && file.owner.is_some() {
            true => file.give(call, made).and_then(|()| made.set_mode(0o700)),
            false => Ok(()),
        };
        paths::create_dirs(parent, 0o777, give).map_err(|error| failed(&error))?;
    }
    replace_file(&file.path, text.as_bytes()).map_err(|error| failed(&error))?;
    file.restore(call, mode.unwrap_or(0o600))
}
