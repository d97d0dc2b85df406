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

/// The separator between the parts of an entry.
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
        let mut candidates = self.candidates(filter)?;
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        // A load that was stored twice has two entries.
        candidates.dedup();
        let mut found = Vec::new();
        let step = max.clamp(1, FETCHED_AT_ONCE_MAX);
        for jids in candidates.chunks(step) {
            if found.len() >= max {
                break;
            }
            self.for_each_load(jids, &mut |jid, load| {
                if found.len() < max && filter.fits_load(&load) {
                    found.extend(pick(jid.clone(), load));
                }
            })?;
        }
        Ok(found)
    }

    /// Calls the function with the loads of some jobs, in their order, as far as they
    /// exist. Long ones are read one after the other.
    fn for_each_load(
        &self,
        jids: &[Jid],
        take: &mut dyn FnMut(&Jid, Map),
    ) -> Result<(), StoreError> {
        let keys: Vec<String> = jids.iter().map(|jid| self.keys.load(jid)).collect();
        let found: Vec<Vec<u8>> = self.server.run(async move |redis| {
            let mut all = redis::pipe();
            for key in keys {
                all.add_command(values::beginning(&key));
            }
            Ok(all.query_async(redis).await?)
        })?;
        for (jid, beginning) in jids.iter().zip(found) {
            let key = self.keys.load(jid);
            let found = match beginning.len() > LISTED_LOAD_BYTES_MAX {
                false => (!beginning.is_empty()).then_some(Found::Bytes(beginning)),
                true => self
                    .server
                    .run(async move |redis| Ok(values::whole(redis, &key, beginning).await?))?,
            };
            if let Some(mut load) = found.and_then(|found| self.map(jid, found)) {
                // It is in the load for Salt's readers alone.
                load.remove("jid");
                take(jid, load);
            }
        }
        Ok(())
    }

    /// The jobs that a filter may find. Puts jobs into the index that others have stored,
    /// and takes those out that are over.
    fn candidates(&self, filter: &JobFilter) -> Result<Vec<Jid>, StoreError> {
        // First: what is in the index now and has no load later is over.
        let (mut known, mut candidates) = (HashSet::new(), Vec::new());
        self.for_each_entry(&Words::of(filter), filter, &mut known, &mut candidates)?;
        let (stored, is_complete) = self.server.run(async move |redis| {
            let mut stored = HashSet::new();
            let servers = redis.servers().await?;
            for mut server in servers.each {
                scan_loads(&mut server, &mut stored).await?;
            }
            Ok((stored, servers.are_all))
        })?;
        candidates.retain(|jid| stored.contains(jid.as_str()));
        // Of other times the index was not read, and the next search looks after them.
        let missing: Vec<Jid> = stored
            .iter()
            .filter(|jid| !known.contains(*jid))
            .filter_map(|jid| Jid::parse(jid.as_str()).ok())
            .filter(|jid| filter.fits_time(jid))
            .collect();
        for jids in missing.chunks(FETCHED_AT_ONCE_MAX) {
            let mut added = Vec::with_capacity(jids.len());
            self.for_each_load(jids, &mut |jid, load| {
                added.push(entry(jid, &load));
                if filter.fits_load(&load) {
                    candidates.push(jid.clone());
                }
            })?;
            self.note_index(added, Vec::new());
        }
        if is_complete {
            // Else they may be on a server that is missing.
            known.retain(|jid| !stored.contains(jid));
            let over: Vec<String> = known.into_iter().collect();
            for jids in over.chunks(FETCHED_AT_ONCE_MAX) {
                self.note_index(Vec::new(), jids.to_vec());
            }
        }
        Ok(candidates)
    }

    /// Reads the part of the index that is of the filter's time, in pages: the ids in it,
    /// and of these the jobs that the filter may find.
    fn for_each_entry(
        &self,
        words: &Words,
        filter: &JobFilter,
        known: &mut HashSet<String>,
        candidates: &mut Vec<Jid>,
    ) -> Result<(), StoreError> {
        let (mut after, end) = bounds(filter);
        let mut size = SCANNED_AT_ONCE;
        loop {
            let (begin, end) = (after.clone(), end.clone());
            let asked = self.server.run(async move |redis| {
                let mut ask = redis::cmd("ZRANGEBYLEX");
                ask.arg(INDEX).arg(&begin).arg(&end);
                let page: Vec<String> =
                    ask.arg("LIMIT").arg(0).arg(size).query_async(redis).await?;
                let known = begin.strip_prefix('(');
                if page.last().is_some_and(|last| known >= Some(last)) {
                    // A server that goes back would be asked for ever.
                    return Err(Failure::Answer(format!("{INDEX} is out of order")));
                }
                Ok(page)
            });
            let page = match asked.map_err(StoreError::from) {
                Err(error) if error.is_too_long() && size > 1 => {
                    size /= 2;
                    continue;
                }
                page => page?,
            };
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = format!("({last}");
            for entry in &page {
                known.extend(entry.split(SEPARATOR).next().map(str::to_owned));
                if words.may_be_in(entry)
                    && let Some((jid, parts)) = read(entry)
                    && filter.fits_time(&jid)
                    && filter.fits_load(&parts)
                {
                    candidates.push(jid);
                }
            }
            if known.len().max(candidates.len()) > JOBS_LISTED_MAX {
                return Err(StoreError::TooMany {
                    place: format!("{}: {INDEX}", self.server.address()),
                    max: JOBS_LISTED_MAX,
                });
            }
            if page.len() < size {
                return Ok(());
            }
        }
    }

    /// Puts entries into the index, and takes those of some jobs out.
    fn note_index(&self, added: Vec<String>, over: Vec<String>) {
        if added.is_empty() && over.is_empty() {
            return;
        }
        let noted: Result<(), ServerError> = self.server.run(async move |redis| {
            let mut all = redis::pipe();
            for entry in added {
                all.cmd("ZADD").arg(INDEX).arg(0).arg(entry).ignore();
            }
            for jid in over {
                forget(&mut all, &jid);
            }
            Ok(all.query_async(redis).await?)
        });
        if let Err(error) = noted {
            // A replica, or a full one: it can be searched all the same.
            tracing::debug!(%error, "could not complete the index of jobs");
        }
    }
}

/// Where the entries of a filter's time begin and end in the index, as Redis has it.
fn bounds(filter: &JobFilter) -> (String, String) {
    let since = filter.since.as_ref();
    let until = filter.until.as_ref();
    (
        since.map_or_else(|| "-".to_owned(), |since| format!("[{since}")),
        // An entry goes on with a space behind its id, and `!` follows a space.
        until.map_or_else(|| "+".to_owned(), |until| format!("({until}!")),
    )
}

/// Removes the entries of a job from the index.
pub(super) fn forget(all: &mut redis::Pipeline, jid: &str) {
    // An entry is the id, a space and more: `!` follows a space.
    let (first, after) = (format!("[{jid} "), format!("({jid}!"));
    let forget = all.cmd("ZREMRANGEBYLEX");
    forget.arg(INDEX).arg(first).arg(after).ignore();
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

/// A text as it appears in an entry, without its quotes; `None` for a number.
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
    fn only_the_entries_of_a_time_are_read() {
        let load = Map::from([("fun", "test.ping")]);
        let of = |jid: &str| entry(&Jid::parse(jid).unwrap(), &load);
        let is_read = |since: Option<&str>, until: Option<&str>, jid: &str| {
            let filter = JobFilter {
                since: since.map(str::to_owned),
                until: until.map(str::to_owned),
                ..JobFilter::default()
            };
            // As `ZRANGEBYLEX` compares.
            let (begin, end) = bounds(&filter);
            let after = |entry: &str| match begin.strip_prefix('[') {
                Some(begin) => entry >= begin,
                None => begin == "-",
            };
            let before = |entry: &str| match end.strip_prefix('(') {
                Some(end) => entry < end,
                None => end == "+",
            };
            let is_read = after(&of(jid)) && before(&of(jid));
            let fits = filter.fits_time(&Jid::parse(jid).unwrap());
            assert!(is_read || !fits, "{since:?} {until:?} {jid}");
            is_read
        };
        let (jid, day, next) = ("20260102030405000000", "20260102", "20260103");
        assert!(is_read(None, None, jid));
        assert!(is_read(Some(day), Some(next), jid));
        assert!(!is_read(Some(next), None, jid));
        assert!(!is_read(None, Some("20260101"), jid));
        // The day itself is over before its first job, and a job is in its own time.
        assert!(!is_read(None, Some(day), jid));
        assert!(is_read(Some(jid), Some(jid), jid));
        let with_pid = "20260102030405000000_77";
        assert!(!is_read(None, Some(jid), with_pid));
        assert!(is_read(Some(jid), None, with_pid));
    }

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
