use halite_proto::Value;
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::publish::{Publication, PublishLoad};

use crate::{RELEASES, as_read, assert_same, bytes, items, load, opened, value};

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
fn a_publication_is_read_and_packed_alike() {
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

            let message = bytes(&case["ws_binary_message"]);
            let body = unpack_modern(&message).unwrap();
            assert_eq!(Publication::from_body(body), Ok(publication));
            assert_eq!(pack_modern(&Value::Bytes(payload)).unwrap(), message);
        }
    }
}
