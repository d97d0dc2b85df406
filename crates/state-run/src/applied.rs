//! From compiled states to results: the run itself, and its return code.

use std::collections::HashSet;
use std::rc::Rc;

use halite_call::{Call, CallError, MinionContext};
use halite_proto::{Map, Value};
use halite_state::compile::Compiler;
use halite_state::run::{Handlers, Run, RunOptions, is_success};
use halite_state::{Chunk, Graph, Low, Mistake, SlsSource as _, Turn, high};

use crate::cache;
use crate::context::{StateContext, part_is_over};
use crate::prepare::EX_COMPILER_ERROR;
use crate::shell::{KnownFunctions, Stage, drive};
use crate::source::{Source, Written, with_source};

/// The exit code of a run with a failed state.
const EX_STATE_FAILURE: i64 = 2;

/// What came of applying states.
#[derive(Debug)]
pub(crate) enum Applied {
    /// Nothing was run: what is wrong with the data.
    Errors(Vec<String>),
    /// The results by tag, and what is left of the high data they come from.
    Results {
        /// Results by tag.
        results: Map,
        /// Where they come from.
        origin: Origin,
    },
}

/// What is wanted of the high data of a run when it is over; the data itself is
/// not kept meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    /// What says whether the run went well.
    handlers: Handlers,
    /// The data as it goes to the cache; nothing if there is none.
    pub(crate) packed: Option<Vec<u8>>,
}

impl Origin {
    /// What is wanted of this.
    pub(crate) fn of(high: &Map) -> Self {
        Self {
            handlers: Handlers::from_high(high),
            packed: None,
        }
    }

    /// The same with the data for the cache.
    fn kept(high: &Map) -> Self {
        let packed = (!high.is_empty()).then(|| cache::packed(high)).flatten();
        Self {
            packed,
            ..Self::of(high)
        }
    }
}

impl Applied {
    /// The return code of the function.
    pub(crate) fn retcode(&self) -> i64 {
        match self {
            Self::Errors(_) => EX_COMPILER_ERROR,
            Self::Results { results, origin } => {
                if is_success(results, &origin.handlers) {
                    0
                } else {
                    EX_STATE_FAILURE
                }
            }
        }
    }

    /// What the function returns.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Errors(errors) => Value::List(errors.into_iter().map(Value::from).collect()),
            Self::Results { results, .. } => results.into(),
        }
    }
}

/// Whether the run is to change nothing: the argument `test`, else the option.
pub(crate) fn test_mode(call: &Call<'_>) -> bool {
    match call.get("test") {
        None | Some(Value::Nil) => call.opt("test").is_true(),
        Some(Value::Bool(test)) => *test,
        Some(_) => true,
    }
}

/// What a source has given: all that a run needs, so that nothing of the source
/// is held while it goes on.
#[derive(Debug)]
pub(crate) enum Compiled {
    /// There is nothing to run.
    Ended(Applied),
    /// The chunks, and where they come from.
    Ready {
        /// What is to be run.
        low: Box<Low>,
        /// What is left of the high data.
        origin: Origin,
    },
}

impl Compiled {
    /// Nothing to run: what is wrong with the data.
    pub(crate) fn errors(errors: Vec<String>) -> Self {
        Self::Ended(Applied::Errors(errors))
    }

    /// Runs it.
    pub(crate) fn run(self, call: &Call<'_>, ctx: &StateContext<'_>) -> Result<Applied, CallError> {
        let (low, origin) = match self {
            Self::Ended(applied) => return Ok(applied),
            Self::Ready { low, origin } => (low, origin),
        };
        // From now on states are called.
        part_is_over(ctx);
        let results = run(call, ctx, *low, |low, options, known| {
            Run::new(low, options, known)
        })?;
        let results = terse(call, results);
        // What comes now has little in common with states.
        part_is_over(ctx);
        Ok(Applied::Results { results, origin })
    }
}

/// Makes chunks of high data that a compiler has rendered.
pub(crate) fn compiled(
    call: &Call<'_>,
    source: &Source<'_>,
    compiler: &Compiler<'_>,
    high: Map,
) -> Compiled {
    // Templates and SLS have been read.
    part_is_over(call.ctx);
    let origin = Origin::kept(&high);
    let mut low = match compiler.low(high) {
        Ok(low) => low,
        Err(errors) => return Compiled::errors(source.report_mistakes(errors)),
    };
    tell_unknown(source, &low);
    orchestrated(call, &mut low);
    Compiled::Ready {
        low: Box::new(low),
        origin,
    }
}

/// Puts chunks in order that came from elsewhere.
pub(crate) fn ready(source: &Source<'_>, compiler: &Compiler<'_>, chunks: Vec<Chunk>) -> Compiled {
    match compiler.with_low_options(|options| Low::order(chunks, options)) {
        Ok(low) => Compiled::Ready {
            low: Box::new(low),
            origin: Origin::default(),
        },
        Err(errors) => Compiled::errors(source.report_mistakes(errors)),
    }
}

/// Says where state functions are named that do not exist; each fails in its
/// turn.
fn tell_unknown(source: &Source<'_>, low: &Low) {
    let mut seen = HashSet::new();
    let chunks = low.chunks.iter().filter(|chunk| {
        let name = chunk.full_name();
        !seen.contains(&name) && {
            let unknown = !source.has_state(&name);
            seen.insert(name);
            unknown
        }
    });
    let mistakes = chunks.map(|chunk| {
        let text = format!(
            "State '{}' was not found in SLS '{}'",
            chunk.full_name(),
            chunk.sls()
        );
        Mistake::new(text).about(chunk.about([]))
    });
    let mistakes = mistakes.collect();
    source.report_mistakes(mistakes);
}

/// Runs the one id of high data, without `extend` and `exclude`.
pub(crate) fn only(
    call: &Call<'_>,
    ctx: &StateContext<'_>,
    source: &Source<'_>,
    compiler: &Compiler<'_>,
    mut all: Map,
    id: &str,
) -> Result<Applied, CallError> {
    let mut errors = high::verify(&all);
    let mut origin = Origin::default();
    let low = compiler.with_low_options(|options| {
        errors.extend(high::requisite_in(&mut all, options.disabled_requisites));
        if errors.is_empty() {
            origin = Origin::of(&all);
            Low::compile(all, options)
        } else {
            Err(errors)
        }
    });
    let low = match low {
        Ok(low) => low,
        Err(errors) => return Ok(Applied::Errors(source.report_mistakes(errors))),
    };
    let results = run(call, ctx, low, |low, options, known| {
        Run::of_id(low, id, options, known)
    })?;
    Ok(Applied::Results { results, origin })
}

/// Runs high data that came from elsewhere.
pub(crate) fn high(
    call: &Call<'_>,
    ctx: &StateContext<'_>,
    high: Map,
) -> Result<Applied, CallError> {
    written(call, ctx, Ok(high), None)
}

/// Runs high data that a text of no environment has given, or tells what is
/// wrong with it.
pub(crate) fn written(
    call: &Call<'_>,
    ctx: &StateContext<'_>,
    high: Result<Map, Vec<Mistake>>,
    text: Option<&Written<'_>>,
) -> Result<Applied, CallError> {
    let compiled = halite_call::within_call(ctx, call.job, |inner| {
        with_source(inner, |source| {
            if let Some(text) = text {
                source.keep(text);
            }
            match high {
                Ok(high) => compiled(call, source, &Compiler::new(source), high),
                Err(mistakes) => Compiled::errors(source.report_mistakes(mistakes)),
            }
        })
    });
    compiled.run(call, ctx)
}

/// Runs one chunk, for itself.
pub(crate) fn one(call: &Call<'_>, ctx: &StateContext<'_>, chunk: Chunk) -> Result<Map, CallError> {
    let low = Low {
        chunks: vec![chunk],
        order: vec![Turn {
            chunk: 0,
            trial: false,
        }],
        graph: Graph::default(),
        ..Low::default()
    };
    run(call, ctx, low, |low, options, known| {
        let options = RunOptions {
            has_master: false,
            ..options
        };
        Run::new(low, options, known)
    })
}

fn run(
    call: &Call<'_>,
    ctx: &StateContext<'_>,
    low: Low,
    make: impl FnOnce(Low, RunOptions, Rc<KnownFunctions>) -> Run,
) -> Result<Map, CallError> {
    let known = halite_call::within_call(ctx, call.job, KnownFunctions::new);
    let stage = Stage::new(ctx, call.job);
    if let Some(files) = files_to_keep(&low.chunks) {
        stage.remember("__lowstate__", files);
    }
    drive(&stage, make(low, options(call, ctx), Rc::new(known)))
}

/// The files that the run takes care of, if one of its states removes others
/// (`clean`): what it requires by id stays.
fn files_to_keep(chunks: &[Chunk]) -> Option<Value> {
    let is_file = |chunk: &&Chunk| chunk.state() == "file";
    let cleans = |chunk: &Chunk| chunk.get("clean").is_some_and(Value::is_true);
    if !chunks.iter().filter(is_file).any(cleans) {
        return None;
    }
    let files = chunks.iter().filter(is_file).map(|chunk| {
        let fields = ["name", "__id__", "fun"].map(|field| {
            let value = chunk.get(field).cloned().unwrap_or_default();
            (Value::from(field), value)
        });
        Value::from(Map::from(fields))
    });
    Some(Value::List(files.collect()))
}

fn options(call: &Call<'_>, ctx: &StateContext<'_>) -> RunOptions {
    let opts = ctx.opts();
    let is_on = |name: &str| opts.get(name).is_some_and(Value::is_true);
    let most = opts.get("state_max_parallel").and_then(Value::as_i64);
    RunOptions {
        test: is_on("test"),
        failhard: is_on("failhard"),
        mock: call.get("mock").is_some_and(Value::is_true),
        jid: call.job.jid().map(str::to_owned),
        minion: ctx.id(),
        events: is_on("state_events"),
        has_master: !ctx.is_local(),
        conditions: conditions(opts),
        parallel_max: most
            .filter(|most| *most > 0)
            .and_then(|most| usize::try_from(most).ok()),
        shell: ctx.grains().get("shell").cloned(),
    }
}

/// `global_state_conditions`: a map of states to one or several expressions.
fn conditions(opts: &Map) -> Vec<(String, Vec<String>)> {
    let Some(Value::Map(all)) = opts.get("global_state_conditions") else {
        return Vec::new();
    };
    let expressions = |value: &Value| match value {
        Value::List(items) => items.iter().map(halite_proto::python::str).collect(),
        Value::Str(one) => vec![one.clone()],
        _ => Vec::new(),
    };
    all.iter()
        .map(|(states, value)| (halite_proto::python::str(states), expressions(value)))
        .collect()
}

/// What is left of the results when only what matters is wanted.
fn terse(call: &Call<'_>, mut results: Map) -> Map {
    let terse = call.get("terse").is_some_and(Value::is_true)
        || call.opt_text("state_data").as_deref() == Some("terse");
    if terse {
        results.retain(|_, record| {
            let holds = record.get("result").is_some_and(Value::is_true);
            !holds || record.get("changes").is_some_and(Value::is_true)
        });
    }
    results
}

/// States of an orchestration know its job.
fn orchestrated(call: &Call<'_>, low: &mut Low) {
    let Some(jid) = call.get("orchestration_jid").filter(|jid| jid.is_true()) else {
        return;
    };
    for chunk in &mut low.chunks {
        chunk.set("__orchestration_jid__", jid.clone());
    }
}
