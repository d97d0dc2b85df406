//! The differences between a user and its state.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use crate::user::GECOS;
use crate::{shadow, user};
use halite_call::host::accounts;

/// The wanted attributes, read once.
pub(super) struct DesiredUser {
    pub(super) name: String,
    pub(super) uid: Value,
    pub(super) gid: Value,
    pub(super) groups: Option<Vec<String>>,
    pub(super) optional: Vec<String>,
    pub(super) remove_groups: bool,
    pub(super) home: Option<String>,
    pub(super) createhome: bool,
    pub(super) password: Option<String>,
    pub(super) enforce_password: bool,
    pub(super) empty_password: bool,
    pub(super) shell: Option<String>,
    /// The parts of the description that are given.
    pub(super) gecos: Vec<(&'static str, String)>,
    pub(super) password_lock: Option<bool>,
}

/// The ages of a password: the argument, the field of `/etc/shadow`, the option
/// of `chage`, and the word in comments.
pub(super) const AGES: &[(&str, &str, &str, &str)] = &[
    ("date", "lstchg", "-d", "last change date"),
    ("mindays", "min", "-m", "minimum days"),
    ("maxdays", "max", "-M", "maximum days"),
    ("inactdays", "inact", "-I", "inactive days"),
    ("warndays", "warn", "-W", "warn days"),
    ("expire", "expire", "-E", "expire days"),
];

fn group_number(call: &Call<'_>, group: &Value) -> Option<i64> {
    match group {
        Value::Int(int) => i64::try_from(*int).ok(),
        other => accounts::group(call, &python::str(other)).map(|group| group.gid),
    }
}

fn group_name(call: &Call<'_>, gid: i64) -> String {
    accounts::group_of(call, gid).map_or_else(|| gid.to_string(), |group| group.name)
}

/// The groups that are to be set, if they differ.
fn group_changes(
    call: &Call<'_>,
    wanted: &DesiredUser,
    user: &accounts::User,
    gid: &Value,
) -> Option<Vec<String>> {
    let mut now = accounts::groups_of(call, user);
    let mut groups: Vec<String> = wanted.groups.clone().unwrap_or_default();
    groups.extend(wanted.optional.iter().cloned());
    if !wanted.remove_groups || (wanted.groups.is_none() && wanted.optional.is_empty()) {
        groups.extend(now.iter().cloned());
    }
    groups.sort();
    groups.dedup();
    // The first group is no supplementary one, under none of its names.
    let first = if gid.is_nil() {
        Some(user.gid)
    } else {
        group_number(call, gid)
    };
    let first_name = first.map(|gid| group_name(call, gid)).unwrap_or_default();
    let number = |name: &str| accounts::group(call, name).map(|group| group.gid);
    let is_first =
        |name: &String| *name == first_name || (number(name).is_some() && number(name) == first);
    now.retain(|name| !is_first(name));
    groups.retain(|name| !is_first(name));
    let old_name = group_name(call, user.gid);
    now.retain(|name| *name != old_name || old_name == first_name);
    if !groups.contains(&wanted.name) {
        now.retain(|name| *name != wanted.name);
    }
    let missing = groups.iter().any(|name| !now.contains(name));
    let surplus = now.iter().any(|name| !groups.contains(name));
    if !missing && (!surplus || !wanted.remove_groups) {
        return None;
    }
    // Two names of one group are no difference.
    let same_number = |name: &String, others: &[String]| {
        let own = number(name);
        own.is_some()
            && others
                .iter()
                .any(|other| other != name && number(other) == own)
    };
    let both: Vec<String> = now.iter().chain(&groups).cloned().collect();
    let mut differing: Vec<&String> = groups.iter().filter(|name| !now.contains(name)).collect();
    if wanted.remove_groups {
        differing.extend(now.iter().filter(|name| !groups.contains(name)));
    }
    let differs = differing.iter().any(|name| !same_number(name, &both));
    (differs && (!groups.is_empty() || wanted.remove_groups)).then_some(groups)
}

/// What is to be changed, in the order in which it is told; `None` when there
/// is no such user.
///
/// # Errors
/// When the numbers would change and must not.
pub(super) fn changes(
    call: &Call<'_>,
    wanted: &DesiredUser,
    gid: &Value,
    any_number: bool,
) -> Result<Option<Map>, CallError> {
    let name = wanted.name.as_str();
    let Some(user) = accounts::user(call, name) else {
        return Ok(None);
    };
    let shadow = shadow::info(call, name);
    let mut change = Map::new();
    if wanted.uid.is_true() && wanted.uid != Value::from(user.uid) {
        change.insert("uid", wanted.uid.clone());
    }
    if !gid.is_nil() && group_number(call, gid) != Some(user.gid) {
        change.insert("gid", gid.clone());
    }
    if let Some(groups) = group_changes(call, wanted, &user, gid) {
        let groups = groups.into_iter().map(Value::from).collect();
        change.insert("groups", Value::List(groups));
    }
    if let Some(home) = wanted.home.as_ref().filter(|home| **home != user.home) {
        change.insert("home", home.as_str());
    }
    if wanted.createhome {
        let home = wanted.home.as_ref().unwrap_or(&user.home);
        if !call.host().path(home).is_dir() {
            change.insert("homeDoesNotExist", home.as_str());
        }
    }
    if let Some(shell) = wanted.shell.as_ref().filter(|shell| **shell != user.shell) {
        change.insert("shell", shell.as_str());
    }
    shadow_changes(call, wanted, &shadow, &mut change);
    let info = user::info(call, name);
    for (key, text) in &wanted.gecos {
        if info.get(key).and_then(Value::as_str) != Some(text) {
            change.insert(*key, text.as_str());
        }
    }
    let mut errors = Vec::new();
    for (key, old) in [("uid", user.uid), ("gid", user.gid)] {
        let allow = format!("allow_{key}_change");
        let Some(new) = change
            .get(key)
            .filter(|_| !any_number && !call.flag(&allow))
        else {
            continue;
        };
        errors.push(Value::from(format!(
            "Changing {key} ({old} -> {}) not permitted, set {allow} to True to force this change. \
             Note that this will not change file ownership.",
            python::str(new)
        )));
    }
    if errors.is_empty() {
        return Ok(Some(change));
    }
    let details = halite_output::render_as(
        halite_output::Outputter::Nested,
        &Value::List(errors),
        &halite_output::RenderOptions::default(),
    );
    Err(CallError::command(format!(
        "Encountered error checking for needed changes. Additional info follows:\n\n{}",
        details.trim_end()
    )))
}

fn shadow_changes(call: &Call<'_>, wanted: &DesiredUser, shadow: &Map, change: &mut Map) {
    let hash = shadow.get("passwd").map(python::str).unwrap_or_default();
    if let Some(password) = wanted.password.as_ref().filter(|_| !wanted.empty_password)
        && (hash == "!" || wanted.enforce_password)
        && hash != *password
    {
        change.insert("passwd", password.as_str());
    }
    if wanted.empty_password && !hash.is_empty() {
        change.insert("empty_password", true);
    }
    for (arg, field, ..) in AGES {
        let value = call.arg(arg);
        let given = if *arg == "expire" {
            value.is_true()
        } else {
            !value.is_nil()
        };
        if given && shadow.get(field) != Some(value) {
            change.insert(*arg, value.clone());
        }
    }
    match wanted.password_lock {
        Some(lock) if lock != hash.starts_with('!') => {
            change.insert("password_lock", lock);
        }
        _ => {}
    }
}

/// Reads what is wanted; the comment when it makes no sense.
pub(super) fn read(call: &Call<'_>) -> Result<DesiredUser, String> {
    let text = |name: &str| call.text_opt(name);
    let mut gecos = Vec::new();
    for key in GECOS {
        if call.arg(key).is_nil() {
            continue;
        }
        let value = call.text(key);
        if ["fullname", "roomnumber", "workphone"].contains(key) && value.contains(',') {
            return Err(format!("Unsupported char ',' in {value}"));
        }
        gecos.push((*key, value));
    }
    let lock = call.arg("password_lock");
    let groups = call.arg("groups");
    Ok(DesiredUser {
        name: call.text("name"),
        uid: call.arg("uid").clone(),
        gid: call.arg("gid").clone(),
        groups: (!groups.is_nil()).then(|| user::groups_list(groups)),
        optional: user::groups_list(call.arg("optional_groups")),
        remove_groups: call.flag("remove_groups"),
        home: text("home"),
        createhome: call.flag("createhome"),
        password: text("password"),
        enforce_password: call.flag("enforce_password"),
        empty_password: call.flag("empty_password"),
        shell: text("shell"),
        gecos,
        password_lock: (!lock.is_nil()).then(|| lock.is_true()),
    })
}
