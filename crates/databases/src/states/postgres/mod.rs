//! States of PostgreSQL: `postgres_user.present` and the like.

mod databases;
mod objects;
mod roles;

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::postgres::link::program;

pub(crate) const DATABASE: Module = Module {
    name: "postgres_database",
    functions: databases::DATABASE,
};
pub(crate) const EXTENSION: Module = Module {
    name: "postgres_extension",
    functions: objects::EXTENSION,
};
pub(crate) const GROUP: Module = Module {
    name: "postgres_group",
    functions: roles::GROUP,
};
pub(crate) const INITDB: Module = Module {
    name: "postgres_initdb",
    functions: databases::INITDB,
};
pub(crate) const LANGUAGE: Module = Module {
    name: "postgres_language",
    functions: objects::LANGUAGE,
};
pub(crate) const PRIVILEGES: Module = Module {
    name: "postgres_privileges",
    functions: databases::PRIVILEGES,
};
pub(crate) const SCHEMA: Module = Module {
    name: "postgres_schema",
    functions: objects::SCHEMA,
};
pub(crate) const TABLESPACE: Module = Module {
    name: "postgres_tablespace",
    functions: objects::TABLESPACE,
};
pub(crate) const USER: Module = Module {
    name: "postgres_user",
    functions: roles::USER,
};

/// A state that needs `psql`.
const fn function(
    name: &'static str,
    signature: &'static str,
    run: fn(&Call<'_>) -> CallResult,
    doc: &'static str,
) -> Function {
    Function::new(name, signature, run, doc)
}

/// Runs a state where there is `psql`; elsewhere it fails with a reason.
fn with_psql(call: &Call<'_>, run: fn(&Call<'_>) -> CallResult) -> CallResult {
    if program(call, "psql")?.is_some() {
        return run(call);
    }
    let state = StateReturn::of(call);
    let why = "Unable to load postgres module.  Make sure `postgres.bins_dir` is set.";
    Ok(state.failed(why).into())
}

/// The arguments that select the server, for the execution functions.
fn server(call: &Call<'_>) -> Map {
    let mut args = Map::new();
    for (theirs, ours) in [
        ("maintenance_db", "maintenance_db"),
        ("runas", "user"),
        ("host", "db_host"),
        ("user", "db_user"),
        ("port", "db_port"),
        ("password", "db_password"),
    ] {
        if let Some(value) = call.get(ours).filter(|value| !value.is_nil()) {
            args.insert(theirs, value.clone());
        }
    }
    args
}

/// The same for those about schemas, whose arguments are called as the states'.
fn schema_server(call: &Call<'_>) -> Map {
    let names = ["db_user", "db_password", "db_host", "db_port", "user"];
    let given = names.iter().filter_map(|name| {
        let value = call.get(name).filter(|value| !value.is_nil())?;
        Some((*name, value.clone()))
    });
    given.collect()
}

/// Whether a function of `postgres` says so.
fn holds(call: &Call<'_>, fun: &str, args: &[Value], kwargs: Map) -> Result<bool, CallError> {
    Ok(call
        .salt(&format!("postgres.{fun}"), args, kwargs)?
        .is_true())
}

/// The words of a state that takes something away.
struct Removal<'w> {
    /// What begins a sentence about it.
    what: String,
    exists: &'w str,
    remove: &'w str,
    /// Of what is not there.
    nothing: String,
}

/// A state that takes something away.
fn remove(
    call: &Call<'_>,
    removal: &Removal<'_>,
    args: &[Value],
    server: &Map,
    more: Map,
) -> CallResult {
    let state = StateReturn::of(call);
    let what = &removal.what;
    if !holds(call, removal.exists, args, server.clone())? {
        return Ok(state.ok(removal.nothing.as_str()).into());
    }
    if call.is_test() {
        return Ok(state.pending(format!("{what} is set to be removed")).into());
    }
    let mut kwargs = server.clone();
    kwargs.extend(more);
    Ok(match holds(call, removal.remove, args, kwargs)? {
        true => state
            .ok(format!("{what} has been removed"))
            .change(call.text("name"), "Absent"),
        false => state.failed(format!("{what} failed to be removed")),
    }
    .into())
}

/// A list that may be one text with commas.
fn names(value: &Value) -> Vec<String> {
    python::texts(value)
}
