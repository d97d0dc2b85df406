use super::*;

const NOW: Duration = Duration::from_secs(100);
const LATE: Duration = Duration::from_secs(161);

fn waiting() -> Waiting {
    waiting_of(Bounds {
        bytes_max: 2000,
        age_max: Duration::from_secs(60),
        request_bytes_max: 100,
        tries_max: 3,
    })
}

fn waiting_of(bounds: Bounds) -> Waiting {
    Waiting::new(bounds, 2)
}

fn put<const N: usize>(waiting: &mut Waiting, event: i64, there: [usize; N]) {
    waiting.put(NOW, &[event.into()], there.into()).unwrap();
}

fn text(len: usize) -> Value {
    "x".repeat(len).into()
}

fn next(waiting: &mut Waiting, master: usize, ready: &[usize]) -> Option<Parcel> {
    waiting.next_for(NOW, master, |m| ready.contains(&m))
}

/// Sends a master what it may have; returns that.
fn take(waiting: &mut Waiting, master: usize, ready: &[usize]) -> Vec<Value> {
    let mut taken = Vec::new();
    while let Some(parcel) = next(waiting, master, ready) {
        waiting.arrived(&parcel.numbers, master);
        taken.extend(parcel.events);
    }
    taken
}

fn values<const N: usize>(values: [i64; N]) -> Vec<Value> {
    values.map(Value::from).to_vec()
}

fn untold(surely: usize, perhaps: usize) -> Untold {
    Untold { surely, perhaps }
}

const KNOWN: Failure = Failure::InDoubt {
    is_known_again: true,
};
const UNKNOWN: Failure = Failure::InDoubt {
    is_known_again: false,
};

#[test]
fn each_master_that_was_there_has_each_event_once_and_in_order() {
    let mut waiting = waiting();
    for event in [1, 2] {
        put(&mut waiting, event, [0, 1]);
    }
    put(&mut waiting, 3, [1]);
    assert!(waiting.is_busy(&[0].into()));
    assert_eq!(take(&mut waiting, 1, &[0, 1]), values([1, 2, 3]));
    assert_eq!(waiting.untold(), untold(0, 0));
    assert!(waiting.is_busy(&[0].into()) && !waiting.is_busy(&[1].into()));
    // It was gone for a while; the third event was not owed to it.
    assert_eq!(take(&mut waiting, 0, &[0, 1]), values([1, 2]));
    assert_eq!((waiting.batches.len(), waiting.bytes), (0, 0));
    assert!(!waiting.is_busy(&[0, 1].into()));
}

#[test]
fn while_nobody_is_there_the_first_that_comes_has_them() {
    let mut waiting = waiting();
    put(&mut waiting, 1, []);
    let first = next(&mut waiting, 1, &[0, 1]).unwrap();
    put(&mut waiting, 2, []);
    let second = next(&mut waiting, 0, &[0, 1]).unwrap();
    assert_eq!(
        (&first.numbers[..], &second.numbers[..]),
        (&[0][..], &[1][..])
    );
    assert_eq!(waiting.untold(), untold(0, 2));
    waiting.failed(&second.numbers, 0, Failure::NotSent);
    assert_eq!(waiting.untold(), untold(1, 1));
    waiting.arrived(&first.numbers, 1);
    assert_eq!(take(&mut waiting, 0, &[0, 1]), values([2]));
    assert_eq!(waiting.batches.len(), 0);
}

#[test]
fn another_has_what_nobody_has_once_its_masters_are_gone() {
    let mut waiting = waiting();
    put(&mut waiting, 1, [0]);
    put(&mut waiting, 2, [0, 1]);
    assert_eq!(take(&mut waiting, 1, &[0, 1]), values([2]));
    assert_eq!(take(&mut waiting, 1, &[1]), values([1]));
    assert_eq!(waiting.untold(), untold(0, 0));
    // It may have had them already; it gets them in order all the same.
    assert_eq!(take(&mut waiting, 0, &[0, 1]), values([1, 2]));
}

#[test]
fn the_oldest_make_room_and_what_is_too_old_goes() {
    let mut waiting = waiting();
    waiting
        .put(NOW, &[text(400), 1.into()], [0].into())
        .unwrap();
    waiting.put(NOW, &[text(400)], [].into()).unwrap();
    assert_eq!(waiting.take_lost(), untold(0, 0));
    // What it takes beside its events counts too.
    waiting.put(NOW, &[text(600)], [].into()).unwrap();
    assert_eq!(waiting.take_lost(), untold(2, 0));
    assert_eq!(waiting.untold(), untold(2, 0));
    // One that is larger than all may be is kept alone.
    waiting.put(NOW, &[text(4000)], [].into()).unwrap();
    assert_eq!(waiting.take_lost(), untold(2, 0));
    assert_eq!(waiting.next_for(LATE, 0, |_| true), None, "it is too old");
    assert_eq!(waiting.take_lost(), untold(1, 0));
    assert_eq!((waiting.batches.len(), waiting.bytes), (0, 0));
    // What a master has is not lost.
    put(&mut waiting, 1, [0, 1]);
    assert_eq!(take(&mut waiting, 0, &[0]), values([1]));
    assert_eq!(waiting.next_for(LATE, 1, |_| true), None);
    assert_eq!(waiting.take_lost(), untold(0, 0));
    assert_eq!(waiting.batches.len(), 0);
}

#[test]
fn what_is_on_its_way_is_neither_too_old_nor_in_the_way() {
    let mut waiting = waiting();
    waiting.put(NOW, &[text(1500)], [0].into()).unwrap();
    let parcel = next(&mut waiting, 0, &[0]).unwrap();
    waiting.put(LATE, &[text(1500)], [0].into()).unwrap();
    assert_eq!(waiting.untold(), untold(1, 1));
    waiting.failed(&parcel.numbers, 0, KNOWN);
    let next = waiting.next_for(LATE, 0, |_| true).unwrap();
    assert_eq!(next.numbers, [1]);
    assert_eq!(waiting.take_lost(), untold(0, 1), "it may have arrived");
}

#[test]
fn what_waits_goes_in_few_requests() {
    let mut waiting = waiting();
    for event in [1, 2] {
        put(&mut waiting, event, [0]);
    }
    waiting.put(NOW, &[text(97)], [0].into()).unwrap();
    waiting.put(NOW, &[text(200)], [].into()).unwrap();
    let numbers: Vec<Vec<u64>> =
        std::iter::from_fn(|| next(&mut waiting, 0, &[0]).map(|p| p.numbers)).collect();
    assert_eq!(numbers, [vec![0, 1], vec![2], vec![3]]);
}

#[test]
fn what_may_have_arrived_goes_again_with_what_it_went_with() {
    let mut waiting = waiting();
    for event in [1, 2] {
        put(&mut waiting, event, [0]);
    }
    let parcel = next(&mut waiting, 0, &[0]).unwrap();
    put(&mut waiting, 3, [0]);
    for _ in 0..10 {
        assert_eq!(waiting.failed(&parcel.numbers, 0, KNOWN), 0);
        assert_eq!(next(&mut waiting, 0, &[0]).as_ref(), Some(&parcel));
    }
    waiting.arrived(&parcel.numbers, 0);
    assert_eq!(take(&mut waiting, 0, &[0]), values([3]));
}

#[test]
fn what_may_have_arrived_in_parts_does_not_go_as_a_whole() {
    let mut waiting = waiting();
    put(&mut waiting, 1, [0]);
    put(&mut waiting, 2, [1]);
    put(&mut waiting, 3, [0]);
    let mut fails = |ready: &[usize]| {
        let parcel = next(&mut waiting, 0, ready).unwrap();
        waiting.failed(&parcel.numbers, 0, KNOWN);
        parcel.numbers
    };
    assert_eq!(fails(&[0, 1]), [0, 2]);
    // What is owed to one that is gone comes between them.
    assert_eq!(fails(&[0]), [0]);
    assert_eq!(
        fails(&[0, 1]),
        [0],
        "the master may have one without the other"
    );
}

#[test]
fn what_another_has_told_meanwhile_does_not_stay() {
    let mut waiting = waiting();
    put(&mut waiting, 1, [1]);
    let lent = next(&mut waiting, 0, &[0]).unwrap();
    // Its own master is back.
    let owed = next(&mut waiting, 1, &[0, 1]).unwrap();
    waiting.arrived(&owed.numbers, 1);
    waiting.failed(&lent.numbers, 0, Failure::NotSent);
    assert_eq!(waiting.bytes, 0);
    assert_eq!(waiting.take_lost(), untold(0, 0));
}

#[test]
fn a_master_that_would_not_know_it_is_asked_as_often_as_salt_asks() {
    let mut waiting = waiting();
    put(&mut waiting, 1, [0]);
    for try_ in 1..=3 {
        let parcel = next(&mut waiting, 0, &[0]).unwrap();
        // What was not sent does not count.
        waiting.failed(&parcel.numbers, 0, Failure::NotSent);
        let parcel = next(&mut waiting, 0, &[0]).unwrap();
        let given_up = waiting.failed(&parcel.numbers, 0, UNKNOWN);
        assert_eq!(given_up, usize::from(try_ == 3));
    }
    put(&mut waiting, 2, [0]);
    assert_eq!(take(&mut waiting, 0, &[0]), values([2]));
    assert_eq!(waiting.untold(), untold(0, 1));
    // Another may have it.
    assert_eq!(take(&mut waiting, 1, &[0, 1]), values([1]));
    assert_eq!(waiting.batches.len(), 0);
}

#[test]
fn what_no_master_takes_does_not_stay() {
    let mut waiting = waiting();
    for event in [1, 2, 3] {
        put(&mut waiting, event, [0, 1]);
    }
    for master in [0, 1] {
        let joined = next(&mut waiting, master, &[0, 1]).unwrap();
        assert_eq!(joined.numbers, [0, 1, 2]);
        // One of them is to blame, and which is seen when each goes alone.
        assert_eq!(waiting.failed(&joined.numbers, master, Failure::Refused), 0);
        let mut taken = Vec::new();
        let mut refused = 0;
        while let Some(parcel) = next(&mut waiting, master, &[0, 1]) {
            assert_eq!(parcel.numbers.len(), 1);
            if parcel.numbers == [1] {
                refused += 1;
                waiting.failed(&parcel.numbers, master, Failure::Refused);
            } else {
                waiting.arrived(&parcel.numbers, master);
                taken.extend(parcel.events);
            }
        }
        assert_eq!((taken, refused), (values([1, 3]), 3));
    }
    assert_eq!(waiting.take_lost(), untold(1, 0));
    assert_eq!((waiting.batches.len(), waiting.bytes), (0, 0));
    put(&mut waiting, 4, []);
    for master in [0, 1] {
        let parcel = next(&mut waiting, master, &[0, 1]).unwrap();
        assert_eq!(waiting.failed(&parcel.numbers, master, Failure::Never), 1);
    }
    assert_eq!(waiting.take_lost(), untold(1, 0));
}

#[test]
fn what_cannot_be_packed_is_lost_alone() {
    let mut deep = Value::Nil;
    for _ in 0..1000 {
        deep = vec![deep].into();
    }
    let mut waiting = waiting();
    assert!(
        waiting
            .put(NOW, &[1.into(), deep.clone()], [0].into())
            .is_err()
    );
    assert!(waiting.put(NOW, &[deep], [0].into()).is_err());
    assert_eq!(waiting.take_lost(), untold(2, 0));
    assert_eq!(take(&mut waiting, 0, &[0]), values([1]));
    assert_eq!(waiting.batches.len(), 0);
}
