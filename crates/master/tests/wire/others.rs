//! What a minion says about another is never believed: a minion with random
//! messages, compared with a model of whose data may change.

use std::collections::{BTreeMap, BTreeSet};

use halite_proto::publish::FunSpec;
use halite_proto::request::{MineStore, MinionRequest, RegisterResources};
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::Bank;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tokio::time::timeout;

use crate::jobs::publish;
use crate::support::{Master, Minion, SOON};

/// Requests that are drawn.
const STEPS: usize = 250;

/// Accepted minions beside the evil one.
const OTHERS: [&str; 2] = ["web1", "db1"];

/// Something that may stand where a name is meant.
fn name() -> impl Strategy<Value = Value> {
    prop_oneof![
        12 => select(vec!["web1", "db1", "evil", "r1", "r2", "r3"]).prop_map(Value::from),
        4 => select(vec!["", "*", "-A", "../db1", "r1/../db1", "db1\0", "web[0-9]", "r 1"])
            .prop_map(Value::from),
        2 => select(vec![Value::Nil, false.into(), true.into(), 7.into()]),
        1 => Just(Value::List(vec!["web1".into()])),
        1 => Just(Map::from([("web1", "db1")]).into()),
    ]
}

/// Fields that name the targeted minions, as some program might read them.
fn fields() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let names = vec![
        "minion",
        "minions",
        "tgt",
        "master_id",
        "user",
        "_stamp",
        "ret",
        "id_",
    ];
    prop::collection::vec((select(names), name()), 0..4)
}

#[derive(Clone, Debug)]
enum Said {
    /// A result, of a job for somebody else or of one that nobody knows.
    Return {
        for_others: bool,
        own_job: bool,
        resource: Option<Value>,
    },
    Resources(Vec<Value>),
    Mine {
        data: Vec<(Value, Value)>,
        clear: bool,
    },
}

fn said() -> impl Strategy<Value = Said> {
    let ret = (
        any::<bool>(),
        any::<bool>(),
        prop::option::weighted(0.8, name()),
    );
    prop_oneof![
        6 => ret.prop_map(|(for_others, own_job, resource)| Said::Return {
            for_others,
            own_job,
            resource,
        }),
        2 => prop::collection::vec(name(), 0..6).prop_map(Said::Resources),
        2 => (prop::collection::vec((name(), name()), 0..4), any::<bool>())
            .prop_map(|(data, clear)| Said::Mine { data, clear }),
    ]
}

/// The id of a job for a list of minions.
async fn job_for(master: &Master, tgt: &str) -> Jid {
    let reply = master.ask_clear(publish(master, tgt, "list")).await;
    let jid = reply.get("load").and_then(|load| load.get("jid"));
    Jid::parse(jid.and_then(Value::as_str).unwrap()).unwrap()
}

/// What is known of the others: of each the grains, the pillar and the mine.
fn known_of_others(master: &Master) -> Vec<Option<Map>> {
    let data = master.store().data;
    let of = |id: &&str| {
        let id = MinionId::parse(*id).unwrap();
        [Bank::Grains, Bank::Pillar, Bank::Mine].map(|bank| data.get(bank, &id).unwrap())
    };
    OTHERS.iter().flat_map(of).collect()
}

/// What may come of it.
#[derive(Default)]
struct Model {
    /// The resources that the evil one has.
    resources: BTreeSet<String>,
    /// Of whom each result is told.
    told: BTreeMap<i64, String>,
}

impl Model {
    fn apply(&mut self, step: i64, said: &Said) {
        match said {
            Said::Resources(named) => {
                // r2 was web1's before.
                let may_have = |name: &&str| ["r1", "r3"].contains(name);
                let names = named.iter().filter_map(Value::as_str).filter(may_have);
                self.resources = names.map(str::to_owned).collect();
            }
            Said::Return {
                for_others: true,
                own_job: false,
                ..
            }
            | Said::Mine { .. } => {}
            Said::Return { resource, .. } => {
                let owner = match resource {
                    Some(resource) if resource.is_true() => match resource.as_str() {
                        Some("evil") => "evil",
                        Some(name) if self.resources.contains(name) => name,
                        _ => return,
                    },
                    _ => "evil",
                };
                self.told.insert(step, owner.to_owned());
            }
        }
    }
}

/// The request for it; results carry the number of the step.
fn request(step: i64, said: &Said, of_others: &Jid) -> MinionRequest {
    match said {
        Said::Return {
            for_others,
            own_job,
            resource,
        } => {
            let invented = Jid::parse(format!("2025{step:016}")).unwrap();
            let jid = match (own_job, for_others) {
                (true, _) => ReturnJid::Req,
                (false, true) => ReturnJid::Jid(of_others.clone()),
                (false, false) => ReturnJid::Jid(invented),
            };
            let fun = FunSpec::from("test.ping");
            let mut job = JobReturn::new(jid, fun, Vec::new(), step.into(), 0);
            if let Some(resource) = resource {
                job.extra.insert("resource_id", resource.clone());
            }
            MinionRequest::Return(Box::new(job))
        }
        Said::Resources(named) => MinionRequest::RegisterResources(RegisterResources {
            resources: Map::from([("dummy", named.clone())]),
            resource_grains: Map::from([("web1", Map::from([("role", "evil")]))]),
        }),
        Said::Mine { data, clear } => MinionRequest::Mine(MineStore {
            data: data.iter().cloned().collect(),
            clear: *clear,
        }),
    }
}

#[tokio::test]
async fn what_a_minion_says_about_another_is_never_believed() {
    let master = Master::start("");
    let evil = Minion::signed_in(&master, "evil").await;
    let mut others = Vec::new();
    for id in OTHERS {
        let other = Minion::signed_in(&master, id).await;
        let mine = MineStore {
            data: Map::from([("test.ping", id)]),
            clear: false,
        };
        other.ask(MinionRequest::Mine(mine)).await;
        others.push(other);
    }
    let of_web1 = MinionRequest::RegisterResources(RegisterResources {
        resources: Map::from([("dummy", Value::List(vec!["r2".into()]))]),
        resource_grains: Map::new(),
    });
    others[0].ask(of_web1).await;
    let of_others = job_for(&master, "web1,db1").await;
    let before = known_of_others(&master);
    let mut events = master.events().await;
    let mut runner = TestRunner::deterministic();
    let mut draw = || {
        let steps = (said(), fields(), prop::bool::weighted(0.1));
        steps.new_tree(&mut runner).unwrap().current()
    };
    let mut model = Model::default();
    for step in 0..i64::try_from(STEPS).unwrap() {
        let (said, more, is_forged) = draw();
        let mut load = evil.load(request(step, &said, &of_others));
        for (name, value) in more {
            // What must be a text and is none makes no request.
            let is_read = !["user", "master_id"].contains(&name) || value.as_str().is_some();
            if is_read && !load.contains_key(name) {
                load.insert(name, value);
            }
        }
        match is_forged {
            // Then it is nobody's.
            true => drop(load.insert("id", "web1")),
            false => model.apply(step, &said),
        }
        evil.send(evil.envelope(&load)).await;
        let now = known_of_others(&master);
        assert_eq!(now, before, "{said:?} {load:?}");
    }
    let jobs = master.store().jobs;
    assert_eq!(jobs.returns(&of_others).unwrap().len(), 0);
    let last = JobReturn::new(ReturnJid::Req, "x.y".into(), Vec::new(), "last".into(), 0);
    evil.ask(MinionRequest::Return(Box::new(last))).await;
    let mut told = BTreeMap::new();
    let until_last = async {
        loop {
            let event = events.next().await.unwrap().unwrap();
            let (tag, data) = (event.tag().to_owned(), event.unpack().unwrap().data);
            let Some((_, owner)) = tag.split_once("/ret/") else {
                continue;
            };
            assert_eq!(data.get("id").and_then(Value::as_str), Some(owner));
            match data.get("return") {
                Some(Value::Str(last)) if last == "last" => return,
                number => {
                    let number = number.and_then(Value::as_i64).unwrap();
                    assert_eq!(told.insert(number, owner.to_owned()), None, "told twice");
                }
            }
        }
    };
    timeout(SOON, until_last).await.unwrap();
    assert_eq!(told, model.told);
    assert!(told.values().any(|owner| owner == "r1") && told.len() > STEPS / 8);
    master.stop().await;
}
