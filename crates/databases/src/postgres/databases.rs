//! Databases of PostgreSQL, and the owners of their objects.

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::link::{Link, VERSION, field, literal, name};

pub(super) fn version(call: &Call<'_>) -> CallResult {
    let said = Link::from_call(call)?.plain(VERSION)?.stdout;
    Ok(said.lines().next().unwrap_or_default().into())
}

pub(super) fn psql_query(call: &Call<'_>) -> CallResult {
    let (link, sql) = (Link::from_call(call)?, call.text("query"));
    let rows = match call.flag("write") {
        true => link.writing_query(&sql)?,
        false => link.query(&sql)?,
    };
    Ok(rows.into_iter().map(Value::from).collect::<Vec<_>>().into())
}

/// Rows by their field `Name`, without it.
pub(super) fn by_name(rows: Vec<Map>) -> Map {
    let named = rows.into_iter().map(|mut row| {
        let name = row.remove("Name").unwrap_or_default();
        (name, Value::from(row))
    });
    named.collect()
}

fn databases(link: &Link<'_, '_>) -> Result<Map, CallError> {
    Ok(by_name(link.query(
        "SELECT d.datname AS \"Name\", r.rolname AS \"Owner\", \
         pg_encoding_to_char(d.encoding) AS \"Encoding\", d.datcollate AS \"Collate\", \
         d.datctype AS \"Ctype\", d.datacl AS \"Access privileges\", \
         t.spcname AS \"Tablespace\" FROM pg_catalog.pg_database d \
         JOIN pg_catalog.pg_roles r ON r.oid = d.datdba \
         JOIN pg_catalog.pg_tablespace t ON t.oid = d.dattablespace",
    )?))
}

pub(super) fn list(call: &Call<'_>) -> CallResult {
    Ok(databases(&Link::from_call(call)?)?.into())
}

pub(super) fn exists(call: &Call<'_>) -> CallResult {
    let all = databases(&Link::from_call(call)?)?;
    Ok(all.contains_key(&call.text("name")).into())
}

pub(super) fn create(call: &Call<'_>) -> CallResult {
    let mut options = Vec::new();
    for (word, argument) in [
        ("TABLESPACE", "tablespace"),
        ("OWNER", "owner"),
        ("TEMPLATE", "template"),
    ] {
        if !call.arg(argument).is_nil() {
            options.push(format!("{word} = {}", name(&call.text(argument))));
        }
    }
    for (word, argument) in [
        ("ENCODING", "encoding"),
        ("LC_COLLATE", "lc_collate"),
        ("LC_CTYPE", "lc_ctype"),
    ] {
        if !call.arg(argument).is_nil() {
            options.push(format!("{word} = {}", literal(&call.text(argument))));
        }
    }
    let mut sql = format!("CREATE DATABASE {}", name(&call.text("name")));
    if !options.is_empty() {
        sql.push_str(" WITH ");
        sql.push_str(&options.join(" "));
    }
    Ok(Link::from_call(call)?.command(&sql)?.ok().into())
}

pub(super) fn alter(call: &Call<'_>) -> CallResult {
    let (owner, tablespace) = (call.text_opt("owner"), call.text_opt("tablespace"));
    let database = call.text("name");
    let mut good = true;
    if let Some(owner) = owner {
        good &= match call.flag("owner_recurse") {
            true => own(Link::from_call(call)?, &database, &owner)?.ok(),
            false => Link::from_call(call)?
                .command(&owned("DATABASE", &name(&database), &owner))?
                .ok(),
        };
    }
    if let Some(tablespace) = tablespace {
        let space = name(&tablespace);
        let sql = format!("ALTER DATABASE {} SET TABLESPACE {space}", name(&database));
        good &= Link::from_call(call)?.command(&sql)?.ok();
    }
    Ok(good.into())
}

pub(super) fn remove(call: &Call<'_>) -> CallResult {
    let (link, database) = (Link::from_call(call)?, call.text("name"));
    for sql in [
        format!("REVOKE CONNECT ON DATABASE {} FROM public", name(&database)),
        format!(
            "SELECT pid, pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
             WHERE datname = {} AND pid <> pg_backend_pid()",
            literal(&database)
        ),
        format!("DROP DATABASE {}", name(&database)),
    ] {
        let ran = link.command(&sql)?;
        if !ran.ok() {
            let text = format!("Failed: {}", ran.complaint());
            return Err(CallError::exception("Exception", text));
        }
    }
    Ok(true.into())
}

fn owned(kind: &str, what: &str, owner: &str) -> String {
    format!("ALTER {kind} {what} OWNER TO {}", name(owner))
}

/// Everything in a database that has an owner of its own.
const OWNED: &str = "\
    SELECT 'SCHEMA' AS kind, quote_ident(nspname) AS name, 0 AS at FROM pg_catalog.pg_namespace \
    WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' \
    UNION ALL SELECT CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' \
    WHEN 'S' THEN 'SEQUENCE' WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END, \
    quote_ident(n.nspname) || '.' || quote_ident(c.relname), \
    CASE c.relkind WHEN 'S' THEN 2 ELSE 1 END FROM pg_catalog.pg_class c \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname NOT LIKE 'pg\\_%' \
    AND n.nspname <> 'information_schema' AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d \
    WHERE d.objid = c.oid AND d.deptype IN ('a', 'i', 'e')) \
    UNION ALL SELECT 'ROUTINE', p.oid::regprocedure::text, 3 FROM pg_catalog.pg_proc p \
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
    WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' \
    AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') \
    ORDER BY at, name";

/// Gives a database and what is in it to an owner, all or nothing.
fn own(
    link: Link<'_, '_>,
    database: &str,
    owner: &str,
) -> Result<halite_call::host::Ran, CallError> {
    let link = link.to(database);
    let mut commands = vec![owned("DATABASE", &name(database), owner)];
    for row in link.query(OWNED)? {
        commands.push(owned(&field(&row, "kind"), &field(&row, "name"), owner));
    }
    link.secret_commands(&commands.join(";\n"))
}

pub(super) fn owner_to(call: &Call<'_>) -> CallResult {
    let ran = own(
        Link::from_call(call)?,
        &call.text("dbname"),
        &call.text("ownername"),
    )?;
    let shown = Map::from([
        ("retcode", Value::from(ran.code)),
        ("stdout", ran.stdout.into()),
        ("stderr", ran.stderr.into()),
    ]);
    Ok(shown.into())
}

pub(super) fn datadir_exists(call: &Call<'_>) -> CallResult {
    Ok(is_data_directory(call, &call.text("name")).into())
}

fn is_data_directory(call: &Call<'_>, path: &str) -> bool {
    let path = call.host().path(path);
    ["PG_VERSION", "postgresql.conf"]
        .iter()
        .all(|name| path.join(name).is_file())
}

pub(super) fn datadir_init(call: &Call<'_>) -> CallResult {
    let path = call.text("name");
    if is_data_directory(call, &path) {
        tracing::info!("{path} already exists");
        return Ok(false.into());
    }
    let initdb = super::link::program(call, "initdb")?;
    let initdb = initdb.ok_or_else(|| CallError::command("initdb executable not found."))?;
    let runas = call
        .text_opt("runas")
        .unwrap_or_else(|| "postgres".to_owned());
    let user = call.text_opt("user").unwrap_or_else(|| runas.clone());
    let mut words = vec![
        initdb.to_string_lossy().into_owned(),
        format!("--pgdata={path}"),
        format!("--username={user}"),
        format!("--auth={}", call.text("auth")),
        format!("--encoding={}", call.text("encoding")),
    ];
    if let Some(locale) = call.text_opt("locale") {
        words.push(format!("--locale={locale}"));
    }
    if let Some(directory) = call.text_opt("waldir") {
        words.extend(["-X".to_owned(), directory]);
    }
    if call.flag("checksums") {
        words.push("--data-checksums".to_owned());
    }
    let password = call.text_opt("password");
    if password.is_some() {
        words.push("--pwfile=/dev/stdin".to_owned());
    }
    let mut program = halite_call::host::Program::new(call, &words)
        .user(Some(&runas))
        .option("clean_env", true);
    if let Some(password) = password {
        program = program.stdin(format!("{password}\n"));
    }
    let ran = program.run()?;
    if !ran.ok() {
        tracing::error!("initdb failed: {}", ran.complaint());
    }
    Ok(ran.ok().into())
}

/// A map of texts as `name = value` pairs.
pub(super) fn pairs(map: &Map) -> String {
    let pairs = map.iter();
    let pairs = pairs.map(|(key, value)| format!("{} = {}", python::str(key), python::str(value)));
    pairs.collect::<Vec<_>>().join(", ")
}
