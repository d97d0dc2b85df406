use std::net::IpAddr;

use super::*;

/// A limit that keeps no places for anybody.
fn limit_of(all: usize) -> Arc<ConnectionLimit> {
    Arc::new(ConnectionLimit::new(Places {
        all,
        subscriptions: all,
        others: all,
    }))
}

/// A request that comes from there.
fn asks(from: Option<IpAddr>) -> Arrival {
    Arrival::new(from, Some(IpAddr::from([10, 255, 0, 1])), Port::Requests)
}

/// A subscription from there.
fn subscribes(from: Option<IpAddr>) -> Arrival {
    Arrival {
        port: Port::Subscriptions,
        ..asks(from)
    }
}

fn is_given_up(permit: &ConnectionPermit) -> bool {
    let counted = permit.limit.lock();
    let held = counted.by_origin.get(&permit.origin());
    !held.is_some_and(|held| held.contains_key(&permit.number))
}

/// Ends what has to end, as their tasks do; which ones.
fn close_given_up(held: &mut [Option<ConnectionPermit>]) -> Vec<usize> {
    let mut ended = Vec::new();
    for (n, permit) in held.iter_mut().enumerate() {
        if permit.as_ref().is_some_and(is_given_up) {
            *permit = None;
            ended.push(n);
        }
    }
    ended
}

/// A minion of a herd has two connections, and the limit is below that.
#[test]
fn spare_connections_end_where_all_places_are_taken() {
    const MINIONS: usize = 1000;
    let limit = limit_of(MINIONS + MINIONS / 2);
    let address = |n: usize| {
        let [.., high, low] = u32::try_from(n).unwrap().to_be_bytes();
        Some(IpAddr::from([10, 0, high, low]))
    };
    let (mut publications, mut requests) = (Vec::new(), Vec::new());
    for n in 0..MINIONS {
        let permit = limit.admit(asks(address(n))).unwrap();
        permit.spare_from(Instant::now());
        requests.push(Some(permit));
        close_given_up(&mut requests);
        publications.push(limit.admit(asks(address(n))).unwrap());
        close_given_up(&mut requests);
        assert!(limit.lock().all <= MINIONS + MINIONS / 2);
    }
    // No subscription, and not many more requesters than places were wanted.
    assert!(!publications.iter().any(is_given_up));
    let ended = requests.iter().filter(|permit| permit.is_none()).count();
    let wanted = MINIONS / 2..MINIONS / 2 + SPARE_CONNECTIONS_ENDED;
    assert!(wanted.contains(&ended), "{ended}");
    // What is busy stays.
    let later = Instant::now() + std::time::Duration::from_secs(1);
    for permit in requests.iter().flatten() {
        permit.spare_from(later);
    }
    let more: Vec<_> = (0..MINIONS)
        .map_while(|n| limit.admit(asks(address(n))))
        .collect();
    assert_eq!(limit.lock().all, MINIONS + MINIONS / 2);
    assert!(more.len() < MINIONS);
    drop((publications, requests, more));
    assert_eq!(limit.lock().all, 0);
}

#[test]
fn one_address_does_not_take_all_places() {
    let limit = limit_of(4);
    let (bad, good) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let held: Vec<_> = (0..2)
        .map(|_| limit.admit(asks(Some(bad))).unwrap())
        .collect();
    assert!(limit.admit(asks(Some(bad))).is_none());
    let other = limit.admit(asks(Some(good))).unwrap();
    let local = limit.admit(asks(None)).unwrap();
    assert!(limit.admit(asks(None)).is_none());
    drop((held, other, local));
    assert_eq!(limit.lock().all, 0);
    assert!(limit.lock().by_origin.is_empty());
}

#[test]
fn a_few_addresses_leave_a_place_to_everybody_else() {
    const MAX: usize = 100;
    let limit = limit_of(MAX);
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let mut held: Vec<_> = (0..MAX)
        .map(|n| limit.admit(asks(from(if n < MAX / 2 { 1 } else { 2 }))))
        .collect();
    // Both have all of them; whoever comes gets a few.
    let mut ended = Vec::new();
    for minion in 3..=6 {
        for _ in 0..4 {
            let permit = limit.admit(asks(from(minion)));
            assert!(permit.is_some());
            held.push(permit);
            ended.extend(close_given_up(&mut held));
        }
    }
    assert_eq!(limit.lock().all, MAX);
    assert_eq!(ended.len(), 16);
    // The newest of the two that had most, and nobody else's.
    assert!(
        ended
            .iter()
            .all(|n| (42..50).contains(n) || (92..100).contains(n)),
        "{ended:?}"
    );
    held.clear();
    let state = limit.lock();
    assert_eq!((state.all, state.closing), (0, 0));
}

#[test]
fn who_has_most_gives_up_before_those_who_have_few() {
    const MAX: usize = 100;
    let limit = limit_of(MAX);
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let minions = (1..=50).map(|last| limit.admit(asks(from(last))));
    let stranger = (0..50).map(|_| limit.admit(asks(from(99))));
    let mut held: Vec<_> = minions.chain(stranger).collect();
    let idle = held[..50].iter().chain(&held[60..62]).flatten();
    idle.for_each(|permit| permit.spare_from(Instant::now()));
    let mut ended = Vec::new();
    for last in 101..=104 {
        held.push(limit.admit(asks(from(last))));
        ended.extend(close_given_up(&mut held));
    }
    // What is spare of theirs, and then the newest.
    ended[..2].sort_unstable();
    assert_eq!(ended, [60, 61, 99, 98]);
}

/// Connections that were told to end hold their descriptors until they have ended.
#[test]
fn nobody_comes_while_too_many_have_not_ended_yet() {
    const MAX: usize = 320;
    let limit = limit_of(MAX);
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let mut held: Vec<_> = (0..MAX)
        .map(|n| limit.admit(asks(from(u8::try_from(n % 40).unwrap()))))
        .collect();
    for permit in held.iter().flatten() {
        permit.spare_from(Instant::now());
    }
    held.push(limit.admit(asks(from(99))));
    assert!(limit.lock().closing > MAX / PART_CLOSING);
    assert!(limit.admit(asks(from(99))).is_none());
    close_given_up(&mut held);
    assert_eq!(limit.lock().closing, 0);
    assert!(limit.admit(asks(from(99))).is_some());
}

/// Whoever is turned away comes again at once: that must not cost a look at all.
#[test]
fn nobody_looks_again_at_once_where_nothing_was_spare() {
    const MAX: usize = 40;
    let limit = limit_of(MAX);
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let held: Vec<_> = (0..MAX)
        .map(|n| limit.admit(asks(from(u8::try_from(n).unwrap()))).unwrap())
        .collect();
    assert!(limit.admit(asks(from(99))).is_none());
    held[0].spare_from(Instant::now());
    assert!(limit.admit(asks(from(99))).is_none());
    // After the pause.
    limit.lock().no_spare_until_ms = 0;
    assert!(limit.admit(asks(from(99))).is_some());
    assert!(is_given_up(&held[0]));
}

#[test]
fn who_has_most_is_known_whatever_came_and_went() {
    let limit = limit_of(100);
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let mut held: Vec<_> = (0..60_u8).map(|n| limit.admit(asks(from(n % 7)))).collect();
    held.retain(|permit| permit.as_ref().is_some_and(|permit| permit.number % 3 != 0));
    let state = limit.lock();
    let counted = state.by_origin.iter().map(|(at, held)| (held.len(), *at));
    assert_eq!(state.by_count, counted.collect::<BTreeSet<_>>());
    drop(state);
    held.clear();
    assert!(limit.lock().by_count.is_empty());
}

#[test]
fn nobody_who_has_few_gives_one_up() {
    let limit = limit_of(2 * CONNECTIONS_KEPT_PER_ORIGIN);
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let of = |last| (0..CONNECTIONS_KEPT_PER_ORIGIN).map(move |_| from(last));
    let held: Vec<_> = of(1)
        .chain(of(2))
        .map(|at| limit.admit(asks(at)).unwrap())
        .collect();
    assert!(limit.admit(asks(from(3))).is_none());
    drop(held);
    assert!(limit.admit(asks(from(3))).is_some());
}

/// With 256 open files, as where nobody has raised them.
#[test]
fn minions_leave_places_to_returns_and_to_programs_of_this_machine() {
    let places = Places::of_open_files(256);
    assert_eq!(
        (places.all, places.others, places.subscriptions),
        (128, 112, 96)
    );
    let limit = Arc::new(ConnectionLimit::new(places));
    let minion = |last| Some(IpAddr::from([10, 0, 0, last]));
    let come = |arrival: fn(Option<IpAddr>) -> Arrival| {
        let all = (0..200).map_while(|last| limit.admit(arrival(minion(last))));
        all.collect::<Vec<_>>()
    };
    let subscribed = come(subscribes);
    assert_eq!(subscribed.len(), 96);
    let asking = come(asks);
    assert_eq!(asking.len(), 16);
    let own = || limit.admit(asks(Some(IpAddr::from([127, 0, 0, 1]))));
    let salt: Vec<_> = (0..200).map_while(|_| own()).collect();
    assert_eq!(salt.len(), 16);
    // Who goes makes room for who is like it.
    drop(salt);
    assert!(limit.admit(asks(minion(201))).is_none());
    assert!(own().is_some());
    drop(subscribed);
    assert!(limit.admit(subscribes(minion(201))).is_some());
    drop(asking);
    let state = limit.lock();
    assert_eq!((state.all, state.own, state.subscriptions), (0, 0, 0));
}

#[test]
fn spare_connections_of_programs_of_this_machine_end_for_such_programs_only() {
    let limit = Arc::new(ConnectionLimit::new(Places::new(16)));
    let own = || asks(Some(IpAddr::from([127, 0, 0, 1])));
    let kept: Vec<_> = (0..2).map(|_| limit.admit(own()).unwrap()).collect();
    let minion = |last| asks(Some(IpAddr::from([10, 0, 0, last])));
    let others: Vec<_> = (0..14)
        .map_while(|last| limit.admit(minion(last)))
        .collect();
    assert_eq!(others.len(), 14);
    kept.iter()
        .for_each(|permit| permit.spare_from(Instant::now()));
    assert!(limit.admit(minion(99)).is_none());
    assert!(!kept.iter().any(is_given_up));
    limit.lock().no_spare_until_ms = 0;
    assert!(limit.admit(own()).is_some());
    assert!(kept.iter().all(is_given_up));
}

#[test]
fn who_has_its_share_gives_up_what_it_does_not_need() {
    let limit = limit_of(64);
    let from = asks(Some(IpAddr::from([10, 0, 0, 1])));
    let held: Vec<_> = (0..32).map(|_| limit.admit(from).unwrap()).collect();
    assert!(limit.admit(from).is_none());
    held[1].spare_from(Instant::now());
    let next = limit.admit(from);
    assert!(next.is_some() && is_given_up(&held[1]) && !is_given_up(&held[0]));
}

#[test]
fn one_who_subscribes_very_often_leaves_places_to_minions() {
    let limit = Arc::new(ConnectionLimit::new(Places::of_open_files(256)));
    let stranger = |last| Some(IpAddr::from([10, 0, 0, last]));
    let held: Vec<_> = (0..96)
        .map_while(|n| limit.admit(subscribes(stranger(n % 2))))
        .collect();
    assert_eq!(held.len(), 96);
    assert!(limit.admit(subscribes(stranger(9))).is_some());
    assert_eq!(held.iter().filter(|permit| is_given_up(permit)).count(), 1);
}

#[test]
fn programs_of_this_machine_are_known_by_their_addresses() {
    let ip = |text: &str| Some(text.parse::<IpAddr>().unwrap());
    let is_own = |from, to| Arrival::new(from, to, Port::Requests).is_own;
    assert!(is_own(None, None));
    assert!(is_own(ip("127.0.0.1"), ip("127.0.0.9")));
    assert!(is_own(ip("::ffff:127.0.0.1"), ip("::ffff:127.0.0.1")));
    assert!(is_own(ip("::1"), ip("::1")));
    assert!(is_own(ip("10.0.0.7"), ip("10.0.0.7")));
    assert!(!is_own(ip("10.0.0.8"), ip("10.0.0.7")));
    assert!(!is_own(ip("10.0.0.8"), None));
}
