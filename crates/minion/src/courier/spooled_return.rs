//! The format of a return in the spool: the `_return` request and its master.

use halite_proto::msgpack::{self, Packing, Writer};
use halite_proto::returns::{JobReturn, OWN_JOB, ReturnJid};
use halite_proto::{Jid, Map, MinionId, PackError, Value};

/// Bytes of most spooled returns without their value.
const USUAL_BYTES: usize = 512;

/// How msgpack begins a text of less than 32 bytes, with its length added.
const FIX_STR: usize = 0xa0;

/// How it begins one of less than 256, whose length follows.
const STR_8: u8 = 0xd9;

/// Marks a return that only its own master may get.
const NO_OTHER: &str = "no_other";

/// A return as it is stored in the spool.
#[derive(Debug)]
pub(super) struct SpooledReturn {
    /// The master that asked.
    pub(super) master: String,
    /// Whether only that master may get it.
    pub(super) no_other: bool,
    /// The `_return` request.
    pub(super) load: Map,
}

impl SpooledReturn {
    /// Reads what [`pack`] has written, or `None` if the bytes are not that.
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
            load,
        })
    }

    /// The same; of a return that was kept and cannot be read back, one that says
    /// so, if its job can be found.
    pub(super) fn unpack_or_name(packed: &[u8]) -> Option<Self> {
        Self::unpack(packed).or_else(|| Self::unreadable(packed))
    }

    fn unreadable(packed: &[u8]) -> Option<Self> {
        // Master and minion stand before the result, job and function behind it.
        let before = |name| text_after(packed, &entry(name)?, Place::First);
        let behind = |name| text_after(packed, &entry(name)?, Place::Last);
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
            load: request(&MinionId::parse(id).ok()?, result),
        })
    }

    /// The job, which may be one that the minion started itself.
    pub(super) fn jid(&self) -> Option<Jid> {
        let own = || Jid::parse(self.load.get(OWN_JOB)?.as_str()?).ok();
        jid_of(&self.load).or_else(own)
    }
}

/// Packs a return for the spool.
pub(super) fn pack(master: &str, load: &Map, no_other: bool) -> Result<Vec<u8>, PackError> {
    let ret = load.get("return").unwrap_or(&Value::Nil);
    let bytes = USUAL_BYTES + msgpack::packed_len(ret, Packing::Modern);
    let mut writer = Writer::with_capacity(Packing::Modern, bytes);
    writer.begin_map(if no_other { 3 } else { 2 })?;
    writer.str("master")?;
    writer.str(master)?;
    writer.str("load")?;
    writer.map(load)?;
    if no_other {
        writer.str(NO_OTHER)?;
        writer.bool(true);
    }
    Ok(writer.into_bytes())
}

/// Which of several places is meant.
#[derive(Clone, Copy)]
enum Place {
    First,
    Last,
}

/// The packed key of an entry.
fn entry(key: &str) -> Option<Vec<u8>> {
    let head = u8::try_from(FIX_STR | key.len()).ok()?;
    Some([&[head], key.as_bytes()].concat())
}

/// The text of an entry in a packed map that cannot be read as a whole.
fn text_after<'a>(packed: &'a [u8], entry: &[u8], place: Place) -> Option<&'a str> {
    let mut windows = packed.windows(entry.len());
    let at = match place {
        Place::First => windows.position(|window| window == entry)?,
        Place::Last => windows.rposition(|window| window == entry)?,
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
        for no_other in [false, true] {
            let spooled = SpooledReturn::unpack(&pack("m1", &load, no_other).unwrap()).unwrap();
            assert_eq!(
                (spooled.master.as_str(), spooled.no_other),
                ("m1", no_other)
            );
            assert_eq!((spooled.jid().as_ref(), &spooled.load), (Some(&jid), &load));
        }
        let mut own = load.clone();
        own.insert("jid", "req");
        own.insert(OWN_JOB, &jid);
        let spooled = SpooledReturn::unpack(&pack("m1", &own, false).unwrap()).unwrap();
        assert_eq!((spooled.jid(), jid_of(&own)), (Some(jid.clone()), None));
        let mut unreadable = pack("m1", &load, false).unwrap();
        unreadable.push(0);
        assert!(SpooledReturn::unpack(&unreadable).is_none());
        let said = SpooledReturn::unpack_or_name(&unreadable).unwrap();
        assert_eq!((said.master.as_str(), said.jid()), ("m1", Some(jid)));
        let text = said.load.get("return").and_then(Value::as_str);
        assert!(text.unwrap().starts_with("ERROR: the result of this job"));
        for rubbish in [&b""[..], b"\xc0", b"\x80", b"\x81\xa4load\xc0"] {
            assert!(SpooledReturn::unpack_or_name(rubbish).is_none());
        }
    }
}
