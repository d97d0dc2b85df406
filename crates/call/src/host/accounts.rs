//! The databases of users and groups: the files, and on a real machine also the
//! system's lookup.

use crate::Call;
use nix::unistd;

/// An entry of `/etc/passwd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// What it is called.
    pub name: String,
    /// The second field: `x`, or an encrypted password.
    pub passwd: String,
    /// Its number.
    pub uid: i64,
    /// The number of its first group.
    pub gid: i64,
    /// Name, room and telephone numbers, separated by commas.
    pub gecos: String,
    /// The home directory.
    pub home: String,
    /// The shell of logins.
    pub shell: String,
}

/// An entry of `/etc/group`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// The second field: `x`, or an encrypted password.
    pub passwd: String,
    /// Its number.
    pub gid: i64,
    /// The names of the users that are in it besides those whose first group it is.
    pub members: Vec<String>,
}

fn parse_user(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.trim().split(':').collect();
    let [name, passwd, uid, gid, gecos, home, shell] = fields.as_slice() else {
        return None;
    };
    Some(User {
        name: (*name).to_owned(),
        passwd: (*passwd).to_owned(),
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
        gecos: (*gecos).to_owned(),
        home: (*home).to_owned(),
        shell: (*shell).to_owned(),
    })
}

fn parse_group(line: &str) -> Option<Group> {
    let fields: Vec<&str> = line.trim().split(':').collect();
    let [name, passwd, gid, members] = fields.as_slice() else {
        return None;
    };
    Some(Group {
        name: (*name).to_owned(),
        passwd: (*passwd).to_owned(),
        gid: gid.parse().ok()?,
        members: members
            .split(',')
            .filter(|member| !member.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

/// All users of the file.
pub fn users(call: &Call<'_>) -> Vec<User> {
    let text = call.host().read("/etc/passwd");
    text.lines().filter_map(parse_user).collect()
}

/// All groups of the file.
pub fn groups(call: &Call<'_>) -> Vec<Group> {
    let text = call.host().read("/etc/group");
    text.lines().filter_map(parse_group).collect()
}

/// The user `name`.
pub fn user(call: &Call<'_>, name: &str) -> Option<User> {
    let own = users(call).into_iter().find(|user| user.name == name);
    if own.is_some() || !call.host().is_real() {
        return own;
    }
    let known = unistd::User::from_name(name).ok().flatten()?;
    Some(User {
        name: known.name,
        passwd: known.passwd.to_string_lossy().into_owned(),
        uid: known.uid.as_raw().into(),
        gid: known.gid.as_raw().into(),
        gecos: known.gecos.to_string_lossy().into_owned(),
        home: known.dir.display().to_string(),
        shell: known.shell.display().to_string(),
    })
}

fn of_system(known: unistd::Group) -> Group {
    Group {
        name: known.name,
        passwd: known.passwd.to_string_lossy().into_owned(),
        gid: known.gid.as_raw().into(),
        members: known.mem,
    }
}

/// The group `name`.
pub fn group(call: &Call<'_>, name: &str) -> Option<Group> {
    let own = groups(call).into_iter().find(|group| group.name == name);
    if own.is_some() || !call.host().is_real() {
        return own;
    }
    unistd::Group::from_name(name).ok().flatten().map(of_system)
}

/// The group with the number `gid`.
pub fn group_of(call: &Call<'_>, gid: i64) -> Option<Group> {
    let own = groups(call).into_iter().find(|group| group.gid == gid);
    if own.is_some() || !call.host().is_real() {
        return own;
    }
    let gid = unistd::Gid::from_raw(u32::try_from(gid).ok()?);
    unistd::Group::from_gid(gid).ok().flatten().map(of_system)
}

/// The names of the groups that a user is in, its own first group included.
pub fn groups_of(call: &Call<'_>, user: &User) -> Vec<String> {
    let groups = groups(call);
    let is_in = |group: &Group| group.gid == user.gid || group.members.contains(&user.name);
    let gids: Vec<i64> = groups
        .iter()
        .filter(|group| is_in(group))
        .map(|group| group.gid)
        .collect();
    // A number with several names has them all.
    let mut names: Vec<String> = groups
        .iter()
        .filter(|group| gids.contains(&group.gid))
        .map(|group| group.name.clone())
        .collect();
    if call.host().is_real() {
        names.extend(of_lookup(user));
    }
    names.sort();
    names.dedup();
    names
}

/// The groups that the system's lookup adds.
fn of_lookup(user: &User) -> Vec<String> {
    let (Ok(name), Ok(gid)) = (
        std::ffi::CString::new(user.name.as_str()),
        u32::try_from(user.gid),
    ) else {
        return Vec::new();
    };
    unistd::getgrouplist(&name, unistd::Gid::from_raw(gid))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|gid| unistd::Group::from_gid(gid).ok().flatten())
        .map(|group| group.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_and_others_left_out() {
        let user = parse_user("a:x:1:2:A,,,:/home/a:/bin/sh\n").unwrap();
        assert_eq!((user.uid, user.gid, user.home.as_str()), (1, 2, "/home/a"));
        assert_eq!(parse_user("+::::::"), None);
        assert_eq!(parse_user("a:x:1:2"), None);
        assert_eq!(parse_group("g:x:7:a,b").unwrap().members, ["a", "b"]);
        assert!(parse_group("g:x:7:").unwrap().members.is_empty());
    }
}
