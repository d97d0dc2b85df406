//! The three ways to load a configuration.

use std::path::{Path, PathBuf};

use halite_proto::Value;

use crate::behind::{self, ReadBehind};
use crate::error::{ConfigError, Faults, Warning};
use crate::files::Reader;
use crate::host_names::HostNames;
use crate::known::Side;
use crate::names;
use crate::raw::Raw;
use crate::refused;
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
    /// Whether an id that a minion has found for itself is written down for the
    /// next start.
    pub keep_id: bool,
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

/// A configuration with its mistakes: an option that is wrong has its default.
#[derive(Debug)]
pub struct Draft<C> {
    loaded: Loaded<C>,
    faults: Faults,
}

impl<C> Draft<C> {
    /// The configuration as far as it could be read.
    pub fn config(&self) -> &C {
        &self.loaded.config
    }

    /// Adds mistakes that only the whole program can find.
    pub fn add_faults(&mut self, faults: impl IntoIterator<Item = ConfigError>) {
        for fault in faults {
            self.faults.add(fault);
        }
    }

    /// The configuration if it has no mistakes.
    ///
    /// # Errors
    /// The first mistake.
    pub fn finish(self) -> Result<Loaded<C>, ConfigError> {
        self.finish_all()
            .map_err(|mut faults| faults.swap_remove(0))
    }

    /// The configuration if it has no mistakes.
    ///
    /// # Errors
    /// All mistakes, in the order of the files; at least one.
    pub fn finish_all(self) -> Result<Loaded<C>, Vec<ConfigError>> {
        match self.faults.is_empty() {
            true => Ok(self.loaded),
            false => Err(self.faults.in_order(&self.loaded.files)),
        }
    }
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
/// When a file cannot be read or an option is wrong: the first mistake.
pub fn load_master(options: &LoadOptions) -> Result<Loaded<MasterConfig>, ConfigError> {
    draft_master(options)?.finish()
}

/// Reads a master's configuration with all its mistakes.
///
/// # Errors
/// When a file cannot be read.
pub fn draft_master(options: &LoadOptions) -> Result<Draft<MasterConfig>, ConfigError> {
    let mut draft = read_master(options)?;
    let mistakes = draft.loaded.config.settle_file_backends();
    draft.faults.add_items(mistakes);
    refused::check(&draft.loaded.config.raw, &mut draft.faults);
    Ok(draft)
}

fn read_master(options: &LoadOptions) -> Result<Draft<MasterConfig>, ConfigError> {
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
        let mut faults = Faults::default();
        let mut first = MasterConfig::read(conf_file.clone(), plain, &mut faults);
        first.settle(&options.host_names, &mut faults);
        // Drivers get no options that are wrong.
        if faults.is_empty() {
            let read = |address: &str| read(first.opts(), address);
            behind::replace(&mut entries, &read, MasterConfig::HONOURED, &mut warnings)?;
        }
    }
    let raw = Raw::new(Side::Master, entries);
    names::check(
        Side::Master,
        raw.entries(),
        MasterConfig::HONOURED,
        &mut warnings,
    );
    let mut faults = Faults::default();
    raw.check_shapes(&mut faults);
    let mut config = MasterConfig::read(conf_file, raw, &mut faults);
    config.settle(&options.host_names, &mut faults);
    let loaded = Loaded {
        config,
        warnings,
        files,
    };
    Ok(Draft { loaded, faults })
}

/// Reads a master's configuration as the programs beside it do: a wildcard
/// address means this machine, and options that only stop a master are no
/// mistakes: the master may be one of Salt's.
///
/// # Errors
/// When a file cannot be read or a value does not fit.
pub fn load_client(options: &LoadOptions) -> Result<Loaded<MasterConfig>, ConfigError> {
    draft_client(options)?.finish()
}

/// The same with all its mistakes.
///
/// # Errors
/// When a file cannot be read.
pub fn draft_client(options: &LoadOptions) -> Result<Draft<MasterConfig>, ConfigError> {
    // No command waits for a name server; only the master's own name would
    // need one.
    let mut draft = read_master(&LoadOptions {
        host_names: options.host_names.without_name_servers(),
        ..options.clone()
    })?;
    let config = &mut draft.loaded.config;
    match config.interface.as_str() {
        "0.0.0.0" | "*" => "127.0.0.1".clone_into(&mut config.interface),
        "::" => "::1".clone_into(&mut config.interface),
        _ => {}
    }
    Ok(draft)
}

/// Reads a minion's configuration.
///
/// # Errors
/// When a file cannot be read, an option is wrong, or there is no id: the first
/// mistake.
pub fn load_minion(options: &LoadOptions) -> Result<Loaded<MinionConfig>, ConfigError> {
    draft_minion(options)?.finish()
}

/// Reads a minion's configuration with all its mistakes.
///
/// # Errors
/// When a file cannot be read.
pub fn draft_minion(options: &LoadOptions) -> Result<Draft<MinionConfig>, ConfigError> {
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
        let mut faults = Faults::default();
        let mut first = MinionConfig::read(conf_file.clone(), plain, &mut faults);
        first.settle(&options.host_names, &mut Vec::new(), &mut faults);
        // Drivers get no options that are wrong.
        if faults.is_empty() {
            let read = |address: &str| read(first.opts(), address);
            behind::replace(&mut entries, &read, MinionConfig::HONOURED, &mut warnings)?;
        }
    }
    let raw = Raw::new(Side::Minion, entries);
    names::check(
        Side::Minion,
        raw.entries(),
        MinionConfig::HONOURED,
        &mut warnings,
    );
    let mut faults = Faults::default();
    raw.check_shapes(&mut faults);
    let mut config = MinionConfig::read(conf_file, raw, &mut faults);
    let found = config.settle(&options.host_names, &mut warnings, &mut faults);
    if options.keep_id && faults.is_empty() {
        config.id_rules().cache(&found);
    }
    let loaded = Loaded {
        config,
        warnings,
        files,
    };
    Ok(Draft { loaded, faults })
}
