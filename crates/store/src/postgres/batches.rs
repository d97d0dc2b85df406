//! Jobs in batches, and who published a job.

use halite_proto::msgpack::{Packing, pack_map};
use halite_proto::{Jid, Map, MinionId};

use super::jobs::Jobs;
use crate::error::StoreError;
use crate::limits::ACTIVE_BATCHES_MAX;
use crate::sql::is_short;
use crate::stored_jobs::map_of_packed;

impl Jobs {
    pub(crate) fn batch(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let asked = jid.to_string();
        let packed: Option<Vec<u8>> = self.run(async move |postgres| {
            let ask = concat!(
                "select case when ",
                is_short!("batch"),
                " then batch end from halite_jobs where jid = $1"
            );
            match postgres.row(ask, &[&asked]).await? {
                Some(row) => Ok(row.try_get(0)?),
                None => Ok(None),
            }
        })?;
        Ok(packed.and_then(|packed| map_of_packed(jid, &packed)))
    }

    pub(crate) fn put_batch(&self, jid: &Jid, batch: &Map) -> Result<(), StoreError> {
        let packed =
            pack_map(batch, Packing::Modern).map_err(|source| StoreError::pack(jid, source))?;
        let jid = jid.to_string();
        self.run(async move |postgres| {
            let save = "insert into halite_jobs (jid, batch) values ($1, $2) \
                        on conflict (jid) do update set batch = excluded.batch";
            postgres.execute(save, &[&jid, &packed]).await?;
            Ok(())
        })
    }

    pub(crate) fn active_batches(&self) -> Result<Vec<Jid>, StoreError> {
        let found: Vec<String> = self.run(async move |postgres| {
            let ask = "select jid from halite_jobs where batch_is_active order by jid limit $1";
            let rows = postgres.rows(ask, &[&ACTIVE_BATCHES_MAX]).await?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        })?;
        let jids = found.into_iter().filter_map(|jid| Jid::parse(jid).ok());
        Ok(jids.collect())
    }

    pub(crate) fn begin_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        let jid = jid.to_string();
        self.run(async move |postgres| {
            let begin = "insert into halite_jobs (jid, batch_is_active) values ($1, true) \
                         on conflict (jid) do update set batch_is_active = true";
            postgres.execute(begin, &[&jid]).await?;
            Ok(())
        })
    }

    pub(crate) fn end_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        let jid = jid.to_string();
        self.run(async move |postgres| {
            let end = "update halite_jobs set batch_is_active = false where jid = $1";
            postgres.execute(end, &[&jid]).await?;
            Ok(())
        })
    }

    pub(crate) fn save_publisher(&self, jid: &Jid, id: &MinionId) -> Result<(), StoreError> {
        let (jid, id) = (jid.to_string(), id.to_string());
        self.run(async move |postgres| {
            let save = "insert into halite_publishers (jid, id) values ($1, $2) \
                        on conflict (jid) do update set id = excluded.id, since = now()";
            postgres.execute(save, &[&jid, &id]).await?;
            Ok(())
        })
    }

    pub(crate) fn publisher(&self, jid: &Jid) -> Result<Option<MinionId>, StoreError> {
        let jid = jid.to_string();
        let found: Option<String> = self.run(async move |postgres| {
            let ask = "select id from halite_publishers where jid = $1";
            let row = postgres.row(ask, &[&jid]).await?;
            Ok(row.map(|row| row.try_get(0)).transpose()?)
        })?;
        Ok(found.and_then(|id| MinionId::parse(id).ok()))
    }
}
