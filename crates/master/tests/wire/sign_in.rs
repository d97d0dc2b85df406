//! Signing in, in all its outcomes.

use std::fs;

use crate::support::{Master, Minion, master_key, wait_event};
use halite_crypto::{EncAlgo, SigAlgo, SymmetricKey};
use halite_proto::auth::{AuthAnswer, AuthRefusal, AuthReply};
use halite_proto::{Map, Refusal, Value};

#[track_caller]
fn check_refused(reply: &AuthReply, wanted: AuthRefusal) {
    assert!(
        matches!(reply, AuthReply::Refused(refusal, _) if *refusal == wanted),
        "{reply:?}"
    );
}

#[track_caller]
fn check_granted(reply: &AuthReply) {
    assert!(matches!(reply, AuthReply::Accepted(_)), "{reply:?}");
}

#[tokio::test]
async fn a_new_minion_waits_and_is_let_in_when_its_key_is_accepted() {
    let master = Master::start("");
    let mut events = master.events().await;
    let mut minion = Minion::new(&master, "web1");
    check_refused(&minion.sign_in().await, AuthRefusal::Pending);
    let event = wait_event(&mut events, "salt/auth").await;
    assert_eq!(event.get("act"), Some(&Value::from("pend")));
    assert_eq!(event.get("id"), Some(&Value::from("web1")));
    assert_eq!(event.get("pub"), Some(&Value::from(minion.public_pem())));
    check_refused(&minion.sign_in().await, AuthRefusal::Pending);
    assert_eq!(master.key_state("web1"), ["minions_pre"]);
    master.move_key("web1", "minions_pre", "minions");
    check_granted(&minion.sign_in().await);
    let first = minion.grant.clone().unwrap();
    assert_eq!(Some(first.publish_port), master.publications.port());
    assert_eq!(first.public_key, master_key().clean_pem().unwrap());
    master.stop().await;
}

#[tokio::test]
async fn a_token_comes_back_and_algorithms_are_the_minions_choice() {
    let master = Master::start("auto_accept: True");
    let mut minion = Minion::new(&master, "web1");
    let token = SymmetricKey::generate();
    for (enc_algo, sig_algo) in [
        (EncAlgo::OaepSha1, SigAlgo::Pkcs1v15Sha1),
        (EncAlgo::OaepSha224, SigAlgo::Pkcs1v15Sha224),
    ] {
        let mut request = minion.auth_request();
        request.enc_algo = enc_algo.name().to_owned();
        request.sig_algo = sig_algo.name().to_owned();
        let sealed = master_key().encrypt(enc_algo, token.expose().as_bytes());
        request.token = Some(sealed.unwrap());
        check_granted(&minion.sign_in_with(request).await);
        let back = minion.grant.as_ref().unwrap().token.as_ref().unwrap();
        let back = minion.key.decrypt(enc_algo, back).unwrap();
        assert_eq!(back.expose(), token.expose().as_bytes());
    }
    // A token for another master's key is left out.
    let mut request = minion.auth_request();
    request.token = Some(vec![7; 256]);
    check_granted(&minion.sign_in_with(request).await);
    assert_eq!(minion.grant.as_ref().unwrap().token, None);
    master.stop().await;
}

#[tokio::test]
async fn rejected_and_denied_minions_stay_out() {
    let master = Master::start("");
    let mut events = master.events().await;
    let mut minion = Minion::new(&master, "web1");
    minion.sign_in().await;
    master.move_key("web1", "minions_pre", "minions_rejected");
    check_refused(&minion.sign_in().await, AuthRefusal::Rejected);
    master.move_key("web1", "minions_rejected", "minions");
    check_granted(&minion.sign_in().await);
    let accepted = fs::read(master.path("pki/minions/web1")).unwrap();

    let mut other = Minion::with_key(&master, "web1", "other.pem");
    check_refused(&other.sign_in().await, AuthRefusal::Rejected);
    assert_eq!(master.key_state("web1"), ["minions", "minions_denied"]);
    assert_eq!(fs::read(master.path("pki/minions/web1")).unwrap(), accepted);
    let mut acts = Vec::new();
    while acts.len() < 4 {
        let event = wait_event(&mut events, "salt/auth").await;
        acts.push(event.get("act").and_then(Value::as_str).unwrap().to_owned());
    }
    assert_eq!(acts, ["pend", "reject", "accept", "denied"]);
    check_granted(&minion.sign_in().await);
    master.stop().await;
}

#[tokio::test]
async fn lists_and_stubs_decide_without_asking() {
    let dir = tempfile::TempDir::new().unwrap();
    let root = dir.path().to_owned();
    for (name, text) in [("good", "web*\n"), ("bad", "evil*\n")] {
        fs::write(root.join(name), text).unwrap();
    }
    let root = root.display();
    let more = format!("autosign_file: {root}/good\nautoreject_file: {root}/bad\n");
    let master = Master::start_in(dir, &more);
    check_granted(&Minion::new(&master, "web1").sign_in().await);
    let evil = Minion::new(&master, "evil1").sign_in().await;
    check_refused(&evil, AuthRefusal::Rejected);
    assert_eq!(master.key_state("evil1"), ["minions_rejected"]);

    fs::write(master.path("pki/minions_autosign/db1"), "").unwrap();
    check_granted(&Minion::new(&master, "db1").sign_in().await);
    assert!(!master.path("pki/minions_autosign/db1").exists());
    let db2 = Minion::new(&master, "db2").sign_in().await;
    check_refused(&db2, AuthRefusal::Pending);
    master.stop().await;
}

#[tokio::test]
async fn open_mode_takes_another_key() {
    let master = Master::start("open_mode: True");
    let mut minion = Minion::new(&master, "web1");
    check_granted(&minion.sign_in().await);
    let session = minion.grant.as_ref().unwrap().session.clone();
    let mut other = Minion::with_key(&master, "web1", "other.pem");
    check_granted(&other.sign_in().await);
    let kept = fs::read_to_string(master.path("pki/minions/web1")).unwrap();
    assert_eq!(kept, other.public_pem());
    // The session of the old key is not the new one's.
    assert_ne!(session, other.grant.as_ref().unwrap().session);
    master.stop().await;
}

#[tokio::test]
async fn what_cannot_be_a_sign_in_is_refused_and_leaves_nothing() {
    let master = Master::start("auto_accept: True");
    let minion = Minion::new(&master, "web1");
    let good = minion.auth_request();
    let load = |change: &dyn Fn(&mut Map)| {
        let mut load = good.to_map();
        change(&mut load);
        load
    };

    for id in ["../web1", "a/b", "..", "", "\u{202e}/x"] {
        let reply = master
            .ask_clear(load(&|load| drop(load.insert("id", id))))
            .await;
        let Ok(AuthAnswer::Signed(signed)) = AuthAnswer::from_value(reply) else {
            panic!("{id:?} is not answered like a sign-in");
        };
        assert!(master_key().verify(SigAlgo::Pkcs1v15Sha1, &signed.load, &signed.sig));
        let reply = AuthReply::decode(&signed.load).unwrap();
        check_refused(&reply, AuthRefusal::Rejected);
    }
    let ask = |change: &dyn Fn(&mut Map)| {
        let load = load(change);
        async { AuthAnswer::from_value(master.ask_clear(load).await).unwrap() }
    };
    let bad_enc = ask(&|load| drop(load.insert("enc_algo", "ROT13"))).await;
    assert_eq!(bad_enc, AuthAnswer::BadEncAlgo);
    let bad_sig = ask(&|load| drop(load.insert("sig_algo", "ROT13"))).await;
    assert_eq!(bad_sig, AuthAnswer::BadSigAlgo);
    fs::remove_file(master.path("pki/minions/web1")).unwrap();

    for (change, refusal) in [
        (("id", Value::from(5)), Refusal::IdNotText("5".to_owned())),
        (("id", Value::from("a\0b")), Refusal::NullInId),
        (("nonce", Value::from("short")), Refusal::HandlerFailed),
        (("pub", Value::from(5)), Refusal::HandlerFailed),
    ] {
        let (field, value) = change;
        let answer = ask(&|load| drop(load.insert(field, value.clone()))).await;
        assert_eq!(answer, AuthAnswer::Refused(refusal), "{field}");
    }
    for key in ["", "not a key", &"x".repeat(100_000)] {
        let answer = ask(&|load| drop(load.insert("pub", key))).await;
        let AuthAnswer::Signed(signed) = answer else {
            panic!("{answer:?}");
        };
        let reply = AuthReply::decode(&signed.load).unwrap();
        check_refused(&reply, AuthRefusal::Rejected);
    }
    assert!(master.key_state("web1").is_empty());
    master.stop().await;
}

#[tokio::test]
async fn old_versions_are_refused_unless_they_are_let_in() {
    let strict = Master::start("auto_accept: True");
    let minion = Minion::new(&strict, "web1");
    for version in [0, 1, 2] {
        let answer = minion.send_auth(&minion.auth_request(), version).await;
        assert_eq!(answer, AuthAnswer::Refused(Refusal::BadLoad), "{version}");
    }
    strict.stop().await;

    let lenient = Master::start("auto_accept: True\nminimum_auth_version: 0");
    let minion = Minion::new(&lenient, "web1");
    let answer = minion.send_auth(&minion.auth_request(), 1).await;
    assert!(
        matches!(&answer, AuthAnswer::Unsigned(AuthReply::Accepted(grant)) if grant.nonce.is_none()),
        "{answer:?}"
    );
    let answer = minion.send_auth(&minion.auth_request(), 2).await;
    assert!(matches!(answer, AuthAnswer::Signed(_)), "{answer:?}");
    lenient.stop().await;
}

#[tokio::test]
async fn a_new_minion_has_an_id_that_is_one_word_everywhere() {
    let dir = tempfile::TempDir::new().unwrap();
    let master = Master::start_in(dir, "auto_accept: True");
    let mut events = master.events().await;
    for id in [
        "x;id>F;",
        "$(id)",
        "a b",
        "*",
        "web[0-9]*",
        "-A",
        "E@.*",
        "ž",
    ] {
        let mut minion = Minion::new(&master, id);
        check_refused(&minion.sign_in().await, AuthRefusal::Rejected);
        assert!(master.key_state(id).is_empty(), "{id}");
        // Who is accepted already stays it, with that key and no other.
        let accepted = master.path("pki/minions").join(id);
        fs::write(&accepted, minion.public_pem()).unwrap();
        check_granted(&minion.sign_in().await);
        let mut other = Minion::with_key(&master, id, "other.pem");
        check_refused(&other.sign_in().await, AuthRefusal::Rejected);
        assert_eq!(master.key_state(id), ["minions"]);
        fs::remove_file(accepted).unwrap();
        // Nothing is said on the bus about a name of a stranger's choice.
        let event = wait_event(&mut events, "salt/auth").await;
        assert_eq!(event.get("act"), Some(&Value::from("accept")), "{id}");
    }
    for id in ["web-1.example.com", "fe80::1", "_x"] {
        check_granted(&Minion::new(&master, id).sign_in().await);
    }
    let dir = master.stop().await;

    let master = Master::start_in(dir, "auto_accept: True\nwide_minion_ids: True");
    for id in ["x;id>F;", "a b", "*", "-A", "E@.*"] {
        let refused = Minion::new(&master, id).sign_in().await;
        check_refused(&refused, AuthRefusal::Rejected);
    }
    for id in ["ž", "root@web1"] {
        check_granted(&Minion::new(&master, id).sign_in().await);
    }
    master.stop().await;
}
