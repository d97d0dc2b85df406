//! Searches jobs: an index of the searchable fields, so that a hundred thousand
//! loads are not read to find one.
//!
//! The index is ours; jobs that a master of Salt's has stored are added to it at
//! the next search.

use std::collections::HashSet;

use halite_proto::json::{self, Style};
use halite_proto::{Jid, Map, Value};
use halite_store_servers::{Failure, RedisConnection, ServerError};

use super::jobs::Jobs;
use super::keys::INDEX;
use crate::cache::Found;
use crate::cache::redis::values;
use crate::error::StoreError;
use crate::job_filter::JobFilter;
use crate::limits::{FETCHED_AT_ONCE_MAX, JOBS_LISTED_MAX, LISTED_LOAD_BYTES_MAX};

/// Keys that one question of a search looks at.
const SCANNED_AT_ONCE: usize = 5000;

/// What stands between the parts of an entry.
const SEPARATOR: char = ' ';

/// The entry of a job: its id, by which entries are sorted, and what is searched
/// for as JSON.
pub(super) fn entry(jid: &Jid, load: &Map) -> String {
    let mut parts = Map::new();
    for name in ["fun", "tgt", "user"] {
        if let Some(value) = load.get(name) {
            parts.insert(name, value.clone());
        }
    }
    let style = Style {
        default: Some(halite_proto::python::str),
        ..Style::default()
    };
    let parts = json::write(&parts.into(), style).unwrap_or_else(|_| "{}".to_owned());
    format!("{jid}{SEPARATOR}{parts}")
}

fn read(entry: &str) -> Option<(Jid, Map)> {
    let (jid, parts) = entry.split_once(SEPARATOR)?;
    match json::read(parts) {
        Ok(Value::Map(parts)) => Some((Jid::parse(jid).ok()?, parts)),
        _ => None,
    }
}

impl Jobs {
    pub(crate) fn newest_picked<T>(
        &self,
        max: usize,
        filter: &JobFilter,
        mut pick: impl FnMut(Jid, Map) -> Option<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut entries = self.complete_index()?;
        let words = Words::of(filter);
        entries.retain(|entry| words.may_be_in(entry));
        entries.sort_unstable_by(|a, b| b.cmp(a));
        let candidates: Vec<Jid> = entries
            .iter()
            .filter_map(|entry| read(entry))
            .filter(|(jid, parts)| filter.fits_time(jid) && filter.fits_load(parts))
            .map(|(jid, _)| jid)
            .collect();
        let mut found = Vec::new();
        let step = max.clamp(1, FETCHED_AT_ONCE_MAX);
        let mut seen = HashSet::new();
        for jids in candidates.chunks(step) {
            for (jid, load) in self.loads(jids)? {
                if found.len() >= max {
                    return Ok(found);
                }
                // A load that was stored twice has two entries.
                if seen.insert(jid.clone()) && filter.fits_load(&load) {
                    found.extend(pick(jid, load));
                }
            }
        }
        Ok(found)
    }

    fn loads(&self, jids: &[Jid]) -> Result<Vec<(Jid, Map)>, StoreError> {
        let keys: Vec<String> = jids.iter().map(|jid| self.keys.load(jid)).collect();
        let found: Vec<Vec<u8>> = self.server.run(async move |redis| {
            let mut all = redis::pipe();
            for key in keys {
                all.add_command(values::beginning(&key));
            }
            Ok(all.query_async(redis).await?)
        })?;
        let mut whole = Vec::with_capacity(found.len());
        for (jid, beginning) in jids.iter().zip(found) {
            let key = self.keys.load(jid);
            let found = match beginning.len() > LISTED_LOAD_BYTES_MAX {
                false => (!beginning.is_empty()).then_some(Found::Bytes(beginning)),
                true => self
                    .server
                    .run(async move |redis| Ok(values::whole(redis, &key, beginning).await?))?,
            };
            whole.push(found.and_then(|found| self.map(jid, found)));
        }
        let load = |(jid, load): (&Jid, Option<Map>)| {
            let mut load = load?;
            // It is in the load for Salt's readers alone.
            load.remove("jid");
            Some((jid.clone(), load))
        };
        Ok(jids.iter().zip(whole).filter_map(load).collect())
    }

    /// Puts jobs into the index that others have stored, takes those out that are
    /// over, and gives the entries that are left.
    fn complete_index(&self) -> Result<Vec<String>, StoreError> {
        let (stored, indexed, is_complete) = self.server.run(async move |redis| {
            // First: what is in the index now and has no load later is over.
            let mut ask = redis::cmd("ZRANGE");
            let indexed: Vec<String> = ask.arg(INDEX).arg(0).arg(-1).query_async(redis).await?;
            let mut stored = HashSet::new();
            let servers = redis.servers().await?;
            for mut server in servers.each {
                scan_loads(&mut server, &mut stored).await?;
            }
            Ok((stored, indexed, servers.are_all))
        })?;
        let id_of = |entry: &str| entry.split(SEPARATOR).next().map(str::to_owned);
        let known: HashSet<String> = indexed.iter().filter_map(|entry| id_of(entry)).collect();
        let missing: Vec<Jid> = stored
            .iter()
            .filter(|jid| !known.contains(*jid))
            .filter_map(|jid| Jid::parse(jid.as_str()).ok())
            .collect();
        let is_stored = |entry: &String| id_of(entry).is_some_and(|jid| stored.contains(&jid));
        let (mut left, mut over): (Vec<String>, Vec<String>) =
            indexed.into_iter().partition(is_stored);
        if !is_complete {
            // They may be on a server that is missing.
            over.clear();
        }
        let mut added = Vec::new();
        for jids in missing.chunks(FETCHED_AT_ONCE_MAX) {
            let loads = self.loads(jids)?;
            added.extend(loads.iter().map(|(jid, load)| entry(jid, load)));
        }
        left.extend(added.iter().cloned());
        if added.is_empty() && over.is_empty() {
            return Ok(left);
        }
        let noted: Result<(), ServerError> = self.server.run(async move |redis| {
            let mut all = redis::pipe();
            for entry in added {
                all.cmd("ZADD").arg(INDEX).arg(0).arg(entry).ignore();
            }
            for entries in over.chunks(FETCHED_AT_ONCE_MAX) {
                all.cmd("ZREM").arg(INDEX).arg(entries).ignore();
            }
            Ok(all.query_async(redis).await?)
        });
        if let Err(error) = noted {
            // A replica, or a full one: it can be searched all the same.
            tracing::debug!(%error, "the index of jobs is not completed");
        }
        Ok(left)
    }
}

/// What must stand in the entry of a job that fits: to read all entries takes ten
/// times as long.
struct Words {
    user: Option<String>,
    /// One of these.
    functions: Vec<String>,
    /// One of these.
    targets: Vec<String>,
}

impl Words {
    fn of(filter: &JobFilter) -> Self {
        let literals = |globs: &[String]| {
            let literals = globs.iter().map(|glob| quoted(literal(glob)));
            literals.collect::<Option<_>>().unwrap_or_default()
        };
        Self {
            user: filter.user.as_deref().and_then(quoted),
            functions: literals(&filter.functions),
            targets: literals(&filter.targets),
        }
    }

    fn may_be_in(&self, entry: &str) -> bool {
        let has_one = |words: &[String]| {
            words.is_empty() || words.iter().any(|word| entry.contains(word.as_str()))
        };
        self.user.as_ref().is_none_or(|user| entry.contains(user))
            && has_one(&self.functions)
            && has_one(&self.targets)
    }
}

/// The longest text that is in all that a glob fits, before any set of characters.
fn literal(glob: &str) -> &str {
    let plain = glob.split('[').next().unwrap_or_default();
    let parts = plain.split(['*', '?']);
    parts.max_by_key(|part| part.len()).unwrap_or_default()
}

/// A text as it stands in an entry, without its quotes: a number has none.
fn quoted(text: &str) -> Option<String> {
    let quoted = json::write(&text.into(), Style::default()).ok()?;
    Some(quoted.trim_matches('"').to_owned())
}

/// The ids of all jobs with a load that one server has.
async fn scan_loads(
    redis: &mut RedisConnection,
    jids: &mut HashSet<String>,
) -> Result<(), Failure> {
    let mut cursor = 0_u64;
    loop {
        let mut ask = redis::cmd("SCAN");
        ask.arg(cursor)
            .arg("MATCH")
            .arg("load:*")
            .arg("COUNT")
            .arg(SCANNED_AT_ONCE);
        let (next, keys): (u64, Vec<Vec<u8>>) = ask.query_async(redis).await?;
        let names = keys.iter().filter_map(|key| std::str::from_utf8(key).ok());
        jids.extend(
            names
                .filter_map(|name| name.strip_prefix("load:"))
                .map(str::to_owned),
        );
        if jids.len() > JOBS_LISTED_MAX {
            return Err(Failure::Answer(format!("more than {JOBS_LISTED_MAX} jobs")));
        }
        cursor = next;
        if cursor == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_if_a_word_of_each_condition_is_in_it() {
        assert_eq!(literal("state.*"), "state.");
        assert_eq!(literal("*.apply[ed]x"), ".apply");
        assert_eq!(literal("*"), "");
        let load = Map::from([("fun", "state.apply"), ("tgt", "wéb\"1"), ("user", "eve")]);
        let jid = Jid::parse("20260102030405000001").unwrap();
        let entry = entry(&jid, &load);
        let fits = |functions: &[&str], targets: &[&str], user: &str| {
            let globs = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
            let filter = JobFilter {
                functions: globs(functions),
                targets: globs(targets),
                user: Some(user.to_owned()),
                ..JobFilter::default()
            };
            Words::of(&filter).may_be_in(&entry)
        };
        assert!(fits(&["test.*", "state.*"], &["wéb\"?"], "eve"));
        assert!(fits(&["[st]*"], &["*"], "eve"));
        assert!(!fits(&["test.*"], &["*"], "eve"));
        assert!(!fits(&["*"], &["db*"], "eve"));
        assert!(!fits(&["*"], &["*"], "adam"));
    }
}
