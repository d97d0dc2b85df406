//! Users and groups of PostgreSQL, which are both roles.

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::csv;
use super::link::{Link, field, literal, name};
use super::password::{Method, kept};

/// Whether a role is created as a user or as a group, which decides the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoleKind {
    User,
    Group,
}

/// All roles by name; nothing if the server does not answer.
fn list(link: &Link<'_, '_>, with_password: bool) -> Result<Option<Map>, CallError> {
    let Some(version) = link.version()? else {
        tracing::error!("Could not retrieve Postgres version. Is Postgresql server running?");
        return Ok(None);
    };
    let since = |least: &[u32], yes, no| if version.as_slice() >= least { yes } else { no };
    let replication = since(&[9, 1], "r.rolreplication", "NULL");
    let catalogs = since(&[9, 5], "NULL", "r.rolcatupdate");
    let (password, joined) = match with_password {
        true => (
            ", a.rolpassword AS \"password\"",
            " LEFT JOIN pg_catalog.pg_authid a ON a.oid = r.oid",
        ),
        false => ("", ""),
    };
    let rows = link.query(&format!(
        "SELECT r.rolname AS \"name\", r.rolsuper AS \"superuser\", \
         r.rolinherit AS \"inherits privileges\", r.rolcreaterole AS \"can create roles\", \
         r.rolcreatedb AS \"can create databases\", \
         {catalogs} AS \"can update system catalogs\", r.rolcanlogin AS \"can login\", \
         {replication} AS \"replication\", r.rolconnlimit AS \"connections\", \
         ARRAY(SELECT g.rolname FROM pg_catalog.pg_auth_members m \
         JOIN pg_catalog.pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid) AS \"groups\", \
         r.rolvaliduntil::timestamp(0) AS \"expiry time\", \
         r.rolconfig AS \"defaults variables\"{password} FROM pg_catalog.pg_roles r{joined}"
    ))?;
    let roles = rows
        .iter()
        .map(|row| (field(row, "name"), about(row, with_password)));
    Ok(Some(roles.collect()))
}

fn about(row: &Map, with_password: bool) -> Value {
    let mut role = Map::new();
    for key in [
        "superuser",
        "inherits privileges",
        "can create roles",
        "can create databases",
        "can update system catalogs",
        "can login",
        "replication",
        "connections",
    ] {
        let flag = match field(row, key).as_str() {
            "t" => Value::Bool(true),
            "f" => Value::Bool(false),
            _ => Value::Nil,
        };
        role.insert(key, flag);
    }
    let expiry = moment(&field(row, "expiry time"));
    role.insert("expiry time", expiry);
    role.insert("defaults variables", field(row, "defaults variables"));
    if with_password {
        role.insert("password", field(row, "password"));
    }
    let groups = csv::array(&field(row, "groups"));
    role.insert(
        "groups",
        groups.into_iter().map(Value::from).collect::<Vec<_>>(),
    );
    role.into()
}

/// `2026-12-21 01:05:30`; `infinity` and the like are no moments.
fn moment(text: &str) -> Value {
    match text.starts_with(|first: char| first.is_ascii_digit()) {
        true => text.into(),
        false => Value::Nil,
    }
}

fn role(link: &Link<'_, '_>, role: &str, password: bool) -> Result<Option<Value>, CallError> {
    let roles = list(link, password)?;
    Ok(roles.and_then(|roles| roles.get(role).cloned()))
}

pub(super) fn user_list(call: &Call<'_>) -> CallResult {
    let roles = list(&Link::from_call(call)?, call.flag("return_password"))?;
    Ok(roles.map_or(Value::Bool(false), Value::Map))
}

pub(super) fn role_get(call: &Call<'_>) -> CallResult {
    let found = role(
        &Link::from_call(call)?,
        &call.text("name"),
        call.flag("return_password"),
    )?;
    Ok(found.unwrap_or_default())
}

pub(super) fn user_exists(call: &Call<'_>) -> CallResult {
    Ok(role(&Link::from_call(call)?, &call.text("name"), false)?
        .is_some()
        .into())
}

/// The options of `CREATE ROLE` and `ALTER ROLE`, and the commands that make
/// it a member of groups.
fn options(call: &Call<'_>, role: &str, kind: Option<RoleKind>, old: Option<&Value>) -> CallResult {
    let given = |name: &str| call.get(name).filter(|value| !value.is_nil()).cloned();
    let mut words = Vec::new();
    let mut flag = |value: Option<Value>, word: &str| {
        if let Some(value) = value {
            let no = if value.is_true() { "" } else { "NO" };
            words.push(format!("{no}{word}"));
        }
    };
    flag(
        given("inherit").or_else(|| kind.map(|_| true.into())),
        "INHERIT",
    );
    flag(given("createdb"), "CREATEDB");
    flag(given("createroles"), "CREATEROLE");
    // Only who is one may touch this, so it is not said unless it changes.
    let superuser = given("superuser").filter(|wanted| {
        old.is_none_or(|old| {
            let is = old.get("superuser").is_some_and(Value::is_true);
            is != wanted.is_true()
        })
    });
    flag(superuser, "SUPERUSER");
    flag(given("replication"), "REPLICATION");
    let usual = kind.map(|kind| Value::Bool(kind == RoleKind::User));
    flag(given("login").or(usual), "LOGIN");
    if let Some(limit) = given("connlimit") {
        words.push(format!("CONNECTION LIMIT {}", python::int(&limit)?));
    }
    match given("rolepassword") {
        Some(Value::Bool(false)) => words.push("PASSWORD NULL".to_owned()),
        Some(password) if password.is_true() && password.as_bool().is_none() => {
            let method = Method::from_encrypted(call.arg("encrypted"))?;
            let password = kept(role, &python::str(&password), method);
            let un = if method == Method::Plain { "UN" } else { "" };
            words.push(format!("{un}ENCRYPTED PASSWORD {}", literal(&password)));
        }
        _ => {}
    }
    if let Some(until) = given("valid_until") {
        words.push(format!("VALID UNTIL {}", literal(&python::str(&until))));
    }
    let mut sql = match words.is_empty() {
        true => String::new(),
        false => format!(" WITH {}", words.join(" ")),
    };
    for group in call.texts("groups") {
        sql.push_str(&format!("; GRANT {} TO {}", name(&group), name(role)));
    }
    Ok(sql.into())
}

fn create(call: &Call<'_>, of: &str, kind: RoleKind) -> CallResult {
    let (link, wanted) = (Link::from_call(call)?, call.text(of));
    if role(&link, &wanted, false)?.is_some() {
        tracing::info!("{kind:?} '{wanted}' already exists");
        return Ok(false.into());
    }
    let options = python::str(&options(call, &wanted, Some(kind), None)?);
    let sql = format!("CREATE ROLE {}{options}", name(&wanted));
    Ok(link.secret_commands(&sql)?.ok().into())
}

fn update(call: &Call<'_>, of: &str) -> CallResult {
    let (link, wanted) = (Link::from_call(call)?, call.text(of));
    let Some(old) = role(&link, &wanted, false)? else {
        tracing::info!("Role '{wanted}' could not be found");
        return Ok(false.into());
    };
    let options = python::str(&options(call, &wanted, None, Some(&old))?);
    let sql = match options.strip_prefix("; ") {
        Some(rest) => rest.to_owned(),
        None => format!("ALTER ROLE {}{options}", name(&wanted)),
    };
    Ok(link.secret_commands(&sql)?.ok().into())
}

fn remove(call: &Call<'_>, of: &str) -> CallResult {
    let (link, wanted) = (Link::from_call(call)?, call.text(of));
    if role(&link, &wanted, false)?.is_none() {
        tracing::info!("User '{wanted}' does not exist");
        return Ok(false.into());
    }
    link.command(&format!("DROP ROLE {}", name(&wanted)))?;
    Ok(role(&link, &wanted, false)?.is_none().into())
}

pub(super) fn user_create(call: &Call<'_>) -> CallResult {
    create(call, "username", RoleKind::User)
}

pub(super) fn user_update(call: &Call<'_>) -> CallResult {
    update(call, "username")
}

pub(super) fn user_remove(call: &Call<'_>) -> CallResult {
    remove(call, "username")
}

pub(super) fn group_create(call: &Call<'_>) -> CallResult {
    create(call, "groupname", RoleKind::Group)
}

pub(super) fn group_update(call: &Call<'_>) -> CallResult {
    update(call, "groupname")
}

pub(super) fn group_remove(call: &Call<'_>) -> CallResult {
    remove(call, "groupname")
}
