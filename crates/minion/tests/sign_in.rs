//! A minion's checks of sign-in replies: a master made of the same primitives
//! answers correctly, and then wrongly in every possible way.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what it expects"
)]

use std::sync::LazyLock;
use std::time::Duration;

use halite_crypto::{
    Crypticle, EncAlgo, HashType, PrivateKey, PublicKey, SigAlgo, Stamp, SymmetricKey,
    fingerprint_path, master_sign,
};
use halite_minion::core::link::SignInFailure;
use halite_minion::core::publication::{Gates, Opener, PublicationError};
use halite_minion::core::sign_in::{Attempt, Credentials, Identity, SignInError, Trust};
use halite_proto::auth::{
    AuthAnswer, AuthGrant, AuthRefusal, AuthReply, AuthRequest, SignedAuthReply,
};
use halite_proto::key_changes::{self, KeyChange};
use halite_proto::publish::{Publication, PublishLoad};
use halite_proto::publisher::PublishedBefore;
use halite_proto::{ComeAgain, Jid, Map, MinionId, Nonce};

static MINION: LazyLock<PrivateKey> = LazyLock::new(|| PrivateKey::generate(2048).unwrap());
static MASTER: LazyLock<PrivateKey> = LazyLock::new(|| PrivateKey::generate(2048).unwrap());
static OTHER: LazyLock<PrivateKey> = LazyLock::new(|| PrivateKey::generate(2048).unwrap());

const ENC: EncAlgo = EncAlgo::OaepSha1;
const SIG: SigAlgo = SigAlgo::Pkcs1v15Sha1;

fn identity() -> Identity {
    Identity::new(MinionId::parse("web1").unwrap(), MINION.clone()).unwrap()
}

fn trust() -> Trust {
    Trust {
        known: None,
        signing_key: None,
        always_verify_signature: false,
        finger: None,
        hash_type: HashType::Sha256,
        open_mode: false,
        enc_algo: ENC,
        sig_algo: SIG,
    }
}

fn pem(key: &PrivateKey) -> String {
    key.public().unwrap().clean_pem().unwrap()
}

fn knows(key: &PrivateKey) -> Trust {
    Trust {
        known: Some(pem(key)),
        ..trust()
    }
}

/// What a master with `key` grants for a request.
fn grant(key: &PrivateKey, request: &AuthRequest) -> AuthGrant {
    let minion = PublicKey::from_pem(&request.public_key).unwrap();
    let (publish, session) = (SymmetricKey::generate(), SymmetricKey::generate());
    let seal = |text: &str| minion.encrypt(ENC, text.as_bytes()).unwrap();
    AuthGrant {
        public_key: pem(key),
        publish_port: 4505,
        pub_sig: None,
        token: request
            .token
            .as_ref()
            .and_then(|token| key.decrypt(ENC, token).ok())
            .map(|token| minion.encrypt(ENC, token.expose()).unwrap()),
        aes: seal(publish.expose()),
        session: seal(session.expose()),
        sig: key.sign_publish_key(publish.expose()).unwrap(),
        nonce: request.nonce.clone(),
        extra: Map::new(),
    }
}

fn signed(key: &PrivateKey, reply: &AuthReply) -> Vec<u8> {
    let load = reply.encode().unwrap();
    let sig = key.sign(SIG, &load).unwrap();
    SignedAuthReply { load, sig }.encode().unwrap()
}

/// One sign-in of a minion with `trust` at a master with `key`, whose grant
/// `change` may spoil.
fn sign_in(
    trust: &Trust,
    key: &PrivateKey,
    change: impl FnOnce(&mut AuthGrant),
) -> Result<Credentials, SignInError> {
    let identity = identity();
    let nonce = Nonce::from_random([7; 16]);
    let (attempt, request) = Attempt::new(&identity, trust, nonce, None, Map::new()).unwrap();
    let mut grant = grant(key, &request);
    change(&mut grant);
    let reply = signed(key, &AuthReply::Accepted(Box::new(grant)));
    attempt.conclude(&identity, trust, &reply)
}

fn refusal(trust: &Trust, key: &PrivateKey, refusal: AuthRefusal) -> SignInError {
    let identity = identity();
    let nonce = Nonce::from_random([7; 16]);
    let (attempt, request) = Attempt::new(&identity, trust, nonce, None, Map::new()).unwrap();
    let reply = signed(key, &AuthReply::Refused(refusal, request.nonce));
    attempt.conclude(&identity, trust, &reply).err().unwrap()
}

#[track_caller]
fn assert_error(result: Result<Credentials, SignInError>, expected: fn(&SignInError) -> bool) {
    let error = result.err().expect("the reply was believed");
    assert!(expected(&error), "{error:?}");
}

#[test]
fn first_contact_trusts_and_later_contact_checks() {
    let credentials = sign_in(&trust(), &MASTER, |_| {}).unwrap();
    assert_eq!(credentials.master_pem, pem(&MASTER));
    assert_eq!(credentials.publish_port, 4505);
    sign_in(&knows(&MASTER), &MASTER, |_| {}).unwrap();
}

#[test]
fn a_new_master_key_is_trusted_if_the_known_one_has_signed_it() {
    let change = |old: &PrivateKey, new: &PrivateKey| KeyChange {
        old_key: pem(old),
        signature: master_sign::sign_successor(old, &pem(new)).unwrap(),
    };
    let with = |changes: Vec<KeyChange>| {
        sign_in(&knows(&OTHER), &MASTER, |grant| {
            let changes = key_changes::to_value(&changes);
            grant.extra.insert(key_changes::KEY_CHANGES, changes);
        })
    };
    let credentials = with(vec![change(&OTHER, &MASTER)]).unwrap();
    assert_eq!(credentials.master_pem, pem(&MASTER));
    // Over a key in between, and with one before that is not of interest.
    with(vec![change(&OTHER, &MINION), change(&MINION, &MASTER)]).unwrap();
    with(vec![change(&MINION, &OTHER), change(&OTHER, &MASTER)]).unwrap();
    let forged = KeyChange {
        old_key: pem(&OTHER),
        ..change(&MASTER, &MASTER)
    };
    for changes in [
        vec![],
        vec![change(&MASTER, &MASTER)],
        vec![change(&OTHER, &MINION)],
        vec![forged],
        vec![change(&OTHER, &MINION), change(&OTHER, &MASTER)],
        vec![change(&MINION, &MASTER)],
    ] {
        assert_error(with(changes), |error| {
            matches!(error, SignInError::MasterKeyChanged { .. })
        });
    }
}

#[test]
fn another_key_is_named_beside_the_known_one() {
    let finger = |key: &PrivateKey| fingerprint_path(pem(key).as_bytes(), HashType::Sha256);
    let result = sign_in(&knows(&OTHER), &MASTER, |_| {});
    let text = result.err().unwrap().to_string();
    for part in [
        "another key",
        &format!("known {}", finger(&OTHER)),
        &format!("offered {}", finger(&MASTER)),
    ] {
        assert!(text.contains(part), "{text}");
    }
    let text = refusal(&knows(&OTHER), &MASTER, AuthRefusal::Pending).to_string();
    assert!(text.contains("another key"), "{text}");
    assert!(text.contains(&finger(&OTHER)), "{text}");
}

#[test]
fn another_master_key_is_refused_unless_open_mode() {
    let result = sign_in(&knows(&OTHER), &MASTER, |_| {});
    assert_error(result, |error| {
        matches!(error, SignInError::MasterKeyChanged { .. })
    });
    let open = Trust {
        open_mode: true,
        ..knows(&OTHER)
    };
    sign_in(&open, &MASTER, |_| {}).unwrap();
}

#[test]
fn a_known_master_has_to_return_the_token() {
    let result = sign_in(&knows(&MASTER), &MASTER, |grant| grant.token = None);
    assert_error(result, |error| matches!(error, SignInError::Token));
    let result = sign_in(&knows(&MASTER), &MASTER, |grant| {
        let other = SymmetricKey::generate();
        let minion = MINION.public().unwrap();
        grant.token = Some(minion.encrypt(ENC, other.expose().as_bytes()).unwrap());
    });
    assert_error(result, |error| matches!(error, SignInError::Token));
}

#[test]
fn replies_to_other_requests_are_refused() {
    let result = sign_in(&trust(), &MASTER, |grant| {
        grant.nonce = Some(Nonce::from_random([8; 16]));
    });
    assert_error(result, |error| matches!(error, SignInError::Nonce));
    let result = sign_in(&trust(), &MASTER, |grant| grant.nonce = None);
    assert_error(result, |error| matches!(error, SignInError::Nonce));
}

#[test]
fn keys_that_the_master_did_not_vouch_for_are_refused() {
    let result = sign_in(&trust(), &MASTER, |grant| {
        grant.sig = MASTER.sign_publish_key("another key").unwrap();
    });
    assert_error(result, |error| matches!(error, SignInError::Signature));
    let result = sign_in(&trust(), &MASTER, |grant| grant.session = grant.sig.clone());
    assert_error(result, |error| {
        matches!(error, SignInError::Key { .. } | SignInError::Symmetric(_))
    });
}

#[test]
fn a_reply_signed_by_somebody_else_is_refused() {
    let identity = identity();
    let trust = knows(&MASTER);
    let nonce = Nonce::from_random([7; 16]);
    let (attempt, request) = Attempt::new(&identity, &trust, nonce, None, Map::new()).unwrap();
    let reply = AuthReply::Accepted(Box::new(grant(&MASTER, &request)));
    let result = attempt.conclude(&identity, &trust, &signed(&OTHER, &reply));
    assert_error(result, |error| matches!(error, SignInError::Signature));
}

#[test]
fn refusals_are_told_apart_and_must_be_signed_by_a_known_master() {
    let known = knows(&MASTER);
    for (from_master, failure) in [
        (AuthRefusal::Pending, SignInFailure::Pending),
        (AuthRefusal::Rejected, SignInFailure::Rejected),
        (AuthRefusal::Full, SignInFailure::Full),
    ] {
        assert_eq!(refusal(&known, &MASTER, from_master).failure(), failure);
        assert_eq!(refusal(&trust(), &MASTER, from_master).failure(), failure);
        let forged = refusal(&known, &OTHER, from_master);
        let is_foreign = matches!(forged, SignInError::RefusedByAnother { .. });
        assert!(is_foreign, "{forged:?}");
    }
}

#[test]
fn an_answer_to_come_again_decides_nothing_and_is_told_with_its_time() {
    let identity = identity();
    for trust in [trust(), knows(&MASTER)] {
        let nonce = Nonce::from_random([7; 16]);
        let (attempt, _) = Attempt::new(&identity, &trust, nonce, None, Map::new()).unwrap();
        let wait = Duration::from_secs(7);
        let answer = AuthAnswer::ComeAgain(ComeAgain {
            wait,
            appointment: None,
        });
        let answer = answer.to_value();
        let packed = halite_proto::msgpack::pack_wire(&answer).unwrap();
        let error = attempt.conclude(&identity, &trust, &packed).err().unwrap();
        assert_eq!(error.failure(), SignInFailure::Busy(wait));
    }
}

#[test]
fn an_unsigned_reply_is_a_downgrade() {
    let identity = identity();
    let nonce = Nonce::from_random([7; 16]);
    let (attempt, request) = Attempt::new(&identity, &trust(), nonce, None, Map::new()).unwrap();
    let inner = grant(&MASTER, &request).to_map();
    let packed = halite_proto::msgpack::pack_wire(&inner.into()).unwrap();
    let result = attempt.conclude(&identity, &trust(), &packed);
    assert_error(result, |error| matches!(error, SignInError::Signature));
}

#[test]
fn the_fingerprint_is_compared_before_anything_is_trusted() {
    let finger = fingerprint_path(pem(&MASTER).as_bytes(), HashType::Sha256);
    let right = Trust {
        finger: Some(finger.to_uppercase()),
        ..trust()
    };
    sign_in(&right, &MASTER, |_| {}).unwrap();
    assert_error(sign_in(&right, &OTHER, |_| {}), |error| {
        matches!(error, SignInError::Finger { .. })
    });
}

#[test]
fn a_signed_master_key_replaces_the_known_one() {
    let signing = OTHER.public().unwrap();
    let trust = Trust {
        signing_key: Some(signing),
        ..knows(&OTHER)
    };
    let sign = |grant: &mut AuthGrant| {
        let text = master_sign::sign_master_key(&OTHER, SIG, &grant.public_key).unwrap();
        grant.pub_sig = Some(text);
    };
    sign_in(&trust, &MASTER, sign).unwrap();
    let result = sign_in(&trust, &MASTER, |_| {});
    assert_error(result, |error| {
        matches!(error, SignInError::SigningConfig(_))
    });
    let result = sign_in(&trust, &MASTER, |grant| {
        let text = master_sign::sign_master_key(&MASTER, SIG, &grant.public_key).unwrap();
        grant.pub_sig = Some(text);
    });
    assert_error(result, |error| matches!(error, SignInError::PubSig));
    assert_error(sign_in(&knows(&MASTER), &MASTER, sign), |error| {
        matches!(error, SignInError::SigningConfig(_))
    });
}

#[test]
fn garbage_is_an_error() {
    for garbage in [
        &b""[..],
        b"\xc1",
        b"\x80",
        b"\xa8bad load",
        b"\x93\x01\x02\x03",
    ] {
        let identity = identity();
        let nonce = Nonce::from_random([7; 16]);
        let (attempt, _) = Attempt::new(&identity, &trust(), nonce, None, Map::new()).unwrap();
        assert!(attempt.conclude(&identity, &trust(), garbage).is_err());
    }
}

fn publication(key: &PrivateKey, crypticle: &Crypticle, serial: u64) -> Publication {
    let jid = Jid::parse("20261120141841939742").unwrap();
    let mut load = PublishLoad::new("test.ping".into(), Vec::new(), "*".into(), "glob", jid);
    load.serial = Some(serial);
    let load = crypticle.seal(&load.encode().unwrap(), None);
    let sig = key.sign(SIG, &load).unwrap();
    Publication {
        load,
        sig_algo: Some(SIG.name().to_owned()),
        sig: Some(sig),
    }
}

#[test]
fn only_authentic_new_publications_become_jobs() {
    let crypticle = Crypticle::new(&SymmetricKey::generate());
    let opener = Opener::new(&credentials(&crypticle, "a"), false);
    let mut gates = Gates::default();
    let mut open =
        |publication: &Publication| opener.open(&publication.encode().unwrap(), &mut gates);
    let good = publication(&MASTER, &crypticle, 5);
    assert_eq!(open(&good).unwrap().load().fun.one(), Some("test.ping"));
    assert!(matches!(open(&good), Err(PublicationError::Replayed)));
    let late = publication(&MASTER, &crypticle, 4);
    assert!(matches!(open(&late), Err(PublicationError::Replayed)));
    let forged = publication(&OTHER, &crypticle, 6);
    assert!(matches!(open(&forged), Err(PublicationError::Signature)));
    let other_key = Crypticle::new(&SymmetricKey::generate());
    let stale = publication(&MASTER, &other_key, 7);
    assert!(matches!(open(&stale), Err(PublicationError::NotAuthentic)));
    let unsigned = Publication {
        sig: None,
        sig_algo: None,
        ..publication(&MASTER, &crypticle, 8)
    };
    assert!(open(&unsigned).is_ok());
    let strict = Opener::new(&credentials(&crypticle, "a"), true);
    let result = strict.open(&unsigned.encode().unwrap(), &mut gates);
    assert!(matches!(result, Err(PublicationError::Unsigned)));
    assert!(matches!(
        strict.open(b"\xc1", &mut gates),
        Err(PublicationError::Frame(_))
    ));
}

fn credentials(publish: &Crypticle, publish_hash: &str) -> Credentials {
    Credentials {
        publish: publish.clone(),
        publish_hash: publish_hash.to_owned(),
        session: publish.clone(),
        publish_port: 4505,
        master_key: MASTER.public().unwrap(),
        master_pem: String::new(),
        extra: Map::new(),
    }
}

/// Recorded while the minion was cut off, and played after its next sign-in.
#[test]
fn a_recorded_publication_does_not_become_a_job_after_a_new_sign_in() {
    let [old, new] = [0, 1].map(|_| Crypticle::new(&SymmetricKey::generate()));
    let mut gates = Gates::default();
    let is_replayed = |key: &Crypticle, hash: &str, serial, gates: &mut Gates| {
        let opener = Opener::new(&credentials(key, hash), false);
        let recorded = publication(&MASTER, key, serial).encode().unwrap();
        matches!(
            opener.open(&recorded, gates),
            Err(PublicationError::Replayed)
        )
    };
    assert!(!is_replayed(&old, "old", 5, &mut gates));
    // The same key, whatever came between.
    assert!(!is_replayed(&new, "new", 1, &mut gates));
    assert!(is_replayed(&old, "old", 4, &mut gates));
    // A Halite master says what it has published so far.
    gates.raise("old", PublishedBefore::Serial(9), true);
    assert!(is_replayed(&old, "old", 9, &mut gates));
    assert!(!is_replayed(&old, "old", 10, &mut gates));
    gates.raise("old", PublishedBefore::Serial(3), true);
    assert!(is_replayed(&old, "old", 7, &mut gates));
}

/// The masters of a cluster publish with one key, each by its own clock.
#[test]
fn what_a_cluster_published_before_a_sign_in_does_not_become_a_job() {
    const SECOND: u64 = 1_000_000;
    const SIGN_IN: u64 = 1_800_000_000 * SECOND;
    let key = Crypticle::new(&SymmetricKey::generate());
    let opener = Opener::new(&credentials(&key, "key"), false);
    let recorded = |sealer, moment| {
        let jid = Jid::parse("20261120141841939742").unwrap();
        let load = PublishLoad::new("test.ping".into(), Vec::new(), "*".into(), "glob", jid);
        let load = key.seal_stamped(&load.encode().unwrap(), Stamp { sealer, moment });
        let (sig_algo, sig) = (None, None);
        let publication = Publication {
            load,
            sig_algo,
            sig,
        };
        publication.encode().unwrap()
    };
    let runs = |gates: &mut Gates, sealer, moment| {
        let opened = opener.open(&recorded(sealer, moment), gates);
        assert!(matches!(opened, Ok(_) | Err(PublicationError::Replayed)));
        opened.is_ok()
    };
    let [of_sign_in, other] = [7, 8];
    let before = PublishedBefore::Stamp {
        sealer: of_sign_in,
        moment: SIGN_IN,
    };
    // The master of the sign-in has said it, to the microsecond; the clock of another
    // one may be behind.
    let mut gates = Gates::default();
    gates.raise("key", before, true);
    assert!(!runs(&mut gates, of_sign_in, SIGN_IN));
    assert!(runs(&mut gates, of_sign_in, SIGN_IN + 1));
    assert!(!runs(&mut gates, other, SIGN_IN - 60 * SECOND));
    assert!(runs(&mut gates, other, SIGN_IN - 59 * SECOND));
    // What has passed of one says nothing of the others, and passes once.
    assert!(!runs(&mut gates, other, SIGN_IN - 59 * SECOND));
    assert!(runs(&mut gates, 9, SIGN_IN - 59 * SECOND));
    // Many masters that come and go take no gate away that is used.
    for sealer in 100..300 {
        assert!(runs(&mut gates, sealer, SIGN_IN));
        assert!(!runs(&mut gates, 99, SIGN_IN - 61 * SECOND));
        assert!(!runs(&mut gates, of_sign_in, SIGN_IN));
    }
    // Who cannot ask for what it has missed takes it from other masters.
    let mut gates = Gates::default();
    gates.raise("key", before, false);
    assert!(!runs(&mut gates, of_sign_in, SIGN_IN));
    assert!(runs(&mut gates, other, SIGN_IN - 600 * SECOND));
}

#[test]
fn a_known_key_that_is_none_is_named_with_its_file() {
    let trust = Trust {
        known: Some("rubbish".to_owned()),
        ..trust()
    };
    let nonce = Nonce::from_random([7; 16]);
    let Err(error) = Attempt::new(&identity(), &trust, nonce, None, Map::new()) else {
        panic!("rubbish was taken for a key");
    };
    assert_eq!(
        error.to_string(),
        "the known master key cannot be used; remove minion_master.pub in pki_dir and restart to accept \
         the key that the master then shows"
    );
}
