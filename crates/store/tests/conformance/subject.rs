//! Empty stores to be checked, and names for what is in them.

use halite_crypto::HashType;
use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::{Store, StoreOptions};
use tempfile::TempDir;

/// A store that can be opened several times.
pub(crate) struct Subject {
    options: StoreOptions,
    /// Goes with the test.
    _dir: TempDir,
}

impl Subject {
    /// Opens the store, as one more program does.
    pub(crate) fn open(&self) -> Store {
        halite_store::open(&self.options)
    }
}

pub(crate) fn local_fs() -> Subject {
    let dir = tempfile::tempdir().unwrap();
    Subject {
        options: StoreOptions::local_fs(dir.path(), HashType::Sha256),
        _dir: dir,
    }
}

#[cfg(feature = "test-backends")]
pub(crate) fn memory_store() -> Subject {
    Subject {
        options: StoreOptions::MemoryStore(std::sync::Arc::default()),
        _dir: tempfile::tempdir().unwrap(),
    }
}

#[cfg(feature = "test-backends")]
pub(crate) fn faulty() -> Subject {
    let faults = halite_store::Faults::new(0, 1, std::time::Duration::ZERO);
    faults.set(false);
    with_faults(faults)
}

#[cfg(feature = "test-backends")]
pub(crate) fn with_faults(faults: halite_store::Faults) -> Subject {
    let dir = tempfile::tempdir().unwrap();
    Subject {
        options: StoreOptions::Faulty {
            cachedir: dir.path().to_owned(),
            faults,
        },
        _dir: dir,
    }
}

/// A job id; later numbers are later jobs.
pub(crate) fn jid(number: u64) -> Jid {
    Jid::parse(format!("202402291234567{number:05}")).unwrap()
}

pub(crate) fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

pub(crate) fn map(key: &str, value: impl Into<Value>) -> Map {
    Map::from([(key, value.into())])
}

pub(crate) fn ping(jid: &Jid, ret: impl Into<Value>) -> JobReturn {
    let fun = FunSpec::One("test.ping".to_owned());
    JobReturn::new(ReturnJid::Jid(jid.clone()), fun, Vec::new(), ret.into(), 0)
}
