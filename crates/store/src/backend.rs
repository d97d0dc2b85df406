//! The backends that there are, and the one way to open a store.

use std::path::PathBuf;
use std::sync::Arc;

use halite_crypto::HashType;

use crate::banks::Banks;
#[cfg(feature = "test-backends")]
use crate::faulty::{Faults, Faulty};
use crate::jobs::Jobs;
use crate::local_fs::LocalFs;
#[cfg(feature = "test-backends")]
use crate::memory_store::MemoryStore;
use crate::minion_data::MinionData;
use crate::tokens::Tokens;

/// Which backend a store has, and where it is.
#[derive(Clone, Debug)]
pub enum StoreOptions {
    /// Files below a cache directory, in Salt's layout.
    LocalFs {
        /// The cache directory.
        cachedir: PathBuf,
        /// Names the directories of jobs. Jobs that were stored under another
        /// one are not found.
        hash_type: HashType,
    },
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

impl StoreOptions {
    /// The files below a cache directory.
    pub fn local_fs(cachedir: impl Into<PathBuf>, hash_type: HashType) -> Self {
        Self::LocalFs {
            cachedir: cachedir.into(),
            hash_type,
        }
    }
}

/// The roles of one store.
#[derive(Clone, Debug)]
pub struct Store {
    /// Jobs and their returns.
    pub jobs: Jobs,
    /// Grains, pillar and mine of minions.
    pub data: MinionData,
    /// Banks of anything.
    pub banks: Banks,
    /// The tokens of users who have logged in.
    pub tokens: Tokens,
}

/// Opens a store. Nothing is read or made by that, and nothing can fail: a
/// backend is reached by the first operation, so that programs start, and say
/// what is wrong, while it is away.
pub fn open(options: &StoreOptions) -> Store {
    let backend = Arc::new(Backend::new(options));
    Store {
        jobs: Jobs::new(Arc::clone(&backend)),
        data: MinionData::new(Arc::clone(&backend)),
        banks: Banks::new(Arc::clone(&backend)),
        tokens: Tokens::new(backend),
    }
}

/// What is behind the roles. Each variant has the same operations, by role.
#[derive(Debug)]
pub(crate) enum Backend {
    LocalFs(LocalFs),
    #[cfg(feature = "test-backends")]
    Faulty(Faulty),
    #[cfg(feature = "test-backends")]
    MemoryStore(Arc<MemoryStore>),
}

impl Backend {
    fn new(options: &StoreOptions) -> Self {
        match options {
            StoreOptions::LocalFs {
                cachedir,
                hash_type,
            } => Self::LocalFs(LocalFs::new(cachedir, *hash_type)),
            #[cfg(feature = "test-backends")]
            StoreOptions::Faulty { cachedir, faults } => {
                let files = LocalFs::new(cachedir, HashType::Sha256);
                Self::Faulty(Faulty::new(files, faults.clone()))
            }
            #[cfg(feature = "test-backends")]
            StoreOptions::MemoryStore(memory) => Self::MemoryStore(Arc::clone(memory)),
        }
    }
}

/// Calls an operation of a role, as in `on!(self.backend, jobs.load(jid))`, on
/// whichever backend there is. Each gives a `Result` with a `StoreError`.
macro_rules! on {
    ($backend:expr, $role:ident.$operation:ident($($argument:expr),*)) => {
        match &*$backend {
            $crate::backend::Backend::LocalFs(files) => files.$role.$operation($($argument),*),
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
