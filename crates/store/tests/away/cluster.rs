//! A Redis cluster that loses a server.

use halite_proto::Jid;
use halite_test_services::{Redis, RedisCluster, Wanted};

use crate::subject::{
    Subject, assert_stored, drain, id, jid, job_with_returns, ret, until, wait_for, waits,
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

/// A slot on its way to another server.
struct Moving<'c> {
    cluster: &'c RedisCluster,
    slot: String,
    from: &'c Redis,
    to: &'c Redis,
    to_id: String,
}

impl<'c> Moving<'c> {
    /// Lets the slot of a key move to the next server; its keys stay as yet.
    fn begin(cluster: &'c RedisCluster, key: &str) -> Self {
        let number = cluster.main_of(key).unwrap();
        let (from, to) = (&cluster.mains[number], &cluster.mains[(number + 1) % 3]);
        let slot = say(from, &format!("cluster keyslot {key}"));
        let (from_id, to_id) = (say(from, "cluster myid"), say(to, "cluster myid"));
        say(to, &format!("cluster setslot {slot} importing {from_id}"));
        say(from, &format!("cluster setslot {slot} migrating {to_id}"));
        Self {
            cluster,
            slot,
            from,
            to,
            to_id,
        }
    }

    /// The keys that have not moved.
    fn keys(&self) -> Vec<String> {
        let keys = say(
            self.from,
            &format!("cluster getkeysinslot {} 10", self.slot),
        );
        keys.lines().map(str::to_owned).collect()
    }

    fn migrate(&self, key: &str) {
        let (ip, port) = (self.to.address.ip(), self.to.address.port());
        let said = say(self.from, &format!("migrate {ip} {port} {key} 0 5000"));
        assert_eq!(said, "OK", "{key}");
    }

    fn end(&self) {
        for server in &self.cluster.mains {
            let (slot, id) = (&self.slot, &self.to_id);
            say(server, &format!("cluster setslot {slot} node {id}"));
        }
    }
}

fn say(redis: &Redis, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    redis.cli(&words).unwrap().trim().to_owned()
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
    let moving = Moving::begin(&cluster, &key);
    assert_stored(&store, &job, &ids);
    // Its keys, with those of ours that lie beside it.
    let keys = moving.keys();
    assert_eq!(keys.len(), 3, "{keys:?}");
    keys.iter().for_each(|key| moving.migrate(key));
    assert!(say(moving.from, &format!("hgetall {key}")).starts_with("ASK "));
    assert_stored(&store, &job, &ids);
    store.jobs.save_endtime(&job, "at noon").unwrap();
    moving.end();
    assert!(say(moving.from, &format!("hgetall {key}")).starts_with("MOVED "));
    assert_stored(&store, &job, &ids);
    assert_eq!(store.jobs.endtime(&job).unwrap().unwrap(), "at noon");
    assert_stored(&subject.other(), &job, &ids);
    assert_eq!(waits(&store).count, 0);
}

/// What needs keys on both sides of a slot that moves waits, and nothing behind it does.
#[test]
fn a_slot_that_is_half_moved_holds_up_no_other() {
    let Some(cluster) = RedisCluster::for_test(&Wanted::default(), false) else {
        return;
    };
    let subject = Subject::on(&cluster.url());
    let ids = [id("web1"), id("web2")];
    let store = subject.open();
    job_with_returns(&store, &jid(1), &ids);
    let key = format!("ret:{}", jid(1));
    let moving = Moving::begin(&cluster, &key);
    moving.migrate(&key);
    let later = id("web3");
    let saved = store.jobs.save_return(&jid(1), &later, &ret(&jid(1), 3));
    saved.unwrap();
    let found = waits(&store);
    let reason = found.reason.unwrap_or_default();
    assert!(found.count == 1 || reason.contains("TRYAGAIN"), "{reason}");
    for job in (2..JOBS).map(jid) {
        job_with_returns(&store, &job, &ids);
    }
    wait_for(&store, |waits| waits.count == 1);
    for job in (2..JOBS).map(jid) {
        assert_stored(&store, &job, &ids);
    }

    moving.keys().iter().for_each(|key| moving.migrate(key));
    moving.end();
    drop(store);
    let store = subject.open();
    drain(&store);
    assert!(store.jobs.return_of(&jid(1), &later).unwrap().is_some());
}

/// What lies on the servers that are there is read and stored without the one that is
/// gone.
#[test]
fn a_partial_cluster_does_without_a_server() {
    let wanted = Wanted::default().args(&["--cluster-require-full-coverage", "no"]);
    let Some(cluster) = RedisCluster::for_test(&wanted, false) else {
        return;
    };
    let url = cluster.url().replace("cluster=yes", "cluster=partial");
    let subject = Subject::on(&url);
    let ids = [id("web1")];
    let store = subject.open();
    (1..JOBS).for_each(|job| job_with_returns(&store, &jid(job), &ids));
    let gone = jid(1);
    let server_of = |job: &Jid| cluster.main_of(&format!("ret:{job}")).unwrap();
    let there = (2..JOBS)
        .map(jid)
        .find(|job| server_of(job) != server_of(&gone));
    let there = there.unwrap();

    let server = &cluster.mains[server_of(&gone)].server;
    server.kill();
    until("the others are read", &|| {
        store.jobs.returns(&there).is_ok()
    });
    for _ in 0..3 {
        store.jobs.returns(&gone).unwrap_err();
        assert_eq!(store.jobs.returns(&there).unwrap().len(), 1);
    }
    store.jobs.save_endtime(&gone, "at noon").unwrap();
    assert_eq!(waits(&store).count, 1);
    store.jobs.save_endtime(&there, "at noon").unwrap();
    wait_for(&store, |waits| waits.count == 1);
    assert_eq!(store.jobs.endtime(&there).unwrap().unwrap(), "at noon");

    server.start().unwrap();
    drain(&store);
    assert_eq!(store.jobs.endtime(&gone).unwrap().unwrap(), "at noon");
    assert_eq!(store.jobs.newest(100).unwrap().len() as u64, JOBS - 1);
}
