//! Removing old jobs. Most go by themselves, when their keys expire.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::batches::publisher_key;
use super::jobs::{
    INDEX, Jobs, PREPARED, PUBLISHERS, load_key, minions_key, notes_key, returns_key,
};
use crate::error::StoreError;
use crate::kept::Cleaned;
use crate::limits::FETCHED_AT_ONCE_MAX;

impl Jobs {
    pub(crate) fn clean(&self, keep: Duration, now: SystemTime) -> Result<Cleaned, StoreError> {
        let before = now.checked_sub(keep).unwrap_or(UNIX_EPOCH);
        let before_s = before
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        let (seen, old, publishers): (usize, Vec<String>, Vec<String>) =
            self.server.run(async move |redis| {
                let mut all = redis::pipe();
                all.cmd("ZCARD").arg(PREPARED);
                for set in [PREPARED, PUBLISHERS] {
                    let ask = all.cmd("ZRANGEBYSCORE");
                    ask.arg(set).arg("-inf").arg(format!("({before_s}"));
                }
                Ok(all.query_async(redis).await?)
            })?;
        for jids in publishers.chunks(FETCHED_AT_ONCE_MAX) {
            let keys = jids.iter().map(publisher_key).collect();
            self.remove(keys, PUBLISHERS, jids)?;
        }
        for jids in old.chunks(FETCHED_AT_ONCE_MAX) {
            let keys = |jid: &String| {
                [
                    load_key(jid),
                    returns_key(jid),
                    notes_key(jid),
                    minions_key(jid),
                ]
            };
            self.remove(jids.iter().flat_map(keys).collect(), PREPARED, jids)?;
        }
        Ok(Cleaned {
            seen,
            removed: old.len(),
            failed: 0,
        })
    }

    fn remove(
        &self,
        keys: Vec<String>,
        set: &'static str,
        jids: &[String],
    ) -> Result<(), StoreError> {
        let jids = jids.to_vec();
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            all.atomic();
            all.cmd("UNLINK").arg(keys).ignore();
            if set == PREPARED {
                for jid in &jids {
                    // An entry is the id, a space and more: `!` follows a space.
                    let (first, after) = (format!("[{jid} "), format!("({jid}!"));
                    let forget = all.cmd("ZREMRANGEBYLEX");
                    forget.arg(INDEX).arg(first).arg(after).ignore();
                }
            }
            all.cmd("ZREM").arg(set).arg(jids).ignore();
            Ok(all.query_async(redis).await?)
        })?)
    }
}
