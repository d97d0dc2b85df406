//! The common arguments of `file.symlink` and `file.hardlink`, and the directory
//! that both need.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use halite_call::{Call, CallError, python};
use halite_proto::Value;

use super::common;
use crate::core::{dirs, mode, owner, path};

/// A link that is to be there.
pub(super) struct Link {
    pub(super) name: String,
    pub(super) target: String,
    pub(super) user: Value,
    pub(super) group: Value,
}

impl Link {
    pub(super) fn of(call: &Call<'_>) -> Self {
        let (user, group) = owner_of(call);
        Self {
            name: common::name(call),
            target: path::expand_user(&call.text("target")),
            user,
            group,
        }
    }

    pub(super) fn at(&self) -> &Path {
        Path::new(&self.name)
    }

    /// The directory that the link is in.
    pub(super) fn parent(&self) -> &str {
        path::dirname(&self.name)
    }

    /// Owner and group that this machine does not know.
    pub(super) fn unknown_owners(&self) -> Vec<String> {
        let mut unknown = Vec::new();
        if owner::uid(&self.user).is_none() {
            unknown.push(format!("User {} does not exist", python::str(&self.user)));
        }
        if owner::gid(&self.group).is_none() {
            unknown.push(format!("Group {} does not exist", python::str(&self.group)));
        }
        unknown
    }

    /// Makes the directory of the link, which is a `kind`, with the mode of the
    /// argument `mode`. The comment if it is missing and must not be made.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn make_parent(
        &self,
        call: &Call<'_>,
        kind: &str,
        mode: &str,
    ) -> Result<Option<String>, CallError> {
        let parent = self.parent();
        if Path::new(parent).is_dir() {
            return Ok(None);
        }
        if !call.flag("makedirs") {
            return Ok(Some(format!(
                "Directory {parent} for {kind} is not present"
            )));
        }
        let mode = mode::normalize(call.arg(mode));
        dirs::make_all(Path::new(parent), &self.user, &self.group, mode.as_deref())?;
        Ok(None)
    }
}

/// Whom the link is to belong to.
fn owner_of(call: &Call<'_>) -> (Value, Value) {
    let user = common::user(call);
    let group = call.arg("group").clone();
    let mut user = if user.is_true() || user.as_i64().is_some() {
        user
    } else {
        owner::user_name(nix::unistd::Uid::effective().as_raw())
    };
    let mut group = if group.is_true() || group.as_i64().is_some() {
        group
    } else {
        // Whoever gets the link, gets it for their own group.
        let own = || owner::group_name(nix::unistd::Gid::effective().as_raw());
        owner::first_group(&user).unwrap_or_else(own)
    };
    if call
        .get("inherit_user_and_group")
        .is_some_and(Value::is_true)
        && let Ok(data) = fs::symlink_metadata(path::expand_user(&call.text("name")))
    {
        if !call.arg("user").is_true() {
            user = owner::user_name(data.uid());
        }
        if !call.arg("group").is_true() {
            group = owner::group_name(data.gid());
        }
    }
    (user, group)
}
