use halite_proto::auth::{AuthAnswer, AuthReply, AuthRequest};
use halite_proto::clear::ClearCommand;
use halite_proto::envelope::RequestEnvelope;
use halite_proto::msgpack::pack_wire;
use halite_proto::{Refusal, Value};

use crate::{RELEASES, as_read, assert_same, bytes, entries, load, text, value};

fn request(wire: &[u8]) -> AuthRequest {
    let envelope = RequestEnvelope::decode(wire).unwrap();
    assert_eq!(envelope.encode().unwrap(), wire);
    let RequestEnvelope::Clear { load, .. } = envelope else {
        panic!("not a clear request");
    };
    let order: Vec<Value> = load.keys().cloned().collect();
    let ClearCommand::Auth(request) = ClearCommand::from_map(load).unwrap() else {
        panic!("not a sign-in");
    };
    let again: Vec<Value> = request.to_map().keys().cloned().collect();
    assert_eq!(again, order);
    *request
}

#[test]
fn sign_in_requests_are_read_and_packed_alike() {
    for release in RELEASES {
        let file = load(&format!("auth-{release}"));
        for (name, case) in entries(&file["requests_made_by_this_release"]) {
            let wire = bytes(&case["wire"]);
            let request = request(&wire);
            assert_eq!(
                request.nonce.as_ref().unwrap().as_str(),
                text(&case["nonce"])
            );
            let load = request.to_map();
            let wanted = as_read(value(&case["load"]));
            assert_same(&Value::Map(load.clone()), &wanted, name);
            assert_eq!(RequestEnvelope::clear(load).encode().unwrap(), wire);
        }
    }
}

#[test]
fn every_answer_to_every_release_is_read_and_packed_alike() {
    let mut answers = 0;
    for release in RELEASES {
        let file = load(&format!("auth-{release}"));
        for (name, case) in entries(&file["replies_made_by_this_release"]) {
            for (client, reply) in entries(&case["replies"]) {
                let what = format!("{name}: {release} to {client}");
                let request = request(&bytes(&reply["request_wire"]));
                if reply["reply_wire"].is_null() {
                    continue;
                }
                let wire = bytes(&reply["reply_wire"]);
                let answer = AuthAnswer::decode(&wire).unwrap();
                assert_eq!(pack_wire(&answer.to_value()).unwrap(), wire, "{what}");
                check_answer(name, &answer, &request, reply, &what);
                answers += 1;
            }
        }
    }
    assert!(answers >= 165, "{answers}");
}

fn check_answer(
    name: &str,
    answer: &AuthAnswer,
    request: &AuthRequest,
    reply: &serde_json::Value,
    what: &str,
) {
    match answer {
        AuthAnswer::Signed(signed) => {
            assert_eq!(signed.load, bytes(&reply["signed_load"]), "{what}");
            let decision = AuthReply::decode(&signed.load).unwrap();
            assert_eq!(decision.encode().unwrap(), signed.load, "{what}");
            let inner = as_read(value(&reply["inner"]));
            assert_same(&decision.to_map().into(), &inner, what);
            let nonce = match decision {
                AuthReply::Accepted(grant) => {
                    assert_eq!(grant.token.is_some(), request.token.is_some(), "{what}");
                    assert_eq!(grant.pub_sig.is_some(), name.starts_with("master_sign"));
                    grant.nonce
                }
                AuthReply::Refused(_, nonce) => nonce,
            };
            assert_eq!(nonce, request.nonce, "{what}");
        }
        AuthAnswer::BadEncAlgo => assert_eq!(name, "bad_enc_algo"),
        AuthAnswer::BadSigAlgo => assert_eq!(name, "bad_sig_algo"),
        AuthAnswer::Unsigned(AuthReply::Accepted(_)) => assert_eq!(name, "old_version_1"),
        AuthAnswer::Refused(Refusal::BadLoad) => assert_eq!(name, "old_version_refused"),
        AuthAnswer::Refused(Refusal::HandlerFailed) => {
            assert_eq!(name, "bad_enc_algo_first_contact");
        }
        other => panic!("{what}: {other:?}"),
    }
}
