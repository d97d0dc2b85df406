//! Ids, loads and minions of jobs.

use std::time::Duration;

pub(super) use halite_process::clock::unix_micros as now_micros;
use halite_proto::{Jid, Map, MinionId, time};
use halite_store_servers::{Failure, MysqlConnection, MysqlValue, mysql_server};

use super::{MysqlOptions, marks};
use crate::error::StoreError;
use crate::limits::{JID_TRIES_MAX, OWN_JID_TRIES_MAX};
use crate::mysql_tables::Tables;
use crate::packing::pack_load;
use crate::return_queue::Queue;
use crate::salt_json;

/// Minions in one statement.
const MINIONS_AT_ONCE: usize = 1000;

/// Takes an id that neither Halite nor Salt has used.
const TAKE: &str = "
insert ignore into halite_jobs (jid, prepared, nocache, owner)
select ?, ?, ?, ? from dual where not exists (select 1 from jids where jid = ?)";

const PREPARE: &str = "
insert into halite_jobs (jid, prepared, nocache) values (?, ?, ?)
on duplicate key update prepared = values(prepared), nocache = nocache or values(nocache)";

const SAVE_LOAD: &str = "
insert into halite_jobs (jid, prepared, `load`) values (?, ?, ?)
on duplicate key update `load` = values(`load`), from_returns = false";

const SAVE_SALTS_LOAD: &str = "
insert into jids (jid, `load`) values (?, ?) on duplicate key update `load` = values(`load`)";

/// The jobs of a MySQL.
#[derive(Debug)]
pub(crate) struct Jobs {
    tables: Tables,
    pub(super) returns: Queue,
}

impl Jobs {
    pub(crate) fn new(options: &MysqlOptions) -> Self {
        Self {
            tables: Tables::of_jobs(mysql_server(&options.address)),
            returns: Queue::default(),
        }
    }

    /// Runs an operation.
    pub(super) fn run<T, F>(&self, operation: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut MysqlConnection) -> Result<T, Failure> + Send + 'static,
    {
        self.tables.run(operation)
    }

    pub(crate) fn allocate(
        &self,
        nocache: bool,
        mut next: impl FnMut() -> Jid,
    ) -> Result<Jid, StoreError> {
        for _ in 0..JID_TRIES_MAX {
            let jid = next();
            if self.take(&jid, nocache, None)? {
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
            if self.take(&jid, false, Some(&owner))? || self.owner(&jid)?.as_ref() == Some(&owner) {
                return Ok(jid);
            }
        }
        let tries = usize::try_from(OWN_JID_TRIES_MAX).unwrap_or(usize::MAX);
        Err(self.taken(tries))
    }

    fn take(&self, jid: &Jid, nocache: bool, owner: Option<&str>) -> Result<bool, StoreError> {
        let arguments: Vec<MysqlValue> = vec![
            jid.as_str().into(),
            now_micros().into(),
            nocache.into(),
            owner.into(),
            jid.as_str().into(),
        ];
        self.run(async move |mysql| Ok(mysql.execute(TAKE, arguments).await? > 0))
    }

    fn owner(&self, jid: &Jid) -> Result<Option<String>, StoreError> {
        let arguments = vec![jid.as_str().into()];
        let found: Option<(Option<String>,)> = self.run(async move |mysql| {
            let ask = "select owner from halite_jobs where jid = ?";
            mysql.row(ask, arguments).await
        })?;
        Ok(found.and_then(|(owner,)| owner))
    }

    pub(crate) fn prepare(&self, jid: &Jid, nocache: bool) -> Result<(), StoreError> {
        let arguments = vec![jid.as_str().into(), now_micros().into(), nocache.into()];
        self.execute(PREPARE, arguments)
    }

    pub(crate) fn save_load(
        &self,
        jid: &Jid,
        load: &Map,
        minions: Option<&[MinionId]>,
    ) -> Result<(), StoreError> {
        let packed = pack_load(jid, load)?;
        let json = salt_json::write(jid, &load.clone().into())?;
        let ours = vec![jid.as_str().into(), now_micros().into(), packed.into()];
        let salts = vec![jid.as_str().into(), json.into()];
        let (jid, minions) = (jid.to_string(), names(minions.unwrap_or_default()));
        self.run(async move |mysql| {
            mysql
                .together(async |mysql| {
                    mysql.execute(SAVE_LOAD, ours).await?;
                    mysql.execute(SAVE_SALTS_LOAD, salts).await?;
                    add_minions(mysql, &jid, &minions).await
                })
                .await
        })
    }

    pub(crate) fn save_minions(
        &self,
        jid: &Jid,
        minions: &[MinionId],
        _syndic: Option<&MinionId>,
    ) -> Result<(), StoreError> {
        let known = vec![jid.as_str().into(), now_micros().into()];
        let (jid, minions) = (jid.to_string(), names(minions));
        self.run(async move |mysql| {
            mysql
                .together(async |mysql| {
                    let make = "insert ignore into halite_jobs (jid, prepared) values (?, ?)";
                    mysql.execute(make, known).await?;
                    add_minions(mysql, &jid, &minions).await
                })
                .await
        })
    }

    pub(crate) fn save_endtime(&self, jid: &Jid, endtime: &str) -> Result<(), StoreError> {
        let save = "insert into halite_jobs (jid, prepared, endtime) values (?, ?, ?) \
                    on duplicate key update endtime = values(endtime)";
        let arguments = vec![jid.as_str().into(), now_micros().into(), endtime.into()];
        self.execute(save, arguments)
    }

    pub(super) fn execute(
        &self,
        statement: &'static str,
        arguments: Vec<MysqlValue>,
    ) -> Result<(), StoreError> {
        self.run(async move |mysql| {
            mysql.execute(statement, arguments).await?;
            Ok(())
        })
    }

    pub(super) fn taken(&self, tries: usize) -> StoreError {
        StoreError::JidsTaken {
            place: self.tables.server.address().to_string(),
            tries,
        }
    }
}

pub(super) async fn add_minions(
    mysql: &mut MysqlConnection,
    jid: &str,
    minions: &[String],
) -> Result<(), Failure> {
    for minions in minions.chunks(MINIONS_AT_ONCE) {
        let marks = marks(minions.len(), 2);
        let add = format!("insert ignore into halite_minions (jid, id) values {marks}");
        let rows = minions.iter().flat_map(|id| [jid.into(), id.into()]);
        mysql.execute(add, rows.collect()).await?;
    }
    Ok(())
}

pub(super) fn names(minions: &[MinionId]) -> Vec<String> {
    minions.iter().map(ToString::to_string).collect()
}

pub(super) fn micros(age: Duration) -> u64 {
    u64::try_from(age.as_micros()).unwrap_or(u64::MAX)
}
