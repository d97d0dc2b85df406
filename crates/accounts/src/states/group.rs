//! States of groups.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::group;
use halite_call::host::accounts;

pub(crate) const MODULE: Module = Module {
    name: "group",
    functions: &[
        Function::new(
            "group.absent",
            "(name, local=False)",
            absent,
            "A group does not exist.",
        ),
        Function::new(
            "group.present",
            "(name, gid=None, system=False, addusers=None, delusers=None, members=None, non_unique=False, local=False)",
            present,
            "A group exists, with these members.",
        ),
    ],
};

/// What a group lacks.
#[derive(Default)]
struct Changes {
    gid: Option<Value>,
    /// All members; the flag says that there shall be none.
    delete_all: Option<Vec<String>>,
    members: Option<Vec<String>>,
    add: Vec<String>,
    delete: Vec<String>,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.gid.is_none()
            && self.delete_all.is_none()
            && self.members.is_none()
            && self.add.is_empty()
            && self.delete.is_empty()
    }

    /// The changes as Python's `str` of each value.
    fn written(&self) -> Vec<(&'static str, Value, String)> {
        let list =
            |names: &[String]| Value::List(names.iter().map(|name| name.as_str().into()).collect());
        let with_text = |key: &'static str, value: Value| {
            let text = python::str(&value);
            (key, value, text)
        };
        let mut all = Vec::new();
        if let Some(gid) = &self.gid {
            all.push(with_text("gid", gid.clone()));
        }
        if let Some(names) = &self.delete_all {
            // A set in Salt.
            let quoted: Vec<String> = names
                .iter()
                .map(|name| python::repr(&name.as_str().into()))
                .collect();
            all.push((
                "delusers",
                list(names),
                format!("{{{}}}", quoted.join(", ")),
            ));
        }
        if let Some(names) = &self.members {
            all.push(with_text("members", list(names)));
        }
        if !self.add.is_empty() {
            all.push(with_text("addusers", list(&self.add)));
        }
        if !self.delete.is_empty() {
            all.retain(|(key, ..)| *key != "delusers");
            all.push(with_text("delusers", list(&self.delete)));
        }
        all
    }

    fn failed(&self) -> Map {
        let map: Map = self
            .written()
            .into_iter()
            .map(|(key, value, _)| (key, value))
            .collect();
        Map::from([("Failed", map)])
    }
}

fn names(call: &Call<'_>, arg: &str) -> Option<Vec<String>> {
    match call.arg(arg) {
        Value::Nil => None,
        Value::List(items) => Some(items.iter().map(python::str).collect()),
        // Salt walks through a text letter by letter; a single name is meant.
        other => Some(vec![python::str(other)]),
    }
}

/// What the group lacks; nothing when there is no such group.
fn changes(call: &Call<'_>, name: &str) -> Result<Option<Changes>, String> {
    let Some(group) = accounts::group(call, name) else {
        return Ok(None);
    };
    let mut changes = Changes::default();
    if call.arg("gid").is_true() {
        let gid = python::int(call.arg("gid")).map_err(|_| "Invalid gid".to_owned())?;
        if group.gid != gid {
            changes.gid = Some(gid.into());
        }
    }
    let has = |name: &String| group.members.contains(name);
    if let Some(members) = names(call, "members") {
        let same =
            members.iter().all(has) && group.members.iter().all(|name| members.contains(name));
        if members.is_empty() && !group.members.is_empty() {
            changes.delete_all = Some(group.members.clone());
        } else if !same {
            changes.members = Some(members);
        }
    }
    let listed = |arg: &str| names(call, arg).unwrap_or_default();
    changes.add = listed("addusers")
        .into_iter()
        .filter(|name| !has(name))
        .collect();
    changes.delete = listed("delusers").into_iter().filter(has).collect();
    Ok(Some(changes))
}

fn apply(call: &Call<'_>, name: &str, changes: &Changes) -> Result<(), CallError> {
    if changes.gid.is_some() {
        group::chgid(call, name, call.arg("gid"), call.flag("non_unique"))?;
    }
    for user in changes.delete_all.iter().flatten() {
        group::del_user(call, name, user)?;
    }
    if let Some(members) = &changes.members {
        group::set_members(call, name, &members.join(","))?;
    }
    for user in &changes.add {
        group::add_user(call, name, user)?;
    }
    for user in &changes.delete {
        group::del_user(call, name, user)?;
    }
    Ok(())
}

fn present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call).ok(format!("Group {name} is present and up to date"));
    let (members, add, delete) = (
        names(call, "members"),
        names(call, "addusers"),
        names(call, "delusers"),
    );
    if members.is_some() && (add.is_some() || delete.is_some()) {
        return Ok(state
            .pending(
                "Error: Conflicting options \"members\" with \"addusers\" and/or \"delusers\" can not be used together. ",
            )
            .into());
    }
    if let (Some(add), Some(delete)) = (&add, &delete)
        && add.iter().any(|name| delete.contains(name))
    {
        return Ok(state
            .pending("Error. Same user(s) can not be added and deleted simultaneously")
            .into());
    }
    let found = match changes(call, &name) {
        Ok(found) => found,
        Err(comment) => return Ok(state.failed(comment).into()),
    };
    let Some(found) = found else {
        return create(call, &name, state);
    };
    if found.is_empty() {
        return Ok(state.into());
    }
    let mut comment = "The following group attributes are set to be changed:\n".to_owned();
    for (key, _, text) in found.written() {
        comment.push_str(&format!("{key}: {text}\n"));
    }
    if call.is_test() {
        return Ok(state.pending(comment).into());
    }
    apply(call, &name, &found)?;
    match changes(call, &name) {
        Ok(Some(left)) if !left.is_empty() => {
            comment.push_str("Some changes could not be applied");
            state.changes = left.failed();
            Ok(state.failed(comment).into())
        }
        _ => Ok(state
            .ok(comment)
            .change("Final", "All changes applied successfully")
            .into()),
    }
}

fn create(call: &Call<'_>, name: &str, mut state: StateReturn) -> CallResult {
    if call.is_test() {
        return Ok(state
            .pending(format!("Group {name} set to be added"))
            .into());
    }
    let gid = call.arg("gid");
    let non_unique = call.flag("non_unique");
    if !gid.is_nil() && !non_unique {
        let taken = accounts::groups(call)
            .into_iter()
            .find(|group| Value::from(group.gid) == *gid);
        if let Some(other) = taken {
            return Ok(state
                .failed(format!(
                    "Group {name} is not present but gid {} is already taken by group {}",
                    python::str(gid),
                    other.name
                ))
                .into());
        }
    }
    if !group::add(
        call,
        name,
        gid,
        call.flag("system"),
        non_unique,
        call.flag("local"),
    )? {
        return Ok(state
            .failed(format!("Failed to create new group {name}"))
            .into());
    }
    let filled = |arg: &str| names(call, arg).filter(|names| !names.is_empty());
    if let Some(users) = filled("addusers").or_else(|| filled("members")) {
        group::set_members(call, name, &users.join(","))?;
    }
    state.changes = group::info(call, name);
    if let Ok(Some(left)) = changes(call, name)
        && !left.is_empty()
    {
        state.changes = left.failed();
        return Ok(state
            .failed(format!(
                "Group {name} has been created but, some changes could not be applied"
            ))
            .into());
    }
    Ok(state.ok(format!("New group {name} created")).into())
}

fn absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    if accounts::group(call, &name).is_none() {
        return Ok(state.ok("Group not present").into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("Group {name} is set for removal"))
            .into());
    }
    Ok(if group::delete(call, &name, call.flag("local"))? {
        state.ok(format!("Removed group {name}")).change(name, "")
    } else {
        state.failed(format!("Failed to remove group {name}"))
    }
    .into())
}
