//! Removing old jobs, those of Python masters included.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use halite_proto::time;

use super::jobs::Jobs;
use crate::error::StoreError;
use crate::kept::Cleaned;

/// `$1` is the time before which a job is old, `$2` the id of that time: for a
/// job of a Python master nothing else says how old it is.
const CLEAN: &str = "
with publishers as (
    delete from halite_publishers where since < $1
), ours as (
    delete from halite_jobs where prepared < $1 returning jid
), salts as (
    delete from jids where jid in (select jid from ours)
        or (jid < $2 and not exists (select from halite_jobs job where job.jid = jids.jid))
    returning jid
), old as (
    select jid from ours union select jid from salts
), returns as (
    delete from halite_returns where jid in (select jid from old)
), salts_returns as (
    delete from salt_returns where jid in (select jid from old)
), salts_events as (
    delete from salt_events where alter_time < $1
), event_batches as (
    delete from halite_event_batches where since < $1
)
select (select count(*) from halite_jobs), (select count(*) from old)";

impl Jobs {
    pub(crate) fn clean(&self, keep: Duration, now: SystemTime) -> Result<Cleaned, StoreError> {
        let before = now.checked_sub(keep).unwrap_or(UNIX_EPOCH);
        let micros = before.duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = u64::try_from(micros.as_micros()).unwrap_or(u64::MAX);
        let jid = time::jid_from_micros(micros).to_string();
        let (seen, removed): (i64, i64) = self.run(async move |postgres| {
            let row = postgres.row(CLEAN, &[&before, &jid]).await?;
            match row {
                Some(row) => Ok((row.try_get(0)?, row.try_get(1)?)),
                None => Ok((0, 0)),
            }
        })?;
        Ok(Cleaned {
            seen: usize::try_from(seen).unwrap_or_default(),
            removed: usize::try_from(removed).unwrap_or_default(),
            failed: 0,
        })
    }
}
