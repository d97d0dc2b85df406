//! Privileges on the objects of PostgreSQL.

use std::collections::BTreeSet;

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::csv;
use super::link::{Link, field, literal, name};

/// A kind of object that privileges are granted on.
struct ObjectKind {
    name: &'static str,
    /// The letters of the privileges that there are on it.
    letters: &'static str,
    /// Whether it belongs to a schema.
    is_in_schema: bool,
    /// The `FROM` part of queries for privileges and owner; `{name}` and `{schema}` are
    /// replaced by quoted texts.
    from: &'static str,
    acl: &'static str,
    owner: &'static str,
}

const KINDS: [ObjectKind; 7] = [
    ObjectKind {
        name: "table",
        letters: "arwdDxtm",
        is_in_schema: true,
        from: "pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               WHERE n.nspname = {schema} AND c.relname = {name} \
               AND c.relkind IN ('r', 'v', 'p', 'm', 'f')",
        acl: "c.relacl",
        owner: "c.relowner",
    },
    ObjectKind {
        name: "sequence",
        letters: "rwU",
        is_in_schema: true,
        from: "pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               WHERE n.nspname = {schema} AND c.relname = {name} AND c.relkind = 'S'",
        acl: "c.relacl",
        owner: "c.relowner",
    },
    ObjectKind {
        name: "function",
        letters: "X",
        is_in_schema: true,
        from: "pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
               WHERE n.nspname = {schema} AND p.oid::regprocedure::text = {name}",
        acl: "p.proacl",
        owner: "p.proowner",
    },
    ObjectKind {
        name: "schema",
        letters: "UC",
        is_in_schema: false,
        from: "pg_namespace WHERE nspname = {name}",
        acl: "nspacl",
        owner: "nspowner",
    },
    ObjectKind {
        name: "tablespace",
        letters: "C",
        is_in_schema: false,
        from: "pg_tablespace WHERE spcname = {name}",
        acl: "spcacl",
        owner: "spcowner",
    },
    ObjectKind {
        name: "language",
        letters: "U",
        is_in_schema: false,
        from: "pg_language WHERE lanname = {name}",
        acl: "lanacl",
        owner: "lanowner",
    },
    ObjectKind {
        name: "database",
        letters: "CTc",
        is_in_schema: false,
        from: "pg_database WHERE datname = {name}",
        acl: "datacl",
        owner: "datdba",
    },
];

/// Membership in a role, which is not a kind of object.
const GROUP: &str = "group";
const ALL: &str = "ALL";

/// What older servers do not know yet.
const MAINTAIN: &str = "MAINTAIN";

fn privilege(letter: char) -> Option<&'static str> {
    Some(match letter {
        'a' => "INSERT",
        'C' => "CREATE",
        'D' => "TRUNCATE",
        'c' => "CONNECT",
        't' => "TRIGGER",
        'r' => "SELECT",
        'U' => "USAGE",
        'T' => "TEMPORARY",
        'w' => "UPDATE",
        'X' => "EXECUTE",
        'x' => "REFERENCES",
        'd' => "DELETE",
        'm' => MAINTAIN,
        _ => return None,
    })
}

impl ObjectKind {
    fn by_name(name: &str) -> Result<Option<&'static Self>, CallError> {
        let kind = KINDS.iter().find(|kind| kind.name == name);
        match kind.is_some() || name == GROUP {
            true => Ok(kind),
            false => Err(CallError::invocation(format!(
                "Invalid object_type: {name} provided"
            ))),
        }
    }

    fn query(&self, what: &str, object: &str, schema: &str) -> String {
        let from = self.from.replace("{schema}", &literal(schema));
        let from = from.replace("{name}", &literal(object));
        format!("SELECT {what} AS name FROM pg_catalog.{from}")
    }

    fn privileges(&self) -> BTreeSet<&'static str> {
        self.letters.chars().filter_map(privilege).collect()
    }
}

/// An object, as the arguments name it.
struct Object {
    kind: Option<&'static ObjectKind>,
    name: String,
    schema: String,
}

impl Object {
    fn from_call(call: &Call<'_>, named: &str) -> Result<Self, CallError> {
        Ok(Self {
            kind: ObjectKind::by_name(&call.text("object_type").to_lowercase())?,
            name: call.text(named),
            schema: call.text("prepend"),
        })
    }

    /// By role what it may do, each with whether it may pass it on; of a group
    /// whether its members may.
    fn privileges(&self, link: &Link<'_, '_>) -> Result<Map, CallError> {
        let Some(kind) = self.kind else {
            let rows = link.query(&format!(
                "SELECT r.rolname, m.admin_option FROM pg_catalog.pg_auth_members m \
                 JOIN pg_catalog.pg_roles r ON r.oid = m.member \
                 JOIN pg_catalog.pg_roles g ON g.oid = m.roleid WHERE g.rolname = {} \
                 ORDER BY r.rolname",
                literal(&self.name)
            ))?;
            let members = rows.iter().map(|row| {
                let may_admit = field(row, "admin_option") == "t";
                (field(row, "rolname"), Value::Bool(may_admit))
            });
            return Ok(members.collect());
        };
        let rows = link.query(&kind.query(kind.acl, &self.name, &self.schema))?;
        let entries = rows.iter().flat_map(|row| csv::array(&field(row, "name")));
        Ok(entries.filter_map(|entry| of_entry(&entry)).collect())
    }

    fn owner(&self, link: &Link<'_, '_>) -> Result<Option<String>, CallError> {
        let Some(kind) = self.kind else {
            return Ok(None);
        };
        let owner = format!("pg_get_userbyid({})", kind.owner);
        let rows = link.query(&kind.query(&owner, &self.name, &self.schema))?;
        Ok(rows.first().map(|row| field(row, "name")))
    }

    /// It in `GRANT ... ON`.
    fn place(&self, kind: &ObjectKind) -> String {
        let word = kind.name.to_uppercase();
        if !kind.is_in_schema {
            return format!("{word} {}", name(&self.name));
        }
        if self.name.eq_ignore_ascii_case(ALL) {
            return format!("ALL {word}S IN SCHEMA {}", name(&self.schema));
        }
        // Of a function the types of its arguments belong to its name.
        let (object, arguments) = match self.name.split_once('(') {
            Some((object, arguments)) => (object, format!("({arguments}")),
            None => (self.name.as_str(), String::new()),
        };
        format!("{word} {}.{}{arguments}", name(&self.schema), name(object))
    }
}

/// A role and its privileges, from `role=r*w/grantor`.
fn of_entry(entry: &str) -> Option<(String, Value)> {
    let end = entry.rfind('/').unwrap_or(entry.len());
    let (role, letters) = entry.get(..end)?.rsplit_once('=')?;
    let role = match role
        .strip_prefix('"')
        .and_then(|role| role.strip_suffix('"'))
    {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None if role.is_empty() => "public".to_owned(),
        None => role.to_owned(),
    };
    let mut privileges: Vec<(&str, bool)> = Vec::new();
    for letter in letters.chars() {
        match (letter, privilege(letter), privileges.last_mut()) {
            ('*', _, Some((_, may_grant))) => *may_grant = true,
            (_, Some(privilege), _) => privileges.push((privilege, false)),
            _ => {}
        }
    }
    let privileges: Map = privileges.into_iter().collect();
    Some((role, privileges.into()))
}

/// The privileges that are asked for.
fn wanted(call: &Call<'_>, kind: Option<&ObjectKind>) -> Result<Vec<String>, CallError> {
    let given = match call.arg("privileges") {
        Value::List(list) => list.iter().map(python::str).collect::<Vec<_>>().join(","),
        Value::Nil => String::new(),
        other => python::str(other),
    };
    let Some(kind) = kind else {
        return match given.is_empty() {
            true => Ok(Vec::new()),
            false => Err(CallError::invocation(
                "The privileges option should not be set for object_type group",
            )),
        };
    };
    let names = given.to_uppercase();
    let names: Vec<String> = names
        .split(',')
        .map(|name| name.trim().to_owned())
        .collect();
    let known = kind.privileges();
    if names
        .iter()
        .any(|name| name != ALL && !known.contains(name.as_str()))
    {
        return Err(CallError::invocation(format!(
            "Invalid privilege(s): {given} provided for object {}",
            kind.name
        )));
    }
    Ok(names)
}

/// Whether a role has all that is wanted.
fn has(have: Option<&Value>, kind: Option<&ObjectKind>, names: &[String], may_grant: bool) -> bool {
    let Some(have) = have else {
        return false;
    };
    let Some(kind) = kind else {
        return !may_grant || have.is_true();
    };
    let all: BTreeSet<&str> = match names.iter().any(|name| name == ALL) {
        true => kind
            .privileges()
            .into_iter()
            .filter(|name| *name != MAINTAIN)
            .collect(),
        false => names.iter().map(String::as_str).collect(),
    };
    all.iter().all(|name| {
        let held = have.get(name);
        held.is_some_and(|grantable| !may_grant || grantable.is_true())
    })
}

fn fulfilled(call: &Call<'_>, names: &[String], object: &Object) -> Result<bool, CallError> {
    let (link, role) = (Link::from_call(call)?, call.text("name"));
    if object.owner(&link)?.is_some_and(|owner| owner == role) {
        return Ok(true);
    }
    let may_grant = call.get("grant_option").is_some_and(Value::is_true);
    let all = object.privileges(&link)?;
    Ok(has(all.get(&role), object.kind, names, may_grant))
}

/// A role, or everybody.
fn who(role: &str) -> String {
    match role.eq_ignore_ascii_case("public") {
        true => "PUBLIC".to_owned(),
        false => name(role),
    }
}

pub(super) fn list(call: &Call<'_>) -> CallResult {
    Ok(Object::from_call(call, "name")?
        .privileges(&Link::from_call(call)?)?
        .into())
}

pub(super) fn has_privileges(call: &Call<'_>) -> CallResult {
    let object = Object::from_call(call, "object_name")?;
    let names = wanted(call, object.kind)?;
    Ok(fulfilled(call, &names, &object)?.into())
}

pub(super) fn grant(call: &Call<'_>) -> CallResult {
    let object = Object::from_call(call, "object_name")?;
    let names = wanted(call, object.kind)?;
    let role = call.text("name");
    if fulfilled(call, &names, &object)? {
        tracing::info!(role, object = object.name, "the privileges are set already");
        return Ok(false.into());
    }
    let may_grant = call.flag("grant_option");
    let (what, option) = match object.kind {
        None => (name(&object.name), "ADMIN"),
        Some(kind) => (
            format!("{} ON {}", names.join(", "), object.place(kind)),
            "GRANT",
        ),
    };
    let mut sql = format!("GRANT {what} TO {}", who(&role));
    if may_grant {
        sql.push_str(&format!(" WITH {option} OPTION"));
    }
    Ok(Link::from_call(call)?.command(&sql)?.ok().into())
}

pub(super) fn revoke(call: &Call<'_>) -> CallResult {
    let object = Object::from_call(call, "object_name")?;
    let names = wanted(call, object.kind)?;
    let role = call.text("name");
    if !fulfilled(call, &names, &object)? {
        tracing::info!(role, object = object.name, "the privileges are not set");
        return Ok(false.into());
    }
    let what = match object.kind {
        None => name(&object.name),
        Some(kind) => format!("{} ON {}", names.join(", "), object.place(kind)),
    };
    let sql = format!("REVOKE {what} FROM {}", who(&role));
    Ok(Link::from_call(call)?.command(&sql)?.ok().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_access_lists() {
        for (entry, expected) in [
            ("ann=r*w/pg", "{'ann': {'SELECT': True, 'UPDATE': False}}"),
            ("=c/pg", "{'public': {'CONNECT': False}}"),
            ("\"od=d/ \"\"x\"=U/pg", "{'od=d/ \"x': {'USAGE': False}}"),
            ("ann=/pg", "{'ann': {}}"),
        ] {
            let map: Map = of_entry(entry).into_iter().collect();
            assert_eq!(python::repr(&map.into()), expected);
        }
        assert!(of_entry("nonsense").is_none());
    }

    #[test]
    fn all_is_what_the_server_knows() {
        let kind = ObjectKind::by_name("table").unwrap();
        let (_, have) = of_entry("ann=arwdDxt/pg").unwrap();
        let all = ["ALL".to_owned()];
        assert!(has(Some(&have), kind, &all, false));
        assert!(!has(Some(&have), kind, &all, true));
        assert!(!has(None, kind, &all, false));
        let (_, some) = of_entry("ann=r*/pg").unwrap();
        assert!(!has(Some(&some), kind, &all, false));
        assert!(has(Some(&some), kind, &["SELECT".to_owned()], true));
        assert!(has(Some(&false.into()), None, &[], false));
        assert!(!has(Some(&false.into()), None, &[], true));
    }

    #[test]
    fn places_are_quoted() {
        let place = |kind: &str, object: &str| {
            let object = Object {
                kind: ObjectKind::by_name(kind).unwrap(),
                name: object.to_owned(),
                schema: "public".to_owned(),
            };
            object.place(object.kind.unwrap())
        };
        assert_eq!(place("table", "all"), "ALL TABLES IN SCHEMA \"public\"");
        assert_eq!(
            place("function", "f(integer)"),
            "FUNCTION \"public\".\"f\"(integer)"
        );
        assert_eq!(place("database", "a\"b"), "DATABASE \"a\"\"b\"");
        assert!(ObjectKind::by_name("view").is_err());
    }
}
