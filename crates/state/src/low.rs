//! High data to low chunks in the order in which they run.
//!
//! Invariant: the high data has passed [`crate::high::verify`]; data that is still
//! malformed after it (extensions can do that) is left out, never a panic.

use halite_proto::value::map::SMALL_MAX;
use halite_proto::{Map, Value};
use halite_target::glob;
use indexmap::IndexSet;

use crate::chunk::Chunk;
use crate::graph::{Graph, Reach, Turn};
use crate::mistake::Mistake;

/// What ordering needs to know.
pub struct LowOptions<'a> {
    /// Kinds of requisites that are ignored.
    pub disabled_requisites: &'a [String],
    /// The option `state_aggregate`: `true`, or a list of state modules.
    pub aggregate: &'a Value,
    /// Patterns of state functions that may not run (`state.disable`).
    pub disabled_states: &'a [String],
    /// The job of the orchestration, if this is one.
    pub orchestration_jid: Option<Value>,
    /// Whether there is the state function `fun` (`file.mod_watch`).
    pub has_state: &'a dyn Fn(&str) -> bool,
}

/// Chunks, how they depend on each other, and the order of the run.
#[derive(Clone, Debug, Default)]
pub struct Low {
    /// The chunks in the order in which they were declared.
    pub chunks: Vec<Chunk>,
    /// The order of the run. A chunk that another one has a `prereq` on is in
    /// it twice.
    pub order: Vec<Turn>,
    /// The dependencies.
    pub graph: Graph,
    /// Results of the states that are disabled, by tag.
    pub disabled: Map,
    /// What the log should say.
    pub warnings: Vec<String>,
}

impl Low {
    /// The chunks of `high`, in order.
    ///
    /// # Errors
    /// Requisites that mean nothing, and cycles; in Salt's words.
    pub fn compile(high: Map, options: &LowOptions<'_>) -> Result<Self, Vec<Mistake>> {
        let Reader {
            chunks, disabled, ..
        } = Reader::from_high(high, options);
        let mut low = Self::order(chunks, options)?;
        low.disabled = disabled;
        Ok(low)
    }

    /// The dependencies of the chunks of `high` in the language DOT; what makes
    /// no sense is left out, as Salt does.
    pub(crate) fn dot(high: Map, options: &LowOptions<'_>) -> String {
        let mut chunks = Reader::from_high(high, options).chunks;
        let mut graph = Graph::new(Reach::Included);
        for (index, chunk) in chunks.iter_mut().enumerate() {
            watch_to_require(chunk, options);
            graph.add_chunk(index, chunk, false);
        }
        for index in 0..chunks.len() {
            let disabled = options.disabled_requisites;
            if let Err(fault) = graph.add_requisites(&mut chunks, index, disabled, &mut Vec::new())
            {
                tracing::debug!("{fault}");
            }
        }
        graph.to_dot(&chunks)
    }

    /// Puts ready chunks in order.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn order(mut chunks: Vec<Chunk>, options: &LowOptions<'_>) -> Result<Self, Vec<Mistake>> {
        let mut cap = 1;
        for chunk in &mut chunks {
            watch_to_require(chunk, options);
            cap = raised(cap, chunk);
        }
        let mut sorted = Sorted::new(&mut chunks, Reach::Included, cap, options);
        // SLS that include each other and require each other: what 3008 calls
        // a cycle, since an SLS means what it includes, 3006 runs.
        if sorted.order.is_none() && includes(&chunks) {
            let again = Sorted::new(&mut chunks, Reach::Own, cap, options);
            if again.order.is_some() {
                sorted = again;
                sorted.warnings.push(
                    "requisites on SLS would be circular with the SLS they include; they mean the states of the named SLS only".to_owned(),
                );
            }
        }
        let Sorted {
            mut graph,
            order,
            warnings,
            mut errors,
        } = sorted;
        if order.is_none() {
            errors.push(graph.cycle(&chunks));
        }
        graph.forget_names();
        match order {
            Some(order) if errors.is_empty() => Ok(Self {
                chunks,
                order,
                graph,
                disabled: Map::new(),
                warnings,
            }),
            _ => Err(errors),
        }
    }

    /// The chunks in the order of the run, as `state.show_lowstate` shows
    /// them.
    pub fn to_value(&self) -> Value {
        let chunks = self.order.iter().filter_map(|turn| self.chunk(*turn));
        Value::List(chunks.map(Chunk::to_value).collect())
    }

    /// The same when nothing else is wanted of them.
    pub fn into_value(mut self) -> Value {
        let mut turns = vec![0_usize; self.chunks.len()];
        for turn in &self.order {
            if let Some(count) = turns.get_mut(turn.chunk) {
                *count += 1;
            }
        }
        let mut shown = Vec::with_capacity(self.order.len());
        for turn in &self.order {
            let (Some(left), Some(chunk)) =
                (turns.get_mut(turn.chunk), self.chunks.get_mut(turn.chunk))
            else {
                continue;
            };
            *left -= 1;
            shown.push(match left {
                0 => std::mem::take(chunk.map_mut()).into(),
                _ => chunk.to_value(),
            });
        }
        Value::List(shown)
    }

    /// The chunk of a turn.
    pub fn chunk(&self, turn: Turn) -> Option<&Chunk> {
        self.chunks.get(turn.chunk)
    }
}

/// Chunks with their dependencies and their order, if they have one.
struct Sorted {
    graph: Graph,
    order: Option<Vec<Turn>>,
    warnings: Vec<String>,
    errors: Vec<Mistake>,
}

impl Sorted {
    fn new(chunks: &mut [Chunk], reach: Reach, cap: i128, options: &LowOptions<'_>) -> Self {
        let mut graph = Graph::new(reach);
        let (mut warnings, mut errors) = (Vec::new(), Vec::new());
        for (index, chunk) in chunks.iter().enumerate() {
            graph.add_chunk(index, chunk, may_aggregate(chunk, options));
        }
        for index in 0..chunks.len() {
            let disabled = options.disabled_requisites;
            if let Err(fault) = graph.add_requisites(chunks, index, disabled, &mut warnings) {
                errors.push(fault);
            }
        }
        Self {
            order: graph.sort(chunks, cap),
            graph,
            warnings,
            errors,
        }
    }
}

/// Whether some chunk's SLS is included by another one.
fn includes(chunks: &[Chunk]) -> bool {
    chunks.iter().any(|chunk| {
        let from = chunk.get("__sls_included_from__");
        let from = from.and_then(Value::as_list).unwrap_or_default();
        from.iter().any(|sls| sls.as_str().is_some())
    })
}

/// A larger order raises the place of states without one.
fn raised(cap: i128, chunk: &Chunk) -> i128 {
    match chunk.order() {
        Value::Int(order) if *order > cap - 1 && *order > 0 => order.saturating_add(100),
        _ => cap,
    }
}

/// A module that cannot react to changes only requires.
fn watch_to_require(chunk: &mut Chunk, options: &LowOptions<'_>) {
    for (from, to) in [("watch", "require"), ("watch_any", "require_any")] {
        if !chunk.has(from) || (options.has_state)(&format!("{}.mod_watch", chunk.state())) {
            continue;
        }
        let Some(Value::List(watched)) = chunk.remove(from) else {
            continue;
        };
        let required = chunk
            .map_mut()
            .get_or_insert_with(to, || Value::List(Vec::new()));
        if let Value::List(required) = required {
            required.extend(watched);
        }
    }
}

fn may_aggregate(chunk: &Chunk, options: &LowOptions<'_>) -> bool {
    let wanted = match chunk.get("aggregate").unwrap_or(options.aggregate) {
        Value::Bool(wanted) => *wanted,
        Value::List(modules) => modules
            .iter()
            .any(|module| module.as_str() == Some(chunk.state())),
        Value::Map(modules) => modules.contains_key(chunk.state()),
        _ => false,
    };
    wanted && (options.has_state)(&format!("{}.mod_aggregate", chunk.state()))
}

struct Reader<'a, 'o> {
    options: &'a LowOptions<'o>,
    chunks: Vec<Chunk>,
    disabled: Map,
}

impl<'a, 'o> Reader<'a, 'o> {
    /// Reads everything that `high` declares.
    fn from_high(high: Map, options: &'a LowOptions<'o>) -> Self {
        let mut reader = Self {
            options,
            chunks: Vec::with_capacity(high.len()),
            disabled: Map::new(),
        };
        for (id, body) in high {
            reader.declaration(&id, body);
        }
        reader
    }

    fn declaration(&mut self, id: &Value, body: Value) {
        let (Some(name), Value::Map(body)) = (id.as_str(), body) else {
            return;
        };
        if name.starts_with("__") {
            return;
        }
        let mut body = body;
        let origin =
            ["__sls__", "__env__", "__sls_included_from__"].map(|key| (key, body.remove(key)));
        for (state, args) in body {
            let (Value::Str(state), Value::List(args)) = (state, args) else {
                continue;
            };
            if !state.starts_with("__") {
                self.state(id, &origin, state, args);
            }
        }
    }

    fn state(
        &mut self,
        id: &Value,
        origin: &[(&str, Option<Value>)],
        state: String,
        args: Vec<Value>,
    ) {
        // Its own entries and the function beside the arguments.
        let mut chunk = Map::with_capacity((args.len() + 6).min(SMALL_MAX));
        chunk.insert("state", state);
        chunk.insert("name", id.clone());
        if let Some(jid) = &self.options.orchestration_jid {
            chunk.insert("__orchestration_jid__", jid.clone());
        }
        for (key, value) in origin {
            if let Some(value) = value {
                chunk.insert(*key, value.clone());
            }
        }
        chunk.insert("__id__", id.clone());
        let mut functions = IndexSet::new();
        let mut names = IndexSet::new();
        for arg in args {
            match arg {
                Value::Str(function) => {
                    functions.insert(function);
                }
                Value::Map(arg) => argument(&mut chunk, &mut names, id, arg),
                _ => {}
            }
        }
        if names.is_empty() {
            self.push(Chunk::new(chunk), &functions);
            return;
        }
        for (place, entry) in names.into_iter().enumerate() {
            let mut chunk = chunk.clone();
            named(&mut chunk, &entry);
            chunk.insert("name_order", place + 1);
            self.push(Chunk::new(chunk), &functions);
        }
    }

    /// Adds the chunk with the first of the functions that is not disabled.
    fn push(&mut self, mut chunk: Chunk, functions: &IndexSet<String>) {
        for function in functions {
            chunk.set("fun", function.as_str());
            if !self.is_disabled(&chunk) {
                self.chunks.push(chunk);
                return;
            }
        }
    }

    fn is_disabled(&mut self, chunk: &Chunk) -> bool {
        let patterns = self.options.disabled_states;
        if patterns.is_empty() {
            return false;
        }
        let function = chunk.full_name();
        let Some(pattern) = patterns
            .iter()
            .find(|pattern| glob::fnmatch(pattern, &function))
        else {
            return false;
        };
        let mut result = Map::new();
        result.insert("changes", Map::new());
        result.insert("result", false);
        let comment = format!(
            "The state function \"{function}\" is currently disabled by \"{pattern}\", to re-enable, run state.enable {pattern}."
        );
        result.insert("comment", comment);
        result.insert("__run_num__", self.disabled.len());
        result.insert("__sls__", chunk.sls());
        self.disabled.insert(chunk.tag(), result);
        true
    }
}

fn argument(chunk: &mut Map, names: &mut IndexSet<Value>, id: &Value, arg: Map) {
    for (key, value) in arg {
        match key.as_str() {
            Some("names") => match value {
                Value::List(entries) => names.extend(entries),
                Value::Map(entries) => names.extend(entries.into_iter().map(|(key, _)| key)),
                _ => {}
            },
            // Nothing may say that this is another module's state.
            Some("state") => {}
            Some("name") if value.as_str().is_none() => {
                chunk.insert("name", id.clone());
            }
            _ => {
                chunk.insert(key, value);
            }
        }
    }
}

/// Gives the chunk one of the `names`, with the arguments of this one.
fn named(chunk: &mut Map, entry: &Value) {
    let Value::Map(entry) = entry else {
        chunk.insert("name", entry.clone());
        return;
    };
    let Some((name, args)) = entry.iter().next() else {
        return;
    };
    chunk.insert("name", name.clone());
    for arg in args.as_list().into_iter().flatten() {
        if let Some(arg) = arg.as_map() {
            chunk.extend(arg.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
    }
}
