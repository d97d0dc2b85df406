//! `sys.*`: what can be called, and how.

use std::collections::BTreeSet;

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use crate::call::Call;
use crate::context::Refresh;
use crate::error::CallResult;
use crate::extensions::{self, Kind};
use crate::python;
use crate::registry::{Function, Module};

pub(super) const MODULE: Module = Module {
    name: "sys",
    functions: &[
        Function::new(
            "sys.argspec",
            "(module='')",
            argspec,
            "The parameters of functions: of all, of a module, or of those whose names\nmatch a pattern.",
        ),
        Function::new(
            "sys.doc",
            "(*args)",
            doc,
            "What functions do: of all, of modules, or of those whose names match\npatterns.",
        ),
        Function::new(
            "sys.list_functions",
            "(*args, **kwargs)",
            list_functions,
            "The names of functions: of all, of modules, or of those whose names match\npatterns.",
        ),
        Function::new(
            "sys.list_modules",
            "(*args)",
            list_modules,
            "The names of modules, of all or of those that match patterns.",
        ),
        Function::new(
            "sys.reload_modules",
            "()",
            reload_modules,
            "Has the minion read anew what its modules depend on.",
        ),
    ],
};

/// The functions that a word means: a module, a function, or a pattern.
/// Every function: users' own hide ours.
fn all(call: &Call<'_>) -> Vec<&'static Function> {
    let users = extensions::functions(call.ctx, Kind::Modules);
    let hidden: BTreeSet<&str> = users.iter().map(|function| function.name).collect();
    let ours = call.ctx.registry().functions();
    ours.filter(|function| !hidden.contains(function.name))
        .chain(users.iter().copied())
        .collect()
}

fn meant(call: &Call<'_>, word: &str) -> impl Iterator<Item = &'static Function> + use<> {
    let word = word.to_owned();
    all(call).into_iter().filter(move |function| {
        if word.contains(['*', '?', '[']) {
            fnmatch(&word, function.name)
        } else if word.contains('.') {
            function.name == word
        } else {
            function.module() == word
        }
    })
}

fn words(call: &Call<'_>) -> Vec<String> {
    call.varargs().iter().map(python::str).collect()
}

fn doc(call: &Call<'_>) -> CallResult {
    let words = words(call);
    let docs: Map = if words.is_empty() {
        all(call)
            .into_iter()
            .map(|function| (function.name, function.doc_text()))
            .collect()
    } else {
        words
            .iter()
            .flat_map(|word| meant(call, word))
            .map(|function| (function.name, function.doc_text()))
            .collect()
    };
    Ok(docs.into())
}

fn argspec(call: &Call<'_>) -> CallResult {
    let word = call.text("module");
    let spec = |function: &Function| {
        let spec = function.parse_signature().unwrap_or_default().argspec();
        (function.name, spec)
    };
    let specs: Map = if word.is_empty() {
        all(call).into_iter().map(spec).collect()
    } else {
        meant(call, &word).map(spec).collect()
    };
    Ok(specs.into())
}

fn list_functions(call: &Call<'_>) -> CallResult {
    let words = words(call);
    let names: BTreeSet<&str> = if words.is_empty() {
        all(call).iter().map(|function| function.name).collect()
    } else {
        words
            .iter()
            .flat_map(|word| meant(call, word))
            .map(|function| function.name)
            .collect()
    };
    Ok(names
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

fn list_modules(call: &Call<'_>) -> CallResult {
    let patterns = words(call);
    let names: BTreeSet<&str> = all(call)
        .iter()
        .map(|function| function.module())
        .filter(|name| patterns.is_empty() || patterns.iter().any(|pattern| fnmatch(pattern, name)))
        .collect();
    Ok(names
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

fn reload_modules(call: &Call<'_>) -> CallResult {
    call.ctx.refresh(Refresh::Modules, None)?;
    Ok(Value::Nil)
}
