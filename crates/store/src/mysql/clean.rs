//! Removing old jobs, those of Python masters included.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use halite_proto::time;
use halite_store_servers::{Failure, MysqlConnection, MysqlValue};

use super::jobs::{Jobs, micros};
use crate::error::StoreError;
use crate::kept::Cleaned;

/// Jobs that are removed at once.
const AT_ONCE: usize = 500;

/// Ours by their time; of one of a Python master only its id says how old it is.
const OLD: &str = "
select jid from halite_jobs where prepared < ?
union select jid from jids where jid < ?
    and not exists (select 1 from halite_jobs job where job.jid = jids.jid)";

const TABLES: [&str; 5] = [
    "salt_returns",
    "jids",
    "halite_returns",
    "halite_minions",
    "halite_jobs",
];

impl Jobs {
    pub(crate) fn clean(&self, keep: Duration, now: SystemTime) -> Result<Cleaned, StoreError> {
        let before = now.checked_sub(keep).unwrap_or(UNIX_EPOCH);
        let before = micros(before.duration_since(UNIX_EPOCH).unwrap_or_default());
        let jid = time::jid_from_micros(before).to_string();
        let (seen, old): (u64, Vec<String>) = self.run(async move |mysql| {
            let forget = "delete from halite_publishers where since < ?";
            mysql.execute(forget, vec![before.into()]).await?;
            let forget = "delete from salt_events where alter_time < from_unixtime(? / 1000000)";
            mysql.execute(forget, vec![before.into()]).await?;
            let forget = "delete from halite_event_batches where since < ?";
            mysql.execute(forget, vec![before.into()]).await?;
            let count = "select count(*) from halite_jobs";
            let seen: Option<u64> = mysql.row(count, Vec::new()).await?;
            let old = mysql.rows(OLD, vec![before.into(), jid.into()]).await?;
            Ok((seen.unwrap_or(0), old))
        })?;
        for jids in old.chunks(AT_ONCE) {
            let jids: Vec<MysqlValue> = jids.iter().map(Into::into).collect();
            self.run(async move |mysql| {
                mysql
                    .together(async |mysql| remove(mysql, jids).await)
                    .await
            })?;
        }
        Ok(Cleaned {
            seen: usize::try_from(seen).unwrap_or_default(),
            removed: old.len(),
            failed: 0,
        })
    }
}

async fn remove(mysql: &mut MysqlConnection, jids: Vec<MysqlValue>) -> Result<(), Failure> {
    let list = vec!["?"; jids.len()].join(", ");
    for table in TABLES {
        let remove = format!("delete from {table} where jid in ({list})");
        mysql.execute(remove, jids.clone()).await?;
    }
    Ok(())
}
