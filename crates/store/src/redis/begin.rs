//! A job's id and its load, at once.

use std::sync::LazyLock;

use halite_proto::{Jid, Map, MinionId};
use redis::Script;

use super::job_index::entry;
use super::jobs::{Jobs, names};
use super::keys::{INDEX, PREPARED};
use super::now_s;
use crate::error::StoreError;
use crate::limits::JID_TRIES_MAX;

/// Takes an id with its load and minions, if it is free.
static BEGIN: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 then return 0 end \
         local ttl = ARGV[1] \
         local function keep(key) \
           if ttl ~= '0' then redis.call('EXPIRE', key, ttl) end end \
         redis.call('HSET', KEYS[1], 'owner', '', 'nocache', ARGV[2]) keep(KEYS[1]) \
         redis.call('SET', KEYS[2], ARGV[5]) keep(KEYS[2]) \
         redis.call('ZADD', KEYS[5], ARGV[3], ARGV[4]) \
         redis.call('ZADD', KEYS[6], 0, ARGV[6]) \
         for first = 7, #ARGV, 1000 do \
           local last = math.min(first + 999, #ARGV) \
           redis.call('SADD', KEYS[4], unpack(ARGV, first, last)) end \
         if #ARGV > 6 then keep(KEYS[4]) end \
         return 1",
    )
});

impl Jobs {
    /// Takes an id and stores its load; `None` in a cluster, where these are on several
    /// servers.
    pub(crate) fn begin(
        &self,
        nocache: bool,
        next: &mut dyn FnMut() -> Jid,
        load: &dyn Fn(&Jid) -> Map,
        minions: &[MinionId],
    ) -> Option<Result<Jid, StoreError>> {
        if self.keys.is_cluster {
            return None;
        }
        for _ in 0..JID_TRIES_MAX {
            let jid = next();
            match self.begin_as(&jid, nocache, load(&jid), minions) {
                Ok(true) => return Some(Ok(jid)),
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Err(self.taken(JID_TRIES_MAX)))
    }

    /// Whether the id was free.
    fn begin_as(
        &self,
        jid: &Jid,
        nocache: bool,
        mut load: Map,
        minions: &[MinionId],
    ) -> Result<bool, StoreError> {
        // Salt's readers look for it there.
        load.insert("jid", jid);
        let entry = entry(jid, &load);
        let json = self.json(jid, &load.into())?;
        let (keys, ttl, minions) = (self.keys, self.ttl(), names(minions));
        let jid = jid.to_string();
        Ok(self.server.run(async move |redis| {
            let mut script = BEGIN.prepare_invoke();
            script
                .key(keys.notes(&jid))
                .key(keys.load(&jid))
                .key(keys.returns(&jid))
                .key(keys.minions(&jid));
            script.key(PREPARED).key(INDEX);
            script.arg(ttl).arg(u8::from(nocache)).arg(now_s());
            script.arg(jid).arg(json).arg(entry).arg(minions);
            Ok(script.invoke_async(redis).await?)
        })?)
    }
}
