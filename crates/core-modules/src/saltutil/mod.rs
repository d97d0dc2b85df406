//! `saltutil.*`: management of the minion: jobs, refreshes, caches, keys.

mod jobs;
mod master;
mod own_files;
mod refresh;
mod runner;
mod sync;

pub use sync::sync_extensions;

use halite_call::{Call, CallResult, Function, Module};

const SYNC: &str = "(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None)";
const SYNC_LATER: &str =
    "(saltenv=None, refresh=False, extmod_whitelist=None, extmod_blacklist=None)";
const SYNC_PILLAR: &str = "(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None, clean_pillar_cache=False)";
const SYNC_SDB: &str = "(saltenv=None, extmod_whitelist=None, extmod_blacklist=None)";
const SYNC_DOC: &str = "Fetches users' own Python modules of this kind from the file server, and\nremoves those that it has no more.";

pub(super) const MODULE: Module = Module {
    name: "saltutil",
    functions: &[
        Function::new(
            "saltutil.clear_cache",
            "()",
            own_files::clear_cache,
            "Removes what the minion has cached of the master's files and its own work.",
        ),
        Function::new(
            "saltutil.clear_job_cache",
            "(hours=24)",
            jobs::clear_job_cache,
            "Removes cached returns that are older than this.",
        ),
        Function::new(
            "saltutil.cmd",
            "(tgt, fun, arg=(), timeout=None, tgt_type='glob', ret='', kwarg=None, ssh=False, **kwargs)",
            master::cmd,
            "Has minions run a function and waits for their returns. Only where the master\nruns states.",
        ),
        Function::new(
            "saltutil.cmd_iter",
            "(tgt, fun, arg=(), timeout=None, tgt_type='glob', ret='', kwarg=None, ssh=False, **kwargs)",
            master::cmd_iter,
            "The same as cmd, with the returns as a list, one map for each minion.",
        ),
        Function::new(
            "saltutil.find_cached_job",
            "(jid)",
            jobs::find_cached_job,
            "The cached return of a job, where the minion keeps returns (cache_jobs).",
        ),
        Function::new(
            "saltutil.find_job",
            "(jid)",
            jobs::find_job,
            "What is known of a running job; empty when no such job runs here.",
        ),
        Function::new(
            "saltutil.is_running",
            "(fun)",
            jobs::is_running,
            "The running jobs whose function matches a pattern.",
        ),
        Function::new(
            "saltutil.kill_all_jobs",
            "()",
            jobs::kill_all_jobs,
            "Kills all running jobs but this one.",
        ),
        Function::new(
            "saltutil.kill_job",
            "(jid)",
            jobs::kill_job,
            "Kills a job and the commands it started (SIGKILL).",
        ),
        Function::new(
            "saltutil.list_extmods",
            "()",
            own_files::list_extmods,
            "The names of users' own Python modules that were fetched, by kind.",
        ),
        Function::new(
            "saltutil.mmodule",
            "(saltenv, fun, *args, **kwargs)",
            master::mmodule,
            "Runs another function as part of this one.",
        ),
        Function::new(
            "saltutil.pillar_refresh",
            "(wait=False, timeout=30, clean_cache=True)",
            refresh::refresh_pillar,
            "The same as saltutil.refresh_pillar.",
        ),
        Function::new(
            "saltutil.refresh_beacons",
            "()",
            refresh::refresh_beacons,
            "Has the minion read its beacons anew.",
        ),
        Function::new(
            "saltutil.refresh_grains",
            "(**kwargs)",
            refresh::refresh_grains,
            "Collects the grains anew, and unless refresh_pillar=False the pillar too.",
        ),
        Function::new(
            "saltutil.refresh_matchers",
            "()",
            refresh::refresh_matchers,
            "Has the minion read its matchers anew.",
        ),
        Function::new(
            "saltutil.refresh_modules",
            "(**kwargs)",
            refresh::refresh_modules,
            "Has the minion read anew what its modules depend on.",
        ),
        Function::new(
            "saltutil.refresh_pillar",
            "(wait=False, timeout=30, clean_cache=True)",
            refresh::refresh_pillar,
            "Asks the master for the pillar anew; wait=True waits for it for up to\n`timeout` seconds.",
        ),
        Function::new(
            "saltutil.refresh_resources",
            "()",
            refresh::refresh_resources,
            "Asks for the resources of the minion to be looked for again.",
        ),
        Function::new(
            "saltutil.regen_keys",
            "()",
            own_files::regen_keys,
            "Removes the minion's keys and what it trusts; new ones are made when it\nstarts again, and must be accepted.",
        ),
        Function::new(
            "saltutil.revoke_auth",
            "(preserve_minion_cache=False)",
            own_files::revoke_auth,
            "Asks the master to remove this minion's key.",
        ),
        Function::new(
            "saltutil.runner",
            "(name, arg=None, kwarg=None, full_return=False, saltenv='base', jid=None, asynchronous=False, **kwargs)",
            runner::runner,
            "Runs a function of the master, while the master compiles a pillar.",
        ),
        Function::new(
            "saltutil.running",
            "()",
            jobs::running,
            "The jobs that run now, but for this one.",
        ),
        Function::new(
            "saltutil.signal_job",
            "(jid, sig)",
            jobs::signal_job,
            "Sends a signal, by number, to a job and the commands it started.",
        ),
        Function::new(
            "saltutil.sync_all",
            "(saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None, clean_pillar_cache=False)",
            sync_all,
            "Fetches users' own Python modules of every kind from the file server.",
        ),
        Function::new(
            "saltutil.sync_beacons",
            SYNC,
            |call| sync::sync(call, "beacons"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_clouds",
            SYNC,
            |call| sync::sync(call, "clouds"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_engines",
            SYNC_LATER,
            |call| sync::sync(call, "engines"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_executors",
            SYNC,
            |call| sync::sync(call, "executors"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_grains",
            SYNC_PILLAR,
            |call| sync::sync(call, "grains"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_log_handlers",
            SYNC,
            |call| sync::sync(call, "log_handlers"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_matchers",
            SYNC_LATER,
            |call| sync::sync(call, "matchers"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_modules",
            SYNC,
            |call| sync::sync(call, "modules"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_output",
            SYNC,
            |call| sync::sync(call, "output"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_outputters",
            SYNC,
            |call| sync::sync(call, "output"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_pillar",
            SYNC_PILLAR,
            |call| sync::masterless(call, "pillar", "Pillar modules"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_proxymodules",
            SYNC_LATER,
            |call| sync::sync(call, "proxy"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_renderers",
            SYNC,
            |call| sync::sync(call, "renderers"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_resources",
            SYNC,
            |call| sync::sync(call, "resources"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_returners",
            SYNC,
            |call| sync::sync(call, "returners"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_sdb",
            SYNC_SDB,
            |call| sync::sync(call, "sdb"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_serializers",
            SYNC,
            |call| sync::sync(call, "serializers"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_states",
            SYNC,
            |call| sync::sync(call, "states"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_thorium",
            SYNC_LATER,
            |call| sync::sync(call, "thorium"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_tops",
            SYNC,
            |call| sync::masterless(call, "tops", "Master top modules"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_utils",
            SYNC,
            |call| sync::sync(call, "utils"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.sync_wrapper",
            SYNC,
            |call| sync::masterless(call, "wrapper", "Wrapper modules"),
            SYNC_DOC,
        ),
        Function::new(
            "saltutil.term_all_jobs",
            "()",
            jobs::term_all_jobs,
            "Asks all running jobs but this one to end.",
        ),
        Function::new(
            "saltutil.term_job",
            "(jid)",
            jobs::term_job,
            "Asks a job and the commands it started to end (SIGTERM).",
        ),
        Function::new(
            "saltutil.update",
            "(version=None)",
            master::update,
            "Updates a minion that is packed by Esky, which this one is not.",
        ),
        Function::new(
            "saltutil.wheel",
            "(name, *args, **kwargs)",
            master::wheel,
            "Runs a function that changes the master, such as key.list_all. Only where\nthe master runs states.",
        ),
    ],
};

fn sync_all(call: &Call<'_>) -> CallResult {
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
    // Without a master there is more to fetch: what only masters use.
    let local = call.ctx.is_local();
    let before = local.then_some("tops");
    let after: &[&str] = if local { &["pillar", "wrapper"] } else { &[] };
    let kinds: Vec<&str> = before.iter().chain(KINDS).chain(after).copied().collect();
    sync::sync_all(call, &kinds)
}
