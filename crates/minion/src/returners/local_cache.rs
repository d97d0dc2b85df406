//! `local_cache`: the job cache below the minion's own `cachedir`, in the
//! layout of a master's, so that the same tools read it.

use halite_call::MinionContext;
use halite_crypto::HashType;
use halite_proto::returns::JobReturn;
use halite_proto::{Map, MinionId, Value};
use halite_store::{Saved, StoreOptions};
use tracing::warn;

use super::ReturnerError;

pub(super) fn deliver(ctx: &dyn MinionContext, record: &Map) -> Result<(), ReturnerError> {
    let hash_type = ctx.opts().get("hash_type").and_then(Value::as_str);
    let hash_type = hash_type.map_or(Ok(HashType::Sha256), HashType::parse);
    let hash_type = hash_type.map_err(|cause| ReturnerError::Setting {
        name: "hash_type".to_owned(),
        why: cause.to_string(),
    })?;
    let no_record = |cause: &dyn std::fmt::Display| ReturnerError::NoRecord(cause.to_string());
    let id = MinionId::parse(ctx.id()).map_err(|cause| no_record(&cause))?;
    let result = JobReturn::from_map(record.clone()).map_err(|cause| no_record(&cause))?;
    let Some(jid) = result.jid.jid() else {
        return Err(no_record(&"the return has no job id"));
    };
    let store = halite_store::open(&StoreOptions::local_fs(ctx.cachedir(), hash_type));
    if let Saved::Duplicate { differs: true } = store.jobs.save_return(jid, &id, &result)? {
        warn!(%jid, "ignored the return: the job cache already has another one of this job");
    }
    Ok(())
}
