//! `jobs.list_jobs`.
//!
//! A list of all jobs may have a hundred thousand of them, and is only handed on: its
//! entries are made of the packed loads, without a value in between. Invariant: the list
//! is the same as one that is made of values.

use std::ops::Range;

use halite_proto::msgpack::{Head, Heads, Packing, Reading, Writer};
use halite_proto::time::jid_to_text;
use halite_proto::{Jid, Map, PackError, Value};
use halite_store::FoundLoad;
use halite_store::limits::JOBS_LISTED_MAX;

use super::error::Ran;
use super::job_source::Source;
use super::jobs::{formatted_with_time, tell_source_of_all, with_outputter};
use super::search::{Search, moment, span_end};
use super::{Call, RunnerError};

/// The arguments that choose among jobs, or how they are shown.
const CHOICES: [&str; 7] = [
    "search_metadata",
    "search_function",
    "search_target",
    "search_user",
    "start_time",
    "end_time",
    "outputter",
];

/// Where metadata may be within the options and arguments of a job.
const METADATA: &[u8] = b"metadata";

/// A packed list of nothing.
const EMPTY_LIST: &[u8] = &[0x90];

pub(super) fn list_jobs(call: &Call<'_>) -> Ran {
    tell_source_of_all(call)?;
    if let Some(packed) = all_packed(call)? {
        return Ok(call.return_packed(packed));
    }
    let search = Search {
        metadata: call.arg("search_metadata"),
        function: call.arg("search_function"),
        target: call.arg("search_target"),
        user: call.arg("search_user"),
        start: moment_arg(call, "start_time")?,
        end: moment_arg(call, "end_time")?.map(span_end),
    };
    let found: Map = searched(call, &search)?
        .into_iter()
        .map(|(jid, job)| (Value::from(&jid), Value::from(job)))
        .collect();
    Ok(with_outputter(found.into(), call.text("outputter")))
}

fn moment_arg(call: &Call<'_>, name: &str) -> Result<Option<String>, RunnerError> {
    let value = call.arg(name);
    if !value.is_true() {
        return Ok(None);
    }
    let text = halite_proto::python::str(value);
    match moment(&text) {
        Some(digits) => Ok(Some(digits)),
        None => Err(RunnerError::Failed(format!(
            "{name}: {text:?} is not a time"
        ))),
    }
}

/// The jobs that fit, oldest first, as they are shown. Only that is kept of each: there
/// may be very many.
fn searched(call: &Call<'_>, search: &Search<'_>) -> Result<Vec<(Jid, Map)>, RunnerError> {
    let show = |jid: Jid, load: Map| {
        let job = formatted_with_time(&jid, Some(load));
        search.fits(&jid, &job).then_some((jid, job))
    };
    let mut found = Source::of(call)?.newest(JOBS_LISTED_MAX, &search.filter(), show)?;
    found.reverse();
    Ok(found)
}

/// All jobs, packed as they are shown, oldest first; `None` where somebody needs the
/// values, or has not asked for all.
fn all_packed(call: &Call<'_>) -> Result<Option<Vec<u8>>, RunnerError> {
    let is_of_all = CHOICES.iter().all(|name| !call.arg(name).is_true());
    if !call.takes_packed || !is_of_all || !matches!(Source::of(call)?, Source::Files(_)) {
        return Ok(None);
    }
    let mut rows = Vec::new();
    let show = |jid: &Jid, load: FoundLoad<'_>| write_row(&mut rows, jid, load);
    let cache = &call.runners.jobs.cache;
    let Some(found) = cache.newest_packed(JOBS_LISTED_MAX, show)? else {
        return Ok(None);
    };
    let list = list_of(&rows, found).map_err(|error| RunnerError::Failed(error.to_string()))?;
    Ok(Some(list))
}

/// A map of rows, the last one first.
fn list_of(rows: &[u8], found: Vec<Range<usize>>) -> Result<Vec<u8>, PackError> {
    const HEAD_BYTES_MAX: usize = 5;
    let mut list = Writer::with_capacity(Packing::Modern, HEAD_BYTES_MAX + rows.len());
    list.begin_map(found.len())?;
    for row in found.into_iter().rev() {
        list.packed(rows.get(row).unwrap_or_default());
    }
    Ok(list.into_bytes())
}

/// Writes the entry of a job behind others; where it is, if there is one.
fn write_row(rows: &mut Vec<u8>, jid: &Jid, load: FoundLoad<'_>) -> Option<Range<usize>> {
    let start = rows.len();
    let mut writer = Writer::append_to(Packing::Modern, std::mem::take(rows));
    let written = match load {
        FoundLoad::Packed(load) => row_of_packed(&mut writer, jid, load),
        FoundLoad::Unpacked(load) => {
            let job = formatted_with_time(jid, Some(load));
            let key = writer.str(jid.as_str());
            key.and_then(|()| writer.map(&job)).ok()
        }
    };
    *rows = writer.into_bytes();
    if written.is_none() {
        rows.truncate(start);
    }
    written.map(|()| start..rows.len())
}

/// Writes what [`formatted_with_time`] makes of a load; nothing of use where that is to
/// be made of its values.
fn row_of_packed(writer: &mut Writer, jid: &Jid, load: &[u8]) -> Option<()> {
    let fields = Fields::of(load)?;
    writer.str(jid.as_str()).ok()?;
    writer
        .begin_map(6 + usize::from(fields.minions.is_some()))
        .ok()?;
    let mut field = |name: &str, packed: Option<&[u8]>, default: &str| {
        writer.str(name).ok()?;
        match packed {
            Some(packed) => writer.packed(packed),
            None => writer.str(default).ok()?,
        }
        Some(())
    };
    field("Function", fields.fun, "unknown-function")?;
    field("Arguments", fields.arg.or(Some(EMPTY_LIST)), "")?;
    field("Target", fields.tgt, "unknown-target")?;
    field("Target-type", fields.tgt_type, "list")?;
    field("User", fields.user, "root")?;
    if fields.minions.is_some() {
        field("Minions", fields.minions, "")?;
    }
    field("StartTime", None, &jid_to_text(jid))
}

/// What is shown of a packed load.
#[derive(Default)]
struct Fields<'a> {
    fun: Option<&'a [u8]>,
    arg: Option<&'a [u8]>,
    tgt: Option<&'a [u8]>,
    tgt_type: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    minions: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    /// `None` for what has to be looked at more closely: a job with metadata, and what is
    /// no load.
    fn of(load: &'a [u8]) -> Option<Self> {
        let mut heads = Heads::new(load, Reading::Modern);
        let entries = match heads.head().ok()? {
            Head::Map(entries) if entries > 0 => entries,
            _ => return None,
        };
        let mut fields = Self::default();
        let may_have_metadata =
            |value: &[u8]| value.windows(METADATA.len()).any(|part| part == METADATA);
        for _ in 0..entries {
            let key = heads.key().ok()?;
            let value = heads.value().ok()?;
            match key {
                Head::Str("fun") => fields.fun = Some(value),
                Head::Str("tgt") => fields.tgt = Some(value),
                Head::Str("tgt_type") => fields.tgt_type = Some(value),
                Head::Str("user") => fields.user = Some(value),
                Head::Str("Minions") => fields.minions = Some(value),
                Head::Str("metadata") => return None,
                Head::Str("kwargs" | "arg") if may_have_metadata(value) => return None,
                Head::Str("arg") => fields.arg = Some(value).filter(|value| is_list(value)),
                _ => {}
            }
        }
        (heads.left() == 0).then_some(fields)
    }
}

fn is_list(packed: &[u8]) -> bool {
    let head = Heads::new(packed, Reading::Modern).head();
    matches!(head, Ok(Head::List(_)))
}

#[cfg(test)]
mod tests {
    use halite_proto::msgpack::{pack_modern, unpack_modern};

    use super::*;

    fn load(more: &[(&'static str, Value)]) -> Map {
        let mut load = Map::from([
            ("cmd", Value::from("publish")),
            ("fun", "test.ping".into()),
            ("arg", Value::List(vec!["a".into(), 1.into()])),
            ("tgt", "*".into()),
            ("tgt_type", "glob".into()),
            ("user", "root".into()),
            ("kwargs", Map::from([("delimiter", ":")]).into()),
        ]);
        for (name, value) in more {
            load.insert(*name, value.clone());
        }
        load
    }

    fn number(number: usize) -> Jid {
        Jid::parse(format!("20260102030405{number:06}")).unwrap()
    }

    #[test]
    fn a_list_of_packed_loads_is_that_of_their_values() {
        let metadata = || Value::from(Map::from([("a", 1)]));
        let in_arg = Map::from([("__kwarg__", Value::from(true)), ("metadata", metadata())]);
        let loads = [
            load(&[]),
            Map::from([("fun", "x")]),
            load(&[("fun", vec!["a".into(), "b".into()].into())]),
            load(&[("arg", "no list".into()), ("user", Value::Nil)]),
            load(&[("Minions", vec!["web1".into()].into())]),
            load(&[("metadata", metadata())]),
            load(&[("kwargs", Map::from([("metadata", metadata())]).into())]),
            load(&[("arg", vec![in_arg.into()].into())]),
            Map::new(),
        ];
        let (mut rows, mut found, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        for (index, load) in loads.into_iter().enumerate() {
            let jid = number(index);
            let packed = pack_modern(&load.clone().into()).unwrap();
            let row = write_row(&mut rows, &jid, FoundLoad::Packed(&packed));
            assert_eq!(row.is_some(), index < 5, "{index}");
            let unpacked = || FoundLoad::Unpacked(load.clone());
            found.push(row.unwrap_or_else(|| write_row(&mut rows, &jid, unpacked()).unwrap()));
            let job = formatted_with_time(&jid, Some(load.clone()));
            expected.push((Value::from(&jid), Value::from(job)));
        }
        expected.reverse();
        let expected: Map = expected.into_iter().collect();
        let list = list_of(&rows, found).unwrap();
        assert_eq!(unpack_modern(&list), Ok(expected.clone().into()));
        assert_eq!(list, pack_modern(&expected.into()).unwrap());
    }

    #[test]
    fn what_is_no_load_is_no_row() {
        let mut rows = vec![7];
        for bytes in [
            &b""[..],
            b"\xc0",
            b"\x90",
            b"\x81\xa3fun",
            b"\x81\xa3fun\xa1x\xc0",
        ] {
            let row = write_row(&mut rows, &number(0), FoundLoad::Packed(bytes));
            assert_eq!((row, rows.as_slice()), (None, &[7][..]), "{bytes:x?}");
        }
    }
}
