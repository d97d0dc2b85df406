//! Renders the SLS of a minion into one high data.

use std::collections::HashSet;

use halite_proto::python;
use halite_proto::{Map, Value};

use super::decls::Sls;
use super::include::Including;
use super::sharing::Groups;
use super::{Compiler, Matches};
use crate::high;
use crate::mistake::{About, Mistake};
use crate::source::Rendered;
use crate::text::ordered_str;

/// SLS that include each other go no deeper than this.
pub(super) const INCLUDE_DEPTH_MAX: usize = 200;

/// What one rendering of a minion's SLS shares.
pub(super) struct Pass<'m> {
    /// The SLS that have been rendered: `env:sls`.
    pub(super) done: HashSet<String>,
    /// The environments and SLS that are wanted.
    pub(super) matches: &'m Matches,
    pub(super) depth: usize,
}

impl Compiler<'_> {
    /// The high data of all SLS in `matches`, each rendered once, and all that
    /// is wrong.
    pub fn render(&self, matches: &Matches) -> (Map, Vec<Mistake>) {
        let mut high = Map::new();
        let mut errors = Vec::new();
        let mut pass = Pass {
            done: HashSet::new(),
            matches,
            depth: 0,
        };
        for (env, list) in matches {
            let env = python::str(env);
            for wanted in list.as_list().unwrap_or_default() {
                let wanted = python::str(wanted);
                self.render_wanted(&mut pass, &env, &wanted, &mut high, &mut errors);
            }
        }
        high::remove_duplicate_extends(&mut high);
        (high, errors)
    }

    fn render_wanted(
        &self,
        pass: &mut Pass<'_>,
        env: &str,
        wanted: &str,
        high: &mut Map,
        all_errors: &mut Vec<Mistake>,
    ) {
        let mut names = Vec::new();
        if self.avail.has(env) {
            names = self.avail.matching(env, wanted);
        } else if self.avail.has("__env__") {
            names = self.avail.matching("__env__", wanted);
        } else {
            let text = format!("No matching salt environment for environment '{env}' found");
            all_errors.push(Mistake::new(text).about(About::top([env.into()])));
        }
        // What is not listed may still be served.
        if names.is_empty() {
            names.push(wanted.to_owned());
        }
        for sls in names {
            if pass.done.contains(&format!("{env}:{sls}")) {
                continue;
            }
            let (state, mut errors) = self.render_sls(pass, &sls, env);
            if let Some(state) = state {
                merge(high, state, &mut errors);
            }
            let unavailable = format!("SLS {wanted} in saltenv");
            all_errors.extend(errors.into_iter().map(|error| {
                let text = error.text();
                if !text.contains("is not available") || !text.contains(&unavailable) {
                    return error;
                }
                let text = format!("No matching sls found for '{wanted}' in env '{env}'");
                let error = error.reworded(text);
                match error.parts() {
                    [] => error.about(About::top([env.into(), wanted.into()])),
                    _ => error,
                }
            }));
        }
    }

    /// The high data of one SLS and of those it includes. Not a map only if
    /// that is wrong.
    pub(super) fn render_sls(
        &self,
        pass: &mut Pass<'_>,
        sls: &str,
        env: &str,
    ) -> (Option<Value>, Vec<Mistake>) {
        let mut errors = Vec::new();
        let rendered = match self.source.sls(sls, env) {
            Ok(Some(rendered)) => rendered,
            Ok(None) => {
                let text = format!(
                    "Specified SLS {sls} in saltenv {env} is not available on the salt master or through a configured fileserver"
                );
                errors.push(text.into());
                return (None, errors);
            }
            Err(fault) => {
                tracing::error!("{}", fault.of_sls);
                errors.push(Mistake::of_render(fault.of_sls, fault.report));
                pass.done.insert(format!("{env}:{sls}"));
                return (None, errors);
            }
        };
        pass.done.insert(format!("{env}:{sls}"));
        let Rendered {
            data,
            is_init,
            shared,
        } = rendered;
        if !data.is_true() {
            return (None, errors);
        }
        let Value::Map(mut state) = data else {
            let text = format!("SLS {sls} does not render to a dictionary");
            errors.push(Mistake::new(text).about(About::sls(env, sls, [])));
            return (Some(data), errors);
        };
        let include = take_include(&mut state, env, sls, &mut errors);
        let mut own = Sls {
            state: &mut state,
            sls,
            env,
            errors: &mut errors,
        };
        own.take_extend();
        own.take_exclude();
        let mut groups = Groups::new(&shared);
        own.declarations(&mut groups);
        let including = Including { sls, env, is_init };
        for included in include {
            self.include(pass, &including, included, &mut state, &mut errors);
        }
        self.number(&mut state, &groups);
        (Some(Value::Map(state)), errors)
    }
}

fn take_include(state: &mut Map, env: &str, sls: &str, errors: &mut Vec<Mistake>) -> Vec<Value> {
    match state.get_mut("include") {
        None => Vec::new(),
        Some(Value::List(include)) => {
            let include = std::mem::take(include);
            state.remove("include");
            include
        }
        Some(_) => {
            let text = format!("Include Declaration in SLS {sls} is not formed as a list");
            let about = About::sls(env, sls, ["include".into()]);
            errors.push(Mistake::new(text).about(about));
            Vec::new()
        }
    }
}

/// Adds what one SLS says to `high`. An id may only be there already if it
/// says the same.
pub(super) fn merge(high: &mut Map, state: Value, errors: &mut Vec<Mistake>) {
    let Value::Map(mut state) = state else {
        let text = format!(
            "Error when rendering state with contents: {}",
            ordered_str(&state)
        );
        errors.push(text.into());
        return;
    };
    for key in ["__extend__", "__exclude__"] {
        if let Some(Value::List(more)) = state.remove(key)
            && let Value::List(list) = high.get_or_insert_with(key, || Value::List(Vec::new()))
        {
            list.extend(more);
        }
    }
    if high.is_empty() {
        *high = state;
        return;
    }
    for (id, body) in state {
        if let Some(known) = high.get_value(&id)
            && *known != body
        {
            let place = |body: &Value| {
                let part = |key| body.get(key).map(ordered_str).unwrap_or_default();
                format!("'{}:{}'", part("__env__"), part("__sls__"))
            };
            let text = format!(
                "Detected conflicting IDs, SLS IDs need to be globally unique.\n    The conflicting ID is '{}' and is found in SLS {} and SLS {}",
                ordered_str(&id),
                place(known),
                place(&body)
            );
            let bodies = [known as &Value, &body]
                .into_iter()
                .filter_map(Value::as_map);
            let about = bodies.map(|body| About::declared(body, [id.clone()]));
            errors.push(about.fold(Mistake::new(text), Mistake::about));
        }
        high.insert(id, body);
    }
}

/// Keys of high data that are not declarations.
pub(super) fn is_global(key: &Value) -> bool {
    matches!(key.as_str(), Some("__extend__" | "__exclude__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_come_twice_only_if_it_says_the_same() {
        let body = |fun: &str| {
            Map::from([
                ("test", Value::List(vec![fun.into()])),
                ("__env__", "base".into()),
                ("__sls__", "a".into()),
            ])
        };
        let mut high = Map::new();
        let mut errors = Vec::new();
        merge(
            &mut high,
            Map::from([("x", body("nop"))]).into(),
            &mut errors,
        );
        merge(
            &mut high,
            Map::from([("x", body("nop"))]).into(),
            &mut errors,
        );
        assert!(errors.is_empty());
        merge(
            &mut high,
            Map::from([("x", body("ping"))]).into(),
            &mut errors,
        );
        assert_eq!(
            errors,
            [
                "Detected conflicting IDs, SLS IDs need to be globally unique.\n    The conflicting ID is 'x' and is found in SLS 'base:a' and SLS 'base:a'"
            ]
        );
    }
}
