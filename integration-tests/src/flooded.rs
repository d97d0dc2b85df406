//! A master under attack by strangers: a fleet of its own, and the commands given
//! to it meanwhile. The suite `hostile` asserts what must hold on any machine,
//! `cargo xtask flood` measures.

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use halite_crypto::PrivateKey;
use serde_json::json;

use crate::flood::Means;
use crate::found_requests::{Attacker, of_strangers};
use crate::wire::msgpack::Item;
use crate::wire::stand_in::StandIn;
use crate::{Emulator, Fleet, KeyState, Kind, Master, Minion, Ports, Programs, SHORT, START};

/// What SECURITY.md promises of a flood: how long 99 of 100 commands take meanwhile.
pub const PING_P99_MAX: Duration = Duration::from_millis(50);

/// How long any sign-in of a minion takes meanwhile.
pub const SIGN_IN_MAX: Duration = Duration::from_secs(1);

/// What the master has more than before, ten seconds after the end.
pub const MEMORY_KEPT_MAX_KIB: u64 = 16 * 1024;
/// See `MEMORY_KEPT_MAX_KIB`.
pub const DESCRIPTORS_KEPT_MAX: u64 = 8;

/// How many minions start at once.
const WAVE: u32 = 20;

/// What the minions of a fleet are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// One process holds them all.
    Emulated(u32),
    /// Each is a `salt-minion`.
    Processes(u32),
}

/// What a master says of itself on its page of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Memory in use, in KiB.
    pub memory_kib: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

/// A master with minions, one of which is spoken for by the caller.
#[derive(Debug)]
pub struct Flooded {
    /// The master.
    pub master: Master,
    /// The emulated minions, where they are.
    pub herd: Option<Emulator>,
    minions: Vec<Minion>,
    real: StandIn,
    attacker: StandIn,
    root_key: String,
    metrics: SocketAddr,
    _ports: Ports<1>,
    _fleet: Fleet,
}

impl Flooded {
    /// Starts all of it, and waits until the fleet is there.
    pub fn start(members: Members) -> Result<Self> {
        let fleet = match members {
            Members::Emulated(_) => Fleet::new("load")?,
            // A program for people, whose errors are short.
            Members::Processes(_) => Fleet::quiet("load", Programs::from_env()?)?,
        };
        let ports = Ports::<1>::claim()?;
        let port = ports.numbers[0];
        let signs = fleet.path().join("m1/autosign");
        let mut master = fleet
            .master("m1", Kind::Ours)
            .set("autosign_file", signs.display().to_string())
            .set(
                "metrics",
                json!({ "enabled": true, "exporter": "prometheus", "prometheus": { "port": port } }),
            )
            .lay()?;
        fs::write(&signs, "emu*\n")?;
        // Nobody else may have written what is believed.
        fs::set_permissions(&signs, Permissions::from_mode(0o600))?;
        let (real, attacker) = (StandIn::new("real")?, StandIn::new("attacker")?);
        let keys = master.dir().join("pki").join(KeyState::Accepted.dir());
        fs::create_dir_all(&keys)?;
        fs::write(keys.join("real"), real.public_pem())?;
        fs::write(keys.join("attacker"), attacker.public_pem())?;
        master.start()?;
        let (mut herd, mut minions) = (None, Vec::new());
        match members {
            Members::Emulated(count) => {
                let emulator = Emulator::start(&fleet, &master, (0, count), &[])?;
                emulator.wait_ready(count, START)?;
                herd = Some(emulator);
            }
            Members::Processes(count) => minions = started(&fleet, &master, count)?,
        }
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid())?;
        let user = user.context("the user has no name")?.name;
        let root_key = fs::read_to_string(master.dir().join(format!("cache/.{user}_key")))?;
        Ok(Self {
            master,
            herd,
            minions,
            real,
            attacker,
            root_key,
            metrics: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            _ports: ports,
            _fleet: fleet,
        })
    }

    /// An id of the fleet.
    pub fn member(&self) -> Result<String> {
        let keys = self.master.dir().join("pki").join(KeyState::Accepted.dir());
        let names = fs::read_dir(keys)?.flatten();
        let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names
            .find(|name| name.starts_with("emu"))
            .context("no minion of the fleet")
    }

    /// A `test.ping`, from the request to the event with its result.
    pub fn ping(&self, id: &str) -> Result<Duration> {
        let log = self.master.events()?;
        let mark = log.mark();
        let begun = Instant::now();
        let jid = self.published(id)?;
        let tag = format!("salt/job/{jid}/ret/{id}");
        log.wait_after(mark, &tag, SHORT, |event| event.tag == tag)?;
        Ok(begun.elapsed())
    }

    /// The job of a `test.ping`.
    fn published(&self, id: &str) -> Result<String> {
        let load = Item::map([
            ("cmd", Item::from("publish")),
            ("fun", Item::from("test.ping")),
            ("arg", Item::List(Vec::new())),
            ("tgt", Item::from(id)),
            ("tgt_type", Item::from("glob")),
            ("ret", Item::from("")),
            ("jid", Item::from("")),
            ("user", Item::from("root")),
            ("key", Item::from(self.root_key.as_str())),
        ]);
        let reply = self
            .master
            .connect()?
            .ask(&StandIn::clear(load).pack())
            .context("a job was not taken")?;
        let reply = Item::unpack(&reply)?;
        let jid = reply.get("load").and_then(|load| load.get("jid"));
        let jid = jid.and_then(Item::text);
        let jid = jid.context("the answer to a command names no job")?;
        Ok(jid.to_owned())
    }

    /// A sign-in of an accepted minion, with its connection.
    pub fn sign_in(&self) -> Result<Duration> {
        let begun = Instant::now();
        self.real.must_sign_in(&mut self.master.connect()?)?;
        Ok(begun.elapsed())
    }

    /// What the master uses, in its own words.
    pub fn usage(&self) -> Result<Usage> {
        let page = self.page()?;
        let figure = |name: &str| {
            let mut lines = page.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let value = value.and_then(|value| value.trim().parse::<f64>().ok());
            value.with_context(|| format!("no {name} on the page of metrics"))
        };
        let whole = |value: f64| format!("{value:.0}").parse::<u64>();
        Ok(Usage {
            memory_kib: whole(figure("process_resident_memory_bytes")? / 1024.0)?,
            descriptors: whole(figure("process_open_fds")?)?,
        })
    }

    fn page(&self) -> Result<String> {
        let mut stream = TcpStream::connect(self.metrics)?;
        stream.set_read_timeout(Some(SHORT))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        Ok(page)
    }

    /// Bytes of the log.
    pub fn log_bytes(&self) -> Result<u64> {
        Ok(fs::metadata(self.master.dir().join("log"))?.len())
    }

    /// What strangers may know of a minion.
    pub fn means(&self, known_id: String) -> Result<Means> {
        let session = self.real.must_sign_in(&mut self.master.connect()?)?;
        let (request, _) = self
            .real
            .request(&session, &[("cmd", Item::from("_file_envs"))]);
        let public_pem = StandIn::new("x")?.public_pem().to_owned();
        let pem = fs::read(self.master.dir().join("pki/master.pem"))?;
        let master_key = PrivateKey::from_pem(&pem, None)?;
        let attacker = Attacker {
            who: self.attacker.clone(),
            session: self.attacker.must_sign_in(&mut self.master.connect()?)?,
            job: self.published(&known_id)?,
        };
        Ok(Means {
            master: self.master.address().request(),
            publisher: self.master.address().publish(),
            found: of_strangers((&known_id, &public_pem), &master_key)?,
            recorded: vec![self.real.sign_in_request().pack(), request.pack()],
            public_pem,
            known_id,
            attacker,
        })
    }

    /// Whether all of the fleet is there, and ends it.
    pub fn stop(mut self) -> Result<()> {
        for minion in &mut self.minions {
            minion.daemon().check_runs()?;
        }
        match self.herd.take() {
            Some(herd) => herd.stop(),
            None => Ok(()),
        }
    }
}

/// Starts minions that are processes of their own, some at a time.
fn started(fleet: &Fleet, master: &Master, count: u32) -> Result<Vec<Minion>> {
    let id = |number: u32| format!("emu{number}");
    let mut minions = Vec::new();
    for first in (0..count).step_by(usize::try_from(WAVE)?) {
        let wave = first..count.min(first + WAVE);
        for number in wave.clone() {
            let plan = fleet.minion(&id(number), Kind::Ours).of(master);
            minions.push(plan.set("mine_enabled", false).start()?);
        }
        for number in wave {
            master.wait_minion(&id(number))?;
        }
    }
    Ok(minions)
}

/// The median, the 99th of a hundred, and the longest, in milliseconds.
pub fn figures(mut times: Vec<Duration>) -> (f64, f64, f64) {
    times.sort();
    let at = |part: usize| {
        let index = (times.len() * part / 100).min(times.len().saturating_sub(1));
        times
            .get(index)
            .map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    (at(50), at(99), at(100))
}
