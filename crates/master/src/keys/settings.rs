//! Options about keys and sign-ins.

use std::time::Duration;

use halite_config::MasterConfig;
use halite_crypto::Secret;
use halite_key::{AutosignOptions, MasterKeyOptions, MasterSigning};
use halite_proto::NewIds;

use crate::error::StartError;
use crate::settings::texts;

/// How the master's public key is signed for minions.
#[derive(Clone, Debug)]
enum KeySigning {
    /// Not at all.
    Off,
    /// With the signing key, `master_sign_key_name`.
    Key(String),
    /// With a signature made before, in a file of this name.
    Stored(Option<String>),
}

/// What is read of the configuration.
pub(crate) struct KeySettings {
    keysize: u32,
    key_pass: Option<Secret<String>>,
    signing_key_pass: Option<Secret<String>>,
    signing: KeySigning,
    /// `publish_session`.
    pub(crate) session_s: u64,
    pub(crate) autosign: AutosignOptions,
    pub(crate) open_mode: bool,
    pub(crate) new_ids: NewIds,
    pub(crate) auth_events: bool,
    pub(crate) auth_events_autosign_grains: Vec<String>,
    pub(crate) require_minion_sign_messages: bool,
    pub(crate) drop_messages_signature_fail: bool,
    pub(crate) allow_minion_key_revoke: bool,
}

impl KeySettings {
    /// Reads the options.
    ///
    /// # Errors
    /// When `keysize` is beyond any key.
    pub(crate) fn from_config(config: &MasterConfig) -> Result<Self, StartError> {
        Ok(Self {
            keysize: u32::try_from(config.keysize).map_err(|_| StartError::Option {
                option: "keysize",
                why: "the value is too large for a key size".to_owned(),
            })?,
            key_pass: config.key_pass.clone().map(Secret::new),
            signing_key_pass: config.signing_key_pass.clone().map(Secret::new),
            signing: key_signing(config),
            session_s: config.publish_session,
            autosign: autosign(config),
            open_mode: config.open_mode,
            new_ids: new_ids(config),
            auth_events: config.auth_events,
            auth_events_autosign_grains: texts(config.opts().get("auth_events_autosign_grains")),
            require_minion_sign_messages: config.require_minion_sign_messages,
            drop_messages_signature_fail: config.drop_messages_signature_fail,
            allow_minion_key_revoke: config.allow_minion_key_revoke,
        })
    }

    /// How the keys of the master `id` are found or made.
    pub(crate) fn master_keys<'a>(&'a self, id: &'a str) -> MasterKeyOptions<'a> {
        MasterKeyOptions {
            id,
            passphrase: self.key_pass.as_ref(),
            bits: self.keysize,
            signing: match &self.signing {
                KeySigning::Off => MasterSigning::None,
                KeySigning::Key(name) => MasterSigning::Key {
                    name,
                    passphrase: self.signing_key_pass.as_ref(),
                },
                KeySigning::Stored(file_name) => MasterSigning::Stored {
                    file_name: file_name.as_deref(),
                },
            },
        }
    }
}

/// Which ids new minions may have, by the configuration.
pub(crate) fn new_ids(config: &MasterConfig) -> NewIds {
    match config.wide_minion_ids {
        true => NewIds::Wide,
        false => NewIds::HostNames,
    }
}

fn key_signing(config: &MasterConfig) -> KeySigning {
    if !config.master_sign_pubkey {
        KeySigning::Off
    } else if config.master_use_pubkey_signature {
        KeySigning::Stored(config.master_pubkey_signature.clone())
    } else {
        KeySigning::Key(config.master_sign_key_name.clone())
    }
}

fn autosign(config: &MasterConfig) -> AutosignOptions {
    const MINUTE_S: u64 = 60;
    let lifetime = config.autosign_timeout.saturating_mul(MINUTE_S);
    AutosignOptions {
        auto_accept: config.auto_accept,
        autosign_file: config.autosign_file.clone(),
        autoreject_file: config.autoreject_file.clone(),
        autosign_grains_dir: config.autosign_grains_dir.clone(),
        stub_lifetime: (lifetime > 0).then(|| Duration::from_secs(lifetime)),
        permissive_pki_access: config.permissive_pki_access,
    }
}
