//! Searches among a hundred thousand jobs in a database.
//!
//! Invariant: the jobs are as a master of Salt leaves them there; the first search,
//! which is not measured, makes whatever else ours needs to find them.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{Kind, Master};
use halite_test_services::{MariaDb, Postgres, Redis, Wanted};

use crate::daemons::{self, new_fleet};
use crate::measure::{Effort, Numbers, Unit, median};

/// One every twenty seconds, from the first of January on, for one of a thousand
/// minions, each tenth of another user, each hundredth another function.
const IN_POSTGRES: &str = "
insert into jids (jid, load) select jid, jsonb_build_object('jid', jid,
    'fun', case n % 100 when 7 then 'state.apply' else 'test.ping' end, 'arg', jsonb_build_array(),
    'tgt', 'node' || lpad((n % 1000)::text, 4, '0'), 'tgt_type', 'glob', 'ret', '',
    'user', case n % 10 when 3 then 'alice' else 'root' end)
from (select n, to_char(timestamp '2026-01-01' + n * interval '20 seconds',
    'YYYYMMDDHH24MISSUS') as jid from generate_series(0, 99999) as n) as jobs;
analyze jids;
";

const IN_MARIADB: &str = "
insert into jids (jid, `load`) select jid, json_object('jid', jid,
    'fun', case n % 100 when 7 then 'state.apply' else 'test.ping' end, 'arg', json_array(),
    'tgt', concat('node', lpad(n % 1000, 4, '0')), 'tgt_type', 'glob', 'ret', '',
    'user', case n % 10 when 3 then 'alice' else 'root' end)
from (select seq as n, date_format(date_add('2026-01-01', interval seq * 20 second),
    '%Y%m%d%H%i%s%f') as jid from seq_0_to_99999) as jobs;
analyze table jids;
";

const IN_REDIS: &str = r#"
for n = 0, 99999 do
    local s = n * 20
    local jid = string.format('202601%02d%02d%02d%02d000000', math.floor(s / 86400) + 1,
        math.floor(s / 3600) % 24, math.floor(s / 60) % 60, s % 60)
    local fun = n % 100 == 7 and 'state.apply' or 'test.ping'
    local user = n % 10 == 3 and 'alice' or 'root'
    redis.call('SET', 'load:' .. jid, string.format('{"jid": "%s", "fun": "%s", "arg": [],' ..
        ' "tgt": "node%04d", "tgt_type": "glob", "ret": "", "user": "%s"}', jid, fun,
        n % 1000, user))
end"#;

/// A search, and how many jobs it finds.
const SEARCHES: [(&str, &[&str], usize); 4] = [
    (
        "user",
        &["search_user=alice", "search_target=node0003"],
        100,
    ),
    ("function", &["search_function=state.*"], 1000),
    ("target", &["search_target=node012*"], 1000),
    (
        "time",
        &[
            "start_time=2026-01-10 00:00:00",
            "end_time=2026-01-10 00:59:59",
        ],
        180,
    ),
];

/// What one of these takes with each database; Salt reads all jobs for it.
pub(crate) fn job_lists(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    if kind != Kind::Ours {
        return Ok(());
    }
    let wanted = Wanted::default().below(&daemons::base());
    let postgres = Postgres::start(&wanted)?;
    let jobs = postgres.database()?;
    let fill = || postgres.sql(&jobs, IN_POSTGRES).map(drop);
    searches(effort, numbers, ("PostgreSQL", &postgres.url(&jobs)), fill)?;
    drop(postgres);
    let mariadb = MariaDb::start(&wanted)?;
    let jobs = mariadb.database()?;
    let fill = || mariadb.sql(&jobs, IN_MARIADB).map(drop);
    searches(effort, numbers, ("MariaDB", &mariadb.url(&jobs)), fill)?;
    drop(mariadb);
    let redis = Redis::start(&wanted)?;
    let fill = || redis.cli(&["EVAL", IN_REDIS, "0"]).map(drop);
    searches(effort, numbers, ("Redis", &redis.url()), fill)
}

fn searches(
    effort: Effort,
    numbers: &mut Numbers,
    (name, url): (&str, &str),
    fill: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let fleet = new_fleet()?;
    let master = fleet
        .master("m1", Kind::Ours)
        .set("store", url)
        .set("keep_jobs_seconds", 0)
        .set("log_level_logfile", "error")
        .start()?;
    // It makes its tables.
    search(&master, &[], 0)?;
    fill()?;
    search(&master, SEARCHES[0].1, SEARCHES[0].2)?;
    for (by, words, count) in SEARCHES {
        let times = (0..effort.calls).map(|_| search(&master, words, count));
        let times = times.collect::<Result<Vec<_>>>()?;
        numbers.add(
            &format!("`jobs.list_jobs` by {by}, 100,000 jobs in {name}"),
            median(times)?,
            Unit::Milliseconds,
            "1000 ms",
        );
    }
    Ok(())
}

/// How long a search takes; fails if it finds others than so many.
fn search(master: &Master, words: &[&str], count: usize) -> Result<Duration> {
    let mut call = vec!["jobs.list_jobs", "--out=json"];
    call.extend(words);
    let begun = Instant::now();
    let found = master.tools(Kind::Ours).runner(&call)?.ok()?;
    let took = begun.elapsed();
    let found = found.json()?;
    let found = found.as_object().map_or(0, serde_json::Map::len);
    ensure!(found == count, "{words:?} found {found} jobs, not {count}");
    Ok(took)
}
