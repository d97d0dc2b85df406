//! Removes old jobs. Most disappear by themselves, when their keys expire.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::job_index::forget;
use super::jobs::Jobs;
use super::keys::{JobKeys, PREPARED, PUBLISHERS};
use crate::error::StoreError;
use crate::kept::Cleaned;
use crate::limits::{FETCHED_AT_ONCE_MAX, JOBS_LISTED_MAX, OLD_JOBS_AT_ONCE};

impl Jobs {
    pub(crate) fn clean(&self, keep: Duration, now: SystemTime) -> Result<Cleaned, StoreError> {
        let before = now.checked_sub(keep).unwrap_or(UNIX_EPOCH);
        let before_s = before
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        let seen: usize = self.server.run(async move |redis| {
            let mut ask = redis::cmd("ZCARD");
            Ok(ask.arg(PREPARED).query_async(redis).await?)
        })?;
        self.remove_old(PUBLISHERS, before_s, |keys, jid| vec![keys.publisher(jid)])?;
        let removed = self.remove_old(PREPARED, before_s, |keys, jid| {
            vec![
                keys.load(jid),
                keys.returns(jid),
                keys.notes(jid),
                keys.minions(jid),
            ]
        })?;
        Ok(Cleaned {
            seen,
            removed,
            failed: 0,
        })
    }

    /// Removes the keys of what a set notes as old, and gives how many that were.
    fn remove_old(
        &self,
        set: &'static str,
        before_s: u64,
        keys_of: impl Fn(&JobKeys, &str) -> Vec<String>,
    ) -> Result<usize, StoreError> {
        let mut removed = 0;
        // What is removed is no longer noted. A server that notes it all the same is asked
        // again with the next cleaning.
        while removed < JOBS_LISTED_MAX {
            let old: Vec<String> = self.server.run(async move |redis| {
                let mut ask = redis::cmd("ZRANGEBYSCORE");
                ask.arg(set).arg("-inf").arg(format!("({before_s}"));
                ask.arg("LIMIT").arg(0).arg(OLD_JOBS_AT_ONCE);
                Ok(ask.query_async(redis).await?)
            })?;
            for jids in old.chunks(FETCHED_AT_ONCE_MAX) {
                let keys = jids.iter().flat_map(|jid| keys_of(&self.keys, jid));
                self.remove(keys.collect(), set, jids)?;
            }
            removed += old.len();
            if old.len() < OLD_JOBS_AT_ONCE {
                break;
            }
        }
        Ok(removed)
    }

    /// Removes keys, and then the note of them: a master that is killed in between
    /// finds them again.
    fn remove(
        &self,
        keys: Vec<String>,
        set: &'static str,
        jids: &[String],
    ) -> Result<(), StoreError> {
        let jids = jids.to_vec();
        Ok(self.server.run(async move |redis| {
            // One by one: in a cluster they are on several servers.
            let mut gone = redis::pipe();
            for key in keys {
                gone.cmd("UNLINK").arg(key).ignore();
            }
            let () = gone.query_async(redis).await?;
            let mut all = redis::pipe();
            all.atomic();
            if set == PREPARED {
                for jid in &jids {
                    forget(&mut all, jid);
                }
            }
            all.cmd("ZREM").arg(set).arg(jids).ignore();
            Ok(all.query_async(redis).await?)
        })?)
    }
}
