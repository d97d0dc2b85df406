//! A minion of any kind with one or more masters.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use crate::fleet::Fleet;
use crate::kind::{Kind, Program, Programs};
use crate::master::{Master, common_settings};
use crate::memory::{own_kib, pss_kib};
use crate::output::Output;
use crate::process::{Daemon, Recipe, run};
use crate::settings::Settings;
use crate::wait::SHORT;

/// How long `salt-call` may run before it counts as hung.
const CALL_DEADLINE: Duration = Duration::from_secs(120);

/// A minion that is not started yet.
#[derive(Debug)]
pub struct MinionPlan<'fleet> {
    fleet: &'fleet Fleet,
    id: String,
    kind: Kind,
    masters: Vec<String>,
    settings: Settings,
    env: Vec<(String, String)>,
}

impl Fleet {
    /// Plans a minion with the id `id`, in the directory of that name.
    pub fn minion(&self, id: &str, kind: Kind) -> MinionPlan<'_> {
        MinionPlan::new(self, id, kind)
    }
}

impl<'fleet> MinionPlan<'fleet> {
    fn new(fleet: &'fleet Fleet, id: &str, kind: Kind) -> Self {
        Self {
            fleet,
            id: id.to_owned(),
            kind,
            masters: Vec::new(),
            settings: Settings::default(),
            env: Vec::new(),
        }
    }

    /// Adds a master to the list of this minion's masters.
    #[must_use]
    pub fn of(mut self, master: &Master) -> Self {
        self.masters.push(master.address().request().to_string());
        self
    }

    /// Sets an option of the minion's file.
    #[must_use]
    pub fn set(mut self, option: &str, value: impl Into<Value>) -> Self {
        self.settings.set(option, value);
        self
    }

    /// Sets a variable of the environment of its daemon and of its `salt-call`.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes the files and makes the minion, without starting it.
    pub fn lay(self) -> Result<Minion> {
        let dir = self.fleet.path().join(&self.id);
        for name in ["", "pki", "cache", "run"] {
            fs::create_dir_all(dir.join(name))?;
        }
        let mut settings = Settings::default();
        settings.set("id", self.id.as_str());
        match self.masters.as_slice() {
            [master] => settings.set("master", master.as_str()),
            masters => settings.set("master", masters),
        }
        common_settings(&mut settings, &dir)?;
        if self.kind != Kind::Ours {
            settings.set("enable_fqdns_grains", false);
            settings.set("enable_gpu_grains", false);
        }
        // The waits that Salt makes long for the sake of large fleets.
        settings.set("acceptance_wait_time", 1);
        if self.kind != Kind::Ours {
            settings.set("recon_default", 100);
            settings.set("recon_max", 500);
            settings.set("recon_randomize", false);
            settings.set("random_reauth_delay", 1);
        }
        settings.set("return_retry_timer", 1);
        settings.set("return_retry_timer_max", 2);
        for (option, value) in self.settings.iter() {
            settings.set(option, value.clone());
        }
        fs::write(dir.join("minion"), settings.to_yaml())?;
        let recipe = Recipe::new(
            &self.id,
            self.fleet.programs().path(self.kind, Program::Minion)?,
            self.fleet.path(),
        )
        .args(&["-c".to_owned(), dir.display().to_string()]);
        Ok(Minion {
            daemon: Daemon::new(with_env(recipe, &self.env), dir.join("console")),
            env: self.env,
            id: self.id,
            kind: self.kind,
            home: self.fleet.path().to_path_buf(),
            programs: self.fleet.programs().clone(),
            dir,
        })
    }

    /// Starts the minion. Whether it gets on with its masters is for them to
    /// say: [`Master::accept`], [`Master::wait_minion`].
    pub fn start(self) -> Result<Minion> {
        let mut minion = self.lay()?;
        minion.daemon.start()?;
        Ok(minion)
    }
}

/// A minion with its directory.
#[derive(Debug)]
pub struct Minion {
    daemon: Daemon,
    id: String,
    kind: Kind,
    dir: PathBuf,
    home: PathBuf,
    programs: Programs,
    env: Vec<(String, String)>,
}

fn with_env(recipe: Recipe, env: &[(String, String)]) -> Recipe {
    env.iter()
        .fold(recipe, |recipe, (name, value)| recipe.env(name, value))
}

impl Minion {
    /// The id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its directory: configuration, `pki`, `cache`, `run`, `log`.
    pub fn dir(&self) -> &Path {
        &self.dir
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

    /// The process.
    pub fn daemon(&mut self) -> &mut Daemon {
        &mut self.daemon
    }

    /// The ids of all its processes.
    ///
    /// # Errors
    /// When it does not run.
    pub fn processes(&self) -> Result<Vec<i32>> {
        self.daemon.processes()
    }

    /// Starts it again.
    pub fn start(&mut self) -> Result<()> {
        self.daemon.start()
    }

    /// Asks it to stop; gives the exit code.
    pub fn stop(&mut self) -> Result<i32> {
        self.daemon.stop(SHORT)
    }

    /// `kill -9` of all its processes.
    pub fn kill9(&mut self) -> Result<()> {
        self.daemon.kill9()
    }

    /// Runs `salt-call` of its own kind with its configuration.
    pub fn call(&self, args: &[&str]) -> Result<Output> {
        self.call_as(&self.dir, args)
    }

    /// As [`Minion::call`] with the configuration of another directory.
    pub fn call_as(&self, conf: &Path, args: &[&str]) -> Result<Output> {
        let path = self.programs.path(self.kind, Program::Call)?;
        let conf = conf.display().to_string();
        let recipe = Recipe::new("salt-call", path, &self.home)
            .args(&["-c", &conf])
            .args(args);
        run(&with_env(recipe, &self.env), CALL_DEADLINE)
    }

    /// How to run a program of its own kind with its configuration.
    pub fn recipe(&self, program: Program) -> Result<Recipe> {
        let path = self.programs.path(self.kind, program)?;
        let conf = self.dir.display().to_string();
        let recipe = Recipe::new(program.name(), path, &self.home).args(&["-c", &conf]);
        Ok(with_env(recipe, &self.env))
    }

    /// Runs `salt-minion --check` of our own minion.
    pub fn checked(&self) -> Result<Output> {
        let path = self.programs.path(self.kind, Program::Minion)?;
        let conf = self.dir.display().to_string();
        let recipe = Recipe::new("salt-minion", path, &self.home).args(&["-c", &conf, "--check"]);
        run(&recipe, CALL_DEADLINE)
    }

    /// Runs `salt-minion status` of our own minion.
    pub fn status(&self, args: &[&str]) -> Result<Output> {
        let path = self.programs.path(self.kind, Program::Minion)?;
        let conf = self.dir.display().to_string();
        let recipe = Recipe::new("salt-minion", path, &self.home)
            .args(&["-c", &conf, "status"])
            .args(args);
        run(&recipe, CALL_DEADLINE)
    }

    /// What `salt-call` returns, through `--out=json`.
    pub fn called(&self, args: &[&str]) -> Result<Value> {
        let mut args = args.to_vec();
        args.push("--out=json");
        self.call(&args)?.ok()?.of("local")
    }
}
