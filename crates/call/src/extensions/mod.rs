//! Custom Python code: the files that `saltutil.sync_*` fetched, as functions like
//! our own, and plugins: beacons, returners, drivers of `sdb`, external pillars,
//! tops of masters, login methods, executors, serializers, matchers, queues,
//! engines. They run in the worker of [`halite_pyworker`], which is started when
//! one of them is first needed. Renderers and outputters are used where there is no
//! context: in `render` and in `cli`; runners and wheel functions belong to the
//! master.
//!
//! Invariant: without such files nothing here costs more than a look at their
//! directory.

mod engine;
mod engine_host;
mod engine_pace;
mod executor;
mod host;
mod index;
mod salt;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use engine::{ENGINES_MAX, Engine, Engines, engines};
pub use executor::execute;
use halite_proto::{Map, Value};
use halite_pyworker::{Request, Workers, directories, run_alone};

use crate::context::MinionContext;
use crate::python;
use crate::registry::{Function, Registry};
use host::Snapshot;
use index::{claimed, claims, interned, listed};
pub use salt::{Known, catalog};

/// What kind of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExtensionKind {
    /// Execution modules (`_modules`).
    Modules,
    /// State modules (`_states`).
    States,
    /// Beacons (`_beacons`).
    Beacons,
    /// Returners (`_returners`).
    Returners,
    /// Drivers of `sdb` (`_sdb`).
    Sdb,
    /// External pillars (`_pillar`).
    Pillars,
    /// Tops of masters (`_tops`).
    Tops,
    /// Ways to log in (`_auth`).
    Logins,
    /// What functions are run through (`_executors`).
    Executors,
    /// Notations of data (`_serializers`).
    Serializers,
    /// What tops of states match by (`_matchers`).
    Matchers,
    /// Backends of queues (`_queues`).
    Queues,
    /// Runners; those of users are the master's own matter.
    Runners,
}

impl ExtensionKind {
    fn name(self) -> &'static str {
        match self {
            Self::Modules => "modules",
            Self::States => "states",
            Self::Beacons => "beacons",
            Self::Returners => "returners",
            Self::Sdb => "sdb",
            Self::Pillars => "pillar",
            Self::Tops => "tops",
            Self::Logins => "auth",
            Self::Executors => "executors",
            Self::Serializers => "serializers",
            Self::Matchers => "matchers",
            Self::Queues => "queues",
            Self::Runners => "runners",
        }
    }

    /// The processes that run functions of this kind.
    fn workers(self) -> &'static Workers {
        match self {
            Self::Beacons => Workers::beacons(),
            _ => Workers::global(),
        }
    }
}

/// The function `fun` (`plugin.function`) of users' plugins of a kind, or else
/// of those of the Salt that is installed.
pub fn plugin(
    ctx: &dyn MinionContext,
    kind: ExtensionKind,
    fun: &str,
) -> Option<&'static Function> {
    function(ctx, kind, fun).or_else(|| of_salt(ctx, kind, fun))
}

/// Whether the files of users may have a plugin `name` of this kind; nothing
/// is run to find out.
pub fn is_claimed(ctx: &dyn MinionContext, kind: ExtensionKind, name: &str) -> bool {
    claims(&directories(ctx.opts(), kind.name()), name)
}

/// Whether there is a function `fun` of users' plugins of a kind or of those
/// of an installed Salt, for those who have but options.
pub fn has_plugin(opts: &Map, registry: &'static Registry, kind: ExtensionKind, fun: &str) -> bool {
    let snapshot = || Snapshot {
        opts: opts.clone(),
        grains: Arc::default(),
        pillar: Arc::default(),
        registry,
    };
    let directories = directories(opts, kind.name());
    let has_file = claims(&directories, fun);
    let listed = has_file.then(|| listed(&directories, kind, snapshot));
    listed.is_some_and(|listed| listed.functions.contains_key(fun))
        || find_of_salt(kind, fun, snapshot).is_some()
}

/// Whether a plugin `name` with the function `fun` is certainly not there: users
/// have no file of its name, and no installed Salt has it. If Python does not
/// answer, nothing is certain. Python's process ends with the answer: a daemon
/// that asks may still change its own.
pub fn is_missing(
    opts: &Map,
    registry: &'static Registry,
    kind: ExtensionKind,
    name: &str,
    fun: &str,
) -> bool {
    if claims(&directories(opts, kind.name()), name) {
        return false;
    }
    if !opts.get("python_fallback").is_none_or(Value::is_true) {
        return true;
    }
    let host = Snapshot {
        opts: opts.clone(),
        grains: Arc::default(),
        pillar: Arc::default(),
        registry,
    };
    let request = Request::Find {
        kind: kind.name(),
        name: &format!("{name}.{fun}"),
    };
    match run_alone(&host, request) {
        Ok(found) => found.get("python").is_none(),
        Err(error) => error.is_without_python(),
    }
}

/// What has been read of users' files is read again when it is next needed.
pub fn forget() {
    Workers::global().end();
    Workers::beacons().end();
}

/// The function `fun` (`module.function`) of users' modules, if there is one.
pub fn function(
    ctx: &dyn MinionContext,
    kind: ExtensionKind,
    fun: &str,
) -> Option<&'static Function> {
    let directories = directories(ctx.opts(), kind.name());
    if !claims(&directories, fun) {
        return None;
    }
    listed(&directories, kind, || Snapshot::of(ctx))
        .functions
        .get(fun)
        .copied()
}

/// Why users' module of a function is not there, if there is a file of its name.
pub fn why_missing(ctx: &dyn MinionContext, kind: ExtensionKind, fun: &str) -> Option<String> {
    let directories = directories(ctx.opts(), kind.name());
    if !claims(&directories, fun) {
        return None;
    }
    listed(&directories, kind, || Snapshot::of(ctx)).why(fun)
}

/// The function `fun` of the Salt that is installed for this machine's
/// Python, if there is one: for functions that neither users nor we have.
pub fn of_salt(
    ctx: &dyn MinionContext,
    kind: ExtensionKind,
    fun: &str,
) -> Option<&'static Function> {
    find_of_salt(kind, fun, || Snapshot::of(ctx))
}

/// Set when Python has said that there is no Salt.
static NO_SALT: AtomicBool = AtomicBool::new(false);

fn find_of_salt(
    kind: ExtensionKind,
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
    let found = match kind.workers().run(&host, request) {
        Ok(found) => found,
        Err(error) => {
            tracing::debug!(%error, fun, "no function of an installed Salt");
            if error.is_without_python() {
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
        None,
    ))
}

/// Whether users' modules have one called `module`.
pub fn has_module(ctx: &dyn MinionContext, kind: ExtensionKind, module: &str) -> bool {
    let directories = directories(ctx.opts(), kind.name());
    claims(&directories, module) && listed(&directories, kind, || Snapshot::of(ctx)).has(module)
}

/// All functions of users' modules.
pub fn functions(ctx: &dyn MinionContext, kind: ExtensionKind) -> Vec<&'static Function> {
    let directories = directories(ctx.opts(), kind.name());
    if claimed(&directories).is_empty() {
        return Vec::new();
    }
    let listed = listed(&directories, kind, || Snapshot::of(ctx));
    listed.functions.values().copied().collect()
}

/// The grains of users' modules (`_grains`), which see the others and call the
/// functions of `registry`.
pub fn grains(opts: &Map, registry: &'static Registry, others: &Map) -> Map {
    if claimed(&directories(opts, "grains")).is_empty() {
        return Map::new();
    }
    let snapshot = Snapshot {
        opts: opts.clone(),
        grains: Arc::new(others.clone()),
        pillar: Arc::default(),
        registry,
    };
    match Workers::global().run(&snapshot, Request::Grains) {
        Ok(Value::Map(more)) => more,
        Ok(_) => Map::new(),
        Err(error) => {
            tracing::error!(%error, "users' grains could not be collected");
            Map::new()
        }
    }
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
    pub fn of_salt(&self, kind: ExtensionKind, fun: &str) -> Option<&'static Function> {
        find_of_salt(kind, fun, || Snapshot::clone(&self.0))
    }

    /// The function `fun` of this kind.
    pub fn get(&self, kind: ExtensionKind, fun: &str) -> Option<&'static Function> {
        let snapshot = &*self.0;
        let directories = directories(&snapshot.opts, kind.name());
        if !claims(&directories, fun) {
            return None;
        }
        let listed = listed(&directories, kind, || Snapshot::clone(snapshot));
        listed.functions.get(fun).copied()
    }

    /// Whether there is a module called `module`.
    pub fn has_module(&self, kind: ExtensionKind, module: &str) -> bool {
        let snapshot = &*self.0;
        let directories = directories(&snapshot.opts, kind.name());
        claims(&directories, module)
            && listed(&directories, kind, || Snapshot::clone(snapshot)).has(module)
    }

    /// Why the module of `fun` is not there, if there is a file of its name.
    pub fn why_missing(&self, kind: ExtensionKind, fun: &str) -> Option<String> {
        let snapshot = &*self.0;
        let directories = directories(&snapshot.opts, kind.name());
        if !claims(&directories, fun) {
            return None;
        }
        listed(&directories, kind, || Snapshot::clone(snapshot)).why(fun)
    }
}
