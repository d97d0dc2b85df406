use halite_proto::envelope::{Reply, RequestEnvelope};
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::publish::{Publication, PublishLoad};
use halite_proto::stream::{Frame, FrameReader, Framing, frame_publication};
use halite_proto::subscriber::Subscription;
use halite_proto::{Refusal, Value};

use crate::{RELEASES, as_read, assert_same, bytes, items, load, opened, text, value};

#[test]
fn loads_are_read_and_packed_alike() {
    for release in RELEASES {
        let file = load(&format!("publish-{release}"));
        for case in items(&file["cases"]) {
            let plaintext = bytes(&case["load_plaintext"]);
            let packed = opened(&plaintext, None);
            let load = PublishLoad::decode(packed).unwrap();
            assert_eq!(load.encode().unwrap(), packed);
            assert!(load.extra.is_empty(), "{:?}", load.extra);
            let wanted = as_read(value(&case["inner"]));
            assert_same(&load.to_map().into(), &wanted, release);
        }
    }
}

#[test]
fn a_publication_is_the_same_on_every_transport() {
    for release in RELEASES {
        let file = load(&format!("publish-{release}"));
        for case in items(&file["cases"]) {
            let payload = bytes(&case["zeromq_frames"][0]);
            let publication = Publication::decode(&payload).unwrap();
            assert_eq!(publication.encode().unwrap(), payload);
            assert_eq!(publication.sig_algo.as_deref(), case["sig_algo"].as_str());
            let sig = case["sig"].as_str().map(|_| bytes(&case["sig"]));
            assert_eq!(publication.sig, sig);
            for filtered in [
                "zeromq_frames_filtering_broadcast",
                "zeromq_frames_filtering_for_minion",
            ] {
                assert_eq!(bytes(&case[filtered][1]), payload);
            }

            let framed = bytes(&case["tcp_stream_body_bytes"]);
            assert_eq!(frame_publication(&payload).unwrap(), framed);
            let as_map = bytes(&case["tcp_stream_body_map"]);
            let mut reader = FrameReader::new(Framing::Bare);
            reader.push(&framed);
            reader.push(&as_map);
            for stream in [framed, as_map] {
                let frame = reader.next_frame().unwrap().unwrap();
                assert_eq!(frame.encode().unwrap(), stream);
                assert_eq!(
                    Publication::from_body(frame.body),
                    Ok(publication.clone()),
                    "{release}"
                );
            }
            assert_eq!(
                Frame::publication(publication.to_map().into())
                    .encode()
                    .unwrap(),
                bytes(&case["tcp_stream_body_map"])
            );

            let message = bytes(&case["ws_binary_message"]);
            let body = unpack_modern(&message).unwrap();
            assert_eq!(Publication::from_body(body), Ok(publication));
            assert_eq!(pack_modern(&Value::Bytes(payload)).unwrap(), message);
        }
    }
}

#[test]
fn requests_over_tcp_keep_their_number() {
    for release in RELEASES {
        let tcp = &load(&format!("publish-{release}"))["tcp"];
        let mid = text(&tcp["mid"]);
        let stream = bytes(&tcp["request_frame"]);
        let frame = Frame::decode(&stream).unwrap();
        assert_eq!(frame.mid(), Some(mid));
        assert_eq!(frame.encode().unwrap(), stream);
        let envelope = RequestEnvelope::from_value(frame.body, 3).unwrap();
        assert_eq!(
            envelope.encode().unwrap(),
            bytes(&tcp["request_envelope_wire"])
        );
        assert_eq!(
            Frame::message(mid, envelope.to_value()).encode().unwrap(),
            stream
        );

        let stream = bytes(&tcp["reply_frame"]);
        let frame = Frame::decode(&stream).unwrap();
        assert_eq!(frame.mid(), Some(mid));
        assert_eq!(frame.encode().unwrap(), stream);
        let reply = Reply::from_value(frame.body);
        assert!(
            matches!(reply, Reply::Sealed(_) | Reply::Refused(Refusal::BadLoad)),
            "{reply:?}"
        );

        let stream = bytes(&tcp["send_id_frame"]);
        let frame = Frame::decode(&stream).unwrap();
        assert_eq!(frame.mid(), None);
        assert_eq!(frame.encode().unwrap(), stream);
        let message = Subscription::from_value(frame.body).unwrap();
        assert_eq!(
            Frame::publication(message.to_value()).encode().unwrap(),
            stream
        );
    }
}
