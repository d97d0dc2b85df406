//! The options that say how a pillar is compiled, read once.

use std::path::PathBuf;

use halite_proto::{Map, Value};
use halite_range::RangeServer;

use crate::ext::{External, GIT};
use crate::merge::{Merging, Strategy};
use crate::options::{SettingsError, texts};

/// How pillars are compiled.
#[derive(Debug)]
pub(crate) struct Settings {
    /// `pillar_roots`, in their order.
    pub(crate) roots: Vec<(String, Vec<PathBuf>)>,
    /// `state_top`, without its `salt://`.
    pub(crate) top: String,
    /// How pillars are merged.
    pub(crate) merging: Merging,
    /// `pillar_source_merging_strategy: none`: one environment's tops only.
    pub(crate) one_env: bool,
    /// `pillar_includes_override_sls`.
    pub(crate) includes_override: bool,
    /// `pillar_safe_render_error`.
    pub(crate) safe_errors: bool,
    /// `pillarenv`.
    pub(crate) pillarenv: Option<String>,
    /// `saltenv`.
    pub(crate) saltenv: Option<String>,
    /// `pillarenv_from_saltenv`.
    pub(crate) pillarenv_from_saltenv: bool,
    /// `env_order`.
    pub(crate) env_order: Vec<String>,
    /// `nodegroups`.
    pub(crate) nodegroups: Option<Map>,
    /// `range_server`.
    pub(crate) range_server: RangeServer,
    /// `pillar_opts`.
    pub(crate) with_opts: bool,
    /// `ext_pillar`.
    pub(crate) externals: Vec<External>,
    /// `ext_pillar_first`.
    pub(crate) externals_first: bool,
    /// `on_demand_ext_pillar`.
    pub(crate) on_demand: Vec<String>,
    /// What is to be decrypted.
    pub(crate) decrypt: Decrypt,
}

/// `decrypt_pillar` and what belongs to it.
#[derive(Debug)]
pub(crate) struct Decrypt {
    /// Paths with their renderers; `None` if that is malformed.
    pub(crate) paths: Option<Vec<(String, Option<String>)>>,
    pub(crate) delimiter: String,
    pub(crate) default: String,
    pub(crate) allowed: Vec<String>,
}

impl Settings {
    pub(crate) fn from_opts(opts: &Map) -> Result<Self, SettingsError> {
        let is_on = |name: &str| opts.get(name).is_some_and(Value::is_true);
        let strategy = text_or(opts, "pillar_source_merging_strategy", "smart");
        Ok(Self {
            roots: roots(opts.get("pillar_roots")),
            top: top_path(&text_or(opts, "state_top", "top.sls")),
            merging: Merging {
                strategy: Strategy::parse(&strategy),
                lists: is_on("pillar_merge_lists"),
            },
            one_env: strategy == "none",
            includes_override: is_on("pillar_includes_override_sls"),
            safe_errors: opts
                .get("pillar_safe_render_error")
                .is_none_or(Value::is_true),
            pillarenv: text(opts, "pillarenv"),
            saltenv: text(opts, "saltenv"),
            pillarenv_from_saltenv: is_on("pillarenv_from_saltenv"),
            env_order: texts(opts.get("env_order")),
            nodegroups: opts.get("nodegroups").and_then(Value::as_map).cloned(),
            range_server: RangeServer::from_opts(opts),
            with_opts: is_on("pillar_opts"),
            externals: with_repositories(externals(opts.get("ext_pillar"))?),
            externals_first: is_on("ext_pillar_first"),
            on_demand: texts(opts.get("on_demand_ext_pillar")),
            decrypt: Decrypt {
                paths: decrypt_paths(opts.get("decrypt_pillar")),
                delimiter: text_or(opts, "decrypt_pillar_delimiter", ":"),
                default: text_or(opts, "decrypt_pillar_default", "gpg"),
                allowed: texts(opts.get("decrypt_pillar_renderers")),
            },
        })
    }
}

/// Text that is there and not empty.
fn text(opts: &Map, name: &str) -> Option<String> {
    opts.get(name)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

fn text_or(opts: &Map, name: &str, default: &str) -> String {
    text(opts, name).unwrap_or_else(|| default.to_owned())
}

fn roots(value: Option<&Value>) -> Vec<(String, Vec<PathBuf>)> {
    let Some(Value::Map(roots)) = value else {
        return Vec::new();
    };
    roots
        .iter()
        .filter_map(|(env, dirs)| {
            let dirs = texts(Some(dirs)).into_iter().map(PathBuf::from).collect();
            Some((env.as_str()?.to_owned(), dirs))
        })
        .collect()
}

/// The path of a top file within its root.
fn top_path(option: &str) -> String {
    let path = option.strip_prefix("salt://").unwrap_or(option);
    path.trim_start_matches('/').to_owned()
}

pub(crate) fn externals(value: Option<&Value>) -> Result<Vec<External>, SettingsError> {
    match value {
        None | Some(Value::Nil) => Ok(Vec::new()),
        Some(Value::List(items)) => {
            let mut externals = Vec::new();
            for item in items {
                let run = item.as_map().filter(|run| !run.is_empty());
                let run = run.ok_or(SettingsError::MalformedExternals)?;
                for (name, arguments) in run {
                    externals.push(External::parse(name, arguments)?);
                }
            }
            Ok(externals)
        }
        Some(_) => Err(SettingsError::MalformedExternals),
    }
}

/// The entries `git` are counted. One that a minion asks for is none of them:
/// nobody has fetched it.
fn with_repositories(mut externals: Vec<External>) -> Vec<External> {
    let mut nth = 0;
    for external in &mut externals {
        if let External::Module(module) = external
            && module.name == GIT
        {
            let module = module.clone();
            *external = External::Git { nth, module };
            nth += 1;
        }
    }
    externals
}

/// A list of paths, of maps of a path to its renderer, or one such map.
fn decrypt_paths(value: Option<&Value>) -> Option<Vec<(String, Option<String>)>> {
    let pair = |(path, renderer): (&Value, &Value)| {
        Some((
            path.as_str()?.to_owned(),
            renderer.as_str().map(str::to_owned),
        ))
    };
    match value {
        None | Some(Value::Nil) => Some(Vec::new()),
        Some(Value::Map(paths)) => paths.iter().map(pair).collect(),
        Some(Value::List(items)) => {
            let mut paths = Vec::new();
            for item in items {
                match item {
                    Value::Str(path) => paths.push((path.clone(), None)),
                    Value::Map(map) if map.len() == 1 => {
                        paths.push(map.iter().next().and_then(pair)?);
                    }
                    _ => return None,
                }
            }
            Some(paths)
        }
        Some(other) => (!other.is_true()).then(Vec::new),
    }
}
