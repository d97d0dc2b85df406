//! A tree of states in memory: SLS are YAML in memory, targets are globs on the id `m1`.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test program uses a part of it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod trees;

use std::collections::BTreeMap;

use halite_proto::{Map, Value};
use halite_state::{Compiler, Low, Mistake, RenderFault, Rendered, Settings, SlsSource};
use halite_target::glob;

/// Files of environments: `base:a/b.sls`.
#[derive(Default)]
pub struct Tree {
    pub settings: Settings,
    pub files: BTreeMap<(String, String), String>,
    pub tops: Map,
    pub watching: Vec<&'static str>,
}

pub fn yaml(text: &str) -> Value {
    halite_yaml::load(text, "test").unwrap().into_value()
}

impl Tree {
    /// Files of `base`: their paths and contents.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self {
            watching: vec!["test.mod_watch"],
            ..Self::default()
        }
        .with("base", files)
    }

    pub fn with(mut self, env: &str, files: &[(&str, &str)]) -> Self {
        for (path, text) in files {
            let key = (env.to_owned(), (*path).to_owned());
            self.files.insert(key, (*text).to_owned());
        }
        self
    }

    /// The high data of named SLS of `base`, and what is wrong.
    pub fn render(&self, sls: &[&str]) -> (Map, Vec<Mistake>) {
        let sls: Vec<Value> = sls.iter().map(|sls| Value::from(*sls)).collect();
        let matches = Map::from([("base", Value::List(sls))]);
        Compiler::new(self).render(&matches)
    }

    /// The low data of named SLS, as a run would have it.
    pub fn low(&self, sls: &[&str]) -> Result<Low, Vec<Mistake>> {
        let (high, errors) = self.render(sls);
        if errors.is_empty() {
            Compiler::new(self).low(high)
        } else {
            Err(errors)
        }
    }

    /// The ids (and names that differ from them) in the order of the run.
    pub fn order(&self, sls: &[&str]) -> Vec<String> {
        let low = self.low(sls).unwrap();
        let chunks = low.order.iter().map(|turn| {
            let chunk = low.chunk(*turn).unwrap();
            let mut text = chunk.id().to_owned();
            if chunk.name_text() != chunk.id() {
                text = format!("{text}/{}", chunk.name_text());
            }
            if turn.trial { format!("{text}?") } else { text }
        });
        chunks.collect()
    }

    fn read(&self, env: &str, path: &str) -> Option<Result<Value, RenderFault>> {
        let text = self.files.get(&(env.to_owned(), path.to_owned()))?;
        let loaded = halite_yaml::load(text, path).map_err(|error| RenderFault {
            words: error.problem.clone(),
            of_sls: format!("Rendering SLS '{env}:{path}' failed: {}", error.problem),
            report: error.render(),
            expected: true,
        });
        Some(loaded.map(halite_yaml::Node::into_value))
    }
}

impl SlsSource for Tree {
    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn envs(&self) -> Vec<String> {
        let mut envs: Vec<_> = self.files.keys().map(|(env, _)| env.clone()).collect();
        envs.dedup();
        envs
    }

    fn list_states(&self, saltenv: &str) -> Vec<String> {
        let of_env = self.files.keys().filter(|(env, _)| env == saltenv);
        let mut names: Vec<_> = of_env
            .map(|(_, path)| {
                let name = path.strip_suffix("/init.sls");
                let name = name.or_else(|| path.strip_suffix(".sls"));
                name.unwrap_or(path).replace('/', ".")
            })
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn top(&self, saltenv: &str) -> Result<Option<Value>, RenderFault> {
        self.read(saltenv, "top.sls").transpose()
    }

    fn sls(&self, sls: &str, saltenv: &str) -> Result<Option<Rendered>, RenderFault> {
        let base = sls.replace('.', "/");
        for (path, is_init) in [
            (format!("{base}.sls"), false),
            (format!("{base}/init.sls"), true),
        ] {
            if let Some(data) = self.read(saltenv, &path) {
                let mut rendered = Rendered::new(data?);
                rendered.is_init = is_init;
                return Ok(Some(rendered));
            }
        }
        Ok(None)
    }

    fn matches(&self, target: &Value, match_type: &str) -> Result<bool, String> {
        match (target.as_str(), match_type) {
            (Some(target), "glob" | "compound") => Ok(glob::fnmatch(target, "m1")),
            _ => Err(format!("{match_type} is not known here")),
        }
    }

    fn master_tops(&self) -> Map {
        self.tops.clone()
    }

    fn has_state(&self, fun: &str) -> bool {
        self.watching.contains(&fun)
    }
}
