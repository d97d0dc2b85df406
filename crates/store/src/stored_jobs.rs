//! Rows of jobs and returns from databases: ours, or those that a Python master has
//! stored.
//!
//! Invariant: a row that is not credible is left out with a warning.

use halite_proto::json;
use halite_proto::msgpack::unpack_modern;
use halite_proto::{Jid, Map, MinionId, Value};

use crate::error::StoreError;
use crate::job_filter::JobFilter;
use crate::kept::StoredReturn;
use crate::limits::{FILE_BYTES_MAX, JOBS_LISTED_MAX, JOBS_SEARCHED_MAX};

/// Jobs that are asked for first.
const PAGE_FIRST: usize = 500;

/// Jobs that are asked for at once when there are many: each question costs the
/// database as much as some hundred rows.
const PAGE_MAX: usize = 4000;

/// The fewest.
const PAGE_MIN: usize = 16;

/// Bytes of loads that are asked for at once, as far as those before foretell it: all of
/// them are in memory.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// Ids with their loads: packed by us, or as JSON.
pub(crate) type Page = Vec<(String, Option<Vec<u8>>, Option<String>)>;

/// A minion with its return: packed by us with its outputter, or as JSON.
pub(crate) type Found = (String, Option<Vec<u8>>, Option<String>, Option<String>);

/// The load of a job: ours if there is one, as Salt has it otherwise. Of a job with neither
/// it is longer than what is read.
pub(crate) fn load_of(jid: &Jid, packed: Option<Vec<u8>>, json: Option<String>) -> Option<Map> {
    match (packed, json) {
        (Some(packed), _) => map_of_packed(jid, &packed),
        (None, Some(json)) => map_of_json(jid, &json),
        (None, None) => {
            tracing::warn!(%jid, "skipping the load of a job: it is too large");
            None
        }
    }
}

/// Refuses more minions of a job than are listed.
pub(crate) fn check_minions(jid: &Jid, minions: usize) -> Result<(), StoreError> {
    match minions > JOBS_LISTED_MAX {
        false => Ok(()),
        true => Err(StoreError::TooMany {
            place: format!("the list of minions of {jid}"),
            max: JOBS_LISTED_MAX,
        }),
    }
}

/// The returns of a job by minion, in the order of their names. Salt's table may
/// have several of one minion.
pub(crate) fn returns_of(jid: &Jid, found: Vec<Found>) -> Vec<(MinionId, StoredReturn)> {
    let mut returns: Vec<(MinionId, StoredReturn)> = found
        .into_iter()
        .filter_map(|found| {
            let id = MinionId::parse(&found.0).ok()?;
            Some((id, stored_return(jid, found)?))
        })
        .collect();
    returns.sort_by(|(a, _), (b, _)| a.cmp(b));
    returns.dedup_by(|(later, _), (first, _)| later == first);
    returns
}

/// Applies `pick` to the newest jobs that match. `page` returns a number of jobs after an
/// id that the filter may match, the newest first, without loads that are too long for a
/// page: `alone` returns each of these. Whether a job matches is decided here, so that
/// all databases find the same.
pub(crate) fn search<T>(
    max: usize,
    filter: &JobFilter,
    mut pick: impl FnMut(Jid, Map) -> Option<T>,
    (page, alone): (
        impl Fn(&JobFilter, Option<String>, usize) -> Result<Page, StoreError>,
        impl Fn(&Jid) -> Result<Option<Map>, StoreError>,
    ),
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    let mut before: Option<String> = None;
    let mut size = PAGE_FIRST;
    let mut looked_at = 0;
    while found.len() < max {
        let asked = page(filter, before.clone(), size);
        let asked = match asked {
            // A load among them is text and no JSON, to a server that minds: of this page
            // all are looked at here.
            Err(error) if error.is_refusal() && filter.is_of_loads() => {
                page(&filter.of_times(), before.clone(), size)
            }
            page => page,
        };
        let page = match asked {
            // They are much longer than those before.
            Err(error) if error.is_too_long() && size > PAGE_MIN => {
                size = (size / 2).max(PAGE_MIN);
                continue;
            }
            page => page?,
        };
        looked_at += page.len();
        if looked_at > JOBS_SEARCHED_MAX {
            // Or a server that gives the same ones again and again.
            return Err(StoreError::TooMany {
                place: "the list of jobs".to_owned(),
                max: JOBS_SEARCHED_MAX,
            });
        }
        let is_last = page.len() < size;
        size = next_size(size, &page);
        before = page.last().map(|(jid, ..)| jid.clone());
        for (jid, packed, json) in page {
            if found.len() == max {
                break;
            }
            let Ok(jid) = Jid::parse(jid) else { continue };
            if !filter.fits_time(&jid) {
                continue;
            }
            let load = match (&packed, &json) {
                (None, None) => alone(&jid)?,
                _ => load_of(&jid, packed, json),
            };
            if let Some(load) = load
                && filter.fits_load(&load)
            {
                found.extend(pick(jid, load));
            }
        }
        if is_last {
            break;
        }
    }
    Ok(found)
}

/// How many jobs are asked for after these.
fn next_size(size: usize, page: &Page) -> usize {
    let length = |(_, packed, json): &(String, Option<Vec<u8>>, Option<String>)| {
        packed.as_ref().map_or(0, Vec::len) + json.as_ref().map_or(0, String::len)
    };
    let bytes: usize = page.iter().map(length).sum();
    match bytes {
        _ if bytes > PAGE_BYTES => (size / 2).max(PAGE_MIN),
        // Twice as many would be too much.
        _ if bytes > PAGE_BYTES / 2 => size,
        _ => (size * 2).min(PAGE_MAX),
    }
}

/// A pattern of SQL's LIKE that finds at least what a glob finds.
pub(crate) fn like(glob: &str) -> String {
    let mut like = String::new();
    for char in glob.chars() {
        match char {
            '*' => like.push('%'),
            '?' => like.push('_'),
            // What follows is a set of characters, which LIKE does not have.
            '[' => {
                like.push('%');
                break;
            }
            '%' | '_' | '\\' => like.extend(['\\', char]),
            other => like.push(other),
        }
    }
    like
}

/// A map that we have packed.
pub(crate) fn map_of_packed(jid: &Jid, bytes: &[u8]) -> Option<Map> {
    match unpack_modern(bytes) {
        Ok(Value::Map(map)) if is_small(bytes.len()) => Some(map),
        _ => {
            tracing::warn!(%jid, "skipping an entry of a job that is damaged in the store");
            None
        }
    }
}

fn map_of_json(jid: &Jid, text: &str) -> Option<Map> {
    match json::read(text) {
        Ok(Value::Map(map)) if is_small(text.len()) => Some(map),
        _ => {
            tracing::warn!(%jid, "skipping an entry of a job that is damaged in the store");
            None
        }
    }
}

fn is_small(bytes: usize) -> bool {
    u64::try_from(bytes).is_ok_and(|bytes| bytes <= FILE_BYTES_MAX)
}

fn stored_return(jid: &Jid, (_, packed, out, json): Found) -> Option<StoredReturn> {
    if let Some(packed) = packed {
        let data = map_of_packed(jid, &packed)?;
        return Some(StoredReturn::new(data, out));
    }
    let Some(json) = json else {
        tracing::warn!(%jid, "skipping a return: it is too large");
        return None;
    };
    Some(StoredReturn::from_all(map_of_json(jid, &json)?))
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use halite_store_servers::{Failure, ServerError};

    use super::*;

    #[test]
    fn pages_grow_while_they_are_small() {
        let page = |bytes: usize| vec![("jid".to_owned(), Some(vec![0; bytes]), None)];
        assert_eq!(next_size(PAGE_FIRST, &page(1)), PAGE_FIRST * 2);
        assert_eq!(next_size(PAGE_MAX, &page(1)), PAGE_MAX);
        assert_eq!(next_size(PAGE_FIRST, &page(PAGE_BYTES)), PAGE_FIRST);
        assert_eq!(next_size(PAGE_FIRST, &page(PAGE_BYTES + 1)), PAGE_FIRST / 2);
        assert_eq!(next_size(PAGE_MIN, &page(PAGE_BYTES + 1)), PAGE_MIN);
        let of_salt = vec![("jid".to_owned(), None, Some("x".repeat(PAGE_BYTES + 1)))];
        assert_eq!(next_size(PAGE_FIRST, &of_salt), PAGE_FIRST / 2);
    }

    fn too_long() -> StoreError {
        StoreError::Server(ServerError {
            server: "a database".to_owned(),
            failure: Failure::answer_too_long(),
        })
    }

    /// The jobs that a search without a limit finds in these pages.
    fn searched(
        page: impl Fn(Option<String>, usize) -> Result<Page, StoreError>,
    ) -> Result<Vec<Jid>, StoreError> {
        let page = |_: &JobFilter, before, size| page(before, size);
        let alone = |_: &Jid| Ok(None);
        search(
            usize::MAX,
            &JobFilter::default(),
            |jid, _| Some(jid),
            (page, alone),
        )
    }

    #[test]
    fn a_page_that_is_too_long_is_asked_for_in_halves() {
        let jids: Vec<String> = (0..1000)
            .rev()
            .map(|n| format!("202402291234567{n:05}"))
            .collect();
        let load = || Some("{}".to_owned());
        let sizes = RefCell::new(Vec::new());
        let found = searched(|before, size| {
            sizes.borrow_mut().push(size);
            if size > PAGE_FIRST / 4 {
                return Err(too_long());
            }
            let after = jids
                .iter()
                .filter(|jid| before.as_ref().is_none_or(|before| *jid < before));
            Ok(after
                .take(size)
                .map(|jid| (jid.clone(), None, load()))
                .collect())
        });
        let found: Vec<String> = found.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, jids);
        assert_eq!(
            sizes.borrow()[..3],
            [PAGE_FIRST, PAGE_FIRST / 2, PAGE_FIRST / 4]
        );
    }

    #[test]
    fn a_page_that_is_too_long_by_itself_is_an_error() {
        let asked = Cell::new(0);
        let error = searched(|_, size| {
            asked.set(size);
            Err(too_long())
        });
        assert!(error.unwrap_err().is_too_long());
        assert_eq!(asked.get(), PAGE_MIN);
    }

    #[test]
    fn a_server_that_repeats_a_page_is_given_up() {
        let page = |_, size| Ok(vec![("no id".to_owned(), None, None); size]);
        let error = searched(page).unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::TooMany {
                    max: JOBS_SEARCHED_MAX,
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn a_pattern_finds_what_its_glob_finds() {
        assert_eq!(like("state.*"), "state.%");
        assert_eq!(like("a_b?"), "a\\_b_");
        assert_eq!(like("web[12]x"), "web%");
        assert_eq!(like("100%\\"), "100\\%\\\\");
    }
}
