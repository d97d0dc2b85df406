use halite_proto::envelope::RequestEnvelope;
use halite_proto::pillar::{PillarAnswer, PillarData, SignedPillar};
use halite_proto::request::{MinionRequest, Request, RequestMeta};
use halite_proto::{MinionId, Nonce, Value};

use crate::{RELEASES, as_read, assert_same, bytes, items, load, map, opened, text, value};

#[test]
fn all_layers_of_the_pillar_are_read_and_packed_alike() {
    for release in RELEASES {
        let file = load(&format!("pillar-{release}"));
        for case in items(&file["cases"]) {
            let wire = bytes(&case["reply_wire"]);
            let PillarAnswer::Private(reply) = PillarAnswer::decode(&wire).unwrap() else {
                panic!("not a private reply");
            };
            assert_eq!(reply.encode().unwrap(), wire);

            let plaintext = bytes(&case["signed_plaintext"]);
            let packed = opened(&plaintext, None);
            let signed = SignedPillar::decode(packed).unwrap();
            assert_eq!(signed.data, bytes(&case["data"]));
            assert_eq!(signed.sig, bytes(&case["sig"]));
            assert_eq!(signed.encode().unwrap(), packed);

            let data = PillarData::decode(&signed.data).unwrap();
            assert_eq!(data.key, reply.key);
            assert_eq!(data.nonce.as_str(), text(&case["nonce"]));
            assert_same(
                &data.pillar.clone().into(),
                &value(&case["pillar"]),
                release,
            );
            assert_eq!(data.encode().unwrap(), signed.data);
        }
    }
}

#[test]
fn the_request_names_its_algorithms_and_brings_its_fields() {
    for release in RELEASES {
        let file = load(&format!("pillar-{release}"));
        for case in items(&file["cases"]) {
            let wire = bytes(&case["request_wire"]);
            let envelope = RequestEnvelope::decode_from(&wire, 3).unwrap();
            assert_eq!(envelope.encode().unwrap(), wire);
            let RequestEnvelope::Aes {
                enc_algo, sig_algo, ..
            } = envelope
            else {
                panic!("not sealed");
            };
            assert_eq!(enc_algo.as_deref(), case["enc_algo"].as_str());
            assert_eq!(sig_algo.as_deref(), case["sig_algo"].as_str());

            let given = map(&case["load_given"]);
            let command = MinionRequest::from_map(given.clone()).unwrap();
            let MinionRequest::Pillar(pillar) = &command else {
                panic!("{command:?}");
            };
            assert!(pillar.wants_private_reply());
            let id = MinionId::parse("vec-minion").unwrap();
            let nonce = Nonce::parse(text(&case["nonce"])).unwrap();
            let meta = RequestMeta::new(id.clone(), nonce, 0, vec![0xff]);
            assert_same(
                &command.to_map(&id).into(),
                &as_read(Value::Map(given)),
                release,
            );
            let request = Request::new(meta, command);
            assert_eq!(Request::from_map(request.to_map()), Ok(request));
        }
    }
}
