//! A master before it is started: its options, files and keys.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Master;
use crate::fleet::Fleet;
use crate::kind::{Kind, Program};
use crate::net::Address;
use crate::process::{Daemon, Recipe};
use crate::settings::Settings;

/// A master that is not started yet.
#[derive(Debug)]
pub struct MasterPlan<'fleet> {
    fleet: &'fleet Fleet,
    name: String,
    kind: Kind,
    settings: Settings,
    files: Vec<(String, String)>,
    key_pair_from: Option<PathBuf>,
    env: Vec<(String, String)>,
}

impl Fleet {
    /// Plans a master; its files go to the directory `name`.
    pub fn master(&self, name: &str, kind: Kind) -> MasterPlan<'_> {
        MasterPlan::new(self, name, kind)
    }
}

impl<'fleet> MasterPlan<'fleet> {
    fn new(fleet: &'fleet Fleet, name: &str, kind: Kind) -> Self {
        Self {
            fleet,
            name: name.to_owned(),
            kind,
            settings: Settings::default(),
            files: Vec::new(),
            key_pair_from: None,
            env: Vec::new(),
        }
    }

    /// Sets an option of the master's file.
    #[must_use]
    pub fn set(mut self, option: &str, value: impl Into<Value>) -> Self {
        self.settings.set(option, value);
        self
    }

    /// Sets a variable of the master's environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
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
        let recipe =
            (self.env.iter()).fold(recipe, |recipe, (name, value)| recipe.env(name, value));
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
