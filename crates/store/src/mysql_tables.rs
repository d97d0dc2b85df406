//! The tables of a MySQL, made on first use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use halite_store_servers::{Failure, MysqlConnection, MysqlServer, ServerError};

use crate::error::StoreError;

/// Names must be compared exactly, as file names are; Salt leaves that to the database.
const EXACT: &str = "default charset utf8mb4 collate utf8mb4_bin";

/// The tables of jobs: Salt's three, with the columns that
/// `salt/returners/mysql.py` documents, and ours.
const JOBS: [&str; 7] = [
    "create table if not exists `jids` (`jid` varchar(255) not null, `load` mediumtext not null, \
     unique key `jid` (`jid`)) engine=innodb",
    "create table if not exists `salt_returns` (`fun` varchar(50) not null, \
     `jid` varchar(255) not null, `return` mediumtext not null, `id` varchar(255) not null, \
     `success` varchar(10) not null, `full_ret` mediumtext not null, \
     `alter_time` timestamp default current_timestamp, \
     key `id` (`id`), key `jid` (`jid`, `id`), key `fun` (`fun`)) engine=innodb",
    "create table if not exists `salt_events` (`id` bigint not null auto_increment, \
     `tag` varchar(255) not null, `data` mediumtext not null, \
     `alter_time` timestamp default current_timestamp, `master_id` varchar(255) not null, \
     primary key (`id`), key `tag` (`tag`)) engine=innodb",
    "create table if not exists halite_jobs (jid varchar(64) not null primary key, \
     prepared bigint not null, nocache bool not null default false, owner varchar(512), \
     `load` longblob, from_returns bool not null default false, endtime text, batch longblob, \
     batch_is_active bool not null default false, key prepared (prepared), \
     key batch_is_active (batch_is_active)) engine=innodb",
    "create table if not exists halite_minions (jid varchar(64) not null, \
     id varchar(255) not null, primary key (jid, id)) engine=innodb",
    "create table if not exists halite_returns (jid varchar(64) not null, \
     id varchar(255) not null, packed longblob not null, `out` text, writer bigint unsigned, \
     primary key (jid, id)) engine=innodb",
    "create table if not exists halite_event_batches (id varchar(64) not null primary key, \
     since bigint not null) engine=innodb",
];

const PUBLISHERS: &str = "create table if not exists halite_publishers \
     (jid varchar(64) not null primary key, id varchar(255) not null, since bigint not null) \
     engine=innodb";

/// What shows that a table is as an earlier version has made it, and what brings it up
/// to date: an owner of a job may be longer than that one thought.
const OWNER_IS_NARROW: &str = "select count(*) from information_schema.columns \
     where table_schema = database() and table_name = 'halite_jobs' \
     and column_name = 'owner' and character_maximum_length < 512";
const WIDEN_OWNER: &str = "alter table halite_jobs modify owner varchar(512)";

/// A server on which tables are made before they are used.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) server: Arc<MysqlServer>,
    statements: Vec<String>,
    /// Whether they are those of jobs, which earlier versions made differently.
    are_of_jobs: bool,
    /// Whether this process has made them.
    are_made: AtomicBool,
}

impl Tables {
    /// The tables of jobs.
    pub(crate) fn of_jobs(server: Arc<MysqlServer>) -> Self {
        let statements = JOBS.iter().chain([&PUBLISHERS]);
        Self {
            server,
            statements: statements.map(|table| format!("{table} {EXACT}")).collect(),
            are_of_jobs: true,
            are_made: AtomicBool::new(false),
        }
    }

    /// The table of the cache, with the columns that `salt/cache/mysql_cache.py`
    /// makes.
    pub(crate) fn of_cache(server: Arc<MysqlServer>, table: &str) -> Self {
        Self {
            server,
            statements: vec![format!(
                "create table if not exists {table} (bank char(255), etcd_key char(255), \
                 data mediumblob, last_update timestamp not null default current_timestamp \
                 on update current_timestamp, primary key (bank, etcd_key)) engine=innodb {EXACT}"
            )],
            are_of_jobs: false,
            are_made: AtomicBool::new(false),
        }
    }

    /// Runs an operation, for which the tables are there.
    pub(crate) fn run<T, F>(&self, operation: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut MysqlConnection) -> Result<T, Failure> + Send + 'static,
    {
        let refusal = match self.are_made.load(Ordering::Relaxed) {
            true => None,
            false => self.make()?,
        };
        let done = self.server.run(operation);
        let Err(error) = done else {
            return Ok(done?);
        };
        if error.failure.may_be_of_other_tables() {
            self.are_made.store(false, Ordering::Relaxed);
        }
        // Why there is no table says more than that there is none.
        let lacks_table = matches!(error.failure, Failure::OtherTables(_));
        let error = refusal.filter(|_| lacks_table).unwrap_or(error);
        Err(error.into())
    }

    /// Creates the tables. Returns the server's error if it refuses: the tables may exist
    /// anyway, on a read-only server or for an account without the right to create them.
    fn make(&self) -> Result<Option<ServerError>, ServerError> {
        let statements = self.statements.clone();
        let are_of_jobs = self.are_of_jobs;
        let made = self.server.run(async move |mysql| {
            for statement in &statements {
                mysql.run(statement).await?;
            }
            if are_of_jobs {
                bring_up_to_date(mysql).await?;
            }
            Ok(())
        });
        match made {
            Ok(()) => {
                self.are_made.store(true, Ordering::Relaxed);
                Ok(None)
            }
            Err(error) if error.failure.is_answer() => Ok(Some(error)),
            Err(error) => Err(error),
        }
    }
}

/// Changes tables that an earlier version has made.
async fn bring_up_to_date(mysql: &mut MysqlConnection) -> Result<(), Failure> {
    let narrow: Option<(i64,)> = mysql.row(OWNER_IS_NARROW, Vec::new()).await?;
    if narrow.is_some_and(|(count,)| count > 0) {
        match mysql.run(WIDEN_OWNER).await {
            // All but an owner that is too long for it can be stored.
            Err(failure) if failure.is_answer() => {
                tracing::warn!(%failure, "could not update a table of jobs; run: {WIDEN_OWNER}");
            }
            done => done?,
        }
    }
    Ok(())
}
