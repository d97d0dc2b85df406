//! Normalises the declarations of one SLS to high data: short forms, `extend`,
//! `exclude`, their origin, and their number.

use std::collections::HashSet;

use halite_proto::{Map, Value};

use super::Compiler;
use super::render::is_global;
use super::sharing::{Groups, entry};
use crate::high::first;
use crate::mistake::{About, Mistake};
use crate::text::ordered_str;

/// An SLS that is being read.
pub(super) struct Sls<'a> {
    pub(super) state: &'a mut Map,
    pub(super) sls: &'a str,
    pub(super) env: &'a str,
    pub(super) errors: &'a mut Vec<Mistake>,
}

impl Sls<'_> {
    /// `extend` goes to the list that counts for all SLS.
    pub(super) fn take_extend(&mut self) {
        let Some(extend) = self.state.remove("extend") else {
            return;
        };
        let sls = self.sls;
        let Value::Map(mut extend) = extend else {
            let text = format!("Extension value in SLS '{sls}' is not a dictionary");
            self.mistake(text, ["extend".into()]);
            return;
        };
        for (id, body) in &mut extend {
            let Value::Map(body) = body else {
                let text = format!(
                    "Extension name '{}' in SLS '{sls}' is not a dictionary",
                    ordered_str(id)
                );
                self.mistake(text, ["extend".into(), id.clone()]);
                continue;
            };
            body.get_or_insert_with("__sls__", || sls.into());
            body.get_or_insert_with("__env__", || self.env.into());
            for key in dotted(body) {
                let (module, function) = split(&key);
                if let Some(Value::List(mut args)) = body.remove(&key) {
                    args.push(function.into());
                    body.insert(module, args);
                }
            }
        }
        push(self.state, "__extend__", [Value::Map(extend)]);
    }

    /// `exclude` goes to the list that counts for all SLS.
    pub(super) fn take_exclude(&mut self) {
        match self.state.remove("exclude") {
            None => {}
            Some(Value::List(exclude)) => push(self.state, "__exclude__", exclude),
            Some(_) => {
                let text = format!(
                    "Exclude Declaration in SLS {} is not formed as a list",
                    self.sls
                );
                self.mistake(text, ["exclude".into()]);
                push(self.state, "__exclude__", []);
            }
        }
    }

    /// Writes short forms out and notes where each declaration comes from.
    pub(super) fn declarations(&mut self, groups: &mut Groups) {
        let Self { sls, env, .. } = *self;
        if groups.is_empty() {
            for (id, body) in self.state.iter_mut() {
                declaration(id, body, sls, env, self.errors);
            }
            return;
        }
        let ids: Vec<Value> = self.state.keys().cloned().collect();
        for id in ids {
            let Some(body) = entry(self.state, &id) else {
                continue;
            };
            let written_out = declaration(&id, body, sls, env, self.errors);
            for name in &written_out {
                groups.renamed(&id, name, split(name).0);
            }
            for name in &written_out {
                let (module, function) = split(name);
                groups.append(self.state, &id, module, &function.into());
            }
        }
    }

    fn mistake(&mut self, text: String, path: impl IntoIterator<Item = Value>) {
        let about = About::sls(self.env, self.sls, path);
        self.errors.push(Mistake::new(text).about(about));
    }
}

/// Brings one declaration into shape. The names of states that had their
/// function behind a dot.
fn declaration(
    id: &Value,
    body: &mut Value,
    sls: &str,
    env: &str,
    errors: &mut Vec<Mistake>,
) -> Vec<String> {
    if is_global(id) {
        return Vec::new();
    }
    let mut mistake = |text, path: &[&Value]| {
        let path = path.iter().map(|part| (*part).clone());
        errors.push(Mistake::new(text).about(About::sls(env, sls, path)));
    };
    let body = match body {
        Value::Map(body) => body,
        Value::Str(short) if short.contains('.') => {
            let (module, function) = split(short);
            let args = vec![Value::from(function)];
            *body = Map::from([
                ("__sls__".to_owned(), Value::from(sls)),
                ("__env__".to_owned(), Value::from(env)),
                (module.to_owned(), Value::List(args)),
            ])
            .into();
            return Vec::new();
        }
        _ => {
            let text = format!("ID {} in SLS {sls} is not a dictionary", ordered_str(id));
            mistake(text, &[id]);
            return Vec::new();
        }
    };
    let lists = body.iter().filter(|(_, args)| args.as_list().is_some());
    let names = lists.filter_map(|(key, _)| key.as_str());
    let names: Vec<String> = names
        .filter(|name| !name.starts_with('_'))
        .map(str::to_owned)
        .collect();
    let mut modules: HashSet<&str> = HashSet::new();
    let mut written_out = Vec::new();
    for name in &names {
        // What another one was written out to may have taken its place.
        if body.get(name).and_then(Value::as_list).is_none() {
            continue;
        }
        if !name.contains('.') {
            modules.insert(name);
            continue;
        }
        let (module, function) = split(name);
        if !modules.insert(module) {
            let text = format!(
                "ID '{}' in SLS '{sls}' contains multiple state declarations of the same type",
                ordered_str(id),
            );
            mistake(text, &[id, &name.as_str().into()]);
            continue;
        }
        if let Some(Value::List(mut args)) = body.remove(name) {
            args.push(function.into());
            body.insert(module, args);
        }
        written_out.push(name.clone());
    }
    body.get_or_insert_with("__sls__", || sls.into());
    body.get_or_insert_with("__env__", || env.into());
    written_out
}

impl Compiler<'_> {
    /// Gives every state without an `order` the next number.
    pub(super) fn number(&self, state: &mut Map, groups: &Groups) {
        if !self.source.settings().state_auto_order {
            return;
        }
        let ids: Vec<Value> = if groups.is_empty() {
            Vec::new()
        } else {
            state.keys().cloned().collect()
        };
        for (_, body) in state.iter_mut().filter(|_| groups.is_empty()) {
            if !self.number_body(body, |_, _| {}) {
                return;
            }
        }
        for id in ids {
            let mut given = Vec::new();
            let Some(body) = entry(state, &id) else {
                continue;
            };
            if !self.number_body(body, |module, order| {
                given.push((module.to_owned(), order.clone()));
            }) {
                return;
            }
            for (module, order) in given {
                groups.append_in_bodies(state, &id, &module, &order);
            }
        }
    }

    /// Numbers the states of one id; `false` where Salt stops, since what is
    /// there is no declaration. What is wrong has been said then.
    fn number_body(&self, body: &mut Value, mut given: impl FnMut(&str, &Value)) -> bool {
        let Value::Map(body) = body else {
            return matches!(body, Value::Str(_) | Value::List(_));
        };
        for (module, args) in body.iter_mut() {
            let (Some(module), Value::List(args)) = (module.as_str(), args) else {
                continue;
            };
            if module.starts_with('_') || has_order(args) {
                continue;
            }
            let number = self.next_order.get();
            self.next_order.set(number.saturating_add(1));
            let order = Value::Map(Map::from([("order", Value::Int(number))]));
            given(module, &order);
            args.push(order);
        }
        true
    }
}

fn has_order(args: &[Value]) -> bool {
    let mut maps = args.iter().filter_map(Value::as_map);
    maps.any(|arg| first(arg).is_some_and(|(key, _)| key.as_str() == Some("order")))
}

/// The keys of lists that have a function behind a dot.
fn dotted(body: &Map) -> Vec<String> {
    let lists = body.iter().filter(|(_, args)| args.as_list().is_some());
    let keys = lists.filter_map(|(key, _)| key.as_str());
    keys.filter(|key| !key.starts_with('_') && key.contains('.'))
        .map(str::to_owned)
        .collect()
}

/// Module and function; what follows a second dot is lost, as in Salt.
fn split(name: &str) -> (&str, &str) {
    let mut parts = name.split('.');
    let module = parts.next().unwrap_or_default();
    (module, parts.next().unwrap_or_default())
}

fn push(state: &mut Map, key: &str, more: impl IntoIterator<Item = Value>) {
    let list = state.get_or_insert_with(key, || Value::List(Vec::new()));
    if let Value::List(list) = list {
        list.extend(more);
    }
}
