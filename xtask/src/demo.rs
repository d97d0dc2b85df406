//! `cargo xtask demo`: the fleet of `examples/two-masters`, live.
//!
//! Invariant: what is printed behind a `$` is what runs, in a directory of its
//! own, and the fleet is gone at the end unless `--keep` says otherwise.

mod web;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use halite_integration_tests::{
    Address, Daemon, Fleet, Kind, Output, Program, Programs, Recipe, run as run_recipe, until,
};

use crate::build::{bin_dir, build, build_programs, features, root};
use crate::screen::{Style, paint};
use web::Web;

/// What the files of the example say, to be replaced by what is free here.
const EXAMPLE_DIR: &str = "/tmp/two-masters";
const EXAMPLE_ADDRESSES: [&str; 2] = ["127.0.0.11", "127.0.0.12"];

const MASTERS: [&str; 2] = ["master1", "master2"];
const MINIONS: [&str; 3] = ["web1", "web2", "db1"];

/// How long the minions may take for something.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Leaves the fleet running, with a file that sets up a shell for it
    #[arg(long)]
    keep: bool,
    /// Plays it with real Salt instead, to compare
    #[arg(long)]
    real_salt: bool,
    /// Serves the page of the fleet at the end, and leaves the fleet running
    #[arg(long, conflicts_with = "real_salt")]
    web: bool,
    /// Builds the programs with optimisation, as they are installed; takes
    /// longer, and is built apart from what the tests use
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut demo = Demo::lay(args)?;
    demo.play()?;
    if args.web {
        demo.serve()?;
    }
    if args.keep || args.web {
        demo.keep()?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Demo {
    // Daemons drop before the fleet that sweeps up behind them.
    daemons: Vec<(&'static str, Daemon)>,
    fleet: Fleet,
    kind: Kind,
    web: Option<Web>,
    _addresses: [Address; 2],
}

impl Demo {
    fn lay(args: &Args) -> Result<Self> {
        let (kind, programs) = if args.real_salt {
            crate::peers::provide(&[Kind::Salt3008])?;
            (Kind::Salt3008, Programs::new(Path::new("."))?)
        } else {
            (Kind::Ours, Programs::new(&programs(args.release)?)?)
        };
        let fleet = Fleet::quiet("demo", programs)?;
        let addresses = [Address::claim()?, Address::claim()?];
        let demo = Self {
            daemons: Vec::new(),
            kind,
            web: args.web.then(Web::new).transpose()?,
            _addresses: addresses,
            fleet,
        };
        demo.copy_example(&root().join("examples/two-masters"), demo.fleet.path())?;
        if let Some(web) = &demo.web {
            web.configure(&demo.fleet.path().join(MASTERS[0]))?;
        }
        Ok(demo)
    }

    /// Starts the API of the first master, which serves the page.
    fn serve(&mut self) -> Result<()> {
        let Some(web) = &self.web else {
            return Ok(());
        };
        let (at, login) = (web.port(), web.login());
        heading("Serve the page of the fleet");
        let recipe = self.recipe(Program::Api, MASTERS[0])?;
        command(&format!("{} &", recipe.typed()));
        let mut api = Daemon::new(recipe, self.fleet.path().join("salt-api-console"));
        api.start()?;
        until("the API to listen", PATIENCE, || {
            api.check_runs()?;
            Ok(std::net::TcpStream::connect(("127.0.0.1", at)).ok())
        })?;
        self.daemons.push(("salt-api", api));
        let open = format!("http://127.0.0.1:{at}/fleet/");
        println!("\nOpen {}\n{login}", paint(Style::Good, &open));
        Ok(())
    }

    /// Copies the example with this directory and these addresses in it.
    fn copy_example(&self, from: &Path, to: &Path) -> Result<()> {
        fs::create_dir_all(to)?;
        for entry in
            fs::read_dir(from).with_context(|| format!("could not read {}", from.display()))?
        {
            let entry = entry?;
            let to = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                self.copy_example(&entry.path(), &to)?;
                continue;
            }
            let mut text = fs::read_to_string(entry.path())?
                .replace(EXAMPLE_DIR, &self.fleet.path().display().to_string());
            for (example, address) in EXAMPLE_ADDRESSES.iter().zip(&self._addresses) {
                text = text.replace(example, &address.ip().to_string());
            }
            if let Some(user) = other_user_than_root()? {
                text.push_str(&format!("user: {user}\n"));
            }
            fs::write(to, text)?;
        }
        Ok(())
    }

    fn play(&mut self) -> Result<()> {
        let dir = self.fleet.path().to_path_buf();
        heading("Two masters with one key pair, three minions that listen to both");
        println!(
            "{}",
            paint(Style::Dim, &format!("everything is in {}", dir.display()))
        );
        command(&format!("cd {}", dir.display()));

        heading("Start the masters; the second gets the key pair of the first");
        self.start("master1")?;
        let pair = dir.join("master1/pki");
        until("the key pair", PATIENCE, || {
            Ok(pair.join("master.pub").exists().then_some(()))
        })?;
        command(
            "mkdir -p master2/pki && cp master1/pki/master.pem master1/pki/master.pub master2/pki/",
        );
        fs::create_dir_all(dir.join("master2/pki"))?;
        for name in ["master.pem", "master.pub"] {
            fs::copy(pair.join(name), dir.join("master2/pki").join(name))?;
        }
        self.start("master2")?;

        heading("Start the minions");
        for minion in MINIONS {
            self.start(minion)?;
        }

        heading("Accept their keys on each master");
        for master in MASTERS {
            self.wait_keys(master)?;
            self.tool(Program::Key, master, &["-L"])?;
            self.tool(Program::Key, master, &["-y", "-A"])?;
        }

        heading("Command the fleet from either master");
        for master in MASTERS {
            self.wait_answers(master)?;
            self.tool(Program::Salt, master, &["*", "test.ping"])?;
        }
        self.tool(
            Program::Salt,
            "master1",
            &["*", "cmd.run", "echo $(hostname) has $(nproc) processors"],
        )?;
        self.tool(
            Program::Salt,
            "master2",
            &["web*", "grains.item", "id", "role", "os"],
        )?;

        heading("Kill the first master: the second goes on");
        self.kill9("master1")?;
        self.tool(Program::Salt, "master2", &["*", "test.ping"])?;

        heading("Start it again: its minions come back");
        self.start("master1")?;
        self.wait_answers("master1")?;
        self.tool(Program::Salt, "master1", &["*", "test.ping"])?;
        self.tool(Program::Salt, "master2", &["*", "test.ping"])?;
        println!(
            "\n{}",
            paint(
                Style::Good,
                "Done: no command was lost while a master was there to give it."
            )
        );
        Ok(())
    }

    fn recipe(&self, program: Program, conf: &str) -> Result<Recipe> {
        let path = self.fleet.programs().path(self.kind, program)?;
        Ok(Recipe::new(conf, path, self.fleet.path()).args(&["-c", conf]))
    }

    fn start(&mut self, name: &'static str) -> Result<()> {
        let is_master = MASTERS.contains(&name);
        let recipe = self.recipe(
            if is_master {
                Program::Master
            } else {
                Program::Minion
            },
            name,
        )?;
        command(&format!("{} &", recipe.typed()));
        let mut daemon = Daemon::new(recipe, self.fleet.path().join(name).join("console"));
        let begun = Instant::now();
        daemon.start()?;
        if is_master {
            let marker = self.fleet.path().join(name).join("run/publish_pull.ipc");
            let address = &self._addresses[usize::from(name == "master2")];
            until("the master to listen", PATIENCE, || {
                daemon.check_runs()?;
                let listens = |peer| {
                    std::net::TcpStream::connect_timeout(&peer, Duration::from_secs(1)).is_ok()
                };
                Ok(
                    (marker.exists() && listens(address.publish()) && listens(address.request()))
                        .then_some(()),
                )
            })?;
            took(begun);
        }
        self.daemons.retain(|(other, _)| *other != name);
        self.daemons.push((name, daemon));
        Ok(())
    }

    fn kill9(&mut self, name: &str) -> Result<()> {
        let Some((_, daemon)) = self.daemons.iter_mut().find(|(other, _)| *other == name) else {
            bail!("{name} was not started");
        };
        command(&format!("kill -9 {}", daemon.pid()?));
        daemon.kill9()
    }

    /// Runs a tool and shows what it says.
    fn tool(&self, program: Program, conf: &str, args: &[&str]) -> Result<()> {
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

    /// Waits until all keys have come in at a master.
    fn wait_keys(&self, master: &str) -> Result<()> {
        let dir = self.fleet.path().join(master).join("pki");
        until("the keys of the minions", PATIENCE, || {
            let waiting = |minion: &&str| dir.join("minions_pre").join(minion).exists();
            Ok(MINIONS.iter().all(waiting).then_some(()))
        })
    }

    /// Waits until all minions answer a master.
    fn wait_answers(&self, master: &str) -> Result<()> {
        let recipe =
            self.recipe(Program::Salt, master)?
                .args(&["-t", "1", "*", "test.ping", "--out=json"]);
        let all = |output: &Output| {
            output.by_minion().is_ok_and(|answers| {
                MINIONS
                    .iter()
                    .all(|minion| answers.get(*minion) == Some(&true.into()))
            })
        };
        until("all minions to answer", PATIENCE, || {
            Ok(run_recipe(&recipe, PATIENCE)
                .is_ok_and(|output| all(&output))
                .then_some(()))
        })
    }

    /// Leaves the fleet to the user.
    fn keep(mut self) -> Result<()> {
        let bin = self.fleet.programs().path(self.kind, Program::Salt)?;
        let bin = bin.parent().map(PathBuf::from).unwrap_or_default();
        let pids: Vec<String> = self
            .daemons
            .iter()
            .map(|(_, daemon)| Ok(daemon.pid()?.to_string()))
            .collect::<Result<_>>()?;
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
        command("salt -c master1 '*' test.ping");
        command("stop_fleet");
        // Neither the daemons nor the fleet are ours from here on.
        for (_, daemon) in &mut self.daemons {
            daemon.leave();
        }
        std::mem::forget(self);
        Ok(())
    }
}

/// The directory of the programs, built if they are not there yet.
fn programs(release: bool) -> Result<PathBuf> {
    println!("{}", paint(Style::Dim, "building the programs"));
    if !release {
        return bin_dir(&build_programs(&[], &[])?);
    }
    let mut args = vec!["-p", "halite", "--bins", "--release"];
    args.extend(
        features()
            .into_iter()
            .filter(|feature| feature.starts_with("--no-")),
    );
    bin_dir(&build(&args)?)
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

fn heading(text: &str) {
    println!("\n{}", paint(Style::Bold, text));
}

fn command(typed: &str) {
    println!(
        "{} {}",
        paint(Style::Dim, "$"),
        paint(Style::Command, typed)
    );
}

fn took(begun: Instant) {
    println!(
        "{}",
        paint(
            Style::Dim,
            &format!("  ({} ms)", begun.elapsed().as_millis())
        )
    );
}
