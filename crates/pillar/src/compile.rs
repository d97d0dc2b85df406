//! From a minion's identity to its pillar.
//!
//! Mirrors `compile_pillar` of `salt/pillar/__init__.py` (3008.5). Invariant:
//! compiling does not fail; errors go into `_errors`, which a state run checks.

use std::collections::HashMap;
use std::sync::Arc;

use halite_proto::{Map, Value};
use halite_target::Subject;

use crate::compiler::Compiler;
use crate::decrypt;
use crate::effects::Effects;
use crate::ext::{External, Externals};
use crate::laid::Laid;
use crate::request::Request;
use crate::settings;
use crate::sls::{Env, Rendering};
use crate::top::Top;
use crate::tree::Tree;

impl Compiler {
    /// The pillar of a minion.
    pub fn compile(&self, request: &Request, effects: &dyn Effects) -> Map {
        Compilation::new(self, request, effects).run()
    }

    /// What the top files say for a minion, or what is wrong with them.
    ///
    /// # Errors
    /// The errors, in Salt's words.
    pub fn top(&self, request: &Request, effects: &dyn Effects) -> Result<Map, Vec<String>> {
        let compilation = Compilation::new(self, request, effects);
        let (top, errors) = compilation.top();
        if errors.is_empty() {
            Ok(top.envs)
        } else {
            Err(errors)
        }
    }
}

/// One pillar while it is compiled.
pub(crate) struct Compilation<'a> {
    pub(crate) compiler: &'a Compiler,
    pub(crate) request: &'a Request,
    pub(crate) effects: &'a dyn Effects,
    pub(crate) tree: Tree,
    pub(crate) pillarenv: Option<String>,
}

struct Minion<'a> {
    request: &'a Request,
    pillar: &'a Map,
}

impl Subject for Minion<'_> {
    fn id(&self) -> &str {
        &self.request.id
    }

    fn grains(&self) -> Option<&Map> {
        Some(&self.request.grains)
    }

    fn pillar(&self) -> Option<&Map> {
        Some(self.pillar)
    }
}

/// What was in the pillar before keeps its place, as in Salt.
fn in_order_of(held: &Map, pillar: Map) -> Map {
    if held.is_empty() {
        return pillar;
    }
    let places: HashMap<&Value, usize> = held.keys().zip(0..).collect();
    let mut entries: Vec<(Value, Value)> = pillar.into_iter().collect();
    entries.sort_by_key(|(key, _)| places.get(key).copied().unwrap_or(usize::MAX));
    entries.into_iter().collect()
}

impl<'a> Compilation<'a> {
    fn new(compiler: &'a Compiler, request: &'a Request, effects: &'a dyn Effects) -> Self {
        let (_, pillarenv) = compiler.envs_of(request);
        Self {
            compiler,
            request,
            effects,
            tree: compiler.tree(request),
            pillarenv,
        }
    }

    fn run(&self) -> Map {
        let settings = &self.compiler.settings;
        let lay = || Laid::new(settings.merging, &self.request.overrides);
        let (top, top_errors) = self.top();
        let mut errors = Vec::new();
        let mut laid = lay();
        if settings.externals_first && self.request.roots.is_none() {
            self.external(&mut laid, &mut errors);
            let seen = Arc::new(laid.seen().clone());
            let mut files = lay();
            self.rendered(&top, seen, &mut files, &mut errors);
            laid.join(files);
        } else {
            let held = Arc::clone(&self.request.held);
            self.rendered(&top, held, &mut laid, &mut errors);
            self.external(&mut laid, &mut errors);
        }
        errors.extend(top_errors);
        let paths = settings.decrypt.paths.as_ref();
        let decrypts = paths.is_none_or(|paths| !paths.is_empty());
        let pillar = laid.finish(decrypts, |pillar, is_own| {
            if settings.with_opts {
                pillar.insert("master", self.shown_opts());
            }
            if is_own {
                errors.extend(decrypt::decrypt(&settings.decrypt, pillar, self.effects));
            }
            if !errors.is_empty() {
                let errors: Vec<Value> = errors.into_iter().map(Value::Str).collect();
                pillar.insert("_errors", errors);
            }
        });
        in_order_of(&self.request.held, pillar)
    }

    /// What the top files say, and what is wrong with them.
    fn top(&self) -> (Top, Vec<String>) {
        let mut errors = Vec::new();
        let tops = self.tops(&mut errors);
        let top = Top::merge(&tops).unwrap_or_else(|error| {
            errors.push(error.to_owned());
            Top::default()
        });
        (top, errors)
    }

    /// Lays the SLS of the minion, rendered, over it. They see `seen` as pillar.
    fn rendered(&self, top: &Top, seen: Arc<Map>, laid: &mut Laid<'_>, errors: &mut Vec<String>) {
        let settings = &self.compiler.settings;
        let minion = Minion {
            request: self.request,
            pillar: &seen,
        };
        let groups = (settings.nodegroups.as_ref(), &settings.range_server);
        let mut matches = match top.matches(&minion, self.pillarenv.as_deref(), groups) {
            Ok(matches) => matches,
            Err(error) => {
                errors.push(error);
                Vec::new()
            }
        };
        let order = &settings.env_order;
        let place = |env: &str| order.iter().position(|known| known == env);
        matches.sort_by_key(|(env, _)| place(env).unwrap_or(usize::MAX));
        let rendering = Rendering {
            settings,
            tree: &self.tree,
            ignore: &self.compiler.ignore,
            effects: self.effects,
            top,
            pillar: Arc::clone(&seen),
        };
        for (env, names) in &matches {
            if !self.tree.envs().contains(&env.as_str()) {
                for _ in names {
                    errors.push(format!(
                        "No matching pillar environment for environment '{env}' found"
                    ));
                }
            }
            let mut env = Env::new(&rendering, env);
            let names: Vec<String> = names.iter().flat_map(|sls| env.expand(sls)).collect();
            for sls in names {
                let (data, more) = env.render(&sls);
                errors.extend(more);
                if let Some(Value::Map(data)) = data.as_deref() {
                    laid.add(data);
                }
            }
        }
    }

    /// Lays external pillars over it.
    fn external(&self, laid: &mut Laid<'_>, errors: &mut Vec<String>) {
        let settings = &self.compiler.settings;
        let has_externals = self.compiler.opts().contains_key("ext_pillar");
        if !has_externals && self.request.ext.is_none() || self.request.roots.is_some() {
            return;
        }
        laid.override_seen();
        let on_demand = self.on_demand(errors);
        let all = settings.externals.iter().chain(&on_demand);
        // Only code in Python asks what the files gave; it may be large.
        let is_python = |external: &External| match external {
            External::Module(_) => true,
            External::Git { .. } => self.compiler.repositories.is_none(),
            _ => false,
        };
        let files = match all.clone().any(is_python) {
            true => laid.seen().clone(),
            false => Map::new(),
        };
        let (saltenv, _) = self.compiler.envs_of(self.request);
        let externals = Externals {
            request: self.request,
            tree: &self.tree,
            pillarenv: self.pillarenv.as_deref(),
            saltenv: saltenv.as_deref(),
            opts: self.compiler.opts(),
            nodegroups: settings.nodegroups.as_ref(),
            range_server: &settings.range_server,
            merging: settings.merging,
            repositories: self.compiler.repositories.as_deref(),
            effects: self.effects,
            files: &files,
        };
        for (at, external) in all.enumerate() {
            match externals.get(external, laid.seen(), errors) {
                Ok(data) if data.is_empty() => {}
                Ok(data) if at >= settings.externals.len() => laid.add_asked(data),
                Ok(data) if external.is_minions() => laid.add_said(data),
                Ok(data) => laid.add(&data),
                Err(error) => {
                    let name = external.name();
                    tracing::error!(name, minion = self.request.id, "an external pillar failed");
                    errors.push(format!("Failed to load ext_pillar {name}: {error}"));
                }
            }
        }
    }

    /// The external pillars that the minion asks for, if it may.
    fn on_demand(&self, errors: &mut Vec<String>) -> Vec<External> {
        let Some(ext) = self.request.ext.as_ref().filter(|ext| ext.is_true()) else {
            return Vec::new();
        };
        let allowed = &self.compiler.settings.on_demand;
        let is_allowed = |map: &Map| {
            map.keys()
                .all(|name| allowed.iter().any(|one| name.as_str() == Some(one)))
        };
        match ext {
            Value::Map(map) if is_allowed(map) => {
                let one = Value::List(vec![ext.clone()]);
                settings::externals(Some(&one)).unwrap_or_else(|error| {
                    errors.push(error.to_string());
                    Vec::new()
                })
            }
            _ => {
                tracing::error!(
                    minion = self.request.id,
                    "on_demand_ext_pillar does not allow this external pillar"
                );
                Vec::new()
            }
        }
    }

    /// `pillar_opts`: the options, for the pillar.
    fn shown_opts(&self) -> Map {
        let mut opts = self.compiler.opts_for(self.request);
        opts.remove("pillar");
        for secret in MASTERS_OWN {
            opts.remove(secret);
        }
        let version = opts.get("version").cloned();
        opts.insert(
            "saltversion",
            version.unwrap_or_else(|| SALT_VERSION.into()),
        );
        opts
    }
}

/// Options with which the master proves itself to others: `pillar_opts` gives
/// a minion what the master is set to, not what it could act as the master with.
const MASTERS_OWN: &[&str] = &[
    "auth.ldap.bindpw",
    "cluster_bus",
    "cluster_key_pass",
    "cluster_secret",
    "git_pillar_password",
    "gitfs_password",
    "key_pass",
    "proxy_password",
    "returner.pgjsonb.pass",
    "returner.postgres.passwd",
    "sharedsecret",
    "signing_key_pass",
    "winrepo_password",
];

/// The Salt that this pillar compiler equals.
const SALT_VERSION: &str = "3008.5";
