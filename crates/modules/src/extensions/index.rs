//! What Python files a directory has, and the functions in them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use halite_proto::Value;
use halite_pyworker::Request;
use halite_signature::Signature;

use super::Kind;
use super::host::{Snapshot, run_in_worker};
use crate::call::Call;
use crate::error::CallResult;
use crate::python;
use crate::registry::Function;

/// What is known of some directories.
#[derive(Default)]
struct Index {
    stamps: Vec<Option<SystemTime>>,
    /// The modules that its files may be.
    claimed: Arc<HashSet<String>>,
    listed: Option<Arc<Listed>>,
}

/// What Python says of the files of some directories.
#[derive(Default)]
pub(super) struct Listed {
    /// The functions by their full names.
    pub functions: HashMap<String, &'static Function>,
    /// Why modules are not there: they do not want to be, or do not load.
    pub missing: HashMap<String, String>,
    /// Why nothing could be read at all.
    unread: Option<String>,
}

impl Listed {
    /// Why the module of a function is not there.
    pub(super) fn why(&self, fun: &str) -> Option<String> {
        if let Some(why) = &self.unread {
            return Some(format!("'{fun}' cannot be used: {why}"));
        }
        self.missing.get(fun.split('.').next()?).cloned()
    }
}

static INDEXES: LazyLock<Mutex<HashMap<Vec<PathBuf>, Index>>> = LazyLock::new(Mutex::default);

fn indexes() -> MutexGuard<'static, HashMap<Vec<PathBuf>, Index>> {
    INDEXES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn claims(directories: &[PathBuf], fun: &str) -> bool {
    let module = fun.split('.').next().unwrap_or_default();
    claimed(directories).contains(module)
}

/// The names that modules of directories may have: those of the files, and
/// what their text says.
pub(super) fn claimed(directories: &[PathBuf]) -> Arc<HashSet<String>> {
    let modified = |dir: &PathBuf| std::fs::metadata(dir).ok()?.modified().ok();
    let stamps: Vec<Option<SystemTime>> = directories.iter().map(modified).collect();
    if stamps.iter().all(Option::is_none) {
        return Arc::default();
    }
    let mut indexes = indexes();
    if let Some(index) = indexes.get(directories)
        && index.stamps == stamps
    {
        return Arc::clone(&index.claimed);
    }
    let claimed = Arc::new(directories.iter().flat_map(|dir| names(dir)).collect());
    let index = Index {
        stamps,
        claimed: Arc::clone(&claimed),
        listed: None,
    };
    indexes.insert(directories.to_owned(), index);
    claimed
}

fn names(directory: &Path) -> HashSet<String> {
    let mut names = HashSet::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let mut path = entry.path();
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            path.push("__init__.py");
        }
        let is_python = path.extension().is_some_and(|kind| kind == "py");
        if !is_python || stem.starts_with("__") || !path.is_file() {
            continue;
        }
        names.insert(stem);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        names.extend(quoted_names(&text));
    }
    names
}

/// The quoted words on lines that speak of virtual names or return one.
fn quoted_names(text: &str) -> impl Iterator<Item = String> + '_ {
    let lines = text.lines().map(str::trim_start);
    lines
        .filter(|line| line.contains("__virtualname__") || line.starts_with("return "))
        .flat_map(|line| {
            let mut parts = line.split(['"', '\'']);
            parts.next();
            parts
                .filter(|word| {
                    !word.is_empty() && word.chars().all(|c| c == '_' || c.is_alphanumeric())
                })
                .map(str::to_owned)
        })
}

/// The functions of directories, asked of Python once until they change.
pub(super) fn listed(
    directories: &[PathBuf],
    kind: Kind,
    host: impl FnOnce() -> Snapshot,
) -> Arc<Listed> {
    if let Some(listed) = indexes()
        .get(directories)
        .and_then(|index| index.listed.clone())
    {
        return listed;
    }
    // Not under the lock: modules may ask for functions as they are loaded.
    let request = Request::List { kind: kind.name() };
    let found = match kind.workers().run(&host(), request) {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(%error, "users' {} could not be read", kind.name());
            // Not kept: the next time it may be otherwise.
            return Arc::new(Listed {
                unread: Some(error.to_string()),
                ..Listed::default()
            });
        }
    };
    let mut listed = Listed::default();
    for module in found.as_list().unwrap_or_default() {
        let name = module.get("name").map(python::str).unwrap_or_default();
        if let Some(why) = module.get("why").and_then(Value::as_str) {
            tracing::debug!("{why}");
            listed.missing.insert(name.clone(), why.to_owned());
        }
        let own = module.get("functions").and_then(Value::as_map);
        for (short, about) in own.into_iter().flatten() {
            let full = format!("{name}.{}", python::str(short));
            let text = |key: &str| about.get(key).map(python::str).unwrap_or_default();
            let names = [full.as_str(), &text("python")];
            let function = interned(kind, false, names, &text("signature"), &text("doc"));
            listed.functions.insert(full, function);
        }
    }
    let listed = Arc::new(listed);
    if let Some(index) = indexes().get_mut(directories) {
        index.listed = Some(Arc::clone(&listed));
    }
    listed
}

/// What runs a function of a kind: one of users', one of Salt's.
fn runners(kind: Kind) -> [fn(&Call<'_>) -> CallResult; 2] {
    macro_rules! of {
        ($kind:expr) => {
            [
                |call| run_in_worker(call, $kind, false),
                |call| run_in_worker(call, $kind, true),
            ]
        };
    }
    match kind {
        Kind::Modules => of!(Kind::Modules),
        Kind::States => of!(Kind::States),
        Kind::Beacons => of!(Kind::Beacons),
        Kind::Returners => of!(Kind::Returners),
        Kind::Sdb => of!(Kind::Sdb),
        Kind::Pillars => of!(Kind::Pillars),
        Kind::Tops => of!(Kind::Tops),
        Kind::Logins => of!(Kind::Logins),
        Kind::Runners => of!(Kind::Runners),
    }
}

/// Tables of functions hold what lives as long as the program: each different
/// function of users is kept once.
pub(super) fn interned(
    kind: Kind,
    salt: bool,
    names: [&str; 2],
    signature: &str,
    doc: &str,
) -> &'static Function {
    type Key = (Kind, bool, [String; 2], String, String);
    static KEPT: LazyLock<Mutex<HashMap<Key, &'static Function>>> = LazyLock::new(Mutex::default);
    let signature = match Signature::parse(signature) {
        Ok(_) => signature,
        Err(_) => "(*args, **kwargs)",
    };
    let key = (
        kind,
        salt,
        names.map(str::to_owned),
        signature.to_owned(),
        doc.to_owned(),
    );
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(key).or_insert_with(|| {
        let keep = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let [users, salts] = runners(kind);
        let run = if salt { salts } else { users };
        let [name, python] = names.map(keep);
        let function = Function::new(name, keep(signature), run, keep(doc)).of_users(python);
        Box::leak(Box::new(function))
    })
}
