//! Clients that send requests as fast as the master answers.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use halite_crypto::PrivateKey;
use halite_integration_tests::Master;
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::{Session, StandIn};
use halite_integration_tests::wire::zmtp::Connection;

/// How many clients ask at the same time.
const CLIENTS: usize = 8;

/// How many minions each client plays when published jobs are returned.
const MINIONS_OF_A_CLIENT: usize = 16;

/// How many minions return each published job.
pub(crate) const MINIONS: usize = CLIENTS * MINIONS_OF_A_CLIENT;

/// Sends publish requests as `salt` does, over one connection.
#[derive(Debug)]
pub(crate) struct Publisher {
    connection: Connection,
    key: String,
}

impl Publisher {
    pub(crate) fn open(master: &Master) -> Result<Self> {
        let path = master.dir().join("cache/.root_key");
        Ok(Self {
            connection: master.connect()?,
            key: fs::read_to_string(&path).with_context(|| format!("no {}", path.display()))?,
        })
    }

    /// Publishes a ping; gives its job id.
    pub(crate) fn ping(&mut self, minion: &str) -> Result<String> {
        let request = StandIn::clear(Item::map([
            ("cmd", Item::from("publish")),
            ("tgt", Item::from(minion)),
            ("fun", Item::from("test.ping")),
            ("arg", Item::List(Vec::new())),
            ("key", Item::from(self.key.as_str())),
            ("tgt_type", Item::from("glob")),
            ("ret", Item::from("")),
            ("jid", Item::from("")),
            ("user", Item::from("root")),
        ]));
        let reply = Item::unpack(&self.connection.ask(&request.pack())?)?;
        let jid = reply
            .get("load")
            .and_then(|load| load.get("jid"))
            .and_then(Item::text);
        jid.map(str::to_owned)
            .with_context(|| format!("no job id in {reply:?}"))
    }
}

/// Sign-ins of accepted minions per second.
pub(crate) fn sign_ins(master: &Master, time: Duration) -> Result<f64> {
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let minion = StandIn::new(&format!("client{number}"))?;
        let mut connection = master.connect()?;
        minion.must_sign_in(&mut connection)?;
        clients.push((minion, connection));
    }
    let clients = clients
        .into_iter()
        .map(|(minion, mut connection)| {
            let request = minion.sign_in_request().pack();
            move || -> Result<()> {
                let reply = Item::unpack(&connection.ask(&request)?)?;
                ensure!(reply.get("sig").is_some(), "a sign-in got {reply:?}");
                Ok(())
            }
        })
        .collect();
    per_second(clients, time)
}

/// Returns per second of so many jobs that the master has published to a fleet:
/// each client plays some of its minions.
pub(crate) fn returns(master: &Master, jobs: usize) -> Result<f64> {
    // The master does not compare the keys of minions, and making one takes long.
    let key = PrivateKey::generate(2048)?;
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let mut connection = master.connect()?;
        let mut minions = Vec::new();
        for other in 0..MINIONS_OF_A_CLIENT {
            let minion = StandIn::with_key(&format!("fleet{number}x{other}"), key.clone())?;
            let session = minion.must_sign_in(&mut connection)?;
            minions.push((minion, session));
        }
        clients.push((connection, minions));
    }
    let mut publisher = Publisher::open(master)?;
    let jids = (0..jobs).map(|_| publisher.ping("fleet*"));
    let jids = jids.collect::<Result<Vec<String>>>()?;
    let begun = Instant::now();
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let running = clients.into_iter().map(|(mut connection, minions)| {
            let jids = &jids;
            scope.spawn(move || {
                for jid in jids {
                    for (minion, session) in &minions {
                        give_back(minion, &mut connection, session, jid)?;
                    }
                }
                Ok(())
            })
        });
        let running: Vec<_> = running.collect();
        let ended = running.into_iter().map(|client| client.join());
        ended
            .map(|client| client.unwrap_or_else(|_| bail!("a client panicked")))
            .collect()
    });
    let took = begun.elapsed().as_secs_f64();
    results.into_iter().collect::<Result<Vec<()>>>()?;
    Ok((jobs * MINIONS) as f64 / took)
}

/// Returns `true` for a job.
fn give_back(
    minion: &StandIn,
    connection: &mut Connection,
    session: &Session,
    jid: &str,
) -> Result<()> {
    let load = [
        ("cmd", Item::from("_return")),
        ("success", Item::from(true)),
        ("return", Item::from(true)),
        ("retcode", Item::from(0)),
        ("jid", Item::from(jid)),
        ("fun", Item::from("test.ping")),
        ("fun_args", Item::List(Vec::new())),
    ];
    let reply = minion.ask(connection, session, &load)?;
    ensure!(reply == Item::Nil, "a return got {reply:?}");
    Ok(())
}

/// Returns per second of jobs that the master does not know, each of another
/// one, as another master's may be.
pub(crate) fn unknown_returns(master: &Master, time: Duration) -> Result<f64> {
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let minion = StandIn::new(&format!("client{number}r"))?;
        let mut connection = master.connect()?;
        let session = minion.must_sign_in(&mut connection)?;
        let mut job = 0_u64;
        clients.push(move || -> Result<()> {
            job += 1;
            let jid = format!("20260101{number:02}{job:010}");
            give_back(&minion, &mut connection, &session, &jid)
        });
    }
    per_second(clients, time)
}

/// Pillars per second, each client that of a minion of its own, whose id begins
/// with `name`. They are not opened: that would be the work of minions.
pub(crate) fn pillars(master: &Master, name: &str, time: Duration) -> Result<f64> {
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let id = format!("{name}{number}");
        let minion = StandIn::new(&id)?;
        let mut connection = master.connect()?;
        let session = minion.must_sign_in(&mut connection)?;
        clients.push(move || -> Result<()> {
            let load = [
                ("cmd", Item::from("_pillar")),
                ("grains", Item::map([("id", Item::from(id.as_str()))])),
                ("saltenv", Item::Nil),
                ("pillarenv", Item::Nil),
                ("pillar_override", Item::map([])),
                ("extra_minion_data", Item::map([])),
                ("ver", Item::from("2")),
            ];
            let (request, _) = minion.request(&session, &load);
            let reply = Item::unpack(&connection.ask(&request.pack())?)?;
            ensure!(
                reply.get("pillar").is_some(),
                "a request for a pillar got {reply:?}"
            );
            Ok(())
        });
    }
    per_second(clients, time)
}

/// How often all clients together do their work in a second.
fn per_second<F: FnMut() -> Result<()> + Send>(clients: Vec<F>, time: Duration) -> Result<f64> {
    let done = AtomicU64::new(0);
    let begun = Instant::now();
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let running: Vec<_> = clients
            .into_iter()
            .map(|mut client| {
                let done = &done;
                scope.spawn(move || {
                    while begun.elapsed() < time {
                        client()?;
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        running
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| bail!("a client panicked")))
            .collect()
    });
    results.into_iter().collect::<Result<Vec<()>>>()?;
    Ok(done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64())
}
