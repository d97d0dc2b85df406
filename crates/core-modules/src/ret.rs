//! `ret.*`: returns that returners have stored. Of ours, `local_cache` can read
//! them again.

use halite_crypto::HashType;
use halite_proto::{Jid, Map, Value};
use halite_store::limits::JOBS_LISTED_MAX;
use halite_store::{Jobs, StoreOptions};

use halite_call::{Call, CallError, CallResult, Function, Module};

pub(super) const MODULE: Module = Module {
    name: "ret",
    functions: &[
        Function::new(
            "ret.get_fun",
            "(returner, fun)",
            |call| Err(none(call, "get_fun")),
            "The last returns of a function. No returner here keeps them.",
        ),
        Function::new(
            "ret.get_jid",
            "(returner, jid)",
            get_jid,
            "The returns of a job that a returner has kept.",
        ),
        Function::new(
            "ret.get_jids",
            "(returner)",
            get_jids,
            "The jobs that a returner has kept.",
        ),
        Function::new(
            "ret.get_minions",
            "(returner)",
            |call| Err(none(call, "get_minions")),
            "The minions that a returner knows. No returner here does.",
        ),
    ],
};

/// A returner has no such function.
fn none(call: &Call<'_>, function: &str) -> CallError {
    CallError::exception(
        "KeyError",
        format!("'{}.{function}'", call.text("returner")),
    )
}

fn jobs(call: &Call<'_>, function: &str) -> Result<Jobs, CallError> {
    if call.text("returner") != "local_cache" {
        return Err(none(call, function));
    }
    let hash = call.opt_text("hash_type");
    let hash = hash.and_then(|name| HashType::parse(&name).ok());
    let hash = hash.unwrap_or(HashType::Sha256);
    let options = StoreOptions::local_fs(call.ctx.cachedir(), hash);
    Ok(halite_store::open(&options).jobs)
}

fn failed(error: impl std::fmt::Display) -> CallError {
    CallError::command(format!("the job cache cannot be read: {error}"))
}

fn get_jid(call: &Call<'_>) -> CallResult {
    let jobs = jobs(call, "get_jid")?;
    let Ok(jid) = Jid::parse(call.text("jid")) else {
        return Ok(Map::new().into());
    };
    let returns = jobs.returns(&jid).map_err(failed)?;
    let returns = returns.into_iter();
    Ok(returns
        .map(|(id, kept)| (id.as_str().to_owned(), kept.into_map()))
        .collect::<Map>()
        .into())
}

fn get_jids(call: &Call<'_>) -> CallResult {
    let kept = jobs(call, "get_jids")?;
    let kept = kept.newest(JOBS_LISTED_MAX).map_err(failed)?;
    let mut jobs = Map::new();
    for (jid, load) in kept.into_iter().rev() {
        let field =
            |name: &str, default: &str| load.get(name).cloned().unwrap_or_else(|| default.into());
        jobs.insert(
            jid.as_str(),
            Map::from([
                ("Function", field("fun", "unknown-function")),
                (
                    "Arguments",
                    load.get("arg")
                        .cloned()
                        .unwrap_or_else(|| Value::List(Vec::new())),
                ),
                ("Target", field("tgt", "unknown-target")),
                ("Target-type", field("tgt_type", "list")),
                ("User", field("user", "root")),
                ("StartTime", start_time(jid.as_str()).into()),
            ]),
        );
    }
    Ok(jobs.into())
}

/// A job id as the moment that it is made of.
fn start_time(jid: &str) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let part = |from: usize, to: usize| jid.get(from..to).unwrap_or_default();
    let month = part(4, 6).parse::<usize>().ok();
    let month = month.and_then(|month| MONTHS.get(month.checked_sub(1)?));
    let Some(month) = month.filter(|_| jid.len() == 20) else {
        return String::new();
    };
    format!(
        "{}, {month} {} {}:{}:{}.{}",
        part(0, 4),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14),
        part(14, 20)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_id_is_a_moment() {
        assert_eq!(
            start_time("20261120160203123456"),
            "2026, Nov 20 16:02:03.123456"
        );
        assert_eq!(start_time("x"), "");
    }
}
