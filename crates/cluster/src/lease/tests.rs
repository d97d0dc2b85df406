use super::*;

/// Masters that hear each other unless they are cut off.
struct Fleet {
    now: Instant,
    leases: Vec<Lease>,
    cut: BTreeSet<usize>,
    stopped: BTreeSet<usize>,
    met: usize,
    /// Those that do what the holder does.
    at_work: BTreeSet<usize>,
}

impl Fleet {
    fn new(count: usize) -> Self {
        let now = Instant::now();
        let ids: Vec<PeerId> = (0..count)
            .map(|number| PeerId::parse(&format!("m{number}")).unwrap())
            .collect();
        let lease = |me: &PeerId| {
            let mut lease = Lease::new(me.clone(), now);
            let others = ids.iter().filter(|other| *other != me);
            others.for_each(|other| lease.connected(other.clone()));
            lease
        };
        Self {
            now,
            leases: ids.iter().map(lease).collect(),
            cut: BTreeSet::new(),
            stopped: BTreeSet::new(),
            met: 0,
            at_work: BTreeSet::new(),
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += Duration::from_millis(50);
            for number in 0..self.leases.len() {
                while !self.stopped.contains(&number)
                    && let Some(output) = self.leases[number].poll(self.now)
                {
                    self.apply(number, output);
                }
            }
        }
    }

    fn apply(&mut self, number: usize, output: Output) {
        match output {
            Output::Begin => assert!(self.at_work.insert(number)),
            Output::End => assert!(self.at_work.remove(&number)),
            Output::Met { .. } => self.met += 1,
            Output::Say(claim) => {
                for other in 0..self.leases.len() {
                    let hears = self.cut.contains(&other) == self.cut.contains(&number);
                    if other != number && hears && !self.stopped.contains(&other) {
                        self.leases[other].heard(self.now, claim.clone());
                    }
                }
            }
        }
    }

    fn holders(&self) -> Vec<usize> {
        self.at_work.iter().copied().collect()
    }
}

const LONG: Duration = Duration::from_secs(20);
const TAKEOVER: Duration = Duration::from_secs(5);

#[test]
fn one_master_holds_it_and_another_one_takes_it_over_in_time() {
    let mut fleet = Fleet::new(8);
    fleet.run(LONG);
    assert_eq!(fleet.holders(), [0]);
    fleet.stopped.insert(0);
    fleet.run(TAKEOVER);
    // The stopped one does not know yet.
    assert_eq!(fleet.holders(), [0, 1]);
    fleet.stopped.remove(&0);
    fleet.run(Duration::from_millis(50));
    assert_eq!(fleet.holders(), [1]);
    fleet.run(LONG);
    assert_eq!((fleet.holders(), fleet.met), (vec![1], 0));
}

#[test]
fn the_halves_of_a_cut_each_have_a_holder_and_say_so_when_they_meet() {
    let mut fleet = Fleet::new(5);
    fleet.run(LONG);
    fleet.cut.extend([3, 4]);
    fleet.run(TAKEOVER + LEASE_STAGGER_MAX);
    assert_eq!(fleet.holders(), [0, 3]);
    fleet.cut.clear();
    fleet.run(Duration::from_secs(1));
    // The half that has taken over has the higher term.
    assert_eq!(fleet.holders(), [3]);
    assert!(fleet.met >= 1);
    fleet.run(LONG);
    assert_eq!(fleet.holders(), [3]);
}

#[test]
fn a_master_that_drains_gives_it_up() {
    let mut fleet = Fleet::new(2);
    fleet.run(LONG);
    assert_eq!(fleet.holders(), [0]);
    fleet.leases[0].allow(fleet.now, false);
    fleet.run(TAKEOVER);
    assert_eq!(fleet.holders(), [1]);
    assert!(fleet.leases[1].is_mine(fleet.now));
    assert_eq!(
        fleet.leases[0].holder(fleet.now).map(|claim| &claim.holder),
        Some(&PeerId::parse("m1").unwrap())
    );
}

#[test]
fn a_claim_is_read_as_it_was_written() {
    let claim = Claim {
        term: 7,
        holder: PeerId::parse("m1").unwrap(),
    };
    assert_eq!(Claim::from_value(claim.to_value()).unwrap(), claim);
    assert!(Claim::from_value(Value::Nil).is_err());
    let bad = Value::List(vec![1.into(), "../m".into()]);
    assert!(Claim::from_value(bad).is_err());
}
