//! The return of a job that an earlier run of the minion did not finish.

use halite_proto::Value;
use halite_proto::publish::PublishLoad;
use halite_proto::returns::{JobReturn, ReturnJid};
use tracing::warn;

use super::{Courier, Parcel, mark_own_job};
use crate::core::origin::{JobName, Origin};
use crate::records::proc_files::LeftBehind;

/// The function in the return of a job of which only the id is known.
const UNKNOWN_FUN: &str = "unknown";

impl Courier {
    /// Reports a job that an earlier run of this minion began and did not
    /// finish, from what its proc file holds and from the claims, which name its
    /// master. It is not run again: nobody knows how far it got.
    pub fn report_cut_off(&self, left: &LeftBehind, claims: &[JobName]) {
        let Some(mut result) = result(left) else {
            return;
        };
        let job = left.job(claims);
        if self.minion.jobs().claim(&job).is_none() {
            // The job had ended: its return is in the spool.
            return;
        }
        let fun = result.fun.to_text();
        warn!(jid = %left.jid, fun, "the minion was stopped while this job ran");
        result.out = Some("nested".to_owned());
        for parcel in self.take_in_cut_off(job.origin, result) {
            self.spool.put_back(parcel.sequence);
        }
    }

    fn take_in_cut_off(&self, origin: Origin, result: JobReturn) -> Vec<Parcel> {
        if let Origin::Master { name, key } = origin
            && matches!(result.jid, ReturnJid::Jid(_))
        {
            return vec![self.take_in(name, result, key)];
        }
        // No master is connected yet. A scheduled job is reported to each master, or
        // with failover to the first; any other job to the first.
        let master_type = self.minion.opts.get("master_type").and_then(Value::as_str);
        let is_one_of_them = matches!(master_type, Some("failover" | "distributed"));
        if result.schedule.is_none() || is_one_of_them {
            return vec![self.accept(0, result)];
        }
        let masters = 0..self.minion.masters.len();
        masters
            .map(|master| self.accept_for_one(master, result.clone()))
            .collect()
    }
}

/// The return of a job that was cut off, or `None` for a job whose load is not a
/// publication.
fn result(left: &LeftBehind) -> Option<JobReturn> {
    let result = |jid, fun, args| {
        let text = "ERROR: the minion was stopped while this job ran";
        JobReturn::new(jid, fun, args, text.into(), 1)
    };
    let jid = ReturnJid::Jid(left.jid.clone());
    let Some(load) = &left.load else {
        return Some(result(jid, UNKNOWN_FUN.into(), Vec::new()));
    };
    if let Some(returned) = &left.returned {
        let text = |name: &str| load.get(name).and_then(Value::as_str);
        let args = load.get("fun_args").and_then(Value::as_list);
        let fun = text("fun").unwrap_or(UNKNOWN_FUN).into();
        let mut result = result(returned.clone(), fun, args.unwrap_or_default().to_vec());
        mark_own_job(&mut result, &left.jid);
        result.schedule = text("schedule").map(str::to_owned);
        result.metadata = load.get("metadata").cloned();
        return Some(result);
    }
    let mut load = load.clone();
    load.remove("pid");
    let load = PublishLoad::from_map(load).ok()?;
    let mut result = result(jid, load.fun, load.arg);
    result.user = load.user;
    Some(result)
}
