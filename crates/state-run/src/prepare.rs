//! The beginning of every state function: which environments, which pillar, and the
//! master's rules about both.

use std::sync::Arc;

use halite_call::{Call, CallError, PillarRequest, python};
use halite_output::{RenderOptions, render};
use halite_proto::{Map, Value};

use crate::context::{StateContext, with_overrides};

/// The exit code of a run that the pillar stops.
pub(crate) const EX_PILLAR_FAILURE: i64 = 5;

/// The exit code of data that does not compile.
pub(crate) const EX_COMPILER_ERROR: i64 = 1;

/// The options that a master decides for its minions.
const MASTER_OPTIONS: [&str; 14] = [
    "default_top",
    "env_order",
    "failhard",
    "file_roots",
    "jinja_env",
    "jinja_lstrip_blocks",
    "jinja_sls_env",
    "jinja_trim_blocks",
    "nodegroups",
    "renderer",
    "state_auto_order",
    "state_top",
    "state_top_saltenv",
    "top_file_merging_strategy",
];

/// Either side may switch these on.
const EITHER_OPTIONS: [&str; 2] = ["state_aggregate", "state_events"];

/// The minion for one state function: `saltenv`, `pillarenv`, `pillar` and
/// `pillar_enc` of its keyword arguments are honoured. With `by_name` SLS are
/// named, and an environment that is not given is `base`.
///
/// # Errors
/// When the arguments make no sense or no pillar can be had.
pub(crate) fn prepare<'c>(
    call: &'c Call<'_>,
    by_name: bool,
) -> Result<StateContext<'c>, CallError> {
    prepare_with(call, by_name, overrides(call)?)
}

/// Like [`prepare`] for functions that ignore `pillar`, as Salt's do.
///
/// # Errors
/// As [`prepare`].
pub(crate) fn prepare_plain<'c>(call: &'c Call<'_>) -> Result<StateContext<'c>, CallError> {
    prepare_with(call, false, None)
}

fn prepare_with<'c>(
    call: &'c Call<'_>,
    by_name: bool,
    overrides: Option<Map>,
) -> Result<StateContext<'c>, CallError> {
    let mut opts = call.ctx.opts().clone();
    environments(call, &mut opts)?;
    let pillarenv = opts.get("pillarenv").cloned().unwrap_or_default();
    let saltenv = opts.get("saltenv").cloned().unwrap_or_default();
    if by_name && saltenv.is_nil() {
        opts.insert("saltenv", "base");
    }
    master_options(call, &mut opts);
    let text = |value: &Value| value.is_true().then(|| python::str(value));
    let request = PillarRequest {
        saltenv: text(&saltenv),
        pillarenv: text(&pillarenv),
        overrides,
        ..PillarRequest::default()
    };
    let pillar = pillar(call, &opts, &pillarenv, &request)?;
    Ok(StateContext::new(call.ctx, opts, pillar).renewed_by(request))
}

/// What stops a run: the errors of its pillar, unless `force` is given.
pub(crate) fn pillar_errors(call: &Call<'_>, ctx: &StateContext<'_>) -> Option<Vec<Value>> {
    use halite_call::MinionContext as _;
    if call.get("force").is_some_and(Value::is_true) {
        return None;
    }
    match ctx.pillar().get("_errors") {
        Some(Value::List(errors)) if !errors.is_empty() => Some(errors.clone()),
        Some(other) if other.is_true() => Some(vec![other.clone()]),
        _ => None,
    }
}

/// [`pillar_errors`] as the failure of functions that only show something.
pub(crate) fn refuse_pillar_errors(
    call: &Call<'_>,
    ctx: &StateContext<'_>,
) -> Result<(), CallError> {
    let Some(errors) = pillar_errors(call, ctx) else {
        return Ok(());
    };
    call.set_retcode(EX_PILLAR_FAILURE);
    let shown = render(
        Some("nested"),
        &Value::List(errors),
        &RenderOptions::default(),
    );
    Err(CallError::command(format!(
        "Pillar failed to render. Additional info follows:\n\n{shown}"
    )))
}

/// The argument `pillar`, which goes over the compiled one.
fn overrides(call: &Call<'_>) -> Result<Option<Map>, CallError> {
    let encrypted = call.get("pillar_enc").filter(|enc| enc.is_true());
    match call.get("pillar") {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::Map(pillar)) if encrypted.is_none() => Ok(Some(pillar.clone())),
        Some(given) => match encrypted {
            None => Err(CallError::invocation(
                "Pillar data must be formatted as a dictionary, unless pillar_enc is specified.",
            )),
            Some(renderer) => decrypted(call, given, &python::str(renderer)),
        },
    }
}

fn decrypted(call: &Call<'_>, given: &Value, renderer: &str) -> Result<Option<Map>, CallError> {
    let render_context = halite_call::CallRenderContext::new(call);
    let renders = halite_render::Renderer::new(&render_context);
    let plain = halite_call::decrypt(&renders, &renderer.to_lowercase(), given.clone());
    let plain = plain.map_err(CallError::command)?;
    let map = match plain {
        Value::Str(text) => {
            match halite_render::Renderer::new(&render_context).sls(&halite_render::SlsRequest {
                renderer: Some("yaml"),
                ..halite_render::SlsRequest::new(text.as_bytes())
            }) {
                Ok(value) => value,
                Err(error) => return Err(CallError::command(error.message())),
            }
        }
        other => other,
    };
    match map {
        Value::Map(map) => Ok(Some(map)),
        _ => {
            tracing::error!("Pillar override was not passed as a dictionary");
            Ok(None)
        }
    }
}

/// `saltenv` and `pillarenv` of the call.
fn environments(call: &Call<'_>, opts: &mut Map) -> Result<(), CallError> {
    let is_on = |opts: &Map, name| opts.get(name).is_some_and(Value::is_true);
    let saltenv = call.get("saltenv").cloned();
    if let Some(saltenv) = &saltenv {
        if !saltenv.is_nil() {
            let text = python::str(saltenv);
            let own = opts.get("saltenv").and_then(Value::as_str);
            if is_on(opts, "lock_saltenv") && own != Some(&text) {
                return Err(CallError::command(
                    "lock_saltenv is enabled, saltenv cannot be changed",
                ));
            }
            opts.insert("saltenv", text);
        } else {
            opts.insert("saltenv", Value::Nil);
        }
    }
    let text = |value: &Value| match value {
        Value::Nil => Value::Nil,
        other => python::str(other).into(),
    };
    if let Some(pillarenv) = call.get("pillarenv") {
        opts.insert("pillarenv", text(pillarenv));
    } else if let Some(saltenv) = saltenv
        && is_on(opts, "pillarenv_from_saltenv")
    {
        opts.insert("pillarenv", text(&saltenv));
    }
    Ok(())
}

/// What the master decides goes over the minion's options; a minion with local
/// files decides itself.
fn master_options(call: &Call<'_>, opts: &mut Map) {
    if call.ctx.is_local() || opts.get("local_state").is_some_and(Value::is_true) {
        return;
    }
    let load = Map::from([("cmd", "_master_opts")]);
    let upstream = call.ctx.upstream();
    let answer = upstream.and_then(|master| master.request(load));
    let Ok(Value::Map(master)) = answer else {
        tracing::warn!("the master did not send its options for states: Salt's defaults are used");
        let roots = Map::from([("base", Value::List(Vec::new()))]);
        opts.insert("renderer", "jinja|yaml");
        opts.insert("failhard", false);
        opts.insert("state_top", "salt://top.sls");
        opts.insert("nodegroups", Map::new());
        opts.insert("file_roots", roots);
        return;
    };
    for name in MASTER_OPTIONS {
        if let Some(value) = master.get(name) {
            opts.insert(name, value.clone());
        }
    }
    for name in EITHER_OPTIONS {
        if !opts.get(name).is_some_and(Value::is_true)
            && let Some(value) = master.get(name)
        {
            opts.insert(name, value.clone());
        }
    }
}

/// The pillar of the run. `salt-call` has just compiled one; a minion has it
/// compiled for each run.
fn pillar(
    call: &Call<'_>,
    opts: &Map,
    pillarenv: &Value,
    request: &PillarRequest,
) -> Result<Arc<Map>, CallError> {
    let from_cli = call.opt_text("__cli").as_deref() == Some("salt-call");
    if from_cli && request.overrides.is_none() && pillarenv == call.opt("pillarenv") {
        let held = call.ctx.pillar();
        if !held.is_empty() {
            return Ok(held);
        }
    }
    let pillar = call.ctx.compile_pillar(request)?;
    Ok(Arc::new(with_overrides(pillar, request, opts)))
}
