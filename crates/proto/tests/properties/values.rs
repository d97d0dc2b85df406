use halite_proto::event::{Event, trim};
use halite_proto::limits::{DEPTH_MAX, Limits};
use halite_proto::msgpack::{
    Packing, Reading, Scanner, UnpackError, pack, pack_modern, pack_wire, packed_len,
    unpack_modern, unpack_prefix, unpack_wire, unpack_with,
};
use halite_proto::stream::{FrameReader, frame_bare, frame_push};
use halite_proto::{Map, Value, time};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::given;

/// What a reader of the wire makes of a value.
fn as_read(value: Value) -> Value {
    match value {
        Value::Bytes(bytes) => Value::text_or_bytes(bytes),
        Value::List(items) => Value::List(items.into_iter().map(as_read).collect()),
        Value::Map(map) => {
            let entries = map
                .into_iter()
                .map(|(key, value)| (as_read(key), as_read(value)));
            Value::Map(entries.collect())
        }
        other => other,
    }
}

proptest! {
    #[test]
    fn modern_packing_keeps_everything(value in given::value()) {
        let packed = pack_modern(&value).unwrap();
        prop_assert_eq!(unpack_modern(&packed), Ok(value));
    }

    #[test]
    fn the_wire_keeps_all_but_the_mark_of_bytes(value in given::value()) {
        let packed = pack_wire(&value).unwrap();
        let read = unpack_wire(&packed).unwrap();
        prop_assert_eq!(&read, &as_read(value));
        prop_assert_eq!(unpack_wire(&pack_wire(&read).unwrap()), Ok(read));
    }

    #[test]
    fn the_announced_length_is_right(value in given::value()) {
        for packing in [Packing::Wire, Packing::Modern] {
            prop_assert_eq!(packed_len(&value, packing), pack(&value, packing).unwrap().len());
        }
    }

    #[test]
    fn integers_beyond_the_wire_become_their_digits(int in any::<i128>()) {
        let read = unpack_wire(&pack_wire(&Value::Int(int)).unwrap()).unwrap();
        let fits = i64::try_from(int).is_ok() || u64::try_from(int).is_ok();
        prop_assert_eq!(read, if fits { Value::Int(int) } else { int.to_string().into() });
    }

    #[test]
    fn a_cut_value_needs_more_and_a_longer_one_ends(
        value in given::value(),
        cut in any::<Index>(),
        more in vec(any::<u8>(), 1..9),
    ) {
        let packed = pack_modern(&value).unwrap();
        let cut = &packed[..cut.index(packed.len())];
        prop_assert_eq!(unpack_prefix(cut, Reading::Modern), Ok(None));
        let truncated = matches!(unpack_modern(cut), Err(UnpackError::Truncated { .. }));
        prop_assert!(truncated);
        let mut longer = packed.clone();
        longer.extend(&more);
        prop_assert_eq!(
            unpack_modern(&longer),
            Err(UnpackError::Trailing { at: packed.len(), left: more.len() })
        );
        prop_assert_eq!(
            unpack_prefix(&longer, Reading::Modern),
            Ok(Some((value, packed.len())))
        );
    }

    #[test]
    fn a_scanner_ends_where_the_reader_ends(
        values in vec(given::value(), 1..5),
        pieces in vec(1_usize..40, 1..9),
    ) {
        let packed: Vec<Vec<u8>> = values.iter().map(|value| pack_wire(value).unwrap()).collect();
        let stream = packed.concat();
        let mut scanner = Scanner::new(Limits::MESSAGE);
        let (mut start, mut have, mut ends) = (0, 0, Vec::new());
        for piece in pieces.iter().cycle() {
            have = (have + piece).min(stream.len());
            while let Some(end) = scanner.scan(&stream[start..have]).unwrap() {
                ends.push(end);
                start += end;
            }
            if have == stream.len() {
                break;
            }
        }
        prop_assert_eq!(ends, packed.iter().map(Vec::len).collect::<Vec<_>>());
    }

    #[test]
    fn a_limit_on_values_holds(value in given::value(), items_max in 0_usize..40) {
        let limits = Limits { items_max, ..Limits::MESSAGE };
        let fits = count(&value) <= items_max;
        let packed = pack_modern(&value).unwrap();
        prop_assert_eq!(unpack_with(&packed, Reading::Modern, &limits).is_ok(), fits);
        prop_assert_eq!(Scanner::new(limits).scan(&packed).is_ok(), fits);
    }

    #[test]
    fn a_moment_survives_every_form(micros in 0..=time::UNIX_MICROS_MAX, offset: bool) {
        prop_assert_eq!(time::jid_to_micros(&time::jid_from_micros(micros)), Some(micros));
        prop_assert_eq!(time::parse_stamp(&time::stamp(micros, offset)), Some(micros));
        let civil = time::Civil::from_micros(micros);
        prop_assert!(civil.is_valid());
        prop_assert_eq!(civil.to_micros(), Some(micros));
        let Value::Ext(78, data) = time::datetime(civil) else {
            panic!("not a date and time");
        };
        prop_assert_eq!(time::parse_datetime(&data), Some(civil));
    }

    #[test]
    fn job_ids_sort_by_time(a in 0..=time::UNIX_MICROS_MAX, b in 0..=time::UNIX_MICROS_MAX) {
        prop_assert_eq!(a.cmp(&b), time::jid_from_micros(a).cmp(&time::jid_from_micros(b)));
    }

    #[test]
    fn an_event_survives_in_any_pieces(
        events in vec((given::tag(), given::map()), 1..4),
        piece in 1_usize..50,
        prefixed: bool,
    ) {
        let events: Vec<Event> =
            events.into_iter().map(|(tag, data)| Event::new(tag, data)).collect();
        let mut stream = Vec::new();
        for event in &events {
            let packed = event.pack().unwrap();
            prop_assert_eq!(&Event::unpack(&packed).unwrap(), event);
            stream.extend(if prefixed { frame_push(&packed) } else { frame_bare(&packed) }.unwrap());
        }
        let mut reader = FrameReader::detecting();
        let mut got = Vec::new();
        for bytes in stream.chunks(piece) {
            reader.push(bytes);
            while let Some(event) = reader.next_event().unwrap() {
                got.push(Event::unpack(&event).unwrap());
            }
        }
        prop_assert_eq!(got, events);
    }

    #[test]
    fn a_trimmed_event_keeps_its_keys(
        tag in given::tag(),
        data in given::map(),
        size_max in 20_usize..400,
    ) {
        let event = Event::new(tag, data);
        let trimmed = Event::unpack(&event.pack_trimmed(size_max).unwrap()).unwrap();
        prop_assert_eq!(
            event.data.keys().collect::<Vec<_>>(),
            trimmed.data.keys().collect::<Vec<_>>()
        );
        // That of which nothing can be left out is not even tried.
        if event.pack().unwrap().len() > size_max {
            let mut tried = event;
            trim(&mut tried.data, size_max);
            prop_assert_eq!(Event::unpack(&tried.pack().unwrap()).unwrap(), trimmed);
        }
    }

    #[test]
    fn a_map_is_the_list_of_its_first_keys_and_last_values(
        entries in vec((given::scalar(), any::<u16>()), 0..60),
    ) {
        let map: Map = entries.iter().cloned().collect();
        let mut wanted: Vec<(Value, Value)> = Vec::new();
        for (key, number) in &entries {
            match wanted.iter_mut().find(|(known, _)| known == key) {
                Some((_, value)) => *value = (*number).into(),
                None => wanted.push((key.clone(), (*number).into())),
            }
        }
        for (key, value) in &wanted {
            prop_assert_eq!(map.get_value(key), Some(value));
        }
        prop_assert_eq!(map.into_iter().collect::<Vec<_>>(), wanted);
    }
}

/// Values within a value: items, keys and their values.
fn count(value: &Value) -> usize {
    match value {
        Value::List(items) => items.len() + items.iter().map(count).sum::<usize>(),
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| 2 + count(key) + count(value))
            .sum(),
        _ => 0,
    }
}

#[test]
fn the_deepest_value_is_read_and_packed_and_the_next_is_refused() {
    let nested = |levels: usize| {
        let mut packed = vec![0x91; levels];
        packed.push(0xc0);
        packed
    };
    let deepest = nested(DEPTH_MAX);
    let value = unpack_wire(&deepest).unwrap();
    assert_eq!(pack_wire(&value).unwrap(), deepest);
    assert_eq!(
        unpack_wire(&nested(DEPTH_MAX + 1)),
        Err(UnpackError::TooDeep {
            at: DEPTH_MAX,
            max: DEPTH_MAX
        })
    );
}

#[test]
fn a_declared_length_allocates_nothing() {
    for header in [
        &[0xdd, 0xff, 0xff, 0xff, 0xff][..],
        &[0xdf, 0xff, 0xff, 0xff, 0xff],
        &[0xdb, 0xff, 0xff, 0xff, 0xff],
        &[0xc6, 0xff, 0xff, 0xff, 0xff],
        &[0xc9, 0xff, 0xff, 0xff, 0xff, 1],
        &[0xdd, 0x00, 0x3f, 0xff, 0xff],
    ] {
        assert!(
            matches!(unpack_wire(header), Err(UnpackError::Truncated { .. })),
            "{header:x?}"
        );
    }
}
