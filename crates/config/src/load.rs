//! The three ways to load a configuration.

use std::path::{Path, PathBuf};

use halite_proto::Value;

use crate::behind::{self, ReadBehind};
use crate::error::{ConfigError, Warning};
use crate::files::Reader;
use crate::host_names::HostNames;
use crate::known::Side;
use crate::raw::Raw;
use crate::{MasterConfig, MinionConfig};

/// What the caller knows beside the files.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `-c DIR`, or `SALT_CONFIG_DIR`; `/etc/salt` otherwise.
    pub config_dir: Option<PathBuf>,
    /// A file given by `SALT_MASTER_CONFIG` or `SALT_MINION_CONFIG`; `-c` is
    /// stronger.
    pub config_file: Option<PathBuf>,
    /// A file with options of whoever calls a program beside the master
    /// (`~/.saltrc`, `SALT_CLIENT_CONFIG`), which win over the master's.
    pub own_file: Option<PathBuf>,
    /// Options from the command line, which win over the files.
    pub overrides: Vec<(String, Value)>,
    /// Who reads what is behind an address of `sdb`; without it such an option
    /// has its default.
    pub behind: Option<ReadBehind>,
    /// The names of this machine, for a minion without `id`.
    pub host_names: HostNames,
}

impl LoadOptions {
    /// The main file, absolute: a daemon moves to `/`, and so do functions that
    /// ask for `conf_file`.
    fn file(&self, name: &str) -> PathBuf {
        let file = match (&self.config_dir, &self.config_file) {
            (Some(dir), _) => dir.join(name),
            (None, Some(file)) => file.clone(),
            (None, None) => Path::new("/etc/salt").join(name),
        };
        std::path::absolute(&file).unwrap_or(file)
    }
}

/// A configuration and what is odd about it.
#[derive(Clone, Debug)]
pub struct Loaded<C> {
    /// The configuration.
    pub config: C,
    /// What an administrator should look at.
    pub warnings: Vec<Warning>,
    files: Vec<PathBuf>,
}

impl<C> Loaded<C> {
    /// The files that were read, in their order.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// What `--check` prints when the start would go on: every warning with
    /// its line, then the files that make the configuration.
    pub fn check_report(&self) -> String {
        let mut report = String::new();
        for warning in &self.warnings {
            report.push_str("warning: ");
            report.push_str(&warning.render());
            report.push('\n');
        }
        report.push_str("the configuration is valid");
        let files: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
        if !files.is_empty() {
            report.push_str(": ");
            report.push_str(&files.join(", "));
        }
        report.push('\n');
        report
    }
}

/// Reads a master's configuration.
///
/// # Errors
/// When a file cannot be read or a value does not fit.
pub fn load_master(options: &LoadOptions) -> Result<Loaded<MasterConfig>, ConfigError> {
    let conf_file = options.file("master");
    let mut reader = Reader::default();
    let mut entries = reader.read(
        &conf_file,
        "master.d/*.conf",
        options.own_file.as_deref(),
        &options.overrides,
    )?;
    let Reader {
        mut warnings,
        files,
    } = reader;
    if let Some(read) = options.behind.filter(|_| behind::is_needed(&entries)) {
        // Whoever reads needs the other options, with their paths.
        let plain = Raw::new(Side::Master, behind::without(&entries));
        let mut first = MasterConfig::read(conf_file.clone(), plain)?;
        first.settle(&options.host_names)?;
        let read = |address: &str| read(first.opts(), address);
        behind::replace(&mut entries, &read, MasterConfig::HONOURED, &mut warnings)?;
    }
    let raw = Raw::new(Side::Master, entries);
    raw.check_names(MasterConfig::HONOURED, &mut warnings);
    raw.check_shapes()?;
    let mut config = MasterConfig::read(conf_file, raw)?;
    config.settle(&options.host_names)?;
    Ok(Loaded {
        config,
        warnings,
        files,
    })
}

/// Reads a master's configuration as the programs beside it do: a wildcard
/// address means this machine.
///
/// # Errors
/// When a file cannot be read or a value does not fit.
pub fn load_client(options: &LoadOptions) -> Result<Loaded<MasterConfig>, ConfigError> {
    // No command waits for a name server; only the master's own name would
    // need one.
    let mut loaded = load_master(&LoadOptions {
        host_names: options.host_names.without_name_servers(),
        ..options.clone()
    })?;
    match loaded.config.interface.as_str() {
        "0.0.0.0" | "*" => "127.0.0.1".clone_into(&mut loaded.config.interface),
        "::" => "::1".clone_into(&mut loaded.config.interface),
        _ => {}
    }
    Ok(loaded)
}

/// Reads a minion's configuration.
///
/// # Errors
/// When a file cannot be read, a value does not fit, or there is no id.
pub fn load_minion(options: &LoadOptions) -> Result<Loaded<MinionConfig>, ConfigError> {
    let conf_file = options.file("minion");
    let mut reader = Reader::default();
    let mut entries = reader.read(
        &conf_file,
        "minion.d/*.conf",
        options.own_file.as_deref(),
        &options.overrides,
    )?;
    let Reader {
        mut warnings,
        files,
    } = reader;
    if let Some(read) = options.behind.filter(|_| behind::is_needed(&entries)) {
        // Whoever reads needs the other options, with their paths.
        let plain = Raw::new(Side::Minion, behind::without(&entries));
        let mut first = MinionConfig::read(conf_file.clone(), plain)?;
        first.settle(&options.host_names, &mut Vec::new())?;
        let read = |address: &str| read(first.opts(), address);
        behind::replace(&mut entries, &read, MinionConfig::HONOURED, &mut warnings)?;
    }
    let raw = Raw::new(Side::Minion, entries);
    raw.check_names(MinionConfig::HONOURED, &mut warnings);
    raw.check_shapes()?;
    let mut config = MinionConfig::read(conf_file, raw)?;
    config.settle(&options.host_names, &mut warnings)?;
    Ok(Loaded {
        config,
        warnings,
        files,
    })
}
