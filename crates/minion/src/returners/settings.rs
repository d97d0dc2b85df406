//! The settings of a returner: `rawfile_json.filename`, the same below
//! `rawfile_json:`, both also below the name of a `--return_config`, and
//! `--return_kwargs` over all of them, except where a setting is a file.
//!
//! Mirrors `salt.returners.get_returner_options`; options come from the minion's
//! configuration, its grains and its pillar, as `config.option` has it.

use halite_call::{Job, MinionContext, run_function};
use halite_proto::{Map, Value};

use super::ReturnerError;

/// The settings of one returner for one record.
pub(super) struct Settings<'r> {
    ctx: &'r dyn MinionContext,
    returner: &'static str,
    profile: Option<&'r str>,
    kwargs: Option<&'r Map>,
}

impl<'r> Settings<'r> {
    pub(super) fn new(ctx: &'r dyn MinionContext, returner: &'static str, record: &'r Map) -> Self {
        let profile = record.get("ret_config").and_then(Value::as_str);
        Self {
            ctx,
            returner,
            profile: profile.filter(|profile| !profile.is_empty()),
            kwargs: record.get("ret_kwargs").and_then(Value::as_map),
        }
    }

    /// A setting, unless it is left out or empty.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.kwargs.and_then(|kwargs| kwargs.get(name)) {
            return Some(value.clone());
        }
        let prefixes = self.profile.map(|p| format!("{p}.{}", self.returner));
        let prefixes = prefixes.into_iter().chain([self.returner.to_owned()]);
        prefixes
            .flat_map(|prefix| {
                let nested = self.option(&prefix);
                let nested = nested.and_then(|map| map.as_map()?.get(name).cloned());
                [nested, self.option(&format!("{prefix}.{name}"))]
            })
            .flatten()
            .find(|value| !matches!(value, Value::Nil) && value.as_str() != Some(""))
    }

    /// A setting that only the minion's configuration may make: whoever may run a
    /// function may not thereby choose which file or server is written to.
    pub(super) fn own(&self, name: &str) -> Result<Option<Value>, ReturnerError> {
        if self.kwargs.is_some_and(|kwargs| kwargs.contains_key(name)) {
            return Err(self.bad(name, "it can only be set in the minion's configuration"));
        }
        Ok(self.get(name))
    }

    /// Such a text.
    pub(super) fn own_text(&self, name: &str) -> Result<Option<String>, ReturnerError> {
        self.own(name)?;
        self.text(name)
    }

    /// A text.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, ReturnerError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Str(text)) => Ok(Some(text)),
            Some(_) => Err(self.bad(name, "it must be a string")),
        }
    }

    pub(super) fn bad(&self, name: &str, why: impl Into<String>) -> ReturnerError {
        ReturnerError::Setting {
            name: format!("{}.{name}", self.returner),
            why: why.into(),
        }
    }

    fn option(&self, key: &str) -> Option<Value> {
        let args = [key.into(), Value::Nil];
        let job = Job::published(Map::new());
        let outcome = run_function(self.ctx, "config.option", &args, &job);
        outcome.success.then_some(outcome.ret)
    }
}
