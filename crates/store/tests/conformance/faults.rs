//! A store with faults does the same as a store without them, only later: a failed
//! write is there completely or not at all, and trying again helps.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use halite_crypto::HashType;
use halite_store::{Bank, BankError, Faults, Saved, Store, StoreError, TokenId};

use crate::subject::{Subject, id, jid, map, memory_store, ping, with_faults};

/// How often one operation is tried; each try fails with a probability of three
/// in eight.
const TRIES_MAX: usize = 50;

const SEEDS: u64 = 12;

const OPERATIONS: u64 = 120;

const JOBS: u64 = 5;

type Operation<'a> = Box<dyn Fn(&Store) -> Result<(), StoreError> + 'a>;

#[test]
fn what_failed_is_absent_or_whole_and_can_be_tried_again() {
    let mut failed = 0;
    for seed in 0..SEEDS {
        let faults = Faults::new(seed, 2, Duration::from_micros(50));
        let (faulty, reference) = (with_faults(faults.clone()), memory_store());
        // What a process remembers of jobs that it knows from returns alone goes
        // with it, so all jobs here have been published.
        faults.set(false);
        for job in (0..JOBS).map(jid) {
            for store in [faulty.open(), reference.open()] {
                let ids = [id("web0")];
                store.jobs.prepare(&job, false).unwrap();
                store
                    .jobs
                    .save_load(&job, &map("fun", 0), Some(&ids))
                    .unwrap();
            }
        }
        for number in 0..OPERATIONS {
            let operation = operation(seed, number);
            let before = everything(&faulty, &faults);
            operation(&reference.open()).unwrap();
            let after = contents(&reference.open());
            for tried in 0.. {
                assert!(tried < TRIES_MAX, "seed {seed}, operation {number}");
                match operation(&faulty.open()) {
                    Ok(()) => break,
                    Err(_) => {
                        let now = everything(&faulty, &faults);
                        assert!(
                            now == before || now == after,
                            "seed {seed}, operation {number}: {now:#?}"
                        );
                    }
                }
            }
            let now = everything(&faulty, &faults);
            assert_eq!(now, after, "seed {seed}, operation {number}");
        }
        failed += faults.failed();
    }
    assert!(failed > SEEDS * OPERATIONS / 4, "only {failed} have failed");
}

#[test]
fn an_id_whose_answer_was_lost_is_not_given_to_another_job() {
    let faults = Faults::new(7, 2, Duration::ZERO);
    let jobs = with_faults(faults.clone()).open().jobs;
    let mut next = 0;
    let mut given = BTreeSet::new();
    for _ in 0..200 {
        let allocated = jobs.allocate(false, || {
            next += 1;
            jid(next)
        });
        if let Ok(jid) = allocated {
            assert!(given.insert(jid));
        }
    }
    assert!(faults.failed() > 0 && !given.is_empty());
    // A minion's own job gets one id, however often it comes again.
    let own: BTreeSet<_> = (0..200)
        .filter_map(|_| jobs.allocate_own(&id("web1"), &jid(9999)).ok())
        .collect();
    assert_eq!(own.len(), 1);
}

/// A return that comes again since its answer was lost is no news.
#[test]
fn a_return_that_is_sent_again_is_a_duplicate_at_most() {
    let faults = Faults::new(3, 2, Duration::ZERO);
    let jobs = with_faults(faults.clone()).open().jobs;
    for number in 0..100 {
        let job = jid(number);
        let saved = (0..TRIES_MAX)
            .find_map(|_| jobs.save_return(&job, &id("web1"), &ping(&job, 1)).ok())
            .unwrap();
        assert_ne!(saved, Saved::Duplicate { differs: true });
        faults.set(false);
        assert_eq!(jobs.returns(&job).unwrap().len(), 1);
        faults.set(true);
    }
}

/// One of the operations that change something, on few jobs and minions.
fn operation(seed: u64, number: u64) -> Operation<'static> {
    let drawn = seed.wrapping_mul(31) + number.wrapping_mul(7919);
    let job = jid(drawn % JOBS);
    let web = id(&format!("web{}", drawn % 3));
    let value = i64::try_from(number).unwrap();
    let token = TokenId::parse(&format!("{:032x}", drawn % 4)).unwrap();
    let bank = Bank::ALL[usize::try_from(drawn % 3).unwrap()];
    match number % 16 {
        0 => Box::new(move |store| store.jobs.prepare(&job, false)),
        1 | 2 => Box::new(move |store| {
            let ids = [web.clone()];
            store.jobs.save_load(&job, &map("fun", value), Some(&ids))
        }),
        3..6 => Box::new(move |store| {
            let ret = ping(&job, web.as_str());
            store.jobs.save_return(&job, &web, &ret).map(drop)
        }),
        6 => Box::new(move |store| store.jobs.save_endtime(&job, "at noon")),
        7 => Box::new(move |store| store.jobs.save_publisher(&job, &web)),
        8 => Box::new(move |store| store.jobs.begin_batch(&job)),
        9 => Box::new(move |store| store.jobs.end_batch(&job)),
        10 => Box::new(move |store| store.data.put(bank, &web, &map("a", value))),
        11 => Box::new(move |store| {
            let fun = format!("f{}", value % 4);
            store.data.update_mine(&web, map(&fun, value), false)
        }),
        12 => Box::new(move |store| {
            let keeps = |known: &halite_proto::MinionId| *known != web;
            store.data.retain(keeps).map(drop)
        }),
        13 => Box::new(move |store| {
            let stored = store.banks.store("a/b", web.as_str(), &value.into());
            stored.map_err(|error| match error {
                BankError::Store(error) => error,
                other => unreachable!("{other}"),
            })
        }),
        14 => Box::new(move |store| {
            let data = map("expire", halite_proto::Value::Float(1e12));
            store.tokens.put(&token, &data, 1_000_000_000_000)
        }),
        _ => Box::new(move |store| store.tokens.delete(&token).map(drop)),
    }
}

fn everything(subject: &Subject, faults: &Faults) -> Vec<String> {
    faults.set(false);
    let all = contents(&subject.open());
    faults.set(true);
    all
}

/// All that can be read of the few jobs and minions, as text.
fn contents(store: &Store) -> Vec<String> {
    let mut all = Vec::new();
    for job in (0..JOBS).map(jid) {
        let jobs = &store.jobs;
        let load = (jobs.load(&job).unwrap(), jobs.knows(&job).unwrap());
        let rest = (jobs.endtime(&job).unwrap(), jobs.publisher(&job).unwrap());
        all.push(format!(
            "{load:?} {rest:?} {:?}",
            jobs.returns(&job).unwrap()
        ));
    }
    all.push(format!("{:?}", store.jobs.active_batches().unwrap()));
    for bank in Bank::ALL {
        for id in store.data.ids(bank).unwrap() {
            all.push(format!("{id} {:?}", store.data.get(bank, &id).unwrap()));
        }
    }
    for key in store.banks.list("a/b").unwrap() {
        all.push(format!(
            "{key} {:?}",
            store.banks.fetch("a/b", &key).unwrap()
        ));
    }
    let mut tokens = store.tokens.list().unwrap();
    tokens.sort();
    all.extend(tokens.iter().map(|token| token.expose().to_owned()));
    all
}

#[test]
fn nothing_is_cleaned_away_halfway() {
    let faults = Faults::new(11, 2, Duration::ZERO);
    let store = with_faults(faults.clone()).open();
    faults.set(false);
    let job = jid(1);
    store.jobs.prepare(&job, false).unwrap();
    store.jobs.save_load(&job, &map("fun", "x"), None).unwrap();
    let token = TokenId::generate(HashType::Sha256);
    store.tokens.put(&token, &map("expire", 5.0), 5).unwrap();
    faults.set(true);
    let later = SystemTime::now() + Duration::from_secs(3600);
    let cleaned = (0..TRIES_MAX).find(|_| store.jobs.clean(Duration::from_secs(1), later).is_ok());
    let expired = (0..TRIES_MAX).find(|_| store.tokens.expire(9).is_ok());
    assert!(cleaned.is_some() && expired.is_some());
    faults.set(false);
    assert_eq!(store.jobs.load(&job).unwrap(), None);
    assert_eq!(store.tokens.list().unwrap(), []);
}
