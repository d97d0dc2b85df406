//! What users wrote in Python: the files that `saltutil.sync_*` fetched, as
//! functions like our own, and their beacons, returners and drivers of `sdb`. They run in the worker of
//! [`halite_pyworker`], which is started when one of them is first needed.
//!
//! Invariant: without such files nothing here costs more than a look at their
//! directory.

mod host;
mod index;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use halite_proto::{Map, Value};
use halite_pyworker::{PyError, Request, Workers};

use crate::context::MinionContext;
use crate::python;
use crate::registry::{Function, Registry};
use host::Snapshot;
use index::{claimed, claims, interned, listed};

/// What kind of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
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
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Modules => "modules",
            Self::States => "states",
            Self::Beacons => "beacons",
            Self::Returners => "returners",
            Self::Sdb => "sdb",
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
pub fn plugin(ctx: &dyn MinionContext, kind: Kind, fun: &str) -> Option<&'static Function> {
    function(ctx, kind, fun).or_else(|| of_salt(ctx, kind, fun))
}

/// Whether the files of users may have a plugin `name` of this kind; nothing
/// is run to find out.
pub fn is_claimed(ctx: &dyn MinionContext, kind: Kind, name: &str) -> bool {
    directory(ctx.opts(), kind.name()).is_some_and(|directory| claims(&directory, name))
}

/// Whether there is a function `fun` of users' plugins of a kind or of those
/// of an installed Salt, for those who have but options.
pub fn has_plugin(opts: &Map, kind: Kind, fun: &str) -> bool {
    let snapshot = || Snapshot {
        opts: opts.clone(),
        grains: Arc::default(),
        pillar: Arc::default(),
        registry: Registry::core(),
    };
    let own = directory(opts, kind.name()).filter(|directory| claims(directory, fun));
    let listed = own.map(|directory| listed(&directory, kind, snapshot));
    listed.is_some_and(|listed| listed.contains_key(fun))
        || find_of_salt(kind, fun, snapshot).is_some()
}

/// What has been read of users' files is read again when it is next needed.
pub(crate) fn forget() {
    Workers::global().end();
    Workers::beacons().end();
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
    let found = match kind.workers().run(&host, request) {
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
