//! Derives settings once all of a master's options are read: paths below the root,
//! the name, and whether the options are consistent.

use super::MasterConfig;
use crate::error::{ConfigError, Faults};
use crate::file_backends::{self, FILE_BACKENDS};
use crate::host_names::HostNames;
use crate::minion_id::{IdRules, RemoveDomain};
use crate::paths;
use crate::raw::SIGNING;

impl MasterConfig {
    /// What follows from the rest: paths below `root_dir`, the master's name,
    /// and whether the options fit each other.
    pub(crate) fn settle(&mut self, names: &HostNames, faults: &mut Faults) {
        self.settle_paths();
        self.raw.settle_roots("file_roots", &mut self.file_roots);
        self.raw
            .settle_roots("pillar_roots", &mut self.pillar_roots);
        self.settle_cluster(faults);
        self.check_values(faults);
        if self.raw.has("keep_jobs") && !self.raw.has("keep_jobs_seconds") {
            self.keep_jobs_seconds = self.keep_jobs.saturating_mul(3600);
            let seconds = self.keep_jobs_seconds;
            self.raw.settle("keep_jobs_seconds", seconds);
        }
        self.find_id(names);
        self.raw.settle("id", self.id.clone());
        self.raw
            .settle("conf_file", self.conf_file.display().to_string());
        self.raw
            .settle("config_dir", self.config_dir().display().to_string());
        self.raw.settle("hash_type", self.hash_type.0.as_str());
        self.raw.settle("__role", "master");
        self.raw.settle_depths();
    }

    fn settle_paths(&mut self) {
        self.sock_dir = paths::sock_dir(&self.sock_dir, &self.cachedir);
        let root = self.root_dir.clone();
        let optional = [
            ("autosign_file", &mut self.autosign_file),
            ("autoreject_file", &mut self.autoreject_file),
            ("autosign_grains_dir", &mut self.autosign_grains_dir),
        ];
        let always = [
            ("pki_dir", &mut self.pki_dir),
            ("cachedir", &mut self.cachedir),
            ("sock_dir", &mut self.sock_dir),
            ("pidfile", &mut self.pidfile),
            ("api_pidfile", &mut self.api_pidfile),
        ];
        let given = optional
            .into_iter()
            .filter_map(|(name, path)| Some((name, path.as_mut()?)));
        for (name, path) in always.into_iter().chain(given) {
            // Who types a path means that path.
            if !self.raw.is_override(name) {
                *path = paths::below(&root, path);
            }
            self.raw.settle(name, path.display().to_string());
        }
        let logs = [
            ("log_file", &mut self.log_file),
            ("api_logfile", &mut self.api_logfile),
            ("key_logfile", &mut self.key_logfile),
        ];
        for (name, log) in logs {
            if !self.raw.is_override(name) {
                *log = paths::log_below(&root, log);
            }
            self.raw.settle(name, log.display().to_string());
        }
        self.extension_modules = paths::below(&root, &self.extension_modules);
        let path = self.extension_modules.display().to_string();
        self.raw.settle("extension_modules", path);
        self.sqlite_queue_dir = paths::below(&root, &self.sqlite_queue_dir);
        let path = self.sqlite_queue_dir.display().to_string();
        self.raw.settle("sqlite_queue_dir", path);
        for (name, dir) in [("token_dir", "tokens"), ("syndic_dir", "syndics")] {
            let path = self.cachedir.join(dir);
            self.raw.settle(name, path.display().to_string());
        }
    }

    /// Settles where files come from; the mistakes in it.
    pub(crate) fn settle_file_backends(&mut self) -> Vec<ConfigError> {
        let names = &mut self.fileserver_backend;
        if names.0.is_empty() {
            let allowed = format!("a list with at least one of: {}", FILE_BACKENDS.join(", "));
            return vec![self.raw.wrong("fileserver_backend", allowed)];
        }
        file_backends::settle(&mut self.raw, names, Some(FILE_BACKENDS))
    }

    fn check_values(&self, faults: &mut Faults) {
        if self.publish_port == self.ret_port {
            // The one that somebody has set is the one to change.
            let (wrong, other) = match self.raw.has("publish_port") {
                true => ("publish_port", "ret_port"),
                false => ("ret_port", "publish_port"),
            };
            let allowed = format!("another port than {other}, {}", self.ret_port.0);
            faults.add(self.raw.wrong(wrong, allowed));
        }
        for (name, value) in [
            ("publish_signing_algorithm", &self.publish_signing_algorithm),
            ("signing_algorithm", &self.signing_algorithm),
        ] {
            faults.check(self.raw.check_word(name, value, SIGNING));
        }
        self.check_access(faults);
    }

    /// The configured name, or that of the minion on this machine with
    /// `_master` behind it.
    fn find_id(&mut self, names: &HostNames) {
        let rules = IdRules {
            root_dir: &self.root_dir,
            caching: self.minion_id_caching,
            lowercase: self.minion_id_lowercase,
            remove_domain: RemoveDomain::of(&self.minion_id_remove_domain.0),
            append_domain: self.append_domain.as_deref(),
        };
        let configured = self.id.as_deref().is_some_and(|id| !id.is_empty());
        let mut id = rules.id(self.id.as_deref(), names).text;
        if !configured {
            id.push_str("_master");
        }
        self.id = Some(id);
    }
}
