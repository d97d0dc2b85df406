//! `file_roots.*` and `pillar_roots.*`: the files of states and pillars.
//!
//! Invariant: a path from a caller is checked part by part, and must lead below a
//! root also after links are followed; otherwise the file counts as missing.

use std::fs;
use std::path::{Component, Path, PathBuf};

use halite_call::Bound;
use halite_cluster::roots::Which;
use halite_crypto::files::read_limited;
use halite_proto::{Map, Value};

use super::{Done, Function, Wheel, WheelError, function, text};
use crate::shared_roots::tree::envs;

const PATH: &str = "(path, saltenv='base')";
const ENV: &str = "(saltenv='base')";
const WRITE: &str = "(data, path, saltenv='base', index=0)";

/// Both families, which differ in an option and a text.
macro_rules! functions {
    ($($family:literal $which:expr),*) => {
        pub(super) const FUNCTIONS: &[Function] = &[
            $(
                function(
                    concat!($family, ".find"),
                    PATH,
                    |wheel, bound| Ok(find(wheel, $which, bound)),
                    "The files of that path in an environment, and whether they are text.",
                ),
                function(
                    concat!($family, ".list_env"),
                    ENV,
                    |wheel, bound| list_env(wheel, $which, bound),
                    "All files of an environment.",
                ),
                function(
                    concat!($family, ".list_roots"),
                    "()",
                    |wheel, _| list_roots(wheel, $which),
                    "All files of all environments.",
                ),
                function(
                    concat!($family, ".read"),
                    PATH,
                    |wheel, bound| read(wheel, $which, bound),
                    "The text of the files of that path in an environment.",
                ),
                function(
                    concat!($family, ".write"),
                    WRITE,
                    |wheel, bound| write(wheel, $which, bound),
                    "Writes a file into a root of an environment.",
                ),
            )*
        ];
    };
}

functions!("file_roots" Which::Files, "pillar_roots" Which::Pillar);

/// A file larger than this is not read.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Entries of a listing; beyond it, it is an error.
const ENTRIES_MAX: usize = 200_000;

/// Directories within one another.
const DEPTH_MAX: usize = 64;

/// The roots of an environment, or `None` if the environment does not exist.
fn roots(wheel: &Wheel, which: Which, saltenv: &str) -> Option<Vec<PathBuf>> {
    let mut envs = envs(&wheel.general, which).into_iter();
    envs.find_map(|(env, roots)| (env.saltenv == saltenv).then_some(roots))
}

fn env(bound: &Bound) -> String {
    bound
        .get("saltenv")
        .map(halite_proto::python::str)
        .unwrap_or_default()
}

/// A path without a way up; one that begins with the root is below it.
fn relative(root: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let path = match path.is_absolute() {
        true => path.strip_prefix(root).ok()?,
        false => path,
    };
    let mut checked = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => checked.push(part),
            Component::CurDir => {}
            _ => return None,
        }
    }
    (!checked.as_os_str().is_empty()).then_some(checked)
}

/// The file at that path in a root, if it is below the root.
fn file_in(root: &Path, path: &str) -> Option<PathBuf> {
    let file = root.join(relative(root, path)?);
    let real = file.canonicalize().ok()?;
    (real.is_file() && real.starts_with(root.canonicalize().ok()?)).then_some(file)
}

fn files(wheel: &Wheel, which: Which, bound: &Bound) -> Vec<PathBuf> {
    let path = text(bound, "path").unwrap_or_default();
    let roots = roots(wheel, which, &env(bound)).unwrap_or_default();
    roots
        .iter()
        .filter_map(|root| file_in(root, path))
        .collect()
}

/// The file's text, or `None` if it is not text.
fn text_of(file: &Path) -> Option<String> {
    let bytes = read_limited(file, FILE_BYTES_MAX).ok()?;
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
}

fn named(file: &Path, value: String) -> Value {
    Map::from([(file.display().to_string().as_str(), value)]).into()
}

fn find(wheel: &Wheel, which: Which, bound: &Bound) -> Value {
    let found = files(wheel, which, bound).into_iter().map(|file| {
        let kind = if text_of(&file).is_some() {
            "txt"
        } else {
            "bin"
        };
        named(&file, kind.to_owned())
    });
    Value::List(found.collect())
}

fn read(wheel: &Wheel, which: Which, bound: &Bound) -> Done {
    let found = files(wheel, which, bound).into_iter();
    let texts = found.filter_map(|file| text_of(&file).map(|text| named(&file, text)));
    Ok(Value::List(texts.collect()))
}

fn list_env(wheel: &Wheel, which: Which, bound: &Bound) -> Done {
    let mut left = ENTRIES_MAX;
    let mut found = Map::new();
    for root in roots(wheel, which, &env(bound)).unwrap_or_default() {
        if root.is_dir() {
            found.insert(
                root.display().to_string().as_str(),
                tree(&root, 0, &mut left)?,
            );
        }
    }
    Ok(found.into())
}

fn list_roots(wheel: &Wheel, which: Which) -> Done {
    let mut left = ENTRIES_MAX;
    let mut found = Map::new();
    for (env, roots) in envs(&wheel.general, which) {
        let mut trees = Vec::new();
        for root in roots {
            if root.is_dir() {
                let path = root.display().to_string();
                trees.push(Map::from([(path.as_str(), tree(&root, 0, &mut left)?)]).into());
            }
        }
        found.insert(env.saltenv.as_str(), Value::List(trees));
    }
    Ok(found.into())
}

/// The content of a directory: `f` for a file, a map for a directory.
fn tree(dir: &Path, depth: usize, left: &mut usize) -> Result<Map, WheelError> {
    let too_many = || WheelError::Failed("there are too many files to list".to_owned());
    if depth > DEPTH_MAX {
        return Err(too_many());
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    let mut found = Map::new();
    for entry in entries {
        *left = left.checked_sub(1).ok_or_else(too_many)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let value = match is_dir {
            true => tree(&entry.path(), depth + 1, left)?.into(),
            false => Value::from("f"),
        };
        found.insert(name.as_str(), value);
    }
    Ok(found)
}

fn write(wheel: &Wheel, which: Which, bound: &Bound) -> Done {
    let (path, env) = (text(bound, "path").unwrap_or_default(), env(bound));
    let Some(roots) = roots(wheel, which, &env) else {
        return Ok(format!("Named environment {env} is not present").into());
    };
    let index = bound.get("index").and_then(Value::as_i64).unwrap_or(0);
    let root = usize::try_from(index)
        .ok()
        .and_then(|index| roots.get(index));
    let Some(root) = root else {
        return Ok(format!("Specified index {index} in environment {env} is not present").into());
    };
    if Path::new(path).is_absolute() {
        let text = format!("The path passed in {path} is not relative to the environment base");
        return Ok(text.into());
    }
    let invalid = || -> Value {
        match which {
            Which::Files => format!("Invalid path: {path}").into(),
            Which::Pillar => "Invalid path".into(),
        }
    };
    let Some(relative) = relative(root, path) else {
        return Ok(invalid());
    };
    let Some(data) = text(bound, "data") else {
        return Err(WheelError::Failed("the data must be text".to_owned()));
    };
    let failed = |error: std::io::Error| WheelError::Failed(format!("{path}: {error}"));
    let file = root.join(relative);
    let dir = file.parent().unwrap_or(root);
    // Where a link leads out of the root, no directory is made behind it.
    if !leads_below(root, dir) {
        return Ok(invalid());
    }
    fs::create_dir_all(dir).map_err(failed)?;
    if fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_symlink()) {
        return Ok(invalid());
    }
    fs::write(&file, data).map_err(failed)?;
    Ok(format!("Wrote data to file {}", file.display()).into())
}

/// Whether the existing part of a directory's path is below the root.
fn leads_below(root: &Path, dir: &Path) -> bool {
    let Ok(root) = root.canonicalize() else {
        return false;
    };
    let there = dir.ancestors().find_map(|part| part.canonicalize().ok());
    there.is_some_and(|there| there.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_their_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("srv");
        fs::create_dir(&root).unwrap();
        fs::write(dir.path().join("secret"), "x").unwrap();
        fs::write(root.join("a.sls"), "y").unwrap();
        std::os::unix::fs::symlink(dir.path(), root.join("out")).unwrap();
        assert_eq!(file_in(&root, "a.sls"), Some(root.join("a.sls")));
        assert_eq!(file_in(&root, "./a.sls"), Some(root.join("a.sls")));
        let whole = root.join("a.sls").display().to_string();
        assert_eq!(file_in(&root, &whole), Some(root.join("a.sls")));
        for path in [
            "../secret",
            "out/secret",
            "/etc/passwd",
            "",
            ".",
            "a.sls/..",
            "a\0",
        ] {
            assert_eq!(file_in(&root, path), None, "{path:?}");
        }
        assert!(leads_below(&root, &root.join("new/deep")));
        assert!(!leads_below(&root, &root.join("out/new")));
    }
}
