//! The options and the configuration that `salt-key` needs.

use std::path::PathBuf;

use halite_crypto::{HashType, Secret};
use halite_key::{KeyStore, KeyStoreError, MIRROR_DIR};
use halite_proto::{Map, Value};
use halite_store::Places;
use halite_transport::Endpoint;
use nix::unistd::{User, geteuid};

use crate::Exit;
use crate::options::{KeyOptions, Stop};
use halite_client::ClientSettings;

/// The options that `salt-key` reads.
pub(super) struct KeySettings {
    /// Where the master keeps things.
    pub(super) places: Places,
    pub(super) pki_dir: PathBuf,
    pub(super) keys_dir: PathBuf,
    pub(super) cachedir: PathBuf,
    /// The user whose the files are to be, where root makes them for another.
    pub(super) owner: Option<u32>,
    /// `id`, the master's.
    pub(super) master_id: String,
    pub(super) hash_type: HashType,
    /// `rotate_aes_key`.
    pub(super) rotates: bool,
    /// `preserve_minion_cache`: keep what is known of deleted minions.
    pub(super) keeps_data: bool,
    /// `preserve_minions`: keep what is known of those deleted now.
    pub(super) keeps_data_of_deleted: bool,
    /// `master_sign_key_name`.
    pub(super) sign_key_name: Option<String>,
    /// `key_pass`.
    pub(super) key_pass: Option<Secret<String>>,
    /// The master sends a signature that was made before
    /// (`master_use_pubkey_signature`).
    pub(super) stored_signature: bool,
    /// Where a running master takes events.
    pub(super) events: Endpoint,
}

/// Why `salt-key` cannot work.
pub(super) enum Unusable {
    /// An option has a value of no use.
    Option(String),
    /// There is no such user.
    User(String),
}

impl Unusable {
    /// What is said, and the exit code.
    pub(super) fn stop(self) -> Stop {
        match self {
            Self::Option(text) => Stop::usage::<KeyOptions>(&text),
            Self::User(user) => Stop {
                stdout: String::new(),
                stderr: format!(
                    "Failed to prepare the Salt environment for user {user}. The user is not \
                     available.\n"
                ),
                exit: Exit::NoUser,
            },
        }
    }
}

impl KeySettings {
    /// Reads options and the merged configuration.
    ///
    /// # Errors
    /// When a value is of no use.
    pub(super) fn new(options: &KeyOptions, opts: &Map) -> Result<Self, Unusable> {
        let client =
            ClientSettings::from_opts(opts).map_err(|error| Unusable::Option(error.to_string()))?;
        let text = |name: &str| opts.get(name).and_then(Value::as_str);
        let flag = |name: &str, default| opts.get(name).map_or(default, Value::is_true);
        let user = options.user.as_deref().unwrap_or(&client.user);
        Ok(Self {
            owner: owner(user)?,
            master_id: text("id").unwrap_or_default().to_owned(),
            hash_type: client.hash_type,
            rotates: given(
                options.rotate_aes_key.as_deref(),
                flag("rotate_aes_key", true),
            ),
            keeps_data: flag("preserve_minion_cache", false),
            keeps_data_of_deleted: given(
                options.preserve_minions.as_deref(),
                flag("preserve_minions", false),
            ),
            sign_key_name: text("master_sign_key_name").map(str::to_owned),
            key_pass: text("key_pass").map(|text| Secret::new(text.to_owned())),
            stored_signature: flag("master_sign_pubkey", false)
                && flag("master_use_pubkey_signature", false),
            places: client.places,
            pki_dir: client.pki_dir,
            keys_dir: client.keys_dir,
            cachedir: client.cachedir,
            events: client.event_pull,
        })
    }
}

impl KeySettings {
    /// The keys of minions, to be changed.
    ///
    /// # Errors
    /// When a directory can neither be found nor made.
    pub(super) fn open_keys(&self) -> Result<KeyStore, KeyStoreError> {
        let place = self.places.keys.as_ref();
        let keys = KeyStore::open_at(&self.keys_dir, self.owner, place, None)?;
        Ok(keys.as_seen_by(&self.mirror()))
    }

    /// Where the master keeps what it has seen of keys on a server.
    pub(super) fn mirror(&self) -> PathBuf {
        self.cachedir.join(MIRROR_DIR)
    }
}

/// A truth that was given as text, or the configured one.
fn given(text: Option<&str>, configured: bool) -> bool {
    text.map_or(configured, |text| !text.eq_ignore_ascii_case("false"))
}

/// Root makes files for the master's user; everybody else for themselves.
fn owner(user: &str) -> Result<Option<u32>, Unusable> {
    if user == "root" || !geteuid().is_root() {
        return Ok(None);
    }
    match User::from_name(user) {
        Ok(Some(user)) => Ok(Some(user.uid.as_raw())),
        _ => Err(Unusable::User(user.to_owned())),
    }
}
