//! A master of ours and one of real Salt that run on one database at the same time:
//! each finds the jobs of the other, and one of 3008 matches the same minions by
//! their grains. What else they share on one server is in `one_server`.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Output, Program, Programs, START, run, until};
use halite_test_services::{CLIENTS, MariaDb, Postgres, Redis, Wanted};
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(120);

/// Puts the key pair in the files of a master where 3008 keeps its own: beside the keys of
/// minions. It would make another pair there.
const KEY_PAIR: &str = r#"
import os, sys
sys.path.insert(0, "CLIENTS")
import salt.cache, salt.config
opts = salt.config.master_config(sys.argv[1])
cache = salt.cache.Cache(opts, driver=opts["keys.cache_driver"])
for name in ("master.pem", "master.pub"):
    with open(os.path.join(opts["pki_dir"], name)) as key:
        cache.store("master_keys", name, key.read())
"#;

/// A target by a grain of the minion.
const GRAINS: &[&str] = &["-G", "role:web"];

/// An option of a master.
pub(crate) type Setting = (&'static str, Value);

/// Two masters with one key pair, with the clients of databases that Salt's needs.
pub(crate) struct Both {
    pub(crate) fleet: Fleet,
    pub(crate) ours: Master,
    pub(crate) theirs: Master,
    pub(crate) clients: String,
}

impl Both {
    /// Starts them with the same options; `None`, and reported, without the clients.
    fn start(kind: Kind, options: &[Setting]) -> Result<Option<Self>> {
        Self::start_each(kind, options, options)
    }

    /// The same with the options of ours, and of theirs.
    pub(crate) fn start_each(
        kind: Kind,
        of_ours: &[Setting],
        of_theirs: &[Setting],
    ) -> Result<Option<Self>> {
        let clients = Programs::peers_dir()?.join(CLIENTS);
        if !clients.exists() {
            halite_test_support::not_run("the clients of databases (cargo xtask peers)");
            return Ok(None);
        }
        let clients = clients.display().to_string();
        let fleet = Fleet::new("onedb")?;
        let plan = |name: &str, kind, options: &[Setting]| {
            let plan = fleet.master(name, kind).auto_accept();
            let plan = plan.env("PYTHONPATH", &clients);
            options
                .iter()
                .fold(plan, |plan, (name, value)| plan.set(name, value.clone()))
        };
        let ours = plan("m1", Kind::Ours, of_ours).start()?;
        let mut theirs = plan("m2", kind, of_theirs).key_pair_of(&ours).lay()?;
        let mut names = of_theirs.iter().map(|(name, _)| *name);
        if names.any(|name| name == "keys.cache_driver") {
            let script = KEY_PAIR.replace("CLIENTS", &clients);
            theirs.tools(kind).python(&script)?.ok()?;
        }
        theirs.start()?;
        Ok(Some(Self {
            fleet,
            ours,
            theirs,
            clients,
        }))
    }

    /// Runs a program of a master's own kind beside it.
    pub(crate) fn run(&self, master: &Master, program: Program, words: &[&str]) -> Result<Output> {
        let recipe = master.tools(master.kind()).recipe(program, words)?;
        run(&recipe.env("PYTHONPATH", &self.clients), DEADLINE)
    }

    /// The same, for an answer in JSON.
    pub(crate) fn ask(&self, master: &Master, program: Program, words: &[&str]) -> Result<Output> {
        self.run(
            master,
            program,
            &[words, &["--out=json", "-l", "quiet"]].concat(),
        )
    }

    /// The ids of the jobs of a command that a master knows.
    fn jobs_of(&self, master: &Master, fun: &str) -> Result<Vec<String>> {
        let search = format!("search_function={fun}");
        let listed = self.ask(master, Program::Run, &["jobs.list_jobs", &search])?;
        let listed = listed.ok()?.json()?;
        let jobs = listed.as_object().context("no jobs")?;
        Ok(jobs.keys().cloned().collect())
    }

    /// Checks that each finds what the other has done; theirs does it with this target.
    fn check(&self, at_theirs: &[&str]) -> Result<()> {
        let minion = self.fleet.minion("web1", Kind::Ours);
        let minion = minion.of(&self.ours).of(&self.theirs);
        let minion = minion.set("grains", json!({ "role": "web" }));
        let _minion = minion.start()?;
        let pairs = [
            (&self.ours, GRAINS, &self.theirs, "test.echo", "by-ours"),
            (&self.theirs, at_theirs, &self.ours, "test.arg", "by-theirs"),
        ];
        for (master, ..) in pairs {
            master.wait_minion("web1")?;
        }
        for (at, target, other, fun, text) in pairs {
            let words = [target, &[fun, text]].concat();
            let got = self.ask(at, Program::Salt, &words)?.ok()?;
            ensure!(got.stdout.contains(text), "{got}");
            let what = format!("the job of {:?} at {:?}", at.kind(), other.kind());
            until(&what, START, || {
                let jids = self.jobs_of(other, fun)?;
                let Some(jid) = jids.first() else {
                    return Ok(None);
                };
                let words = ["jobs.lookup_jid", jid];
                let found = self.ask(other, Program::Run, &words)?.ok()?;
                Ok(found.stdout.contains(text).then_some(()))
            })?;
        }
        Ok(())
    }
}

/// What Salt's cache wants; its returner has the same host and port, and by itself the
/// other three are `salt`. The cache refuses the names that the returner has for them.
pub(crate) fn mysql(mariadb: &MariaDb) -> Vec<Setting> {
    vec![
        ("mysql.host", json!(mariadb.address.ip())),
        ("mysql.port", json!(mariadb.address.port())),
        ("mysql.user", json!("salt")),
        ("mysql.password", json!("salt")),
        ("mysql.database", json!("salt")),
        ("cache", json!("mysql")),
    ]
}

/// Where a cache in a Redis is.
pub(crate) fn cache_in(redis: &Redis) -> Vec<Setting> {
    vec![
        ("cache.redis.host", json!(redis.address.ip())),
        ("cache.redis.port", json!(redis.address.port())),
    ]
}

/// Jobs are in PostgreSQL, what minions tell in MariaDB.
#[test]
fn a_running_master_of_3008_and_ours_share_databases() -> Result<()> {
    let wanted = Wanted::default().password("salt");
    let (Some(postgres), Some(mariadb)) = (
        Postgres::for_test(&Wanted::default()),
        MariaDb::for_test(&wanted),
    ) else {
        return Ok(());
    };
    let mut options = mysql(&mariadb);
    options.extend([
        ("master_job_cache", json!("pgjsonb")),
        ("returner.pgjsonb.host", json!(postgres.address.ip())),
        ("returner.pgjsonb.port", json!(postgres.address.port())),
    ]);
    match Both::start(Kind::Salt3008, &options)? {
        Some(both) => both.check(GRAINS),
        None => Ok(()),
    }
}

/// Jobs are in MariaDB: 3006 has the returner by itself. Its cache there has another layout,
/// in which it finds no grains, its own neither.
#[test]
fn a_running_master_of_3006_and_ours_share_a_mariadb() -> Result<()> {
    let wanted = Wanted::default().password("salt");
    let Some(mariadb) = MariaDb::for_test(&wanted) else {
        return Ok(());
    };
    let mut options = mysql(&mariadb);
    options.push(("master_job_cache", json!("mysql")));
    match Both::start(Kind::Salt3006, &options)? {
        Some(both) => both.check(&["web1"]),
        None => Ok(()),
    }
}

/// Jobs are in a Redis: 3006 has the returner by itself. What minions tell is there, too,
/// where each master finds its own: the two have different layouts.
#[test]
fn a_running_master_of_3006_and_ours_share_a_redis() -> Result<()> {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let mut options = vec![
        ("master_job_cache", json!("redis")),
        ("redis.host", json!(redis.address.ip())),
        ("redis.port", json!(redis.address.port())),
        ("cache", json!("redis")),
    ];
    options.extend(cache_in(&redis));
    match Both::start(Kind::Salt3006, &options)? {
        Some(both) => both.check(GRAINS),
        None => Ok(()),
    }
}
