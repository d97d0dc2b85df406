//! Removes old jobs. Most disappear by themselves, when their keys expire.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::jobs::Jobs;
use super::keys::{INDEX, PREPARED, PUBLISHERS};
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
            let keys = jids.iter().map(|jid| self.keys.publisher(jid)).collect();
            self.remove(keys, PUBLISHERS, jids)?;
        }
        for jids in old.chunks(FETCHED_AT_ONCE_MAX) {
            let keys = |jid: &String| {
                [
                    self.keys.load(jid),
                    self.keys.returns(jid),
                    self.keys.notes(jid),
                    self.keys.minions(jid),
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
