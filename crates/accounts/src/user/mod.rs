//! Users: the execution module `user`.

mod change;
mod functions;
use halite_call::{Call, Function, Module, python};
use halite_proto::{Map, Value};

pub(crate) use change::{add, change, chgroups, delete};
use functions::{
    add_, change_, chgroups_, delete_, getent, info_, list_groups, list_users, primary_group,
    rename,
};
use halite_call::host::accounts;

pub(crate) const MODULE: Module = Module {
    name: "user",
    functions: &[
        Function::new(
            "user.add",
            "(name, uid=None, gid=None, groups=None, home=None, shell=None, unique=True, system=False, fullname='', roomnumber='', workphone='', homephone='', other='', createhome=True, loginclass=None, nologinit=False, root=None, usergroup=None, local=False)",
            add_,
            "Adds a user.",
        ),
        Function::new(
            "user.chfullname",
            "(name, fullname, root=None)",
            |call| change_(call, "fullname"),
            "Changes the full name of a user.",
        ),
        Function::new(
            "user.chgid",
            "(name, gid, root=None)",
            |call| change_(call, "gid"),
            "Changes the first group of a user.",
        ),
        Function::new(
            "user.chgroups",
            "(name, groups, append=False, root=None)",
            chgroups_,
            "Changes the groups of a user.",
        ),
        Function::new(
            "user.chhome",
            "(name, home, persist=False, root=None)",
            |call| change_(call, "home"),
            "Changes the home of a user; with persist its files move along.",
        ),
        Function::new(
            "user.chhomephone",
            "(name, homephone, root=None)",
            |call| change_(call, "homephone"),
            "Changes the telephone number of a user at home.",
        ),
        Function::new(
            "user.chloginclass",
            "(name, loginclass, root=None)",
            |_| Ok(false.into()),
            "Changes the login class of a user, of which there are none here: False.",
        ),
        Function::new(
            "user.chother",
            "(name, other, root=None)",
            |call| change_(call, "other"),
            "Changes the last field of a user's description.",
        ),
        Function::new(
            "user.chroomnumber",
            "(name, roomnumber, root=None)",
            |call| change_(call, "roomnumber"),
            "Changes the room of a user.",
        ),
        Function::new(
            "user.chshell",
            "(name, shell, root=None)",
            |call| change_(call, "shell"),
            "Changes the login shell of a user.",
        ),
        Function::new(
            "user.chuid",
            "(name, uid, root=None)",
            |call| change_(call, "uid"),
            "Changes the number of a user.",
        ),
        Function::new(
            "user.chworkphone",
            "(name, workphone, root=None)",
            |call| change_(call, "workphone"),
            "Changes the telephone number of a user at work.",
        ),
        Function::new(
            "user.delete",
            "(name, remove=False, force=False, root=None, local=False)",
            delete_,
            "Deletes a user; with remove its home too.",
        ),
        Function::new(
            "user.get_loginclass",
            "(name)",
            |_| Ok(false.into()),
            "The login class of a user, of which there are none here: False.",
        ),
        Function::new(
            "user.getent",
            "(refresh=False, root=None)",
            getent,
            "What is known of all users.",
        ),
        Function::new(
            "user.info",
            "(name, root=None)",
            info_,
            "What is known of a user; empty if there is none.",
        ),
        Function::new(
            "user.list_groups",
            "(name)",
            list_groups,
            "The groups that a user is in.",
        ),
        Function::new(
            "user.list_users",
            "(root=None)",
            list_users,
            "The names of all users.",
        ),
        Function::new(
            "user.primary_group",
            "(name)",
            primary_group,
            "The first group of a user.",
        ),
        Function::new(
            "user.rename",
            "(name, new_name, root=None)",
            rename,
            "Renames a user.",
        ),
    ],
};

/// The parts of a user's description, in their order.
pub(crate) const GECOS: &[&str] = &["fullname", "roomnumber", "workphone", "homephone", "other"];

fn gecos_parts(user: &accounts::User) -> Vec<String> {
    let mut parts: Vec<String> = user.gecos.splitn(5, ',').map(str::to_owned).collect();
    parts.resize(GECOS.len(), String::new());
    parts
}

fn describe(call: &Call<'_>, user: &accounts::User) -> Map {
    let groups = accounts::groups_of(call, user)
        .into_iter()
        .map(Value::from)
        .collect();
    let mut info = Map::from([
        ("gid", Value::from(user.gid)),
        ("groups", Value::List(groups)),
        ("home", user.home.as_str().into()),
        ("name", user.name.as_str().into()),
        ("passwd", user.passwd.as_str().into()),
        ("shell", user.shell.as_str().into()),
        ("uid", user.uid.into()),
    ]);
    for (key, part) in GECOS.iter().zip(gecos_parts(user)) {
        info.insert(*key, part);
    }
    info
}

/// What is known of a user; empty if there is none.
pub(crate) fn info(call: &Call<'_>, name: &str) -> Map {
    accounts::user(call, name)
        .map(|user| describe(call, &user))
        .unwrap_or_default()
}

/// Groups of a list or of comma separated text.
pub(crate) fn groups_list(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(python::str).collect(),
        Value::Nil => Vec::new(),
        other => python::str(other).split(',').map(str::to_owned).collect(),
    }
}
