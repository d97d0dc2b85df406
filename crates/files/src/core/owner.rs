//! Users and groups by name and number.

use halite_call::python;
use halite_proto::Value;
use nix::unistd::{Gid, Group, Uid, User};

/// The number of a user: a number is its own, a name is looked up; `None` or
/// nothing is whoever we are.
pub(crate) fn uid(user: &Value) -> Option<u32> {
    match user {
        Value::Nil => Some(Uid::effective().as_raw()),
        Value::Str(name) if name.is_empty() => Some(Uid::effective().as_raw()),
        Value::Int(_) => user.as_i64().and_then(|uid| u32::try_from(uid).ok()),
        other => uid_of(&python::str(other)),
    }
}

fn uid_of(name: &str) -> Option<u32> {
    let user = User::from_name(name).ok().flatten()?;
    Some(user.uid.as_raw())
}

/// The number of a group; nothing for what names none.
pub(crate) fn gid(group: &Value) -> Option<u32> {
    match group {
        Value::Nil => Some(Gid::effective().as_raw()),
        Value::Int(_) => group.as_i64().and_then(|gid| u32::try_from(gid).ok()),
        other => {
            let group = Group::from_name(&python::str(other)).ok().flatten()?;
            Some(group.gid.as_raw())
        }
    }
}

/// The name of a user; the number where it has none.
pub(crate) fn user_name(uid: u32) -> Value {
    match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name.into(),
        _ => uid.into(),
    }
}

/// The name of a user's first group; nothing for a user who is not there.
pub(crate) fn first_group(user: &Value) -> Option<Value> {
    let uid = Uid::from_raw(uid(user)?);
    let user = User::from_uid(uid).ok().flatten()?;
    Some(group_name(user.gid.as_raw()))
}

/// The name of a group; the number where it has none.
pub(crate) fn group_name(gid: u32) -> Value {
    match Group::from_gid(Gid::from_raw(gid)) {
        Ok(Some(group)) => group.name.into(),
        _ => gid.into(),
    }
}
