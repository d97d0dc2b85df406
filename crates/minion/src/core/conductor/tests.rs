use super::*;

fn failover(masters: usize, failback: Option<u64>) -> Conductor {
    let mode = Mode::Failover {
        order: (0..masters).collect(),
        failback: failback.map(Duration::from_secs),
        shuffle: false,
        tries: None,
    };
    Conductor::new(masters, mode, 7)
}

fn outputs(conductor: &mut Conductor) -> Vec<Output> {
    std::iter::from_fn(|| conductor.poll()).collect()
}

#[test]
fn hot_masters_are_all_served() {
    let now = Instant::now();
    let mut conductor = Conductor::new(3, Mode::Hot, 1);
    conductor.handle(now, Input::Start);
    assert_eq!(
        outputs(&mut conductor),
        [Output::Up(0), Output::Up(1), Output::Up(2)]
    );
    conductor.handle(now, Input::Lost(1));
    assert_eq!(outputs(&mut conductor), []);
}

#[test]
fn a_lost_master_is_replaced_by_the_next_at_once() {
    let now = Instant::now();
    let mut conductor = failover(3, None);
    conductor.handle(now, Input::Start);
    conductor.handle(now, Input::Ready(0));
    assert_eq!(outputs(&mut conductor), [Output::Up(0)]);
    conductor.handle(now, Input::Lost(0));
    assert_eq!(outputs(&mut conductor), [Output::Down(0), Output::Up(1)]);
    conductor.handle(now, Input::Stuck(1));
    assert_eq!(outputs(&mut conductor), [Output::Down(1), Output::Up(2)]);
    conductor.handle(now, Input::Ready(2));
    conductor.handle(now, Input::Lost(2));
    assert_eq!(outputs(&mut conductor), [Output::Down(2), Output::Up(0)]);
}

#[test]
fn when_all_fail_it_rests_and_starts_at_the_top() {
    let now = Instant::now();
    let mut conductor = failover(2, None);
    conductor.handle(now, Input::Start);
    conductor.handle(now, Input::Stuck(0));
    conductor.handle(now, Input::Stuck(1));
    outputs(&mut conductor);
    let until = conductor.next_timeout().unwrap();
    conductor.handle_timeout(until);
    assert_eq!(outputs(&mut conductor), [Output::Up(0)]);
}

#[test]
fn failback_makes_before_it_breaks() {
    let mut now = Instant::now();
    let mut conductor = failover(2, Some(10));
    conductor.handle(now, Input::Start);
    conductor.handle(now, Input::Stuck(0));
    conductor.handle(now, Input::Ready(1));
    outputs(&mut conductor);
    now += Duration::from_secs(10);
    conductor.handle_timeout(now);
    assert_eq!(outputs(&mut conductor), [Output::Ping(0)]);
    conductor.handle(now, Input::Answered(0));
    assert_eq!(
        outputs(&mut conductor),
        [Output::FailBack(0), Output::Up(0)]
    );
    conductor.handle(now, Input::Ready(0));
    assert_eq!(outputs(&mut conductor), [Output::Down(1)]);
    assert_eq!(conductor.next_timeout(), None);
}

#[test]
fn a_failback_that_does_not_work_changes_nothing() {
    let mut now = Instant::now();
    let mut conductor = failover(2, Some(10));
    conductor.handle(now, Input::Start);
    conductor.handle(now, Input::Stuck(0));
    conductor.handle(now, Input::Ready(1));
    now += Duration::from_secs(10);
    conductor.handle_timeout(now);
    conductor.handle(now, Input::Answered(0));
    outputs(&mut conductor);
    conductor.handle(now, Input::Stuck(0));
    assert_eq!(outputs(&mut conductor), [Output::Down(0)]);
    assert_eq!(
        conductor.next_timeout(),
        Some(now + Duration::from_secs(10))
    );
}

#[test]
fn no_order_of_reports_leaves_it_without_a_link_or_a_timer() {
    for seed in 0..2000 {
        let mut chance = Chance::new(seed);
        let mut now = Instant::now();
        let masters = 1 + usize::try_from(seed % 4).unwrap();
        let mut conductor = failover(masters, (seed % 2 == 0).then_some(5));
        conductor.handle(now, Input::Start);
        let mut up = vec![false; masters];
        for _ in 0..80 {
            for output in outputs(&mut conductor) {
                match output {
                    Output::Up(link) => assert!(!std::mem::replace(&mut up[link], true)),
                    Output::Down(link) => assert!(std::mem::replace(&mut up[link], false)),
                    Output::Ping(_) | Output::FailBack(_) | Output::NoneLeft => {}
                }
            }
            let alive = up.iter().filter(|&&up| up).count();
            assert!(
                alive >= 1 || conductor.next_timeout().is_some(),
                "seed {seed}"
            );
            assert!(alive <= 2, "seed {seed}: {alive} links");
            now += chance.up_to(Duration::from_secs(3));
            let link = usize::try_from(chance.next_u64()).unwrap() % masters;
            // Only a link that is up has anything to say.
            match chance.next_u64() % 5 {
                0 if up[link] => conductor.handle(now, Input::Ready(link)),
                1 if up[link] => conductor.handle(now, Input::Lost(link)),
                2 if up[link] => conductor.handle(now, Input::Stuck(link)),
                3 => conductor.handle(now, Input::Answered(link)),
                _ => conductor.handle_timeout(now),
            }
        }
    }
}
