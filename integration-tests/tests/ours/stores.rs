//! Our programs on real databases: one table of commands on each, results that
//! minions store directly, and jobs that are moved while programs are killed.

use anyhow::{Context, Result, ensure};
use halite_crypto::HashType;
use halite_integration_tests::{Daemon, Fleet, Kind, Master, Program, START, until};
use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId};
use halite_store::StoreOptions;
use halite_test_services::{Etcd, MariaDb, Postgres, Redis, Wanted};
use serde_json::{Value, json};

fn keys(master: &Master) -> Result<Value> {
    master.key(&["-L", "--out=json"])?.ok()?.json()
}

fn runs(master: &Master, words: &[&str]) -> Result<Value> {
    let words = [words, &["--out=json"]].concat();
    master.tools(Kind::Ours).runner(&words)?.ok()?.json()
}

/// Waits until `salt-key` lists a minion in a state.
fn is_listed(master: &Master, state: &str, id: &str) -> Result<()> {
    until(&format!("{id} in {state}"), START, || {
        let listed = keys(master)?;
        let ids = listed[state].as_array().context("no list")?;
        Ok(ids.contains(&json!(id)).then_some(()))
    })
}

/// Moves the cache of a master to another place of the same kind.
fn check_migration(master: &Master, from: &str, to: &str) -> Result<()> {
    let (from, to) = (format!("src_driver={from}"), format!("dst_driver={to}"));
    let words = ["cache.migrate", &from, &to, "--out=json"];
    for is_again in [false, true] {
        let output = master.tools(Kind::Ours).runner(&words)?.ok()?;
        // How far it is stands before the answer.
        let begin = output.stdout.find('{').context("no answer")?;
        let moved: Value = serde_json::from_str(&output.stdout[begin..])?;
        for bank in ["grains", "keys"] {
            let told = &moved[bank];
            ensure!(told["hash"] == told["hash_there"], "{moved}");
            let counts = match is_again {
                false => (&told["copied"], &told["known"]),
                true => (&told["known"], &told["copied"]),
            };
            ensure!(counts == (&json!(1), &json!(0)), "{moved}");
        }
    }
    Ok(())
}

/// What everybody does on the first day, on a store of any kind that keeps jobs, or none;
/// on the second it is moved.
fn check(name: &str, url: &str, other_url: &str) -> Result<()> {
    let fleet = Fleet::new(name)?;
    let plan = |name: &str| fleet.master(name, Kind::Ours).set("store", url);
    let master = plan("m1").start()?;
    let second = plan("m2").key_pair_of(&master).start()?;
    let web1 = fleet.minion("web1", Kind::Ours).of(&master).of(&second);
    let web1 = web1.set("grains", json!({ "role": "web" })).start()?;
    is_listed(&master, "minions_pre", "web1")?;
    // What one master accepts counts at the other.
    second.key(&["-y", "-a", "web1"])?.ok()?;
    is_listed(&master, "minions", "web1")?;
    for master in [&master, &second] {
        master.wait_minion("web1")?;
        let got = master.returns(&["-G", "role:web", "test.echo", "hello"])?;
        ensure!(got["web1"] == "hello", "{got:?}");
    }
    let finger = master.key(&["-f", "web1", "--out=json"])?.ok()?.json()?;
    ensure!(finger["minions"]["web1"].is_string(), "{finger}");

    let listed = runs(&master, &["jobs.list_jobs", "search_function=test.echo"])?;
    let jobs = listed.as_object().context("no jobs")?;
    // Of an etcd each master has its own.
    let count = if url.starts_with("etcd") { 1 } else { 2 };
    ensure!(jobs.len() == count, "{listed}");
    for jid in jobs.keys() {
        let found = runs(&master, &["jobs.lookup_jid", jid])?;
        ensure!(found["web1"] == "hello", "{found}");
        let job = runs(&master, &["jobs.list_job", jid])?;
        ensure!(job["Target"] == "role:web", "{job}");
    }
    ensure!(runs(&master, &["jobs.active"])? == json!({}));
    let found = runs(&second, &["cache.grains", "web1"])?;
    ensure!(found["web1"]["role"] == "web", "{found}");
    let status = runs(&master, &["store.status"])?;
    for role in ["data", "banks", "tokens", "keys"] {
        ensure!(status[role]["available"] == true, "{status}");
    }
    let address = second.address().request().to_string();
    let compared = runs(&master, &["masters.compare", &address])?;
    ensure!(compared[0]["agree"] == true, "{compared}");
    check_migration(&master, url, other_url)?;

    master
        .key(&["-y", "-r", "web1", "--include-accepted"])?
        .ok()?;
    is_listed(&second, "minions_rejected", "web1")?;
    second.key(&["-y", "-d", "web1"])?.ok()?;
    let left = keys(&master)?;
    ensure!(left["minions_rejected"] == json!([]), "{left}");
    drop(web1);
    Ok(())
}

#[test]
fn the_first_day_on_a_redis() -> Result<()> {
    match Redis::for_test(&Wanted::default()) {
        Some(redis) => {
            let other = redis.url().replace("/0", "/1");
            check("storeredis", &redis.url(), &other)
        }
        None => Ok(()),
    }
}

#[test]
fn the_first_day_on_a_postgres() -> Result<()> {
    match Postgres::for_test(&Wanted::default()) {
        Some(postgres) => {
            let other = postgres.url(&postgres.database()?);
            check("storepg", &postgres.url("salt"), &other)
        }
        None => Ok(()),
    }
}

#[test]
fn the_first_day_on_a_mariadb() -> Result<()> {
    match MariaDb::for_test(&Wanted::default()) {
        Some(mariadb) => {
            let other = mariadb.url(&mariadb.database()?);
            check("storemy", &mariadb.url("salt"), &other)
        }
        None => Ok(()),
    }
}

#[test]
fn the_first_day_on_an_etcd() -> Result<()> {
    match Etcd::for_test(&Wanted::default()) {
        Some(etcd) => check("storeetcd", &etcd.url(), &etcd.new_url()),
        None => Ok(()),
    }
}

/// A minion brings results to a database by itself: of one master that asks for that with
/// each command, and of one that does so always.
fn check_returner(
    returner: &str,
    options: &[(&str, Value)],
    stored: &dyn Fn() -> Result<String>,
) -> Result<()> {
    let fleet = Fleet::new("extjobs")?;
    let plan = |name: &str| {
        let plan = fleet.master(name, Kind::Ours).auto_accept();
        options
            .iter()
            .fold(plan, |plan, (name, value)| plan.set(name, value.clone()))
    };
    let asks = plan("m1").start()?;
    let always = plan("m2").key_pair_of(&asks);
    let always = always.set("ext_job_cache", returner).start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&asks).of(&always);
    let minion = options.iter().fold(minion, |minion, (name, value)| {
        minion.set(name, value.clone())
    });
    let _minion = minion.start()?;
    for master in [&asks, &always] {
        master.wait_minion("web1")?;
    }
    let is_stored = |text: &str| until(text, START, || Ok(stored()?.contains(text).then_some(())));
    let got = asks.returns(&["web1", "test.echo", "only-here"])?;
    ensure!(got["web1"] == "only-here", "{got:?}");
    let asked = format!("--return={returner}");
    let got = asks.returns(&["web1", "test.echo", "asked-for", &asked])?;
    ensure!(got["web1"] == "asked-for", "{got:?}");
    is_stored("asked-for")?;
    let got = always.returns(&["web1", "test.echo", "as-always"])?;
    ensure!(got["web1"] == "as-always", "{got:?}");
    is_stored("as-always")?;
    ensure!(!stored()?.contains("only-here"));
    // The master reads it there.
    let search = ["jobs.list_jobs", "search_function=test.echo"];
    let listed = runs(&always, &search)?;
    let jobs = listed.as_object().context("no jobs")?;
    let mut returned = Vec::new();
    for jid in jobs.keys() {
        returned.push(runs(&always, &["jobs.lookup_jid", jid])?["web1"].clone());
    }
    ensure!(
        returned.contains(&json!("as-always")),
        "{listed} {returned:?}"
    );
    Ok(())
}

#[test]
fn results_go_to_pgjsonb_by_themselves() -> Result<()> {
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let options = [
        ("returner.pgjsonb.host", json!(postgres.address.ip())),
        ("returner.pgjsonb.port", json!(postgres.address.port())),
    ];
    let all = "select coalesce(string_agg(full_ret::text, ' '), '') from salt_returns";
    // The master makes the tables when it stores the first job.
    check_returner("pgjsonb", &options, &|| {
        Ok(postgres.sql("salt", all).unwrap_or_default())
    })?;
    check_no_result_twice(&postgres.sql("salt", COUNTS)?)
}

/// The rows of results, and how many results these are.
const COUNTS: &str = "select count(*), count(distinct concat(jid, id)) from salt_returns";

/// The master stores the results that minions store themselves.
fn check_no_result_twice(counts: &str) -> Result<()> {
    let mut counts = counts.split_whitespace().flat_map(|it| it.split('|'));
    let (rows, results) = (counts.next(), counts.next());
    ensure!(rows == results && rows.is_some(), "{rows:?} {results:?}");
    Ok(())
}

#[test]
fn results_go_to_mysql_by_themselves() -> Result<()> {
    let Some(mariadb) = MariaDb::for_test(&Wanted::default().password("salt")) else {
        return Ok(());
    };
    let options = [
        ("mysql.host", json!(mariadb.address.ip())),
        ("mysql.port", json!(mariadb.address.port())),
    ];
    let all = "select full_ret from salt_returns";
    check_returner("mysql", &options, &|| {
        Ok(mariadb.sql("salt", all).unwrap_or_default())
    })?;
    check_no_result_twice(&mariadb.sql("salt", COUNTS)?)
}

#[test]
fn results_go_to_a_redis_by_themselves() -> Result<()> {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let options = [
        ("redis.host", json!(redis.address.ip())),
        ("redis.port", json!(redis.address.port())),
    ];
    let all = "local all={} for _,k in ipairs(redis.call('KEYS','ret:*')) do \
               for _,v in ipairs(redis.call('HVALS',k)) do table.insert(all, v) end end \
               return all";
    check_returner("redis", &options, &|| redis.cli(&["EVAL", all, "0"]))
}

const JOBS: u64 = 3000;

fn jid(number: u64) -> Result<Jid> {
    Jid::parse(format!("20260102030405{number:06}")).context("no jid")
}

/// Jobs in the files of a master that is not running.
fn fill(master: &Master) -> Result<()> {
    let cachedir = master.dir().join("cache");
    let jobs = halite_store::open(&StoreOptions::local_fs(cachedir, HashType::Sha256)).jobs;
    let web1 = MinionId::parse("web1").context("no id")?;
    for number in 0..JOBS {
        let job = jid(number)?;
        let load = Map::from([("fun", "test.echo"), ("tgt", "web1"), ("user", "alice")]);
        jobs.prepare(&job, false)?;
        jobs.save_load(&job, &load, Some(std::slice::from_ref(&web1)))?;
        let fun = FunSpec::One("test.echo".to_owned());
        let value = halite_proto::Value::from(number);
        let ret = JobReturn::new(ReturnJid::Jid(job.clone()), fun, Vec::new(), value, 0);
        jobs.save_return(&job, &web1, &ret)?;
    }
    Ok(())
}

/// `salt-run` is killed in the middle, and then the master: the next run does what is
/// left, and all of it is there once.
#[test]
fn jobs_are_moved_although_programs_are_killed() -> Result<()> {
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let fleet = Fleet::new("killedmove")?;
    let mut master = fleet
        .master("m1", Kind::Ours)
        .set("keep_jobs_seconds", 0)
        .lay()?;
    fill(&master)?;
    master.start()?;
    let url = postgres.url("salt");
    let words = ["jobs.migrate", "local_cache", &url, "--out=json"];
    let stored = || -> Result<u64> {
        let count = postgres.sql("salt", "select count(*) from salt_returns");
        // The tables are made with the first job.
        Ok(count.unwrap_or_default().trim().parse().unwrap_or(0))
    };
    let begin = |console: &str| -> Result<Daemon> {
        let recipe = master.tools(Kind::Ours).recipe(Program::Run, &words)?;
        let mut run = Daemon::new(recipe, fleet.path().join(console));
        run.start()?;
        Ok(run)
    };
    let has_more_than = |count: u64| {
        until("some jobs to be there", START, || {
            Ok((stored()? > count).then_some(()))
        })
    };
    let mut run = begin("first")?;
    has_more_than(50)?;
    run.kill9()?;
    let before = stored()?;
    ensure!(before < JOBS, "it was too fast to be killed: {before}");
    let mut run = begin("second")?;
    has_more_than(before + 50)?;
    master.kill9()?;
    run.kill9()?;
    let before = stored()?;
    ensure!(before < JOBS, "it was too fast to be killed: {before}");
    master.start()?;
    let migrate = || -> Result<Value> {
        let output = master.tools(Kind::Ours).runner(&words)?.ok()?;
        // How far it is stands before the answer.
        let begin = output.stdout.find('{').context("no answer")?;
        Ok(serde_json::from_str(&output.stdout[begin..])?)
    };
    let moved = migrate()?;
    ensure!(moved["hash"] == moved["hash_there"], "{moved}");
    let number = |name: &str| moved[name].as_u64().unwrap_or_default();
    ensure!(number("known") >= before, "{moved} after {before}");
    ensure!(
        number("known") + number("copied") == number("jobs"),
        "{moved}"
    );
    ensure!(stored()? >= JOBS, "{moved}");
    let of_web1 = "select count(*), count(distinct jid) from salt_returns where id = 'web1'";
    let found = postgres.sql("salt", of_web1)?;
    ensure!(found.trim() == format!("{JOBS}|{JOBS}"), "{found}");
    // And nothing is left to do but what has come meanwhile.
    let again = migrate()?;
    ensure!(again["known"].as_u64() >= Some(number("jobs")), "{again}");
    Ok(())
}
