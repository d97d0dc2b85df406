//! Schemas, languages, tablespaces and extensions of PostgreSQL.

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::databases::{by_name, pairs};
use super::link::{Link, field, literal, name};

// --- schemas -----------------------------------------------------------------

fn schemas(call: &Call<'_>) -> Result<Map, CallError> {
    let rows = Link::to_database_of_schema(call)?.query(
        "SELECT n.nspname AS \"name\", n.nspacl AS \"acl\", r.rolname AS \"owner\" \
         FROM pg_catalog.pg_namespace n \
         LEFT JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner",
    )?;
    let rows = rows.iter().map(|row| {
        let about = Map::from([("owner", field(row, "owner")), ("acl", field(row, "acl"))]);
        (field(row, "name"), Value::from(about))
    });
    Ok(rows.collect())
}

pub(super) fn schema_list(call: &Call<'_>) -> CallResult {
    Ok(schemas(call)?.into())
}

pub(super) fn schema_get(call: &Call<'_>) -> CallResult {
    Ok(schemas(call)?
        .remove(call.text("name").as_str())
        .unwrap_or_default())
}

fn has_schema(call: &Call<'_>) -> Result<bool, CallError> {
    Ok(schemas(call)?.contains_key(&call.text("name")))
}

pub(super) fn schema_exists(call: &Call<'_>) -> CallResult {
    Ok(has_schema(call)?.into())
}

pub(super) fn schema_create(call: &Call<'_>) -> CallResult {
    if has_schema(call)? {
        tracing::info!(
            "'{}' already exists in '{}'",
            call.text("name"),
            call.text("dbname")
        );
        return Ok(false.into());
    }
    let mut sql = format!("CREATE SCHEMA {}", name(&call.text("name")));
    if let Some(owner) = call.text_opt("owner") {
        sql.push_str(&format!(" AUTHORIZATION {}", name(&owner)));
    }
    Ok(Link::to_database_of_schema(call)?
        .command(&sql)?
        .ok()
        .into())
}

pub(super) fn schema_remove(call: &Call<'_>) -> CallResult {
    if !has_schema(call)? {
        let (schema, database) = (call.text("name"), call.text("dbname"));
        tracing::info!("Schema '{schema}' does not exist in '{database}'");
        return Ok(false.into());
    }
    let sql = format!("DROP SCHEMA {}", name(&call.text("name")));
    Link::to_database_of_schema(call)?.command(&sql)?;
    Ok((!has_schema(call)?).into())
}

// --- languages ---------------------------------------------------------------

fn languages(call: &Call<'_>) -> Result<Map, CallError> {
    let rows =
        Link::from_call(call)?.query("SELECT lanname AS \"Name\" FROM pg_catalog.pg_language")?;
    let names = rows.iter().map(|row| field(row, "Name"));
    Ok(names
        .map(|name| (name.clone(), Value::from(name)))
        .collect())
}

pub(super) fn language_list(call: &Call<'_>) -> CallResult {
    Ok(languages(call)?.into())
}

pub(super) fn language_exists(call: &Call<'_>) -> CallResult {
    Ok(languages(call)?.contains_key(&call.text("name")).into())
}

pub(super) fn language_create(call: &Call<'_>) -> CallResult {
    change_language(call, false, "CREATE")
}

pub(super) fn language_remove(call: &Call<'_>) -> CallResult {
    change_language(call, true, "DROP")
}

fn change_language(call: &Call<'_>, wanted: bool, verb: &str) -> CallResult {
    let language = call.text("name");
    if languages(call)?.contains_key(&language) != wanted {
        let is = if wanted {
            "does not exist"
        } else {
            "already exists"
        };
        tracing::info!(
            "Language {language} {is} in {}",
            call.text("maintenance_db")
        );
        return Ok(false.into());
    }
    let sql = format!("{verb} LANGUAGE {}", name(&language));
    Ok(Link::from_call(call)?.command(&sql)?.ok().into())
}

// --- tablespaces -------------------------------------------------------------

fn tablespaces(call: &Call<'_>) -> Result<Map, CallError> {
    Ok(by_name(Link::from_call(call)?.query(
        "SELECT t.spcname AS \"Name\", r.rolname AS \"Owner\", t.spcacl AS \"ACL\", \
         t.spcoptions AS \"Opts\", pg_tablespace_location(t.oid) AS \"Location\" \
         FROM pg_catalog.pg_tablespace t JOIN pg_catalog.pg_roles r ON r.oid = t.spcowner",
    )?))
}

pub(super) fn tablespace_list(call: &Call<'_>) -> CallResult {
    Ok(tablespaces(call)?.into())
}

pub(super) fn tablespace_exists(call: &Call<'_>) -> CallResult {
    Ok(tablespaces(call)?.contains_key(&call.text("name")).into())
}

pub(super) fn tablespace_create(call: &Call<'_>) -> CallResult {
    let mut sql = format!("CREATE TABLESPACE {}", name(&call.text("name")));
    if let Some(owner) = call.text_opt("owner") {
        sql.push_str(&format!(" OWNER {}", name(&owner)));
    }
    sql.push_str(&format!(" LOCATION {}", literal(&call.text("location"))));
    if let Some(options) = call.arg("options").as_map().filter(|map| !map.is_empty()) {
        sql.push_str(&format!(" WITH ({})", pairs(options)));
    }
    Ok(Link::from_call(call)?.command(&sql)?.ok().into())
}

pub(super) fn tablespace_alter(call: &Call<'_>) -> CallResult {
    let mut space = name(&call.text("name"));
    let mut commands = Vec::new();
    if let Some(new) = call.text_opt("new_name") {
        commands.push(format!("ALTER TABLESPACE {space} RENAME TO {}", name(&new)));
        space = name(&new);
    }
    if let Some(owner) = call.text_opt("new_owner") {
        commands.push(format!(
            "ALTER TABLESPACE {space} OWNER TO {}",
            name(&owner)
        ));
    }
    if let Some(options) = call
        .arg("set_option")
        .as_map()
        .filter(|map| !map.is_empty())
    {
        commands.push(format!("ALTER TABLESPACE {space} SET ({})", pairs(options)));
    }
    if let Some(option) = call.text_opt("reset_option") {
        commands.push(format!("ALTER TABLESPACE {space} RESET ({option})"));
    }
    let link = Link::from_call(call)?;
    for sql in commands {
        if !link.command(&sql)?.ok() {
            return Ok(false.into());
        }
    }
    Ok(true.into())
}

pub(super) fn tablespace_remove(call: &Call<'_>) -> CallResult {
    let sql = format!("DROP TABLESPACE {}", name(&call.text("name")));
    Ok(Link::from_call(call)?.command(&sql)?.ok().into())
}

// --- extensions --------------------------------------------------------------

const NOT_INSTALLED: &str = "EXTENSION NOT INSTALLED";
const INSTALLED: &str = "EXTENSION INSTALLED";
const TO_UPGRADE: &str = "EXTENSION TO UPGRADE";
const TO_MOVE: &str = "EXTENSION TO MOVE";

fn extensions(call: &Call<'_>, sql: &str, key: &str) -> Result<Map, CallError> {
    let rows = Link::from_call(call)?.query(sql)?;
    Ok(rows
        .into_iter()
        .map(|row| (field(&row, key), Value::from(row)))
        .collect())
}

fn available(call: &Call<'_>) -> Result<Map, CallError> {
    extensions(call, "SELECT * FROM pg_available_extensions()", "name")
}

fn installed(call: &Call<'_>) -> Result<Map, CallError> {
    let sql = "SELECT e.*, n.nspname AS schema_name FROM pg_catalog.pg_extension e \
               JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace";
    extensions(call, sql, "extname")
}

pub(super) fn available_extensions(call: &Call<'_>) -> CallResult {
    Ok(available(call)?.into())
}

pub(super) fn installed_extensions(call: &Call<'_>) -> CallResult {
    Ok(installed(call)?.into())
}

pub(super) fn get_available_extension(call: &Call<'_>) -> CallResult {
    Ok(available(call)?
        .remove(call.text("name").as_str())
        .unwrap_or_default())
}

fn one_installed(call: &Call<'_>) -> CallResult {
    Ok(installed(call)?
        .remove(call.text("name").as_str())
        .unwrap_or_default())
}

pub(super) fn get_installed_extension(call: &Call<'_>) -> CallResult {
    one_installed(call)
}

fn is_available(call: &Call<'_>) -> Result<bool, CallError> {
    let wanted = call.text("name").to_lowercase();
    let all = available(call)?;
    Ok(all
        .keys()
        .any(|name| python::str(name).to_lowercase() == wanted))
}

pub(super) fn is_available_extension(call: &Call<'_>) -> CallResult {
    Ok(is_available(call)?.into())
}

pub(super) fn is_installed_extension(call: &Call<'_>) -> CallResult {
    Ok(one_installed(call)?.is_true().into())
}

fn metadata(call: &Call<'_>) -> Result<Vec<&'static str>, CallError> {
    let extension = one_installed(call)?;
    if !extension.is_true() {
        return Ok(vec![NOT_INSTALLED]);
    }
    let text = |key: &str| extension.get(key).map(python::str).unwrap_or_default();
    let mut flags = vec![INSTALLED];
    if let Some(wanted) = call.text_opt("ext_version")
        && is_older(&text("extversion"), &wanted)
    {
        flags.push(TO_UPGRADE);
    }
    if let Some(schema) = call.text_opt("schema")
        && text("extrelocatable") == "t"
        && text("schema_name") != schema
    {
        flags.push(TO_MOVE);
    }
    Ok(flags)
}

/// Versions by their numbers.
fn is_older(have: &str, wanted: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        let parts = text.split(|letter: char| !letter.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    numbers(have) < numbers(wanted)
}

pub(super) fn create_metadata(call: &Call<'_>) -> CallResult {
    let flags = metadata(call)?;
    Ok(flags
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

pub(super) fn create_extension(call: &Call<'_>) -> CallResult {
    let before = metadata(call)?;
    if is_available(call)? {
        let sql = match before.contains(&NOT_INSTALLED) {
            true => vec![creation(call)],
            false => changes(call, &before),
        };
        let link = Link::from_call(call)?;
        for sql in sql {
            link.command(&sql)?;
        }
    }
    let good = metadata(call)? == [INSTALLED];
    if !good {
        tracing::info!("Failed to create ext: {}", call.text("name"));
    }
    Ok(good.into())
}

fn creation(call: &Call<'_>) -> String {
    let mut sql = "CREATE EXTENSION ".to_owned();
    let wanted = call.arg("if_not_exists");
    if wanted.is_nil() || wanted.is_true() {
        sql.push_str("IF NOT EXISTS ");
    }
    sql.push_str(&name(&call.text("name")));
    for (word, argument) in [
        ("SCHEMA", "schema"),
        ("VERSION", "ext_version"),
        ("FROM", "from_version"),
    ] {
        if let Some(value) = call.text_opt(argument) {
            sql.push_str(&format!(" {word} {}", name(&value)));
        }
    }
    sql
}

fn changes(call: &Call<'_>, flags: &[&str]) -> Vec<String> {
    let extension = name(&call.text("name"));
    let mut sql = Vec::new();
    for (flag, what, argument) in [
        (TO_MOVE, "SET SCHEMA", "schema"),
        (TO_UPGRADE, "UPDATE TO", "ext_version"),
    ] {
        if let Some(value) = call.text_opt(argument).filter(|_| flags.contains(&flag)) {
            sql.push(format!(
                "ALTER EXTENSION {extension} {what} {}",
                name(&value)
            ));
        }
    }
    sql
}

pub(super) fn drop_extension(call: &Call<'_>) -> CallResult {
    if one_installed(call)?.is_true() {
        let mut sql = "DROP EXTENSION ".to_owned();
        if call.flag("if_exists") {
            sql.push_str("IF EXISTS ");
        }
        sql.push_str(&name(&call.text("name")));
        let cascade = call.arg("cascade");
        if call.flag("restrict") {
            sql.push_str(" RESTRICT");
        } else if cascade.is_nil() || cascade.is_true() {
            sql.push_str(" CASCADE");
        }
        Link::from_call(call)?.command(&sql)?;
    }
    let good = !one_installed(call)?.is_true();
    if !good {
        tracing::info!("Failed to drop ext: {}", call.text("name"));
    }
    Ok(good.into())
}
