//! The groups of a user of this machine, for entries that end in `%`.

use std::ffi::CString;

use halite_proto::Map;
use nix::unistd::{Group, User, getgrouplist};

/// The names of the user's groups, sorted; none where no entry asks for any.
pub(super) fn of_user(entries: &Map, name: &str) -> Vec<String> {
    if !are_asked_for(entries) {
        return Vec::new();
    }
    let Ok(Some(user)) = User::from_name(name) else {
        return Vec::new();
    };
    let Ok(c_name) = CString::new(name) else {
        return Vec::new();
    };
    let ids = getgrouplist(&c_name, user.gid).unwrap_or_default();
    let mut names: Vec<String> = ids
        .into_iter()
        .filter_map(|id| Group::from_gid(id).ok().flatten())
        .map(|group| group.name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether an entry is one of a group.
pub(super) fn are_asked_for(entries: &Map) -> bool {
    entries
        .keys()
        .filter_map(|matcher| matcher.as_str())
        .any(|matcher| matcher.ends_with('%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_looked_up_where_an_entry_asks_for_them() {
        let root = User::from_uid(0.into()).unwrap().unwrap();
        let with = Map::from([("ops%", ".*")]);
        let group = Group::from_gid(root.gid).unwrap().unwrap();
        assert!(of_user(&with, &root.name).contains(&group.name));
        assert!(of_user(&Map::from([("ops", ".*")]), &root.name).is_empty());
        assert!(of_user(&with, "no such user").is_empty());
    }
}
