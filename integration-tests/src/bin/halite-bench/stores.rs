//! Masters whose jobs are in a database, beside one whose jobs are in files.

use std::net::SocketAddr;

use anyhow::Result;
use halite_integration_tests::{Fleet, Kind, Master, Programs};
use halite_test_services::{Postgres, Redis, Wanted};

use crate::daemons::{SETTLE, minion, new_fleet, publish_to_return};
use crate::load;
use crate::measure::{Effort, Numbers, Unit, mebibytes};

/// Requests that wait for a database together are stored together.
const WORKERS: usize = 16;

/// The tables of Salt's returner `pgjsonb`, which it does not make itself.
const TABLES: &str = "
create table jids (jid varchar(255) not null primary key, load jsonb not null);
create table salt_returns (fun varchar(50) not null, jid varchar(255) not null,
    return jsonb not null, id varchar(255) not null, success varchar(10) not null,
    full_ret jsonb not null, alter_time timestamp with time zone default now());
create index on salt_returns (id);
create index on salt_returns (jid);
create index on salt_returns (fun);
create table salt_events (id bigserial primary key, tag varchar(255) not null,
    data jsonb not null, alter_time timestamp with time zone default now(),
    master_id varchar(255) not null);
";

/// Where a master keeps its jobs.
struct Place {
    name: &'static str,
    options: Vec<(String, String)>,
    returns_aim: &'static str,
}

impl Place {
    fn new(
        name: &'static str,
        cache: &str,
        family: &str,
        address: SocketAddr,
        returns_aim: &'static str,
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
        }
    }
}

/// What was measured of one place.
struct Measured {
    latency_ms: f64,
    memory_kib: u64,
}

/// Jobs in files, in PostgreSQL and in Redis.
pub(crate) fn stores(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let postgres = Postgres::start(&Wanted::default())?;
    postgres.sql("salt", TABLES)?;
    let redis = Redis::start(&Wanted::default())?;
    let files = Place {
        name: "files",
        options: Vec::new(),
        returns_aim: "",
    };
    let base = measure(kind, effort, &files, numbers)?;
    let mut places = vec![Place::new(
        "PostgreSQL",
        "pgjsonb",
        "returner.pgjsonb",
        postgres.address,
        "8000/s",
    )];
    if kind == Kind::Ours {
        places.push(Place::new(
            "Redis",
            "redis",
            "redis",
            redis.address,
            "12000/s",
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
    Ok(())
}

fn measure(kind: Kind, effort: Effort, place: &Place, numbers: &mut Numbers) -> Result<Measured> {
    let fleet = new_fleet()?;
    let mut master = master(&fleet, kind, place)?;
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
    std::thread::sleep(SETTLE);
    let memory_kib = master.memory_kib()?;
    Ok(Measured {
        latency_ms,
        memory_kib,
    })
}

fn master(fleet: &Fleet, kind: Kind, place: &Place) -> Result<Master> {
    let clients = Programs::peers_dir()?.join(halite_test_services::CLIENTS);
    let plan = fleet
        .master("m1", kind)
        .auto_accept()
        .set("worker_threads", WORKERS)
        .set("loop_interval", 60)
        .set("log_level_logfile", "error")
        .env("PYTHONPATH", &clients.display().to_string());
    let options = place.options.iter();
    options
        .fold(plan, |plan, (name, value)| plan.set(name, value.as_str()))
        .start()
}
