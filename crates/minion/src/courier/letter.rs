//! What lies in the spool: a return, and whom it is for.

use halite_proto::msgpack::{self, Packing, Writer};
use halite_proto::returns::{JobReturn, OWN_JOB};
use halite_proto::{Jid, Map, MinionId, PackError, Value};

/// Room for a spooled return as most are.
const LETTER_BYTES: usize = 512;

/// The mark of a spooled return that no other master is to have.
const NO_OTHER: &str = "no_other";

/// A return as it lies in the spool.
#[derive(Debug)]
pub(super) struct Letter {
    /// The master that asked.
    pub(super) master: String,
    /// No other one is to have it.
    pub(super) no_other: bool,
    /// The `_return` request.
    pub(super) load: Map,
}

impl Letter {
    /// Reads what [`pack`] has made.
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

    /// The job that it belongs to, which may be one of the minion's own.
    pub(super) fn jid(&self) -> Option<Jid> {
        let own = || Jid::parse(self.load.get(OWN_JOB)?.as_str()?).ok();
        jid_of(&self.load).or_else(own)
    }
}

/// Makes what lies in the spool.
pub(super) fn pack(master: &str, load: &Map, no_other: bool) -> Result<Vec<u8>, PackError> {
    let ret = load.get("return").unwrap_or(&Value::Nil);
    let bytes = LETTER_BYTES + msgpack::packed_len(ret, Packing::Modern);
    let mut letter = Writer::with_capacity(Packing::Modern, bytes);
    letter.begin_map(if no_other { 3 } else { 2 })?;
    letter.str("master")?;
    letter.str(master)?;
    letter.str("load")?;
    letter.map(load)?;
    if no_other {
        letter.str(NO_OTHER)?;
        letter.bool(true);
    }
    Ok(letter.into_bytes())
}

/// The job that a `_return` request is about.
pub(super) fn jid_of(load: &Map) -> Option<Jid> {
    Jid::parse(load.get("jid")?.as_str()?).ok()
}

/// The `_return` request.
pub fn request(id: &MinionId, mut result: JobReturn) -> Map {
    // It may be large: there is one of it.
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
    use halite_proto::returns::ReturnJid;

    use super::*;

    #[test]
    fn a_letter_says_whose_it_is() {
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
            let letter = Letter::unpack(&pack("m1", &load, no_other).unwrap()).unwrap();
            assert_eq!((letter.master.as_str(), letter.no_other), ("m1", no_other));
            assert_eq!((letter.jid().as_ref(), &letter.load), (Some(&jid), &load));
        }
        let mut load = load;
        load.insert("jid", "req");
        load.insert(OWN_JOB, &jid);
        let letter = Letter::unpack(&pack("m1", &load, false).unwrap()).unwrap();
        assert_eq!((letter.jid(), jid_of(&load)), (Some(jid), None));
        for rubbish in [&b""[..], b"\xc0", b"\x80", b"\x81\xa4load\xc0"] {
            assert!(Letter::unpack(rubbish).is_none());
        }
    }
}
