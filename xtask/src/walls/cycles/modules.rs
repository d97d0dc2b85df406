//! The modules of a crate, their imports of modules beside them, and the cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::imports::{Reader, imports, is_public};
use super::{Cycle, Module, REEXPORTS_MAX};
use crate::build::root;
use crate::walls::source::{files, line_of, program};

/// One import from a module to one beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrow {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) file: PathBuf,
    pub(super) line: usize,
}

/// A file with its module.
pub(super) struct Source {
    pub(super) module: Module,
    pub(super) file: PathBuf,
    pub(super) program: String,
}

/// The modules of a crate.
pub(super) struct Sources {
    sources: Vec<Source>,
    modules: BTreeSet<Module>,
    /// What a module re-exports, by name.
    reexports: BTreeMap<(Module, String), Module>,
}

impl Sources {
    pub(super) fn read(src: &Path) -> Result<Self> {
        let mut sources = Vec::new();
        for file in files(src)? {
            let below = file.strip_prefix(src)?;
            let Some(module) = module_of(below) else {
                continue;
            };
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let file = file.strip_prefix(root()).unwrap_or(&file).to_path_buf();
            sources.push(Source {
                module,
                file,
                program: program(&text),
            });
        }
        Ok(Self::new(sources))
    }

    pub(super) fn new(sources: Vec<Source>) -> Self {
        let mut modules: BTreeSet<Module> = BTreeSet::new();
        for source in &sources {
            for length in 0..=source.module.len() {
                modules.insert(source.module[..length].to_vec());
            }
        }
        let mut all = Self {
            sources,
            modules,
            reexports: BTreeMap::new(),
        };
        all.reexports = all.find_reexports();
        all
    }

    fn find_reexports(&self) -> BTreeMap<(Module, String), Module> {
        let mut found = BTreeMap::new();
        for source in &self.sources {
            for (at, _) in source.program.match_indices("use ") {
                if !is_public(&source.program[..at]) {
                    continue;
                }
                let mut reader = Reader::new(&source.program[at + 4..]);
                for (path, name) in reader.tree() {
                    let target = self.absolute(&source.module, &path);
                    found.insert((source.module.clone(), name), target);
                }
            }
        }
        found
    }

    /// The path as seen from the crate's root.
    fn absolute(&self, module: &Module, path: &[String]) -> Module {
        let mut base = module.clone();
        let mut rest = path;
        match path.first().map(String::as_str) {
            Some("crate") => {
                base.clear();
                rest = &path[1..];
            }
            Some("self") => rest = &path[1..],
            _ => {}
        }
        while let Some((first, others)) = rest.split_first() {
            if first != "super" {
                break;
            }
            base.pop();
            rest = others;
        }
        base.extend(rest.iter().cloned());
        base
    }

    /// The module that defines what an absolute path names.
    fn resolve(&self, path: &Module) -> Module {
        let mut path = path.clone();
        for _ in 0..REEXPORTS_MAX {
            let known = (0..=path.len())
                .rev()
                .find(|length| self.modules.contains(&path[..*length]))
                .unwrap_or(0);
            let (module, rest) = path.split_at(known);
            let Some((name, others)) = rest.split_first() else {
                return path;
            };
            match self.reexports.get(&(module.to_vec(), name.clone())) {
                Some(target) => {
                    let mut next = target.clone();
                    next.extend(others.iter().cloned());
                    path = next;
                }
                None => return module.to_vec(),
            }
        }
        Module::new()
    }

    /// All imports between modules beside each other, by their parent.
    pub(super) fn arrows(&self) -> BTreeMap<Module, Vec<Arrow>> {
        let mut arrows: BTreeMap<Module, Vec<Arrow>> = BTreeMap::new();
        for source in &self.sources {
            for (at, path) in imports(&source.program) {
                let target = self.resolve(&self.absolute(&source.module, &path));
                let common = source
                    .module
                    .iter()
                    .zip(&target)
                    .take_while(|(one, other)| one == other)
                    .count();
                let (Some(from), Some(to)) = (source.module.get(common), target.get(common)) else {
                    continue;
                };
                let beside = arrows.entry(target[..common].to_vec()).or_default();
                if !beside
                    .iter()
                    .any(|arrow| arrow.from == *from && arrow.to == *to)
                {
                    beside.push(Arrow {
                        from: from.clone(),
                        to: to.clone(),
                        file: source.file.clone(),
                        line: line_of(&source.program, at),
                    });
                }
            }
        }
        arrows
    }

    /// The cycles with a folder in them, each with the arrows inside it.
    pub(super) fn cycles(&self, name: &str) -> Vec<(Cycle, Vec<Arrow>)> {
        let mut cycles = Vec::new();
        for (parent, arrows) in self.arrows() {
            let is_folder = |module: &String| {
                let mut path = parent.clone();
                path.push(module.clone());
                self.modules
                    .iter()
                    .any(|other| other.len() > path.len() && other.starts_with(&path))
            };
            for modules in circles(&arrows) {
                if !modules.iter().any(is_folder) {
                    continue;
                }
                let inside =
                    |arrow: &&Arrow| modules.contains(&arrow.from) && modules.contains(&arrow.to);
                let arrows = arrows.iter().filter(inside).cloned().collect();
                let path: Vec<&str> = std::iter::once(name)
                    .chain(parent.iter().map(String::as_str))
                    .collect();
                cycles.push(((path.join("::"), modules), arrows));
            }
        }
        cycles
    }
}

/// The module of a file; nothing for programs beside the library.
pub(super) fn module_of(below_src: &Path) -> Option<Module> {
    let mut module: Module = below_src
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if module.first().is_some_and(|first| first == "bin") {
        return None;
    }
    let last = module.last()?;
    let is_root = module.len() == 1 && (last == "lib" || last == "main");
    if is_root || last == "mod" {
        module.pop();
    }
    Some(module)
}

/// The sets of names that arrows lead round.
fn circles(arrows: &[Arrow]) -> Vec<BTreeSet<String>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for arrow in arrows {
        next.entry(&arrow.from).or_default().insert(&arrow.to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = next
        .keys()
        .map(|from| (*from, reach(from, &next)))
        .collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (name, from_here) in &reached {
        if !from_here.contains(name) || circles.iter().any(|circle| circle.contains(*name)) {
            continue;
        }
        let leads_back = |other: &&&str| {
            reached
                .get(**other)
                .is_some_and(|there| there.contains(name))
        };
        let circle = from_here.iter().filter(leads_back);
        circles.push(circle.map(|name| (*name).to_owned()).collect());
    }
    circles
}

fn reach<'n>(from: &str, next: &BTreeMap<&'n str, BTreeSet<&'n str>>) -> BTreeSet<&'n str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(name) = open.pop() {
        for other in next.get(name).into_iter().flatten() {
            if found.insert(*other) {
                open.push(other);
            }
        }
    }
    found
}
