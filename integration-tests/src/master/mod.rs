//! A master of any kind, and the programs that an administrator runs beside it.
//!
//! Invariant: [`Master::start`] returns when the master answers requests,
//! accepts subscribers and speaks on its event bus.

mod plan;
mod tools;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

pub use self::plan::MasterPlan;
pub(crate) use self::plan::common_settings;
pub use self::tools::Tools;
use crate::event_log::EventLog;
use crate::kind::{Kind, Program, Programs};
use crate::memory::{own_kib, pss_kib};
use crate::net::Address;
use crate::output::Output;
use crate::process::Daemon;
use crate::wait::{SHORT, START, until};
use crate::wire::msgpack::Item;
use crate::wire::zmtp::Connection;

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

    /// Has the master of another kind run in the same directories, once it is started
    /// again.
    pub fn replace_by(&mut self, kind: Kind) -> Result<()> {
        self.daemon
            .run_instead(self.programs.path(kind, Program::Master)?);
        self.kind = kind;
        Ok(())
    }

    /// Lets it open so many files at most, once it is started again.
    pub fn limit_open_files(&mut self, files: u32) -> Result<()> {
        let program = self.programs.path(self.kind, Program::Master)?;
        let script = self.dir.join("limited");
        let text = format!(
            "#!/bin/sh\nulimit -n {files}\nexec {} \"$@\"\n",
            program.display()
        );
        fs::write(&script, text)?;
        fs::set_permissions(&script, Permissions::from_mode(0o755))?;
        self.daemon.run_instead(script);
        Ok(())
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
        until(&tag, START, || {
            self.accept_what_came_between(minion)?;
            let started = self.events()?.events().iter().any(|event| event.tag == tag);
            Ok(started.then_some(()))
        })
    }

    /// Two sign-ins at once make a real master store the key as pending once
    /// more, over the decision that came between them: this decides again.
    pub(crate) fn accept_what_came_between(&self, minion: &str) -> Result<()> {
        if self.kind != Kind::Ours && self.key_path(minion, KeyState::Pending).exists() {
            self.key(&["-y", "-a", minion])?;
        }
        Ok(())
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
        // The bus first: minions that waited for the ports may have told all
        // they have to tell before a look at these is over.
        let events = until("the master's event bus", START, || {
            self.daemon.check_runs()?;
            Ok(EventLog::open(&bus).ok())
        })?;
        until("the master to answer", START, || {
            self.daemon.check_runs()?;
            Ok(self.answers().then_some(()))
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
