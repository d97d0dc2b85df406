//! The daemons of an example, in a directory of their own, and the commands given
//! to them.

use std::fs;
use std::io::Read as _;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use halite_integration_tests::{
    Address, Daemon, Fleet, Kind, Output, Program, Programs, Recipe, run as run_recipe, until,
};

use crate::build::root;
use crate::screen::{Style, paint};

/// How long daemons may take for something.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// An example: a folder of `examples`.
pub(super) struct Example {
    /// The name of the folder, and of the directory in `/tmp` that its files name.
    pub(super) name: &'static str,
    /// The addresses in its files; each is replaced by one that is free.
    pub(super) addresses: &'static [&'static str],
    /// The minions in it.
    pub(super) minions: &'static [&'static str],
}

/// The daemons of an example.
pub(super) struct DemoFleet {
    // Daemons drop before the fleet that sweeps up behind them.
    daemons: Vec<(&'static str, Daemon)>,
    fleet: Fleet,
    kind: Kind,
    example: Example,
    addresses: Vec<Address>,
}

impl DemoFleet {
    /// Copies an example; nothing runs yet.
    pub(super) fn lay(example: Example, kind: Kind, programs: Programs) -> Result<Self> {
        let addresses = example.addresses.iter().map(|_| Address::claim());
        let laid = Self {
            daemons: Vec::new(),
            kind,
            addresses: addresses.collect::<Result<_>>()?,
            fleet: Fleet::quiet("demo", programs)?,
            example,
        };
        let from = root().join("examples").join(laid.example.name);
        laid.copy(&from, laid.fleet.path())?;
        Ok(laid)
    }

    /// Copies a directory with this fleet's directory and addresses in its files.
    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        fs::create_dir_all(to)?;
        let here = self.fleet.path().display().to_string();
        let there = format!("/tmp/{}", self.example.name);
        for entry in
            fs::read_dir(from).with_context(|| format!("could not read {}", from.display()))?
        {
            let entry = entry?;
            let to = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                self.copy(&entry.path(), &to)?;
                continue;
            }
            let mut text = fs::read_to_string(entry.path())?.replace(&there, &here);
            for (example, address) in self.example.addresses.iter().zip(&self.addresses) {
                text = text.replace(example, &address.ip().to_string());
            }
            let name = entry.file_name();
            if let Some(user) = other_user_than_root()?
                && (name == "master" || name == "minion")
            {
                text.push_str(&format!("user: {user}\n"));
            }
            fs::write(to, text)?;
        }
        Ok(())
    }

    /// The directory with everything in it.
    pub(super) fn path(&self) -> &Path {
        self.fleet.path()
    }

    /// The address that took the place of one in the example.
    pub(super) fn address(&self, n: usize) -> &Address {
        &self.addresses[n]
    }

    /// One of Halite's programs (or Salt's) with a directory of configuration.
    pub(super) fn recipe(&self, program: Program, conf: &str) -> Result<Recipe> {
        let path = self.fleet.programs().path(self.kind, program)?;
        Ok(Recipe::new(conf, path, self.fleet.path()).args(&["-c", conf]))
    }

    /// Starts a master, or several at once, at these of the addresses, and waits until
    /// they listen.
    pub(super) fn start_masters(&mut self, masters: &[(&'static str, usize)]) -> Result<()> {
        let begun = Instant::now();
        for (name, _) in masters {
            let recipe = self.recipe(Program::Master, name)?;
            self.start(name, recipe)?;
        }
        for (name, n) in masters {
            let marker = self.fleet.path().join(name).join("run/publish_pull.ipc");
            let at = [self.addresses[*n].publish(), self.addresses[*n].request()];
            let daemon = self.daemon(name)?;
            until("the master to listen", PATIENCE, || {
                daemon.check_runs()?;
                Ok((marker.exists() && at.iter().all(listens)).then_some(()))
            })?;
        }
        took(begun);
        Ok(())
    }

    /// Starts all minions of the example.
    pub(super) fn start_minions(&mut self) -> Result<()> {
        for name in self.example.minions {
            let recipe = self.recipe(Program::Minion, name)?;
            self.start(name, recipe)?;
        }
        Ok(())
    }

    /// Starts a program in the background.
    pub(super) fn start(&mut self, name: &'static str, recipe: Recipe) -> Result<()> {
        command(&format!("{} &", recipe.typed()));
        let console = self.fleet.path().join(format!("{name}.console"));
        let mut daemon = Daemon::new(recipe, console);
        daemon.start()?;
        self.daemons.retain(|(other, _)| *other != name);
        self.daemons.push((name, daemon));
        Ok(())
    }

    /// A program that was started.
    pub(super) fn daemon(&mut self, name: &str) -> Result<&mut Daemon> {
        let mut daemons = self.daemons.iter_mut();
        match daemons.find(|(other, _)| *other == name) {
            Some((_, daemon)) => Ok(daemon),
            None => bail!("{name} was not started"),
        }
    }

    pub(super) fn kill9(&mut self, name: &str) -> Result<()> {
        let daemon = self.daemon(name)?;
        command(&format!("kill -9 {}", daemon.pid()?));
        daemon.kill9()
    }

    /// Stops a daemon in order.
    pub(super) fn stop(&mut self, name: &str) -> Result<()> {
        let daemon = self.daemon(name)?;
        command(&format!("kill {}", daemon.pid()?));
        daemon.stop(PATIENCE).map(drop)
    }

    /// Runs a tool and shows what it says.
    pub(super) fn tool(&self, program: Program, conf: &str, args: &[&str]) -> Result<()> {
        let recipe = self.recipe(program, conf)?.args(args);
        command(&recipe.typed());
        let begun = Instant::now();
        let output = run_recipe(&recipe, PATIENCE)?;
        for line in output.stdout.lines().chain(output.stderr.lines()) {
            println!("  {line}");
        }
        took(begun);
        output.ok().map(drop)
    }

    /// Waits until the keys of all minions are in a folder of a master's key store.
    pub(super) fn wait_keys(&self, folder: &Path) -> Result<()> {
        let dir = self.fleet.path().join(folder);
        until("the keys of the minions", PATIENCE, || {
            let mut minions = self.example.minions.iter();
            Ok(minions
                .all(|minion| dir.join(minion).exists())
                .then_some(()))
        })
    }

    /// Waits until all minions answer a master.
    pub(super) fn wait_answers(&self, master: &str) -> Result<()> {
        let recipe =
            self.recipe(Program::Salt, master)?
                .args(&["-t", "1", "*", "test.ping", "--out=json"]);
        let all = |output: &Output| {
            output.by_minion().is_ok_and(|answers| {
                let mut minions = self.example.minions.iter();
                minions.all(|minion| answers.get(*minion) == Some(&true.into()))
            })
        };
        until("all minions to answer", PATIENCE, || {
            Ok(run_recipe(&recipe, PATIENCE)
                .is_ok_and(|output| all(&output))
                .then_some(()))
        })
    }

    /// Leaves the fleet to the user, who may command it from this master.
    pub(super) fn keep(mut self, master: &str) -> Result<()> {
        let bin = self.fleet.programs().path(self.kind, Program::Salt)?;
        let bin = bin.parent().map(PathBuf::from).unwrap_or_default();
        let running = self.daemons.iter_mut();
        let running = running.filter_map(|(_, daemon)| daemon.is_running().then_some(daemon));
        let pids = running.map(|daemon| Ok(daemon.pid()?.to_string()));
        let pids: Vec<String> = pids.collect::<Result<_>>()?;
        let dir = self.fleet.keep().to_path_buf();
        let setup = dir.join("env.sh");
        fs::write(
            &setup,
            format!(
                "export PATH='{}':\"$PATH\"\ncd '{}'\nstop_fleet() {{ kill {}; }}\n",
                bin.display(),
                dir.display(),
                pids.join(" ")
            ),
        )?;
        println!("\nThe fleet is up. In your shell:");
        command(&format!(". {}", setup.display()));
        command(&format!("salt -c {master} '*' test.ping"));
        command("stop_fleet");
        // Neither the daemons nor the fleet are ours from here on.
        for (_, daemon) in &mut self.daemons {
            daemon.leave();
        }
        std::mem::forget(self);
        Ok(())
    }
}

/// Whether somebody takes connections there.
pub(super) fn listens(at: &SocketAddr) -> bool {
    TcpStream::connect_timeout(at, Duration::from_secs(1)).is_ok()
}

/// The name of the user, unless it is the one that the files mean.
fn other_user_than_root() -> Result<Option<String>> {
    let uid = nix::unistd::geteuid();
    if uid.is_root() {
        return Ok(None);
    }
    let user = nix::unistd::User::from_uid(uid)?.context("the user has no name")?;
    Ok(Some(user.name))
}

/// Random bytes, as a password that can be typed.
pub(super) fn random_hex<const BYTES: usize>() -> Result<String> {
    let mut random = [0_u8; BYTES];
    fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What is shown next.
pub(super) fn heading(text: &str) {
    println!("\n{}", paint(Style::Bold, text));
}

/// A remark.
pub(super) fn remark(text: &str) {
    println!("{}", paint(Style::Dim, text));
}

/// A command as it is typed.
pub(super) fn command(typed: &str) {
    println!(
        "{} {}",
        paint(Style::Dim, "$"),
        paint(Style::Command, typed)
    );
}

/// How long the last command took.
pub(super) fn took(begun: Instant) {
    remark(&format!("  ({} ms)", begun.elapsed().as_millis()));
}
