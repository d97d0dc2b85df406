//! The files of pillar roots: directories, and trees of repositories.
//!
//! Mirrors Salt's pillar file client: the first root that has a file gives it,
//! links are followed, and ignored files are only left out of lists. Invariant: no
//! name leads out of its root by its text.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use halite_proto::{Map, Value};
use halite_target::glob::Glob;
use halite_target::pcre::Pcre;

use crate::limits::{LIST_DEPTH_MAX, LIST_ENTRIES_MAX, SLS_BYTES_MAX};
use crate::options::{SettingsError, texts};
use crate::repository::FileTree;

/// Where files are looked for.
#[derive(Debug, Clone)]
pub(crate) enum Root {
    /// A directory of this machine.
    Directory(PathBuf),
    /// A tree of a repository.
    Tree {
        /// The directory that its files appear in, without slashes around it.
        mountpoint: String,
        /// Its files.
        tree: Arc<dyn FileTree>,
    },
}

impl Root {
    /// The file `rel`, which has no way up.
    fn find(&self, rel: &str) -> Option<Found> {
        match self {
            Self::Directory(root) => {
                let path = root.join(rel);
                path.is_file().then(|| Found::on_disk(path, rel))
            }
            Self::Tree { mountpoint, tree } => {
                let within = below(rel, mountpoint)?;
                // Where that cannot be told, reading it says why.
                tree.has_file(within).unwrap_or(true).then(|| Found {
                    path: Path::new(&tree.name()).join(within),
                    rel: rel.to_owned(),
                    of: Some((Arc::clone(tree), within.to_owned())),
                })
            }
        }
    }

    /// The root as the options show it.
    fn shown(&self) -> String {
        match self {
            Self::Directory(path) => path.display().to_string(),
            Self::Tree { tree, .. } => tree.name(),
        }
    }
}

/// What of a path is behind the directory `above`; all of it if that is empty.
fn below<'a>(path: &'a str, above: &str) -> Option<&'a str> {
    match above {
        "" => Some(path),
        above => path.strip_prefix(above)?.strip_prefix('/'),
    }
}

/// The one environment of a pillar of repositories, with its roots.
#[derive(Debug)]
pub struct GivenRoots {
    pub(crate) env: String,
    pub(crate) roots: Vec<Root>,
}

impl GivenRoots {
    /// `pillar_roots` as the files see them.
    pub(crate) fn shown(&self) -> Map {
        let roots: Vec<Value> = self.roots.iter().map(|root| root.shown().into()).collect();
        Map::from([(self.env.as_str(), roots)])
    }
}

/// A file that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Its path within its root.
    pub rel: String,
    /// The tree that it is in, and its path there; `None` on disk.
    of: Option<(Arc<dyn FileTree>, String)>,
}

impl Found {
    /// A file of this machine.
    pub(crate) fn on_disk(path: PathBuf, rel: impl Into<String>) -> Self {
        Self {
            path,
            rel: rel.into(),
            of: None,
        }
    }

    /// What the file holds.
    pub(crate) fn read(&self) -> Result<Vec<u8>, String> {
        if let Some((tree, path)) = &self.of {
            return tree.read(path, SLS_BYTES_MAX);
        }
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        let file = fs::File::open(&self.path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(SLS_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        if bytes.len() as u64 > SLS_BYTES_MAX {
            return Err(format!(
                "{}: larger than {SLS_BYTES_MAX} bytes",
                self.path.display()
            ));
        }
        Ok(bytes)
    }
}

/// The roots of one environment each, for one compilation.
#[derive(Debug)]
pub(crate) struct Tree {
    roots: Vec<(String, Vec<Root>)>,
}

impl Tree {
    /// The tree of roots that are given in place of `pillar_roots`.
    pub(crate) fn given(given: &GivenRoots) -> Self {
        Self {
            roots: vec![(given.env.clone(), given.roots.clone())],
        }
    }

    /// The tree of these roots; `__env__` stands for `env` if that has none.
    pub(crate) fn new(roots: &[(String, Vec<PathBuf>)], env: &str) -> Self {
        const ANY_ENV: &str = "__env__";
        let mut roots = roots.to_vec();
        if let Some(at) = roots.iter().position(|(name, _)| name == ANY_ENV) {
            let (_, dirs) = roots.remove(at);
            if !roots.iter().any(|(name, _)| name == env) && is_one_component(env) {
                let named = |dir: PathBuf| match dir.to_str() {
                    Some(text) => PathBuf::from(text.replace(ANY_ENV, env)),
                    None => dir,
                };
                roots.push((env.to_owned(), dirs.into_iter().map(named).collect()));
            }
        }
        let directories = |(env, dirs): (String, Vec<PathBuf>)| {
            (env, dirs.into_iter().map(Root::Directory).collect())
        };
        Self {
            roots: roots.into_iter().map(directories).collect(),
        }
    }

    /// The environments: `base`, then the others in their order.
    pub(crate) fn envs(&self) -> Vec<&str> {
        let others = self.roots.iter().map(|(env, _)| env.as_str());
        std::iter::once("base")
            .chain(others.filter(|env| *env != "base"))
            .collect()
    }

    /// Whether an environment is configured.
    pub(crate) fn has_env(&self, env: &str) -> bool {
        self.roots.iter().any(|(name, _)| name == env)
    }

    /// The roots of an environment.
    pub(crate) fn roots(&self, env: &str) -> &[Root] {
        let own = self.roots.iter().find(|(name, _)| name == env);
        own.map_or(&[], |(_, roots)| roots)
    }

    /// Those of them that are directories of this machine.
    pub(crate) fn dirs(&self, env: &str) -> impl Iterator<Item = &Path> {
        self.roots(env).iter().filter_map(|root| match root {
            Root::Directory(path) => Some(path.as_path()),
            Root::Tree { .. } => None,
        })
    }

    /// The file `path` of an environment.
    pub(crate) fn find(&self, path: &str, env: &str) -> Option<Found> {
        let rel = relative(path)?;
        self.roots(env).iter().find_map(|root| root.find(&rel))
    }

    /// The file of the SLS `sls`: `a/b.sls`, or else `a/b/init.sls`.
    pub(crate) fn find_sls(&self, sls: &str, env: &str) -> Option<Found> {
        let path = sls.replace('.', "/");
        self.find(&format!("{path}.sls"), env)
            .or_else(|| self.find(&format!("{path}/init.sls"), env))
    }

    /// The names of all SLS of an environment, sorted.
    pub(crate) fn list(&self, env: &str, ignore: &Ignore) -> Vec<String> {
        let mut names = Vec::new();
        let mut left = LIST_ENTRIES_MAX;
        let mut found = |rel: &str| {
            if let Some(name) = rel.strip_suffix(".sls") {
                let name = name.strip_suffix("/init").unwrap_or(name);
                names.push(name.replace('/', "."));
            }
        };
        for root in self.roots(env) {
            match root {
                Root::Directory(root) => walk(root, "", ignore, 0, &mut left, &mut found),
                Root::Tree { mountpoint, tree } => {
                    let files = tree.files(left);
                    left -= files.len().min(left);
                    for file in files {
                        let path = match mountpoint.as_str() {
                            "" => file,
                            above => format!("{above}/{file}"),
                        };
                        let is_hidden = |path: &str| {
                            let dirs = path.rsplit_once('/').map_or("", |(dirs, _)| dirs);
                            dirs.split('/').any(|dir| ignore.hides(dir))
                        };
                        if !is_hidden(&path) {
                            found(&path);
                        }
                    }
                }
            }
        }
        if left == 0 {
            tracing::warn!(
                max = LIST_ENTRIES_MAX,
                "pillar_roots hold more than can be listed"
            );
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The options that leave directories out of lists.
#[derive(Debug)]
pub(crate) struct Ignore {
    regexes: Vec<Pcre>,
    globs: Vec<Glob>,
}

impl Ignore {
    pub(crate) fn from_opts(opts: &Map) -> Result<Self, SettingsError> {
        let regex = |pattern: String| {
            Pcre::searching(&pattern).map_err(|error| SettingsError::IgnoreRegex {
                why: error.to_string(),
                pattern,
            })
        };
        let patterns = |name: &str| texts(opts.get(name)).into_iter();
        Ok(Self {
            regexes: patterns("file_ignore_regex")
                .map(regex)
                .collect::<Result<_, _>>()?,
            globs: patterns("file_ignore_glob")
                .map(|glob| Glob::new(&glob))
                .collect(),
        })
    }

    fn hides(&self, name: &str) -> bool {
        self.regexes
            .iter()
            .any(|regex| regex.is_in(name).unwrap_or(true))
            || self.globs.iter().any(|glob| glob.matches(name))
    }
}

fn walk(
    dir: &Path,
    rel: &str,
    ignore: &Ignore,
    depth: usize,
    left: &mut usize,
    found: &mut dyn FnMut(&str),
) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = entry.path();
        let below = if rel.is_empty() {
            name.clone()
        } else {
            format!("{rel}/{name}")
        };
        // Links are followed, as Salt does.
        if path.is_dir() {
            if depth < LIST_DEPTH_MAX && !ignore.hides(&name) {
                walk(&path, &below, ignore, depth + 1, left, found);
            }
        } else {
            found(&below);
        }
    }
}

/// The path with single slashes; `None` if it has a way up or no name.
pub(crate) fn relative(path: &str) -> Option<String> {
    if path.contains('\0') {
        return None;
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

fn is_one_component(env: &str) -> bool {
    relative(env).as_deref() == Some(env) && !env.contains('/')
}
