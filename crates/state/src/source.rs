//! What the compiler asks of its surroundings.
//!
//! Invariant: everything that reads files, renders text or knows the minion is
//! behind [`SlsSource`].

use halite_proto::{Map, Value};

/// The options that compiling looks at.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The environment that was asked for (`saltenv`); `None` means all.
    pub saltenv: Option<String>,
    /// The one environment whose top file counts (`state_top_saltenv`).
    pub state_top_saltenv: Option<String>,
    /// `merge`, `same`, `merge_all`.
    pub top_file_merging_strategy: String,
    /// Whose top file stands in with the strategy `same`.
    pub default_top: String,
    /// The environments to look at, in order; empty means all.
    pub env_order: Vec<String>,
    /// The environments that `file_roots` names.
    pub file_roots: Vec<String>,
    /// Whether states without `order` run in the order in which they are
    /// written.
    pub state_auto_order: bool,
    /// Whether what `master_tops` says comes before the top file.
    pub master_tops_first: bool,
    /// Kinds of requisites that are ignored.
    pub disabled_requisites: Vec<String>,
    /// Which state modules may be aggregated: `true`, or a list.
    pub state_aggregate: Value,
    /// The patterns of `state.disable` (grain `state_runs_disabled`).
    pub disabled_states: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            saltenv: None,
            state_top_saltenv: None,
            top_file_merging_strategy: "merge".to_owned(),
            default_top: "base".to_owned(),
            env_order: Vec::new(),
            file_roots: vec!["base".to_owned()],
            state_auto_order: true,
            master_tops_first: false,
            disabled_requisites: Vec::new(),
            state_aggregate: Value::Bool(false),
            disabled_states: Vec::new(),
        }
    }
}

/// Lists of one rendered SLS that are one object to Salt, because an alias of
/// YAML shares them: what is appended to one is in all. Each is named by the
/// keys that lead to it: an id, or an id and a state module.
pub type Shared = Vec<Vec<Vec<Value>>>;

/// A rendered SLS.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// What it says; falsy means nothing.
    pub data: Value,
    /// Whether the file is an `init.sls`, which counts for relative includes.
    pub is_init: bool,
    /// Which of its parts are one object.
    pub shared: Shared,
}

impl Rendered {
    /// Data without anything special.
    pub fn new(data: impl Into<Value>) -> Self {
        Self {
            data: data.into(),
            ..Self::default()
        }
    }
}

/// Why a text could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderFault {
    /// The renderer's own words.
    pub words: String,
    /// The whole error of an SLS, its name included.
    pub of_sls: String,
    /// What is wrong and where, for people.
    pub report: String,
    /// Whether this is an error of a renderer, or of something else that Salt
    /// does not expect and shows as an exception.
    pub expected: bool,
}

/// The world, as compiling sees it. Environments are `Value`s' text; an SLS is
/// named with dots.
pub trait SlsSource {
    /// The options.
    fn settings(&self) -> &Settings;

    /// The environments that the file server has.
    fn envs(&self) -> Vec<String>;

    /// The names of all SLS of `saltenv`, sorted.
    fn list_states(&self, saltenv: &str) -> Vec<String>;

    /// The rendered top file of `saltenv`; nothing if it has none.
    ///
    /// # Errors
    /// When it does not render.
    fn top(&self, saltenv: &str) -> Result<Option<Value>, RenderFault>;

    /// The rendered SLS; nothing if there is no such file.
    ///
    /// # Errors
    /// When it does not render.
    fn sls(&self, sls: &str, saltenv: &str) -> Result<Option<Rendered>, RenderFault>;

    /// Whether this minion matches `target`, a target of the match type
    /// `match_type` as a top file names it.
    ///
    /// # Errors
    /// When the target makes no sense; in words.
    fn matches(&self, target: &Value, match_type: &str) -> Result<bool, String>;

    /// What `master_tops` says: environments and lists of SLS.
    fn master_tops(&self) -> Map {
        Map::new()
    }

    /// Whether there is the state function `fun`, such as `file.mod_watch`.
    fn has_state(&self, fun: &str) -> bool;
}
