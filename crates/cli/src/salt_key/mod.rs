//! `salt-key`: lists, accepts, rejects, deletes and prints the keys of minions.
//!
//! It works on the master's directories, so no master needs to run; events inform a
//! running one. With a login it asks the master instead. Invariant: it changes
//! exactly the keys that it showed before the question.

mod change;
mod generate;
mod keys;
mod notice;
mod renew;
mod settings;
mod transfer;

use std::io::{self, BufRead};
use std::path::PathBuf;

use halite_crypto::HashType;
use halite_key::{FingerForm, KeyState, KeyStore, KeyStoreError, Listing, PkiDir};
use halite_proto::{Map, MinionId, Value};
use thiserror::Error;

use crate::display::Display;
use crate::environment::Environment;
use crate::login::{self, Login, LoginError};
use crate::options::{KeyAction, KeyOptions, ListedState, Stop};
use crate::{Exit, Screen};
use halite_client::{Caller, ClientError, ClientSettings, LocalClient};
use keys::{Asked, Keys};
use settings::{KeySettings, Unusable};

/// In what order structured output lists the states.
const STATES: [KeyState; 4] = [
    KeyState::Pending,
    KeyState::Rejected,
    KeyState::Accepted,
    KeyState::Denied,
];

/// Why an action failed.
#[derive(Debug, Error)]
enum ActionError {
    /// The keys could not be read or changed.
    #[error(transparent)]
    Store(#[from] KeyStoreError),
    /// A file or directory could not be used.
    #[error("could not use {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Keys could not be exported or imported.
    #[error(transparent)]
    Transfer(#[from] transfer::TransferError),
    /// The master does not do it.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// What is kept about deleted minions could not be removed.
    #[error("could not remove the data of deleted minions")]
    Data(#[source] halite_store::StoreError),
}

/// Runs `salt-key` with the master's merged configuration `opts`; questions are
/// answered from `input`.
pub async fn run(
    options: &KeyOptions,
    opts: &Map,
    environment: &Environment,
    screen: &mut Screen<'_>,
    input: impl BufRead + Send + 'static,
) -> Exit {
    let (action, settings) = match prepared(options, opts) {
        Ok(prepared) => prepared,
        Err(stop) => return stop.show(screen),
    };
    let no_color = environment.no_color.as_deref();
    let display = match Display::new(opts, &options.output, screen, no_color) {
        Ok(display) => display,
        Err(error) => {
            screen.error_line(&format!("salt-key: error: {}", crate::chain(&error)));
            return Exit::Failure;
        }
    };
    let keys = match keys(options, opts, environment, screen).await {
        Ok(keys) => keys,
        Err(exit) => return exit,
    };
    let mut program = Program {
        options,
        settings,
        display,
        keys,
    };
    match program.run(action, screen, input).await {
        Ok(exit) => exit,
        Err(error) => {
            screen.error_line(&format!("salt-key: error: {}", crate::chain(&error)));
            Exit::Failure
        }
    }
}

/// Where the keys are: behind a master for who logs in.
async fn keys(
    options: &KeyOptions,
    opts: &Map,
    environment: &Environment,
    screen: &mut Screen<'_>,
) -> Result<Keys, Exit> {
    let Some(eauth) = options.eauth.as_deref() else {
        return Ok(Keys::Files);
    };
    let failed = |error: &dyn std::error::Error, screen: &mut Screen<'_>| {
        screen.error_line(&format!("salt-key: error: {}", crate::chain(error)));
        Exit::Failure
    };
    let settings = ClientSettings::from_opts(opts).map_err(|error| failed(&error, screen))?;
    let timeout = settings.timeout.max(settings.publish_timeout);
    let caller = Caller::current(environment.sudo_user.as_deref());
    let mut client = LocalClient::new(settings, caller);
    let login = Login {
        eauth: Some(eauth),
        options: &options.login,
        opts,
        environment,
    };
    match login.credentials(&client, screen).await {
        Ok(credentials) => client.log_in(credentials),
        Err(LoginError::Failed) => return Err(login::show_failed(screen)),
        Err(LoginError::Client(error)) => return Err(failed(&error, screen)),
    }
    Ok(Keys::Master(Box::new(Asked { client, timeout })))
}

fn prepared(options: &KeyOptions, opts: &Map) -> Result<(KeyAction, KeySettings), Stop> {
    let action = options.action()?;
    options.check_login(&action)?;
    // Salt ignores such words, and `salt-key -F master` is in its manuals. But
    // keys are not changed by a command line that the shell has taken apart.
    let only_shows = matches!(
        action,
        KeyAction::List(_) | KeyAction::Print(_) | KeyAction::Finger(_)
    );
    if let Some(word) = options.words.first().filter(|_| !only_shows) {
        return Err(Stop::usage::<KeyOptions>(&format!(
            "'{word}' belongs to no option; quote globs, and separate several by commas"
        )));
    }
    let settings = KeySettings::new(options, opts).map_err(Unusable::stop)?;
    Ok((action, settings))
}

struct Program<'a> {
    options: &'a KeyOptions,
    settings: KeySettings,
    display: Display,
    keys: Keys,
}

impl Program<'_> {
    async fn run(
        &mut self,
        action: KeyAction,
        screen: &mut Screen<'_>,
        input: impl BufRead + Send + 'static,
    ) -> Result<Exit, ActionError> {
        match action {
            KeyAction::GenKeys(name) => self.gen_keys(&name, screen),
            KeyAction::RenewMasterKey => self.renew_master_key(screen, input),
            KeyAction::GenSignature => Ok(self.gen_signature(screen)?),
            KeyAction::Export(file) => self.export(&file, screen),
            KeyAction::Import(file) => self.import(&file, screen),
            KeyAction::List(state) => {
                let listing = self.keys.listing(&self.settings).await?;
                self.show(screen, &listed(&listing, state));
                Ok(Exit::Ok)
            }
            KeyAction::Print(globs) => {
                let texts = self.keys.texts(&globs, &self.settings).await?;
                self.show(screen, &texts);
                Ok(Exit::Ok)
            }
            KeyAction::Finger(globs) => {
                let fingers = self.keys.fingers(&globs, &self.settings).await?;
                self.show(screen, &fingers);
                Ok(Exit::Ok)
            }
            KeyAction::Accept(globs) => {
                self.change(change::KeyChange::Accept, &globs, screen, input)
                    .await
            }
            KeyAction::Reject(globs) => {
                self.change(change::KeyChange::Reject, &globs, screen, input)
                    .await
            }
            KeyAction::Delete(globs) => {
                self.change(change::KeyChange::Delete, &globs, screen, input)
                    .await
            }
        }
    }

    fn show(&mut self, screen: &mut Screen, data: &Value) {
        self.display.show(screen, data, Some(KEY_OUTPUTTER), 0);
    }
}

const KEY_OUTPUTTER: &str = "key";

fn local_fingers(store: &KeyStore, globs: &str, hash: HashType) -> Result<Map, KeyStoreError> {
    let mut local = Map::new();
    for (name, path) in store.pki().local_keys()? {
        if halite_key::matches_any(globs, &name) {
            local.insert(name, PkiDir::finger_local(&path, FingerForm::Body, hash)?);
        }
    }
    Ok(local)
}

/// The ids by state, as lists.
fn listed(listing: &Listing, state: ListedState) -> Value {
    let only = match state {
        ListedState::All => None,
        ListedState::Accepted => Some(KeyState::Accepted),
        ListedState::Pending => Some(KeyState::Pending),
        ListedState::Rejected => Some(KeyState::Rejected),
        ListedState::Denied => Some(KeyState::Denied),
    };
    let states = STATES
        .into_iter()
        .filter(|state| only.is_none_or(|only| only == *state));
    let lists = states.map(|state| (state.dir_name(), ids(listing, state)));
    Value::Map(lists.collect())
}

fn ids(listing: &Listing, state: KeyState) -> Value {
    Value::List(
        sorted(listing, state)
            .into_iter()
            .map(Value::from)
            .collect(),
    )
}

/// The ids in one state; capitals do not count for their order.
fn sorted(listing: &Listing, state: KeyState) -> Vec<&MinionId> {
    let mut ids: Vec<&MinionId> = listing.in_state(state).iter().collect();
    ids.sort_by_cached_key(|id| id.as_str().to_lowercase());
    ids
}

/// A text for each id, in the states that have any.
fn by_state(
    listing: &Listing,
    text: impl Fn(KeyState, &MinionId) -> Result<Option<String>, KeyStoreError>,
) -> Result<Value, KeyStoreError> {
    let mut states = Map::new();
    for state in STATES {
        let mut texts = Map::new();
        for id in sorted(listing, state) {
            // A key that has gone since it was listed has no text.
            if let Some(text) = text(state, id)? {
                texts.insert(id, text);
            }
        }
        if !texts.is_empty() {
            states.insert(state.dir_name(), texts);
        }
    }
    Ok(states.into())
}

#[cfg(test)]
mod tests;
