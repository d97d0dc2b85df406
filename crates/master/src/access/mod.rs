//! Which user a local program speaks for, and what that user may do: key files,
//! logins and tokens.

pub(crate) mod authenticate;
pub(crate) mod local_keys;
pub(crate) mod logins;
pub(crate) mod settings;

use std::sync::Arc;

use self::authenticate::Unproven;
use self::local_keys::LocalKeys;
use self::settings::AccessSettings;
use crate::core::acl::Users;
use crate::functions::Functions;
use crate::limits::TOKENS_PER_USER_MAX;
use crate::settings::General;
use crate::telemetry::Telemetry;
use crate::tokens::Tokens;

/// What proves users and grants rights.
pub(crate) struct Access {
    pub(crate) settings: AccessSettings,
    /// The keys of local users.
    pub(crate) local_keys: LocalKeys,
    /// The tokens of users who have logged in.
    pub(crate) tokens: Arc<Tokens>,
    general: Arc<General>,
    functions: Arc<Functions>,
    telemetry: Arc<Telemetry>,
}

impl Access {
    /// With the key files of local users and the tokens of a store.
    pub(crate) fn new(
        general: Arc<General>,
        settings: AccessSettings,
        local_keys: LocalKeys,
        tokens: halite_store::Tokens,
        functions: Arc<Functions>,
        telemetry: Arc<Telemetry>,
    ) -> Self {
        Self {
            settings,
            local_keys,
            tokens: Arc::new(Tokens::new(tokens, general.hash_type, TOKENS_PER_USER_MAX)),
            general,
            functions,
            telemetry,
        }
    }

    /// Whether a remark about a user is to be logged.
    pub(crate) fn may_log(&self, user: &str, what: &'static str) -> bool {
        self.telemetry.may_log(user, what)
    }

    /// Counts a request that proves nothing, and logs it now and then.
    pub(crate) fn count_unproven(&self, unproven: Unproven, door: &str, user: Option<&str>) {
        self.telemetry.count_unproven(unproven.cause(), door, user);
    }

    /// The options that decide the rights of local users with a key.
    fn users(&self) -> Users<'_> {
        Users {
            configured: &self.general.user,
            running: &self.general.running_user,
            sudo_acl: self.settings.sudo_acl,
            publisher_acl: &self.settings.rights,
        }
    }
}
