//! Settings that are valid but probably a mistake, for `--check` before a start.

use std::path::Path;

use halite_proto::{MinionId, NewIds};
use halite_target::{Reading, Target, glob};
use halite_yaml::{Node, NodeKind};

use crate::entry::Source;
use crate::error::Warning;
use crate::files::expand;
use crate::raw::Raw;
use crate::{MasterConfig, MinionConfig};

/// Options whose directories are environments'.
const ROOTS: [&str; 2] = ["file_roots", "pillar_roots"];

/// Options that are directories of users' Python code.
pub(crate) const OWN_DIRS: [&str; 11] = [
    "module_dirs",
    "runner_dirs",
    "utils_dirs",
    "grains_dirs",
    "returner_dirs",
    "states_dirs",
    "top_dirs",
    "outputter_dirs",
    "queue_dirs",
    "render_dirs",
    "wheel_dirs",
];

/// What a pattern has, and hardly a name.
const PATTERN_SIGNS: [char; 10] = ['*', '?', '[', ']', '(', ')', '|', '^', '$', '\\'];

impl MasterConfig {
    /// What an administrator should look at before a start.
    pub fn doubts(&self) -> Vec<Warning> {
        let mut doubts = missing_dirs(&self.raw);
        doubts.extend(self.groups_that_mean_nobody());
        doubts.extend(self.reactions_without_files());
        doubts.extend(self.names_that_look_like_patterns());
        doubts
    }

    /// Entries of `external_auth` that name nobody whom they seem to name.
    fn names_that_look_like_patterns(&self) -> Vec<Warning> {
        let Some((source, node)) = self.raw.in_file("external_auth") else {
            return Vec::new();
        };
        let users = entries_of(node)
            .iter()
            .flat_map(|(_, users)| entries_of(users));
        let odd_name = |(user, _): &(Node, Node)| {
            let name = user.as_str()?;
            let is_odd = name != "*" && !name.starts_with('^') && name.contains(PATTERN_SIGNS);
            let text = format!("external_auth: {name} is compared as it is: names are no patterns");
            is_odd.then(|| odd(source, user, text))
        };
        users.filter_map(odd_name).collect()
    }

    /// A warning about what stands in an option under the keys of `path`.
    pub fn odd_within(&self, option: &str, path: &[&str], text: &str) -> Option<Warning> {
        odd_within(&self.raw, option, path, text)
    }

    /// Node groups that cannot be understood.
    fn groups_that_mean_nobody(&self) -> Vec<Warning> {
        let Some((source, node)) = self.raw.in_file("nodegroups") else {
            return Vec::new();
        };
        let reading = Reading {
            nodegroups: Some(&self.nodegroups),
            ranges: None,
            ..Reading::default()
        };
        let fault = |(name, group): &(Node, Node)| {
            let words = group.to_value();
            // The range server is asked when the group is commanded.
            if halite_yaml::python_str(&words).contains("R@") {
                return None;
            }
            let name = halite_yaml::python_str(&name.to_value());
            let target = Target::parse_with(&name.as_str().into(), "nodegroup", &reading);
            let text = format!("nodegroups: {name}: {}", target.err()?.message);
            Some(odd(source, group, text))
        };
        entries_of(node).iter().filter_map(fault).collect()
    }

    /// Files of reactions that are not there.
    fn reactions_without_files(&self) -> Vec<Warning> {
        let Some((source, node)) = self.raw.in_file("reactor") else {
            return Vec::new();
        };
        let rules = node.as_list().unwrap_or_default().iter();
        let files = rules.flat_map(entries_of).flat_map(|(_, files)| {
            files
                .as_list()
                .unwrap_or_else(|| std::slice::from_ref(files))
        });
        let missing = files.filter_map(|file| {
            let path = file.as_str()?;
            let is_missing = match path.starts_with('/') {
                true if glob::is_glob(path) => expand(Path::new(path)).is_empty(),
                true => !Path::new(path).is_file(),
                false => false,
            };
            is_missing.then(|| odd(source, file, format!("reactor: {path} is no file")))
        });
        missing.collect()
    }
}

impl MinionConfig {
    /// What an administrator should look at before a start.
    pub fn doubts(&self) -> Vec<Warning> {
        let mut doubts = missing_dirs(&self.raw);
        doubts.extend(self.odd_id());
        doubts
    }

    /// An id that a master of ours takes from no new minion.
    fn odd_id(&self) -> Option<Warning> {
        let (source, node) = self.raw.in_file("id")?;
        let id = MinionId::parse(node.as_str()?).ok()?;
        let why = NewIds::default().check(&id).err()?;
        let text = format!("id: a master accepts no new minion of this name: {why}");
        Some(odd(source, node, text))
    }

    /// A warning about what stands in an option under the keys of `path`.
    pub fn odd_within(&self, option: &str, path: &[&str], text: &str) -> Option<Warning> {
        odd_within(&self.raw, option, path, text)
    }
}

/// Directories that are not there.
fn missing_dirs(raw: &Raw) -> Vec<Warning> {
    let mut doubts = Vec::new();
    let mut look = |source: &Source, option: &str, dirs: &Node| {
        let dirs = dirs.as_list().unwrap_or_else(|| std::slice::from_ref(dirs));
        for dir in dirs {
            let Some(path) = dir.as_str() else { continue };
            let text = match glob::is_glob(path) {
                true if !expand(Path::new(path)).is_empty() => continue,
                true => format!("{option}: nothing matches {path}"),
                false if Path::new(path).is_dir() => continue,
                false => format!("{option}: {path} is no directory"),
            };
            doubts.push(odd(source, dir, text));
        }
    };
    for option in ROOTS {
        if let Some((source, node)) = raw.in_file(option) {
            for (_, dirs) in entries_of(node) {
                look(source, option, dirs);
            }
        }
    }
    for option in OWN_DIRS {
        if let Some((source, node)) = raw.in_file(option) {
            look(source, option, node);
        }
    }
    doubts
}

fn odd_within(raw: &Raw, option: &str, path: &[&str], text: &str) -> Option<Warning> {
    let (source, mut node) = raw.in_file(option)?;
    let mut at = node;
    for key in path {
        let entries = entries_of(node).iter();
        let mut found =
            entries.filter(|(name, _)| halite_yaml::python_str(&name.to_value()) == *key);
        let Some((name, value)) = found.next() else {
            break;
        };
        (at, node) = (name, value);
    }
    Some(odd(source, at, format!("{option}: {text}")))
}

fn odd(source: &Source, node: &Node, text: String) -> Warning {
    Warning::Odd {
        place: source.place(node.span),
        text,
    }
}

fn entries_of(node: &Node) -> &[(Node, Node)] {
    match &node.value {
        NodeKind::Map(entries) => entries,
        _ => &[],
    }
}
