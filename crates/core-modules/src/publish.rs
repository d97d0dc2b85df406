//! `publish.*`: commands for other minions, and runners on the master, as far as
//! `peer` and `peer_run` allow it there.

use std::time::{Duration, Instant};

use halite_proto::{Map, Value};

use halite_call::{Call, CallError, CallResult, ContextError, Function, Module, args};

pub(super) const MODULE: Module = Module {
    name: "publish",
    functions: &[
        Function::new(
            "publish.full_data",
            "(tgt, fun, arg=None, tgt_type='glob', returner='', timeout=5)",
            full_data,
            "As publish.publish, with all that is known of each return.",
        ),
        Function::new(
            "publish.publish",
            "(tgt, fun, arg=None, tgt_type='glob', returner='', timeout=5, via_master=None)",
            publish,
            "Runs a function on the minions of a target and gives what each returns. The\nmaster's option peer says who may.",
        ),
        Function::new(
            "publish.runner",
            "(fun, arg=None, timeout=5)",
            runner,
            "Runs a runner on the master and gives what it returns. The master's option\npeer_run says who may.",
        ),
    ],
};

/// Between two questions for returns: soon at first, then as Salt asks.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(300);

/// Seconds that are waited at most.
const TIMEOUT_MAX: f64 = 86_400.0;

fn publish(call: &Call<'_>) -> CallResult {
    if call.is_given("via_master") && !call.arg("via_master").is_nil() {
        return Err(CallError::invocation(
            "publish.publish: via_master is not supported: the command goes to the master of this job",
        ));
    }
    let Published::Returns(returns) = published(call, "clean")? else {
        return Ok(Value::Nil);
    };
    let values = returns.into_iter().map(|(id, ret)| {
        let value = ret.get("ret").cloned().unwrap_or_default();
        (id, value)
    });
    Ok(values.collect::<Map>().into())
}

fn full_data(call: &Call<'_>) -> CallResult {
    Ok(match published(call, "full")? {
        Published::ToNobody => Value::Nil,
        Published::Returns(returns) => returns.into(),
    })
}

/// What came of a command.
enum Published {
    /// Nobody is meant.
    ToNobody,
    /// What was returned; nothing where publishing is not allowed.
    Returns(Map),
}

/// Publishes and waits for the returns.
fn published(call: &Call<'_>, form: &str) -> Result<Published, CallError> {
    let fun = call.text("fun");
    let nothing = Published::Returns(Map::new());
    if fun == "publish.publish" {
        tracing::info!("publish.publish does not publish itself");
        return Ok(nothing);
    }
    if call.ctx.is_local() {
        tracing::error!("publish needs a master: nothing was sent");
        return Ok(nothing);
    }
    let timeout = timeout(call)?;
    let load = Map::from([
        ("cmd", Value::from("minion_pub")),
        ("fun", fun.as_str().into()),
        ("arg", arguments(call)),
        ("tgt", call.arg("tgt").clone()),
        ("tgt_type", call.text("tgt_type").into()),
        ("ret", call.text("returner").into()),
        ("tmo", timeout.as_secs_f64().into()),
        ("form", form.into()),
        ("id", call.ctx.id().into()),
        ("no_parse", Value::List(Vec::new())),
    ]);
    let published = match call.ctx.upstream().and_then(|master| master.request(load)) {
        Err(ContextError::TimedOut { .. }) => {
            return Err(CallError::command(format!("'{fun}' publish timed out")));
        }
        published => published?,
    };
    let (Some(jid), Some(minions)) = (published.get("jid"), published.get("minions")) else {
        return Ok(nothing);
    };
    let expected = minions.as_list().unwrap_or_default().len();
    if expected == 0 {
        return Ok(Published::ToNobody);
    }
    let question = Map::from([
        ("cmd", Value::from("pub_ret")),
        ("id", call.ctx.id().into()),
        ("jid", jid.clone()),
    ]);
    let deadline = Instant::now() + timeout;
    let mut pause = FIRST_PAUSE;
    loop {
        let returns = match call.ctx.upstream()?.request(question.clone())? {
            Value::Map(returns) => returns,
            _ => Map::new(),
        };
        if returns.len() >= expected || Instant::now() >= deadline {
            return Ok(Published::Returns(returns));
        }
        if !call.cancel().sleep(pause) {
            return Ok(Published::Returns(returns));
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn runner(call: &Call<'_>) -> CallResult {
    let fun = call.text("fun");
    if call.ctx.is_local() {
        return Ok("No access to master. If using salt-call with --local, please remove.".into());
    }
    let load = Map::from([
        ("cmd", Value::from("minion_runner")),
        ("fun", fun.as_str().into()),
        ("arg", arguments(call)),
        ("tmo", timeout(call)?.as_secs_f64().into()),
        ("id", call.ctx.id().into()),
        ("no_parse", Value::List(Vec::new())),
    ]);
    match call.ctx.upstream().and_then(|master| master.request(load)) {
        Err(ContextError::TimedOut { .. }) => {
            Ok(format!("'{fun}' runner publish timed out").into())
        }
        answer => Ok(answer?),
    }
}

/// `arg` as a list: text is read as on the command line.
fn arguments(call: &Call<'_>) -> Value {
    let arg = match call.arg("arg") {
        Value::Str(text) => args::yamlify(text),
        other => other.clone(),
    };
    match arg {
        Value::Nil => Value::List(Vec::new()),
        Value::List(items) => Value::List(items),
        one => Value::List(vec![one]),
    }
}

fn timeout(call: &Call<'_>) -> Result<Duration, CallError> {
    let seconds = match call.arg("timeout") {
        Value::Float(seconds) => Some(*seconds),
        Value::Str(text) => text.trim().parse().ok(),
        other => other.as_i64().map(|seconds| seconds as f64),
    };
    let seconds = seconds.filter(|seconds: &f64| (0.0..=TIMEOUT_MAX).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| CallError::invocation("timeout must be a number of seconds"))
}
