use super::*;

fn is_given_up(permit: &ConnectionPermit) -> bool {
    let counted = permit.limit.lock();
    let held = counted.by_origin.get(&permit.origin);
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
    let limit = Arc::new(ConnectionLimit::new(MINIONS + MINIONS / 2));
    let address = |n: usize| {
        let [.., high, low] = u32::try_from(n).unwrap().to_be_bytes();
        Some(IpAddr::from([10, 0, high, low]))
    };
    let (mut publications, mut requests) = (Vec::new(), Vec::new());
    for n in 0..MINIONS {
        let permit = limit.admit(address(n)).unwrap();
        permit.spare_from(Instant::now());
        requests.push(Some(permit));
        close_given_up(&mut requests);
        publications.push(limit.admit(address(n)).unwrap());
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
        .map_while(|n| limit.admit(address(n)))
        .collect();
    assert_eq!(limit.lock().all, MINIONS + MINIONS / 2);
    assert!(more.len() < MINIONS);
    drop((publications, requests, more));
    assert_eq!(limit.lock().all, 0);
}

#[test]
fn one_address_does_not_take_all_places() {
    let limit = Arc::new(ConnectionLimit::new(4));
    let (bad, good) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let held: Vec<_> = (0..2).map(|_| limit.admit(Some(bad)).unwrap()).collect();
    assert!(limit.admit(Some(bad)).is_none());
    let other = limit.admit(Some(good)).unwrap();
    let local = limit.admit(None).unwrap();
    assert!(limit.admit(None).is_none());
    drop((held, other, local));
    assert_eq!(limit.lock().all, 0);
    assert!(limit.lock().by_origin.is_empty());
}

#[test]
fn a_few_addresses_leave_a_place_to_everybody_else() {
    const MAX: usize = 100;
    let limit = Arc::new(ConnectionLimit::new(MAX));
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let mut held: Vec<_> = (0..MAX)
        .map(|n| limit.admit(from(if n < MAX / 2 { 1 } else { 2 })))
        .collect();
    // Both have all of them; whoever comes gets a few.
    let mut ended = Vec::new();
    for minion in 3..=6 {
        for _ in 0..4 {
            let permit = limit.admit(from(minion));
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
    let limit = Arc::new(ConnectionLimit::new(MAX));
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let minions = (1..=50).map(|last| limit.admit(from(last)));
    let stranger = (0..50).map(|_| limit.admit(from(99)));
    let mut held: Vec<_> = minions.chain(stranger).collect();
    let idle = held[..50].iter().chain(&held[60..62]).flatten();
    idle.for_each(|permit| permit.spare_from(Instant::now()));
    let mut ended = Vec::new();
    for last in 101..=104 {
        held.push(limit.admit(from(last)));
        ended.extend(close_given_up(&mut held));
    }
    // What is spare of theirs, and then the newest.
    ended[..2].sort_unstable();
    assert_eq!(ended, [60, 61, 99, 98]);
}

/// Those that are told to end hold their descriptors until they have.
#[test]
fn nobody_comes_while_too_many_have_not_ended_yet() {
    const MAX: usize = 320;
    let limit = Arc::new(ConnectionLimit::new(MAX));
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let mut held: Vec<_> = (0..MAX)
        .map(|n| limit.admit(from(u8::try_from(n % 40).unwrap())))
        .collect();
    for permit in held.iter().flatten() {
        permit.spare_from(Instant::now());
    }
    held.push(limit.admit(from(99)));
    assert!(limit.lock().closing > MAX / PART_CLOSING);
    assert!(limit.admit(from(99)).is_none());
    close_given_up(&mut held);
    assert_eq!(limit.lock().closing, 0);
    assert!(limit.admit(from(99)).is_some());
}

/// Whoever is turned away comes again at once: that must not cost a look at all.
#[test]
fn nobody_looks_again_at_once_where_nothing_was_spare() {
    const MAX: usize = 40;
    let limit = Arc::new(ConnectionLimit::new(MAX));
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let held: Vec<_> = (0..MAX)
        .map(|n| limit.admit(from(u8::try_from(n).unwrap())).unwrap())
        .collect();
    assert!(limit.admit(from(99)).is_none());
    held[0].spare_from(Instant::now());
    assert!(limit.admit(from(99)).is_none());
    // After the pause.
    limit.lock().no_spare_until_ms = 0;
    assert!(limit.admit(from(99)).is_some());
    assert!(is_given_up(&held[0]));
}

#[test]
fn who_has_most_is_known_whatever_came_and_went() {
    let limit = Arc::new(ConnectionLimit::new(100));
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let mut held: Vec<_> = (0..60_u8).map(|n| limit.admit(from(n % 7))).collect();
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
    let limit = Arc::new(ConnectionLimit::new(2 * CONNECTIONS_KEPT_PER_ORIGIN));
    let from = |last| Some(IpAddr::from([10, 0, 0, last]));
    let of = |last| (0..CONNECTIONS_KEPT_PER_ORIGIN).map(move |_| from(last));
    let held: Vec<_> = of(1)
        .chain(of(2))
        .map(|at| limit.admit(at).unwrap())
        .collect();
    assert!(limit.admit(from(3)).is_none());
    drop(held);
    assert!(limit.admit(from(3)).is_some());
}
