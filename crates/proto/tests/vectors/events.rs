use halite_proto::event::{Event, tagify, trim};
use halite_proto::stream::{FrameReader, Framing, frame_bare, frame_push};
use halite_proto::{Jid, Tag, Value, time};

use crate::{assert_same, bytes, items, load, map, text, value};

#[test]
fn events_are_packed_framed_and_read() {
    let file = load("events");
    for case in items(&file["events"]) {
        let tag = Tag::parse(text(&case["tag"])).unwrap();
        let event = Event::new(tag, map(&case["data"]));
        let packed = event.pack().unwrap();
        assert_eq!(packed, bytes(&case["packed"]), "{}", event.tag);
        let got = Event::unpack(&packed).unwrap();
        assert_eq!(got.tag, event.tag);
        assert_same(&got.data.into(), &event.data.into(), "the data");
        let pushed = bytes(&case["pull_socket_bytes"]);
        let bare = bytes(&case["pub_socket_bytes_3007_3008"]);
        assert_eq!(frame_push(&packed).unwrap(), pushed);
        assert_eq!(frame_bare(&packed).unwrap(), bare);
        for (stream, framing) in [
            (pushed, Framing::Prefixed),
            (bare, Framing::Bare),
            (bytes(&case["pub_socket_bytes_3006"]), Framing::Prefixed),
        ] {
            let mut reader = FrameReader::detecting();
            reader.push(&stream);
            assert_eq!(reader.next_event().unwrap().as_ref(), Some(&packed));
            assert_eq!(reader.next_event().unwrap(), None);
            assert_eq!(reader.framing(), Some(framing));
        }
    }
}

#[test]
fn the_stamp_of_a_moment_is_that_of_the_events() {
    let file = load("events");
    let stamp = text(&file["events"][0]["data"]["_stamp"]);
    let micros = time::parse_stamp(stamp).unwrap();
    assert_eq!(time::stamp(micros, true), stamp);
    assert_eq!(
        time::jid_from_micros(micros).as_str(),
        "20240229123456789012"
    );
}

#[test]
fn large_events_are_trimmed_alike() {
    let case = &load("events")["trim"];
    let mut data = map(&case["data"]);
    let max = usize::try_from(case["max_size"].as_u64().unwrap()).unwrap();
    trim(&mut data, max);
    assert_same(&data.into(), &value(&case["result"]), "the trimmed data");
}

#[test]
fn tags_are_joined_alike() {
    for case in items(&load("events")["tagify"]) {
        let suffixes: Vec<String> = match value(&case["suffix"]) {
            Value::Str(suffix) => vec![suffix],
            Value::List(suffixes) => suffixes
                .iter()
                .map(|suffix| match suffix {
                    Value::Int(int) => int.to_string(),
                    other => other.as_str().unwrap().to_owned(),
                })
                .collect(),
            other => panic!("{other:?}"),
        };
        let suffixes = suffixes.iter().map(String::as_str);
        let tag = tagify(suffixes, text(&case["prefix"])).unwrap();
        assert_eq!(tag.as_str(), text(&case["tag"]));
    }
}

#[test]
fn job_ids_are_told_from_other_text() {
    let file = load("ids");
    for case in items(&file["jid"]) {
        let jid = text(&case["jid"]);
        assert_eq!(
            Jid::parse(jid).is_ok(),
            case["is_jid"].as_bool().unwrap(),
            "{jid}"
        );
    }
    let case = &file["jid_to_time"];
    let jid = Jid::parse(text(&case["jid"])).unwrap();
    assert_eq!(time::jid_to_text(&jid), text(&case["text"]));
}
