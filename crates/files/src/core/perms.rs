//! Owner and mode of a file against what they should be.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use halite_call::paths::Held;
use halite_call::{CallError, StateReturn, python};
use halite_proto::{Map, Value};

use super::{attributes, mode, owner};

/// What a file should be; `None` is as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct DesiredPerms {
    /// The owner, a name or number.
    pub(crate) user: Value,
    /// The group, a name or number.
    pub(crate) group: Value,
    /// The mode, normalised.
    pub(crate) mode: Option<String>,
    /// The attributes of `chattr`.
    pub(crate) attrs: Option<String>,
    /// Whether a link stands for what it leads to.
    pub(crate) follow: bool,
}

/// What a file is: `luser`, `lgroup`, `lmode`, and what was changed.
pub(crate) struct Found {
    /// The mode.
    pub(crate) mode: String,
    uid: u32,
    gid: u32,
    is_link: bool,
}

impl Found {
    /// Looks at a file.
    pub(crate) fn of(path: &Path, follow: bool) -> Result<Self, CallError> {
        let data = if follow {
            fs::metadata(path)
        } else {
            fs::symlink_metadata(path)
        };
        Ok(Self::from_data(&data.map_err(|_| not_found(path))?))
    }

    fn held(held: &Held, path: &Path) -> Result<Self, CallError> {
        let data = held.data().map_err(|_| not_found(path))?;
        Ok(Self::from_data(&data))
    }

    /// What somebody has learned of a file.
    pub(crate) fn from_data(data: &fs::Metadata) -> Self {
        Self {
            mode: mode::digits(data.permissions().mode()),
            uid: data.uid(),
            gid: data.gid(),
            is_link: data.is_symlink(),
        }
    }

    /// Whether the file is somebody else's.
    pub(crate) fn other_user(&self, user: &Value) -> bool {
        user.is_true() && owner::uid(user) != Some(self.uid)
    }

    /// Whether the file is another group's.
    pub(crate) fn other_group(&self, group: &Value) -> bool {
        group.is_true() && owner::gid(group) != Some(self.gid)
    }

    /// Whether the file is not `user`'s, whatever is asked (0 is a user too).
    pub(crate) fn is_other_user(&self, user: &Value) -> bool {
        match user {
            Value::Int(_) => user.as_i64() != Some(self.uid.into()),
            user => self.other_user(user),
        }
    }

    /// Whether the file is not `group`'s, whatever is asked.
    pub(crate) fn is_other_group(&self, group: &Value) -> bool {
        match group {
            Value::Int(_) => group.as_i64() != Some(self.gid.into()),
            group => self.other_group(group),
        }
    }

    /// The mode wanted, if the file has another.
    pub(crate) fn other_mode<'m>(&self, wanted: Option<&'m String>) -> Option<&'m String> {
        // A link has no mode of its own.
        wanted.filter(|wanted| !self.is_link && **wanted != self.mode)
    }
}

/// What is said of a file that one cannot take hold of.
pub(crate) fn not_held(path: &Path, error: &std::io::Error) -> CallError {
    match error.kind() {
        // A link is not followed, which is for people to know.
        std::io::ErrorKind::PermissionDenied => halite_call::os_error(error, path),
        _ => not_found(path),
    }
}

/// What is said of a file that is not there.
pub(crate) fn not_found(path: &Path) -> CallError {
    CallError::command(format!("Path not found: {}", path.display()))
}

/// Makes the file what it should be, or says what would be changed. Changes
/// and complaints are added to `ret`.
///
/// # Errors
/// When the file is not there.
pub(crate) fn check(
    ret: &mut StateReturn,
    path: &Path,
    wanted: &DesiredPerms,
    test: bool,
) -> Result<Map, CallError> {
    let held = Held::open(path, wanted.follow).map_err(|error| not_held(path, &error))?;
    check_held(ret, (path, &held), wanted, None, test)
}

/// The same for something that one has hold of: what is different from `before`
/// is a change, whether it is still to be made or not.
///
/// # Errors
/// When nothing can be learned about it.
pub(crate) fn check_held(
    ret: &mut StateReturn,
    (path, held): (&Path, &Held),
    wanted: &DesiredPerms,
    before: Option<Found>,
    test: bool,
) -> Result<Map, CallError> {
    let found = match before {
        Some(before) => before,
        None => Found::held(held, path)?,
    };
    let mut perms = Map::from([("lmode", Value::from(found.mode.as_str()))]);
    let mut complaints = Vec::new();
    if let Some(attrs) = &wanted.attrs {
        attributes::check(ret, path, attrs, test, &mut complaints)?;
    }
    if test {
        predict_owner(ret, wanted, &found, &mut perms);
    } else {
        check_owner(
            ret,
            (path, held),
            wanted,
            &found,
            &mut perms,
            &mut complaints,
        );
    }
    // A change of owner may have changed the mode.
    let now = Found::held(held, path)?;
    let other = found.other_mode(wanted.mode.as_ref());
    if let Some(new) = other.or_else(|| now.other_mode(wanted.mode.as_ref())) {
        perms.insert("cmode", new.as_str());
        let done = test
            || now.other_mode(Some(new)).is_none()
            || mode::parse(new).is_some_and(|bits| held.set_mode(bits).is_ok());
        if done {
            ret.changes.insert("mode", new.as_str());
            if test {
                ret.result = None;
            }
        } else {
            ret.result = Some(false);
            complaints.push(format!("Failed to change mode to {new}"));
        }
    }
    add_comments(ret, complaints);
    Ok(perms)
}

fn others<'w>(
    wanted: &'w DesiredPerms,
    found: &Found,
    perms: &mut Map,
) -> (Option<&'w Value>, Option<&'w Value>) {
    let user = found.other_user(&wanted.user).then_some(&wanted.user);
    let group = found.other_group(&wanted.group).then_some(&wanted.group);
    if let Some(user) = user {
        perms.insert("cuser", user.clone());
    }
    if let Some(group) = group {
        perms.insert("cgroup", group.clone());
    }
    (user, group)
}

fn predict_owner(ret: &mut StateReturn, wanted: &DesiredPerms, found: &Found, perms: &mut Map) {
    let (user, group) = others(wanted, found, perms);
    for (key, value) in [("user", user), ("group", group)] {
        if let Some(value) = value {
            ret.changes.insert(key, value.clone());
            ret.result = None;
        }
    }
}

fn check_owner(
    ret: &mut StateReturn,
    (path, held): (&Path, &Held),
    wanted: &DesiredPerms,
    found: &Found,
    perms: &mut Map,
    complaints: &mut Vec<String>,
) {
    let (user, group) = others(wanted, found, perms);
    if user.is_none() && group.is_none() {
        return;
    }
    let complaint = match owner_numbers(user, group) {
        (uid, gid, wrong) if wrong.is_empty() => held
            .chown(uid, gid)
            .err()
            .map(|error| halite_call::os_text(&error, path)),
        (_, _, wrong) => Some(wrong),
    };
    if let Some(complaint) = complaint {
        ret.result = Some(false);
        complaints.push(complaint);
    }
    let now = Found::held(held, path).ok();
    let is_still = |other: fn(&Found, &Value) -> bool, value: &Value| {
        now.as_ref().is_none_or(|now| other(now, value))
    };
    for (key, value, failed) in [
        ("user", user, is_still(Found::other_user, &wanted.user)),
        ("group", group, is_still(Found::other_group, &wanted.group)),
    ] {
        let Some(value) = value else { continue };
        if failed {
            ret.result = Some(false);
            complaints.push(format!("Failed to change {key} to {}", python::str(value)));
        } else {
            ret.changes.insert(key, value.clone());
        }
    }
}

/// The numbers of owner and group, and what is wrong with their names.
fn owner_numbers(
    user: Option<&Value>,
    group: Option<&Value>,
) -> (Option<u32>, Option<u32>, String) {
    let mut wrong = String::new();
    let uid = user.and_then(owner::uid);
    if user.is_some() && uid.is_none() {
        wrong.push_str("User does not exist\n");
    }
    let gid = group.and_then(owner::gid);
    if group.is_some() && gid.is_none() {
        wrong.push_str("Group does not exist\n");
    }
    (uid, gid, wrong)
}

/// Changes owner and group; what is wrong with them in Salt's words.
pub(crate) fn change_owner(
    path: &Path,
    user: Option<&Value>,
    group: Option<&Value>,
    follow: bool,
) -> Option<String> {
    let (uid, gid, mut wrong) = owner_numbers(user, group);
    if !path.exists() && (follow || fs::symlink_metadata(path).is_err()) {
        wrong.push_str("File not found");
    }
    if !wrong.is_empty() {
        return Some(wrong);
    }
    match Held::open(path, follow).and_then(|held| held.chown(uid, gid)) {
        Ok(()) => None,
        Err(error) => Some(halite_call::os_text(&error, path)),
    }
}

/// Sets the mode; nothing happens to what is no mode.
pub(crate) fn set_mode(path: &Path, mode: &str) -> std::io::Result<()> {
    Held::open(path, true)?.set_mode(mode::parse_or_invalid(mode)?)
}

/// Adds complaints to a comment, which may be a list.
pub(crate) fn add_comments(ret: &mut StateReturn, complaints: Vec<String>) {
    match &mut ret.comment {
        Value::List(list) => list.extend(complaints.into_iter().map(Value::from)),
        old => {
            let mut all: Vec<String> = Vec::new();
            if old.is_true() {
                all.push(python::str(old));
            }
            all.extend(complaints);
            *old = all.join("; ").into();
        }
    }
}
