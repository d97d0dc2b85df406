//! The functions that apply states from SLS files.
//!
//! Salt 3008.5, `salt/modules/state.py`.

use halite_call::{Call, CallError, CallResult, Function, within_call};
use halite_proto::{Map, Value};
use halite_state::Mistake;
use halite_state::compile::{Compiler, Matches, TopError, verify_tops, whitelisted};

use super::switches;
use crate::applied::{self, Applied, Compiled, Origin};
use crate::cache;
use crate::context::{StateContext, part_is_over};
use crate::prepare::{EX_COMPILER_ERROR, EX_PILLAR_FAILURE, pillar_errors, prepare};
use crate::source::{Source, with_source};
use crate::turns::{self, Queue};

pub(super) const APPLY: Function = shown_as_states(Function::new(
    "state.apply",
    "(mods=None, **kwargs)",
    apply,
    "Applies the SLS that are named, or without any all that the top file gives to\nthis minion. test=True only says what would change; pillar lays values over the\npillar; exclude leaves SLS out; queue=True waits for another run to end.",
));

pub(super) const HIGHSTATE: Function = shown_as_states(Function::new(
    "state.highstate",
    "(test=None, queue=None, state_events=None, **kwargs)",
    |call| highstate(call, None),
    "Applies everything that the top file gives to this minion.",
));

pub(super) const SLS: Function = shown_as_states(Function::new(
    "state.sls",
    "(mods, test=None, exclude=None, queue=None, sync_mods=None, state_events=None, **kwargs)",
    |call| sls(call, call.arg("mods"), None),
    "Applies the SLS that are named (a list, or comma separated).",
));

pub(super) const SLS_ID: Function = shown_as_states(Function::new(
    "state.sls_id",
    "(id_, mods, test=None, queue=None, state_events=None, **kwargs)",
    sls_id,
    "Applies the one id of the SLS that are named, and what it requires.",
));

pub(super) const TEST: Function = shown_as_states(Function::new(
    "state.test",
    "(*args, **kwargs)",
    test,
    "state.apply in test mode: says what would change and changes nothing.",
));

pub(super) const TOP: Function = shown_as_states(Function::new(
    "state.top",
    "(topfn, test=None, queue=None, **kwargs)",
    top,
    "Applies what another top file, given by its path in the file roots, gives to\nthis minion.",
));

pub(super) const CLEAR_CACHE: Function = Function::new(
    "state.clear_cache",
    "()",
    |call| Ok(cache::clear(call.ctx)),
    "Removes the high data that runs have left in the cache, and names the files.",
);

pub(super) const ORCHESTRATE: Function = Function::new(
    "state.orchestrate",
    "(mods, saltenv='base', test=None, exclude=None, pillar=None, pillarenv=None)",
    orchestrate,
    "Applies SLS of a machine without a master, as `salt-run state.orchestrate` does\non a master: the results stand under `data` and the minion's id.",
);

pub(super) const EVENT: Function = Function::new(
    "state.event",
    "(tagmatch='*', count=-1, quiet=False, sock_dir=None, pretty=False, node='minion')",
    |_| {
        Err(CallError::command(
            "events are shown by salt-call state.event, on the machine of the minion",
        ))
    },
    "Shows the events of the minion's bus as they come, or with node='master' those\nof the master that runs here. `salt-call` does that itself.",
);

/// Results of states are shown by the outputter of that name.
pub(super) const fn shown_as_states(mut function: Function) -> Function {
    function.out = Some("highstate");
    function
}

/// The tag of what is said when there is nothing to apply.
const NO_STATES: &str = "no_|-states_|-states_|-None";

fn apply(call: &Call<'_>) -> CallResult {
    let mods = call.arg("mods");
    if mods.is_true() {
        sls(call, mods, None)
    } else {
        highstate(call, None)
    }
}

fn orchestrate(call: &Call<'_>) -> CallResult {
    if call.opt_text("file_client").as_deref() != Some("local") {
        return Err(CallError::command(
            "state.orchestrate applies this machine's own files: use salt-call --local, or salt-run \
             on the master",
        ));
    }
    let results = sls(call, call.arg("mods"), None)?;
    let id = call.opt_text("id").unwrap_or_default();
    Ok(Map::from([
        ("data", Value::from(Map::from([(id, results)]))),
        ("outputter", "highstate".into()),
        ("retcode", call.retcode().into()),
    ])
    .into())
}

fn test(call: &Call<'_>) -> CallResult {
    let mods = call.varargs().first().or_else(|| call.get("mods"));
    match mods.filter(|mods| mods.is_true()) {
        Some(mods) => sls(call, mods, Some(true)),
        None => highstate(call, Some(true)),
    }
}

/// What a state function does around the run itself: the turn, the pillar, the
/// options, the return code.
pub(super) fn with_turn(
    call: &Call<'_>,
    by_name: bool,
    test: Option<bool>,
    run: impl FnOnce(&mut StateContext<'_>) -> Result<Applied, CallError>,
) -> CallResult {
    let queue = Queue::read(call.get("queue"), call.ctx.opts());
    let concurrent = call.get("concurrent").is_some_and(Value::is_true);
    let _turn = match turns::take(call, queue, concurrent)? {
        Ok(turn) => turn,
        Err(others) => return Ok(refused(call, others)),
    };
    if call.get("localconfig").is_some_and(Value::is_true) {
        return Err(CallError::invocation(
            "localconfig is not available here: give the run a configuration of its own with salt-call -c",
        ));
    }
    // Whatever it was that this minion has done before.
    part_is_over(call.ctx);
    let mut ctx = prepare(call, by_name)?;
    ctx.set_opt("test", test.unwrap_or_else(|| applied::test_mode(call)));
    if let Some(events) = call.get("state_events").filter(|events| !events.is_nil()) {
        ctx.set_opt("state_events", events.clone());
    }
    if let Some(mut errors) = pillar_errors(call, &ctx) {
        call.set_retcode(EX_PILLAR_FAILURE);
        errors.insert(
            0,
            "Pillar failed to render with the following messages:".into(),
        );
        return Ok(errors.into());
    }
    let applied = run(&mut ctx);
    call.job.commits.add(&ctx.commits());
    let applied = applied?;
    call.set_retcode(applied.retcode());
    Ok(applied.into_value())
}

/// The texts in place of results.
pub(super) fn refused(call: &Call<'_>, errors: Vec<String>) -> Value {
    call.set_retcode(EX_COMPILER_ERROR);
    Value::List(errors.into_iter().map(Value::from).collect())
}

fn sls(call: &Call<'_>, mods: &Value, test: Option<bool>) -> CallResult {
    let mods = names(mods);
    let disabled = switches::disabled(call, &mods);
    if !disabled.is_empty() {
        return Ok(refused(call, disabled));
    }
    with_turn(call, true, test, |ctx| {
        sync_wanted(call, ctx);
        if let Some(high) = cache::wanted(call) {
            return applied::high(call, ctx, high);
        }
        let compiled = within_call(ctx, call.job, |inner| {
            with_source(inner, |source| {
                let compiler = Compiler::new(source);
                let matches = named(inner, &mods);
                let (mut high, errors) = compiler.render(&matches);
                if !errors.is_empty() {
                    return Compiled::errors(source.report_mistakes(errors));
                }
                exclude(&mut high, call.get("exclude"));
                applied::compiled(call, source, &compiler, high)
            })
        });
        let applied = compiled.run(call, ctx)?;
        cache::keep(call, &applied, true);
        Ok(applied)
    })
}

fn highstate(call: &Call<'_>, test: Option<bool>) -> CallResult {
    if !switches::disabled(call, &["highstate".to_owned()]).is_empty() {
        let name = "Salt highstate run is disabled. To re-enable, run state.enable highstate";
        return Ok(
            Map::from([("name", name), ("result", "False"), ("comment", "Disabled")]).into(),
        );
    }
    with_turn(call, false, test, |ctx| from_top(call, ctx))
}

fn top(call: &Call<'_>) -> CallResult {
    let path = call.text("topfn");
    let saltenv = call.get("saltenv").cloned();
    with_turn(call, false, None, |ctx| {
        ctx.set_opt(
            "state_top",
            format!("salt://{}", path.trim_start_matches("salt://")),
        );
        if let Some(saltenv) = saltenv {
            ctx.set_opt("state_top_saltenv", saltenv);
        }
        from_top(call, ctx)
    })
}

/// Applies what the top file gives.
fn from_top(call: &Call<'_>, ctx: &StateContext<'_>) -> Result<Applied, CallError> {
    if let Some(high) = cache::wanted(call) {
        return applied::high(call, ctx, high);
    }
    let compiled = within_call(ctx, call.job, |inner| {
        with_source(inner, |source| {
            let compiler = Compiler::new(source);
            let nothing = |comment: &str| Compiled::Ended(nothing(comment));
            let top = match compiler.top() {
                Ok(top) => top,
                Err(error @ (TopError::NoTargets | TopError::NoDefaultTop)) => {
                    return nothing(&format!("Unable to render top file: {error}"));
                }
                Err(error) => return Compiled::errors(vec![error.to_string()]),
            };
            let mut errors = verify_tops(&top);
            let matches = compiler.matches(&top);
            if matches.is_empty() {
                return nothing(&no_top(source, &compiler, errors));
            }
            sync_modules(inner, &matches);
            let whitelist = call.get("whitelist").map(names).unwrap_or_default();
            let (mut high, more) = compiler.render(&whitelisted(matches, &whitelist));
            exclude(&mut high, call.get("exclude"));
            errors.extend(more);
            if !errors.is_empty() {
                return Compiled::errors(source.report_mistakes(errors));
            }
            if high.is_empty() {
                return nothing("No states found for this minion");
            }
            applied::compiled(call, source, &compiler, high)
        })
    });
    let applied = compiled.run(call, ctx)?;
    cache::keep(call, &applied, false);
    Ok(applied)
}

/// Why there is nothing to do: nobody has named this minion, or the top file
/// is wrong, and then how.
fn no_top(source: &Source<'_>, compiler: &Compiler<'_>, mistakes: Vec<Mistake>) -> String {
    let mut text = "No Top file or master_tops data matches found. Please see master log for \
                    details."
        .to_owned();
    let fault = compiler.top_fault();
    let fault = fault.map(|report| format!("The top file does not render: {report}"));
    for reason in fault.into_iter().chain(source.report_mistakes(mistakes)) {
        text.push('\n');
        text.push_str(&reason);
    }
    text
}

fn nothing(comment: &str) -> Applied {
    let record = Map::from([
        ("result", Value::Bool(false)),
        ("comment", comment.into()),
        ("name", "No States".into()),
        ("changes", Map::new().into()),
        ("__run_num__", 0.into()),
    ]);
    Applied::Results {
        results: Map::from([(NO_STATES, record)]),
        origin: Origin::default(),
    }
}

fn sls_id(call: &Call<'_>) -> CallResult {
    let id = call.text("id_");
    let mods = names(call.arg("mods"));
    with_turn(call, true, None, |ctx| {
        let applied = within_call(ctx, call.job, |inner| {
            with_source(inner, |source| {
                let compiler = Compiler::new(source);
                let (high, errors) = compiler.render(&named(inner, &mods));
                if !errors.is_empty() {
                    return Ok(Applied::Errors(source.report_mistakes(errors)));
                }
                applied::only(call, ctx, source, &compiler, high, &id)
            })
        })?;
        match &applied {
            Applied::Results { results, .. } if results.is_empty() => {
                use halite_call::MinionContext as _;
                let env = ctx.opts().get("saltenv").cloned().unwrap_or_default();
                Err(CallError::invocation(format!(
                    "No matches for ID '{id}' found in SLS '{}' within saltenv '{}'",
                    call.text("mods"),
                    halite_proto::python::str(&env)
                )))
            }
            _ => Ok(applied),
        }
    })
}

/// Fetches users' own modules of the environments that the top file names
/// (`autoload_dynamic_modules`).
fn sync_modules(call: &Call<'_>, matches: &Matches) {
    let wanted = call.opt("autoload_dynamic_modules");
    if !wanted.is_nil() && !wanted.is_true() {
        return;
    }
    let envs = Value::List(matches.keys().cloned().collect());
    if let Err(error) = call.salt("saltutil.sync_all", &[envs], Map::new()) {
        tracing::warn!(%error, "users' modules could not be fetched");
    }
}

/// Fetches the kinds of users' modules that the caller names (`sync_mods`).
fn sync_wanted(call: &Call<'_>, ctx: &StateContext<'_>) {
    use halite_call::MinionContext as _;
    let kinds = match call.get("sync_mods") {
        Some(Value::Bool(true)) => vec!["all".to_owned()],
        Some(kinds) => names(kinds),
        None => return,
    };
    let saltenv = ctx.opts().get("saltenv").cloned().unwrap_or_default();
    let kinds = match kinds.iter().any(|kind| kind == "all") {
        true => vec!["all".to_owned()],
        false => kinds,
    };
    for kind in kinds {
        let kwargs = Map::from([("saltenv", saltenv.clone())]);
        if let Err(error) = call.salt(&format!("saltutil.sync_{kind}"), &[], kwargs) {
            tracing::warn!(%error, "Invalid custom module type '{kind}', ignoring");
        }
    }
}

/// The SLS that were named, in the run's environment.
fn named(call: &Call<'_>, mods: &[String]) -> Matches {
    let env = call
        .opt_text("saltenv")
        .unwrap_or_else(|| "base".to_owned());
    let mods = mods.iter().map(|sls| Value::from(sls.as_str()));
    Map::from([(env, Value::List(mods.collect()))])
}

/// A list, or text separated by commas.
pub(super) fn names(value: &Value) -> Vec<String> {
    let text = |value: &Value| halite_proto::python::str(value).trim().to_owned();
    match value {
        Value::List(items) => items.iter().map(text).collect(),
        Value::Nil => Vec::new(),
        other => halite_proto::python::str(other)
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect(),
    }
}

/// Leaves out what the caller names: SLS, or maps of `sls` and `id`.
fn exclude(high: &mut Map, exclude: Option<&Value>) {
    let more: Vec<Value> = match exclude {
        Some(Value::List(items)) => items.clone(),
        Some(value) if value.is_true() => names(value).into_iter().map(Value::from).collect(),
        _ => return,
    };
    let known = high.get_or_insert_with("__exclude__", || Value::List(Vec::new()));
    if let Value::List(known) = known {
        known.extend(more);
    }
}
