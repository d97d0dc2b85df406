//! `baredoc.*`: lists modules and states, without loading anything.

use std::collections::BTreeMap;

use halite_proto::{Map, Value};

use halite_call::{Call, CallError, CallResult, Function, Module, python};

pub(super) const MODULE: Module = Module {
    name: "baredoc",
    functions: &[
        Function::new(
            "baredoc.list_modules",
            "(name=False, names_only=False)",
            |call| list(call, Kind::Modules),
            "The execution modules and the parameters of their functions.",
        ),
        Function::new(
            "baredoc.list_states",
            "(name=False, names_only=False)",
            |call| list(call, Kind::States),
            "The state modules and the parameters of their functions.",
        ),
        Function::new(
            "baredoc.module_docs",
            "(*names)",
            |call| docs(call, Kind::Modules),
            "What execution functions do: of all modules, or of modules and functions\nby name.",
        ),
        Function::new(
            "baredoc.state_docs",
            "(*names)",
            |call| docs(call, Kind::States),
            "What state functions do: of all modules, or of modules and functions by\nname.",
        ),
    ],
};

#[derive(Clone, Copy)]
enum Kind {
    Modules,
    States,
}

fn modules(call: &Call<'_>, kind: Kind) -> BTreeMap<&'static str, &'static [Function]> {
    let registry = call.ctx.registry();
    let pair = |module: &'static Module| (module.name, module.functions);
    match kind {
        Kind::Modules => registry.modules().map(pair).collect(),
        Kind::States => registry.state_modules().map(pair).collect(),
    }
}

/// The parameters with their defaults, in order.
fn parameters(function: &Function) -> Map {
    let signature = function.parse_signature().unwrap_or_default();
    let mut parameters: Map = signature
        .params
        .iter()
        .map(|param| {
            let default = param.default.clone().unwrap_or_default();
            (param.name.clone(), default)
        })
        .collect();
    for (key, name) in [("args", &signature.varargs), ("kwargs", &signature.kwargs)] {
        if let Some(name) = name {
            parameters.insert(key, name.as_str());
        }
    }
    parameters
}

fn list(call: &Call<'_>, kind: Kind) -> CallResult {
    let wanted = call.text_opt("name");
    if wanted.as_deref().is_some_and(|name| name.contains('.')) {
        return Err(CallError::exception(
            "ArgumentValueError",
            "Function name given",
        ));
    }
    let names_only = call.flag("names_only");
    let shown = |function: &Function| -> Value {
        let name = function.short_name();
        match names_only {
            true => name.into(),
            false => Map::from([(name, parameters(function))]).into(),
        }
    };
    Ok(modules(call, kind)
        .into_iter()
        .filter(|(name, _)| wanted.as_deref().is_none_or(|wanted| wanted == *name))
        .map(|(name, functions)| (name, functions.iter().map(shown).collect::<Vec<_>>()))
        .collect::<Map>()
        .into())
}

fn docs(call: &Call<'_>, kind: Kind) -> CallResult {
    let modules = modules(call, kind);
    let wanted: Vec<String> = call.varargs().iter().map(python::str).collect();
    let mut docs = BTreeMap::new();
    if wanted.is_empty() {
        let all = modules.values().flat_map(|functions| functions.iter());
        docs.extend(all.map(|function| (function.name, function.doc_text())));
    }
    for name in &wanted {
        let module = name.split('.').next().unwrap_or(name);
        let Some(functions) = modules.get(module) else {
            return Err(CallError::command(format!("there is no module '{module}'")));
        };
        let meant = functions
            .iter()
            .filter(|function| name == module || function.name == name);
        docs.extend(meant.map(|function| (function.name, function.doc_text())));
    }
    Ok(docs
        .into_iter()
        .map(|(name, doc)| (name, doc.trim().to_owned()))
        .collect::<Map>()
        .into())
}
