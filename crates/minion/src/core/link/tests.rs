//! The link under virtual time.

use super::*;

const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 1));
const PORT: u16 = 4505;

fn outputs(link: &mut Link) -> Vec<Output> {
    std::iter::from_fn(|| link.poll()).collect()
}

fn ready_link(now: Instant) -> Link {
    let mut link = Link::new(LinkTiming::default(), 1);
    link.handle(now, Input::Start);
    link.handle(now, Input::Resolved(ADDRESS));
    link.handle(now, Input::SignedIn { publish_port: PORT });
    link.handle(now, Input::Connected);
    assert!(link.is_ready());
    outputs(&mut link);
    link
}

#[test]
fn the_way_to_ready() {
    let now = Instant::now();
    let mut link = Link::new(LinkTiming::default(), 1);
    link.handle(now, Input::Start);
    assert_eq!(outputs(&mut link), [Output::Resolve]);
    link.handle(now, Input::Resolved(ADDRESS));
    assert_eq!(outputs(&mut link), [Output::SignIn { address: ADDRESS }]);
    link.handle(now, Input::SignedIn { publish_port: PORT });
    assert_eq!(
        outputs(&mut link),
        [Output::Subscribe {
            address: ADDRESS,
            port: PORT
        }]
    );
    assert_eq!(link.phase(), Phase::Subscribing);
    link.handle(now, Input::Connected);
    assert_eq!(outputs(&mut link), [Output::Ready { first: true }]);
    assert_eq!(link.next_timeout(), None);
}

#[test]
fn a_pending_key_is_said_once_and_tried_at_the_configured_pace() {
    let mut now = Instant::now();
    let timing = LinkTiming {
        acceptance_wait_time: Duration::from_secs(3),
        acceptance_wait_time_max: Duration::from_secs(7),
        ..LinkTiming::default()
    };
    let mut link = Link::new(timing, 1);
    link.handle(now, Input::Start);
    let mut pauses = Vec::new();
    let mut notices = 0;
    for _ in 0..4 {
        link.handle(now, Input::Resolved(ADDRESS));
        link.handle(now, Input::SignInFailed(SignInFailure::Pending));
        notices += outputs(&mut link)
            .iter()
            .filter(|o| matches!(o, Output::Say(_)))
            .count();
        let until = link.next_timeout().unwrap();
        pauses.push((until - now).as_secs());
        now = until;
        link.handle_timeout(now);
    }
    assert_eq!(pauses, [3, 6, 7, 7]);
    assert_eq!(notices, 1);
}

#[test]
fn a_lost_connection_signs_in_again_and_is_not_first() {
    let now = Instant::now();
    let mut link = ready_link(now);
    link.handle(now, Input::Disconnected);
    assert_eq!(
        outputs(&mut link),
        [Output::Lost, Output::Unsubscribe, Output::Resolve]
    );
    link.handle(now, Input::Resolved(ADDRESS));
    link.handle(now, Input::SignedIn { publish_port: PORT });
    link.handle(now, Input::Connected);
    assert_eq!(
        outputs(&mut link).last(),
        Some(&Output::Ready { first: false })
    );
}

#[test]
fn refused_credentials_are_renewed_once_without_losing_the_subscription() {
    let now = Instant::now();
    let mut link = ready_link(now);
    let later = now + RENEW_INTERVAL_MIN;
    link.handle(now, Input::Refused { credentials: 1 });
    assert_eq!(outputs(&mut link), [], "they are too young to be at fault");
    link.handle(later, Input::Refused { credentials: 1 });
    link.handle(later, Input::Refused { credentials: 1 });
    assert_eq!(outputs(&mut link), [Output::SignIn { address: ADDRESS }]);
    assert!(link.is_ready());
    link.handle(later, Input::SignedIn { publish_port: PORT });
    assert_eq!(outputs(&mut link), []);
    link.handle(
        later + RENEW_INTERVAL_MIN,
        Input::Refused { credentials: 1 },
    );
    assert_eq!(outputs(&mut link), [], "those were replaced already");
}

#[test]
fn sign_ins_after_new_keys_are_spread_where_it_is_wished() {
    let timing = LinkTiming {
        renew_spread: Duration::from_secs(60),
        ..LinkTiming::default()
    };
    let now = Instant::now();
    let mut link = Link::new(timing, 1);
    link.handle(now, Input::Start);
    link.handle(now, Input::Resolved(ADDRESS));
    link.handle(now, Input::SignedIn { publish_port: PORT });
    link.handle(now, Input::Connected);
    outputs(&mut link);
    let later = now + RENEW_INTERVAL_MIN;
    link.handle(later, Input::Refused { credentials: 1 });
    assert_eq!(outputs(&mut link), []);
    let at = link.next_timeout().unwrap();
    assert!(at > later && at <= later + Duration::from_secs(60));
    link.handle(later, Input::Refused { credentials: 1 });
    assert_eq!(link.next_timeout(), Some(at), "one at a time");
    link.handle_timeout(at);
    assert_eq!(outputs(&mut link), [Output::SignIn { address: ADDRESS }]);
    assert!(link.is_ready());
}

#[test]
fn a_name_without_an_address_is_looked_up_at_the_configured_pace() {
    let timing = LinkTiming {
        retry_dns: Some(Duration::from_secs(7)),
        retry_dns_count: Some(2),
        ..LinkTiming::default()
    };
    let mut now = Instant::now();
    let mut link = Link::new(timing, 1);
    link.handle(now, Input::Start);
    let mut pauses = Vec::new();
    for _ in 0..3 {
        link.handle(now, Input::NotResolved("no such host".to_owned()));
        let at = link.next_timeout().unwrap();
        pauses.push((at - now).as_secs());
        now = at;
        link.handle_timeout(now);
    }
    assert_eq!(pauses, [7, 60, 60]);
}

#[test]
fn a_master_that_is_starting_has_as_many_tries_as_are_wished() {
    let timing = LinkTiming {
        sign_in_tries: 3,
        ..LinkTiming::default()
    };
    let stuck = Output::Say(Notice::NoAnswer);
    let mut now = Instant::now();
    let mut link = Link::new(timing, 1);
    link.handle(now, Input::Start);
    for tries in 1..=3 {
        link.handle(now, Input::Resolved(ADDRESS));
        link.handle(now, Input::SignInFailed(SignInFailure::NoAnswer));
        let is_stuck = outputs(&mut link).contains(&stuck);
        assert_eq!(is_stuck, tries == 3, "{tries}");
        now = link.next_timeout().unwrap();
        link.handle_timeout(now);
    }
    // What a master says counts at once.
    let mut link = Link::new(
        LinkTiming {
            sign_in_tries: 3,
            ..LinkTiming::default()
        },
        1,
    );
    link.handle(now, Input::Start);
    link.handle(now, Input::Resolved(ADDRESS));
    link.handle(now, Input::SignInFailed(SignInFailure::Full));
    assert!(outputs(&mut link).contains(&Output::Say(Notice::Full)));
}

#[test]
fn a_link_that_only_asks_is_ready_once_signed_in() {
    let now = Instant::now();
    let timing = LinkTiming {
        subscribes: false,
        ..LinkTiming::default()
    };
    let mut link = Link::new(timing, 1);
    link.handle(now, Input::Start);
    link.handle(now, Input::Resolved(ADDRESS));
    link.handle(now, Input::SignedIn { publish_port: PORT });
    let all = outputs(&mut link);
    assert_eq!(all.last(), Some(&Output::Ready { first: true }));
    assert!(
        !all.iter()
            .any(|output| matches!(output, Output::Subscribe { .. }))
    );
}

#[test]
fn a_connected_master_that_never_answers_is_lost() {
    let mut now = Instant::now();
    let timing = LinkTiming {
        alive_interval: Some(Duration::from_secs(5)),
        ..LinkTiming::default()
    };
    let mut link = Link::new(timing, 1);
    link.handle(now, Input::Start);
    link.handle(now, Input::Resolved(ADDRESS));
    link.handle(now, Input::SignedIn { publish_port: PORT });
    link.handle(now, Input::Connected);
    outputs(&mut link);
    for answers in [true, false] {
        now = link.next_timeout().unwrap();
        link.handle_timeout(now);
        assert_eq!(outputs(&mut link), [Output::Ping]);
        assert_eq!(link.next_timeout(), None, "one ping at a time");
        link.handle(now, Input::Pinged(answers));
    }
    assert_eq!(
        outputs(&mut link),
        [Output::Ping],
        "one missed answer is chance"
    );
    link.handle(now, Input::Pinged(false));
    let all = outputs(&mut link);
    assert_eq!(all.first(), Some(&Output::Lost), "{all:?}");
    assert!(link.next_timeout().is_some());
    link.handle(now, Input::Pinged(true));
    assert_eq!(outputs(&mut link), [], "too late to matter");
}

#[test]
fn a_moved_publish_port_is_followed() {
    let now = Instant::now();
    let mut link = ready_link(now);
    let later = now + RENEW_INTERVAL_MIN;
    link.handle(later, Input::Refused { credentials: 1 });
    link.handle(
        later,
        Input::SignedIn {
            publish_port: PORT + 1,
        },
    );
    let all = outputs(&mut link);
    assert_eq!(
        all.last(),
        Some(&Output::Subscribe {
            address: ADDRESS,
            port: PORT + 1
        })
    );
}

#[test]
fn a_rejected_key_is_reported_and_still_tried() {
    let now = Instant::now();
    let mut link = Link::new(LinkTiming::default(), 1);
    link.handle(now, Input::Start);
    link.handle(now, Input::Resolved(ADDRESS));
    link.handle(now, Input::SignInFailed(SignInFailure::Rejected));
    let all = outputs(&mut link);
    assert!(all.contains(&Output::RefusedForGood), "{all:?}");
    assert!(link.next_timeout().is_some());
}

/// Whatever arrives in whatever order, the link never gets stuck: it is
/// ready, waits for an answer it asked for, or has a timer.
#[test]
fn no_order_of_events_leaves_a_link_stuck() {
    for seed in 0..3000 {
        let mut chance = Chance::new(seed);
        let mut now = Instant::now();
        let mut link = Link::new(LinkTiming::default(), seed);
        link.handle(now, Input::Start);
        let mut signing_in = false;
        for _ in 0..60 {
            for output in outputs(&mut link) {
                signing_in |= matches!(output, Output::SignIn { .. });
            }
            let stuck = !link.is_ready() && !signing_in && link.next_timeout().is_none();
            assert!(!stuck, "seed {seed}: {link:?}");
            now += chance.up_to(Duration::from_secs(4));
            let input = match chance.next_u64() % 10 {
                0 => Input::Resolved(ADDRESS),
                1 => Input::NotResolved("no such host".to_owned()),
                2 | 3 if signing_in => Input::SignedIn { publish_port: PORT },
                4 if signing_in => Input::SignInFailed(SignInFailure::NoAnswer),
                5 if signing_in => Input::SignInFailed(SignInFailure::Mistrusted("x".into())),
                6 => Input::Connected,
                7 => Input::Disconnected,
                8 => Input::Refused {
                    credentials: link.credentials(),
                },
                _ => {
                    link.handle_timeout(now);
                    continue;
                }
            };
            if matches!(input, Input::SignedIn { .. } | Input::SignInFailed(_)) {
                signing_in = false;
            }
            link.handle(now, input);
        }
    }
}

/// How long a link pauses after its sign-in has failed so.
fn pause_after(timing: LinkTiming, failure: SignInFailure) -> (Duration, Vec<Output>) {
    let now = Instant::now();
    let mut link = Link::new(timing, 1);
    link.handle(now, Input::Start);
    link.handle(now, Input::Resolved(ADDRESS));
    outputs(&mut link);
    link.handle(now, Input::SignInFailed(failure));
    assert_eq!(link.phase(), Phase::Paused);
    let pause = link.next_timeout().unwrap() - now;
    (pause, outputs(&mut link))
}

#[test]
fn a_busy_master_says_when_to_come_again_and_keeps_nobody_for_long() {
    let pause_of = |wait| {
        let busy = SignInFailure::Busy(Duration::from_millis(wait));
        let (pause, said) = pause_after(LinkTiming::default(), busy);
        assert_eq!(said, [Output::Say(Notice::Busy)]);
        pause
    };
    // What it says, and up to an eighth more.
    for wait in [1_000, 5_000, 60_000] {
        let asked = Duration::from_millis(wait);
        let pause = pause_of(wait);
        assert!(pause >= asked && pause <= asked * 9 / 8, "{pause:?}");
    }
    // No sooner than without an answer, and no later than the limit.
    assert!(pause_of(0) >= RETRY_FIRST / 2);
    assert!(pause_of(u64::MAX) <= COME_AGAIN_MAX * 9 / 8);
    // A program that only asks waits no longer than for a master that is away.
    let asks = LinkTiming {
        subscribes: false,
        ..LinkTiming::default()
    };
    let max = asks.retry_max * 9 / 8;
    let (pause, _) = pause_after(asks, SignInFailure::Busy(Duration::MAX));
    assert!(pause <= max, "{pause:?}");
}

#[test]
fn a_master_that_is_always_busy_is_asked_ever_less_often() {
    let mut now = Instant::now();
    let mut link = Link::new(LinkTiming::default(), 1);
    link.handle(now, Input::Start);
    let mut pause = Duration::ZERO;
    for _ in 0..20 {
        link.handle(now, Input::Resolved(ADDRESS));
        link.handle(
            now,
            Input::SignInFailed(SignInFailure::Busy(Duration::ZERO)),
        );
        let until = link.next_timeout().unwrap();
        pause = until - now;
        now = until;
        link.handle_timeout(now);
    }
    assert!(pause >= LinkTiming::default().retry_max / 2, "{pause:?}");
    link.handle(now, Input::Resolved(ADDRESS));
    link.handle(now, Input::SignedIn { publish_port: PORT });
    link.handle(now, Input::Connected);
    assert!(link.is_ready());
}

#[test]
fn sign_in_tries_count_a_busy_master_as_one_that_does_not_answer() {
    let timing = LinkTiming {
        sign_in_tries: 2,
        ..LinkTiming::default()
    };
    let busy = SignInFailure::Busy(Duration::from_secs(1));
    let (_, said) = pause_after(timing, busy);
    assert_eq!(said, []);
}
