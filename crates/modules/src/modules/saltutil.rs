//! `saltutil.*`: the minion's own affairs: jobs, refreshes, caches, keys.

use std::fs;
use std::io;
use std::path::Path;

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use crate::call::Call;
use crate::context::Refresh;
use crate::error::{CallError, CallResult};
use crate::python;
use crate::registry::{Function, Module};

const SYNC: &str = "(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None)";
const SYNC_LATER: &str =
    "(saltenv=None, refresh=False, extmod_whitelist=None, extmod_blacklist=None)";
const SYNC_PILLAR: &str = "(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None, clean_pillar_cache=False)";
const SYNC_SDB: &str = "(saltenv=None, extmod_whitelist=None, extmod_blacklist=None)";
const SYNC_DOC: &str = "Fetches modules of one's own from the file server. This minion runs no\nPython modules, so nothing is fetched: the answer is always an empty list.";

pub(super) const MODULE: Module = Module {
    name: "saltutil",
    functions: &[
        Function::new(
            "saltutil.clear_cache",
            "()",
            clear_cache,
            "Removes what the minion has cached of the master's files and its own work.",
        ),
        Function::new(
            "saltutil.clear_job_cache",
            "(hours=24)",
            clear_job_cache,
            "Removes cached returns that are older than this.",
        ),
        Function::new(
            "saltutil.find_cached_job",
            "(jid)",
            find_cached_job,
            "The cached return of a job, where the minion keeps returns (cache_jobs).",
        ),
        Function::new(
            "saltutil.find_job",
            "(jid)",
            find_job,
            "What is known of a running job; empty when no such job runs here.",
        ),
        Function::new(
            "saltutil.is_running",
            "(fun)",
            is_running,
            "The running jobs whose function matches a pattern.",
        ),
        Function::new(
            "saltutil.kill_all_jobs",
            "()",
            kill_all_jobs,
            "Kills all running jobs but this one.",
        ),
        Function::new(
            "saltutil.kill_job",
            "(jid)",
            kill_job,
            "Kills a job and the commands it started (SIGKILL).",
        ),
        Function::new(
            "saltutil.list_extmods",
            "()",
            empty_map,
            "The modules of one's own that were fetched: none, this minion runs none.",
        ),
        Function::new(
            "saltutil.pillar_refresh",
            "(wait=False, timeout=30, clean_cache=True)",
            refresh_pillar,
            "The same as saltutil.refresh_pillar.",
        ),
        Function::new(
            "saltutil.refresh_beacons",
            "()",
            refresh_beacons,
            "Has the minion read its beacons anew.",
        ),
        Function::new(
            "saltutil.refresh_grains",
            "(**kwargs)",
            refresh_grains,
            "Collects the grains anew, and unless refresh_pillar=False the pillar too.",
        ),
        Function::new(
            "saltutil.refresh_matchers",
            "()",
            refresh_matchers,
            "Has the minion read its matchers anew.",
        ),
        Function::new(
            "saltutil.refresh_modules",
            "(**kwargs)",
            refresh_modules,
            "Has the minion read anew what its modules depend on.",
        ),
        Function::new(
            "saltutil.refresh_pillar",
            "(wait=False, timeout=30, clean_cache=True)",
            refresh_pillar,
            "Asks the master for the pillar anew; wait=True waits for it for up to\n`timeout` seconds.",
        ),
        Function::new(
            "saltutil.regen_keys",
            "()",
            regen_keys,
            "Removes the minion's keys and what it trusts; new ones are made when it\nstarts again, and must be accepted.",
        ),
        Function::new(
            "saltutil.revoke_auth",
            "(preserve_minion_cache=False)",
            revoke_auth,
            "Asks the master to remove this minion's key.",
        ),
        Function::new(
            "saltutil.running",
            "()",
            running,
            "The jobs that run now, but for this one.",
        ),
        Function::new(
            "saltutil.signal_job",
            "(jid, sig)",
            signal_job,
            "Sends a signal, by number, to a job and the commands it started.",
        ),
        Function::new(
            "saltutil.sync_all",
            "(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None, clean_pillar_cache=False)",
            sync_all,
            "Fetches modules of one's own of every kind: nothing, this minion runs none.",
        ),
        Function::new("saltutil.sync_beacons", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_clouds", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_engines", SYNC_LATER, sync, SYNC_DOC),
        Function::new("saltutil.sync_executors", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_grains", SYNC_PILLAR, sync, SYNC_DOC),
        Function::new("saltutil.sync_log_handlers", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_matchers", SYNC_LATER, sync, SYNC_DOC),
        Function::new("saltutil.sync_modules", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_output", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_outputters", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_pillar", SYNC_PILLAR, sync, SYNC_DOC),
        Function::new("saltutil.sync_proxymodules", SYNC_LATER, sync, SYNC_DOC),
        Function::new("saltutil.sync_renderers", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_resources", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_returners", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_sdb", SYNC_SDB, sync, SYNC_DOC),
        Function::new("saltutil.sync_serializers", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_states", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_thorium", SYNC_LATER, sync, SYNC_DOC),
        Function::new("saltutil.sync_tops", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_utils", SYNC, sync, SYNC_DOC),
        Function::new("saltutil.sync_wrapper", SYNC, sync, SYNC_DOC),
        Function::new(
            "saltutil.term_all_jobs",
            "()",
            term_all_jobs,
            "Asks all running jobs but this one to end.",
        ),
        Function::new(
            "saltutil.term_job",
            "(jid)",
            term_job,
            "Asks a job and the commands it started to end (SIGTERM).",
        ),
    ],
};

/// The running jobs, without the one that asks.
fn others(call: &Call<'_>) -> Vec<Map> {
    let own = call.job.jid();
    let mut jobs = call.ctx.running();
    jobs.retain(|job| own.is_none() || jid_of(job) != own);
    jobs
}

fn jid_of(job: &Map) -> Option<&str> {
    job.get("jid").and_then(Value::as_str)
}

fn running(call: &Call<'_>) -> CallResult {
    Ok(others(call)
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

fn find_job(call: &Call<'_>) -> CallResult {
    let jid = call.text("jid");
    let found = others(call)
        .into_iter()
        .find(|job| jid_of(job) == Some(&jid));
    Ok(found.unwrap_or_default().into())
}

fn is_running(call: &Call<'_>) -> CallResult {
    let pattern = call.text("fun");
    let runs = |job: &Map| match job.get("fun") {
        Some(Value::Str(fun)) => fnmatch(&pattern, fun),
        Some(Value::List(funs)) => funs
            .iter()
            .filter_map(Value::as_str)
            .any(|fun| fnmatch(&pattern, fun)),
        _ => false,
    };
    let jobs = others(call).into_iter().filter(runs).map(Value::from);
    Ok(jobs.collect::<Vec<_>>().into())
}

fn signal(call: &Call<'_>, jid: &str, signal: i32) -> Result<String, CallError> {
    Ok(match call.ctx.signal_job(jid, signal)? {
        Some(pid) => format!("Signal {signal} sent to job {jid} at pid {pid}"),
        None => String::new(),
    })
}

fn signal_job(call: &Call<'_>) -> CallResult {
    let number = i32::try_from(call.int("sig")?)
        .map_err(|_| CallError::invocation("the signal is not one"))?;
    Ok(signal(call, &call.text("jid"), number)?.into())
}

fn term_job(call: &Call<'_>) -> CallResult {
    Ok(signal(call, &call.text("jid"), 15)?.into())
}

fn kill_job(call: &Call<'_>) -> CallResult {
    Ok(signal(call, &call.text("jid"), 9)?.into())
}

fn signal_others(call: &Call<'_>, number: i32) -> CallResult {
    let mut said = Vec::new();
    for job in others(call) {
        if let Some(jid) = jid_of(&job) {
            said.push(Value::from(signal(call, jid, number)?));
        }
    }
    Ok(said.into())
}

fn term_all_jobs(call: &Call<'_>) -> CallResult {
    signal_others(call, 15)
}

fn kill_all_jobs(call: &Call<'_>) -> CallResult {
    signal_others(call, 9)
}

/// The minion keeps no returns of its own yet.
fn find_cached_job(_: &Call<'_>) -> CallResult {
    Ok(
        "Local jobs cache directory not found; you may need to enable cache_jobs on this minion"
            .into(),
    )
}

fn clear_job_cache(call: &Call<'_>) -> CallResult {
    let hours = u64::try_from(call.int("hours")?).unwrap_or_default();
    let oldest = std::time::SystemTime::now()
        .checked_sub(std::time::Duration::from_secs(hours.saturating_mul(3600)));
    let directory = call.ctx.cachedir().join("minion_jobs");
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let old = entry.metadata().and_then(|data| data.modified()).ok() < oldest;
        if old && let Err(error) = fs::remove_dir_all(entry.path()) {
            tracing::error!(%error, "could not remove a cached job");
            return Ok(false.into());
        }
    }
    Ok(true.into())
}

fn refresh_grains(call: &Call<'_>) -> CallResult {
    let kwargs = call.clean_kwargs();
    for (key, _) in &kwargs {
        let known = ["clean_pillar_cache", "refresh_pillar"];
        if !key.as_str().is_some_and(|key| known.contains(&key)) {
            return Err(CallError::invocation(format!(
                "The following keyword arguments are not valid: {}={}",
                python::str(key),
                python::str(kwargs.get_value(key).unwrap_or(&Value::Nil))
            )));
        }
    }
    let clean_cache = kwargs.get("clean_pillar_cache").is_some_and(Value::is_true);
    let refreshed = if kwargs.get("refresh_pillar").is_none_or(Value::is_true) {
        call.ctx.refresh(Refresh::Pillar { clean_cache }, None)?
    } else {
        call.ctx.refresh(Refresh::Grains, None)?
    };
    Ok(refreshed.into())
}

fn refresh_pillar(call: &Call<'_>) -> CallResult {
    let wait = if call.flag("wait") {
        Some(u64::try_from(call.int("timeout")?).unwrap_or_default())
    } else {
        None
    };
    let clean_cache = call.flag("clean_cache");
    Ok(call
        .ctx
        .refresh(Refresh::Pillar { clean_cache }, wait)?
        .into())
}

fn refresh_modules(call: &Call<'_>) -> CallResult {
    Ok(call.ctx.refresh(Refresh::Modules, None)?.into())
}

fn refresh_beacons(call: &Call<'_>) -> CallResult {
    Ok(call.ctx.refresh(Refresh::Beacons, None)?.into())
}

fn refresh_matchers(call: &Call<'_>) -> CallResult {
    Ok(call.ctx.refresh(Refresh::Matchers, None)?.into())
}

fn sync(_: &Call<'_>) -> CallResult {
    Ok(Value::List(Vec::new()))
}

fn sync_all(_: &Call<'_>) -> CallResult {
    const KINDS: &[&str] = &[
        "clouds",
        "beacons",
        "modules",
        "states",
        "sdb",
        "grains",
        "renderers",
        "returners",
        "output",
        "utils",
        "log_handlers",
        "executors",
        "proxymodules",
        "engines",
        "thorium",
        "serializers",
        "matchers",
        "resources",
    ];
    let synced: Map = KINDS.iter().map(|kind| (*kind, Vec::new())).collect();
    Ok(synced.into())
}

fn empty_map(_: &Call<'_>) -> CallResult {
    Ok(Map::new().into())
}

/// Removes caches by name: what else lies there (jobs, returns that wait for a
/// master) is no cache.
fn clear_cache(call: &Call<'_>) -> CallResult {
    const CACHES: &[&str] = &[
        "accumulator",
        "extmods",
        "extrn_files",
        "files",
        "grains.cache.p",
        "highstate.cache.p",
        "localfiles",
        "module_refresh",
        "pillar_cache",
        "sls.p",
    ];
    let directory = call.ctx.cachedir();
    for name in CACHES {
        if let Err(error) = remove(&directory.join(name)) {
            tracing::error!(
                "Attempt to clear cache with saltutil.clear_cache FAILED with: {error}"
            );
            return Ok(false.into());
        }
    }
    Ok(true.into())
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn regen_keys(call: &Call<'_>) -> CallResult {
    let directory = call
        .opt_text("pki_dir")
        .unwrap_or_else(|| "/etc/salt/pki/minion".to_owned());
    for name in ["minion.pem", "minion.pub", "minion_master.pub"] {
        let path = Path::new(&directory).join(name);
        remove(&path).map_err(|error| {
            CallError::command(format!("could not remove {}: {error}", path.display()))
        })?;
    }
    Ok(Value::Nil)
}

fn revoke_auth(call: &Call<'_>) -> CallResult {
    let load = Map::from([
        ("cmd", Value::from("revoke_auth")),
        ("id", call.ctx.id().into()),
        (
            "preserve_minion_cache",
            call.flag("preserve_minion_cache").into(),
        ),
    ]);
    match call.ctx.request_every(load) {
        Ok(answer) => Ok(answer),
        Err(error) => {
            tracing::error!(%error, "the key was not revoked");
            Ok(false.into())
        }
    }
}
