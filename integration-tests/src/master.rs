//! A master of any kind, and the programs that an administrator runs beside it.
//!
//! Invariant: [`Master::start`] returns when the master answers requests,
//! accepts subscribers and speaks on its event bus.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::event_log::EventLog;
use crate::fleet::Fleet;
use crate::kind::{Kind, Program, Programs};
use crate::memory::{own_kib, pss_kib};
use crate::net::Address;
use crate::output::Output;
use crate::process::{Daemon, Recipe, run};
use crate::settings::Settings;
use crate::wait::{SHORT, START, until};
use crate::wire::msgpack::Item;
use crate::wire::zmtp::Connection;

/// How long a tool may run before it counts as hung.
const TOOL_DEADLINE: Duration = Duration::from_secs(120);

/// Where a master keeps a minion's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Waiting for a decision.
    Pending,
    /// May take part.
    Accepted,
    /// Refused by an administrator.
    Rejected,
    /// Another key under a known name.
    Denied,
}

impl KeyState {
    /// The directory of this state in the pki directory.
    pub const fn dir(self) -> &'static str {
        match self {
            Self::Pending => "minions_pre",
            Self::Accepted => "minions",
            Self::Rejected => "minions_rejected",
            Self::Denied => "minions_denied",
        }
    }
}

/// A master that is not started yet.
#[derive(Debug)]
pub struct MasterPlan<'fleet> {
    fleet: &'fleet Fleet,
    name: String,
    kind: Kind,
    settings: Settings,
    files: Vec<(String, String)>,
    key_pair_from: Option<PathBuf>,
}

impl<'fleet> MasterPlan<'fleet> {
    pub(crate) fn new(fleet: &'fleet Fleet, name: &str, kind: Kind) -> Self {
        Self {
            fleet,
            name: name.to_owned(),
            kind,
            settings: Settings::default(),
            files: Vec::new(),
            key_pair_from: None,
        }
    }

    /// Sets an option of the master's file.
    #[must_use]
    pub fn set(mut self, option: &str, value: impl Into<Value>) -> Self {
        self.settings.set(option, value);
        self
    }

    /// Accepts every key without asking, for tests that are not about keys.
    #[must_use]
    pub fn auto_accept(self) -> Self {
        self.set("auto_accept", true)
    }

    /// Puts a file into the base environment.
    #[must_use]
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    /// Copies the key pair of another master, as an administrator does before
    /// the second master is started for the first time.
    #[must_use]
    pub fn key_pair_of(mut self, other: &Master) -> Self {
        self.key_pair_from = Some(other.dir.join("pki"));
        self
    }

    /// Writes the files and makes the master, without starting it.
    pub fn lay(self) -> Result<Master> {
        let dir = self.fleet.path().join(&self.name);
        let at = |name: &str| dir.join(name);
        for name in ["", "pki", "cache", "run", "srv", "pillar"] {
            fs::create_dir_all(at(name))?;
        }
        for (path, text) in &self.files {
            let path = at("srv").join(path);
            fs::create_dir_all(path.parent().context("a file without a directory")?)?;
            fs::write(&path, text)?;
        }
        if let Some(from) = &self.key_pair_from {
            for name in ["master.pem", "master.pub"] {
                fs::copy(from.join(name), at("pki").join(name))
                    .with_context(|| format!("could not copy {name} of the other master"))?;
            }
        }
        let address = Address::claim()?;
        let mut settings = Settings::default();
        settings.set("interface", address.ip().to_string());
        settings.set("publish_port", address.publish().port());
        settings.set("ret_port", address.request().port());
        common_settings(&mut settings, &dir)?;
        settings.set("file_roots", json!({ "base": [at("srv")] }));
        settings.set("pillar_roots", json!({ "base": [at("pillar")] }));
        settings.set("worker_threads", 2);
        settings.set("loop_interval", 1);
        for (option, value) in self.settings.iter() {
            settings.set(option, value.clone());
        }
        fs::write(at("master"), settings.to_yaml())?;
        let recipe = Recipe::new(
            &self.name,
            self.fleet.programs().path(self.kind, Program::Master)?,
            self.fleet.path(),
        )
        .args(&["-c".to_owned(), dir.display().to_string()]);
        Ok(Master {
            daemon: Daemon::new(recipe, at("console")),
            events: None,
            address,
            dir,
            kind: self.kind,
            name: self.name,
            home: self.fleet.path().to_path_buf(),
            programs: self.fleet.programs().clone(),
        })
    }

    /// Starts the master and waits until it is ready.
    pub fn start(self) -> Result<Master> {
        let mut master = self.lay()?;
        master.start()?;
        Ok(master)
    }
}

/// What the files of a master and of a minion have in common: everything in
/// the daemon's own directory, and nothing that slows the start down.
pub(crate) fn common_settings(settings: &mut Settings, dir: &Path) -> Result<()> {
    let at = |name: &str| dir.join(name).display().to_string();
    settings.set("root_dir", dir.display().to_string());
    settings.set("pki_dir", at("pki"));
    settings.set("cachedir", at("cache"));
    settings.set("sock_dir", at("run"));
    settings.set("pidfile", at("pid"));
    settings.set("log_file", at("log"));
    settings.set("log_level_logfile", "info");
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid())?;
    settings.set("user", user.context("the user has no name")?.name);
    Ok(())
}

/// A master with its directory and address.
#[derive(Debug)]
pub struct Master {
    daemon: Daemon,
    events: Option<EventLog>,
    address: Address,
    dir: PathBuf,
    kind: Kind,
    name: String,
    home: PathBuf,
    programs: Programs,
}

impl Master {
    /// Starts the process and waits until it is ready.
    pub fn start(&mut self) -> Result<()> {
        self.daemon.start()?;
        self.wait_ready()
            .with_context(|| format!("{} ({}) did not get ready", self.name, self.kind))
    }

    /// Starts the process where its event bus is on TCP ports, so that there
    /// is no socket file to listen at.
    pub fn start_on_ports(&mut self) -> Result<()> {
        self.daemon.start()?;
        until("the master to answer", START, || {
            self.daemon.check_runs()?;
            let ping = clear_ping();
            let mut open = Connection::open(self.address.request(), "REQ", Duration::from_secs(2));
            let answers = open.as_mut().is_ok_and(|open| open.ask(&ping).is_ok());
            Ok(answers.then_some(()))
        })
    }

    /// `kill -9` of all its processes.
    pub fn kill9(&mut self) -> Result<()> {
        self.events = None;
        self.daemon.kill9()
    }

    /// Asks it to stop; gives the exit code.
    pub fn stop(&mut self) -> Result<i32> {
        self.events = None;
        self.daemon.stop(SHORT)
    }

    /// The process.
    pub fn daemon(&mut self) -> &mut Daemon {
        &mut self.daemon
    }

    /// What all its processes take together, in KiB.
    pub fn memory_kib(&self) -> Result<u64> {
        pss_kib(&self.daemon.processes()?)
    }

    /// What all its processes have written themselves, in KiB, for whoever
    /// asks whether it grows.
    pub fn own_memory_kib(&self) -> Result<u64> {
        own_kib(&self.daemon.processes()?)
    }

    /// Its ports.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Its directory: configuration, `pki`, `cache`, `run`, `srv`, `log`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What its event bus has said since it was started.
    pub fn events(&self) -> Result<&EventLog> {
        self.events
            .as_ref()
            .with_context(|| format!("{} does not run", self.name))
    }

    /// Listens to its event bus no longer.
    pub fn stop_listening(&mut self) {
        self.events = None;
    }

    /// A connection to its request port.
    pub fn connect(&self) -> Result<Connection> {
        Connection::open(self.address.request(), "REQ", SHORT)
    }

    /// The programs of a kind, run against this master.
    pub fn tools(&self, kind: Kind) -> Tools<'_> {
        Tools { master: self, kind }
    }

    /// `salt` of the master's own kind.
    pub fn salt(&self, args: &[&str]) -> Result<Output> {
        self.tools(self.kind).salt(args)
    }

    /// `salt-key` of the master's own kind.
    pub fn key(&self, args: &[&str]) -> Result<Output> {
        self.tools(self.kind).key(args)
    }

    /// What each minion returned to a command, through `--out=json`.
    pub fn returns(&self, args: &[&str]) -> Result<serde_json::Map<String, Value>> {
        let mut args = args.to_vec();
        args.push("--out=json");
        self.salt(&args)?.ok()?.by_minion()
    }

    /// Pings exactly these minions with `'*'`, and each answers.
    pub fn check_ping(&self, minions: &[&str]) -> Result<()> {
        self.tools(self.kind).check_ping(minions)
    }

    /// Accepts a key with the master's own `salt-key` when it has come in,
    /// and waits until the minion is ready.
    pub fn accept(&self, minion: &str) -> Result<()> {
        self.accept_again(minion)?;
        let tag = format!("salt/minion/{minion}/start");
        let pending = self.key_path(minion, KeyState::Pending);
        until(&tag, START, || {
            // Two sign-ins at once make a real master store the key as pending
            // once more, over the decision that came between them.
            if self.kind != Kind::Ours && pending.exists() {
                self.key(&["-y", "-a", minion])?;
            }
            let started = self.events()?.events().iter().any(|event| event.tag == tag);
            Ok(started.then_some(()))
        })
    }

    /// Accepts a key that comes in once more from a minion that runs.
    pub fn accept_again(&self, minion: &str) -> Result<()> {
        self.wait_key(minion, KeyState::Pending)?;
        self.key(&["-y", "-a", minion])?.ok()?;
        self.wait_key(minion, KeyState::Accepted)
    }

    /// Waits until a minion's key is in a state.
    pub fn wait_key(&self, minion: &str, state: KeyState) -> Result<()> {
        let path = self.key_path(minion, state);
        until(
            &format!("the key of {minion} to be {state:?} at {}", self.name),
            START,
            || Ok(path.exists().then_some(())),
        )
    }

    fn key_path(&self, minion: &str, state: KeyState) -> PathBuf {
        self.dir.join("pki").join(state.dir()).join(minion)
    }

    /// Waits until a minion has said since the start of the master that it is
    /// ready.
    pub fn wait_minion(&self, minion: &str) -> Result<()> {
        let tag = format!("salt/minion/{minion}/start");
        self.events()?.wait(&tag, START, |event| event.tag == tag)?;
        Ok(())
    }

    /// Waits until it answers, whoever started it: one that went to the
    /// background is no child of ours.
    pub fn wait_answers(&self) -> Result<()> {
        until("the master to answer", START, || {
            Ok(self.answers().then_some(()))
        })
    }

    fn wait_ready(&mut self) -> Result<()> {
        let bus = self.dir.join("run/master_event_pub.ipc");
        let events = until("the master to answer", START, || {
            self.daemon.check_runs()?;
            Ok(self.answers().then(|| EventLog::open(&bus).ok()).flatten())
        })?;
        self.events = Some(events);
        Ok(())
    }

    /// Whether requests are answered, subscribers are let in, and the local
    /// programs find the sign that the master is up.
    fn answers(&self) -> bool {
        let ping = clear_ping();
        let deadline = Duration::from_secs(2);
        let open = |peer, socket_type| Connection::open(peer, socket_type, deadline);
        open(self.address.request(), "REQ")
            .is_ok_and(|mut connection| connection.ask(&ping).is_ok())
            && open(self.address.publish(), "SUB").is_ok()
            && self.dir.join("run/publish_pull.ipc").exists()
    }
}

/// A request that every master answers.
fn clear_ping() -> Vec<u8> {
    Item::map([
        ("enc", Item::from("clear")),
        ("load", Item::map([("cmd", Item::from("ping"))])),
        ("version", Item::from(3)),
    ])
    .pack()
}

/// The programs of one kind beside a master.
#[derive(Clone, Copy, Debug)]
pub struct Tools<'master> {
    master: &'master Master,
    kind: Kind,
}

impl Tools<'_> {
    /// Runs `salt`.
    pub fn salt(self, args: &[&str]) -> Result<Output> {
        run(&self.recipe(Program::Salt, args)?, TOOL_DEADLINE)
    }

    /// Runs `salt-key`.
    pub fn key(self, args: &[&str]) -> Result<Output> {
        run(&self.recipe(Program::Key, args)?, TOOL_DEADLINE)
    }

    /// Runs `salt-key` and types `answers` at its prompts.
    pub fn key_with(self, args: &[&str], answers: &str) -> Result<Output> {
        run(
            &self.recipe(Program::Key, args)?.stdin(answers),
            TOOL_DEADLINE,
        )
    }

    /// Runs `salt-run`.
    pub fn runner(self, args: &[&str]) -> Result<Output> {
        run(&self.recipe(Program::Run, args)?, TOOL_DEADLINE)
    }

    /// Runs `salt-cp`.
    pub fn cp(self, args: &[&str]) -> Result<Output> {
        run(&self.recipe(Program::Cp, args)?, TOOL_DEADLINE)
    }

    /// How to run a program with the master's configuration.
    pub fn recipe(self, program: Program, args: &[&str]) -> Result<Recipe> {
        let path = self.master.programs.path(self.kind, program)?;
        let conf = self.master.dir.display().to_string();
        Ok(Recipe::new(program.name(), path, &self.master.home)
            .args(&["-c", &conf])
            .args(args))
    }

    /// Runs a Python script with the interpreter of this kind; its first
    /// argument is the master's file.
    pub fn python(self, script: &str) -> Result<Output> {
        let path = self.master.programs.path(self.kind, Program::Python)?;
        let conf = self.master.dir.join("master").display().to_string();
        let recipe = Recipe::new("python", path, &self.master.home)
            .args(&["-W", "ignore", "-c", script, &conf]);
        run(&recipe, TOOL_DEADLINE)
    }

    /// Pings exactly these minions with `'*'`, and each answers.
    pub fn check_ping(self, minions: &[&str]) -> Result<()> {
        let output = self.salt(&["*", "test.ping", "--out=json"])?.ok()?;
        let mut answered: Vec<String> = Vec::new();
        for (minion, value) in output.by_minion()? {
            ensure!(
                value == json!(true),
                "{minion} answered {value} in {output}"
            );
            answered.push(minion);
        }
        answered.sort();
        let mut wanted = minions.to_vec();
        wanted.sort_unstable();
        if answered != wanted {
            bail!("expected answers of {wanted:?} in {output}");
        }
        Ok(())
    }
}
