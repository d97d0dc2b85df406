//! How much room a minion has in the job cache, whichever field it fills, and in
//! whose name.

use std::fs;
use std::path::Path;

use halite_proto::publish::FunSpec;
use halite_proto::request::{MinionRequest, RegisterResources};
use halite_proto::returns::{JobReturn, ReturnJid, Several};
use halite_proto::{Jid, Map, Value};

use crate::jobs::publish;
use crate::support::{Master, Minion};

const MIB: usize = 1 << 20;

fn job_return(jid: ReturnJid) -> JobReturn {
    JobReturn::new(jid, FunSpec::from("test.ping"), Vec::new(), true.into(), 0)
}

fn returned(job: JobReturn) -> MinionRequest {
    MinionRequest::Return(Box::new(job))
}

/// The bytes below the job cache.
fn kept(master: &Master) -> usize {
    fn below(dir: &Path) -> u64 {
        let Ok(entries) = fs::read_dir(dir) else {
            return 0;
        };
        let of = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => below(&path),
                false => fs::metadata(path).map_or(0, |meta| meta.len()),
            }
        };
        entries.map(of).sum()
    }
    usize::try_from(below(&master.path("cache/jobs"))).unwrap()
}

/// A job for all minions.
async fn job_for_all(master: &Master) -> ReturnJid {
    let reply = master.ask_clear(publish(master, "*", "glob")).await;
    let jid = reply.get("load").and_then(|load| load.get("jid"));
    ReturnJid::Jid(Jid::parse(jid.and_then(Value::as_str).unwrap()).unwrap())
}

fn large() -> String {
    "x".repeat(2 * MIB)
}

fn several(retcodes: Value, successes: Value) -> Option<Several> {
    Some(Several {
        retcodes,
        successes,
    })
}

/// What makes one field of a return large.
type Spoil = fn(&mut JobReturn);

/// Every field of a return that is kept counts, not its value alone.
#[tokio::test]
async fn every_field_of_a_return_takes_of_the_room_of_its_minion() {
    let master = Master::start("own_jobs_max_size: 1");
    let evil = Minion::signed_in(&master, "evil").await;
    let spoilt: [(&str, Spoil); 6] = [
        ("out", |job| job.out = Some(large())),
        ("user", |job| job.user = Some(large())),
        ("metadata", |job| job.metadata = Some(large().into())),
        ("fun_args", |job| job.fun_args = vec![large().into()]),
        ("retcode", |job| {
            job.several = several(Map::from([("a", large())]).into(), true.into());
        }),
        ("success", |job| {
            job.several = several(Map::from([("a", 0)]).into(), vec![large().into()].into());
        }),
    ];
    for (field, spoil) in spoilt {
        let before = kept(&master);
        let meant = job_for_all(&master).await;
        for jid in [ReturnJid::Req, meant] {
            let mut job = job_return(jid);
            spoil(&mut job);
            if job.jid != ReturnJid::Req {
                // Beyond what a result of a job that was meant for it may have.
                job.ret = "x".repeat(3 * MIB).into();
            }
            assert_eq!(evil.ask(returned(job)).await, Value::Nil);
        }
        let more = kept(&master) - before;
        assert!(more < MIB, "{field}: {more} bytes");
    }
    master.stop().await;
}

/// What a job that was meant for a minion may return without being counted is
/// there once, whatever number of resources the minion says it has.
#[tokio::test]
async fn resources_take_of_the_room_of_their_minion() {
    let master = Master::start("own_jobs_max_size: 1");
    let evil = Minion::signed_in(&master, "evil").await;
    let names: Vec<String> = (0..20).map(|n| format!("router{n}")).collect();
    let named: Vec<Value> = names.iter().map(|name| name.as_str().into()).collect();
    let register = MinionRequest::RegisterResources(RegisterResources {
        resources: Map::from([("dummy", named)]),
        resource_grains: Map::new(),
    });
    assert_eq!(evil.ask(register).await, true.into());
    let jid = job_for_all(&master).await;
    let value: Value = "x".repeat(200_000).into();
    for name in &names {
        let mut job = job_return(jid.clone());
        job.ret = value.clone();
        job.extra.insert("resource_id", name.as_str());
        assert_eq!(evil.ask(returned(job)).await, Value::Nil);
    }
    let of_resources = kept(&master);
    assert!(of_resources < MIB + 100_000, "{of_resources} bytes");
    let jobs = master.store().jobs;
    let stored = jobs.returns(jid.jid().unwrap()).unwrap().len();
    assert_eq!(stored, 4, "resources have the room that there is");
    // Its own result finds its room in any case.
    let mut own = job_return(jid.clone());
    own.ret = value;
    assert_eq!(evil.ask(returned(own)).await, Value::Nil);
    let stored = jobs.return_of(jid.jid().unwrap(), &evil.id).unwrap();
    assert!(stored.is_some());
    master.stop().await;
}
