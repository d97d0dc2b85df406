//! Derives settings once all of a minion's options are read: paths below the root,
//! the id, and whether the options are consistent.

use super::MinionConfig;
use crate::error::{ConfigError, Faults, Warning};
use crate::file_backends::{self, OWN_FILE_BACKENDS};
use crate::host_names::HostNames;
use crate::minion_id::{Id, IdRules, RemoveDomain};
use crate::paths;
use crate::raw::{ENCRYPTION, SIGNING};
use crate::setting::MasterType;

impl MinionConfig {
    /// What follows from the rest: paths below `root_dir`, the id, and
    /// whether the options fit each other.
    pub(crate) fn settle(
        &mut self,
        names: &HostNames,
        warnings: &mut Vec<Warning>,
        faults: &mut Faults,
    ) -> Id {
        self.settle_paths();
        self.raw.settle_roots("file_roots", &mut self.file_roots);
        self.raw
            .settle_roots("pillar_roots", &mut self.pillar_roots);
        self.check_values(faults);
        self.settle_file_backends(faults);
        let found = self.id_rules().id(self.id.as_deref(), names);
        self.id = Some(found.text.clone());
        let repeats = faults.check(self.masters_and_repeats());
        for at in repeats.map(|(_, repeats)| repeats).unwrap_or_default() {
            let text = "this master is listed before, it is served once";
            warnings.extend(self.raw.odd_item("master", at, text));
        }
        if let Some(id) = faults.check(self.minion_id()) {
            let appended = self.append_id(id.as_str());
            faults.check(appended);
            self.raw.settle("id", &id);
        }
        self.raw
            .settle("conf_file", self.conf_file.display().to_string());
        self.raw
            .settle("config_dir", self.config_dir().display().to_string());
        self.raw.settle("hash_type", self.hash_type.0.as_str());
        self.raw.settle("__role", "minion");
        self.raw.settle_depths();
        found
    }

    fn settle_paths(&mut self) {
        self.sock_dir = paths::sock_dir(&self.sock_dir, &self.cachedir);
        let root = self.root_dir.clone();
        for (name, path) in [
            ("pki_dir", &mut self.pki_dir),
            ("cachedir", &mut self.cachedir),
            ("sock_dir", &mut self.sock_dir),
            ("pidfile", &mut self.pidfile),
        ] {
            // Who types a path means that path.
            if !self.raw.is_override(name) {
                *path = paths::below(&root, path);
            }
            self.raw.settle(name, path.display().to_string());
        }
        if !self.raw.is_override("log_file") {
            self.log_file = paths::log_below(&root, &self.log_file);
        }
        self.raw
            .settle("log_file", self.log_file.display().to_string());
        self.raw.settle_paths(&root, &["extension_modules"]);
    }

    /// Directories that several minions of a machine share have the id behind
    /// them.
    fn append_id(&mut self, id: &str) -> Result<(), ConfigError> {
        let listed = std::mem::take(&mut self.append_minionid_config_dirs);
        for (at, name) in listed.0.iter().enumerate() {
            let path = match name.as_str() {
                "pki_dir" => &mut self.pki_dir,
                "cachedir" => &mut self.cachedir,
                "extension_modules" => {
                    self.raw.append_to_path(name, id);
                    continue;
                }
                _ => {
                    let allowed = "pki_dir, cachedir or extension_modules".to_owned();
                    let option = "append_minionid_config_dirs";
                    return Err(self.raw.wrong_item(option, Some(at), allowed));
                }
            };
            path.push(id);
            self.raw.settle(name, path.display().to_string());
        }
        self.append_minionid_config_dirs = listed;
        Ok(())
    }

    fn settle_file_backends(&mut self, faults: &mut Faults) {
        let asks_master = faults.check(self.raw.setting("use_master_when_local"));
        let asks_master = asks_master.flatten().unwrap_or(false);
        let serves = match self.master_type {
            MasterType::Disable => true,
            _ => self.file_client == "local" && !asks_master,
        };
        let known = serves.then_some(OWN_FILE_BACKENDS);
        let mistakes = file_backends::settle(&mut self.raw, &mut self.fileserver_backend, known);
        faults.add_items(mistakes);
    }

    fn check_values(&self, faults: &mut Faults) {
        if self.master_type == MasterType::Func {
            let is_function = |entry: &String| {
                let mut words = entry.split('.');
                words.clone().count() == 2 && words.all(is_python_name)
            };
            let one = (!self.master.is_list).then(|| self.master.entries.first());
            if !one.flatten().is_some_and(is_function) {
                let allowed = "module.function, since master_type is func".to_owned();
                faults.add(self.raw.wrong("master", allowed));
            }
        }
        self.check_sources(faults);
        if self.startup_states == "top" && self.top_file.is_empty() {
            let allowed = "highstate or sls; top needs the option top_file".to_owned();
            faults.add(self.raw.wrong("startup_states", allowed));
        }
        if self.startup_states == "sls" && self.sls_list.0.is_empty() {
            let allowed = "highstate or top; sls needs the option sls_list".to_owned();
            faults.add(self.raw.wrong("startup_states", allowed));
        }
        for (name, value, words) in [
            (
                "startup_states",
                &self.startup_states,
                ["", "highstate", "sls", "top"].as_slice(),
            ),
            ("file_client", &self.file_client, &["remote", "local"]),
            (
                "encryption_algorithm",
                &self.encryption_algorithm,
                ENCRYPTION,
            ),
            ("signing_algorithm", &self.signing_algorithm, SIGNING),
        ] {
            faults.check(self.raw.check_word(name, value, words));
        }
    }

    fn check_sources(&self, faults: &mut Faults) {
        let address = &self.source_address;
        if !address.is_empty() && address.parse::<std::net::IpAddr>().is_err() {
            let allowed = "an address of this machine".to_owned();
            faults.add(self.raw.wrong("source_address", allowed));
        }
        for (name, port) in [
            ("source_ret_port", self.source_ret_port),
            ("source_publish_port", self.source_publish_port),
        ] {
            if port > u64::from(u16::MAX) {
                let allowed = "a port, or 0 for any".to_owned();
                faults.add(self.raw.wrong(name, allowed));
            }
        }
    }

    /// How an id is found.
    pub(crate) fn id_rules(&self) -> IdRules<'_> {
        IdRules {
            root_dir: &self.root_dir,
            caching: self.minion_id_caching,
            lowercase: self.minion_id_lowercase,
            remove_domain: RemoveDomain::of(&self.minion_id_remove_domain.0),
            append_domain: self.append_domain.as_deref(),
        }
    }
}

fn is_python_name(word: &str) -> bool {
    let mut chars = word.chars();
    let starts_well = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    starts_well && chars.all(|c| c.is_alphanumeric() || c == '_')
}
