//! A master of ours and one of real Salt that run on one database at the same time:
//! each finds the jobs of the other, and one of 3008 matches the same minions by
//! their grains.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Output, Program, Programs, START, run, until};
use halite_test_services::{CLIENTS, MariaDb, Postgres, Wanted};
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(120);

/// Two masters with the same options, with the clients of databases that Salt's needs.
struct Both {
    fleet: Fleet,
    ours: Master,
    theirs: Master,
    clients: String,
}

impl Both {
    fn start(kind: Kind, options: &[(&str, Value)]) -> Result<Option<Self>> {
        let clients = Programs::peers_dir()?.join(CLIENTS);
        if !clients.exists() {
            halite_test_support::not_run("the clients of databases (cargo xtask peers)");
            return Ok(None);
        }
        let clients = clients.display().to_string();
        let fleet = Fleet::new("onedb")?;
        let plan = |name: &str, kind| {
            let plan = fleet.master(name, kind).auto_accept();
            let plan = plan.env("PYTHONPATH", &clients);
            options
                .iter()
                .fold(plan, |plan, (name, value)| plan.set(name, value.clone()))
        };
        let ours = plan("m1", Kind::Ours).start()?;
        let theirs = plan("m2", kind).key_pair_of(&ours).start()?;
        Ok(Some(Self {
            fleet,
            ours,
            theirs,
            clients,
        }))
    }

    /// Runs a program of a master's own kind beside it.
    fn ask(&self, master: &Master, program: Program, words: &[&str]) -> Result<Output> {
        let words = [words, &["--out=json", "-l", "quiet"]].concat();
        let recipe = master.tools(master.kind()).recipe(program, &words)?;
        run(&recipe.env("PYTHONPATH", &self.clients), DEADLINE)
    }

    /// The ids of the jobs of a command that a master knows.
    fn jobs_of(&self, master: &Master, fun: &str) -> Result<Vec<String>> {
        let search = format!("search_function={fun}");
        let listed = self.ask(master, Program::Run, &["jobs.list_jobs", &search])?;
        let listed = listed.ok()?.json()?;
        let jobs = listed.as_object().context("no jobs")?;
        Ok(jobs.keys().cloned().collect())
    }

    fn check(&self) -> Result<()> {
        let minion = self.fleet.minion("web1", Kind::Ours);
        let minion = minion.of(&self.ours).of(&self.theirs);
        let minion = minion.set("grains", json!({ "role": "web" }));
        let _minion = minion.start()?;
        let grains = ["-G", "role:web"].as_slice();
        // Its cache in MySQL has another layout, in which it finds no grains, its own
        // neither.
        let at_theirs = match self.theirs.kind() {
            Kind::Salt3006 => ["web1"].as_slice(),
            _ => grains,
        };
        let pairs = [
            (&self.ours, grains, &self.theirs, "test.echo", "by-ours"),
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
fn mysql(mariadb: &MariaDb) -> Vec<(&'static str, Value)> {
    vec![
        ("mysql.host", json!(mariadb.address.ip())),
        ("mysql.port", json!(mariadb.address.port())),
        ("mysql.user", json!("salt")),
        ("mysql.password", json!("salt")),
        ("mysql.database", json!("salt")),
        ("cache", json!("mysql")),
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
        Some(both) => both.check(),
        None => Ok(()),
    }
}

/// Jobs are in MariaDB: 3006 has the returner by itself.
#[test]
fn a_running_master_of_3006_and_ours_share_a_mariadb() -> Result<()> {
    let wanted = Wanted::default().password("salt");
    let Some(mariadb) = MariaDb::for_test(&wanted) else {
        return Ok(());
    };
    let mut options = mysql(&mariadb);
    options.push(("master_job_cache", json!("mysql")));
    match Both::start(Kind::Salt3006, &options)? {
        Some(both) => both.check(),
        None => Ok(()),
    }
}
