//! Masters whose jobs or minion data are in a database, beside one with files.
//!
//! Invariant: a return counts when the database has it.

use std::net::SocketAddr;

use anyhow::Result;
use halite_crypto::PrivateKey;
use halite_integration_tests::{Fleet, Kind, Master, Programs, START, until};
use halite_test_services::{Postgres, Redis, Wanted};

use crate::daemons::{SETTLE, minion, new_fleet, publish_to_return};
use crate::measure::{Effort, Numbers, Unit, mebibytes};
use crate::{admin, daemons, load};

/// Requests that wait for a database together are stored together.
const WORKERS: usize = 16;

/// The tables of Salt's returner `pgjsonb`, which it does not make itself. Their indexes
/// have the names of Salt's page: under others they would be made twice.
const TABLES: &str = "
create table jids (jid varchar(255) not null primary key, load jsonb not null);
create table salt_returns (fun varchar(50) not null, jid varchar(255) not null,
    return jsonb not null, id varchar(255) not null, success varchar(10) not null,
    full_ret jsonb not null, alter_time timestamp with time zone default now());
create index idx_salt_returns_id on salt_returns (id);
create index idx_salt_returns_jid on salt_returns (jid);
create index idx_salt_returns_fun on salt_returns (fun);
create table salt_events (id bigserial primary key, tag varchar(255) not null,
    data jsonb not null, alter_time timestamp with time zone default now(),
    master_id varchar(255) not null);
";

/// The database of jobs; minion data goes into others of the same servers.
const JOBS: &str = "salt";

/// How many returns a database has.
type Stored<'server> = Box<dyn Fn() -> Result<usize> + 'server>;

/// Where a master keeps its jobs.
struct Place<'server> {
    name: &'static str,
    options: Vec<(String, String)>,
    returns_aim: &'static str,
    /// `None` where nothing is between the master and what it has stored.
    stored: Option<Stored<'server>>,
}

impl<'server> Place<'server> {
    fn new(
        name: &'static str,
        cache: &str,
        family: &str,
        address: SocketAddr,
        (returns_aim, stored): (&'static str, Stored<'server>),
    ) -> Self {
        let options = [
            ("master_job_cache".to_owned(), cache.to_owned()),
            (format!("{family}.host"), address.ip().to_string()),
            (format!("{family}.port"), address.port().to_string()),
        ];
        Self {
            name,
            options: options.into(),
            returns_aim,
            stored: Some(stored),
        }
    }
}

/// What was measured of one place.
struct Measured {
    latency_ms: f64,
    memory_kib: u64,
}

/// Jobs in files, in PostgreSQL and in Redis, and minion data in the latter.
pub(crate) fn stores(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    // Where the files of masters are, too.
    let wanted = Wanted::default().below(&daemons::base());
    let postgres = Postgres::start(&wanted)?;
    postgres.sql(JOBS, TABLES)?;
    let redis = Redis::start(&wanted)?;
    let files = Place {
        name: "files",
        options: Vec::new(),
        returns_aim: "",
        stored: None,
    };
    let in_postgres = || -> Result<usize> {
        let count = postgres.sql(JOBS, "select count(*) from salt_returns")?;
        Ok(count.trim().parse()?)
    };
    let in_redis = || -> Result<usize> {
        let of_all = "local n=0 for _,k in ipairs(redis.call('KEYS','ret:*')) do \
                      n=n+redis.call('HLEN',k) end return n";
        Ok(redis.cli(&["EVAL", of_all, "0"])?.trim().parse()?)
    };
    let base = measure(kind, effort, &files, numbers)?;
    let mut places = vec![Place::new(
        "PostgreSQL",
        "pgjsonb",
        "returner.pgjsonb",
        postgres.address,
        ("8000/s", Box::new(in_postgres)),
    )];
    if kind == Kind::Ours {
        places.push(Place::new(
            "Redis",
            "redis",
            "redis",
            redis.address,
            ("12000/s", Box::new(in_redis)),
        ));
    }
    for place in places {
        let found = measure(kind, effort, &place, numbers)?;
        let name = |what: &str| format!("- {what}, jobs in {}, to that with files", place.name);
        numbers.add(
            &name("publish to return"),
            found.latency_ms / base.latency_ms,
            Unit::Times,
            "1.3x",
        );
        numbers.add(
            &name("master's memory (PSS)"),
            mebibytes(found.memory_kib) / mebibytes(base.memory_kib),
            Unit::Times,
            "1.2x",
        );
    }
    // Salt keeps no minion data in PostgreSQL.
    if kind == Kind::Ours {
        let url = postgres.url(&postgres.database()?);
        minion_data(kind, effort, numbers, ("PostgreSQL", &url, &[]))?;
    }
    let options = [
        ("cache", "redis".to_owned()),
        ("cache.redis.host", redis.address.ip().to_string()),
        ("cache.redis.port", redis.address.port().to_string()),
    ];
    minion_data(kind, effort, numbers, ("Redis", &redis.url(), &options))
}

/// A compound target over minions whose grains are in a database. A master of ours
/// with files brings them there; one of Salt's finds the keys in files.
fn minion_data(
    kind: Kind,
    effort: Effort,
    numbers: &mut Numbers,
    (name, url, salts_options): (&str, &str, &[(&str, String)]),
) -> Result<()> {
    let key = PrivateKey::generate(2048)?.public()?.to_pem()?;
    let fleet = new_fleet()?;
    let mut files = fleet.master("files", Kind::Ours).start()?;
    admin::write_minions(&files, key.as_bytes())?;
    let to = format!("dst_driver={url}");
    let moved = files.tools(Kind::Ours).runner(&["cache.migrate", &to])?;
    moved.ok()?;
    files.stop()?;
    let store = ("store", url.to_owned());
    let options = match kind {
        Kind::Ours => std::slice::from_ref(&store),
        _ => salts_options,
    };
    let master = master(&fleet, kind, options)?;
    if kind != Kind::Ours {
        admin::write_minions(&master, key.as_bytes())?;
        std::fs::remove_dir_all(master.dir().join("cache/grains"))?;
    }
    // What was stored within the last seconds is read again where times are whole ones.
    std::thread::sleep(SETTLE);
    let place = format!(", data in {name}");
    admin::target_minions(&master, &place, effort, numbers)
}

fn measure(kind: Kind, effort: Effort, place: &Place, numbers: &mut Numbers) -> Result<Measured> {
    let fleet = new_fleet()?;
    let mut master = master(&fleet, kind, &place.options)?;
    let web1 = minion(&fleet, kind, &master, 1)?;
    let latency_ms = publish_to_return(&master, effort)?;
    let name = |what: &str| format!("{what}, jobs in {}", place.name);
    numbers.add(
        &name("publish to return"),
        latency_ms,
        Unit::Milliseconds,
        "",
    );
    drop(web1);
    master.stop_listening();
    let rate = load::returns(&master, effort.jobs)?;
    numbers.add(&name("returns"), rate, Unit::PerSecond, place.returns_aim);
    if let Some(stored) = &place.stored {
        wait_stored(effort, stored)?;
    }
    std::thread::sleep(SETTLE);
    let memory_kib = master.memory_kib()?;
    Ok(Measured {
        latency_ms,
        memory_kib,
    })
}

/// Fails if a database lacks returns that were measured.
fn wait_stored(effort: Effort, stored: &Stored<'_>) -> Result<()> {
    let wanted = effort.publications + effort.jobs * load::MINIONS;
    let has_all = || Ok((stored()? >= wanted).then_some(()));
    until("all returns to be in the database", START, has_all)
}

fn master<N: AsRef<str>>(fleet: &Fleet, kind: Kind, options: &[(N, String)]) -> Result<Master> {
    let clients = Programs::peers_dir()?.join(halite_test_services::CLIENTS);
    let plan = fleet
        .master("m1", kind)
        .auto_accept()
        .set("worker_threads", WORKERS)
        .set("loop_interval", 60)
        .set("log_level_logfile", "error")
        .env("PYTHONPATH", &clients.display().to_string());
    options
        .iter()
        .fold(plan, |plan, (name, value)| {
            plan.set(name.as_ref(), value.as_str())
        })
        .start()
}
