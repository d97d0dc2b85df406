//! Options about what local programs and their users may do.

use std::collections::BTreeMap;

use halite_config::MasterConfig;
use halite_ldap::Directory;
use halite_proto::{Map, Value};

use super::logins;
use crate::core::acl::{Blacklist, PublisherAcl};
use crate::core::eauth::Grants;
use crate::error::StartError;

/// What is read of the configuration.
pub(crate) struct AccessSettings {
    /// `publisher_acl` as configured, for the names of users.
    pub(crate) publisher_acl: Map,
    /// `publisher_acl`, compiled.
    pub(crate) rights: PublisherAcl,
    pub(crate) blacklist: Blacklist,
    pub(crate) client_acl_verify: bool,
    pub(crate) sudo_acl: bool,
    pub(crate) external_auth: ExternalAuth,
}

/// The rights of users after logging in.
#[derive(Clone)]
pub(crate) struct ExternalAuth {
    /// `external_auth`.
    pub(crate) rules: Map,
    /// What its entries permit, by the way to log in.
    pub(crate) grants: BTreeMap<String, Grants>,
    /// `token_expire`.
    pub(crate) token_expire_s: u64,
    /// `token_expire_user_override`.
    pub(crate) token_expire_override: Value,
    /// `keep_acl_in_token`.
    pub(crate) keep_acl: bool,
    /// `eauth_acl_module`: says what users may do, in place of the entries.
    pub(crate) acl_module: String,
    /// `permissive_acl`.
    pub(crate) is_permissive: bool,
    /// The directory of `ldap`.
    pub(crate) directory: Option<Directory>,
}

impl AccessSettings {
    /// Reads the options.
    ///
    /// # Errors
    /// When `external_auth` cannot be used.
    pub(crate) fn from_config(config: &MasterConfig) -> Result<Self, StartError> {
        Ok(Self {
            publisher_acl: config.publisher_acl.clone(),
            rights: PublisherAcl::new(&config.publisher_acl),
            blacklist: Blacklist::new(&config.publisher_acl_blacklist),
            client_acl_verify: config.client_acl_verify,
            sudo_acl: config.sudo_acl,
            external_auth: external_auth(config)?,
        })
    }
}

fn external_auth(config: &MasterConfig) -> Result<ExternalAuth, StartError> {
    let wrong = |why| StartError::Option {
        option: "external_auth",
        why,
    };
    let rules = config.external_auth.0.clone();
    logins::check(&rules).map_err(wrong)?;
    Ok(ExternalAuth {
        directory: logins::directory(&rules, config.opts()).map_err(wrong)?,
        grants: rules
            .iter()
            .filter_map(|(way, entries)| {
                Some((way.as_str()?.to_owned(), Grants::new(entries.as_map()?)))
            })
            .collect(),
        rules,
        token_expire_s: config.token_expire,
        token_expire_override: config.token_expire_user_override.0.clone(),
        keep_acl: config.keep_acl_in_token,
        acl_module: config.eauth_acl_module.clone(),
        is_permissive: config.permissive_acl,
    })
}
