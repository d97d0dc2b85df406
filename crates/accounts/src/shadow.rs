//! Passwords and their ages: the execution module `shadow`.

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, CallResult, Function, Module, is_one_line, os_error, python};
use halite_process::clock::unix_seconds;
use halite_proto::{Map, Value};

use super::hash;
use crate::tools::{check_name, with_root, words};
use halite_call::host::accounts;

pub(crate) const MODULE: Module = Module {
    name: "shadow",
    functions: &[
        Function::new(
            "shadow.default_hash",
            "()",
            default_hash,
            "What stands for a password that was never set.",
        ),
        Function::new(
            "shadow.del_password",
            "(name, root=None)",
            del_password_,
            "Empties the password of a user.",
        ),
        Function::new(
            "shadow.gen_password",
            "(password, crypt_salt=None, algorithm='sha512')",
            gen_password,
            "The hash of a password as /etc/shadow holds it.",
        ),
        Function::new(
            "shadow.info",
            "(name, root=None)",
            info_,
            "What /etc/shadow says of a user.",
        ),
        Function::new(
            "shadow.list_users",
            "(root=None)",
            list_users,
            "The users of /etc/shadow.",
        ),
        Function::new(
            "shadow.lock_password",
            "(name, root=None)",
            lock_password,
            "Locks the password of a user.",
        ),
        Function::new(
            "shadow.set_date",
            "(name, date, root=None)",
            |call| set_(call, "lstchg", "date", "-d"),
            "Sets when a password was last changed, in days since 1970.",
        ),
        Function::new(
            "shadow.set_expire",
            "(name, expire, root=None)",
            |call| set_(call, "expire", "expire", "-E"),
            "Sets when an account expires, in days since 1970.",
        ),
        Function::new(
            "shadow.set_inactdays",
            "(name, inactdays, root=None)",
            |call| set_(call, "inact", "inactdays", "-I"),
            "Sets after how many days without a new password an account is locked.",
        ),
        Function::new(
            "shadow.set_maxdays",
            "(name, maxdays, root=None)",
            |call| set_(call, "max", "maxdays", "-M"),
            "Sets how many days a password is valid.",
        ),
        Function::new(
            "shadow.set_mindays",
            "(name, mindays, root=None)",
            |call| set_(call, "min", "mindays", "-m"),
            "Sets how many days must be between two passwords.",
        ),
        Function::new(
            "shadow.set_password",
            "(name, password, use_usermod=False, root=None)",
            set_password_,
            "Sets the password of a user, given as its hash.",
        ),
        Function::new(
            "shadow.set_warndays",
            "(name, warndays, root=None)",
            |call| set_(call, "warn", "warndays", "-W"),
            "Sets how many days before its end a user is warned.",
        ),
        Function::new(
            "shadow.unlock_password",
            "(name, root=None)",
            unlock_password,
            "Unlocks the password of a user.",
        ),
    ],
};

/// The fields behind the password, with the column they are in.
const AGES: &[(&str, usize)] = &[
    ("lstchg", 2),
    ("min", 3),
    ("max", 4),
    ("warn", 5),
    ("inact", 6),
    ("expire", 7),
];

/// What is known of a user; all fields empty when there is no such user.
pub(crate) fn info(call: &Call<'_>, name: &str) -> Map {
    let text = call.host().read("/etc/shadow");
    let fields = text
        .lines()
        .map(|line| line.trim().split(':').collect::<Vec<_>>())
        .find(|fields| fields[0] == name);
    let mut info = Map::new();
    let Some(fields) = fields else {
        info.insert("name", "");
        info.insert("passwd", "");
        for (key, _) in AGES {
            info.insert(*key, "");
        }
        return info;
    };
    info.insert("name", name);
    info.insert("passwd", fields.get(1).copied().unwrap_or_default());
    for (key, column) in AGES {
        let field = fields.get(*column).copied().unwrap_or_default();
        info.insert(*key, field.parse::<i64>().unwrap_or(-1));
    }
    info
}

/// The hash of a user's password, nothing if there is no such user.
pub(crate) fn hash_of(call: &Call<'_>, name: &str) -> Option<String> {
    let info = info(call, name);
    info.get("name")
        .is_some_and(Value::is_true)
        .then(|| info.get("passwd").map(python::str).unwrap_or_default())
}

/// Sets one of the ages with `chage`; whether it has the value then.
pub(crate) fn set_age(
    call: &Call<'_>,
    name: &str,
    key: &str,
    option: &str,
    value: &Value,
) -> Result<bool, CallError> {
    let before = info(call, name);
    if !before.get("name").is_some_and(Value::is_true) {
        return Ok(false);
    }
    if before.get(key) == Some(value) {
        return Ok(true);
    }
    let mut line = words(&["chage"]);
    if let Some(root) = call.get("root") {
        with_root(&mut line, root);
    }
    line.extend([option.to_owned(), python::str(value), name.to_owned()]);
    let ran = Program::new(call, &line).run()?;
    // These two take dates in other forms too, so the field may read differently.
    if matches!(key, "lstchg" | "expire") {
        return Ok(ran.ok());
    }
    Ok(info(call, name).get(key) == Some(value))
}

/// A hash with more in it would be the password of somebody else too.
fn check_hash(hash: &str) -> Result<(), CallError> {
    if hash.contains(':') || !is_one_line(hash) {
        return Err(CallError::invocation(
            "a password hash holds neither a colon nor a line break",
        ));
    }
    Ok(())
}

/// Puts a hash into `/etc/shadow`.
pub(crate) fn set_password(call: &Call<'_>, name: &str, hash: &str) -> Result<bool, CallError> {
    if accounts::user(call, name).is_none() {
        return Ok(false);
    }
    check_hash(hash)?;
    let path = call.host().path("/etc/shadow");
    if !path.is_file() {
        return Ok(false);
    }
    let text = call.host().read_to_change("/etc/shadow")?;
    let today = (unix_seconds() / 86_400).to_string();
    let mut found = false;
    let mut new = String::new();
    for line in text.lines() {
        let mut fields: Vec<&str> = line.trim().split(':').take(9).collect();
        if fields[0] == name {
            found = true;
            fields.resize(9, "");
            fields[1] = hash;
            fields[2] = &today;
            new.push_str(&fields.join(":"));
        } else {
            new.push_str(line);
        }
        new.push('\n');
    }
    if !found {
        new.push_str(&format!("{name}:{hash}:{today}::::::\n"));
    }
    replace_file(&path, new.as_bytes()).map_err(|error| os_error(&error, "/etc/shadow"))?;
    Ok(hash_of(call, name).as_deref() == Some(hash))
}

fn passwd(call: &Call<'_>, option: &str, name: &str) -> Result<(), CallError> {
    check_name(name)?;
    let mut line = words(&["passwd"]);
    if let Some(root) = call.get("root") {
        with_root(&mut line, root);
    }
    line.extend([option.to_owned(), name.to_owned()]);
    Program::new(call, &line).run().map(drop)
}

/// Empties the password.
pub(crate) fn del_password(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    passwd(call, "-d", name)?;
    Ok(hash_of(call, name).as_deref() == Some(""))
}

/// Locks or unlocks the password.
pub(crate) fn lock(call: &Call<'_>, name: &str, locked: bool) -> Result<bool, CallError> {
    let is_locked = |hash: String| hash.starts_with('!');
    let Some(hash) = hash_of(call, name) else {
        return Ok(false);
    };
    if is_locked(hash) == locked {
        return Ok(true);
    }
    passwd(call, if locked { "-l" } else { "-u" }, name)?;
    Ok(hash_of(call, name).map(is_locked) == Some(locked))
}

fn default_hash(_: &Call<'_>) -> CallResult {
    Ok("!".into())
}

fn info_(call: &Call<'_>) -> CallResult {
    Ok(info(call, &call.text("name")).into())
}

fn list_users(call: &Call<'_>) -> CallResult {
    let text = call.host().read("/etc/shadow");
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split(':').next())
        .collect();
    names.sort_unstable();
    Ok(Value::List(names.into_iter().map(Value::from).collect()))
}

fn set_(call: &Call<'_>, key: &str, arg: &str, option: &str) -> CallResult {
    Ok(set_age(call, &call.text("name"), key, option, call.arg(arg))?.into())
}

fn set_password_(call: &Call<'_>) -> CallResult {
    let (name, password) = (call.text("name"), call.text("password"));
    if halite_call::host::is_true(call.arg("use_usermod")) {
        check_hash(&password)?;
        if name.contains(':') || !is_one_line(&name) {
            return Ok(false.into());
        }
        // `usermod` takes a hash only where all can read it.
        let mut line = words(&["chpasswd", "-e"]);
        with_root(&mut line, call.arg("root"));
        Program::new(call, &line)
            .stdin(format!("{name}:{password}\n"))
            .option("output_loglevel", "quiet")
            .run()?;
        return Ok((hash_of(call, &name).as_deref() == Some(&password)).into());
    }
    Ok(set_password(call, &name, &password)?.into())
}

fn del_password_(call: &Call<'_>) -> CallResult {
    Ok(del_password(call, &call.text("name"))?.into())
}

fn lock_password(call: &Call<'_>) -> CallResult {
    Ok(lock(call, &call.text("name"), true)?.into())
}

fn unlock_password(call: &Call<'_>) -> CallResult {
    Ok(lock(call, &call.text("name"), false)?.into())
}

fn gen_password(call: &Call<'_>) -> CallResult {
    let salt = call.text_opt("crypt_salt");
    hash::hash(
        &call.text("password"),
        salt.as_deref(),
        &call.text("algorithm"),
    )
    .map(Value::from)
}
