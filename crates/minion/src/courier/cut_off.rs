//! The return of a job that an earlier run of the minion did not finish.

use halite_proto::Value;
use halite_proto::publish::PublishLoad;
use halite_proto::returns::{JobReturn, ReturnJid};

use crate::own_jobs;
use crate::proc_files::LeftBehind;

/// The function in the return of a job of which only the id is known.
const UNKNOWN_FUN: &str = "unknown";

/// The return of a job that was cut off, or `None` for a job whose load is not a
/// publication.
pub(super) fn cut_off(left: &LeftBehind) -> Option<JobReturn> {
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
        own_jobs::mark(&mut result, &left.jid);
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
