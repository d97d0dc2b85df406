//! Where a configuration says that data is kept, before a start.

use halite_config::{ConfigError, MasterConfig, Warning};
use halite_crypto::HashType;
use halite_store::{Places, in_the_clear};

/// The option whose store cannot be used, with its location in the files.
pub fn unusable_places(config: &MasterConfig) -> Option<ConfigError> {
    // Another check reports an unknown hash.
    let hash_type = HashType::parse(&config.hash_type.0).ok()?;
    let places = Places::from_opts(config.opts(), &config.cachedir, hash_type);
    let error = places.err()?;
    Some(config.unusable(error.option, None, "", error.to_string()))
}

/// Warnings about stores on other machines to which connections are not encrypted.
pub fn unencrypted_stores(config: &MasterConfig) -> Vec<Warning> {
    let found = in_the_clear(config.opts()).into_iter();
    found
        .filter_map(|it| config.odd_within(it.option, &[], &it.text))
        .collect()
}
