//! A fleet of a hundred minions works while strangers of twenty addresses do
//! what they can; afterwards the master is as small as before.
//!
//! What a test demands holds on any machine. The figures that it prints are
//! those of `SECURITY.md`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::StandIn;
use halite_integration_tests::{Emulator, Fleet, KeyState, Kind, Master, SHORT, START, until};

use crate::flood::{Flood, Means};

const HERD: u32 = 100;
const STRANGERS: u8 = 20;
const PINGS: usize = 60;
const SIGN_INS: usize = 10;

/// How long a command and a sign-in may take while strangers do what they can, on
/// a machine that does other things, too.
const PING_MAX: Duration = Duration::from_secs(30);
const SIGN_IN_MAX: Duration = Duration::from_secs(30);

/// What a master may keep of a flood, and how long it may take to give the
/// rest back.
const GROWTH_MAX_KIB: u64 = 48 * 1024;
const DESCRIPTORS_MAX: usize = 24;

/// A log of a flood.
const LOG_GROWTH_MAX_BYTES: u64 = 1024 * 1024;

struct Worked {
    master: Master,
    herd: Emulator,
    real: StandIn,
    root_key: String,
    fleet: Fleet,
}

impl Worked {
    fn start() -> Result<Self> {
        let fleet = Fleet::new("load")?;
        let signs = fleet.path().join("m1/autosign");
        let mut master = fleet
            .master("m1", Kind::Ours)
            .set("autosign_file", signs.display().to_string())
            .lay()?;
        fs::write(&signs, "emu*\n")?;
        // Nobody else may have written what is believed.
        fs::set_permissions(&signs, Permissions::from_mode(0o600))?;
        let real = StandIn::new("real")?;
        let keys = master.dir().join("pki").join(KeyState::Accepted.dir());
        fs::create_dir_all(&keys)?;
        fs::write(keys.join("real"), real.public_pem())?;
        master.start()?;
        let herd = Emulator::start(&fleet, &master, (0, HERD), &[])?;
        herd.wait_ready(HERD, START)?;
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid())?;
        let user = user.context("the user has no name")?.name;
        let root_key = fs::read_to_string(master.dir().join(format!("cache/.{user}_key")))?;
        Ok(Self {
            master,
            herd,
            real,
            root_key,
            fleet,
        })
    }

    /// An id of the herd.
    fn member(&self) -> Result<String> {
        let keys = self.master.dir().join("pki").join(KeyState::Accepted.dir());
        let names = fs::read_dir(keys)?.flatten();
        let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names
            .find(|name| name.starts_with("emu"))
            .context("no emulated minion")
    }

    /// From a request to the event with its result.
    fn ping(&self, id: &str) -> Result<Duration> {
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
        let log = self.master.events()?;
        let mark = log.mark();
        let begun = Instant::now();
        let reply = self
            .master
            .connect()?
            .ask(&StandIn::clear(load).pack())
            .context("a job was not taken")?;
        let reply = Item::unpack(&reply)?;
        let jid = reply.get("load").and_then(|load| load.get("jid"));
        let jid = jid
            .and_then(Item::text)
            .with_context(|| format!("no job: {reply:?}"))?;
        let tag = format!("salt/job/{jid}/ret/{id}");
        log.wait_after(mark, &tag, SHORT, |event| event.tag == tag)?;
        Ok(begun.elapsed())
    }

    fn sign_in(&self) -> Result<Duration> {
        let begun = Instant::now();
        self.real.must_sign_in(&mut self.master.connect()?)?;
        Ok(begun.elapsed())
    }

    fn descriptors(&mut self) -> Result<usize> {
        let pid = self.master.daemon().pid()?;
        Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count())
    }

    fn log_bytes(&self) -> Result<u64> {
        Ok(fs::metadata(self.master.dir().join("log"))?.len())
    }

    fn means(&self, known_id: String) -> Result<Means> {
        let session = self.real.must_sign_in(&mut self.master.connect()?)?;
        let (request, _) = self
            .real
            .request(&session, &[("cmd", Item::from("_file_envs"))]);
        Ok(Means {
            master: self.master.address().request(),
            public_pem: StandIn::new("x")?.public_pem().to_owned(),
            known_id,
            recorded: vec![self.real.sign_in_request().pack(), request.pack()],
        })
    }
}

/// The median, the 99th of a hundred, and the longest, in milliseconds.
fn figures(mut times: Vec<Duration>) -> (f64, f64, f64) {
    times.sort();
    let at = |part: usize| {
        let index = (times.len() * part / 100).min(times.len() - 1);
        times[index].as_secs_f64() * 1000.0
    };
    (at(50), at(99), at(100))
}

#[allow(clippy::print_stdout, reason = "the figures of SECURITY.md")]
#[test]
fn a_fleet_works_while_strangers_do_what_they_can() -> Result<()> {
    let mut worked = Worked::start()?;
    let id = worked.member()?;
    let calm: Vec<_> = (0..PINGS)
        .map(|_| worked.ping(&id))
        .collect::<Result<_>>()?;
    let memory = worked.master.own_memory_kib()?;
    let descriptors = worked.descriptors()?;
    let log_bytes = worked.log_bytes()?;

    let flood = Flood::start(worked.means(id.clone())?, STRANGERS);
    until("each stranger to send something", START, || {
        Ok(flood
            .sent()
            .iter()
            .all(|(_, sent)| *sent > 20)
            .then_some(()))
    })?;
    let (mut pings, mut sign_ins) = (Vec::new(), Vec::new());
    for number in 0..PINGS {
        pings.push(worked.ping(&id)?);
        if number % (PINGS / SIGN_INS) == 0 {
            sign_ins.push(worked.sign_in()?);
        }
    }
    let most = worked.master.own_memory_kib()?;
    let sent = flood.sent();
    drop(flood);
    let ended = Instant::now();
    until("memory and descriptors to come back", START, || {
        let grown = worked.master.own_memory_kib()?.saturating_sub(memory);
        let more = worked.descriptors()?.saturating_sub(descriptors);
        Ok((grown < GROWTH_MAX_KIB && more < DESCRIPTORS_MAX).then_some(()))
    })?;
    let back = ended.elapsed();

    println!("sent: {sent:?}");
    println!("ping, calm: {:?} ms", figures(calm));
    println!("ping, flooded: {:?} ms", figures(pings.clone()));
    println!("sign-in, flooded: {:?} ms", figures(sign_ins.clone()));
    println!("memory: {memory} KiB before, {most} KiB meanwhile; back after {back:?}");
    let slowest = |times: &[Duration]| times.iter().max().copied().unwrap_or_default();
    ensure!(slowest(&pings) < PING_MAX, "{:?}", slowest(&pings));
    ensure!(slowest(&sign_ins) < SIGN_IN_MAX, "{:?}", slowest(&sign_ins));
    let grown = worked.log_bytes()?.saturating_sub(log_bytes);
    ensure!(grown < LOG_GROWTH_MAX_BYTES, "{grown} bytes of log");
    let log = fs::read_to_string(worked.master.dir().join("log"))?;
    ensure!(!log.contains("panicked"), "a panic in the log");
    worked.herd.wait_ready(HERD, START)?;
    worked.ping(&id)?;
    worked.herd.stop()?;
    drop(worked.fleet);
    Ok(())
}
