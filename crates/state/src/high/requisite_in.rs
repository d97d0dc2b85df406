//! The `_in` requisites: each becomes an extension of the state it names.

use std::collections::HashMap;

use halite_proto::{Map, Value};
use indexmap::IndexMap;

use super::extend::{entry, reconcile_extend};
use super::find::{StateKey, Values, by_name, by_sls};
use super::use_args::use_args;
use super::{first, is_private};
use crate::mistake::{About, Mistake};
use crate::text::ordered_str;

/// The arguments that are resolved here.
pub(super) const KINDS: [&str; 7] = [
    "onchanges_in",
    "onfail_in",
    "prereq_in",
    "require_in",
    "use",
    "use_in",
    "watch_in",
];

/// Resolves `require_in` and its like, `use` and `use_in`.
pub fn requisite_in(high: &mut Map, disabled: &[String]) -> Vec<Mistake> {
    let mut resolver = Resolver {
        high,
        disabled,
        values: None,
        names: None,
        sls: None,
        extensions: IndexMap::new(),
        errors: Vec::new(),
    };
    resolver.run();
    let Resolver {
        extensions,
        mut errors,
        ..
    } = resolver;
    let extensions = extensions.into_iter().map(|(id, body)| {
        let mut extension = Map::new();
        extension.insert(id, body);
        Value::Map(extension)
    });
    let extensions: Vec<_> = extensions.collect();
    high.insert("__extend__", extensions);
    errors.extend(reconcile_extend(high, true));
    errors
}

/// The state that declares a requisite.
pub(super) struct Declaring<'h> {
    pub(super) id: &'h Value,
    pub(super) state: &'h str,
    body: &'h Map,
}

pub(super) struct Resolver<'h> {
    pub(super) high: &'h Map,
    disabled: &'h [String],
    values: Option<Values>,
    names: Option<HashMap<&'h Value, StateKey>>,
    sls: Option<HashMap<&'h Value, Vec<StateKey>>>,
    /// What will be laid over each id.
    pub(super) extensions: IndexMap<Value, Map>,
    errors: Vec<Mistake>,
}

impl<'h> Resolver<'h> {
    fn run(&mut self) {
        for (id, body) in self.high {
            let Some(body) = body.as_map() else {
                continue;
            };
            for (state, args) in body {
                let (Some(state), Some(args)) = (state.as_str(), args.as_list()) else {
                    continue;
                };
                if state.starts_with("__") {
                    continue;
                }
                let declaring = Declaring { id, state, body };
                for arg in args.iter().filter_map(Value::as_map) {
                    if let Some((Value::Str(key), targets)) = first(arg)
                        && KINDS.contains(&key.as_str())
                    {
                        self.argument(&declaring, key, targets);
                    }
                }
            }
        }
    }

    fn argument(&mut self, declaring: &Declaring<'h>, key: &str, targets: &'h Value) {
        if self.disabled.iter().any(|name| name == key) {
            tracing::warn!("The {key} requisite has been disabled, Ignoring.");
            return;
        }
        let kind = key.split('_').next().unwrap_or(key);
        match targets {
            Value::Map(targets) => self.map_of_targets(declaring, key, kind, targets),
            Value::List(targets) => self.list_of_targets(declaring, key, kind, targets),
            _ => {}
        }
    }

    fn map_of_targets(
        &mut self,
        declaring: &Declaring<'h>,
        key: &str,
        kind: &str,
        targets: &'h Map,
    ) {
        for (state, name) in targets {
            let mut state = ordered_str(state);
            if let Some((module, _)) = state.split_once('.') {
                let text = format!(
                    "Invalid requisite in {kind}: {state} for {} in SLS '{}'. Requisites must not contain dots, did you mean '{module}'?",
                    ordered_str(name),
                    declaring.sls()
                );
                let about = declaring.part(key, &state, name);
                self.errors.push(Mistake::new(text).about(about));
                state = module.to_owned();
            }
            self.add(declaring, kind, name, &state);
        }
    }

    fn list_of_targets(
        &mut self,
        declaring: &Declaring<'h>,
        key: &str,
        kind: &str,
        targets: &'h [Value],
    ) {
        // A target of the list is resolved again for each one that follows it:
        // so Salt does it, and shows it in the low data.
        let mut places: Vec<(Value, String)> = Vec::new();
        for target in targets {
            let Some((state, name)) = self.target(target) else {
                continue;
            };
            if state == "sls" {
                places = self.places_of_sls(&name);
            } else {
                places.push((name.clone(), state.clone()));
            }
            if let Some((module, _)) = state.split_once('.') {
                let text = format!(
                    "Invalid requisite in {kind}: {state} for {}, in SLS '{}'. Requisites must not contain dots, did you mean '{module}'?",
                    ordered_str(&name),
                    declaring.sls()
                );
                let about = declaring.part(key, &state, &name);
                self.errors.push(Mistake::new(text).about(about));
            }
            for (name, state) in &places {
                match key {
                    "use" | "use_in" => {
                        let values = self.values.take();
                        let values = values.unwrap_or_else(|| Values::new(self.high));
                        use_args(self, &values, declaring, key, name, state);
                        self.values = Some(values);
                    }
                    _ => self.add(declaring, kind, name, state),
                }
            }
        }
    }

    /// The module and the id that a target means. A bare name is an id and
    /// stands for its first module, or else the `name` of a state.
    fn target(&mut self, target: &'h Value) -> Option<(String, Value)> {
        if let Value::Map(target) = target {
            let (state, name) = first(target)?;
            return Some((ordered_str(state), name.clone()));
        }
        if let Some(body) = self.high.get_value(target) {
            let mut states = body.as_map()?.keys().filter(|key| !is_private(key));
            return Some((ordered_str(states.next()?), target.clone()));
        }
        let names = self.names.get_or_insert_with(|| by_name(self.high));
        let (id, state) = names.get(target)?.clone();
        Some((state, id))
    }

    fn places_of_sls(&mut self, sls: &Value) -> Vec<(Value, String)> {
        let all = self.sls.get_or_insert_with(|| by_sls(self.high));
        all.get(sls).cloned().unwrap_or_default()
    }

    /// `name` gets a requisite on the declaring state.
    fn add(&mut self, declaring: &Declaring<'h>, kind: &str, name: &Value, state: &str) {
        let reference = Map::from([(declaring.state, declaring.id.clone())]);
        let extension = self.extensions.entry(name.clone()).or_default();
        extension.get_or_insert_with(state, || Value::List(Vec::new()));
        for key in ["__env__", "__sls__"] {
            let value = declaring.body.get(key).cloned().unwrap_or_default();
            extension.insert(key, value);
        }
        let Some(Value::List(args)) = extension.get_mut(state) else {
            return;
        };
        let mut found = false;
        for arg in args.iter_mut().filter_map(Value::as_map_mut) {
            let is_kind = first(arg).is_some_and(|(key, _)| key.as_str() == Some(kind));
            if !is_kind {
                continue;
            }
            if let Some(Value::List(references)) = entry(arg, &Value::from(kind)) {
                references.push(reference.clone().into());
                found = true;
            }
        }
        if !found {
            let references = vec![Value::Map(reference)];
            args.push(Map::from([(kind, Value::List(references))]).into());
        }
    }
}

impl Declaring<'_> {
    /// One of its references.
    fn part(&self, kind: &str, state: &str, name: &Value) -> About {
        let words = [self.state, kind, state].map(Value::from);
        let path = std::iter::once(self.id.clone()).chain(words);
        About::declared(self.body, path.chain([name.clone()]))
    }

    fn sls(&self) -> String {
        self.body
            .get("__sls__")
            .map(ordered_str)
            .unwrap_or_default()
    }
}
