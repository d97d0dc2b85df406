//! Reading jobs.

use halite_proto::json;
use halite_proto::{Jid, Map, MinionId, Value};

use super::jobs::Jobs;
use crate::cache::Found;
use crate::cache::redis::values;
use crate::error::StoreError;
use crate::kept::StoredReturn;
use crate::limits::FILE_BYTES_MAX;

impl Jobs {
    pub(crate) fn load(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let (load, minions) = (self.keys.load(jid), self.keys.minions(jid));
        let (load, mut minions): (Option<Found>, Vec<String>) =
            self.server.run(async move |redis| {
                let mut all = redis::pipe();
                all.add_command(values::beginning(&load));
                all.cmd("SCARD").arg(&minions);
                let (beginning, count): (_, usize) = all.query_async(redis).await?;
                let minions = match count {
                    0 => Vec::new(),
                    _ => values::all(redis, "SMEMBERS", &minions).await?,
                };
                Ok((values::whole(redis, &load, beginning).await?, minions))
            })?;
        let Some(mut map) = load.and_then(|found| self.map(jid, found)) else {
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
        let found = self
            .server
            .run(async move |redis| Ok(values::hash(redis, &key).await?))?;
        let mut returns = Vec::with_capacity(found.len());
        for (id, found) in found {
            let id = String::from_utf8(id)
                .ok()
                .and_then(|id| MinionId::parse(id).ok());
            if let Some(id) = id
                && let Some(map) = self.map(jid, found)
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
        let found = self
            .server
            .run(async move |redis| Ok(values::field(redis, &key, id).await?))?;
        let map = found.and_then(|found| self.map(jid, found));
        Ok(map.map(StoredReturn::from_all))
    }

    pub(crate) fn endtime(&self, jid: &Jid) -> Result<Option<String>, StoreError> {
        let found = self.noted(jid, "endtime")?;
        Ok(found.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    /// The record of a job.
    pub(super) fn noted(
        &self,
        jid: &Jid,
        name: &'static str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = self.keys.notes(jid);
        let found = self
            .server
            .run(async move |redis| Ok(values::field(redis, &key, name.to_owned()).await?))?;
        Ok(found.and_then(|found| self.bytes(jid, found)))
    }

    /// The value, or `None` with a warning if it is too large.
    fn bytes(&self, jid: &Jid, found: Found) -> Option<Vec<u8>> {
        let bytes = match found {
            Found::Bytes(bytes) if bytes.len() as u64 <= FILE_BYTES_MAX => return Some(bytes),
            Found::Bytes(bytes) => bytes.len(),
            Found::TooLarge(bytes) => bytes,
        };
        let place = self.server.address();
        tracing::warn!(%place, %jid, bytes, "skipping an entry of a job: it is too large");
        None
    }

    /// The map, or `None` with a warning if it is damaged or too large.
    pub(super) fn map(&self, jid: &Jid, found: Found) -> Option<Map> {
        let place = self.server.address();
        let bytes = self.bytes(jid, found)?;
        let read = std::str::from_utf8(&bytes).ok().map(json::read);
        match read {
            Some(Ok(Value::Map(map))) => Some(map),
            _ => {
                tracing::warn!(%place, %jid, "skipping a damaged entry of a job");
                None
            }
        }
    }
}
