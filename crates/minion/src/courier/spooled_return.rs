//! The format of a return in the spool: the `_return` request and its master.

use halite_proto::msgpack::{self, Packing, Writer};
use halite_proto::returns::{JobReturn, OWN_JOB, ReturnJid};
use halite_proto::{Jid, Map, MinionId, PackError, Value};

use crate::core::origin::{JobKey, JobName, Origin};

/// Bytes of most spooled returns without their value.
const USUAL_BYTES: usize = 512;

/// How msgpack begins a text of less than 32 bytes, with its length added.
const FIX_STR: usize = 0xa0;

/// How it begins one of less than 256, whose length follows.
const STR_8: u8 = 0xd9;

/// Marks a return that only its own master may get.
const NO_OTHER: &str = "no_other";

/// Which job of its master's it belongs to.
const KEY: &str = "key";

/// A return in its stored form.
#[derive(Debug)]
pub(super) struct SpooledReturn {
    /// The master that asked.
    pub(super) master: String,
    /// Whether only that master may get it.
    pub(super) no_other: bool,
    /// The `_return` request.
    pub(super) load: Map,
    /// What that master has published. `None` for a job of the minion's own, and
    /// in what an older version has left.
    pub(super) key: Option<JobKey>,
}

impl SpooledReturn {
    /// Reads what [`Self::pack`] has written, or `None` if the bytes are not that.
    pub(super) fn unpack(packed: &[u8]) -> Option<Self> {
        let Value::Map(mut map) = msgpack::unpack_modern(packed).ok()? else {
            return None;
        };
        let Some(Value::Map(load)) = map.remove("load") else {
            return None;
        };
        let master = map.get("master").and_then(Value::as_str);
        Some(Self {
            master: master.unwrap_or_default().to_owned(),
            no_other: map.get(NO_OTHER).is_some_and(Value::is_true),
            key: map.get(KEY).and_then(Value::as_str).and_then(JobKey::parse),
            load,
        })
    }

    /// The same as [`Self::unpack`]; for a return that cannot be read back, a return with
    /// an error, if its job can be found.
    pub(super) fn unpack_or_name(packed: &[u8]) -> Option<Self> {
        Self::unpack(packed).or_else(|| Self::unreadable(packed))
    }

    fn unreadable(packed: &[u8]) -> Option<Self> {
        // Master and minion stand before the result, job and function behind it.
        let before = |name| text_after(packed, &entry(name)?, Occurrence::First);
        let behind = |name| text_after(packed, &entry(name)?, Occurrence::Last);
        let (id, jid) = (before("id")?, Jid::parse(behind("jid")?).ok()?);
        let result = JobReturn::new(
            ReturnJid::Jid(jid),
            behind("fun").unwrap_or("unknown").into(),
            Vec::new(),
            "ERROR: the result of this job cannot be sent: the minion cannot read it back".into(),
            1,
        );
        Some(Self {
            master: before("master").unwrap_or_default().to_owned(),
            no_other: false,
            key: behind(KEY).and_then(JobKey::parse),
            load: request(&MinionId::parse(id).ok()?, result),
        })
    }

    /// Packs it for the spool.
    pub(super) fn pack(&self) -> Result<Vec<u8>, PackError> {
        let ret = self.load.get("return").unwrap_or(&Value::Nil);
        let bytes = USUAL_BYTES + msgpack::packed_len(ret, Packing::Modern);
        let mut writer = Writer::with_capacity(Packing::Modern, bytes);
        writer.begin_map(2 + usize::from(self.no_other) + usize::from(self.key.is_some()))?;
        writer.str("master")?;
        writer.str(&self.master)?;
        writer.str("load")?;
        writer.map(&self.load)?;
        if self.no_other {
            writer.str(NO_OTHER)?;
            writer.bool(true);
        }
        if let Some(key) = &self.key {
            writer.str(KEY)?;
            writer.str(&key.to_string())?;
        }
        Ok(writer.into_bytes())
    }

    /// The job, which may be one that the minion started itself.
    pub(super) fn job(&self) -> Option<JobName> {
        if let Some(jid) = jid_of(&self.load) {
            let origin = Origin::master(&self.master, self.key.clone());
            return Some(JobName { jid, origin });
        }
        let jid = Jid::parse(self.load.get(OWN_JOB)?.as_str()?).ok()?;
        let origin = Origin::Own;
        Some(JobName { jid, origin })
    }
}

/// Which of several occurrences.
#[derive(Clone, Copy)]
enum Occurrence {
    First,
    Last,
}

/// The packed key of an entry.
fn entry(key: &str) -> Option<Vec<u8>> {
    let head = u8::try_from(FIX_STR | key.len()).ok()?;
    Some([&[head], key.as_bytes()].concat())
}

/// The text of an entry in a packed map that cannot be read as a whole.
fn text_after<'a>(packed: &'a [u8], entry: &[u8], place: Occurrence) -> Option<&'a str> {
    let mut windows = packed.windows(entry.len());
    let at = match place {
        Occurrence::First => windows.position(|window| window == entry)?,
        Occurrence::Last => windows.rposition(|window| window == entry)?,
    };
    let (head, rest) = packed.get(at + entry.len()..)?.split_first()?;
    let (length, rest) = match *head {
        STR_8 => {
            let (length, rest) = rest.split_first()?;
            (usize::from(*length), rest)
        }
        short => (usize::from(short).checked_sub(FIX_STR)?, rest),
    };
    std::str::from_utf8(rest.get(..length)?).ok()
}

/// The job that a `_return` request is about.
pub(super) fn jid_of(load: &Map) -> Option<Jid> {
    Jid::parse(load.get("jid")?.as_str()?).ok()
}

/// The `_return` request for a result.
pub fn request(id: &MinionId, mut result: JobReturn) -> Map {
    // The value may be large: move it, do not copy it.
    let ret = std::mem::take(&mut result.ret);
    let mut load = Map::with_capacity(12);
    load.insert("cmd", "_return");
    load.insert("id", id);
    load.extend(result.to_map());
    load.insert("return", ret);
    load
}

/// Marks the return of a job of the minion's own: a master that sees it twice
/// knows it by that.
pub(crate) fn mark_own_job(result: &mut JobReturn, jid: &Jid) {
    if result.jid == ReturnJid::Req {
        result.extra.insert(OWN_JOB, jid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spooled_return_names_its_master_and_job() {
        let jid = Jid::parse("20261120141841939742").unwrap();
        let id = MinionId::parse("web1").unwrap();
        let result = JobReturn::new(
            ReturnJid::Jid(jid.clone()),
            "test.ping".into(),
            Vec::new(),
            true.into(),
            0,
        );
        let load = request(&id, result);
        let key = JobKey::parse(&"0".repeat(40));
        for (no_other, key) in [(false, None), (true, None), (false, key)] {
            let kept = SpooledReturn {
                master: "m1".to_owned(),
                no_other,
                load: load.clone(),
                key: key.clone(),
            };
            let spooled = SpooledReturn::unpack(&kept.pack().unwrap()).unwrap();
            let expected = JobName {
                jid: jid.clone(),
                origin: Origin::master("m1", key),
            };
            assert_eq!(spooled.job(), Some(expected));
            assert_eq!((spooled.no_other, &spooled.load), (no_other, &load));
        }
        let mut own = load.clone();
        own.insert("jid", "req");
        own.insert(OWN_JOB, &jid);
        let kept = SpooledReturn {
            master: "m1".to_owned(),
            no_other: false,
            load: own,
            key: None,
        };
        let spooled = SpooledReturn::unpack(&kept.pack().unwrap()).unwrap();
        let origin = Origin::Own;
        assert_eq!(spooled.job(), Some(JobName { jid, origin }));
    }

    #[test]
    fn what_cannot_be_read_back_is_told_to_the_master_that_asked() {
        let jid = Jid::parse("20261120141841939742").unwrap();
        let id = MinionId::parse("web1").unwrap();
        let returned = ReturnJid::Jid(jid.clone());
        let result = JobReturn::new(returned, "test.ping".into(), Vec::new(), true.into(), 0);
        let of_a_publisher = format!("{}-{}", "0".repeat(40), "1".repeat(16));
        for key in [
            None,
            JobKey::parse(&"0".repeat(40)),
            JobKey::parse(&of_a_publisher),
        ] {
            let kept = SpooledReturn {
                master: "m1".to_owned(),
                no_other: false,
                load: request(&id, result.clone()),
                key: key.clone(),
            };
            let mut unreadable = kept.pack().unwrap();
            unreadable.push(0);
            assert!(SpooledReturn::unpack(&unreadable).is_none());
            let said = SpooledReturn::unpack_or_name(&unreadable).unwrap();
            let expected = JobName {
                jid: jid.clone(),
                origin: Origin::master("m1", key),
            };
            assert_eq!(said.job(), Some(expected));
            let text = said.load.get("return").and_then(Value::as_str);
            assert!(text.unwrap().starts_with("ERROR: the result of this job"));
        }
    }

    #[test]
    fn rubbish_is_no_return() {
        for rubbish in [&b""[..], b"\xc0", b"\x80", b"\x81\xa4load\xc0"] {
            assert!(SpooledReturn::unpack_or_name(rubbish).is_none());
        }
    }
}
