//! The directories of custom Python files.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use halite_proto::{Map, Value};

/// The directories with files of a kind (`modules`, `states`, `grains`,
/// `utils` ...), those that count more first: what `module_dirs` name, then
/// the option of the kind (`states_dirs`, `runner_dirs` ...), then what was
/// synced to `extension_modules`.
///
/// A directory of `module_dirs` has the files of a kind below it (`modules` or
/// `_modules`; the last one of these counts most); execution modules may also
/// be in itself.
///
/// Only whole paths count: a program may be started in a directory where others
/// can put code.
pub fn directories(opts: &Map, kind: &str) -> Vec<PathBuf> {
    let (mut found, mut bare) = (Vec::new(), Vec::new());
    for dir in listed(opts, "module_dirs") {
        let below = [dir.join(kind), dir.join(format!("_{kind}"))];
        match below.into_iter().find(|dir| dir.is_dir()) {
            Some(below) => found.push(below),
            // Not grains and the like: their functions are run without being
            // asked for.
            None if kind == "modules" => bare.push(dir),
            None => {}
        }
    }
    found.reverse();
    found.extend(bare);
    found.extend(listed(opts, &option_of(kind)));
    found.extend(synced(opts, kind));
    found
}

/// The option that names directories of a kind. Salt has some of them in the
/// singular.
fn option_of(kind: &str) -> String {
    let stem = match kind {
        "renderers" => "render",
        "output" => "outputter",
        "executors" => "executor",
        "queues" => "queue",
        "returners" => "returner",
        "runners" => "runner",
        "tops" => "top",
        kind => kind,
    };
    format!("{stem}_dirs")
}

/// The directory of a kind below `extension_modules`.
pub fn synced(opts: &Map, kind: &str) -> Option<PathBuf> {
    let text = |name: &str| {
        let option = opts.get(name).and_then(Value::as_str);
        option.filter(|text| !text.is_empty()).map(Path::new)
    };
    let root = match text("extension_modules") {
        Some(root) => root.to_owned(),
        None => text("cachedir")?.join("extmods"),
    };
    root.is_absolute().then(|| root.join(kind))
}

/// A file larger than this is not looked at for names.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Whether a file or a package of the directories is called so.
pub fn has_file(directories: &[PathBuf], module: &str) -> bool {
    let mut places = directories.iter();
    places.any(|directory| {
        directory.join(format!("{module}.py")).is_file()
            || directory.join(module).join("__init__.py").is_file()
    })
}

/// Whether a file of the directories is called so, or may call itself so.
pub fn may_have(directories: &[PathBuf], module: &str) -> bool {
    has_file(directories, module)
        || directories
            .iter()
            .filter_map(|directory| fs::read_dir(directory).ok())
            .flatten()
            .flatten()
            .any(|entry| says_so(&entry.path(), module))
}

/// Whether the text of a file has the name in quotes.
fn says_so(path: &Path, module: &str) -> bool {
    let is_python = path.extension().is_some_and(|kind| kind == "py");
    let file = is_python.then(|| fs::File::open(path).ok()).flatten();
    let Some(file) = file else { return false };
    let mut text = Vec::new();
    if file.take(FILE_BYTES_MAX).read_to_end(&mut text).is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&text);
    text.contains(&format!("\"{module}\"")) || text.contains(&format!("'{module}'"))
}

/// A text or a list of texts.
fn listed<'o>(opts: &'o Map, name: &str) -> impl Iterator<Item = PathBuf> + use<'o> {
    let value = opts.get(name);
    let one = value.and_then(Value::as_str).into_iter();
    let many = value.and_then(Value::as_list).unwrap_or_default();
    let dirs = one.chain(many.iter().filter_map(Value::as_str));
    dirs.map(PathBuf::from).filter(|dir| dir.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_the_configuration_count_more_than_what_was_synced() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for name in ["a/states", "b/_states", "b/_modules"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let text = |name: &str| Value::from(at(name).display().to_string());
        let opts = Map::from([
            ("module_dirs", Value::List(vec![text("a"), text("b")])),
            (
                "states_dirs",
                Value::List(vec!["s".into(), "./s".into(), text("s")]),
            ),
            ("extension_modules", text("x")),
        ]);
        assert_eq!(
            directories(&opts, "states"),
            ["b/_states", "a/states", "s", "x/states"].map(at)
        );
        assert_eq!(
            directories(&opts, "modules"),
            ["b/_modules", "a", "x/modules"].map(at)
        );
        assert_eq!(directories(&opts, "grains"), [at("x/grains")]);
        let runners = Map::from([("runner_dirs", text("r")), ("cachedir", text("c"))]);
        let expected = ["r", "c/extmods/runners"].map(at);
        assert_eq!(directories(&runners, "runners"), expected);
        let bare = Map::from([("cachedir", text("c"))]);
        assert_eq!(directories(&bare, "grains"), [at("c/extmods/grains")]);
    }

    /// Whatever directory a program is started in, and whoever can write there.
    #[test]
    fn no_directory_from_the_current_one_on_counts() {
        for option in [
            "module_dirs",
            "runner_dirs",
            "extension_modules",
            "cachedir",
        ] {
            for dir in ["src", "./src", "../pyworker/src", "."] {
                let opts = Map::from([(option, dir)]);
                for kind in ["modules", "runners"] {
                    let found = directories(&opts, kind);
                    assert!(found.is_empty(), "{option}: {dir}: {found:?}");
                }
            }
        }
    }
}
