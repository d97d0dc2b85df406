use halite_proto::Value;
use halite_proto::msgpack::{
    Packing, pack_modern, pack_wire, packed_len, unpack_modern, unpack_raw, unpack_wire,
};

use crate::{assert_same, bytes, items, load, text, value};

#[test]
fn samples_are_packed_in_both_ways_and_read_in_all_three() {
    let file = load("msgpack");
    for sample in items(&file["samples"]) {
        let name = text(&sample["name"]);
        let object = value(&sample["object"]);
        for (packing, key) in [(Packing::Wire, "wire"), (Packing::Modern, "bus")] {
            let case = &sample[key];
            let packed = bytes(&case["packed"]);
            assert_eq!(
                halite_proto::msgpack::pack(&object, packing).unwrap(),
                packed,
                "{name} as {key}"
            );
            assert_eq!(packed_len(&object, packing), packed.len(), "{name}");
            assert_same(
                &unpack_wire(&packed).unwrap(),
                &value(&case["loads_wire"]),
                name,
            );
            assert_same(
                &unpack_raw(&packed).unwrap(),
                &value(&case["loads_raw"]),
                name,
            );
            assert_same(
                &unpack_modern(&packed).unwrap(),
                &value(&case["loads_bus"]),
                name,
            );
        }
    }
}

#[test]
fn long_strings_have_the_headers_of_salt() {
    let file = load("msgpack");
    for case in items(&file["long_strings"]) {
        let count = usize::try_from(case["count"].as_u64().unwrap()).unwrap();
        let pack = match case["use_bin_type"].as_bool().unwrap() {
            true => pack_modern,
            false => pack_wire,
        };
        for (object, key) in [
            (Value::from("a".repeat(count)), "str_header_hex"),
            (Value::Bytes(vec![0xff; count]), "bytes_header_hex"),
        ] {
            let header = text(&case[key]);
            let packed = pack(&object).unwrap();
            let got: String = packed[..header.len() / 2]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(got, header, "{key} of {count}");
            assert_eq!(packed.len(), header.len() / 2 + count);
            assert!(unpack_modern(&packed).is_ok());
            assert_eq!(unpack_wire(&packed), Ok(object));
        }
    }
}

#[test]
fn forms_that_salt_only_reads_are_read() {
    let file = load("msgpack");
    for case in items(&file["accepted"]) {
        let got = unpack_wire(&bytes(&case["packed"])).unwrap();
        assert_same(&got, &value(&case["loads_wire"]), text(&case["name"]));
    }
}

#[test]
fn constants_of_the_loader_are_kept() {
    let file = load("msgpack");
    let packed = bytes(&file["constant_ext_79"]["packed"]);
    let got = unpack_wire(&packed).unwrap();
    assert!(matches!(got.get("c"), Some(Value::Ext(79, _))), "{got:?}");
    assert_eq!(pack_wire(&got).unwrap(), packed);
}
