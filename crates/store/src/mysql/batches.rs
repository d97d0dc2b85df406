//! Jobs in batches, and who published a job.

use halite_proto::msgpack::{Packing, pack_map};
use halite_proto::{Jid, Map, MinionId};

use super::jobs::{Jobs, now_micros};
use crate::error::StoreError;
use crate::limits::ACTIVE_BATCHES_MAX;
use crate::sql::is_short;
use crate::stored_jobs::map_of_packed;

impl Jobs {
    pub(crate) fn batch(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let arguments = vec![jid.as_str().into()];
        let found: Option<(Option<Vec<u8>>,)> = self.run(async move |mysql| {
            let ask = concat!(
                "select if(",
                is_short!("batch"),
                ", batch, null) from halite_jobs where jid = ?"
            );
            mysql.row(ask, arguments).await
        })?;
        let packed = found.and_then(|(packed,)| packed);
        Ok(packed.and_then(|packed| map_of_packed(jid, &packed)))
    }

    pub(crate) fn put_batch(&self, jid: &Jid, batch: &Map) -> Result<(), StoreError> {
        let packed =
            pack_map(batch, Packing::Modern).map_err(|source| StoreError::pack(jid, source))?;
        let save = "insert into halite_jobs (jid, prepared, batch) values (?, ?, ?) \
                    on duplicate key update batch = values(batch)";
        let arguments = vec![jid.as_str().into(), now_micros().into(), packed.into()];
        self.execute(save, arguments)
    }

    pub(crate) fn active_batches(&self) -> Result<Vec<Jid>, StoreError> {
        let found: Vec<String> = self.run(async move |mysql| {
            let ask = "select jid from halite_jobs where batch_is_active order by jid limit ?";
            mysql.rows(ask, vec![ACTIVE_BATCHES_MAX.into()]).await
        })?;
        let jids = found.into_iter().filter_map(|jid| Jid::parse(jid).ok());
        Ok(jids.collect())
    }

    pub(crate) fn begin_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        let begin = "insert into halite_jobs (jid, prepared, batch_is_active) \
                     values (?, ?, true) on duplicate key update batch_is_active = true";
        self.execute(begin, vec![jid.as_str().into(), now_micros().into()])
    }

    pub(crate) fn end_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        let end = "update halite_jobs set batch_is_active = false where jid = ?";
        self.execute(end, vec![jid.as_str().into()])
    }

    pub(crate) fn save_publisher(&self, jid: &Jid, id: &MinionId) -> Result<(), StoreError> {
        let save = "insert into halite_publishers (jid, id, since) values (?, ?, ?) \
                    on duplicate key update id = values(id), since = values(since)";
        let arguments = vec![jid.as_str().into(), id.as_str().into(), now_micros().into()];
        self.execute(save, arguments)
    }

    pub(crate) fn publisher(&self, jid: &Jid) -> Result<Option<MinionId>, StoreError> {
        let arguments = vec![jid.as_str().into()];
        let found: Option<String> = self.run(async move |mysql| {
            let ask = "select id from halite_publishers where jid = ?";
            mysql.row(ask, arguments).await
        })?;
        Ok(found.and_then(|id| MinionId::parse(id).ok()))
    }
}
