//! `sys.*`: what can be called, and how.

use std::collections::BTreeSet;

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use crate::call::Call;
use crate::context::Refresh;
use crate::error::CallResult;
use crate::python;
use crate::registry::{Function, Module, Registry};

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
fn meant(registry: &Registry, word: &str) -> impl Iterator<Item = &'static Function> + use<> {
    let word = word.to_owned();
    registry.functions().filter(move |function| {
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
    let all = || {
        call.ctx
            .registry()
            .functions()
            .map(|function| (function.name, function.doc_text()))
    };
    let docs: Map = if words.is_empty() {
        all().collect()
    } else {
        words
            .iter()
            .flat_map(|word| meant(call.ctx.registry(), word))
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
        call.ctx.registry().functions().map(spec).collect()
    } else {
        meant(call.ctx.registry(), &word).map(spec).collect()
    };
    Ok(specs.into())
}

fn list_functions(call: &Call<'_>) -> CallResult {
    let words = words(call);
    let names: BTreeSet<&str> = if words.is_empty() {
        call.ctx
            .registry()
            .functions()
            .map(|function| function.name)
            .collect()
    } else {
        words
            .iter()
            .flat_map(|word| meant(call.ctx.registry(), word))
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
    let names: BTreeSet<&str> = call
        .ctx
        .registry()
        .modules()
        .map(|module| module.name)
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
