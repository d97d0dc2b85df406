//! The action of a `salt-key` command line.
//!
//! Invariant: of several actions one is done, the first in Salt's order.

use std::path::PathBuf;

use super::{KEY_BITS, KeyOptions};
use crate::options::Stop;
use crate::options::groups::first_given;

/// What `salt-key` should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyAction {
    /// Make a key pair of this name.
    GenKeys(String),
    /// Sign the master's public key.
    GenSignature,
    /// Give the master a new key pair, signed by the old one.
    RenewMasterKey,
    /// Put all keys into this file.
    Export(PathBuf),
    /// Add the keys of this file.
    Import(PathBuf),
    /// List the keys in this state.
    List(ListedState),
    /// Print the keys that match.
    Print(String),
    /// Accept the keys that match.
    Accept(String),
    /// Reject the keys that match.
    Reject(String),
    /// Delete the keys that match.
    Delete(String),
    /// Print the fingerprints of the keys that match.
    Finger(String),
}

/// Which keys `--list` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedState {
    /// All of them.
    All,
    /// The accepted.
    Accepted,
    /// Those that wait for a decision.
    Pending,
    /// The rejected.
    Rejected,
    /// The denied.
    Denied,
}

impl ListedState {
    /// Reads the value of `--list`, of which the first letters count.
    fn parse(text: &str) -> Option<Self> {
        [
            ("acc", Self::Accepted),
            ("pre", Self::Pending),
            ("un", Self::Pending),
            ("rej", Self::Rejected),
            ("den", Self::Denied),
            ("all", Self::All),
        ]
        .into_iter()
        .find_map(|(prefix, state)| text.starts_with(prefix).then_some(state))
    }
}

impl KeyOptions {
    /// Refuses what does not go together with a login, which is shown to the
    /// master that is to do it.
    ///
    /// # Errors
    /// When a login lacks its way, or does not fit the rest.
    pub fn check_login(&self, action: &KeyAction) -> Result<(), Stop> {
        let refused = |text: String| Err(Stop::usage::<Self>(&text));
        let given = [
            (self.login.make_token, "--make-token"),
            (self.login.username.is_some(), "--username"),
            (self.login.password.is_some(), "--password"),
        ];
        if self.eauth.is_none() {
            return match first_given(&given) {
                Some(option) => refused(format!("{option} needs --auth")),
                None => Ok(()),
            };
        }
        let of_files = match action {
            KeyAction::GenKeys(_) => Some("--gen-keys"),
            KeyAction::GenSignature => Some("--gen-signature"),
            KeyAction::RenewMasterKey => Some("--renew-master-key"),
            KeyAction::Export(_) => Some("--export"),
            KeyAction::Import(_) => Some("--import"),
            _ => first_given(&[
                (self.rotate_aes_key.is_some(), "--rotate-aes-key"),
                (self.preserve_minions.is_some(), "--preserve-minions"),
            ]),
        };
        match of_files {
            Some(option) => refused(format!(
                "{option} does not go with --auth: it is for who may use the master's files"
            )),
            None => Ok(()),
        }
    }

    /// What to do: of several actions the first in Salt's order; to list all
    /// where none was given.
    ///
    /// # Errors
    /// When an action's value makes no sense.
    pub fn action(&self) -> Result<KeyAction, Stop> {
        let all = |flag: bool| flag.then(|| "*".to_owned());
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if self.keysize < KEY_BITS.0 {
            let error = format!("The minimum value for keysize is {}", KEY_BITS.0);
            return Err(Stop::usage::<Self>(&error));
        }
        if self.keysize > KEY_BITS.1 {
            let error = format!("The maximum value for keysize is {}", KEY_BITS.1);
            return Err(Stop::usage::<Self>(&error));
        }
        let list = match given(&self.list) {
            None => None,
            Some(text) => Some(ListedState::parse(&text).ok_or_else(|| {
                let error = format!("'{text}' is not a valid argument to '--list'");
                Stop::usage::<Self>(&error)
            })?),
        };
        if self.delete_all && !self.words.is_empty() {
            return Err(Stop::usage::<Self>(
                "Delete all takes no arguments. Use -d to delete specified keys",
            ));
        }
        let globs = [
            (given(&self.print), KeyAction::Print as fn(String) -> _),
            (all(self.print_all), KeyAction::Print),
            (given(&self.accept), KeyAction::Accept),
            (all(self.accept_all), KeyAction::Accept),
            (given(&self.reject), KeyAction::Reject),
            (all(self.reject_all), KeyAction::Reject),
            (given(&self.delete), KeyAction::Delete),
            (all(self.delete_all), KeyAction::Delete),
            (given(&self.finger), KeyAction::Finger),
            (all(self.finger_all), KeyAction::Finger),
        ];
        Ok(if let Some(file) = &self.export {
            KeyAction::Export(file.clone())
        } else if let Some(file) = &self.import {
            KeyAction::Import(file.clone())
        } else if let Some(name) = given(&self.gen_keys) {
            KeyAction::GenKeys(name)
        } else if self.renew_master_key {
            KeyAction::RenewMasterKey
        } else if self.gen_signature {
            KeyAction::GenSignature
        } else if let Some(state) = list {
            KeyAction::List(state)
        } else if self.list_all {
            KeyAction::List(ListedState::All)
        } else {
            globs
                .into_iter()
                .find_map(|(glob, action)| glob.map(action))
                .unwrap_or(KeyAction::List(ListedState::All))
        })
    }
}
