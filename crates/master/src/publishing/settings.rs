//! Options about publications.

use halite_config::MasterConfig;
use halite_crypto::SigAlgo;

use crate::error::StartError;

/// What is read of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct PublishingSettings {
    /// `master_id`, which syndics add to what they publish.
    pub(crate) master_id: Option<String>,
    /// `sign_pub_messages` and `publish_signing_algorithm`.
    pub(crate) signing: Option<SigAlgo>,
    pub(crate) rotate_aes_key: bool,
    pub(crate) ping_on_rotate: bool,
}

impl PublishingSettings {
    /// Reads the options.
    ///
    /// # Errors
    /// When there is no such algorithm.
    pub(crate) fn from_config(config: &MasterConfig) -> Result<Self, StartError> {
        Ok(Self {
            master_id: config.master_id.clone(),
            signing: signing(config)?,
            rotate_aes_key: config.rotate_aes_key,
            ping_on_rotate: config.ping_on_rotate,
        })
    }
}

fn signing(config: &MasterConfig) -> Result<Option<SigAlgo>, StartError> {
    if !config.sign_pub_messages {
        return Ok(None);
    }
    SigAlgo::parse(&config.publish_signing_algorithm)
        .map(Some)
        .map_err(|error| StartError::Option {
            option: "publish_signing_algorithm",
            why: error.to_string(),
        })
}
