//! `saltutil.sync_*`: custom Python modules, from the file server to the place
//! where this master looks for them. `docs/python.md` says how each kind is used.

use halite_core_modules::sync_extensions;
use halite_proto::{Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;

const SYNC: &str = "(saltenv='base', extmod_whitelist=None, extmod_blacklist=None)";

/// The kinds that `saltutil.sync_all` has, in its order; the directory of each
/// is its name.
const ALL: [&str; 24] = [
    "clouds",
    "modules",
    "states",
    "grains",
    "renderers",
    "returners",
    "output",
    "proxymodules",
    "runners",
    "wheel",
    "engines",
    "thorium",
    "queues",
    "pillar",
    "utils",
    "sdb",
    "cache",
    "fileserver",
    "tops",
    "tokens",
    "serializers",
    "executors",
    "wrapper",
    "roster",
];

const DOC: &str = "Fetches users' own Python modules of this kind from the file server, and\nremoves those that it has no more.";

/// One function for each kind.
macro_rules! functions {
    ($($name:literal $kind:literal),* $(,)?) => {
        pub(super) const FUNCTIONS: &[Function] = &[
            Function::new(
                "saltutil.sync_all",
                SYNC,
                sync_all,
                "Fetches users' own Python modules of all kinds from the file server.",
            ),
            $(Function::new($name, SYNC, |call| sync(call, $kind), DOC),)*
        ];
    };
}

functions! {
    "saltutil.sync_cache" "cache",
    "saltutil.sync_clouds" "clouds",
    "saltutil.sync_eauth_tokens" "tokens",
    "saltutil.sync_engines" "engines",
    "saltutil.sync_executors" "executors",
    "saltutil.sync_fileserver" "fileserver",
    "saltutil.sync_grains" "grains",
    "saltutil.sync_modules" "modules",
    "saltutil.sync_output" "output",
    "saltutil.sync_pillar" "pillar",
    "saltutil.sync_proxymodules" "proxy",
    "saltutil.sync_queues" "queues",
    "saltutil.sync_renderers" "renderers",
    "saltutil.sync_returners" "returners",
    "saltutil.sync_roster" "roster",
    "saltutil.sync_runners" "runners",
    "saltutil.sync_sdb" "sdb",
    "saltutil.sync_serializers" "serializers",
    "saltutil.sync_states" "states",
    "saltutil.sync_thorium" "thorium",
    "saltutil.sync_tops" "tops",
    "saltutil.sync_utils" "utils",
    "saltutil.sync_wheel" "wheel",
    "saltutil.sync_wrapper" "wrapper",
}

fn fetched(call: &Call<'_>, kinds: &[&str]) -> Result<Map, RunnerError> {
    let asked = ["saltenv", "extmod_whitelist", "extmod_blacklist"]
        .into_iter()
        .map(|name| (Value::from(name), call.arg(name).clone()))
        .collect();
    sync_extensions(call.runners.functions.context(), &call.job(), kinds, asked)
        .map_err(|error| RunnerError::Failed(error.to_string()))
}

fn sync(call: &Call<'_>, kind: &str) -> Ran {
    let mut found = fetched(call, &[kind])?;
    Ok(found.remove(kind).unwrap_or_default())
}

fn sync_all(call: &Call<'_>) -> Ran {
    let kinds = ALL.map(|kind| {
        if kind == "proxymodules" {
            "proxy"
        } else {
            kind
        }
    });
    let mut found = fetched(call, &kinds)?;
    let named = ALL.into_iter().zip(kinds);
    Ok(named
        .map(|(name, kind)| (Value::from(name), found.remove(kind).unwrap_or_default()))
        .collect::<Map>()
        .into())
}
