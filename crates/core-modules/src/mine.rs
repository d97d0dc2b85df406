//! `mine.*`: values that minions leave with the master for each other.

use halite_proto::{Map, Value};

use super::mine_docker;
use halite_call::{Call, CallError, CallResult, Function, Module, args, dicts, python};

pub(super) const MODULE: Module = Module {
    name: "mine",
    functions: &[
        Function::new(
            "mine.delete",
            "(fun)",
            delete,
            "Takes a function's value out of the mine.",
        ),
        Function::new(
            "mine.flush",
            "()",
            flush,
            "Takes all values of this minion out of the mine.",
        ),
        Function::new(
            "mine.get",
            "(tgt, fun, tgt_type='glob', exclude_minion=False)",
            get,
            "The values that the minions of a target have in the mine: by minion, or for\nseveral functions by function and minion.",
        ),
        Function::new(
            "mine.get_docker",
            "(interfaces=None, cidrs=None, with_container_id=False)",
            mine_docker::get_docker,
            "Where the ports of containers are reached, by image and port, from what\ndocker.ps has put into the mine: of all or certain interfaces and networks.",
        ),
        Function::new(
            "mine.send",
            "(name, *args, **kwargs)",
            send,
            "Calls a function and puts its return into the mine, under its name or with\nmine_function under another; allow_tgt limits who may read it.",
        ),
        Function::new(
            "mine.update",
            "(clear=False, mine_functions=None)",
            update,
            "Calls the functions of the option and pillar value mine_functions and puts\ntheir returns into the mine.",
        ),
        Function::new(
            "mine.valid",
            "()",
            valid,
            "The functions that mine.update calls, with their arguments.",
        ),
    ],
};

/// A function of the mine: what is called, and under which name its return is
/// kept.
struct Entry {
    name: String,
    fun: String,
    args: Vec<Value>,
    kwargs: Map,
    /// Who may read it: a target, and of which kind it is.
    allow: Option<(Value, Option<Value>)>,
}

impl Entry {
    /// Reads what `mine_functions` says of one name: a list of arguments and
    /// maps of settings, or one map.
    fn parse(name: &str, definition: &Value) -> Self {
        let mut entry = Self {
            name: name.to_owned(),
            fun: name.to_owned(),
            args: Vec::new(),
            kwargs: Map::new(),
            allow: None,
        };
        let items = match definition {
            Value::List(items) => items.as_slice(),
            Value::Map(_) => std::slice::from_ref(definition),
            _ => &[],
        };
        for item in items {
            match item {
                Value::Map(map) => entry.kwargs.extend(map.clone()),
                Value::Str(text) => match args::keyword(text) {
                    Some((key, value)) => {
                        entry.kwargs.insert(key, value);
                    }
                    None => entry.args.push(item.clone()),
                },
                other => entry.args.push(other.clone()),
            }
        }
        entry.settle()
    }

    /// Moves what is meant for the mine out of the arguments.
    fn settle(mut self) -> Self {
        if let Some(fun) = self.kwargs.remove("mine_function") {
            self.fun = python::str(&fun);
        }
        let tgt = self.kwargs.remove("allow_tgt");
        let tgt_type = self.kwargs.remove("allow_tgt_type");
        self.allow = tgt.map(|tgt| (tgt, tgt_type));
        self
    }

    /// Calls the function; what it returns, wrapped with who may read it.
    fn value(&self, call: &Call<'_>) -> Result<Value, CallError> {
        let ret = call.salt(&self.fun, &self.args, self.kwargs.clone())?;
        let Some((tgt, tgt_type)) = &self.allow else {
            return Ok(ret);
        };
        let mut wrapped = Map::from([
            ("__data__", ret),
            ("__saltmine_acl__", 1.into()),
            ("allow_tgt", tgt.clone()),
        ]);
        if let Some(tgt_type) = tgt_type {
            wrapped.insert("allow_tgt_type", tgt_type.clone());
        }
        Ok(wrapped.into())
    }
}

/// `mine_functions` of the options, with those of the pillar over them.
fn configured(call: &Call<'_>) -> Value {
    let of = |value: Option<&Value>| match value {
        Some(Value::Map(map)) => map.clone(),
        // A plain list of names.
        Some(Value::List(names)) => names
            .iter()
            .map(|name| (name.clone(), Value::List(Vec::new())))
            .collect(),
        _ => Map::new(),
    };
    let mut merged = of(call.ctx.opts().get("mine_functions"));
    dicts::update(
        &mut merged,
        &of(call.ctx.pillar().get("mine_functions")),
        false,
    );
    if merged.is_empty() {
        Value::Nil
    } else {
        merged.into()
    }
}

fn valid(call: &Call<'_>) -> CallResult {
    let Value::Map(functions) = configured(call) else {
        return Ok(Value::Nil);
    };
    let mut shown = Map::new();
    for (name, definition) in &functions {
        let name = python::str(name);
        let entry = Entry::parse(&name, definition);
        if !call.has_function(&entry.fun) {
            continue;
        }
        let value = if entry.fun == name {
            definition.clone()
        } else {
            let mut args = entry.args;
            for (key, value) in &entry.kwargs {
                args.push(Map::from([(key.clone(), value.clone())]).into());
            }
            Map::from([(entry.fun.as_str(), Value::List(args))]).into()
        };
        shown.insert(name, value);
    }
    Ok(shown.into())
}

fn update(call: &Call<'_>) -> CallResult {
    let functions = match call.arg("mine_functions") {
        given if !given.is_true() => match configured(call) {
            Value::Map(map) => map,
            _ => return Ok(Value::Nil),
        },
        Value::Map(map) => map.clone(),
        Value::List(names) => names
            .iter()
            .map(|name| (name.clone(), Value::List(Vec::new())))
            .collect(),
        _ => return Ok(Value::Nil),
    };
    let mut data = Map::new();
    for (name, definition) in &functions {
        let entry = Entry::parse(&python::str(name), definition);
        match entry.value(call) {
            Ok(value) => {
                data.insert(entry.name, value);
            }
            Err(error) => tracing::error!(fun = entry.fun, %error, "a function of the mine failed"),
        }
    }
    if data.is_empty() {
        return Ok(true.into());
    }
    store(call, data, call.flag("clear"))
}

fn send(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let entry = Entry {
        fun: name.clone(),
        name,
        args: call.varargs().to_vec(),
        kwargs: call.clean_kwargs(),
        allow: None,
    }
    .settle();
    match entry.value(call) {
        Ok(value) => store(call, Map::from([(entry.name, value)]), false),
        Err(error) => {
            tracing::error!(fun = entry.fun, %error, "a function of the mine failed");
            Ok(false.into())
        }
    }
}

fn store(call: &Call<'_>, data: Map, clear: bool) -> CallResult {
    if call.ctx.is_local() {
        return Ok(data.into());
    }
    let load = Map::from([
        ("cmd", Value::from("_mine")),
        ("data", data.into()),
        ("id", call.ctx.id().into()),
        ("clear", clear.into()),
    ]);
    call.ctx.upstream()?.request_every(load)?;
    Ok(true.into())
}

fn get(call: &Call<'_>) -> CallResult {
    if call.ctx.is_local() {
        return Ok(Map::new().into());
    }
    // Pillar is compared whole, or it could be guessed piece by piece.
    let tgt_type = match call.text("tgt_type").as_str() {
        "pillar" => "pillar_exact".to_owned(),
        "compound" => "compound_pillar_exact".to_owned(),
        other => other.to_owned(),
    };
    let load = Map::from([
        ("cmd", Value::from("_mine_get")),
        ("id", call.ctx.id().into()),
        ("tgt", call.arg("tgt").clone()),
        ("fun", call.arg("fun").clone()),
        ("tgt_type", tgt_type.into()),
    ]);
    let mut found = call.ctx.upstream()?.request(load)?;
    if call.flag("exclude_minion")
        && let Value::Map(found) = &mut found
    {
        let id = call.ctx.id();
        found.remove(&id);
        for (_, minions) in found.iter_mut() {
            if let Value::Map(minions) = minions {
                minions.remove(&id);
            }
        }
    }
    Ok(found)
}

fn delete(call: &Call<'_>) -> CallResult {
    if call.ctx.is_local() {
        return Ok(true.into());
    }
    let load = Map::from([
        ("cmd", Value::from("_mine_delete")),
        ("fun", call.arg("fun").clone()),
        ("id", call.ctx.id().into()),
    ]);
    Ok(call.ctx.upstream()?.request_every(load)?)
}

fn flush(call: &Call<'_>) -> CallResult {
    if call.ctx.is_local() {
        return Ok(true.into());
    }
    let load = Map::from([
        ("cmd", Value::from("_mine_flush")),
        ("id", call.ctx.id().into()),
    ]);
    Ok(call.ctx.upstream()?.request_every(load)?)
}
