//! Reading jobs.

use halite_proto::json;
use halite_proto::{Jid, Map, MinionId, Value};

use super::jobs::Jobs;
use crate::error::StoreError;
use crate::kept::StoredReturn;
use crate::limits::FILE_BYTES_MAX;

impl Jobs {
    pub(crate) fn load(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let (load, minions) = (self.keys.load(jid), self.keys.minions(jid));
        let (load, mut minions): (Option<Vec<u8>>, Vec<String>) =
            self.server.run(async move |redis| {
                let mut all = redis::pipe();
                all.cmd("GET").arg(load);
                all.cmd("SMEMBERS").arg(minions);
                Ok(all.query_async(redis).await?)
            })?;
        let Some(mut map) = load.and_then(|bytes| self.map(jid, &bytes)) else {
            return Ok(None);
        };
        minions.sort_unstable();
        minions.retain(|id| MinionId::parse(id).is_ok());
        if !minions.is_empty() {
            let minions = minions.into_iter().map(Value::from);
            map.insert("Minions", Value::List(minions.collect()));
        }
        Ok(Some(map))
    }

    pub(crate) fn returns(&self, jid: &Jid) -> Result<Vec<(MinionId, StoredReturn)>, StoreError> {
        let key = self.keys.returns(jid);
        let found: Vec<(Vec<u8>, Vec<u8>)> = self.server.run(async move |redis| {
            Ok(redis::cmd("HGETALL").arg(key).query_async(redis).await?)
        })?;
        let mut returns = Vec::with_capacity(found.len());
        for (id, bytes) in found {
            let id = String::from_utf8(id)
                .ok()
                .and_then(|id| MinionId::parse(id).ok());
            if let Some(id) = id
                && let Some(map) = self.map(jid, &bytes)
            {
                returns.push((id, StoredReturn::from_all(map)));
            }
        }
        returns.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(returns)
    }

    pub(crate) fn return_of(
        &self,
        jid: &Jid,
        id: &MinionId,
    ) -> Result<Option<StoredReturn>, StoreError> {
        let (key, id) = (self.keys.returns(jid), id.to_string());
        let found: Option<Vec<u8>> = self.server.run(async move |redis| {
            Ok(redis::cmd("HGET")
                .arg(key)
                .arg(id)
                .query_async(redis)
                .await?)
        })?;
        let map = found.and_then(|bytes| self.map(jid, &bytes));
        Ok(map.map(StoredReturn::from_all))
    }

    pub(crate) fn endtime(&self, jid: &Jid) -> Result<Option<String>, StoreError> {
        let found = self.noted(jid, "endtime")?;
        Ok(found.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    /// What was noted of a job.
    pub(super) fn noted(
        &self,
        jid: &Jid,
        name: &'static str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = self.keys.notes(jid);
        Ok(self.server.run(async move |redis| {
            Ok(redis::cmd("HGET")
                .arg(key)
                .arg(name)
                .query_async(redis)
                .await?)
        })?)
    }

    /// What is damaged or too large is left out with a warning.
    pub(super) fn map(&self, jid: &Jid, bytes: &[u8]) -> Option<Map> {
        let place = self.server.address();
        if bytes.len() as u64 > FILE_BYTES_MAX {
            tracing::warn!(%place, %jid, bytes = bytes.len(), "too large, it is left out");
            return None;
        }
        let read = std::str::from_utf8(bytes).ok().map(json::read);
        match read {
            Some(Ok(Value::Map(map))) => Some(map),
            _ => {
                tracing::warn!(%place, %jid, "damaged, it is left out");
                None
            }
        }
    }
}
