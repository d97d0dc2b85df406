//! `sys.*`: the available functions and their documentation.

pub(crate) mod catalog;
mod schema;

use std::collections::BTreeSet;

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use self::catalog::{Entry, Texts, What, all, asked};
use halite_call::{Call, CallResult, Function, Module, Refresh, python};

pub(super) const MODULE: Module = Module {
    name: "sys",
    functions: &[
        Function::new(
            "sys.argspec",
            "(module='')",
            |call| argspec(call, What::Modules),
            "The parameters of functions: of all, of a module, or of those whose names\nmatch a pattern.",
        ),
        Function::new(
            "sys.doc",
            "(*args)",
            |call| doc(call, What::Modules),
            "What functions do: of all, of modules, or of those whose names match\npatterns.",
        ),
        Function::new(
            "sys.list_functions",
            "(*args, **kwargs)",
            |call| list_functions(call, What::Modules),
            "The names of functions: of all, of modules, or of those whose names match\npatterns.",
        ),
        Function::new(
            "sys.list_modules",
            "(*args)",
            |call| list_modules(call, What::Modules),
            "The names of modules, of all or of those that match patterns.",
        ),
        Function::new(
            "sys.list_renderers",
            "(*args)",
            |call| list_modules(call, What::Renderers),
            "The names of renderers, of all or of those that match patterns.",
        ),
        Function::new(
            "sys.list_returner_functions",
            "(*args, **kwargs)",
            |call| list_functions(call, What::Returners),
            "The names of the functions of returners.",
        ),
        Function::new(
            "sys.list_returners",
            "(*args)",
            |call| list_modules(call, What::Returners),
            "The names of returners, of all or of those that match patterns.",
        ),
        Function::new(
            "sys.list_runner_functions",
            "(*args, **kwargs)",
            |call| list_functions(call, What::Runners),
            "The names of the functions of the master's runners.",
        ),
        Function::new(
            "sys.list_runners",
            "(*args)",
            |call| list_modules(call, What::Runners),
            "The names of the master's runners, of all or of those that match patterns.",
        ),
        Function::new(
            "sys.list_state_functions",
            "(*args, **kwargs)",
            |call| list_functions(call, What::States),
            "The names of state functions: of all, of modules, or of those whose names\nmatch patterns.",
        ),
        Function::new(
            "sys.list_state_modules",
            "(*args)",
            |call| list_modules(call, What::States),
            "The names of state modules, of all or of those that match patterns.",
        ),
        Function::new(
            "sys.reload_modules",
            "(initial_load=False, context=None)",
            reload_modules,
            "Has the minion read anew what its modules depend on.",
        ),
        Function::new(
            "sys.renderer_doc",
            "(*args)",
            |call| doc(call, What::Renderers),
            "What renderers do.",
        ),
        Function::new(
            "sys.returner_argspec",
            "(module='')",
            |call| argspec(call, What::Returners),
            "The parameters of the functions of returners.",
        ),
        Function::new(
            "sys.returner_doc",
            "(*args)",
            |call| doc(call, What::Returners),
            "What the functions of returners do.",
        ),
        Function::new(
            "sys.runner_argspec",
            "(module='')",
            |call| argspec(call, What::Runners),
            "The parameters of the master's runners.",
        ),
        Function::new(
            "sys.runner_doc",
            "(*args)",
            |call| doc(call, What::Runners),
            "What the master's runners do.",
        ),
        Function::new(
            "sys.state_argspec",
            "(module='')",
            |call| argspec(call, What::States),
            "The parameters of state functions: of all, of a module, or of those whose\nnames match a pattern.",
        ),
        Function::new(
            "sys.state_doc",
            "(*args)",
            |call| doc(call, What::States),
            "What state functions do: of all, of modules, or of those whose names match\npatterns.",
        ),
        Function::new(
            "sys.state_schema",
            "(module='')",
            state_schema,
            "The parameters of state functions as JSON schemas.",
        ),
    ],
};

/// The functions that a word means: a module, a function, or a pattern.
fn meant<'e>(all: &'e [Entry], word: &str) -> impl Iterator<Item = &'e Entry> {
    let word = word.to_owned();
    all.iter().filter(move |entry| {
        if word.contains(['*', '?', '[']) {
            fnmatch(&word, &entry.name)
        } else if word.contains('.') {
            entry.name == word
        } else {
            entry.module() == word
        }
    })
}

fn words(call: &Call<'_>) -> Vec<String> {
    call.varargs().iter().map(python::str).collect()
}

/// All, or those that the words mean.
fn chosen<'e>(all: &'e [Entry], words: &[String]) -> Vec<&'e Entry> {
    if words.is_empty() {
        return all.iter().collect();
    }
    words.iter().flat_map(|word| meant(all, word)).collect()
}

fn doc(call: &Call<'_>, what: What) -> CallResult {
    let words = words(call);
    let all = asked(call, what, &words, Texts::With);
    let docs = chosen(&all, &words).into_iter();
    Ok(docs
        .map(|entry| (entry.name.as_str(), entry.doc.as_str()))
        .collect::<Map>()
        .into())
}

/// The argument `module`.
fn module(call: &Call<'_>) -> Vec<String> {
    call.text_given("module").into_iter().collect()
}

fn argspec(call: &Call<'_>, what: What) -> CallResult {
    let words = module(call);
    let all = asked(call, what, &words, Texts::Without);
    let specs = chosen(&all, &words).into_iter();
    Ok(specs
        .map(|entry| (entry.name.as_str(), entry.argspec()))
        .collect::<Map>()
        .into())
}

fn list_functions(call: &Call<'_>, what: What) -> CallResult {
    let words = words(call);
    let all = asked(call, what, &words, Texts::Without);
    let names = chosen(&all, &words).into_iter();
    Ok(sorted(names.map(|entry| entry.name.as_str())))
}

fn list_modules(call: &Call<'_>, what: What) -> CallResult {
    let patterns = words(call);
    let all = asked(call, what, &patterns, Texts::Without);
    let names = all.iter().map(Entry::module);
    Ok(sorted(names.filter(|name| {
        patterns.is_empty() || patterns.iter().any(|pattern| fnmatch(pattern, name))
    })))
}

fn sorted<'e>(names: impl Iterator<Item = &'e str>) -> Value {
    let names: BTreeSet<&str> = names.collect();
    names
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into()
}

fn reload_modules(call: &Call<'_>) -> CallResult {
    call.ctx.refresh(Refresh::Modules, None)?;
    Ok(Value::Nil)
}

fn state_schema(call: &Call<'_>) -> CallResult {
    let all = all(call, What::States);
    let schemas = chosen(&all, &module(call))
        .into_iter()
        .map(schema::of_function);
    Ok(schemas.collect::<Vec<_>>().into())
}
