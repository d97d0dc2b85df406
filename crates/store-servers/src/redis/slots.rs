//! Which server of a cluster has a key: the hash of the key is one of 16384
//! slots, and each slot has one server that takes writes.

use std::collections::BTreeMap;

use redis::{Arg, Cmd, Value};

use crate::error::Failure;
use crate::limits::CLUSTER_NODES_MAX;

/// Slots of a cluster.
pub(super) const SLOTS: u16 = 16384;

/// A server of a cluster, as the cluster announces it.
pub(super) type Node = (String, u16);

/// The servers that take writes, by the slots that they have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotMap {
    /// First slot to last slot and server; ranges do not overlap.
    ranges: BTreeMap<u16, (u16, Node)>,
    /// Slots that have moved since.
    moved: BTreeMap<u16, Node>,
}

impl SlotMap {
    /// Reads the answer to `CLUSTER SLOTS`. A server without a name is the one that
    /// was asked.
    pub(super) fn read(answer: &Value, asked: &str) -> Result<Self, Failure> {
        let wrong = || Failure::Answer("CLUSTER SLOTS is not a list of slots".to_owned());
        let Value::Array(rows) = answer else {
            return Err(wrong());
        };
        let mut map = Self::default();
        for row in rows {
            let (first, last, node) = range(row, asked).ok_or_else(wrong)?;
            map.ranges.insert(first, (last, node));
        }
        match map.nodes().len() > CLUSTER_NODES_MAX {
            true => Err(Failure::Answer(format!(
                "a cluster of more than {CLUSTER_NODES_MAX} servers"
            ))),
            false => Ok(map),
        }
    }

    /// The server of a slot.
    pub(super) fn node(&self, slot: u16) -> Option<&Node> {
        if let Some(node) = self.moved.get(&slot) {
            return Some(node);
        }
        let (_, (last, node)) = self.ranges.range(..=slot).next_back()?;
        (slot <= *last).then_some(node)
    }

    /// Takes note that a slot is on another server now.
    pub(super) fn note_moved(&mut self, slot: u16, node: Node) {
        self.moved.insert(slot % SLOTS, node);
    }

    /// Each server once.
    pub(super) fn nodes(&self) -> Vec<&Node> {
        let ranged = self.ranges.values().map(|(_, node)| node);
        let mut nodes: Vec<&Node> = ranged.chain(self.moved.values()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Whether every slot has a server.
    pub(super) fn is_whole(&self) -> bool {
        let sizes = self.ranges.iter();
        let covered: u32 = sizes
            .map(|(first, (last, _))| u32::from(last.saturating_sub(*first)) + 1)
            .sum();
        covered == u32::from(SLOTS)
    }
}

/// One row: first slot, last slot, the server that takes writes, its replicas.
fn range(row: &Value, asked: &str) -> Option<(u16, u16, Node)> {
    let Value::Array(row) = row else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(main), ..] = row.as_slice() else {
        return None;
    };
    let [host, Value::Int(port), ..] = main.as_slice() else {
        return None;
    };
    let host = match host {
        Value::BulkString(host) => std::str::from_utf8(host).ok()?,
        Value::SimpleString(host) => host,
        _ => "",
    };
    let host = if host.is_empty() { asked } else { host };
    let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
    let is_range = first <= last && last < SLOTS;
    is_range.then_some((first, last, (host.to_owned(), u16::try_from(*port).ok()?)))
}

/// Where a command belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At the server of this slot.
    Slot(u16),
    /// At each server, as the scripts that are loaded.
    Everywhere,
    /// At any server.
    Anywhere,
}

/// Where a command belongs: at its first key. Who sends several keys with one
/// command names them so that they are in one slot.
pub(super) fn place_of(command: &Cmd) -> Place {
    let mut args = command.args_iter().map(|arg| match arg {
        Arg::Simple(bytes) => bytes,
        _ => b"",
    });
    let name = args.next().unwrap_or_default().to_ascii_uppercase();
    let key = match name.as_slice() {
        b"SCRIPT" => return Place::Everywhere,
        // A script, the number of its keys, its keys.
        b"EVAL" | b"EVALSHA" => match args.nth(1) {
            Some(b"0") => None,
            _ => args.next(),
        },
        b"PING" | b"CLUSTER" | b"INFO" | b"ROLE" | b"DBSIZE" => None,
        _ => args.next(),
    };
    key.map_or(Place::Anywhere, |key| Place::Slot(slot_of(key)))
}

/// The slot of a key: that of what stands between its first braces, if anything does.
pub(super) fn slot_of(key: &[u8]) -> u16 {
    crc16(hashed(key)) % SLOTS
}

fn hashed(key: &[u8]) -> &[u8] {
    let tag = || {
        let begin = key.iter().position(|byte| *byte == b'{')? + 1;
        let rest = key.get(begin..)?;
        let length = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..length).filter(|tag| !tag.is_empty())
    };
    tag().unwrap_or(key)
}

/// CRC16 as XMODEM has it, which is the cluster's hash.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 {
                shifted
            } else {
                shifted ^ 0x1021
            }
        })
    })
}

/// The server that `MOVED` or `ASK` names; `asked` if it names only a port.
pub(super) fn named_node(text: &str, asked: &str) -> Option<Node> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']);
    let host = if host.is_empty() { asked } else { host };
    Some((host.to_owned(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(port: u16) -> Node {
        ("127.0.0.1".to_owned(), port)
    }

    fn row(first: i64, last: i64, host: Value, port: i64) -> Value {
        let main = Value::Array(vec![host, Value::Int(port)]);
        Value::Array(vec![Value::Int(first), Value::Int(last), main])
    }

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    /// Those of the specification of clusters, and of `CLUSTER KEYSLOT`.
    #[test]
    fn a_key_has_the_slot_that_the_server_says() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, slot) in [
            ("somekey", 11058),
            ("foo{hash_tag}", 2515),
            ("{hash_tag}", 2515),
            ("hash_tag", 2515),
        ] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
        // Empty braces are no tag, and only the first ones count.
        assert_eq!(hashed(b"a{}{b}"), b"a{}{b}");
        assert_eq!(hashed(b"a{b}{c}"), b"b");
        assert_eq!(hashed(b"a{{b}}"), b"{b");
    }

    #[test]
    fn a_command_belongs_where_its_key_is() {
        let slot = Place::Slot(slot_of(b"a"));
        assert_eq!(place_of(redis::cmd("get").arg("a")), slot);
        let mut script = redis::cmd("EVALSHA");
        script.arg("hash").arg(2).arg("a").arg("{a}b").arg("x");
        assert_eq!(place_of(&script), slot);
        assert_eq!(
            place_of(redis::cmd("EVAL").arg("code").arg(0)),
            Place::Anywhere
        );
        assert_eq!(place_of(&redis::cmd("PING")), Place::Anywhere);
        let load = redis::cmd("SCRIPT").arg("LOAD").arg("code").clone();
        assert_eq!(place_of(&load), Place::Everywhere);
    }

    #[test]
    fn slots_are_read_and_move() {
        let answer = Value::Array(vec![
            row(0, 8000, bulk("127.0.0.1"), 7000),
            row(8001, 16383, Value::Nil, 7001),
        ]);
        let mut map = SlotMap::read(&answer, "127.0.0.1").unwrap();
        assert!(map.is_whole());
        assert_eq!(map.node(8000), Some(&node(7000)));
        assert_eq!(map.node(8001), Some(&node(7001)));
        assert_eq!(map.nodes(), [&node(7000), &node(7001)]);
        map.note_moved(8001, named_node(":7002", "127.0.0.1").unwrap());
        assert_eq!(map.node(8001), Some(&node(7002)));
        assert_eq!(map.node(8002), Some(&node(7001)));
        assert_eq!(map.nodes().len(), 3);
    }

    #[test]
    fn a_gap_is_seen_and_nonsense_is_refused() {
        let gap = Value::Array(vec![row(0, 5, bulk("h"), 1), row(7, 16383, bulk("h"), 1)]);
        let map = SlotMap::read(&gap, "h").unwrap();
        assert!(!map.is_whole());
        assert_eq!(map.node(6), None);
        for wrong in [
            Value::Nil,
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![row(5, 1, bulk("h"), 1)]),
            Value::Array(vec![row(0, 16384, bulk("h"), 1)]),
            Value::Array(vec![row(0, 1, bulk("h"), 70000)]),
        ] {
            assert!(SlotMap::read(&wrong, "h").is_err(), "{wrong:?}");
        }
        let hosts = (0..=CLUSTER_NODES_MAX).map(|number| {
            let slot = i64::try_from(number).unwrap();
            row(slot, slot, bulk(&format!("h{number}")), 1)
        });
        let many = Value::Array(hosts.collect());
        assert!(SlotMap::read(&many, "h").is_err());
    }
}
