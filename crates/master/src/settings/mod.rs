//! Options that concern the whole master. Those of one part are in the
//! `settings.rs` of its folder.

use std::path::PathBuf;
use std::time::Duration;

use halite_config::MasterConfig;
use halite_crypto::HashType;
use halite_key::master_id;
use halite_mesh::PeerId;
use halite_process::privileges::User;
use halite_proto::{Map, Value};

use crate::error::StartError;

/// The housekeeping does not run more often than this.
const LOOP_INTERVAL_MIN: Duration = Duration::from_secs(1);

/// What several parts of the master read of its configuration.
pub(crate) struct General {
    /// All options: passed on to minions and to users' code, or lists of rules.
    pub(crate) opts: Map,
    /// `id`.
    pub(crate) id: String,
    /// `user`.
    pub(crate) user: String,
    /// The user the master runs as.
    pub(crate) running_user: String,
    pub(crate) cachedir: PathBuf,
    /// Where only this process writes: `cachedir`, or a directory in it where the
    /// masters of a cluster may share that.
    pub(crate) own_cachedir: PathBuf,
    pub(crate) sock_dir: PathBuf,
    pub(crate) pki_dir: PathBuf,
    pub(crate) hash_type: HashType,
    pub(crate) timeout: Duration,
    pub(crate) gather_job_timeout: Duration,
    pub(crate) loop_interval: Duration,
}

/// The `id` of a master without one in its configuration.
pub(crate) const NO_ID: &str = "localhost_master";

impl General {
    /// Reads the options.
    ///
    /// # Errors
    /// When a value has the right type and still cannot be used.
    pub(crate) fn from_config(config: &MasterConfig) -> Result<Self, StartError> {
        let running_user = User::current().map_or_else(|_| "root".to_owned(), |user| user.name);
        Ok(Self {
            opts: config.opts().clone(),
            id: config.id.clone().unwrap_or_else(|| NO_ID.to_owned()),
            user: config.user.clone().unwrap_or_else(|| running_user.clone()),
            running_user,
            cachedir: config.cachedir.clone(),
            own_cachedir: own_cachedir(config),
            sock_dir: config.sock_dir.clone(),
            pki_dir: config.pki_dir.clone(),
            hash_type: hash_type(config)?,
            timeout: config.timeout.duration(),
            gather_job_timeout: config.gather_job_timeout.duration(),
            loop_interval: config.loop_interval.duration().max(LOOP_INTERVAL_MIN),
        })
    }
}

/// The directory below `cachedir` with one for each master of a cluster.
const OWN_DIRS: &str = "cluster";

fn own_cachedir(config: &MasterConfig) -> PathBuf {
    let id = config.id.as_deref().unwrap_or_default();
    // Another name stops the start, when the cluster is opened.
    match PeerId::parse(master_id(id)) {
        Ok(own) if config.is_clustered() => config.cachedir.join(OWN_DIRS).join(own.as_str()),
        _ => config.cachedir.clone(),
    }
}

/// `hash_type`.
///
/// # Errors
/// When there is no such hash.
pub(crate) fn hash_type(config: &MasterConfig) -> Result<HashType, StartError> {
    HashType::parse(&config.hash_type.0).map_err(|error| StartError::Option {
        option: "hash_type",
        why: error.to_string(),
    })
}

/// A number of an option as a size here; one that is too large is the largest.
pub(crate) fn clamped(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The texts of a list.
pub(crate) fn texts(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_list)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
