//! A store whose server can be stopped, with the directory of waiting writes.

use std::path::Path;
use std::time::{Duration, Instant};

use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::{
    BackendOptions, JobTables, MysqlOptions, PostgresOptions, RedisOptions, Saved, Store,
    StoreOptions, Waits,
};
use halite_store_servers::Address;

/// How long something that waits may take to be stored.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(crate) struct Subject {
    options: StoreOptions,
    dir: tempfile::TempDir,
}

impl Subject {
    pub(crate) fn on(url: &str) -> Self {
        let address = Address::parse(url).unwrap();
        let options = match url.split(':').next().unwrap() {
            "redis" => {
                let keep = Duration::from_secs(24 * 3600);
                BackendOptions::Redis(Box::new(RedisOptions::new(address, keep)))
            }
            "postgres" => BackendOptions::Postgres(Box::new(PostgresOptions {
                address,
                tables: JobTables::Jsonb,
            })),
            _ => BackendOptions::Mysql(Box::new(MysqlOptions::new(address))),
        };
        Self {
            options: StoreOptions::all(options),
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// The store as the master has it.
    pub(crate) fn open(&self) -> Store {
        halite_store::open_with_spool(&self.options, self.dir.path()).unwrap()
    }

    /// Whether its server counts as away.
    pub(crate) fn is_away(&self) -> bool {
        self.options.jobs.status().away_since.is_some()
    }

    /// Where things wait.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The store as other programs have it.
    pub(crate) fn other(&self) -> Store {
        halite_store::open(&self.options)
    }
}

pub(crate) fn jid(number: u64) -> Jid {
    Jid::parse(format!("20260102030405{number:06}")).unwrap()
}

pub(crate) fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

pub(crate) fn ret(job: &Jid, value: impl Into<Value>) -> JobReturn {
    let fun = FunSpec::One("test.ping".to_owned());
    JobReturn::new(
        ReturnJid::Jid(job.clone()),
        fun,
        Vec::new(),
        value.into(),
        0,
    )
}

pub(crate) fn waits(store: &Store) -> Waits {
    store.jobs.waits().unwrap()
}

/// Waits until nothing else does.
pub(crate) fn drain(store: &Store) {
    wait_for(store, |waits| waits.count == 0);
    assert_eq!(waits(store).since, None);
}

/// Waits until what waits is as it should be.
pub(crate) fn wait_for(store: &Store, is_so: impl Fn(&Waits) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so(&waits(store)) {
        assert!(Instant::now() < deadline, "{:?}", waits(store));
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, is_so: &dyn Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Publishes a job and stores the returns of some minions; each is new.
pub(crate) fn job_with_returns(store: &Store, job: &Jid, ids: &[MinionId]) {
    let load = Map::from([("fun", "test.ping"), ("user", "alice")]);
    store.jobs.prepare(job, false).unwrap();
    store.jobs.save_load(job, &load, Some(ids)).unwrap();
    for id in ids {
        let saved = store.jobs.save_return(job, id, &ret(job, id.as_str()));
        assert_eq!(saved.unwrap(), Saved::Stored, "{id}");
    }
}

/// Checks that a job is there as it was published, with each return once.
pub(crate) fn assert_stored(store: &Store, job: &Jid, ids: &[MinionId]) {
    let load = store.jobs.load(job).unwrap().unwrap();
    assert_eq!(load.get("user"), Some(&"alice".into()));
    let minions = load.get("Minions").unwrap().as_list().unwrap();
    assert_eq!(minions.len(), ids.len());
    let returns = store.jobs.returns(job).unwrap();
    let found: Vec<_> = returns
        .iter()
        .map(|(id, ret)| (id, ret.ret().clone()))
        .collect();
    let wanted: Vec<_> = ids.iter().map(|id| (id, Value::from(id))).collect();
    assert_eq!(found, wanted);
}

/// Copies a directory.
pub(crate) fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status();
    assert!(status.unwrap().success());
}
