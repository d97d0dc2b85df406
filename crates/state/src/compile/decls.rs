//! Bringing the declarations of one SLS into the shape of high data: short
//! forms, `extend`, `exclude`, where each comes from, and its number.

use std::collections::HashSet;

use halite_proto::{Map, Value};

use super::Compiler;
use super::render::is_global;
use super::sharing::{Groups, entry};
use crate::high::{first, ordered_str};
use crate::mistake::{About, Mistake};

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
        let ids: Vec<Value> = self.state.keys().cloned().collect();
        for id in ids {
            if is_global(&id) {
                continue;
            }
            let Some(body) = entry(self.state, &id) else {
                continue;
            };
            match body {
                Value::Map(_) => self.declaration(&id, groups),
                Value::Str(short) if short.contains('.') => {
                    let (module, function) = split(short);
                    let args = vec![Value::from(function)];
                    *body = Map::from([
                        ("__sls__".to_owned(), Value::from(self.sls)),
                        ("__env__".to_owned(), Value::from(self.env)),
                        (module.to_owned(), Value::List(args)),
                    ])
                    .into();
                }
                _ => {
                    let text = format!(
                        "ID {} in SLS {} is not a dictionary",
                        ordered_str(&id),
                        self.sls
                    );
                    self.mistake(text, [id]);
                }
            }
        }
    }

    fn mistake(&mut self, text: String, path: impl IntoIterator<Item = Value>) {
        let about = About::sls(self.env, self.sls, path);
        self.errors.push(Mistake::new(text).about(about));
    }

    fn declaration(&mut self, id: &Value, groups: &mut Groups) {
        let Some(Value::Map(body)) = entry(self.state, id) else {
            return;
        };
        let mut appended = Vec::new();
        let mut modules: HashSet<String> = HashSet::new();
        let keys: Vec<Value> = body.keys().cloned().collect();
        for key in keys {
            let Some(text) = key.as_str().filter(|key| !key.starts_with('_')) else {
                continue;
            };
            if body.get(text).and_then(Value::as_list).is_none() {
                continue;
            }
            if !text.contains('.') {
                modules.insert(text.to_owned());
                continue;
            }
            let (module, function) = split(text);
            if !modules.insert(module.to_owned()) {
                let text = format!(
                    "ID '{}' in SLS '{}' contains multiple state declarations of the same type",
                    ordered_str(id),
                    self.sls
                );
                let about = About::sls(self.env, self.sls, [id.clone(), key]);
                self.errors.push(Mistake::new(text).about(about));
                continue;
            }
            if let Some(Value::List(mut args)) = body.remove(text) {
                args.push(function.into());
                body.insert(module, args);
            }
            groups.renamed(id, text, module);
            appended.push((module.to_owned(), function.to_owned()));
        }
        body.get_or_insert_with("__sls__", || self.sls.into());
        body.get_or_insert_with("__env__", || self.env.into());
        for (module, function) in appended {
            groups.append(self.state, id, &module, &function.into());
        }
    }
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
