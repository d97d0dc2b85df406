//! What the peers get of events, and of a return that was fired as one: they store it and
//! fire it, and get it once.
//!
//! A return is packed as a plain return with one more field, so that masters of an earlier
//! version store it; they fire nothing.

use halite_proto::limits::Limits;
use halite_proto::msgpack::{Packing, Scanner, Writer, unpack_modern};
use halite_proto::returns::{JobReturn, TOLD_BESIDE};
use halite_proto::{MinionId, PackError, Value};

use crate::events::bus::PEER;

/// How it begins: a list of four, and the kind of message.
const BEGIN: [u8; 8] = *b"\x94\xa6return";

/// How it ends: it is fired.
const IS_FIRED: u8 = 0xc3;

/// A return, and what is fired of it.
#[derive(Debug)]
pub(crate) struct FiredReturn {
    pub(crate) id: MinionId,
    pub(crate) job: JobReturn,
    /// The packed data of the event. The return was made of it.
    pub(crate) data: Vec<u8>,
}

impl FiredReturn {
    /// The message of a return that was fired with this data.
    ///
    /// # Errors
    /// When the id is too long.
    pub(super) fn pack(id: &MinionId, data: &[u8]) -> Result<Vec<u8>, PackError> {
        // The head of the id, and the end.
        const MORE_BYTES: usize = 4;
        let mut out = Vec::with_capacity(BEGIN.len() + id.as_str().len() + data.len() + MORE_BYTES);
        out.extend_from_slice(&BEGIN);
        let mut writer = Writer::append_to(Packing::Modern, out);
        writer.str(id.as_str())?;
        writer.packed(data);
        writer.bool(true);
        Ok(writer.into_bytes())
    }

    /// Whether a message is such a return.
    pub(super) fn is_one(message: &[u8]) -> bool {
        message.starts_with(&BEGIN)
    }

    /// Reads such a message. The data is unpacked by itself, since it may be as deep as
    /// that of any event.
    pub(super) fn unpack(message: &[u8]) -> Option<Self> {
        let rest = message.strip_prefix(&BEGIN)?;
        let id_len = Scanner::new(Limits::MESSAGE).scan(rest).ok()??;
        let (id, rest) = rest.split_at_checked(id_len)?;
        let (&IS_FIRED, data) = rest.split_last()? else {
            return None;
        };
        let Value::Map(fields) = unpack_modern(data).ok()? else {
            return None;
        };
        // It would be fired as an event of another master.
        if fields.contains_key(PEER) {
            return None;
        }
        let mut job = JobReturn::from_map(fields).ok()?;
        let is_stored = |name: &Value| {
            name.as_str()
                .is_some_and(|name| TOLD_BESIDE.contains(&name))
        };
        job.extra.retain(|name, _| is_stored(name));
        Some(Self {
            id: MinionId::parse(unpack_modern(id).ok()?.as_str()?).ok()?,
            job,
            data: data.to_vec(),
        })
    }
}

/// What the peers get of an event. Its bytes are copied once.
pub(super) fn pack_event(packed: &[u8]) -> Result<Vec<u8>, PackError> {
    const HEADS_BYTES: usize = 16;
    let mut writer = Writer::with_capacity(Packing::Modern, packed.len() + HEADS_BYTES);
    writer.begin_list(2)?;
    writer.str("event")?;
    writer.bytes(packed)?;
    Ok(writer.into_bytes())
}

#[cfg(test)]
mod tests {
    use halite_proto::Map;
    use halite_proto::msgpack::pack_modern;

    use super::*;
    use crate::cluster::message::Message;

    fn data() -> Map {
        Map::from([
            ("cmd", "_return".into()),
            ("id", "web1".into()),
            ("jid", "20261120141841939742".into()),
            ("fun", "test.arg".into()),
            ("return", Value::List(vec![1.into(), "x".into()])),
            ("retcode", 0.into()),
            ("tgt_type", "glob".into()),
            ("_stamp", "2026-11-20T14:18:41.939742".into()),
        ])
    }

    fn packed(data: Map) -> Vec<u8> {
        let id = MinionId::parse("web1").unwrap();
        FiredReturn::pack(&id, &pack_modern(&data.into()).unwrap()).unwrap()
    }

    #[test]
    fn it_says_what_is_stored_and_what_is_fired() {
        let read = FiredReturn::unpack(&packed(data())).unwrap();
        assert_eq!(read.id.as_str(), "web1");
        assert_eq!(unpack_modern(&read.data), Ok(data().into()));
        assert_eq!(read.job.ret, Value::List(vec![1.into(), "x".into()]));
        let extra: Vec<_> = read.job.extra.keys().filter_map(Value::as_str).collect();
        assert_eq!(extra, ["_stamp"]);
        let written = Message::FiredReturn(Box::new(read)).encode();
        assert_eq!(written, Ok(packed(data())));
    }

    #[test]
    fn a_master_of_an_earlier_version_reads_a_plain_return() {
        let Ok(Value::List(fields)) = unpack_modern(&packed(data())) else {
            panic!("no list");
        };
        let expected: [Value; 4] = ["return".into(), "web1".into(), data().into(), true.into()];
        assert_eq!(fields, expected);
        let plain = pack_modern(&Value::List(fields[..3].to_vec())).unwrap();
        let Some(Message::Return(id, job)) = Message::decode(&plain) else {
            panic!("no return");
        };
        assert_eq!((id.as_str(), &job.fun), ("web1", &"test.arg".into()));
    }

    #[test]
    fn what_is_none_is_refused() {
        let of_another = Map::from([(PEER, "m3")]);
        let mut of_another_master = data();
        of_another_master.extend(of_another);
        assert!(Message::decode(&packed(of_another_master)).is_none());
        let mut without_job = data();
        without_job.remove("jid");
        assert!(Message::decode(&packed(without_job)).is_none());
        let good = packed(data());
        for end in 0..good.len() {
            assert!(Message::decode(&good[..end]).is_none());
        }
        let not_fired = [&good[..good.len() - 1], &[0xc2]].concat();
        assert!(Message::decode(&not_fired).is_none());
    }
}
