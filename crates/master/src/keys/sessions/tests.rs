use std::os::unix::fs::MetadataExt;

use halite_proto::SignOfLife;

use super::*;
use crate::core::replay::NONCES_MAX;

const NOW: i64 = 4_000_000_000;

fn key(text: &str) -> AcceptedKey {
    AcceptedKey {
        mark: KeyMark::of(text),
    }
}

fn web1() -> MinionId {
    MinionId::parse("web1").unwrap()
}

fn sessions(dir: &tempfile::TempDir) -> Sessions {
    Sessions::new(dir.path().to_owned(), 86_400)
}

#[test]
fn a_session_is_shared_by_the_sign_ins_of_one_key() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = sessions(&dir);
    assert!(sessions.find(&web1(), &key("a"), NOW).is_none());
    let first = sessions.sign_in(&web1(), &key("a"), NOW).unwrap();
    let second = sessions.sign_in(&web1(), &key("a"), NOW + 5).unwrap();
    assert!(first.key.is_same(&second.key));
    let on_disk = fs::read_to_string(dir.path().join("web1")).unwrap();
    assert_eq!(on_disk, first.key.expose());
    let mode = fs::metadata(dir.path().join("web1")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn an_older_session_of_a_key_ends_with_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = sessions(&dir);
    let older = sessions.sign_in(&web1(), &key("a"), NOW).unwrap();
    let later = sessions.sign_in(&web1(), &key("a"), NOW + 86_400).unwrap();
    assert!(!older.key.is_same(&later.key));
    let has_ended = |session: &Session| session.ended.load(Ordering::Relaxed);
    assert!(!has_ended(&older));
    sessions.drop_session(&web1());
    assert!(has_ended(&older) && has_ended(&later));
}

#[test]
fn age_another_key_and_deletion_end_it() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = sessions(&dir);
    let first = sessions.sign_in(&web1(), &key("a"), NOW).unwrap();
    assert!(sessions.find(&web1(), &key("a"), NOW + 86_399).is_some());
    assert!(sessions.find(&web1(), &key("a"), NOW + 86_400).is_none());
    assert!(sessions.find(&web1(), &key("b"), NOW).is_none());
    let other = sessions.sign_in(&web1(), &key("b"), NOW).unwrap();
    assert!(!first.key.is_same(&other.key));
    sessions.drop_session(&web1());
    assert!(sessions.find(&web1(), &key("b"), NOW).is_none());
    assert!(!dir.path().join("web1").exists());
}

#[test]
fn no_session_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let first = sessions(&dir).sign_in(&web1(), &key("a"), NOW).unwrap();
    assert!(dir.path().join("web1").exists());
    let restarted = sessions(&dir);
    assert!(!dir.path().join("web1").exists());
    assert!(restarted.find(&web1(), &key("a"), NOW).is_none());
    let again = restarted.sign_in(&web1(), &key("a"), NOW).unwrap();
    assert!(!first.key.is_same(&again.key));
}

#[test]
fn a_session_whose_memory_is_outrun_is_renewed_at_the_next_sign_in() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = sessions(&dir);
    let first = sessions.sign_in(&web1(), &key("a"), NOW).unwrap();
    for n in 0..=NONCES_MAX {
        first.admit(&n.to_be_bytes(), NOW + 1);
    }
    assert_eq!(
        first.admit(b"a clock that went back", NOW),
        Freshness::TooOld
    );
    let renewed = sessions.sign_in(&web1(), &key("a"), NOW).unwrap();
    assert!(!first.key.is_same(&renewed.key));
    assert_eq!(
        renewed.admit(b"a clock that went back", NOW),
        Freshness::Fresh
    );
}

#[test]
fn a_sign_of_life_is_of_one_session_and_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = sessions(&dir);
    let first = sessions.sign_in(&web1(), &key("a"), NOW).unwrap();
    let sign = |sign_in, count| SignOfLife {
        id: web1(),
        sign_in,
        count,
        wants_answer: true,
    };
    let proof = |of: &Session, sign: &SignOfLife| of.presence.prove(&sign.proven_part());
    let proves = |by: &Session, of: &Session, sign: &SignOfLife| by.proves(sign, &proof(of, sign));
    assert!(proves(&first, &first, &sign(3, 1)));
    assert!(proves(&first, &first, &sign(3, 2)));
    for old in [sign(3, 2), sign(3, 1), sign(2, 9)] {
        assert!(!proves(&first, &first, &old));
    }
    assert!(proves(&first, &first, &sign(4, 0)));
    // Too old for requests, it still knows its minion; then it is replaced.
    let renewed = sessions.sign_in(&web1(), &key("a"), NOW + 86_400).unwrap();
    assert!(proves(&first, &first, &sign(4, 1)));
    assert!(proves(&renewed, &renewed, &sign(5, 0)));
    assert!(!proves(&renewed, &first, &sign(5, 1)));
    // Another key, or none, ends what the old one proves.
    let other = sessions.sign_in(&web1(), &key("b"), NOW).unwrap();
    assert!(!proves(&renewed, &renewed, &sign(5, 2)));
    sessions.drop_session(&web1());
    assert!(!proves(&other, &other, &sign(6, 0)));
}
