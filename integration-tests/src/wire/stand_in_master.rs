//! A minimal master, which accepts every minion and publishes what it is given: for
//! publications that no honest master sends.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use halite_crypto::{
    Crypticle, EncAlgo, Opened, PrivateKey, PublicKey, SigAlgo, Stamp, SymmetricKey,
};

use crate::net::Address;
use crate::wait::{START, until};
use crate::wire::msgpack::Item;
use crate::wire::zmtp::Connection;

const KEY_BITS: u32 = 2048;

/// How long a quiet connection is kept: longer than any test takes.
const QUIET: Duration = Duration::from_secs(600);

/// A running master; its threads end with the test program.
#[derive(Debug)]
pub struct StandInMaster {
    shared: Arc<Shared>,
    address: Address,
}

struct Shared {
    key: PrivateKey,
    publish_key: SymmetricKey,
    publish_port: u16,
    state: Mutex<State>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Shared")
    }
}

#[derive(Default)]
struct State {
    /// What a grant says beside what Salt's do.
    said: Option<Item>,
    minions: HashMap<String, Known>,
    subscribers: Vec<Connection>,
    requests: Vec<Item>,
}

struct Known {
    key: PublicKey,
    session: Crypticle,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is one call.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StandInMaster {
    /// Starts a master with a new key on an address of its own.
    pub fn start() -> Result<Self> {
        let address = Address::claim()?;
        let shared = Arc::new(Shared {
            key: PrivateKey::generate(KEY_BITS)?,
            publish_key: SymmetricKey::generate(),
            publish_port: address.publish().port(),
            state: Mutex::default(),
        });
        let requests = TcpListener::bind(address.request())?;
        let publications = TcpListener::bind(address.publish())?;
        let server = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in requests.incoming().flatten() {
                let shared = Arc::clone(&server);
                std::thread::spawn(move || {
                    // A minion that goes away is no error.
                    Connection::accept(stream, "ROUTER", QUIET)
                        .and_then(|minion| shared.serve(minion))
                        .ok();
                });
            }
        });
        let publisher = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in publications.incoming().flatten() {
                if let Ok(mut minion) = Connection::accept(stream, "XPUB", QUIET) {
                    // It is a subscriber when its subscription has come.
                    if minion.receive().is_ok() {
                        publisher.lock().subscribers.push(minion);
                    }
                }
            }
        });
        Ok(Self { shared, address })
    }

    /// From now on grants say this beside what Salt's do, as those of Halite's masters.
    pub fn say(&self, said: Item) {
        self.shared.lock().said = Some(said);
    }

    /// Where requests come in: what a minion has as its master.
    pub fn address(&self) -> SocketAddr {
        self.address.request()
    }

    /// Waits for a request that `wanted` accepts; the first there ever was.
    pub fn wait_request(&self, what: &str, wanted: impl Fn(&Item) -> bool) -> Result<Item> {
        until(what, START, || {
            Ok(self
                .shared
                .lock()
                .requests
                .iter()
                .find(|load| wanted(load))
                .cloned())
        })
    }

    /// Waits until a minion has subscribed and said that it is ready.
    pub fn wait_ready(&self) -> Result<()> {
        self.wait_request("a minion's start event", |load| {
            load.get("tag")
                .and_then(Item::text)
                .is_some_and(|tag| tag.ends_with("/start"))
        })?;
        self.wait_subscriber()
    }

    /// Seals a load with the publish key.
    pub fn seal(&self, load: &Item) -> Vec<u8> {
        Crypticle::new(&self.shared.publish_key).seal(&load.pack(), None)
    }

    /// The frame of what a master of a cluster, who is `sealer`, has published.
    pub fn stamped(&self, load: &Item, sealer: u32, moment: u64) -> Result<Vec<u8>> {
        let stamp = Stamp { sealer, moment };
        let sealed = Crypticle::new(&self.shared.publish_key).seal_stamped(&load.pack(), stamp);
        Ok(self.publication(&sealed, None)?.pack())
    }

    /// The publication that carries sealed bytes, signed with `key` or with
    /// the master's.
    pub fn publication(&self, sealed: &[u8], key: Option<&PrivateKey>) -> Result<Item> {
        let sig = key
            .unwrap_or(&self.shared.key)
            .sign(SigAlgo::Pkcs1v15Sha1, sealed)?;
        Ok(Item::map([
            ("enc", Item::from("aes")),
            ("load", Item::from(sealed)),
            ("sig_algo", Item::from("PKCS1v15-SHA1")),
            ("sig", Item::from(sig.as_slice())),
        ]))
    }

    /// Sends one message of one frame to every subscriber.
    pub fn publish_raw(&self, frame: &[u8]) {
        // A subscriber that has gone away is dropped.
        self.shared
            .lock()
            .subscribers
            .retain_mut(|minion| minion.send(&[frame]).is_ok());
    }

    /// Cuts the connections of all subscribers.
    pub fn cut_off(&self) {
        self.shared.lock().subscribers.clear();
    }

    /// Forgets the requests that have come so far.
    pub fn forget_requests(&self) {
        self.shared.lock().requests.clear();
    }

    /// Waits until a minion has subscribed again.
    pub fn wait_subscriber(&self) -> Result<()> {
        until("a subscriber", START, || {
            Ok((!self.shared.lock().subscribers.is_empty()).then_some(()))
        })
    }

    /// Publishes a load as an honest master does.
    pub fn publish(&self, load: &Item) -> Result<()> {
        let sealed = self.seal(load);
        self.publish_raw(&self.publication(&sealed, None)?.pack());
        Ok(())
    }
}

impl Shared {
    fn serve(&self, mut minion: Connection) -> Result<()> {
        loop {
            let frames = minion.receive()?;
            let payload = frames.last().context("a message without frames")?;
            let reply = self.reply(&Item::unpack(payload)?)?;
            minion.send(&[b"", &reply.pack()])?;
        }
    }

    fn reply(&self, request: &Item) -> Result<Item> {
        let load = request.get("load").context("no load")?;
        if request.get("enc").and_then(Item::text) == Some("clear") {
            return match load.get("cmd").and_then(Item::text) {
                Some("_auth") => self.grant(load),
                _ => Ok(load.clone()),
            };
        }
        let id = text(request, "id")?;
        let state = self.lock();
        let known = state.minions.get(id).context("an unknown minion")?;
        let opened = known
            .session
            .open(load.bytes().context("a load that is not sealed")?, None)?;
        let Opened::Payload(payload) = opened else {
            return Ok(Item::from("bad load"));
        };
        let load = Item::unpack(&payload)?;
        let nonce = text(&load, "nonce")?.to_owned();
        let sealed = |item: &Item| {
            Item::from(
                known
                    .session
                    .seal(&item.pack(), Some(nonce.as_bytes()))
                    .as_slice(),
            )
        };
        let reply = match text(&load, "cmd")? {
            "_pillar" => self.pillar(&known.key, &nonce)?,
            "_return" | "_minion_event" => sealed(&Item::Nil),
            _ => sealed(&Item::Bool(true)),
        };
        drop(state);
        self.lock().requests.push(load);
        Ok(reply)
    }

    fn grant(&self, load: &Item) -> Result<Item> {
        let key = PublicKey::from_pem(text(load, "pub")?)?;
        let session = SymmetricKey::generate();
        let encrypted = |secret: &[u8]| -> Result<Item> {
            Ok(Item::from(
                key.encrypt(EncAlgo::OaepSha1, secret)?.as_slice(),
            ))
        };
        let mut entries = vec![
            (Item::from("enc"), Item::from("pub")),
            (
                Item::from("pub_key"),
                Item::from(self.key.public()?.clean_pem()?.as_str()),
            ),
            (
                Item::from("publish_port"),
                Item::Int(self.publish_port.into()),
            ),
        ];
        if let Some(token) = load.get("token").and_then(Item::bytes) {
            let token = self.key.decrypt(EncAlgo::OaepSha1, token)?;
            entries.push((Item::from("token"), encrypted(token.expose())?));
        }
        let publish_key = self.publish_key.expose();
        entries.extend([
            (Item::from("aes"), encrypted(publish_key.as_bytes())?),
            (
                Item::from("session"),
                encrypted(session.expose().as_bytes())?,
            ),
            (
                Item::from("sig"),
                Item::from(self.key.sign_publish_key(publish_key)?.as_slice()),
            ),
            (
                Item::from("nonce"),
                load.get("nonce").cloned().unwrap_or(Item::Nil),
            ),
        ]);
        let said = self.lock().said.clone();
        entries.extend(said.map(|said| (Item::from("halite"), said)));
        let packed = Item::Map(entries).pack();
        let sig = self.key.sign(SigAlgo::Pkcs1v15Sha1, &packed)?;
        let known = Known {
            key,
            session: Crypticle::new(&session),
        };
        self.lock()
            .minions
            .insert(text(load, "id")?.to_owned(), known);
        Ok(Item::map([
            ("enc", Item::from("clear")),
            ("load", Item::from(packed.as_slice())),
            ("sig", Item::from(sig.as_slice())),
        ]))
    }

    /// An empty pillar in the form that only one minion can open.
    fn pillar(&self, minion: &PublicKey, nonce: &str) -> Result<Item> {
        let once = SymmetricKey::generate();
        let key = minion.encrypt(EncAlgo::OaepSha1, once.expose().as_bytes())?;
        let data = Item::map([
            ("key", Item::from(key.as_slice())),
            ("pillar", Item::Map(Vec::new())),
            ("nonce", Item::from(nonce)),
        ])
        .pack();
        let sig = self.key.sign(SigAlgo::Pkcs1v15Sha1, &data)?;
        let signed = Item::map([
            ("data", Item::from(data.as_slice())),
            ("sig", Item::from(sig.as_slice())),
        ]);
        let sealed = Crypticle::new(&once).seal(&signed.pack(), None);
        Ok(Item::map([
            ("key", Item::from(key.as_slice())),
            ("pillar", Item::from(sealed.as_slice())),
        ]))
    }
}

fn text<'item>(map: &'item Item, field: &str) -> Result<&'item str> {
    map.get(field)
        .and_then(Item::text)
        .with_context(|| format!("no {field} in {map:?}"))
}
