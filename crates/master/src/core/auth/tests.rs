//! The rows of the table of sign-ins, each with what it decides.

use super::*;

const FACTS: Facts = Facts {
    known: KnownKey::None,
    id_allowed: true,
    key_usable: true,
    open_mode: false,
    room: Room::UNLIMITED,
    autoreject: false,
    autosign: false,
    enc_algo_known: true,
    sig_algo_known: true,
};

const ACCEPTED: Facts = Facts {
    known: KnownKey::Accepted { same: true },
    ..FACTS
};

#[track_caller]
fn check(facts: Facts, verdict: Verdict, filing: Option<Filing>, event: Option<Act>) {
    assert_eq!(decide(&facts), Decision::new(verdict, filing, event));
}

#[test]
fn row_2_more_minions_than_allowed_are_told_full() {
    let room = |connected, is_connected| Room {
        minions_max: 2,
        connected,
        is_connected,
    };
    let at = |room| Facts { room, ..ACCEPTED };
    check(at(room(3, false)), Verdict::Full, None, Some(Act::Full));
    check(at(room(3, true)), Verdict::Granted, None, Some(Act::Accept));
    check(
        at(room(2, false)),
        Verdict::Granted,
        None,
        Some(Act::Accept),
    );
}

#[test]
fn row_3_and_15_open_mode_takes_any_key() {
    let open = |known| Facts {
        known,
        open_mode: true,
        ..FACTS
    };
    for known in [
        KnownKey::None,
        KnownKey::Rejected,
        KnownKey::Accepted { same: false },
        KnownKey::Pending { same: false },
    ] {
        check(
            open(known),
            Verdict::Granted,
            Some(Filing::Accepted),
            Some(Act::Accept),
        );
    }
    check(
        open(KnownKey::Accepted { same: true }),
        Verdict::Granted,
        None,
        Some(Act::Accept),
    );
}

#[test]
fn row_4_a_rejected_key_is_refused_even_if_autosigned() {
    check(
        Facts {
            known: KnownKey::Rejected,
            autosign: true,
            ..FACTS
        },
        Verdict::Refused,
        None,
        Some(Act::Reject),
    );
}

#[test]
fn an_id_that_new_minions_may_not_have_is_taken_with_its_accepted_key_only() {
    let odd = |known, open_mode| Facts {
        known,
        open_mode,
        id_allowed: false,
        autosign: true,
        ..FACTS
    };
    for known in [
        KnownKey::None,
        KnownKey::Pending { same: true },
        KnownKey::Accepted { same: false },
        KnownKey::Rejected,
    ] {
        check(odd(known, false), Verdict::BadId, None, None);
        check(odd(known, true), Verdict::BadId, None, None);
    }
    check(
        odd(KnownKey::Accepted { same: true }, false),
        Verdict::Granted,
        None,
        Some(Act::Accept),
    );
}

#[test]
fn row_5_an_accepted_key_signs_in() {
    check(ACCEPTED, Verdict::Granted, None, Some(Act::Accept));
}

#[test]
fn row_6_another_key_for_an_accepted_id_is_denied() {
    for autosign in [false, true] {
        check(
            Facts {
                known: KnownKey::Accepted { same: false },
                autosign,
                ..FACTS
            },
            Verdict::Refused,
            Some(Filing::Denied),
            Some(Act::Denied),
        );
    }
}

#[test]
fn rows_7_and_10_autoreject_beats_autosign() {
    for known in [KnownKey::None, KnownKey::Pending { same: true }] {
        check(
            Facts {
                known,
                autoreject: true,
                autosign: true,
                ..FACTS
            },
            Verdict::Refused,
            Some(Filing::Rejected),
            Some(Act::Reject),
        );
    }
}

#[test]
fn rows_8_and_13_autosign_accepts_what_is_unknown_or_pending() {
    for known in [KnownKey::None, KnownKey::Pending { same: true }] {
        check(
            Facts {
                known,
                autosign: true,
                ..FACTS
            },
            Verdict::Granted,
            Some(Filing::Accepted),
            Some(Act::Accept),
        );
    }
}

#[test]
fn row_9_an_unknown_key_becomes_pending() {
    check(
        FACTS,
        Verdict::Pending,
        Some(Filing::Pending),
        Some(Act::Pend),
    );
}

#[test]
fn row_11_a_pending_key_keeps_waiting() {
    check(
        Facts {
            known: KnownKey::Pending { same: true },
            ..FACTS
        },
        Verdict::Pending,
        None,
        Some(Act::Pend),
    );
}

#[test]
fn row_12_another_key_for_a_pending_id_is_denied() {
    for autosign in [false, true] {
        check(
            Facts {
                known: KnownKey::Pending { same: false },
                autosign,
                ..FACTS
            },
            Verdict::Refused,
            Some(Filing::Denied),
            Some(Act::Denied),
        );
    }
}

#[test]
fn row_14_what_is_not_a_key_is_refused_and_never_stored() {
    for known in [
        KnownKey::None,
        KnownKey::Pending { same: true },
        KnownKey::Accepted { same: true },
        KnownKey::Accepted { same: false },
    ] {
        for open_mode in [false, true] {
            check(
                Facts {
                    known,
                    open_mode,
                    autosign: true,
                    key_usable: false,
                    ..FACTS
                },
                Verdict::Refused,
                None,
                None,
            );
        }
    }
}

#[test]
fn rows_16_and_17_unknown_algorithms_are_named() {
    check(
        Facts {
            enc_algo_known: false,
            ..ACCEPTED
        },
        Verdict::BadEncAlgo,
        None,
        None,
    );
    check(
        Facts {
            sig_algo_known: false,
            autosign: true,
            ..FACTS
        },
        Verdict::BadSigAlgo,
        Some(Filing::Accepted),
        Some(Act::Accept),
    );
}
