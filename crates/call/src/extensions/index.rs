//! The Python files of a directory, and the functions in them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::signature::Signature;
use halite_proto::Value;
use halite_pyworker::Request;

use super::ExtensionKind;
use super::host::{Snapshot, run_in_worker};
use crate::call::Call;
use crate::error::CallResult;
use crate::python;
use crate::registry::Function;

/// A directory that has not changed for so long is not about to change within
/// the same tick of its clock.
const SETTLED: Duration = Duration::from_millis(100);

/// What is known of some directories.
#[derive(Default)]
struct Index {
    /// Tells it from those before and after it.
    number: u64,
    stamps: Vec<Option<SystemTime>>,
    /// Whether a change after it would show in the stamps.
    is_settled: bool,
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
    /// Whether there is a function of a module called `module`.
    pub(super) fn has(&self, module: &str) -> bool {
        let mut functions = self.functions.values();
        functions.any(|function| function.module() == module)
    }

    /// Why the module of a function is not there.
    pub(super) fn why(&self, fun: &str) -> Option<String> {
        if let Some(why) = &self.unread {
            return Some(format!("'{fun}' cannot be used: {why}"));
        }
        self.missing.get(fun.split('.').next()?).cloned()
    }
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

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
    let known = indexes
        .get_mut(directories)
        .filter(|index| index.stamps == stamps);
    if let Some(index) = &known
        && index.is_settled
    {
        return Arc::clone(&index.claimed);
    }
    let is_settled = are_settled(&stamps, SystemTime::now());
    let claimed: HashSet<String> = directories.iter().flat_map(|dir| names(dir)).collect();
    if let Some(index) = known
        && *index.claimed == claimed
    {
        index.is_settled = is_settled;
        if is_settled {
            // A file of the same name may have become another one after Python
            // was asked, within the same tick.
            index.number = NUMBER.fetch_add(1, Ordering::Relaxed);
            index.listed = None;
        }
        return Arc::clone(&index.claimed);
    }
    let claimed = Arc::new(claimed);
    let index = Index {
        number: NUMBER.fetch_add(1, Ordering::Relaxed),
        stamps,
        is_settled,
        claimed: Arc::clone(&claimed),
        listed: None,
    };
    indexes.insert(directories.to_owned(), index);
    claimed
}

fn are_settled(stamps: &[Option<SystemTime>], now: SystemTime) -> bool {
    let is_settled = |stamp: &SystemTime| now.duration_since(*stamp).is_ok_and(|age| age > SETTLED);
    stamps.iter().flatten().all(is_settled)
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
        .filter(|line| line.contains("__virtual") || line.starts_with("return "))
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
    kind: ExtensionKind,
    host: impl FnOnce() -> Snapshot,
) -> Arc<Listed> {
    let number = match indexes().get(directories) {
        Some(Index {
            listed: Some(listed),
            ..
        }) => return Arc::clone(listed),
        index => index.map(|index| index.number),
    };
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
            let out = about.get("out").and_then(Value::as_str);
            let function = interned(kind, false, names, &text("signature"), &text("doc"), out);
            listed.functions.entry(full).or_insert(function);
        }
    }
    let listed = Arc::new(listed);
    keep(directories, number, &listed);
    listed
}

/// Keeps what Python has said, unless the directories have changed since it
/// was asked.
fn keep(directories: &[PathBuf], number: Option<u64>, listed: &Arc<Listed>) {
    if let Some(index) = indexes().get_mut(directories)
        && number == Some(index.number)
    {
        index.listed = Some(Arc::clone(listed));
    }
}

/// What runs a function of a kind: one of users', one of Salt's.
fn runners(kind: ExtensionKind) -> [fn(&Call<'_>) -> CallResult; 2] {
    macro_rules! of {
        ($kind:expr) => {
            [
                |call| run_in_worker(call, $kind, false),
                |call| run_in_worker(call, $kind, true),
            ]
        };
    }
    match kind {
        ExtensionKind::Modules => of!(ExtensionKind::Modules),
        ExtensionKind::States => of!(ExtensionKind::States),
        ExtensionKind::Beacons => of!(ExtensionKind::Beacons),
        ExtensionKind::Returners => of!(ExtensionKind::Returners),
        ExtensionKind::Sdb => of!(ExtensionKind::Sdb),
        ExtensionKind::Pillars => of!(ExtensionKind::Pillars),
        ExtensionKind::Tops => of!(ExtensionKind::Tops),
        ExtensionKind::Logins => of!(ExtensionKind::Logins),
        ExtensionKind::Executors => of!(ExtensionKind::Executors),
        ExtensionKind::Serializers => of!(ExtensionKind::Serializers),
        ExtensionKind::Matchers => of!(ExtensionKind::Matchers),
        ExtensionKind::Queues => of!(ExtensionKind::Queues),
        ExtensionKind::Runners => of!(ExtensionKind::Runners),
    }
}

/// Tables of functions hold what lives as long as the program: each different
/// function of users is kept once.
pub(super) fn interned(
    kind: ExtensionKind,
    salt: bool,
    names: [&str; 2],
    signature: &str,
    doc: &str,
    out: Option<&str>,
) -> &'static Function {
    type Key = (
        ExtensionKind,
        bool,
        [String; 2],
        String,
        String,
        Option<String>,
    );
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
        out.map(str::to_owned),
    );
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(key).or_insert_with(|| {
        let keep = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let [users, salts] = runners(kind);
        let run = if salt { salts } else { users };
        let [name, python] = names.map(keep);
        let mut function = Function::new(name, keep(signature), run, keep(doc)).of_users(python);
        function.out = out.map(keep);
        Box::leak(Box::new(function))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds an empty module to a directory, which is as old as it says.
    fn add(directory: &Path, name: &str, changed: SystemTime) {
        std::fs::write(directory.join(format!("{name}.py")), "").unwrap();
        let opened = std::fs::File::open(directory).unwrap();
        opened.set_modified(changed).unwrap();
    }

    fn found(directories: &[PathBuf]) -> Vec<String> {
        let mut names: Vec<String> = claimed(directories).iter().cloned().collect();
        names.sort();
        names
    }

    #[test]
    fn a_module_of_the_same_tick_as_the_last_look_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let directories = [dir.path().to_owned()];
        // Of the time to come: never settled, however slow this is.
        let tick = SystemTime::now() + Duration::from_secs(3600);
        add(dir.path(), "one", tick);
        assert_eq!(found(&directories), ["one"]);
        add(dir.path(), "two", tick);
        assert_eq!(found(&directories), ["one", "two"]);
        // Of long ago: nothing was read again for nothing.
        let long_ago = SystemTime::UNIX_EPOCH;
        add(dir.path(), "three", long_ago);
        assert_eq!(found(&directories), ["one", "three", "two"]);
        add(dir.path(), "four", long_ago);
        assert_eq!(found(&directories), ["one", "three", "two"]);
    }

    #[test]
    fn what_python_said_of_earlier_files_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let directories = [dir.path().to_owned()];
        add(dir.path(), "one", SystemTime::UNIX_EPOCH);
        claimed(&directories);
        let number = || indexes().get(&directories[..]).map(|index| index.number);
        let is_kept = || {
            indexes()
                .get(&directories[..])
                .is_some_and(|index| index.listed.is_some())
        };
        let asked = number();
        add(dir.path(), "two", SystemTime::UNIX_EPOCH + SETTLED);
        claimed(&directories);
        keep(&directories, asked, &Arc::default());
        assert!(!is_kept());
        keep(&directories, number(), &Arc::default());
        assert!(is_kept());
    }

    #[test]
    fn what_python_said_within_the_tick_of_a_change_is_asked_again() {
        let dir = tempfile::tempdir().unwrap();
        let directories = [dir.path().to_owned()];
        add(dir.path(), "one", SystemTime::UNIX_EPOCH);
        claimed(&directories);
        let index = |change: &dyn Fn(&mut Index)| {
            let mut indexes = indexes();
            let index = indexes.get_mut(&directories[..]).unwrap();
            change(index);
            (index.number, index.listed.is_some())
        };
        // As if the first look had been in the tick of the change.
        let (asked, _) = index(&|index| index.is_settled = false);
        keep(&directories, Some(asked), &Arc::default());
        assert_eq!(index(&|_| ()), (asked, true));
        claimed(&directories);
        keep(&directories, Some(asked), &Arc::default());
        assert!(!index(&|_| ()).1);
    }
}
