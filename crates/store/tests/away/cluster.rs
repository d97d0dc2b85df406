//! A Redis cluster that loses a server.

use halite_test_services::{Redis, RedisCluster, Wanted};

use crate::subject::{
    Subject, assert_stored, drain, id, jid, job_with_returns, until, wait_for, waits,
};

/// So many that each server has some of them.
const JOBS: u64 = 20;

/// Without replicas a cluster that is not whole takes nothing.
#[test]
fn what_a_cluster_without_one_server_misses_is_stored_when_that_is_back() {
    let Some(cluster) = RedisCluster::for_test(&Wanted::default(), false) else {
        return;
    };
    let subject = Subject::on(&cluster.url());
    let ids = [id("db1"), id("web1"), id("web2")];
    let store = subject.open();
    job_with_returns(&store, &jid(1), &ids);
    assert_eq!(waits(&store).count, 0);

    let server = &cluster.mains[cluster.main_of(&format!("ret:{}", jid(1))).unwrap()].server;
    server.kill();
    for job in (2..JOBS).map(jid) {
        job_with_returns(&store, &job, &ids);
    }
    let found = waits(&store);
    assert!(found.since.is_some() && found.count > 0, "{found:?}");
    store.jobs.returns(&jid(1)).unwrap_err();

    server.start().unwrap();
    drain(&store);
    for job in (1..JOBS).map(jid) {
        assert_stored(&store, &job, &ids);
        assert_stored(&subject.other(), &job, &ids);
    }
}

/// The replica takes the place of its server, and clients hear of it from the others.
#[test]
fn a_replica_takes_the_place_of_a_dead_server() {
    let wanted = Wanted::default().password("secret");
    let wanted = wanted.args(&["--masterauth", "secret"]);
    let Some(cluster) = RedisCluster::for_test(&wanted, true) else {
        return;
    };
    let subject = Subject::on(&cluster.url());
    let ids = [id("web1"), id("web2")];
    let store = subject.open();
    job_with_returns(&store, &jid(1), &ids);
    let number = cluster.main_of(&format!("ret:{}", jid(1))).unwrap();
    let (main, replica) = (&cluster.mains[number], &cluster.replicas[number]);
    let offset = |redis: &Redis, name: &str| {
        let said = redis.cli(&["info", "replication"]).unwrap();
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        line.map(|offset| offset.trim().to_owned())
    };
    until("it is replicated", &|| {
        let there = offset(main, "master_repl_offset:");
        there.is_some() && there == offset(replica, "slave_repl_offset:")
    });

    main.server.kill();
    for job in (2..JOBS).map(jid) {
        job_with_returns(&store, &job, &ids);
    }
    drain(&store);
    assert!(offset(replica, "role:").unwrap() == "master");
    for job in (1..JOBS).map(jid) {
        assert_stored(&subject.other(), &job, &ids);
    }
    wait_for(&store, |waits| waits.reason.is_none());
}

/// A slot that goes to another server is asked for there, and stays so.
#[test]
fn keys_are_found_while_their_slot_moves() {
    let Some(cluster) = RedisCluster::for_test(&Wanted::default(), false) else {
        return;
    };
    let subject = Subject::on(&cluster.url());
    let (job, ids) = (jid(1), [id("web1"), id("web2")]);
    let store = subject.open();
    job_with_returns(&store, &job, &ids);
    let key = format!("ret:{job}");
    let number = cluster.main_of(&key).unwrap();
    let (from, to) = (&cluster.mains[number], &cluster.mains[(number + 1) % 3]);
    let say = |redis: &Redis, words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        redis.cli(&words).unwrap().trim().to_owned()
    };
    let slot = say(from, &format!("cluster keyslot {key}"));
    let (from_id, to_id) = (say(from, "cluster myid"), say(to, "cluster myid"));
    say(to, &format!("cluster setslot {slot} importing {from_id}"));
    say(from, &format!("cluster setslot {slot} migrating {to_id}"));
    assert_stored(&store, &job, &ids);
    // Its keys, with those of ours that lie beside it.
    let keys = say(from, &format!("cluster getkeysinslot {slot} 10"));
    assert_eq!(keys.lines().count(), 3, "{keys}");
    let (ip, port) = (to.address.ip(), to.address.port());
    for key in keys.lines() {
        assert_eq!(
            say(from, &format!("migrate {ip} {port} {key} 0 5000")),
            "OK"
        );
    }
    assert!(say(from, &format!("hgetall {key}")).starts_with("ASK "));
    assert_stored(&store, &job, &ids);
    store.jobs.save_endtime(&job, "at noon").unwrap();
    for server in &cluster.mains {
        say(server, &format!("cluster setslot {slot} node {to_id}"));
    }
    assert!(say(from, &format!("hgetall {key}")).starts_with("MOVED "));
    assert_stored(&store, &job, &ids);
    assert_eq!(store.jobs.endtime(&job).unwrap().unwrap(), "at noon");
    assert_stored(&subject.other(), &job, &ids);
    assert_eq!(waits(&store).count, 0);
}
