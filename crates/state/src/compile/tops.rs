//! Top files: reading and merging them.

use std::collections::VecDeque;

use halite_proto::python;
use halite_proto::{Map, Value};
use indexmap::{IndexMap, IndexSet};
use thiserror::Error;

use super::Compiler;
use crate::mistake::{About, Mistake};
use crate::source::RenderFault;
use crate::text::ordered_str;

/// Why there is no top data at all.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopError {
    /// An environment has something else than targets.
    #[error("Unable to render top file. No targets found.")]
    NoTargets,
    /// `top_file_merging_strategy: same` without `default_top`. Only logged:
    /// the minion then has no top data.
    #[error(
        "top_file_merging_strategy set to 'same', but no default_top configuration option was set"
    )]
    NoDefaultTop,
    /// Something that is no error of a renderer.
    #[error("{0}")]
    Other(String),
}

/// The top files of each environment, those they include after them.
type Tops = IndexMap<String, Vec<Map>>;

impl Compiler<'_> {
    /// The merged top data: environments, targets, lists of SLS. Empty if a
    /// top file does not render, which is logged.
    ///
    /// # Errors
    /// [`TopError::NoTargets`] and [`TopError::Other`].
    pub fn top(&self) -> Result<Map, TopError> {
        match self.tops() {
            Ok(tops) => self.merge(tops),
            Err(TopFault::Expected { words, report }) => {
                tracing::error!("Unable to render top file: {words}");
                *self.top_fault.borrow_mut() = report;
                Ok(Map::new())
            }
            Err(TopFault::Other(words)) => Err(TopError::Other(words)),
        }
    }

    /// Why the top file that was asked for last does not render, with the
    /// place; nothing if it does.
    pub fn top_fault(&self) -> Option<String> {
        self.top_fault.borrow().clone()
    }

    fn tops(&self) -> Result<Tops, TopFault> {
        let settings = self.source.settings();
        if settings.top_file_merging_strategy == "same"
            && settings.saltenv.is_none()
            && settings.default_top.is_empty()
        {
            return Err(TopFault::Expected {
                words: TopError::NoDefaultTop.to_string(),
                report: None,
            });
        }
        let envs = match (&settings.saltenv, &settings.state_top_saltenv) {
            (Some(env), _) | (None, Some(env)) => std::slice::from_ref(env),
            (None, None) => self.avail.envs(),
        };
        let mut tops = Tops::new();
        for env in envs {
            let top = match self.source.top(env)? {
                Some(top) => top_map(top)?,
                None => Map::new(),
            };
            tops.entry(env.clone()).or_default().push(top);
        }
        self.include_tops(&mut tops)?;
        Ok(tops)
    }

    /// The SLS that top files include are top files as well.
    fn include_tops(&self, tops: &mut Tops) -> Result<(), TopFault> {
        for (env, tops) in tops {
            let mut patterns = VecDeque::new();
            for top in tops.iter_mut() {
                patterns.extend(take_includes(top));
            }
            let mut done = IndexSet::new();
            while let Some(pattern) = patterns.pop_front() {
                for sls in self.avail.matching(env, &pattern) {
                    if !done.insert(sls.clone()) {
                        continue;
                    }
                    if let Some(rendered) = self.source.sls(&sls, env)? {
                        let mut top = top_map(rendered.data)?;
                        patterns.extend(take_includes(&mut top));
                        tops.push(top);
                    }
                }
            }
        }
        Ok(())
    }

    fn merge(&self, tops: Tops) -> Result<Map, TopError> {
        let settings = self.source.settings();
        let mut top = Map::new();
        match settings.top_file_merging_strategy.as_str() {
            "same" => merge_same(&mut top, &tops, &settings.default_top)?,
            "merge_all" => {
                for (env, targets) in tops.values().flatten().flatten() {
                    merge_all(&mut top, env, targets)?;
                }
            }
            strategy => {
                if strategy != "merge" {
                    tracing::warn!(
                        "Invalid top_file_merging_strategy '{strategy}', falling back to 'merge'"
                    );
                }
                merge(&mut top, tops)?;
            }
        }
        Ok(top)
    }
}

enum TopFault {
    Expected {
        words: String,
        report: Option<String>,
    },
    Other(String),
}

impl From<RenderFault> for TopFault {
    fn from(fault: RenderFault) -> Self {
        if fault.expected {
            Self::Expected {
                words: fault.words,
                report: Some(fault.report),
            }
        } else {
            Self::Other(fault.words)
        }
    }
}

/// The names and patterns of the SLS that a top file includes.
fn take_includes(top: &mut Map) -> Vec<String> {
    let include = top.remove("include");
    let include = include.as_ref().and_then(Value::as_list);
    include.into_iter().flatten().map(python::str).collect()
}

fn top_map(top: Value) -> Result<Map, TopFault> {
    match top {
        Value::Map(top) => Ok(top),
        other if !other.is_true() => Ok(Map::new()),
        other => Err(TopFault::Other(format!(
            "the top file is a {}, not a map of environments",
            other.type_name()
        ))),
    }
}

/// `base` decides for every environment that it names; the others only speak
/// for themselves.
fn merge(top: &mut Map, mut tops: Tops) -> Result<(), TopError> {
    for (env, targets) in tops.shift_remove("base").iter().flatten().flatten() {
        lay(top, env, targets)?;
    }
    for (env, tops) in &tops {
        for targets in tops.iter().filter_map(|file| file.get(env)) {
            if !top.contains_key(env) {
                lay(top, &Value::from(env.as_str()), targets)?;
            }
        }
    }
    Ok(())
}

/// Each environment speaks for itself; for one without a top file that of
/// `default_top` does.
fn merge_same(top: &mut Map, tops: &Tops, default_top: &str) -> Result<(), TopError> {
    let is_empty = |tops: &[Map]| tops.iter().all(Map::is_empty);
    for (env, own) in tops {
        let used = if is_empty(own) {
            let fallback = tops.get(default_top).map_or(&[][..], Vec::as_slice);
            if is_empty(fallback) {
                tracing::error!(
                    "The '{env}' saltenv has no top file, and the fallback saltenv specified by \
                     default_top ({default_top}) also has no top file"
                );
            }
            fallback
        } else {
            own
        };
        for targets in used.iter().filter_map(|file| file.get(env)) {
            lay(top, &Value::from(env.as_str()), targets)?;
        }
    }
    Ok(())
}

fn lay(top: &mut Map, env: &Value, targets: &Value) -> Result<(), TopError> {
    let Some(targets) = target_map(targets)? else {
        return Ok(());
    };
    if let Value::Map(known) = section(top, env) {
        known.extend(targets.iter().map(|(key, sls)| (key.clone(), sls.clone())));
    }
    Ok(())
}

/// All top files count; the SLS of equal targets are joined.
fn merge_all(top: &mut Map, env: &Value, targets: &Value) -> Result<(), TopError> {
    let Some(targets) = target_map(targets)? else {
        return Ok(());
    };
    let Value::Map(known) = section(top, env) else {
        return Ok(());
    };
    for (target, sls) in targets {
        let joined = match known.get_value(target) {
            None => sls.clone(),
            Some(old) => {
                let (old_match, old_sls) = read_target(old);
                let (new_match, new_sls) = read_target(sls);
                let mut joined: IndexSet<&Value> = IndexSet::new();
                let mut list: Vec<Value> = new_match.or(old_match).cloned().into_iter().collect();
                list.extend(old_sls.iter().map(|sls| (*sls).clone()));
                joined.extend(old_sls);
                list.extend(
                    new_sls
                        .into_iter()
                        .filter(|sls| !joined.contains(sls))
                        .cloned(),
                );
                Value::List(list)
            }
        };
        known.insert(target.clone(), joined);
    }
    Ok(())
}

/// The last map of a target's list, which says how to match, and its SLS.
fn read_target(target: &Value) -> (Option<&Value>, Vec<&Value>) {
    let items = target.as_list().unwrap_or_default();
    let mut maps = items.iter().filter(|item| item.as_map().is_some());
    let sls = items.iter().filter(|item| item.as_str().is_some());
    (maps.next_back(), sls.collect())
}

fn target_map(targets: &Value) -> Result<Option<&Map>, TopError> {
    match targets {
        Value::Map(targets) if targets.is_empty() => Ok(None),
        Value::Map(targets) => Ok(Some(targets)),
        Value::List(targets) if targets.is_empty() => Ok(None),
        Value::Str(targets) if targets.is_empty() => Ok(None),
        _ => Err(TopError::NoTargets),
    }
}

fn section<'t>(top: &'t mut Map, env: &Value) -> &'t mut Value {
    top.get_or_insert_with(env.clone(), || Value::Map(Map::new()))
}

/// What is wrong with the merged top data, in Salt's words.
pub fn verify_tops(top: &Map) -> Vec<Mistake> {
    let mut errors = Vec::new();
    for (env, matches) in top {
        let env_text = ordered_str(env);
        if env_text == "include" {
            continue;
        }
        if env.as_str().is_none() {
            let text = format!("Environment {env_text} in top file is not formed as a string");
            errors.push(of_top(text, &[env]));
        }
        if env_text.is_empty() {
            let text = "Empty saltenv statement in top file".to_owned();
            errors.push(of_top(text, &[env]));
        }
        let Some(matches) = matches.as_map() else {
            let text =
                format!("The top file matches for saltenv {env_text} are not formatted as a dict");
            errors.push(of_top(text, &[env]));
            continue;
        };
        for (target, sls) in matches {
            verify_target(env, target, sls, &mut errors);
        }
    }
    errors
}

fn verify_target(env: &Value, target: &Value, sls: &Value, errors: &mut Vec<Mistake>) {
    let Some(items) = sls.as_list() else {
        let text = format!(
            "Malformed topfile: state declarations for matcher {} in saltenv {} are not formed as a list (got {})",
            python::repr(target),
            python::repr(env),
            python_type(sls)
        );
        errors.push(of_top(text, &[env, target]));
        return;
    };
    for item in items {
        match item {
            Value::Map(options) => {
                for (key, value) in options.iter().filter(|(_, value)| !value.is_true()) {
                    let text = format!(
                        "Improperly formatted top file matcher in saltenv {}: {} file",
                        ordered_str(item),
                        ordered_str(value)
                    );
                    errors.push(of_top(text, &[env, target, key]));
                }
            }
            Value::Str(sls) if sls.is_empty() => {
                let text = format!(
                    "Environment {} contains an empty sls index",
                    ordered_str(item)
                );
                errors.push(of_top(text, &[env, target, item]));
            }
            _ => {}
        }
    }
}

fn of_top(text: String, path: &[&Value]) -> Mistake {
    Mistake::new(text).about(About::top(path.iter().map(|key| (*key).clone())))
}

fn python_type(value: &Value) -> &'static str {
    match value {
        Value::Map(_) => "OrderedDict",
        other => other.type_name(),
    }
}
