//! `file_tree`: the files of a directory as values, those of the minion's
//! node groups first.

use std::fs;
use std::path::{Path, PathBuf};

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::Externals;
use super::groups::is_in_group;
use crate::limits::{FILE_TREE_BYTES_MAX, LIST_DEPTH_MAX};
use crate::merge::{Merging, Strategy};
use crate::options::texts;
use crate::tree::Found;

const MERGING: Merging = Merging {
    strategy: Strategy::Recurse,
    lists: false,
};

/// The arguments of `file_tree`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileTree {
    root_dir: Option<String>,
    follow_dir_links: bool,
    /// Whether the last newline stays, or the globs of files where it does;
    /// `None` if it is neither.
    keep_newline: Option<Keep>,
    renderers: Option<String>,
    template: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Keep {
    All(bool),
    Globs(Vec<String>),
}

impl FileTree {
    pub(super) fn parse(arguments: &Value) -> Self {
        const ORDER: [&str; 4] = ["root_dir", "follow_dir_links", "debug", "keep_newline"];
        let named: Map = match arguments {
            Value::Map(named) => named.clone(),
            Value::List(items) => ORDER.into_iter().zip(items.iter().cloned()).collect(),
            Value::Nil => Map::new(),
            other => Map::from([("root_dir", other.clone())]),
        };
        let is_on = |name: &str| named.get(name).is_some_and(Value::is_true);
        let text = |name: &str| {
            let text = named.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Self {
            root_dir: text("root_dir"),
            follow_dir_links: is_on("follow_dir_links"),
            keep_newline: match named.get("keep_newline") {
                None => Some(Keep::All(false)),
                Some(Value::Bool(keep)) => Some(Keep::All(*keep)),
                Some(Value::List(items)) => Some(Keep::Globs(
                    items.iter().map(halite_yaml::python_str).collect(),
                )),
                Some(_) => None,
            },
            renderers: text("render_default"),
            template: named.get("template") == Some(&Value::Bool(true)),
        }
    }

    pub(super) fn read(&self, at: &Externals<'_>) -> Result<Map, String> {
        let mut pillar = Map::new();
        for root in self.roots(at) {
            pillar = MERGING.merge(pillar, &self.read_root(&root, at)?);
        }
        Ok(pillar)
    }

    /// A relative root is below every root of the pillar's environment.
    fn roots(&self, at: &Externals<'_>) -> Vec<PathBuf> {
        let Some(root) = &self.root_dir else {
            tracing::error!("file_tree: no root_dir specified");
            return Vec::new();
        };
        if Path::new(root).is_absolute() {
            return vec![root.into()];
        }
        let Some(env) = at.pillarenv else {
            tracing::error!("file_tree: root_dir is relative but pillarenv is not set");
            return Vec::new();
        };
        let mut roots: Vec<PathBuf> = at.tree.dirs(env).map(|dir| dir.join(root)).collect();
        roots.dedup();
        roots
    }

    fn read_root(&self, root: &Path, at: &Externals<'_>) -> Result<Map, String> {
        let Some(keep) = &self.keep_newline else {
            tracing::error!("file_tree: keep_newline must be either True/False or a list of globs");
            return Ok(Map::new());
        };
        if !root.is_dir() {
            tracing::error!(root = %root.display(), "file_tree: root_dir is not a directory");
            return Ok(Map::new());
        }
        let mut walk = Walk {
            tree: self,
            keep,
            at,
            left: FILE_TREE_BYTES_MAX,
        };
        let mut pillar = Map::new();
        for group in names(&root.join("nodegroups")) {
            if is_in_group(&group, at) {
                let files = walk.directory(&root.join("nodegroups").join(&group), "", 0)?;
                pillar = MERGING.merge(pillar, &files);
            }
        }
        let host = root.join("hosts").join(&at.request.id);
        if host.is_dir() {
            pillar = MERGING.merge(pillar, &walk.directory(&host, "", 0)?);
        }
        Ok(pillar)
    }
}

struct Walk<'a, 'b> {
    tree: &'a FileTree,
    keep: &'a Keep,
    at: &'a Externals<'b>,
    left: u64,
}

impl Walk<'_, '_> {
    fn directory(&mut self, dir: &Path, rel: &str, depth: usize) -> Result<Map, String> {
        let mut node = Map::new();
        if depth > LIST_DEPTH_MAX {
            return Err(format!("file_tree: {} is too deep", dir.display()));
        }
        for name in names(dir) {
            let path = dir.join(&name);
            let below = if rel.is_empty() {
                name.clone()
            } else {
                format!("{rel}/{name}")
            };
            if path.is_dir() {
                // A link to a directory that is not followed is an empty map.
                let inner = if self.tree.follow_dir_links || !path.is_symlink() {
                    self.directory(&path, &below, depth + 1)?
                } else {
                    Map::new()
                };
                node.insert(name, inner);
            } else if path.is_file() {
                if let Some(value) = self.file(&path, &below, rel.is_empty(), &name)? {
                    node.insert(name, value);
                }
            } else {
                tracing::error!(path = %path.display(), "file_tree: not a regular file");
            }
        }
        Ok(node)
    }

    fn file(
        &mut self,
        path: &Path,
        rel: &str,
        at_top: bool,
        name: &str,
    ) -> Result<Option<Value>, String> {
        let length = fs::metadata(path).map_or(0, |metadata| metadata.len());
        self.left = self.left.checked_sub(length).ok_or_else(|| {
            format!("file_tree: more than {FILE_TREE_BYTES_MAX} bytes for one minion")
        })?;
        let file = Found::on_disk(path.to_owned(), rel);
        let mut bytes = match file.read() {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::error!("file_tree: {error}");
                return Ok(None);
            }
        };
        // Salt's name of a file at the top begins with the `.` it is in.
        let full = if at_top {
            format!("./{name}")
        } else {
            rel.to_owned()
        };
        if bytes.last() == Some(&b'\n') && !self.keeps(&full) {
            bytes.pop();
        }
        if !self.tree.template {
            return Ok(Some(Value::text_or_bytes(bytes)));
        }
        let renderers = match &self.tree.renderers {
            Some(renderers) => renderers.clone(),
            None => {
                let option = texts(self.at.opts.get("renderer"));
                option
                    .into_iter()
                    .next()
                    .unwrap_or_else(|| "jinja|yaml".to_owned())
            }
        };
        self.at
            .effects
            .render_text(&bytes, &file, &renderers)
            .map(Some)
    }

    fn keeps(&self, path: &str) -> bool {
        match self.keep {
            Keep::All(keep) => *keep,
            Keep::Globs(globs) => globs.iter().any(|glob| fnmatch(glob, path)),
        }
    }
}

/// The names in a directory, sorted; none if it cannot be read.
fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
}
