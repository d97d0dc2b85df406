//! Each server starts, answers, survives its own death with its data, and ends
//! with its owner.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use halite_test_services::{Etcd, MariaDb, Postgres, Redis, Wanted};

#[test]
fn redis_keeps_its_data_over_a_stop_and_asks_for_its_password() {
    for wanted in [
        Wanted::default().password("secret"),
        Wanted::default().password("secret").tls(),
    ] {
        let Some(redis) = Redis::for_test(&wanted) else {
            return;
        };
        assert_eq!(redis.cli(&["set", "a", "1"]).unwrap().trim(), "OK");
        redis.server.stop();
        assert!(TcpStream::connect(redis.address).is_err());
        redis.server.start().unwrap();
        assert_eq!(redis.cli(&["get", "a"]).unwrap().trim(), "1");
    }
}

/// They would serve those who are connected for a moment longer.
#[test]
fn the_processes_of_a_killed_postgres_end_with_it() {
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return;
    };
    let pids = postgres
        .sql("postgres", "select pid from pg_stat_activity")
        .unwrap();
    let is_alive = |pid: &&str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned());
        state.is_some_and(|state| !state.starts_with(['Z', 'X']))
    };
    // One that is stopped does not end by itself; some have ended by now, the one that
    // was asked among them.
    let is_stopped = |pid: &&str| {
        let pid = nix::unistd::Pid::from_raw(pid.parse().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGSTOP).is_ok()
    };
    let children: Vec<&str> = pids.lines().filter(is_stopped).collect();
    assert!(children.iter().any(is_alive), "{pids}");
    postgres.server.kill();
    let left: Vec<&&str> = children.iter().filter(|pid| is_alive(pid)).collect();
    let is_left = !left.is_empty();
    for pid in left {
        let pid = nix::unistd::Pid::from_raw(pid.parse().unwrap());
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    }
    assert!(!is_left, "of {children:?}");
    postgres.server.start().unwrap();
}

#[test]
fn etcd_keeps_its_data_over_its_death() {
    for wanted in [
        Wanted::default(),
        Wanted::default().password("secret").tls(),
    ] {
        let Some(etcd) = Etcd::for_test(&wanted) else {
            return;
        };
        etcd.ctl(&["put", "a", "1"]).unwrap();
        etcd.server.kill();
        etcd.server.start().unwrap();
        assert_eq!(
            etcd.ctl(&["get", "a", "--print-value-only"]).unwrap(),
            "1\n"
        );
    }
}

#[test]
fn postgres_keeps_its_data_over_its_death() {
    let Some(postgres) = Postgres::for_test(&Wanted::default().password("secret").tls()) else {
        return;
    };
    let name = postgres.database().unwrap();
    postgres
        .sql(&name, "create table t (a int); insert into t values (1)")
        .unwrap();
    postgres.server.kill();
    postgres.server.start().unwrap();
    assert_eq!(postgres.sql(&name, "select a from t").unwrap(), "1\n");
}

#[test]
fn mariadb_keeps_its_data_over_its_death() {
    let Some(mariadb) = MariaDb::for_test(&Wanted::default().password("secret").tls()) else {
        return;
    };
    let name = mariadb.database().unwrap();
    mariadb
        .sql(&name, "create table t (a int); insert into t values (1)")
        .unwrap();
    mariadb.server.kill();
    mariadb.server.start().unwrap();
    assert_eq!(mariadb.sql(&name, "select a from t").unwrap(), "1\n");
}

/// The thread that started a server ends, and another one uses it.
#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let started = std::thread::spawn(|| Redis::for_test(&Wanted::default()));
    let Some(redis) = started.join().unwrap() else {
        return;
    };
    assert_eq!(redis.cli(&["ping"]).unwrap().trim(), "PONG");
}

/// Set for the owner that is killed.
const OWNER: &str = "HALITE_TEST_OWNER";

#[test]
fn a_server_ends_when_its_owner_is_killed() {
    if std::env::var_os(OWNER).is_some() {
        own_until_killed();
    }
    if Redis::for_test(&Wanted::default()).is_none() {
        return;
    }
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "a_server_ends_when_its_owner_is_killed",
        ])
        .env(OWNER, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let address: SocketAddr = lines
        .map(|line| line.unwrap())
        .find_map(|line| line.strip_prefix("address ").map(str::to_owned))
        .unwrap()
        .parse()
        .unwrap();
    TcpStream::connect(address).unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < deadline, "the server goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[allow(clippy::unwrap_used)]
fn own_until_killed() -> ! {
    let redis = Redis::for_test(&Wanted::default());
    let address = redis.as_ref().map(|redis| redis.address);
    let mut out = std::io::stdout().lock();
    writeln!(out, "\naddress {}", address.unwrap()).unwrap();
    loop {
        std::thread::park();
    }
}
