//! Jobs in batches, and who published a job.

use halite_proto::msgpack::unpack_modern;
use halite_proto::{Jid, Map, MinionId, Value};

use super::jobs::{Jobs, expire};
use super::keys::PUBLISHERS;
use super::now_s;
use crate::cache::pack;
use crate::cache::redis::values;
use crate::error::StoreError;
use crate::limits::JOBS_LISTED_MAX;

/// The jobs in batches that are not over, in the order of their beginning.
const ACTIVE: &str = "halite:batches";

impl Jobs {
    pub(crate) fn batch(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let Some(bytes) = self.noted(jid, "batch")? else {
            return Ok(None);
        };
        match unpack_modern(&bytes) {
            Ok(Value::Map(state)) => Ok(Some(state)),
            _ => Ok(None),
        }
    }

    pub(crate) fn put_batch(&self, jid: &Jid, state: &Map) -> Result<(), StoreError> {
        let packed = pack(jid, &state.clone().into())?;
        self.save_field(jid, "batch", packed)
    }

    pub(crate) fn active_batches(&self) -> Result<Vec<Jid>, StoreError> {
        let found: Vec<String> = self.server.run(async move |redis| {
            let mut ask = redis::cmd("ZRANGE");
            ask.arg(ACTIVE).arg(0).arg(JOBS_LISTED_MAX - 1);
            Ok(ask.query_async(redis).await?)
        })?;
        Ok(found
            .into_iter()
            .filter_map(|jid| Jid::parse(jid).ok())
            .collect())
    }

    pub(crate) fn begin_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        let jid = jid.to_string();
        Ok(self.server.run(async move |redis| {
            let mut add = redis::cmd("ZADD");
            add.arg(ACTIVE).arg("NX").arg(now_s()).arg(jid);
            Ok(add.query_async(redis).await?)
        })?)
    }

    pub(crate) fn end_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        let jid = jid.to_string();
        Ok(self.server.run(async move |redis| {
            Ok(redis::cmd("ZREM")
                .arg(ACTIVE)
                .arg(jid)
                .query_async(redis)
                .await?)
        })?)
    }

    pub(crate) fn save_publisher(&self, jid: &Jid, id: &MinionId) -> Result<(), StoreError> {
        let key = self.keys.publisher(jid);
        let (jid, id, ttl) = (jid.to_string(), id.to_string(), self.ttl());
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            all.atomic();
            all.cmd("SET").arg(&key).arg(id).ignore();
            expire(&mut all, &key, ttl);
            all.cmd("ZADD")
                .arg(PUBLISHERS)
                .arg(now_s())
                .arg(jid)
                .ignore();
            Ok(all.query_async(redis).await?)
        })?)
    }

    pub(crate) fn publisher(&self, jid: &Jid) -> Result<Option<MinionId>, StoreError> {
        let key = self.keys.publisher(jid);
        let found: String = self
            .server
            .run(async move |redis| Ok(values::beginning(&key).query_async(redis).await?))?;
        Ok(MinionId::parse(found).ok())
    }
}
