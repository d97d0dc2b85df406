//! Functions that users wrote in Python: the files that `saltutil.sync_*`
//! fetched, as functions like our own. They run in the worker of
//! [`halite_pyworker`], which is started when one of them is first needed.
//!
//! Invariant: without such files nothing here costs more than a look at their
//! directory.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use halite_proto::{Map, Value};
use halite_pyworker::{PyError, PyHost, Raised, Request, Workers};
use halite_signature::Signature;

use crate::call::Call;
use crate::context::MinionContext;
use crate::error::{CallError, CallResult};
use crate::registry::{Function, Registry};
use crate::{python, run};

/// What kind of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Execution modules (`_modules`).
    Modules,
    /// State modules (`_states`).
    States,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Modules => "modules",
            Self::States => "states",
        }
    }
}

/// The function `fun` (`module.function`) of users' modules, if there is one.
pub fn function(ctx: &dyn MinionContext, kind: Kind, fun: &str) -> Option<&'static Function> {
    let directory = directory(ctx.opts(), kind.name())?;
    if !claims(&directory, fun) {
        return None;
    }
    listed(&directory, kind, || Snapshot::of(ctx))
        .get(fun)
        .copied()
}

/// The function `fun` of the Salt that is installed for this machine's
/// Python, if there is one: for functions that neither users nor we have.
pub fn of_salt(ctx: &dyn MinionContext, kind: Kind, fun: &str) -> Option<&'static Function> {
    find_of_salt(kind, fun, || Snapshot::of(ctx))
}

/// Set when Python has said that there is no Salt.
static NO_SALT: AtomicBool = AtomicBool::new(false);

fn find_of_salt(
    kind: Kind,
    fun: &str,
    host: impl FnOnce() -> Snapshot,
) -> Option<&'static Function> {
    let is_name =
        |part: &str| !part.is_empty() && part.chars().all(|c| c == '_' || c.is_alphanumeric());
    let (module, name) = fun.split_once('.')?;
    if NO_SALT.load(Ordering::Relaxed) || !is_name(module) || !is_name(name) {
        return None;
    }
    let host = host();
    let wanted = host.opts.get("python_fallback").is_none_or(Value::is_true);
    if !wanted {
        return None;
    }
    let request = Request::Find {
        kind: kind.name(),
        name: fun,
    };
    let found = match Workers::global().run(&host, request) {
        Ok(found) => found,
        Err(error) => {
            tracing::debug!(%error, fun, "no function of an installed Salt");
            if matches!(error, PyError::NoPython | PyError::Start(_)) {
                NO_SALT.store(true, Ordering::Relaxed);
            }
            return None;
        }
    };
    if found.get("salt") == Some(&Value::Bool(false)) {
        NO_SALT.store(true, Ordering::Relaxed);
    }
    let text = |key: &str| found.get(key).map(python::str);
    let names = [fun, &text("python")?];
    Some(interned(
        kind,
        true,
        names,
        &text("signature")?,
        &text("doc")?,
    ))
}

/// Whether users' modules have one called `module`.
pub fn has_module(ctx: &dyn MinionContext, kind: Kind, module: &str) -> bool {
    let Some(directory) = directory(ctx.opts(), kind.name()) else {
        return false;
    };
    claims(&directory, module)
        && listed(&directory, kind, || Snapshot::of(ctx))
            .values()
            .any(|function| function.module() == module)
}

/// All functions of users' modules.
pub fn functions(ctx: &dyn MinionContext, kind: Kind) -> Vec<&'static Function> {
    let Some(directory) = directory(ctx.opts(), kind.name()).filter(|dir| dir.is_dir()) else {
        return Vec::new();
    };
    if claimed(&directory).is_empty() {
        return Vec::new();
    }
    let listed = listed(&directory, kind, || Snapshot::of(ctx));
    listed.values().copied().collect()
}

/// Grains with those of users' modules (`_grains`), which hide ours; grains
/// that are set in the configuration hide both.
pub fn with_grains(opts: &Map, grains: Map) -> Map {
    let has = directory(opts, "grains").is_some_and(|dir| !claimed(&dir).is_empty());
    if !has {
        return grains;
    }
    let snapshot = Snapshot {
        opts: opts.clone(),
        grains: Arc::new(grains.clone()),
        pillar: Arc::default(),
        registry: Registry::core(),
    };
    let mut all = grains;
    match Workers::global().run(&snapshot, Request::Grains) {
        Ok(Value::Map(more)) => all.extend(more),
        Ok(_) => {}
        Err(error) => tracing::error!(%error, "users' grains could not be collected"),
    }
    if let Some(Value::Map(set)) = opts.get("grains") {
        all.extend(set.clone());
    }
    all
}

/// Functions of users' modules for those who have no context at hand: with
/// options, grains and pillar as they were when it was made.
#[derive(Clone, Debug)]
pub struct Extensions(Arc<Snapshot>);

impl Extensions {
    /// Those of a minion.
    pub fn of(ctx: &dyn MinionContext) -> Self {
        Self(Arc::new(Snapshot::of(ctx)))
    }

    /// The function `fun` of the Salt that is installed for Python, if both
    /// are there.
    pub fn of_salt(&self, kind: Kind, fun: &str) -> Option<&'static Function> {
        find_of_salt(kind, fun, || Snapshot::clone(&self.0))
    }

    /// The function `fun` of this kind.
    pub fn get(&self, kind: Kind, fun: &str) -> Option<&'static Function> {
        let snapshot = &*self.0;
        let directory = directory(&snapshot.opts, kind.name())?;
        if !claims(&directory, fun) {
            return None;
        }
        let listed = listed(&directory, kind, || Snapshot::clone(snapshot));
        listed.get(fun).copied()
    }
}

/// `extension_modules`, or where it is by default.
pub(crate) fn directory(opts: &Map, kind: &str) -> Option<PathBuf> {
    let text = |name: &str| {
        let option = opts.get(name).and_then(Value::as_str);
        option.filter(|text| !text.is_empty()).map(PathBuf::from)
    };
    let root = text("extension_modules").or_else(|| Some(text("cachedir")?.join("extmods")))?;
    Some(root.join(kind))
}

/// What is known of a directory.
#[derive(Default)]
struct Index {
    stamp: Option<SystemTime>,
    /// The modules that its files may be.
    claimed: Arc<HashSet<String>>,
    listed: Option<Arc<HashMap<String, &'static Function>>>,
}

static INDEXES: LazyLock<Mutex<HashMap<PathBuf, Index>>> = LazyLock::new(Mutex::default);

fn indexes() -> MutexGuard<'static, HashMap<PathBuf, Index>> {
    INDEXES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn claims(directory: &Path, fun: &str) -> bool {
    let module = fun.split('.').next().unwrap_or_default();
    claimed(directory).contains(module)
}

/// The names that modules of a directory may have: those of the files, and
/// what their text says.
fn claimed(directory: &Path) -> Arc<HashSet<String>> {
    let Some(stamp) = std::fs::metadata(directory)
        .ok()
        .and_then(|data| data.modified().ok())
    else {
        return Arc::default();
    };
    let mut indexes = indexes();
    if let Some(index) = indexes.get(directory)
        && index.stamp == Some(stamp)
    {
        return Arc::clone(&index.claimed);
    }
    let claimed = Arc::new(names(directory));
    let index = Index {
        stamp: Some(stamp),
        claimed: Arc::clone(&claimed),
        listed: None,
    };
    indexes.insert(directory.to_owned(), index);
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

/// The functions of a directory, asked of Python once until it changes.
fn listed(
    directory: &Path,
    kind: Kind,
    host: impl FnOnce() -> Snapshot,
) -> Arc<HashMap<String, &'static Function>> {
    if let Some(listed) = indexes()
        .get(directory)
        .and_then(|index| index.listed.clone())
    {
        return listed;
    }
    // Not under the lock: modules may ask for functions as they are loaded.
    let request = Request::List { kind: kind.name() };
    let found = match Workers::global().run(&host(), request) {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(%error, "users' {} could not be read", kind.name());
            Value::Nil
        }
    };
    let mut functions = HashMap::new();
    for module in found.as_list().unwrap_or_default() {
        let name = module.get("name").map(python::str).unwrap_or_default();
        if let Some(why) = module.get("why").and_then(Value::as_str) {
            tracing::debug!("{why}");
        }
        let own = module.get("functions").and_then(Value::as_map);
        for (short, about) in own.into_iter().flatten() {
            let full = format!("{name}.{}", python::str(short));
            let text = |key: &str| about.get(key).map(python::str).unwrap_or_default();
            let names = [full.as_str(), &text("python")];
            let function = interned(kind, false, names, &text("signature"), &text("doc"));
            functions.insert(full, function);
        }
    }
    let functions = Arc::new(functions);
    if let Some(index) = indexes().get_mut(directory) {
        index.listed = Some(Arc::clone(&functions));
    }
    functions
}

/// Tables of functions hold what lives as long as the program: each different
/// function of users is kept once.
fn interned(
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
        let run: fn(&Call<'_>) -> CallResult = match (kind, salt) {
            (Kind::Modules, false) => |call| run_in_worker(call, Kind::Modules, false),
            (Kind::Modules, true) => |call| run_in_worker(call, Kind::Modules, true),
            (Kind::States, false) => |call| run_in_worker(call, Kind::States, false),
            (Kind::States, true) => |call| run_in_worker(call, Kind::States, true),
        };
        let [name, python] = names.map(keep);
        let function = Function::new(name, keep(signature), run, keep(doc)).of_users(python);
        Box::leak(Box::new(function))
    })
}

fn run_in_worker(call: &Call<'_>, kind: Kind, salt: bool) -> CallResult {
    let mut scope = Map::new();
    if let (Kind::States, Some(state)) = (kind, &call.job.state) {
        scope.insert("__low__", state.low.clone());
        scope.insert("__instance_id__", state.run_id.as_str());
    }
    let fun = call.function();
    let signature = call.signature();
    let mut args = Vec::new();
    let mut kwargs = call.kwargs().clone();
    let by_place = !call.varargs().is_empty();
    for param in &signature.params {
        let value = call.arg(&param.name).clone();
        if by_place {
            args.push(value);
        } else if call.is_given(&param.name) {
            kwargs.insert(param.name.as_str(), value);
        }
    }
    args.extend(call.varargs().iter().cloned());
    for param in &signature.keyword_only {
        if call.is_given(&param.name) {
            kwargs.insert(param.name.as_str(), call.arg(&param.name).clone());
        }
    }
    let request = Request::Call {
        kind: kind.name(),
        name: fun,
        args: &args,
        kwargs: &kwargs,
        scope: &scope,
        salt,
    };
    Workers::global()
        .run(&CallHost(call), request)
        .map_err(|error| failure(fun, error))
}

/// The error of a function in the kinds that ours have.
fn failure(fun: &str, error: PyError) -> CallError {
    let PyError::Raised(raised) = error else {
        return CallError::Command(format!("{fun}: {error}"));
    };
    if raised.is("SaltInvocationError") {
        return CallError::Invocation(raised.message);
    }
    if raised.is("CommandNotFoundError") {
        return CallError::NotFound(raised.message);
    }
    if raised.is("CommandExecutionError") {
        return CallError::Command(raised.message);
    }
    tracing::error!(fun, "{}", raised.trace);
    CallError::exception(class(raised.class_name()), raised.message.clone())
}

/// The name of an exception's class, kept for good. Users have few of them;
/// of very many the rest is just an exception.
fn class(name: &str) -> &'static str {
    static KEPT: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = kept.get(name) {
        return kept;
    }
    if kept.len() >= crate::limits::PYTHON_CLASSES_MAX {
        return "Exception";
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    kept.insert(name);
    name
}

/// What Python code may ask of the call that runs it.
struct CallHost<'c>(&'c Call<'c>);

fn data(ctx: &dyn MinionContext, name: &str) -> Value {
    match name {
        "opts" => ctx.opts().clone().into(),
        "grains" => Map::clone(&ctx.grains()).into(),
        _ => Map::clone(&ctx.pillar()).into(),
    }
}

fn raised(error: CallError) -> Raised {
    match error {
        CallError::Command(message) => Raised::new("CommandExecutionError", message),
        CallError::Invocation(message) => Raised::new("SaltInvocationError", message),
        CallError::NotFound(message) => Raised::new("CommandNotFoundError", message),
        CallError::Arguments(message) => Raised::new("TypeError", message),
        CallError::Exception { kind, message } => Raised::new(kind, message),
        ended @ CallError::Ended(_) => Raised::new("CommandExecutionError", ended.to_string()),
    }
}

impl PyHost for CallHost<'_> {
    fn data(&self, name: &str) -> Value {
        let mut value = data(self.0.ctx, name);
        if let (Value::Map(opts), "opts", Some(state)) = (&mut value, name, &self.0.job.state) {
            opts.insert("test", state.test);
        }
        value
    }

    fn directory(&self, kind: &str) -> Option<String> {
        let directory = directory(self.0.ctx.opts(), kind)?;
        directory.to_str().map(str::to_owned)
    }

    fn has_function(&self, fun: &str) -> bool {
        self.0.has_function(fun)
    }

    fn call(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, Raised> {
        self.0.salt(fun, &args, kwargs).map_err(raised)
    }

    fn has_state(&self, fun: &str) -> bool {
        self.0.ctx.registry().state(fun).is_some()
    }

    fn call_state(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, Raised> {
        run::run_state_function(self.0.ctx, fun, args, kwargs, self.0.job).map_err(raised)
    }

    fn watch(&self, group: i32) -> Box<dyn std::any::Any> {
        Box::new(self.0.cancel().watch(group))
    }
}

/// What modules see while they are read: no call runs yet, so none of their
/// own goes out.
#[derive(Clone, Debug)]
struct Snapshot {
    opts: Map,
    grains: Arc<Map>,
    pillar: Arc<Map>,
    registry: &'static Registry,
}

impl Snapshot {
    fn of(ctx: &dyn MinionContext) -> Self {
        Self {
            opts: ctx.opts().clone(),
            grains: ctx.grains(),
            pillar: ctx.pillar(),
            registry: ctx.registry(),
        }
    }
}

impl PyHost for Snapshot {
    fn data(&self, name: &str) -> Value {
        match name {
            "opts" => self.opts.clone().into(),
            "grains" => Map::clone(&self.grains).into(),
            _ => Map::clone(&self.pillar).into(),
        }
    }

    fn directory(&self, kind: &str) -> Option<String> {
        directory(&self.opts, kind)?.to_str().map(str::to_owned)
    }

    fn has_function(&self, fun: &str) -> bool {
        self.registry.get(fun).is_some()
    }

    fn call(&self, fun: &str, _args: Vec<Value>, _kwargs: Map) -> Result<Value, Raised> {
        let message = format!("'{fun}' cannot be called while modules are read");
        Err(Raised::new("CommandExecutionError", message))
    }
}
