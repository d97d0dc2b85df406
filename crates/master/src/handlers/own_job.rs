//! Jobs that minions have given themselves.

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId, time};
use halite_store::{StoreError, load_of_return};

use crate::clock::now_micros;
use crate::jobs::Jobs;

/// Makes a job for a return that nobody asked for: `salt-call`, a schedule. A
/// Halite minion has marked it: the same one that comes again, since we were
/// not heard, is the same job.
pub(super) fn own_job(
    jobs: &Jobs,
    id: &MinionId,
    job: &JobReturn,
    mark: Option<Jid>,
    is_kept: bool,
) -> Result<Jid, StoreError> {
    if !is_kept {
        return Ok(jobs.next_id());
    }
    let jid = match mark.filter(is_past) {
        Some(mark) => jobs.cache.allocate_own(id, &mark)?,
        None => jobs.allocate_now()?,
    };
    if jobs.settings.stores_returns && !jobs.cache.has_load(&jid)? {
        let load = load_of_return(&jid, id, job);
        jobs.cache.save_load(&jid, &load, None)?;
        jobs.mirror.load(&jid, &load, None);
    }
    Ok(jid)
}

/// Ids of the time to come are this master's to give.
fn is_past(mark: &Jid) -> bool {
    time::jid_to_micros(mark).is_some_and(|micros| micros <= now_micros() + CLOCKS_DIFFER_MICROS)
}

/// By how much a minion's clock may be ahead.
const CLOCKS_DIFFER_MICROS: u64 = 60_000_000;
