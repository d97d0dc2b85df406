//! Ids, loads and minions of jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use halite_proto::{Jid, Map, MinionId, time};
use halite_store_servers::{Failure, PostgresConnection, PostgresServer, postgres_server};

use super::{JobTables, PostgresOptions};
use crate::error::StoreError;
use crate::limits::{JID_TRIES_MAX, OWN_JID_TRIES_MAX};
use crate::packing::pack_load;
use crate::return_queue::Queue;
use crate::salt_json;

/// The tables of `salt.returners.pgjsonb`, as it documents them, except for the indexes
/// over whole documents: neither Salt nor Halite searches by them, and they cost more
/// than all the rest. An index over job and minion replaces that over the job, because a
/// return of a large job is looked up by both.
const JSONB: &str = "
create table if not exists jids (jid varchar(255) not null primary key, load jsonb not null);
create table if not exists salt_returns (
    fun varchar(50) not null, jid varchar(255) not null, return jsonb not null,
    id varchar(255) not null, success varchar(10) not null, full_ret jsonb not null,
    alter_time timestamp with time zone default now());
create index if not exists idx_salt_returns_id on salt_returns (id);
create index if not exists halite_salt_returns on salt_returns (jid, id);
create index if not exists idx_salt_returns_fun on salt_returns (fun);
create sequence if not exists seq_salt_events_id;
create table if not exists salt_events (
    id bigint not null unique default nextval('seq_salt_events_id'), tag varchar(255) not null,
    data jsonb not null, alter_time timestamp with time zone default now(),
    master_id varchar(255) not null);
create index if not exists idx_salt_events_tag on salt_events (tag);
create table if not exists halite_event_batches (
    id text primary key, since timestamptz not null default now());
";

/// The tables of `salt.returners.postgres`, with room for the ids of `unique_jid`,
/// which have more than its 20 letters.
const TEXT: &str = "
create table if not exists jids (jid varchar(255) primary key, load text not null);
create table if not exists salt_returns (
    fun varchar(50) not null, jid varchar(255) not null, return text not null, full_ret text,
    id varchar(255) not null, success varchar(10) not null,
    alter_time timestamp with time zone default now());
create index if not exists idx_salt_returns_id on salt_returns (id);
create index if not exists halite_salt_returns on salt_returns (jid, id);
create index if not exists idx_salt_returns_fun on salt_returns (fun);
create index if not exists idx_salt_returns_updated on salt_returns (alter_time);
create sequence if not exists seq_salt_events_id;
create table if not exists salt_events (
    id bigint not null unique default nextval('seq_salt_events_id'), tag varchar(255) not null,
    data text not null, alter_time timestamp with time zone default now(),
    master_id varchar(255) not null);
create index if not exists idx_salt_events_tag on salt_events (tag);
create table if not exists halite_event_batches (
    id text primary key, since timestamptz not null default now());
";

const MISSING: &str = "
select count(*)
from unnest(array['jids', 'salt_returns', 'salt_events', 'halite_salt_returns',
    'halite_event_batches']) as name
where to_regclass(name) is null";

/// Taken while tables are made: several masters may begin at once.
const LOCK: &str = "select pg_advisory_xact_lock(7240917001001)";

/// Takes an id that neither Halite nor Salt has used.
const TAKE: &str = "
insert into halite_jobs (jid, nocache)
select $1, $2 where not exists (select from jids where jid = $1)
on conflict (jid) do nothing";

/// Takes an id for a minion, and returns its present owner.
const TAKE_OWN: &str = "
insert into halite_jobs (jid, owner)
select $1, $2 where not exists (select from jids where jid = $1)
    or exists (select from halite_jobs where jid = $1)
on conflict (jid) do update set owner = halite_jobs.owner
returning owner";

const PREPARE: &str = "
insert into halite_jobs (jid, nocache) values ($1, $2)
on conflict (jid) do update
    set prepared = now(), nocache = halite_jobs.nocache or excluded.nocache";

/// `$4` is the load as Salt has it. A load in a column of text is the same JSON.
const SAVE_LOAD: &str = "
with salts as (
    insert into jids (jid, load) values ($1, $4::text::jsonb)
    on conflict (jid) do update set load = excluded.load
)
insert into halite_jobs (jid, load, minions) values ($1, $2, $3)
on conflict (jid) do update set load = excluded.load, from_returns = false,
    minions = array(select distinct unnest(halite_jobs.minions || excluded.minions))";

/// Both at once, for an id that neither we nor Salt have given.
const BEGIN: &str = "
with taken as (
    insert into halite_jobs (jid, nocache, load, minions)
    select $1, $2, $3, $4 where not exists (select from jids where jid = $1)
    on conflict (jid) do nothing
    returning jid
)
insert into jids (jid, load) select jid, $5::text::jsonb from taken
on conflict (jid) do update set load = excluded.load";

const SAVE_MINIONS: &str = "
insert into halite_jobs (jid, minions) values ($1, $2)
on conflict (jid) do update
    set minions = array(select distinct unnest(halite_jobs.minions || excluded.minions))";

/// The jobs of a PostgreSQL.
#[derive(Debug)]
pub(crate) struct Jobs {
    server: Arc<PostgresServer>,
    pub(super) tables: JobTables,
    /// Whether this process has made Salt's tables.
    has_tables: AtomicBool,
    pub(super) returns: Queue,
}

impl Jobs {
    pub(crate) fn new(options: &PostgresOptions) -> Self {
        Self {
            server: postgres_server(&options.address),
            tables: options.tables,
            has_tables: AtomicBool::new(false),
            returns: Queue::default(),
        }
    }

    /// Runs an operation, for which Salt's tables are there.
    pub(super) fn run<T, F>(&self, operation: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut PostgresConnection) -> Result<T, Failure> + Send + 'static,
    {
        if !self.has_tables.load(Ordering::Relaxed) {
            let tables = match self.tables {
                JobTables::Jsonb => JSONB,
                JobTables::Text => TEXT,
            };
            self.server
                .run(async move |postgres| make_tables(postgres, tables).await)?;
            self.has_tables.store(true, Ordering::Relaxed);
        }
        let done = self.server.run(operation);
        if let Err(error) = &done
            && error.failure.may_be_of_other_tables()
        {
            self.has_tables.store(false, Ordering::Relaxed);
        }
        Ok(done?)
    }

    pub(super) fn place(&self) -> String {
        self.server.address().to_string()
    }

    pub(crate) fn allocate(
        &self,
        nocache: bool,
        mut next: impl FnMut() -> Jid,
    ) -> Result<Jid, StoreError> {
        for _ in 0..JID_TRIES_MAX {
            let jid = next();
            let text = jid.to_string();
            let taken =
                self.run(async move |postgres| postgres.execute(TAKE, &[&text, &nocache]).await)?;
            if taken > 0 {
                return Ok(jid);
            }
        }
        Err(self.taken(JID_TRIES_MAX))
    }

    /// Takes an id and stores its load.
    pub(crate) fn begin(
        &self,
        nocache: bool,
        next: &mut dyn FnMut() -> Jid,
        load: &dyn Fn(&Jid) -> Map,
        minions: &[MinionId],
    ) -> Result<Jid, StoreError> {
        for _ in 0..JID_TRIES_MAX {
            let jid = next();
            let load = load(&jid);
            let packed = pack_load(&jid, &load)?;
            let json = salt_json::write(&jid, &load.into())?;
            let (text, minions) = (jid.to_string(), names(minions));
            let taken = self.run(async move |postgres| {
                postgres
                    .execute(BEGIN, &[&text, &nocache, &packed, &minions, &json])
                    .await
            })?;
            if taken > 0 {
                return Ok(jid);
            }
        }
        Err(self.taken(JID_TRIES_MAX))
    }

    pub(crate) fn allocate_own(&self, id: &MinionId, mark: &Jid) -> Result<Jid, StoreError> {
        let owner = format!("{id} {mark}");
        let first = time::jid_to_micros(mark);
        for number in 0..OWN_JID_TRIES_MAX {
            let later = first.and_then(|first| first.checked_add(number));
            let jid = match (number, later) {
                (0, _) => mark.clone(),
                (_, Some(micros)) => time::jid_from_micros(micros),
                (_, None) => break,
            };
            let (text, wanted) = (jid.to_string(), owner.clone());
            let is_ours = self.run(async move |postgres| {
                let row = postgres.row(TAKE_OWN, &[&text, &wanted]).await?;
                let owner: Option<String> = match row {
                    Some(row) => row.try_get(0)?,
                    None => None,
                };
                Ok(owner == Some(wanted))
            })?;
            if is_ours {
                return Ok(jid);
            }
        }
        let tries = usize::try_from(OWN_JID_TRIES_MAX).unwrap_or(usize::MAX);
        Err(self.taken(tries))
    }

    pub(crate) fn prepare(&self, jid: &Jid, nocache: bool) -> Result<(), StoreError> {
        let jid = jid.to_string();
        self.run(async move |postgres| {
            postgres.execute(PREPARE, &[&jid, &nocache]).await?;
            Ok(())
        })
    }

    pub(crate) fn save_load(
        &self,
        jid: &Jid,
        load: &Map,
        minions: Option<&[MinionId]>,
    ) -> Result<(), StoreError> {
        let packed = pack_load(jid, load)?;
        let json = salt_json::write(jid, &load.clone().into())?;
        let (jid, minions) = (jid.to_string(), names(minions.unwrap_or_default()));
        self.run(async move |postgres| {
            postgres
                .execute(SAVE_LOAD, &[&jid, &packed, &minions, &json])
                .await?;
            Ok(())
        })
    }

    pub(crate) fn save_minions(
        &self,
        jid: &Jid,
        minions: &[MinionId],
        _syndic: Option<&MinionId>,
    ) -> Result<(), StoreError> {
        let (jid, minions) = (jid.to_string(), names(minions));
        self.run(async move |postgres| {
            postgres.execute(SAVE_MINIONS, &[&jid, &minions]).await?;
            Ok(())
        })
    }

    pub(crate) fn save_endtime(&self, jid: &Jid, endtime: &str) -> Result<(), StoreError> {
        let (jid, endtime) = (jid.to_string(), endtime.to_owned());
        self.run(async move |postgres| {
            let save = "insert into halite_jobs (jid, endtime) values ($1, $2) \
                        on conflict (jid) do update set endtime = excluded.endtime";
            postgres.execute(save, &[&jid, &endtime]).await?;
            Ok(())
        })
    }

    fn taken(&self, tries: usize) -> StoreError {
        StoreError::JidsTaken {
            place: self.place(),
            tries,
        }
    }
}

/// A user who may not make tables can use those that are there.
async fn make_tables(postgres: &mut PostgresConnection, tables: &str) -> Result<(), Failure> {
    let row = postgres.row(MISSING, &[]).await?;
    let missing: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
    if missing == Some(0) {
        return Ok(());
    }
    let made = postgres
        .batch(&format!("begin; {LOCK}; {tables} commit"))
        .await;
    if made.is_err() {
        postgres.batch("rollback").await?;
    }
    made
}

fn names(minions: &[MinionId]) -> Vec<String> {
    minions.iter().map(ToString::to_string).collect()
}
