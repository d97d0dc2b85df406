//! A minion without a master for tests: configuration, files and pillar are in a
//! temporary directory, the grains are given.

#![allow(unreachable_pub, reason = "it is a part of a test program")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

pub mod compare;

use std::path::{Path, PathBuf};

use halite_call::{Job, Outcome, args, run_function};
use halite_config::{HostNames, LoadOptions, load_minion};
use halite_fileserver::{FileServer, RootsOptions};
use halite_minion::context::local::LocalContext;
use halite_proto::{Map, Value};

/// A minion without a master, as `salt-call --local` is one.
pub struct LocalMinion {
    pub context: LocalContext,
}

impl LocalMinion {
    /// A minion with the configuration file in `config_dir` and these grains.
    pub fn new(config_dir: &Path, grains: Map) -> Self {
        Self::with_opts(config_dir, grains, Map::new())
    }

    /// The same with options that no file gives.
    pub fn with_opts(config_dir: &Path, grains: Map, more: Map) -> Self {
        let loaded = load_minion(&LoadOptions {
            config_dir: Some(config_dir.to_owned()),
            overrides: vec![("file_client".to_owned(), "local".into())],
            host_names: HostNames::default(),
            ..LoadOptions::default()
        });
        let config = loaded.expect("the configuration is good").config;
        let files = FileServer::from_roots(RootsOptions {
            file_roots: config
                .file_roots
                .iter()
                .map(|(env, dirs)| (env.clone(), dirs.clone()))
                .collect(),
            ..RootsOptions::default()
        });
        let mut opts = config.opts().clone();
        opts.insert("__cli", "salt-call");
        opts.extend(more);
        Self {
            context: LocalContext::new(opts, grains, files.expect("the roots are good")),
        }
    }

    /// A minion whose files lie in `root` as well: states in `srv`, pillar in
    /// `pillar`. It has a shell's grains and this one.
    pub fn laid_out(root: &Path, grain: (&str, &str)) -> Self {
        Self::laid_out_with(root, grain, Map::new())
    }

    /// The same with options that no file gives.
    pub fn laid_out_with(root: &Path, grain: (&str, &str), more: Map) -> Self {
        let place = root.display();
        let config = format!(
            "id: here\nroot_dir: {place}\nfile_roots: {{base: [{place}/srv]}}\n\
             pillar_roots: {{base: [{place}/pillar]}}\nlog_level: quiet\n"
        );
        std::fs::create_dir_all(root.join("srv")).unwrap();
        std::fs::write(root.join("minion"), config).unwrap();
        Self::with_opts(
            root,
            Map::from([("id", "here"), ("shell", "/bin/sh"), grain]),
            more,
        )
    }

    /// Calls a function as `salt-call` would: `name=value` are keyword
    /// arguments, the rest is read as YAML.
    pub fn call(&self, fun: &str, arguments: &[&str]) -> Outcome {
        let arguments: Vec<Value> = arguments.iter().map(|text| argument(text)).collect();
        let mut load = Map::new();
        load.insert("fun", fun);
        load.insert("jid", "20260101000000000000");
        run_function(&self.context, fun, &arguments, &Job::published(load))
    }
}

fn argument(text: &str) -> Value {
    match args::keyword(text) {
        Some((name, value)) => {
            let mut keyword = Map::new();
            keyword.insert(name, value);
            keyword.insert("__kwarg__", true);
            keyword.into()
        }
        None => args::yamlify(text),
    }
}

/// Copies a tree.
pub fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target: PathBuf = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
