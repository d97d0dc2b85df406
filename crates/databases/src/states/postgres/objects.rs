//! States of schemas, languages, tablespaces and extensions.

use halite_call::{Call, CallError, CallResult, Function, StateReturn, python};
use halite_proto::{Map, Value};

use super::{Removal, function, holds, remove, schema_server, server, with_psql};

pub(super) const EXTENSION: &[Function] = &[
    function(
        "postgres_extension.absent",
        "(name, if_exists=None, restrict=None, cascade=None, user=None, maintenance_db=None, db_user=None, db_password=None, db_host=None, db_port=None)",
        |call| with_psql(call, extension_absent),
        "An extension is not installed.",
    ),
    function(
        "postgres_extension.present",
        "(name, if_not_exists=None, schema=None, ext_version=None, from_version=None, user=None, maintenance_db=None, db_user=None, db_password=None, db_host=None, db_port=None)",
        |call| with_psql(call, extension_present),
        "An extension is installed, in this schema and of this version.",
    ),
];

pub(super) const LANGUAGE: &[Function] = &[
    function(
        "postgres_language.absent",
        "(name, maintenance_db, user=None, db_password=None, db_host=None, db_port=None, db_user=None)",
        |call| with_psql(call, language_absent),
        "A language is not installed in a database.",
    ),
    function(
        "postgres_language.present",
        "(name, maintenance_db, user=None, db_password=None, db_host=None, db_port=None, db_user=None)",
        |call| with_psql(call, language_present),
        "A language is installed in a database.",
    ),
];

pub(super) const SCHEMA: &[Function] = &[
    function(
        "postgres_schema.absent",
        "(dbname, name, user=None, db_user=None, db_password=None, db_host=None, db_port=None)",
        |call| with_psql(call, schema_absent),
        "A database does not have a schema.",
    ),
    function(
        "postgres_schema.present",
        "(dbname, name, owner=None, user=None, db_user=None, db_password=None, db_host=None, db_port=None)",
        |call| with_psql(call, schema_present),
        "A database has a schema.",
    ),
];

pub(super) const TABLESPACE: &[Function] = &[
    function(
        "postgres_tablespace.absent",
        "(name, user=None, maintenance_db=None, db_user=None, db_password=None, db_host=None, db_port=None)",
        |call| with_psql(call, tablespace_absent),
        "A tablespace does not exist.",
    ),
    function(
        "postgres_tablespace.present",
        "(name, directory, options=None, owner=None, user=None, maintenance_db=None, db_password=None, db_host=None, db_port=None, db_user=None)",
        |call| with_psql(call, tablespace_present),
        "A tablespace exists in a directory, with this owner and these options.",
    ),
];

fn extension_present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let mut kwargs = server(call);
    for argument in ["schema", "ext_version"] {
        kwargs.insert(argument, call.arg(argument).clone());
    }
    let args = [Value::from(name.as_str())];
    let flags = call.salt("postgres.create_metadata", &args, kwargs.clone())?;
    let has = |flag: &str| python::texts(&flags).iter().any(|known| known == flag);
    let (verb, done) = if has("EXTENSION NOT INSTALLED") {
        ("install", "installed")
    } else if has("EXTENSION TO MOVE") || has("EXTENSION TO UPGRADE") {
        ("upgrade", "upgraded")
    } else {
        return Ok(state
            .ok(format!("Extension {name} is already present"))
            .into());
    };
    if call.is_test() {
        return Ok(state
            .pending(format!("Extension {name} is set to be {done}"))
            .into());
    }
    for argument in ["if_not_exists", "from_version"] {
        kwargs.insert(argument, call.arg(argument).clone());
    }
    Ok(match holds(call, "create_extension", &args, kwargs)? {
        true => {
            let change = if verb == "install" {
                "Installed"
            } else {
                "Upgraded"
            };
            state
                .ok(format!("The extension {name} has been {done}"))
                .change(name, change)
        }
        false => state.failed(format!("Failed to {verb} extension {name}")),
    }
    .into())
}

fn extension_absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let removal = Removal {
        what: format!("Extension {name}"),
        exists: "is_installed_extension",
        remove: "drop_extension",
        nothing: format!("Extension {name} is not present, so it cannot be removed"),
    };
    let arguments = ["if_exists", "restrict", "cascade"];
    let more = arguments
        .iter()
        .map(|argument| (*argument, call.arg(argument).clone()));
    remove(
        call,
        &removal,
        &[name.into()],
        &server(call),
        more.collect(),
    )
}

fn language_present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let args = [Value::from(name.as_str())];
    if holds(call, "language_exists", &args, server(call))? {
        return Ok(state
            .ok(format!("Language {name} is already installed"))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("Language {name} is set to be installed"))
            .into());
    }
    Ok(match holds(call, "language_create", &args, server(call))? {
        true => state
            .ok(format!("Language {name} has been installed"))
            .change(name, "Present"),
        false => state.failed(format!("Failed to install language {name}")),
    }
    .into())
}

fn language_absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let removal = Removal {
        what: format!("Language {name}"),
        exists: "language_exists",
        remove: "language_remove",
        nothing: format!("Language {name} is not present so it cannot be removed"),
    };
    remove(call, &removal, &[name.into()], &server(call), Map::new())
}

fn schema_present(call: &Call<'_>) -> CallResult {
    let (database, name) = (call.text("dbname"), call.text("name"));
    let mut state = StateReturn::of(call);
    state.more.insert("dbname", database.as_str());
    let args = [Value::from(database.as_str()), name.as_str().into()];
    let place = format!("{name} in database {database}");
    if holds(call, "schema_exists", &args, schema_server(call))? {
        let text = format!("Schema {name} already exists in database {database}");
        return Ok(state.ok(text).into());
    }
    if call.is_test() {
        let text = format!("Schema {name} is set to be created in database {database}.");
        return Ok(state.pending(text).into());
    }
    let mut kwargs = schema_server(call);
    kwargs.insert("owner", call.arg("owner").clone());
    Ok(match holds(call, "schema_create", &args, kwargs)? {
        true => state
            .ok(format!(
                "Schema {name} has been created in database {database}"
            ))
            .change(name, "Present"),
        false => state.failed(format!("Failed to create schema {place}")),
    }
    .into())
}

fn schema_absent(call: &Call<'_>) -> CallResult {
    let (database, name) = (call.text("dbname"), call.text("name"));
    let mut state = StateReturn::of(call);
    state.more.insert("dbname", database.as_str());
    let args = [Value::from(database.as_str()), name.as_str().into()];
    if !holds(call, "schema_exists", &args, schema_server(call))? {
        return Ok(state
            .ok(format!(
                "Schema {name} is not present in database {database}, so it cannot be removed"
            ))
            .into());
    }
    if call.is_test() {
        let text = format!("Schema {name} is set to be removed from database {database}");
        return Ok(state.pending(text).into());
    }
    Ok(
        match holds(call, "schema_remove", &args, schema_server(call))? {
            true => state
                .ok(format!(
                    "Schema {name} has been removed from database {database}"
                ))
                .change(name, "Absent"),
            false => state.failed(format!("Schema {name} failed to be removed")),
        }
        .into(),
    )
}

fn tablespace_present(call: &Call<'_>) -> CallResult {
    let (name, directory) = (call.text("name"), call.text("directory"));
    let mut state = StateReturn::of(call);
    let spaces = call.salt("postgres.tablespace_list", &[], server(call))?;
    let Some(space) = spaces.get(&name) else {
        if call.is_test() {
            return Ok(state
                .pending(format!("Tablespace {name} is set to be created"))
                .into());
        }
        return Ok(created_tablespace(call, state, &name, directory)?.into());
    };
    let text = |key: &str| space.get(key).map(python::str).unwrap_or_default();
    if text("Location") != directory {
        return Ok(state
            .failed(format!(
                "Tablespace {name} is not at the right location. This is unfixable without \
                 dropping and recreating the tablespace."
            ))
            .into());
    }
    state = state.ok(format!("Tablespace {name} is already present"));
    let owner = call
        .text_opt("owner")
        .filter(|owner| *owner != text("Owner"));
    let wanted = options_to_change(call, &text("Opts"));
    if call.is_test() && (owner.is_some() || !wanted.is_empty()) {
        return Ok(match owner {
            Some(_) => state.pending(format!("Tablespace {name} owner to be altered")),
            None => state.pending(format!("Tablespace {name} options to be altered")),
        }
        .into());
    }
    let mut changes = Map::new();
    let alter = |what: &str, value: Value| {
        let mut kwargs = server(call);
        kwargs.insert(what, value);
        holds(call, "tablespace_alter", &[name.as_str().into()], kwargs)
    };
    if let Some(owner) = owner {
        if !alter("new_owner", owner.as_str().into())? {
            return Ok(state
                .failed(format!("Failed to change the owner of {name}"))
                .into());
        }
        changes.insert("owner", owner);
        state = state.ok(format!("Tablespace {name} owner changed"));
    }
    if !wanted.is_empty() {
        if !alter("set_option", wanted.clone().into())? {
            return Ok(state
                .failed(format!("Failed to change the options of {name}"))
                .into());
        }
        changes.insert("options", wanted);
        state = state.ok(format!("Tablespace {name} opts changed"));
    }
    if !changes.is_empty() {
        state.changes.insert(name, changes);
    }
    Ok(state.into())
}

/// Creates the tablespace.
fn created_tablespace(
    call: &Call<'_>,
    state: StateReturn,
    name: &str,
    directory: String,
) -> Result<StateReturn, CallError> {
    let args = [
        Value::from(name),
        directory.into(),
        call.arg("options").clone(),
        call.arg("owner").clone(),
    ];
    let created = holds(call, "tablespace_create", &args, server(call))?;
    Ok(match created {
        true => state
            .ok(format!("The tablespace {name} has been created"))
            .change(name, "Present"),
        false => state.failed(format!("Failed to create tablespace {name}")),
    })
}

/// The wanted options that a tablespace does not have yet.
fn options_to_change(call: &Call<'_>, options: &str) -> Map {
    let wanted = call.arg("options").as_map().into_iter().flatten();
    wanted
        .filter(|(key, value)| {
            let pair = format!("{}={}", python::str(key), python::str(value));
            !options
                .trim_matches(['{', '}'])
                .split(',')
                .any(|known| known == pair)
        })
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn tablespace_absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let removal = Removal {
        what: format!("Tablespace {name}"),
        exists: "tablespace_exists",
        remove: "tablespace_remove",
        nothing: format!("Tablespace {name} is not present, so it cannot be removed"),
    };
    remove(call, &removal, &[name.into()], &server(call), Map::new())
}
