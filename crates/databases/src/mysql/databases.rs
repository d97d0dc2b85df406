//! Databases of MySQL and MariaDB, and statements of users.

use std::time::Instant;

use halite_call::{Call, CallError, CallResult, os_error, paths, python};
use halite_proto::{Map, Value};

use super::link::{Asked, Failure, Server, Table, literal, name};

/// The character set and the collation of a database.
pub(crate) fn find(server: &Server<'_, '_>, database: &str) -> Asked<Option<Map>> {
    let sql = format!(
        "SELECT DEFAULT_CHARACTER_SET_NAME AS character_set, DEFAULT_COLLATION_NAME AS collate_ \
         FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}",
        literal(database)
    );
    let row = server.ask(&sql)?.maps().pop();
    Ok(row.map(|mut row| {
        let collation = row.remove("collate_").unwrap_or_default();
        row.insert("collate", collation);
        row
    }))
}

/// `CHARACTER SET` and `COLLATE`, if they are said.
fn options(call: &Call<'_>) -> Asked<String> {
    let mut options = String::new();
    for (words, argument) in [("CHARACTER SET", "character_set"), ("COLLATE", "collate")] {
        let Some(value) = call.text_opt(argument) else {
            continue;
        };
        let sound = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if !value.chars().all(sound) {
            return Err(Failure(format!("not a {argument}: '{value}'")));
        }
        options.push_str(&format!(" {words} {value}"));
    }
    Ok(options)
}

pub(crate) fn create(call: &Call<'_>, server: &Server<'_, '_>, database: &str) -> Asked<bool> {
    if find(server, database)?.is_some() {
        tracing::info!("DB '{database}' already exists");
        return Ok(false);
    }
    let options = options(call)?;
    server.ask(&format!(
        "CREATE DATABASE IF NOT EXISTS {}{options}",
        name(database)
    ))?;
    Ok(true)
}

pub(crate) fn alter(call: &Call<'_>, server: &Server<'_, '_>, database: &str) -> Asked<bool> {
    let options = options(call)?;
    if options.is_empty() {
        return Ok(false);
    }
    server.ask(&format!("ALTER DATABASE {}{options}", name(database)))?;
    Ok(true)
}

pub(crate) fn remove(server: &Server<'_, '_>, database: &str) -> Asked<bool> {
    if find(server, database)?.is_none() {
        tracing::info!("DB '{database}' does not exist");
        return Ok(false);
    }
    if ["mysql", "information_schema"].contains(&database) {
        tracing::info!("DB '{database}' may not be removed");
        return Ok(false);
    }
    server.ask(&format!("DROP DATABASE {}", name(database)))?;
    Ok(find(server, database)?.is_none())
}

// --- the functions -----------------------------------------------------------

fn shown(asked: Asked<Value>, otherwise: Value) -> CallResult {
    Ok(asked.unwrap_or_else(|failure| {
        tracing::error!("{failure}");
        otherwise
    }))
}

fn list_of(names: Vec<String>) -> Value {
    names
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into()
}

fn maps_of(table: Table) -> Value {
    table
        .maps()
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into()
}

pub(super) fn version(call: &Call<'_>) -> CallResult {
    shown(
        Server::from_call(call).and_then(|server| Ok(server.version()?.0.into())),
        "".into(),
    )
}

pub(super) fn db_list(call: &Call<'_>) -> CallResult {
    let names = |server: Server<'_, '_>| Ok(list_of(server.ask("SHOW DATABASES")?.first()));
    shown(
        Server::from_call(call).and_then(names),
        Value::List(Vec::new()),
    )
}

pub(super) fn db_get(call: &Call<'_>) -> CallResult {
    let found = Server::from_call(call).and_then(|server| find(&server, &call.text("name")));
    shown(
        found.map(|found| found.unwrap_or_default().into()),
        Map::new().into(),
    )
}

pub(super) fn db_exists(call: &Call<'_>) -> CallResult {
    let found = Server::from_call(call).and_then(|server| find(&server, &call.text("name")));
    shown(found.map(|found| found.is_some().into()), false.into())
}

pub(super) fn db_tables(call: &Call<'_>) -> CallResult {
    let tables = Server::from_call(call).and_then(|server| {
        let database = call.text("name");
        if find(&server, &database)?.is_none() {
            tracing::info!("Database '{database}' does not exist");
            return Ok(false.into());
        }
        let sql = format!("SHOW TABLES IN {}", name(&database));
        Ok(list_of(server.ask(&sql)?.first()))
    });
    shown(tables, Value::List(Vec::new()))
}

pub(super) fn db_create(call: &Call<'_>) -> CallResult {
    let made = Server::from_call(call).and_then(|server| create(call, &server, &call.text("name")));
    shown(made.map(Value::from), false.into())
}

pub(super) fn alter_db(call: &Call<'_>) -> CallResult {
    let changed =
        Server::from_call(call).and_then(|server| alter(call, &server, &call.text("name")));
    shown(changed.map(Value::from), false.into())
}

pub(super) fn db_remove(call: &Call<'_>) -> CallResult {
    let removed = Server::from_call(call).and_then(|server| remove(&server, &call.text("name")));
    shown(removed.map(Value::from), false.into())
}

/// `CHECK TABLE` and its kin, of one table or of all.
pub(super) fn maintain(call: &Call<'_>, verb: &str) -> CallResult {
    let database = call.text("name");
    let done = Server::from_call(call).and_then(|server| {
        let tables = match call.text_opt("table") {
            Some(table) => vec![table],
            None => server
                .ask(&format!("SHOW TABLES IN {}", name(&database)))?
                .first(),
        };
        let mut all = Vec::new();
        for table in tables {
            let sql = format!("{verb} TABLE {}.{}", name(&database), name(&table));
            let result = maps_of(server.ask(&sql)?);
            match call.text_opt("table") {
                Some(_) => return Ok(result),
                None => all.push(result),
            }
        }
        Ok(all.into())
    });
    shown(done, Value::List(Vec::new()))
}

/// The result of a statement in Salt's shape.
fn statement_result(table: Table, began: Instant) -> Map {
    let mut result = Map::new();
    let took = began.elapsed().as_secs_f64();
    result.insert(
        "query time",
        Map::from([
            (
                "human",
                Value::from(match took < 0.5 {
                    true => format!("{:.1}ms", took * 1000.0),
                    false => format!("{took:.1}s"),
                }),
            ),
            ("raw", Value::from(format!("{took:.5}"))),
        ]),
    );
    if table.columns.is_empty() {
        return result;
    }
    result.insert(
        "rows returned",
        i64::try_from(table.rows.len()).unwrap_or(i64::MAX),
    );
    result.insert("columns", list_of(table.columns));
    let rows = table.rows.into_iter().map(|row| {
        let row = row
            .into_iter()
            .map(|field| field.map_or(Value::Nil, Value::from));
        Value::List(row.collect())
    });
    result.insert("results", rows.collect::<Vec<_>>());
    result
}

fn run(call: &Call<'_>, sql: &str) -> CallResult {
    let (database, began) = (call.text_opt("database"), Instant::now());
    let asked = Server::from_call(call).and_then(|server| server.ask_in(database.as_deref(), sql));
    shown(
        asked.map(|table| statement_result(table, began).into()),
        false.into(),
    )
}

pub(super) fn query(call: &Call<'_>) -> CallResult {
    run(call, &call.text("query"))
}

pub(super) fn file_query(call: &Call<'_>) -> CallResult {
    let file = call.text("file_name");
    let path = match file.split_once("://") {
        None => file.clone(),
        Some(_) => {
            let cached = call.salt("cp.cache_file", &[file.as_str().into()], Map::new())?;
            if !cached.is_true() {
                return Err(CallError::command(format!("{file} could not be fetched")));
            }
            python::str(&cached)
        }
    };
    let sql = paths::read_to_string(call.host().path(&path));
    let sql = sql.map_err(|error| {
        tracing::error!(%error, "{path} could not be read");
        os_error(&error, &path)
    })?;
    run(call, &sql)
}

/// Two columns as a map.
fn pairs(table: Table) -> Map {
    let rows = table.rows.into_iter().filter_map(|row| {
        let mut row = row.into_iter().flatten();
        Some((row.next()?, Value::from(row.next().unwrap_or_default())))
    });
    rows.collect()
}

pub(super) fn status(call: &Call<'_>) -> CallResult {
    let asked = Server::from_call(call).and_then(|server| server.ask("SHOW STATUS"));
    shown(asked.map(|table| pairs(table).into()), Map::new().into())
}

/// The rows of a statement, each by its columns.
pub(super) fn rows(call: &Call<'_>, sql: &str) -> CallResult {
    let asked = Server::from_call(call).and_then(|server| server.ask(sql));
    shown(asked.map(maps_of), Value::List(Vec::new()))
}

/// The only row of a statement.
pub(super) fn row(call: &Call<'_>, sql: &str) -> CallResult {
    let asked = Server::from_call(call).and_then(|server| server.ask(sql));
    let row = asked.map(|table| table.maps().pop().unwrap_or_default().into());
    shown(row, Value::List(Vec::new()))
}

pub(super) fn quote_identifier(call: &Call<'_>) -> CallResult {
    let quoted = name(&call.text("identifier")).replace('%', "%%");
    Ok(match call.flag("for_grants") {
        true => quoted.replace('_', "\\_"),
        false => quoted,
    }
    .into())
}
