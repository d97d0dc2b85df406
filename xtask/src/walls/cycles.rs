//! Folders of one crate that import each other in circles.
//!
//! At each level of a crate's `src` the modules beside each other are looked
//! at: an import from anywhere in one to anywhere in another is an arrow
//! between the two. Arrows that lead round are a cycle. Files of one folder may
//! form one as long as no folder is among them; what a module and the modules
//! inside it import of each other does not count either.
//!
//! Cycles that are there already are listed in `xtask/cycles.txt`, which may
//! only shrink: `PATH OF THE PARENT: MODULES`. A cycle is known if all of it is
//! in one line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::source::{files, line_of, program};
use crate::build::root;

const LIST: &str = "xtask/cycles.txt";

const HEADER: &str = "\
# Modules of one crate that import each other in circles, a line for each cycle:
# `PATH OF THE PARENT: MODULES`. This list may only shrink (ARCHITECTURE.md,
# Floors); `cargo xtask lint --shrink` removes what is mended.

";

/// How often a name may be re-exported until it is defined.
const REEXPORTS_MAX: usize = 8;

/// The path of a module below its crate.
type Module = Vec<String>;

/// Modules beside each other, below a parent.
type Cycle = (String, BTreeSet<String>);

/// Cycles that are not known; and those known that are smaller now.
pub(super) fn check(shrink: bool) -> Result<Vec<String>> {
    let path = root().join(LIST);
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {LIST}"))?;
    let known = parse(&text)?;
    let mut found = Vec::new();
    let mut complaints = Vec::new();
    for (name, src) in crates()? {
        let sources = Sources::read(&src)?;
        for (cycle, arrows) in sources.cycles(&name) {
            if !is_known(&cycle, &known) {
                complaints.push(complaint(&cycle, &arrows));
            }
            found.push(cycle);
        }
    }
    if complaints.is_empty() && shrink {
        fs::write(&path, listed(&found))?;
    } else if complaints.is_empty() && listed(&found) != listed(&known) {
        complaints.push(format!(
            "{LIST}: cycles are mended, but still listed: `cargo xtask lint --shrink`"
        ));
    }
    Ok(complaints)
}

fn is_known((parent, modules): &Cycle, known: &[Cycle]) -> bool {
    known
        .iter()
        .any(|(other, listed)| other == parent && modules.is_subset(listed))
}

fn complaint((parent, modules): &Cycle, arrows: &[Arrow]) -> String {
    let names: Vec<&str> = modules.iter().map(String::as_str).collect();
    let mut text = format!(
        "modules of {parent} import each other in circles: {}",
        names.join(" ")
    );
    for arrow in arrows {
        text.push_str(&format!(
            "\n  {}:{}: {} imports {}",
            arrow.file.display(),
            arrow.line,
            arrow.from,
            arrow.to
        ));
    }
    text.push_str("\n  move what both need below both, or hand it in as an argument");
    text
}

/// Reads the list of known cycles.
fn parse(text: &str) -> Result<Vec<Cycle>> {
    let mut cycles = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((parent, modules)) = line.split_once(": ") else {
            bail!("{LIST}:{number}: expected `PATH OF THE PARENT: MODULES`");
        };
        let modules = modules.split_whitespace().map(str::to_owned).collect();
        cycles.push((parent.to_owned(), modules));
    }
    Ok(cycles)
}

/// The list of these cycles.
fn listed(cycles: &[Cycle]) -> String {
    let mut lines: Vec<String> = cycles
        .iter()
        .map(|(parent, modules)| {
            let names: Vec<&str> = modules.iter().map(String::as_str).collect();
            format!("{parent}: {}\n", names.join(" "))
        })
        .collect();
    lines.sort();
    HEADER.to_owned() + &lines.concat()
}

/// The crates of the workspace with their sources.
fn crates() -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        let entry = entry?;
        let src = entry.path().join("src");
        if src.is_dir() {
            found.push((entry.file_name().to_string_lossy().into_owned(), src));
        }
    }
    for name in ["integration-tests", "xtask"] {
        found.push((name.to_owned(), root().join(name).join("src")));
    }
    found.sort();
    Ok(found)
}

/// One import from a module to one beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Arrow {
    from: String,
    to: String,
    file: PathBuf,
    line: usize,
}

/// A file with its module.
struct Source {
    module: Module,
    file: PathBuf,
    program: String,
}

/// The modules of a crate.
struct Sources {
    sources: Vec<Source>,
    modules: BTreeSet<Module>,
    /// What a module re-exports, by name.
    reexports: BTreeMap<(Module, String), Module>,
}

impl Sources {
    fn read(src: &Path) -> Result<Self> {
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

    fn new(sources: Vec<Source>) -> Self {
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
    fn arrows(&self) -> BTreeMap<Module, Vec<Arrow>> {
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
    fn cycles(&self, name: &str) -> Vec<(Cycle, Vec<Arrow>)> {
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
fn module_of(below_src: &Path) -> Option<Module> {
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

/// Whether what comes before a `use` makes it public to anybody.
fn is_public(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with("pub")
        || before.rsplit_once("pub(").is_some_and(|(_, inside)| {
            inside.ends_with(')') && !inside[..inside.len() - 1].contains(')')
        })
}

/// The paths that begin with `crate` or `super`, with where they stand.
fn imports(program: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for word in ["crate::", "super::"] {
        for (at, _) in program.match_indices(word) {
            // `super::super::x` is read from its first word.
            let before = program[..at].trim_end();
            let is_inner = program[..at].ends_with(is_word) || before.ends_with("::");
            if is_inner {
                continue;
            }
            let paths = Reader::new(&program[at..]).tree();
            found.extend(paths.into_iter().map(|(path, _)| (at, path)));
        }
    }
    found
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Reads the paths of a `use`, braces included.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    /// The paths, each with the name that it has here.
    fn tree(&mut self) -> Vec<(Vec<String>, String)> {
        let mut path = Vec::new();
        loop {
            let word = self.word();
            if word.is_empty() {
                break;
            }
            path.push(word);
            if !self.take("::") {
                break;
            }
            if self.take("{") {
                return self.branches(&path);
            }
        }
        let mut name = path.last().cloned().unwrap_or_default();
        if self.take("as ") {
            name = self.word();
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
            name = path.last().cloned().unwrap_or_default();
        }
        vec![(path, name)]
    }

    fn branches(&mut self, path: &[String]) -> Vec<(Vec<String>, String)> {
        let mut found = Vec::new();
        while !self.take("}") {
            let before = self.rest.len();
            for (inner, name) in self.tree() {
                let mut whole = path.to_vec();
                let name = match inner.is_empty() {
                    true => path.last().cloned().unwrap_or_default(),
                    false => name,
                };
                whole.extend(inner);
                found.push((whole, name));
            }
            let _ = self.take("*");
            let _ = self.take(",");
            if self.rest.len() == before {
                break;
            }
        }
        found
    }

    fn word(&mut self) -> String {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|char| !is_word(char));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word.to_owned()
    }

    fn take(&mut self, what: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(what);
        if let Some(rest) = rest {
            self.rest = rest;
        }
        rest.is_some()
    }
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

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Reader, Source, Sources, is_public, listed, module_of, parse};

    fn sources(files: &[(&str, &str)]) -> Sources {
        let source = |(path, text): &(&str, &str)| Source {
            module: module_of(Path::new(path)).unwrap(),
            file: PathBuf::from(path),
            program: (*text).to_owned(),
        };
        Sources::new(files.iter().map(source).collect())
    }

    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let cycles = sources(files).cycles("c").into_iter();
        let line = |(parent, modules): super::Cycle| {
            let names: Vec<String> = modules.into_iter().collect();
            format!("{parent}: {}", names.join(" "))
        };
        cycles.map(|(cycle, _)| line(cycle)).collect()
    }

    #[test]
    fn folders_that_import_each_other_are_found() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "mod inner;"),
            ("a/inner.rs", "use crate::b::{self, deep::{X as Y, Z}};"),
            ("b.rs", "use super::c::C;"),
            ("c.rs", "fn f() { super::a::inner::f(); }"),
        ];
        assert_eq!(cycles(&files), ["c: a b c"]);
        let found = sources(&files).cycles("c");
        let (_, arrows) = &found[0];
        assert_eq!(arrows.len(), 3);
        assert_eq!(
            (arrows[0].file.to_str(), arrows[0].line),
            (Some("a/inner.rs"), 1)
        );
    }

    #[test]
    fn files_of_one_folder_and_what_is_inside_are_left_alone() {
        let files = [
            ("lib.rs", "pub use a::X;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::X;"),
            ("d/mod.rs", "use self::e::E; use crate::d::e::E;"),
            ("d/e.rs", "use super::D; use crate::b::B;"),
        ];
        assert!(cycles(&files).is_empty());
    }

    #[test]
    fn a_name_is_followed_to_where_it_is_defined() {
        let files = [
            ("lib.rs", "pub(crate) use a::inner::X; pub use b::Y as Z;"),
            ("a/mod.rs", ""),
            ("a/inner.rs", "use crate::Z;"),
            ("b.rs", "use crate::X;"),
        ];
        assert_eq!(cycles(&files), ["c: a b"]);
    }

    #[test]
    fn a_level_below_the_root_counts_too() {
        let files = [
            ("lib.rs", ""),
            ("a/mod.rs", ""),
            ("a/x/mod.rs", "use super::y::Y;"),
            ("a/x/deep.rs", ""),
            ("a/y.rs", "use super::x::deep::X;"),
        ];
        assert_eq!(cycles(&files), ["c::a: x y"]);
    }

    #[test]
    fn trees_are_read() {
        let mut reader = Reader::new("a::{self, b::{c, d as e}, f::*};");
        let found: Vec<String> = reader
            .tree()
            .into_iter()
            .map(|(path, name)| format!("{} {name}", path.join("::")))
            .collect();
        assert_eq!(found, ["a a", "a::b::c c", "a::b::d e", "a::f f"]);
    }

    #[test]
    fn visibility_is_seen() {
        assert!(is_public("x; pub ") && is_public("pub(crate) ") && is_public("pub(in crate::a) "));
        assert!(!is_public("pub fn a() {} ") && !is_public("pub(crate) fn a() {}\n"));
    }

    #[test]
    fn the_list_is_written_as_it_is_read() {
        let text = listed(&parse("# x\nm::a: c b\nk: d e\n").unwrap());
        assert!(text.ends_with("\n\nk: d e\nm::a: b c\n"), "{text}");
        assert_eq!(listed(&parse(&text).unwrap()), text);
        assert!(parse("a b c").is_err());
    }
}
