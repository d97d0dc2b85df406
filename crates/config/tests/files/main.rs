//! Whole configurations: how files are merged, how paths are resolved, and the
//! messages for administrators.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod layers;
mod mistakes;
mod own_code;

use std::path::PathBuf;

use halite_config::{LoadOptions, Loaded, MasterConfig, MinionConfig, load_master, load_minion};
use halite_proto::Value;

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn options(&self) -> LoadOptions {
        let root = self.path("root").display().to_string();
        LoadOptions {
            config_dir: Some(self.0.path().to_owned()),
            overrides: vec![("root_dir".to_owned(), Value::from(root))],
            ..LoadOptions::default()
        }
    }

    fn minion(&self) -> Loaded<MinionConfig> {
        load_minion(&self.options()).unwrap_or_else(|error| panic!("{}", error.render()))
    }

    fn master(&self) -> Loaded<MasterConfig> {
        load_master(&self.options()).unwrap_or_else(|error| panic!("{}", error.render()))
    }

    /// A text in which this directory is called `DIR`.
    fn anonymous(&self, text: &str) -> String {
        text.replace(&self.0.path().display().to_string(), "DIR")
    }
}

fn yaml(text: &str) -> Value {
    halite_yaml::load(text, "expected").unwrap().into_value()
}
