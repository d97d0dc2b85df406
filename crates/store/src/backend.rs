//! The backends that there are.

use std::path::PathBuf;
#[cfg(feature = "test-backends")]
use std::sync::Arc;
use std::time::SystemTime;

use halite_crypto::HashType;
use halite_store_servers::{Address, Refuses, Status};

use crate::cache::Cache;
#[cfg(feature = "etcd")]
use crate::etcd::{Etcd, EtcdOptions};
#[cfg(feature = "test-backends")]
use crate::faulty::{Faults, Faulty};
use crate::local_fs::{Jobs, LocalFs};
#[cfg(feature = "test-backends")]
use crate::memory_store::MemoryStore;
#[cfg(feature = "mysql")]
use crate::mysql::{Mysql, MysqlOptions};
#[cfg(feature = "postgres")]
use crate::postgres::{Postgres, PostgresOptions};
#[cfg(feature = "redis")]
use crate::redis::{Redis, RedisOptions};

/// Where each role of a store is kept.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Jobs and their returns.
    pub jobs: BackendOptions,
    /// Grains, pillar and mine of minions.
    pub data: BackendOptions,
    /// Banks of anything.
    pub banks: BackendOptions,
    /// Tokens.
    pub tokens: BackendOptions,
}

impl StoreOptions {
    /// All roles in one place.
    pub fn all(place: BackendOptions) -> Self {
        Self {
            jobs: place.clone(),
            data: place.clone(),
            banks: place.clone(),
            tokens: place,
        }
    }

    /// All roles in the files below a cache directory.
    pub fn local_fs(cachedir: impl Into<PathBuf>, hash_type: HashType) -> Self {
        Self::all(BackendOptions::LocalFs {
            cachedir: cachedir.into(),
            hash_type,
            copies_for_3006: false,
        })
    }
}

/// A backend, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub enum BackendOptions {
    /// Files below a cache directory, in Salt's layout.
    LocalFs {
        /// The cache directory.
        cachedir: PathBuf,
        /// Names the directories of jobs. Jobs that were stored under another
        /// one are not found.
        hash_type: HashType,
        /// Whether minion data is stored in the layout of Salt 3006 and 3007 as well.
        copies_for_3006: bool,
    },
    /// An etcd, which keeps everything but jobs.
    #[cfg(feature = "etcd")]
    Etcd(Box<EtcdOptions>),
    /// A MySQL, with Salt's tables.
    #[cfg(feature = "mysql")]
    Mysql(Box<MysqlOptions>),
    /// A PostgreSQL, with the tables of Salt's returners.
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresOptions>),
    /// A Redis, in Salt's layout.
    #[cfg(feature = "redis")]
    Redis(Box<RedisOptions>),
    /// Such files, with faults.
    #[cfg(feature = "test-backends")]
    Faulty {
        /// The cache directory.
        cachedir: PathBuf,
        /// What goes wrong.
        faults: Faults,
    },
    /// The memory of this process.
    #[cfg(feature = "test-backends")]
    MemoryStore(Arc<MemoryStore>),
}

impl BackendOptions {
    /// Salt's cache on the server of a backend; `None` for one that is on none.
    pub fn cache(&self) -> Option<Cache> {
        match self {
            #[cfg(feature = "etcd")]
            Self::Etcd(options) => Some(options.cache()),
            #[cfg(feature = "mysql")]
            Self::Mysql(options) => Some(options.cache()),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => Some(options.cache()),
            #[cfg(feature = "redis")]
            Self::Redis(options) => Some(options.cache()),
            _ => None,
        }
    }
}

/// The state of the store of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceStatus {
    /// The place, without a password.
    pub place: String,
    /// Since when it is away; `None` if it is there, as far as is known.
    pub away_since: Option<SystemTime>,
    /// Why it is thought to be away.
    pub reason: Option<String>,
    /// Since when it refuses what is to be kept, and why; `None` if it keeps it, as far
    /// as is known.
    pub refuses: Option<Refuses>,
}

impl BackendOptions {
    /// Whether jobs can be kept there.
    pub fn keeps_jobs(&self) -> bool {
        #[cfg(feature = "etcd")]
        if matches!(self, Self::Etcd(_)) {
            return false;
        }
        true
    }

    /// Whether events are stored there.
    pub fn keeps_events(&self) -> bool {
        #[cfg(feature = "mysql")]
        if matches!(self, Self::Mysql(_)) {
            return true;
        }
        #[cfg(feature = "postgres")]
        if matches!(self, Self::Postgres(_)) {
            return true;
        }
        false
    }

    /// Whether it is a server, which may be away.
    pub fn is_server(&self) -> bool {
        self.server().is_some()
    }

    /// A host beyond this machine to which its connections are not encrypted.
    pub fn host_in_the_clear(&self) -> Option<&str> {
        self.address()?.host_in_the_clear()
    }

    fn address(&self) -> Option<&Address> {
        match self {
            #[cfg(feature = "etcd")]
            Self::Etcd(options) => Some(&options.address),
            #[cfg(feature = "mysql")]
            Self::Mysql(options) => Some(&options.address),
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => Some(&options.address),
            #[cfg(feature = "redis")]
            Self::Redis(options) => Some(&options.address),
            _ => None,
        }
    }

    /// Its state. No request is sent.
    pub fn status(&self) -> PlaceStatus {
        match self.server() {
            Some((place, status)) => PlaceStatus {
                place,
                away_since: status.away_since,
                reason: status.reason,
                refuses: status.refuses,
            },
            None => PlaceStatus {
                place: "localfs".to_owned(),
                away_since: None,
                reason: None,
                refuses: None,
            },
        }
    }

    /// As `status`, after opening a connection if none is idle.
    pub fn look(&self) -> PlaceStatus {
        // What comes of it is in the status.
        match self {
            #[cfg(feature = "etcd")]
            Self::Etcd(options) => {
                let _ = options.server().run(async |_| Ok(()));
            }
            #[cfg(feature = "mysql")]
            Self::Mysql(options) => {
                let server = halite_store_servers::mysql_server(&options.address);
                let _ = server.run(async |_| Ok(()));
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => {
                let server = halite_store_servers::postgres_server(&options.address);
                let _ = server.run(async |_| Ok(()));
            }
            #[cfg(feature = "redis")]
            Self::Redis(options) => {
                let server = halite_store_servers::redis_server(&options.address);
                let _ = server.run(async |_| Ok(()));
            }
            _ => {}
        }
        self.status()
    }

    fn server(&self) -> Option<(String, Status)> {
        match self {
            #[cfg(feature = "etcd")]
            Self::Etcd(options) => Some((options.to_string(), options.server().status())),
            #[cfg(feature = "mysql")]
            Self::Mysql(options) => {
                let server = halite_store_servers::mysql_server(&options.address);
                Some((options.address.to_string(), server.status()))
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(options) => {
                let server = halite_store_servers::postgres_server(&options.address);
                Some((options.address.to_string(), server.status()))
            }
            #[cfg(feature = "redis")]
            Self::Redis(options) => {
                let server = halite_store_servers::redis_server(&options.address);
                Some((options.address.to_string(), server.status()))
            }
            _ => None,
        }
    }
}

/// The backends of the roles. Each variant has the same operations, by role.
#[derive(Debug)]
pub(crate) enum Backend {
    LocalFs(LocalFs),
    #[cfg(feature = "etcd")]
    Etcd(Etcd),
    #[cfg(feature = "mysql")]
    Mysql(Mysql),
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
    #[cfg(feature = "redis")]
    Redis(Redis),
    #[cfg(feature = "test-backends")]
    Faulty(Faulty),
    #[cfg(feature = "test-backends")]
    MemoryStore(Arc<MemoryStore>),
}

impl Backend {
    pub(crate) fn new(options: &BackendOptions) -> Self {
        match options {
            BackendOptions::LocalFs {
                cachedir,
                hash_type,
                copies_for_3006,
            } => Self::LocalFs(LocalFs::new(cachedir, *hash_type, *copies_for_3006)),
            #[cfg(feature = "etcd")]
            BackendOptions::Etcd(options) => Self::Etcd(Etcd::new(options)),
            #[cfg(feature = "mysql")]
            BackendOptions::Mysql(options) => Self::Mysql(Mysql::new(options)),
            #[cfg(feature = "postgres")]
            BackendOptions::Postgres(options) => Self::Postgres(Postgres::new(options)),
            #[cfg(feature = "redis")]
            BackendOptions::Redis(options) => Self::Redis(Redis::new(options)),
            #[cfg(feature = "test-backends")]
            BackendOptions::Faulty { cachedir, faults } => {
                let files = LocalFs::new(cachedir, HashType::Sha256, false);
                Self::Faulty(Faulty::new(files, faults.clone()))
            }
            #[cfg(feature = "test-backends")]
            BackendOptions::MemoryStore(memory) => Self::MemoryStore(Arc::clone(memory)),
        }
    }
}

impl Backend {
    /// The jobs in files, where that is what there is.
    pub(crate) fn jobs_in_files(&self) -> Option<&Jobs> {
        match self {
            Self::LocalFs(files) => Some(&files.jobs),
            #[cfg(feature = "test-backends")]
            Self::Faulty(faulty) => Some(&faulty.files.jobs),
            _ => None,
        }
    }
}

/// Calls an operation of a role, as in `on!(self.backend, jobs.load(jid))`, on
/// whichever backend there is. Each gives a `Result` with a `StoreError`.
macro_rules! on {
    // It keeps no jobs.
    (@etcd $etcd:ident, jobs.$operation:ident($($argument:expr),*)) => {
        Err($etcd.no_jobs())
    };
    (@etcd $etcd:ident, $role:ident.$operation:ident($($argument:expr),*)) => {
        $etcd.$role.$operation($($argument),*)
    };
    ($backend:expr, $role:ident.$operation:ident($($argument:expr),*)) => {
        match &*$backend {
            $crate::backend::Backend::LocalFs(files) => files.$role.$operation($($argument),*),
            #[cfg(feature = "etcd")]
            $crate::backend::Backend::Etcd(etcd) => {
                $crate::backend::on!(@etcd etcd, $role.$operation($($argument),*))
            }
            #[cfg(feature = "mysql")]
            $crate::backend::Backend::Mysql(mysql) => mysql.$role.$operation($($argument),*),
            #[cfg(feature = "postgres")]
            $crate::backend::Backend::Postgres(postgres) => {
                postgres.$role.$operation($($argument),*)
            }
            #[cfg(feature = "redis")]
            $crate::backend::Backend::Redis(redis) => redis.$role.$operation($($argument),*),
            #[cfg(feature = "test-backends")]
            $crate::backend::Backend::Faulty(faulty) => {
                faulty.around(|| faulty.files.$role.$operation($($argument),*))
            }
            #[cfg(feature = "test-backends")]
            $crate::backend::Backend::MemoryStore(memory) => {
                memory.$role.$operation($($argument),*)
            }
        }
    };
}

pub(crate) use on;
