//! Commands for minions: `local`, `local_async` and `local_subset`.

use std::time::Duration;

use halite_client::{Job, LocalClient, Report};
use halite_crypto::random_bytes;
use halite_gather::Return;
use halite_proto::publish::FunSpec;
use halite_proto::{Jid, Map, Value, python};

use super::fault;
use crate::fault::Fault;

/// A wait longer than a day is a mistake.
const SECONDS_MAX: f64 = 86_400.0;

/// A command, and how it is waited for.
pub(super) struct LocalCommand {
    pub(super) job: Job,
    pub(super) timeout: Duration,
    pub(super) is_full: bool,
    /// Other fields are options of other clients.
    pub(super) rest: Map,
}

/// Reads a command; `own` are the options that do not go to the minions.
pub(super) fn wanted(
    client: &LocalClient,
    mut fields: Map,
    own: &[&str],
) -> Result<LocalCommand, Fault> {
    let missing = |name: &str| Fault::bad(format!("the lowstate has no `{name}`"));
    let target = fields.remove("tgt").ok_or_else(|| missing("tgt"))?;
    let function = match fields.remove("fun") {
        Some(Value::Str(fun)) => FunSpec::One(fun),
        Some(Value::List(funs)) => FunSpec::Many(funs.iter().map(python::str).collect()),
        _ => return Err(missing("fun")),
    };
    let kind = fields
        .remove("tgt_type")
        .or_else(|| fields.remove("expr_form"));
    let timeout = match fields.remove("timeout") {
        None | Some(Value::Nil) => client.settings().timeout,
        Some(value) => seconds("timeout", &value)?,
    };
    let jid = match fields.remove("jid") {
        Some(Value::Str(jid)) if !jid.is_empty() => {
            Some(Jid::parse(jid).map_err(|error| Fault::bad(format!("jid: {error}")))?)
        }
        _ => None,
    };
    let arguments = arguments(fields.remove("arg"), fields.remove("kwarg"));
    let is_full = fields
        .remove("full_return")
        .is_some_and(|full| full.is_true());
    let returners = match fields.remove("ret") {
        Some(Value::Str(ret)) => ret,
        _ => String::new(),
    };
    let mut rest = Map::new();
    for name in own {
        if let Some(value) = fields.remove(name) {
            rest.insert(*name, value);
        }
    }
    if !fields.contains_key("delimiter") {
        fields.insert("delimiter", ":");
    }
    Ok(LocalCommand {
        job: Job {
            target,
            target_kind: kind.map_or_else(|| "glob".to_owned(), |kind| python::str(&kind)),
            function,
            arguments,
            returners,
            options: fields,
            jid,
        },
        timeout,
        is_full,
        rest,
    })
}

/// The arguments as they are published: those with names in a marked map.
fn arguments(args: Option<Value>, kwargs: Option<Value>) -> Vec<Value> {
    let mut arguments = match args {
        Some(Value::List(items)) => items,
        None | Some(Value::Nil) => Vec::new(),
        Some(one) => vec![one],
    };
    if let Some(Value::Map(kwargs)) = kwargs
        && !kwargs.is_empty()
    {
        let mut marked = Map::from([(halite_client::args::KWARG_MARK, true)]);
        marked.extend(kwargs);
        arguments.push(marked.into());
    }
    arguments
}

/// A number of seconds.
pub(super) fn seconds(name: &str, value: &Value) -> Result<Duration, Fault> {
    let given = value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
        .filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds));
    given
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| Fault::bad(format!("`{name}` must be a number of seconds")))
}

/// Sends a command and waits for every minion.
pub(super) async fn run(client: &LocalClient, fields: Map) -> Result<Value, Fault> {
    gathered(client, &wanted(client, fields, &[])?).await
}

/// The returns of a command, by minion.
async fn gathered(client: &LocalClient, wanted: &LocalCommand) -> Result<Value, Fault> {
    let started = client.start(&wanted.job, wanted.timeout).await;
    let Some(mut session) = started.map_err(|error| fault(&error))? else {
        return Ok(Map::new().into());
    };
    let jid = session.published().jid.clone();
    let mut returns = Map::new();
    while let Some(report) = session.next().await.map_err(|error| fault(&error))? {
        let (id, value) = shown(report, &jid, wanted.is_full);
        returns.insert(id, value);
    }
    Ok(returns.into())
}

/// The return of one minion in the answer.
pub(super) fn shown(report: Report, jid: &Jid, is_full: bool) -> (String, Value) {
    match report {
        Report::Missing { id, text } if is_full => (id, Map::from([("ret", text)]).into()),
        Report::Missing { id, text } => (id, text.into()),
        Report::Returned(Return { id, value, .. }) if !is_full => (id, value),
        Report::Returned(Return {
            id,
            value,
            out,
            retcode,
            ..
        }) => {
            let mut full = Map::from([("ret", value)]);
            if let Some(out) = out {
                full.insert("out", out);
            }
            full.insert("retcode", retcode);
            full.insert("jid", jid);
            (id, full.into())
        }
    }
}

/// Sends a command and does not wait.
pub(super) async fn publish(client: &LocalClient, fields: Map) -> Result<Value, Fault> {
    let LocalCommand { job, .. } = wanted(client, fields, &[])?;
    // Who asks does not say how long the master may take: nothing is proven yet.
    let settings = client.settings();
    let patience = settings.timeout.max(settings.publish_timeout);
    let published = client.publish(&job, patience).await;
    Ok(match published.map_err(|error| fault(&error))? {
        None => Map::new().into(),
        Some(published) => {
            let minions = published.minions.into_iter().map(Value::from).collect();
            Map::from([
                ("jid", Value::from(&published.jid)),
                ("minions", Value::List(minions)),
            ])
            .into()
        }
    })
}

/// Sends a command to some of the minions that have its function.
pub(super) async fn subset(client: &LocalClient, fields: Map) -> Result<Value, Fault> {
    let mut wanted = wanted(client, fields, &["subset", "sub", "cli"])?;
    let count = wanted
        .rest
        .remove("subset")
        .or_else(|| wanted.rest.remove("sub"));
    let count = match count {
        None | Some(Value::Nil) => 3,
        Some(count) => python::str(&count)
            .parse::<usize>()
            .map_err(|_| Fault::bad("`subset` must be a number"))?,
    };
    let functions = match &wanted.job.function {
        FunSpec::One(fun) => vec![fun.clone()],
        FunSpec::Many(funs) => funs.clone(),
    };
    let question = Job {
        function: FunSpec::One("sys.list_functions".to_owned()),
        arguments: Vec::new(),
        returners: String::new(),
        jid: None,
        ..wanted.job.clone()
    };
    let started = client.start(&question, wanted.timeout).await;
    let Some(mut session) = started.map_err(|error| fault(&error))? else {
        return Ok(Map::new().into());
    };
    let mut fit = Vec::new();
    while let Some(report) = session.next().await.map_err(|error| fault(&error))? {
        if let Report::Returned(Return { id, value, .. }) = report {
            let has = value.as_list().unwrap_or_default();
            let has = |fun: &String| has.contains(&Value::from(fun.as_str()));
            if functions.iter().all(has) {
                fit.push(id);
            }
        }
    }
    fit.sort_by_cached_key(|_| random_bytes::<8>());
    fit.truncate(count);
    wanted.job.target = Value::List(fit.into_iter().map(Value::from).collect());
    wanted.job.target_kind = "list".to_owned();
    gathered(client, &wanted).await
}
