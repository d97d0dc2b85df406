use super::*;

fn id(name: &str) -> MinionId {
    MinionId::parse(name).unwrap()
}

const MAX: AgainMax = AgainMax {
    jobs: 100,
    newer: 2,
};

fn record(missed: &mut Missed, now_s: u64, n: u64, minions: &[&str]) -> Jid {
    record_late(missed, (now_s, now_s), n, minions)
}

/// Records a job that was published and heard of at these times.
fn record_late(missed: &mut Missed, at: (u64, u64), n: u64, minions: &[&str]) -> Jid {
    let jid = Jid::parse(format!("{n:020}")).unwrap();
    let job = Job {
        jid: jid.clone(),
        published_s: at.0,
        heard_s: at.1,
        load: Map::from([("jid", jid.as_str())]),
        bytes: 100,
        open: minions.iter().map(|name| id(name)).collect(),
        returned: HashSet::new(),
        undecided: HashSet::new(),
    };
    missed.record(at.1, job);
    jid
}

fn number(load: &Map) -> u64 {
    load.get("jid").unwrap().as_str().unwrap().parse().unwrap()
}

/// What is sent again, by its numbers, and how many are left out.
fn again(missed: &mut Missed, now_s: u64, since_s: u64, name: &str) -> (Vec<u64>, usize) {
    let (again, left_out) = missed.again_since(now_s, since_s, MAX);
    let again = again.iter().filter(|job| job.minions.contains(&id(name)));
    (again.map(|job| number(&job.load)).collect(), left_out)
}

fn jids(missed: &mut Missed, now_s: u64, name: &str) -> Vec<u64> {
    let missed = missed.missed_by(now_s, &id(name));
    missed.iter().map(number).collect()
}

#[test]
fn who_may_have_missed_a_job_is_known_until_it_returns_or_is_too_old() {
    let mut missed = Missed::new(30, 250);
    let first = record(&mut missed, 100, 1, &["a", "b"]);
    record(&mut missed, 110, 2, &["a"]);
    assert!(missed.has_missed(110, &id("a")) && missed.has_missed(110, &id("b")));
    assert!(!missed.has_missed(110, &id("c")));
    missed.returned(&first, &id("b"));
    missed.returned(&first, &id("b"));
    assert!(!missed.has_missed(110, &id("b")));
    missed.returned(&first, &id("a"));
    // The other one is open.
    assert!(missed.has_missed(140, &id("a")));
    assert!(!missed.has_missed(141, &id("a")));
    // Those that there is no room for are forgotten as well.
    for n in 3..6 {
        record(&mut missed, 150, n, &[&format!("of {n}")]);
    }
    assert!(!missed.has_missed(150, &id("of 3")) && missed.has_missed(150, &id("of 5")));
    assert_eq!(missed.open.len(), missed.jobs.len());
}

#[test]
fn a_minion_hears_of_its_own_open_jobs_in_order() {
    let mut missed = Missed::new(30, 10_000);
    record(&mut missed, 100, 1, &["web1", "web2"]);
    let second = record(&mut missed, 101, 2, &["web1"]);
    record(&mut missed, 102, 3, &["web2"]);
    record(&mut missed, 103, 4, &["web1"]);
    missed.returned(&second, &id("web1"));
    assert_eq!(jids(&mut missed, 104, "web1"), [1, 4]);
    assert_eq!(jids(&mut missed, 104, "web2"), [1, 3]);
    assert!(jids(&mut missed, 104, "web3").is_empty());
}

#[test]
fn what_is_open_since_a_moment_is_told_with_whom_it_waits_for() {
    let mut missed = Missed::new(30, 10_000);
    record(&mut missed, 100, 1, &["web1"]);
    let second = record(&mut missed, 105, 2, &["web1", "py1"]);
    let third = record(&mut missed, 106, 3, &["py1"]);
    assert!(missed.is_open(&second, &[id("web1"), id("py1")]));
    // Another part of a batch.
    assert!(!missed.is_open(&second, &[id("py1"), id("web2")]));
    missed.returned(&second, &id("web1"));
    missed.returned(&third, &id("py1"));
    assert!(missed.has_returned(&second, &id("web1")));
    assert!(!missed.has_returned(&second, &id("py1")));
    let (last, left_out) = missed.last_open(107, 100, 2);
    let [open] = last.as_slice() else {
        panic!("{last:?}")
    };
    assert_eq!((number(&open.load), open.age_s, left_out), (2, 2, 1));
    assert_eq!(open.minions, [id("py1")]);
    assert_eq!(missed.last_open(107, 100, 3).1, 0);
    assert!(missed.last_open(140, 105, 3).0.is_empty());
    assert!(!missed.is_open(&second, &[id("py1")]));
}

#[test]
fn a_job_is_sent_again_only_to_who_cannot_have_forgotten_its_id() {
    let mut missed = Missed::new(30, 10_000);
    record(&mut missed, 100, 1, &["py1", "py2"]);
    let second = record(&mut missed, 101, 2, &["py1"]);
    assert_eq!(again(&mut missed, 102, 100, "py1"), (vec![1, 2], 0));
    // What was returned was seen as well.
    missed.returned(&second, &id("py1"));
    record(&mut missed, 102, 3, &["py1"]);
    assert_eq!(again(&mut missed, 103, 100, "py1"), (vec![3], 1));
    assert_eq!(again(&mut missed, 103, 100, "py2"), (vec![1], 1));
    assert_eq!(again(&mut missed, 103, 103, "py1"), (vec![], 0));
    let few = AgainMax { jobs: 1, newer: 9 };
    let (again, left_out) = missed.again_since(103, 100, few);
    assert_eq!((again.len(), number(&again[0].load), left_out), (1, 3, 1));
}

#[test]
fn a_job_that_is_heard_of_late_is_as_old_as_it_is() {
    let mut missed = Missed::new(30, 10_000);
    record(&mut missed, 110, 1, &["py1"]);
    record(&mut missed, 111, 2, &["py1"]);
    record_late(&mut missed, (105, 112), 3, &["py1"]);
    assert_eq!(jids(&mut missed, 112, "py1"), [3, 1, 2]);
    // Two others were published since.
    assert_eq!(again(&mut missed, 112, 112, "py1"), (vec![], 1));
    record_late(&mut missed, (110, 113), 4, &["py2"]);
    assert_eq!(again(&mut missed, 113, 112, "py2"), (vec![4], 1));
    let (open, _) = missed.last_open(113, 108, 9);
    assert_eq!(open.iter().map(|job| job.age_s).max(), Some(3));
    // It expires when its time is over, and not so long after it was heard of.
    assert_eq!(jids(&mut missed, 136, "py1"), [1, 2]);
}

#[test]
fn an_expired_job_is_never_given_out() {
    let mut missed = Missed::new(30, 10_000);
    record(&mut missed, 100, 1, &["web1"]);
    record(&mut missed, 120, 2, &["web1"]);
    assert_eq!(jids(&mut missed, 130, "web1"), [1, 2]);
    assert_eq!(jids(&mut missed, 131, "web1"), [2]);
    assert!(jids(&mut missed, 200, "web1").is_empty());
    assert_eq!(missed.bytes, 0);
}

#[test]
fn an_expired_job_is_not_given_out_behind_a_younger_one() {
    let mut missed = Missed::new(30, 10_000);
    record(&mut missed, 100, 1, &["web1"]);
    record(&mut missed, 60, 2, &["web1"]);
    assert_eq!(jids(&mut missed, 101, "web1"), [1]);
}

#[test]
fn memory_is_bounded_and_off_is_off() {
    let mut missed = Missed::new(30, 1000);
    for n in 0..50 {
        record(&mut missed, 100, n, &["web1"]);
    }
    assert_eq!(jids(&mut missed, 100, "web1").len(), 10);
    let mut off = Missed::new(0, 1000);
    record(&mut off, 100, 1, &["web1"]);
    assert!(jids(&mut off, 100, "web1").is_empty());
}

#[test]
fn a_minion_gets_an_undecided_job_when_it_is_known_that_it_has_not_returned_it() {
    let mut missed = Missed::new(30, 10_000);
    let jid = record(&mut missed, 100, 1, &["web1"]);
    let ids = ["web2", "web3", "py1"];
    missed.jobs[0].undecided = ids.iter().map(|name| id(name)).collect();
    assert_eq!(missed.undecided(101).len(), 3);
    assert!(!missed.has_missed(101, &id("web2")));
    // It returns the job itself.
    missed.returned(&jid, &id("py1"));
    assert!(missed.has_returned(&jid, &id("py1")));
    let decided = [("web2", false), ("web3", true), ("py1", false)];
    let decided = decided.map(|(name, has_returned)| (id(name), has_returned));
    let decisions = Decisions::from([(jid.clone(), HashMap::from(decided))]);
    let opened = missed.decide(110, &decisions);
    let [open] = opened.as_slice() else {
        panic!("{opened:?}")
    };
    assert_eq!(
        (open.minions.as_slice(), open.age_s),
        (&[id("web2")][..], 10)
    );
    assert!(missed.undecided(110).is_empty() && missed.decide(110, &decisions).is_empty());
    assert_eq!(jids(&mut missed, 110, "web2"), [1]);
    assert!(jids(&mut missed, 110, "web3").is_empty() && jids(&mut missed, 110, "py1").is_empty());
    // It is sent again as one that was just heard of.
    assert_eq!(again(&mut missed, 110, 110, "web2"), (vec![1], 0));
    missed.returned(&jid, &id("web2"));
    assert!(!missed.has_missed(110, &id("web2")));
}

#[test]
fn an_undecided_job_that_a_peer_has_told_of_is_open_once() {
    let mut missed = Missed::new(30, 10_000);
    let jid = record(&mut missed, 100, 1, &[]);
    missed.jobs[0].undecided = HashSet::from([id("web1"), id("web2")]);
    record_late(&mut missed, (100, 103), 1, &["web1"]);
    let decided = HashMap::from([(id("web1"), false)]);
    let decisions = Decisions::from([(jid.clone(), decided)]);
    assert!(missed.decide(104, &decisions).is_empty());
    missed.returned(&jid, &id("web1"));
    assert!(!missed.has_missed(104, &id("web1")));
    // What is never decided expires.
    assert_eq!(missed.undecided(130), [(jid.clone(), id("web2"))]);
    assert!(missed.remembers(&jid));
    assert!(missed.undecided(131).is_empty() && !missed.remembers(&jid));
}
