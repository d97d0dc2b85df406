use halite_proto::clear::ClearCommand;
use halite_proto::envelope::{Reply, RequestEnvelope, encode_sealed};
use halite_proto::msgpack::{pack_wire, unpack_raw, unpack_wire};
use halite_proto::request::{
    EventBody, FileChunk, FileFound, FileHash, MinionRequest, Request, signed_bytes,
};
use halite_proto::{MinionId, Refusal, Value};
use serde_json::Value as Json;

use crate::{RELEASES, as_read, assert_same, bytes, items, load, map, opened, text, value};

#[test]
fn every_command_is_read_and_packed_alike() {
    for release in RELEASES {
        let file = load(&format!("requests-{release}"));
        for case in items(&file["requests"]) {
            let what = format!("{} of {release}", text(&case["name"]));
            let plaintext = bytes(&case["load_sent_plaintext"]);
            let packed = opened(&plaintext, None);
            let id = MinionId::parse("vec-minion").unwrap();
            let request = Request::open(unpack_wire(packed).unwrap(), &id).unwrap();
            assert_eq!(request.encode().unwrap(), packed, "{what}");
            assert!(request.extra.is_empty(), "{what}: {:?}", request.extra);
            assert_eq!(
                request.meta.nonce.as_ref().unwrap().as_str(),
                text(&case["nonce"])
            );
            let given = map(&case["load_given"]);
            assert_eq!(
                given.get("cmd").unwrap().as_str(),
                Some(request.command.cmd())
            );
            let unknown = matches!(request.command, MinionRequest::Unknown { .. });
            assert_eq!(unknown, text(&case["name"]) == "unknown command", "{what}");
            let sent = Value::Map(request.to_map());
            for (field, wanted) in &given {
                let field = field.as_str().unwrap();
                let got = as_read(sent.get(field).unwrap().clone());
                assert_same(&got, &as_read(wanted.clone()), &what);
            }
            check_events(&request, &case["events_fired"], &what);
        }
    }
}

/// What a master fires of it.
fn check_events(request: &Request, fired: &Json, what: &str) {
    let fired: Vec<(&str, Value)> = items(fired)
        .iter()
        .map(|event| (text(&event[0]), value(&event[1])))
        .collect();
    match &request.command {
        MinionRequest::Return(job) => {
            let jid = job.jid.jid().unwrap();
            let tag = format!("salt/job/{jid}/ret/{}", request.meta.id);
            assert_eq!(fired[0].0, tag);
            assert_same(&request.event_data().into(), &fired[0].1, what);
        }
        MinionRequest::MinionEvent(event) => match &event.body {
            EventBody::One(event) => {
                assert_eq!(fired[0].0, event.tag.as_str());
                assert_same(&request.event_data().into(), &fired[0].1, what);
            }
            EventBody::Many(events) => {
                assert_eq!(fired[0].0, events[0].tag.as_str());
                assert_same(&events[0].data, &fired[0].1, what);
            }
        },
        _ => {}
    }
}

#[test]
fn envelopes_and_answers_are_read_and_packed_alike() {
    for release in RELEASES {
        let file = load(&format!("requests-{release}"));
        for case in items(&file["requests"]) {
            let name = text(&case["name"]);
            let wire = bytes(&case["request_wire"]);
            let envelope = RequestEnvelope::decode_from(&wire, 3).unwrap();
            assert_eq!(envelope.encode().unwrap(), wire, "{name}");

            let wire = bytes(&case["reply_wire"]);
            let Ok(Reply::Sealed(sealed)) = Reply::decode(&wire) else {
                panic!("{name}: not sealed");
            };
            assert_eq!(encode_sealed(&sealed).unwrap(), wire, "{name}");

            let plaintext = bytes(&case["reply_plaintext"]);
            let packed = opened(&plaintext, Some(text(&case["nonce"])));
            let wanted = value(&case["reply_object"]);
            // File data is asked for raw.
            let got = match name.starts_with("_serve_file") {
                true => unpack_raw(packed),
                false => unpack_wire(packed),
            };
            let got = got.unwrap();
            assert_same(&got, &wanted, name);
            assert_eq!(pack_wire(&got).unwrap(), packed, "{name}");
            check_answer(name, got, packed);
        }
    }
}

/// The typed answers about files are those of Salt.
fn check_answer(name: &str, answer: Value, packed: &[u8]) {
    let again = match name.split(' ').next() {
        Some("_serve_file") => FileChunk::from_value(answer).unwrap().into_value(),
        Some("_file_hash") => FileHash::from_value(answer).unwrap().to_value(),
        Some("_file_find") => match FileFound::from_value(answer).unwrap() {
            Some(found) => found.to_value(),
            None => FileFound::missing(),
        },
        _ => return,
    };
    assert_eq!(pack_wire(&again).unwrap(), packed, "{name}");
}

#[test]
fn refusals_are_known_and_given_for_the_same_requests() {
    let needs_a_key = [
        "wrong session key",
        "envelope id of another minion",
        "bad token",
        "missing token",
        "load is not a map",
    ];
    for release in RELEASES {
        let file = load(&format!("requests-{release}"));
        for case in items(&file["refusals"]) {
            let name = text(&case["name"]);
            let wire = bytes(&case["reply_wire"]);
            let answer = Refusal::decode(&wire).unwrap();
            assert_eq!(pack_wire(&answer.to_value()).unwrap(), wire, "{name}");
            assert_eq!(answer.to_value(), value(&case["reply"]), "{name}");
            let request = RequestEnvelope::decode_from(&bytes(&case["request_wire"]), 3);
            if needs_a_key.contains(&name) {
                assert!(request.is_ok(), "{name}: {request:?}");
            } else {
                assert_eq!(request.unwrap_err().refusal(), answer, "{name}");
            }
        }
        let ping = &file["clear_ping"];
        let wire = bytes(&ping["request_wire"]);
        let RequestEnvelope::Clear { load, .. } = RequestEnvelope::decode(&wire).unwrap() else {
            panic!("not clear");
        };
        assert_eq!(
            RequestEnvelope::clear(load.clone()).encode().unwrap(),
            wire,
            "{release}"
        );
        let ClearCommand::Ping(answer) = ClearCommand::from_map(load).unwrap() else {
            panic!("not a ping");
        };
        assert_eq!(
            pack_wire(&answer.into()).unwrap(),
            bytes(&ping["reply_wire"])
        );
    }
}

#[test]
fn the_signed_part_of_a_return_is_packed_alike() {
    let case = &load("signatures")["minion_sign_messages"];
    let mut load = map(&case["load_without_nonce_tok_sig"]);
    let wanted = bytes(&case["serialized"]);
    assert_eq!(signed_bytes(&load).unwrap(), wanted);
    load.insert("nonce", "0123456789abcdef0123456789abcdef");
    load.insert("tok", Value::Bytes(vec![0xff; 256]));
    load.insert("sig", Value::Bytes(bytes(&case["sig"])));
    let request = Request::from_map(load).unwrap();
    let sig = request.meta.sig.unwrap();
    assert_eq!(sig.message, wanted);
    assert_eq!(sig.signature, bytes(&case["sig"]));
}

#[test]
fn signed_returns_are_read_with_what_they_sign() {
    for release in RELEASES {
        for case in items(&load(&format!("requests-{release}"))["signed_returns"]) {
            let label = text(&case["label"]);
            let request = Request::from_map(map(&case["load"])).unwrap();
            assert!(
                matches!(request.command, MinionRequest::Return(_)),
                "{label}"
            );
            let signed = case["load"].get("sig").is_some();
            assert_eq!(request.meta.sig.is_some(), signed, "{label}");
            let wanted = value(&case["load"]);
            assert_same(&request.to_map().into(), &wanted, label);
        }
    }
}
