use halite_proto::msgpack::{pack_modern, pack_wire};
use halite_proto::{Map, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::decoders::DECODERS;
use crate::given;

/// Names of fields and values that lead further into the decoders than chance
/// does.
const WORDS: &[&str] = &[
    "",
    "0123456789abcdef0123456789abcdef",
    "20240229123456789012",
    "aes",
    "arg",
    "body",
    "clear",
    "cmd",
    "data",
    "enc",
    "error",
    "events",
    "fun",
    "fun_args",
    "full",
    "get_token",
    "grains",
    "gzip",
    "hash_type",
    "back",
    "dest",
    "gzip",
    "hash_type",
    "head",
    "hsum",
    "rel",
    "stat",
    "id",
    "jid",
    "key",
    "kwargs",
    "load",
    "loc",
    "master_id",
    "minion_pub",
    "minions",
    "missing",
    "mk_token",
    "nocache",
    "nonce",
    "opts",
    "out",
    "path",
    "pillar",
    "ping",
    "pub",
    "pub_key",
    "pub_ret",
    "publish",
    "publish_port",
    "req",
    "ret",
    "retcode",
    "return",
    "runner",
    "saltenv",
    "schedule",
    "session",
    "sig",
    "success",
    "tag",
    "tgt",
    "tgt_type",
    "tok",
    "token",
    "ts",
    "ver",
    "version",
    "wheel",
    "_auth",
    "_file_hash",
    "_file_list",
    "_file_recv",
    "_master_tops",
    "_mine",
    "_mine_get",
    "_minion_event",
    "_pillar",
    "_return",
    "_serve_file",
    "_syndic_return",
];

fn word() -> impl Strategy<Value = Value> {
    select(WORDS).prop_map(Value::from)
}

/// Something that looks like a message.
fn message() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => word(),
        1 => given::scalar(),
        1 => given::binary().prop_map(Value::Bytes),
    ];
    leaf.prop_recursive(3, 40, 10, |inner| {
        prop_oneof![
            4 => vec((word(), inner.clone()), 0..14)
                .prop_map(|entries| Value::Map(entries.into_iter().collect::<Map>())),
            1 => vec(inner, 0..4).prop_map(Value::List),
        ]
    })
}

fn feed_all(bytes: &[u8]) {
    for (_, decoder) in DECODERS {
        decoder(bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in vec(any::<u8>(), 0..200)) {
        feed_all(&bytes);
    }

    #[test]
    fn no_message_makes_a_decoder_panic(message in message()) {
        feed_all(&pack_wire(&message).unwrap());
        feed_all(&pack_modern(&message).unwrap());
    }

    #[test]
    fn no_damaged_message_makes_a_decoder_panic(
        message in message(),
        damage in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Index>(),
    ) {
        let mut packed = pack_wire(&message).unwrap();
        for (at, byte) in damage {
            let at = at.index(packed.len());
            packed[at] = byte;
        }
        feed_all(&packed);
        feed_all(&packed[..cut.index(packed.len())]);
    }

    #[test]
    fn no_text_makes_a_decoder_panic(text in any::<String>(), digits in "[0-9T:.+_-]{0,40}") {
        feed_all(text.as_bytes());
        feed_all(digits.as_bytes());
    }
}

#[test]
fn what_was_found_once_stays_fixed() {
    let found = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/properties/found");
    for entry in std::fs::read_dir(found).unwrap() {
        feed_all(&std::fs::read(entry.unwrap().path()).unwrap());
    }
}

#[test]
fn nesting_does_not_exhaust_the_stack() {
    for (opening, inside) in [
        (&[0x91][..], &[0xc0][..]),
        (&[0x81, 0xa1, b'k'], &[0xc0]),
        // `load` within `load`.
        (&[0x81, 0xa4, b'l', b'o', b'a', b'd'], &[0x80]),
        (&[0xdd, 0, 0, 0, 1], &[]),
    ] {
        for levels in [500, 512, 513, 100_000] {
            let mut packed = opening.repeat(levels);
            packed.extend_from_slice(inside);
            feed_all(&packed);
            feed_all(&[b"tag\n\n", packed.as_slice()].concat());
        }
    }
}
