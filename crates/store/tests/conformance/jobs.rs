//! Checks of `Jobs`.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use halite_proto::publish::FunSpec;
use halite_proto::request::{COMMITS, Commits};
use halite_proto::{Jid, Map, MinionId, SaltEnv, Value};
use halite_store::{JobFilter, Saved, StoreError};

use crate::subject::{Subject, id, jid, map, ping};

pub(crate) fn an_id_is_given_once(subject: &Subject) {
    let (one, other) = (subject.open().jobs, subject.open().jobs);
    let mut number = 0;
    let mut next = || {
        number += 1;
        jid(number / 2)
    };
    let first = one.allocate(false, &mut next).unwrap();
    assert!(one.knows(&first).unwrap() && other.knows(&first).unwrap());
    assert!(!other.has_load(&first).unwrap());
    let second = other.allocate(false, &mut next).unwrap();
    assert_ne!(first, second);
    let error = one.allocate(false, || first.clone()).unwrap_err();
    assert!(matches!(error, StoreError::JidsTaken { .. }), "{error}");
}

pub(crate) fn a_job_begins_with_what_is_published(subject: &Subject) {
    let (one, other) = (subject.open().jobs, subject.open().jobs);
    let load = |job: &Jid| {
        Map::from([
            ("fun", Value::from("test.ping")),
            ("arg", Value::List(vec![job.to_string().into()])),
            ("key", "secret".into()),
        ])
    };
    let mut number = 0;
    let mut next = || {
        number += 1;
        jid(number / 2)
    };
    let meant = ["web2", "web1"].map(id);
    let first = one.begin(false, &mut next, load, &meant).unwrap();
    first.stored.unwrap();
    // Its first id is taken now.
    let second = other.begin(true, &mut next, load, &[]).unwrap();
    second.stored.unwrap();
    assert_ne!(first.jid, second.jid);
    let found = other.load(&first.jid).unwrap().unwrap();
    assert!(!format!("{found:?}").contains("secret"), "{found:?}");
    let arg = Value::List(vec![first.jid.to_string().into()]);
    assert_eq!(found.get("arg"), Some(&arg));
    let all = ["web1", "web2"].map(Value::from);
    assert_eq!(found.get("Minions"), Some(&Value::List(all.to_vec())));
    let found = one.load(&second.jid).unwrap().unwrap();
    assert_eq!(found.get("Minions"), None);
    let listed = one.newest(9).unwrap().into_iter().map(|(jid, _)| jid);
    let listed: Vec<Jid> = listed.collect();
    assert_eq!(listed, [second.jid.clone(), first.jid.clone()]);
    for (job, saved) in [(&first.jid, Saved::Stored), (&second.jid, Saved::NoCache)] {
        let ret = ping(job, 1);
        assert_eq!(one.save_return(job, &id("web1"), &ret).unwrap(), saved);
    }
    let error = one.begin(false, || first.jid.clone(), load, &[]);
    let error = error.unwrap_err();
    assert!(matches!(error, StoreError::JidsTaken { .. }), "{error}");
}

pub(crate) fn a_minions_own_job_keeps_its_id(subject: &Subject) {
    let jobs = subject.open().jobs;
    let (web1, web2) = (id("web1"), id("web2"));
    let mark = jid(1);
    assert_eq!(jobs.allocate_own(&web1, &mark).unwrap(), mark);
    let second = jobs.allocate_own(&web2, &mark).unwrap();
    assert_ne!(second, mark);
    let again = subject.open().jobs;
    assert_eq!(again.allocate_own(&web1, &mark).unwrap(), mark);
    assert_eq!(again.allocate_own(&web2, &mark).unwrap(), second);
    assert_ne!(again.allocate_own(&web2, &second).unwrap(), second);
}

pub(crate) fn a_job_is_found_as_it_was_saved(subject: &Subject) {
    let jobs = subject.open().jobs;
    let job = jid(1);
    jobs.prepare(&job, false).unwrap();
    let load = Map::from([
        ("fun", Value::from("test.ping")),
        ("key", "secret".into()),
        ("kwargs", map("token", "secret").into()),
    ]);
    let meant = ["web2", "web1"].map(id);
    jobs.save_load(&job, &load, Some(&meant)).unwrap();
    jobs.save_minions(&job, &[id("web1"), id("web3")], None)
        .unwrap();
    jobs.save_minions(&job, &[id("far")], Some(&id("syndic")))
        .unwrap();
    jobs.save_endtime(&job, "at noon").unwrap();
    let mut ret = ping(&job, map("a", 1));
    ret.out = Some("nested".to_owned());
    assert_eq!(
        jobs.save_return(&job, &id("web1"), &ret).unwrap(),
        Saved::Stored
    );

    let jobs = subject.open().jobs;
    assert!(jobs.has_load(&job).unwrap());
    let found = jobs.load(&job).unwrap().unwrap();
    assert!(!format!("{found:?}").contains("secret"), "{found:?}");
    assert_eq!(found.get("fun"), Some(&"test.ping".into()));
    let all = ["far", "web1", "web2", "web3"].map(Value::from);
    assert_eq!(found.get("Minions"), Some(&Value::List(all.to_vec())));
    assert_eq!(jobs.endtime(&job).unwrap().as_deref(), Some("at noon"));
    let stored = jobs.return_of(&job, &id("web1")).unwrap().unwrap();
    assert_eq!(stored.ret(), &map("a", 1).into());
    assert_eq!(stored.out.as_deref(), Some("nested"));
    assert_eq!(stored.data.get("retcode"), Some(&0.into()));
    assert_eq!(stored.data.get("success"), Some(&true.into()));
    assert_eq!(jobs.returns(&job).unwrap(), [(id("web1"), stored)]);
}

pub(crate) fn the_commits_of_a_return_are_kept(subject: &Subject) {
    let jobs = subject.open().jobs;
    // One that is published, and one that its first return makes known.
    let (published, own) = (jid(1), jid(2));
    let load = Map::from([("fun", "state.apply")]);
    jobs.save_load(&published, &load, None).unwrap();
    let mut commits = Commits::default();
    let of = |dir: &str| BTreeMap::from([(dir.to_owned(), "ab".repeat(20))]);
    commits.insert(SaltEnv::base(), of("states"));
    commits.insert(SaltEnv::parse("dev").unwrap(), of("more"));
    for job in [&published, &own] {
        let mut ret = ping(job, true);
        ret.extra.insert(COMMITS, commits.to_value());
        let saved = jobs.save_return(job, &id("web1"), &ret).unwrap();
        assert_eq!(saved, Saved::Stored);
        let again = jobs.save_return(job, &id("web1"), &ret).unwrap();
        assert_eq!(again, Saved::Duplicate { differs: false });
        let plain = jobs.save_return(job, &id("web2"), &ping(job, true));
        assert_eq!(plain.unwrap(), Saved::Stored);
    }
    let jobs = subject.open().jobs;
    for job in [&published, &own] {
        let returns = jobs.returns(job).unwrap();
        let found: Vec<&Commits> = returns.iter().map(|(_, stored)| &stored.commits).collect();
        assert_eq!(found, [&commits, &Commits::default()]);
        let one = jobs.return_of(job, &id("web1")).unwrap().unwrap();
        assert_eq!(one.commits, commits);
        // What Salt's readers see is what they always have.
        let names: Vec<Value> = one.into_map().keys().cloned().collect();
        assert_eq!(names, ["return", "retcode", "success"].map(Value::from));
    }
}

pub(crate) fn a_return_with_a_zero_byte_is_kept(subject: &Subject) {
    let jobs = subject.open().jobs;
    let job = jid(1);
    let load = Map::from([("fun", "test.ping")]);
    jobs.save_load(&job, &load, None).unwrap();
    let mut ret = ping(&job, "a\0b");
    ret.out = Some("nes\0ted".to_owned());
    ret.fun = FunSpec::One("test.\0ping".to_owned());
    let saved = jobs.save_return(&job, &id("web1"), &ret).unwrap();
    assert_eq!(saved, Saved::Stored);
    let found = jobs.return_of(&job, &id("web1")).unwrap().unwrap();
    assert_eq!(found.ret(), &Value::from("a\0b"));
}

pub(crate) fn an_unknown_job_has_nothing(subject: &Subject) {
    let jobs = subject.open().jobs;
    let job = jid(1);
    assert!(!jobs.knows(&job).unwrap());
    assert!(!jobs.has_load(&job).unwrap());
    assert_eq!(jobs.load(&job).unwrap(), None);
    assert_eq!(jobs.returns(&job).unwrap(), []);
    assert_eq!(jobs.return_of(&job, &id("web1")).unwrap(), None);
    assert_eq!(jobs.endtime(&job).unwrap(), None);
    assert_eq!(jobs.batch(&job).unwrap(), None);
    assert_eq!(jobs.publisher(&job).unwrap(), None);
    assert_eq!(jobs.newest(9).unwrap(), []);
}

pub(crate) fn the_first_return_counts(subject: &Subject) {
    let jobs = subject.open().jobs;
    let job = jid(1);
    jobs.prepare(&job, false).unwrap();
    let save = |ret: &str| jobs.save_return(&job, &id("web1"), &ping(&job, ret));
    assert_eq!(save("one").unwrap(), Saved::Stored);
    assert_eq!(save("one").unwrap(), Saved::Duplicate { differs: false });
    assert_eq!(save("two").unwrap(), Saved::Duplicate { differs: true });
    let stored = jobs.return_of(&job, &id("web1")).unwrap().unwrap();
    assert_eq!(stored.ret(), &"one".into());
}

pub(crate) fn returns_of_many_at_once_are_all_kept(subject: &Subject) {
    let jobs = subject.open().jobs;
    let job = jid(1);
    let ids: Vec<MinionId> = (0..8).map(|number| id(&format!("web{number}"))).collect();
    std::thread::scope(|scope| {
        for id in &ids {
            let (jobs, job) = (&jobs, &job);
            scope.spawn(move || jobs.save_return(job, id, &ping(job, id.as_str())).unwrap());
        }
    });
    let returned = jobs.returns(&job).unwrap();
    assert_eq!(
        returned.into_iter().map(|(id, _)| id).collect::<Vec<_>>(),
        ids
    );
    let load = jobs.load(&job).unwrap().unwrap();
    let ids = Value::List(ids.iter().map(Value::from).collect());
    assert_eq!(load.get("Minions"), Some(&ids));
}

pub(crate) fn a_job_from_elsewhere_becomes_known(subject: &Subject) {
    let jobs = subject.open().jobs;
    let job = jid(1);
    for name in ["web1", "web2"] {
        let saved = jobs.save_return(&job, &id(name), &ping(&job, 1));
        assert_eq!(saved.unwrap(), Saved::Stored);
    }
    let load = jobs.load(&job).unwrap().unwrap();
    assert_eq!(load.get("tgt"), Some(&"web1".into()));
    let both = ["web1", "web2"].map(Value::from).to_vec();
    assert_eq!(load.get("Minions"), Some(&Value::List(both)));
}

pub(crate) fn returns_without_cache_are_dropped(subject: &Subject) {
    let job = subject.open().jobs.allocate(true, || jid(1)).unwrap();
    for jobs in [subject.open().jobs, subject.open().jobs] {
        let saved = jobs.save_return(&job, &id("web1"), &ping(&job, 1));
        assert_eq!(saved.unwrap(), Saved::NoCache);
        assert_eq!(jobs.returns(&job).unwrap(), []);
    }
}

pub(crate) fn the_newest_jobs_come_first(subject: &Subject) {
    let jobs = subject.open().jobs;
    for number in [3, 1, 2, 4] {
        jobs.prepare(&jid(number), false).unwrap();
        if number != 4 {
            let meant = [id("web1")];
            let load = map("number", i64::try_from(number).unwrap());
            jobs.save_load(&jid(number), &load, Some(&meant)).unwrap();
        }
    }
    let newest = |max| -> Vec<(Jid, Map)> { jobs.newest(max).unwrap() };
    assert_eq!(
        newest(9),
        [3, 2, 1].map(|n| (jid(n), map("number", i64::try_from(n).unwrap())))
    );
    assert_eq!(newest(1), newest(9)[..1]);
    assert_eq!(newest(0), []);
    // No more are looked at than are needed.
    let mut looked_at = 0;
    let found = jobs.newest_picked(1, &JobFilter::default(), |job, load| {
        looked_at += 1;
        (job == jid(2)).then_some((job, load))
    });
    assert_eq!((found.unwrap(), looked_at), (newest(9)[1..2].to_vec(), 2));
}

pub(crate) fn jobs_are_found_by_a_filter(subject: &Subject) {
    let jobs = subject.open().jobs;
    let users = ["alice", "bob"];
    for number in 1..=6_u64 {
        let load = Map::from([
            ("fun", Value::from(format!("test.{}", number % 3))),
            ("tgt", Value::from(format!("web{number}"))),
            ("user", Value::from(users[usize::from(number > 3)])),
        ]);
        jobs.prepare(&jid(number), false).unwrap();
        jobs.save_load(&jid(number), &load, None).unwrap();
    }
    let found = |change: fn(&mut JobFilter)| -> Vec<Jid> {
        let mut filter = JobFilter::default();
        change(&mut filter);
        let found = jobs.newest_picked(9, &filter, |jid, _| Some(jid));
        found.unwrap()
    };
    assert_eq!(
        found(|filter| filter.functions = vec!["test.1".into()]),
        [4, 1].map(jid)
    );
    assert_eq!(
        found(|filter| filter.functions = vec!["*.1".into(), "test.[2]".into()]),
        [5, 4, 2, 1].map(jid)
    );
    assert_eq!(
        found(|filter| filter.targets = vec!["web?".into()]).len(),
        6
    );
    assert_eq!(
        found(|filter| filter.targets = vec!["web2".into()]),
        [jid(2)]
    );
    assert_eq!(
        found(|filter| filter.user = Some("bob".into())),
        [6, 5, 4].map(jid)
    );
    assert_eq!(
        found(|filter| filter.not_function = Some("test.0".into())),
        [5, 4, 2, 1].map(jid)
    );
    assert_eq!(
        found(|filter| {
            filter.since = Some(jid(2).as_str().to_owned());
            filter.until = Some(jid(4).as_str().to_owned());
        }),
        [4, 3, 2].map(jid)
    );
    assert_eq!(found(|filter| filter.since = Some("2030".into())), []);
    // Both parts of a question must fit.
    assert_eq!(
        found(|filter| {
            filter.user = Some("alice".into());
            filter.functions = vec!["test.1".into()];
        }),
        [jid(1)]
    );
}

pub(crate) fn old_jobs_are_removed(subject: &Subject) {
    let jobs = subject.open().jobs;
    let job = jid(1);
    jobs.prepare(&job, false).unwrap();
    jobs.save_load(&job, &map("fun", "x"), None).unwrap();
    let hour = Duration::from_secs(3600);
    let later = SystemTime::now() + hour;
    assert_eq!(jobs.clean(Duration::ZERO, later).unwrap().removed, 0);
    assert_eq!(jobs.clean(hour * 2, later).unwrap().removed, 0);
    assert_eq!(jobs.clean(hour / 2, later).unwrap().removed, 1);
    assert_eq!(jobs.load(&job).unwrap(), None);
    // A late return makes it known again.
    let saved = jobs.save_return(&job, &id("web1"), &ping(&job, 1));
    assert_eq!(saved.unwrap(), Saved::Stored);
    assert_eq!(jobs.returns(&job).unwrap().len(), 1);
}

pub(crate) fn batches_begin_and_end(subject: &Subject) {
    let jobs = subject.open().jobs;
    jobs.prepare(&jid(1), false).unwrap();
    jobs.put_batch(&jid(1), &map("driver", "master")).unwrap();
    jobs.end_batch(&jid(1)).unwrap();
    for number in [1, 2, 1] {
        jobs.begin_batch(&jid(number)).unwrap();
    }
    let again = subject.open().jobs;
    assert_eq!(again.batch(&jid(1)).unwrap(), Some(map("driver", "master")));
    assert_eq!(again.active_batches().unwrap(), [jid(1), jid(2)]);
    again.end_batch(&jid(1)).unwrap();
    assert_eq!(jobs.active_batches().unwrap(), [jid(2)]);
}

pub(crate) fn publishers_are_known_until_their_jobs_go(subject: &Subject) {
    let jobs = subject.open().jobs;
    jobs.save_publisher(&jid(1), &id("web1")).unwrap();
    let again = subject.open().jobs;
    assert_eq!(again.publisher(&jid(1)).unwrap(), Some(id("web1")));
    let hour = Duration::from_secs(3600);
    jobs.clean(hour * 2, SystemTime::now() + hour).unwrap();
    assert_eq!(again.publisher(&jid(1)).unwrap(), Some(id("web1")));
    jobs.clean(hour / 2, SystemTime::now() + hour).unwrap();
    assert_eq!(again.publisher(&jid(1)).unwrap(), None);
}
