//! `pgjsonb`, `postgres`, `mysql`, `redis`: the tables and keys of Salt's returners,
//! on a server.

use halite_call::MinionContext;
use halite_proto::returns::JobReturn;
use halite_proto::{Map, MinionId};
use halite_store::{Saved, StoreOptions, returner_place};
use tracing::warn;

use super::ReturnerError;
use super::settings::Settings;

/// The options of the returners, below their families.
const NAMES: [&str; 20] = [
    "host",
    "port",
    "user",
    "pass",
    "passwd",
    "password",
    "db",
    "unix_socket_path",
    "cluster_mode",
    "cluster.startup_nodes",
    "cluster.skip_full_coverage_check",
    "connect_timeout",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "sslcrl",
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
];

/// Stores a result by the returner `pgjsonb`.
pub(super) fn pgjsonb(ctx: &dyn MinionContext, record: &Map) -> Result<(), ReturnerError> {
    deliver(ctx, record, "pgjsonb", &["returner.pgjsonb"])
}

/// Stores a result by the returner `postgres`.
pub(super) fn postgres(ctx: &dyn MinionContext, record: &Map) -> Result<(), ReturnerError> {
    deliver(ctx, record, "postgres", &["returner.postgres"])
}

/// Stores a result by the returner `mysql`.
pub(super) fn mysql(ctx: &dyn MinionContext, record: &Map) -> Result<(), ReturnerError> {
    deliver(ctx, record, "mysql", &["returner.mysql", "mysql"])
}

/// Stores a result by the returner `redis`.
pub(super) fn redis(ctx: &dyn MinionContext, record: &Map) -> Result<(), ReturnerError> {
    deliver(ctx, record, "redis", &["redis"])
}

fn deliver(
    ctx: &dyn MinionContext,
    record: &Map,
    returner: &'static str,
    families: &[&'static str],
) -> Result<(), ReturnerError> {
    let no_record = |cause: &dyn std::fmt::Display| ReturnerError::NoRecord(cause.to_string());
    let mut opts = Map::new();
    for family in families {
        let settings = Settings::new(ctx, family, record);
        // Whoever may run a function may not thereby choose where the minion signs
        // in, or that nobody checks who answers there.
        for name in NAMES {
            if let Some(value) = settings.own(name)? {
                opts.insert(format!("{family}.{name}").as_str(), value);
            }
        }
    }
    if let Some(keep) = ctx.opts().get("keep_jobs_seconds") {
        opts.insert("keep_jobs_seconds", keep.clone());
    }
    let place = returner_place("returner", returner, &opts);
    let place = place.map_err(|error| ReturnerError::Setting {
        name: returner.to_owned(),
        why: error.why,
    })?;
    let Some(place) = place else {
        return Err(ReturnerError::Setting {
            name: returner.to_owned(),
            why: "this build does not support that store".to_owned(),
        });
    };
    let id = MinionId::parse(ctx.id()).map_err(|cause| no_record(&cause))?;
    let result = JobReturn::from_map(record.clone()).map_err(|cause| no_record(&cause))?;
    let Some(jid) = result.jid.jid() else {
        return Err(no_record(&"the return has no job id"));
    };
    let store = halite_store::open(&StoreOptions::all(place));
    if let Saved::Duplicate { differs: true } = store.jobs.save_return(jid, &id, &result)? {
        warn!(
            %jid, returner,
            "ignored the return: the database already has another one of this job"
        );
    }
    Ok(())
}
