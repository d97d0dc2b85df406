//! Adding, changing and deleting users.
use halite_call::host::Program;
use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::{GECOS, gecos_parts, groups_list, info};
use crate::tools::{check_name, is_busybox, runs_well, tool, with_root, words};
use halite_call::host::accounts;

/// Adds the user that `args` describes.
pub(crate) fn add(call: &Call<'_>, args: &Map) -> Result<bool, CallError> {
    let get = |name: &str| args.get(name).unwrap_or(&Value::Nil);
    let given = |name: &str| match get(name) {
        Value::Nil => None,
        Value::Str(text) if text.is_empty() => None,
        value => Some(python::str(value)),
    };
    let name = python::str(get("name"));
    check_name(&name)?;
    if is_busybox(call) {
        return add_busybox(call, &name, args);
    }
    let local = get("local").is_true();
    let mut line = words(&[tool(call, if local { "luseradd" } else { "useradd" })?]);
    if get("shell").is_true() {
        line.extend(["-s".to_owned(), python::str(get("shell"))]);
    }
    if let Some(uid) = given("uid") {
        line.extend(["-u".to_owned(), uid]);
    }
    let groups = groups_list(get("groups"));
    if let Some(gid) = given("gid") {
        line.extend(["-g".to_owned(), gid]);
    } else if get("usergroup").is_true() {
        if !local {
            line.push("-U".to_owned());
        }
    } else if groups.contains(&name)
        && own_groups_enabled(call)
        && let Some(group) = accounts::group(call, &name)
    {
        line.extend(["-g".to_owned(), group.gid.to_string()]);
    }
    if get("usergroup") == &Value::Bool(false) {
        line.push(if local { "-n" } else { "-N" }.to_owned());
    }
    if !get("createhome").is_true() {
        line.push("-M".to_owned());
    } else if !local {
        line.push("-m".to_owned());
    }
    if get("nologinit").is_true() {
        line.push("-l".to_owned());
    }
    if !get("home").is_nil() {
        line.extend(["-d".to_owned(), python::str(get("home"))]);
    }
    if !get("unique").is_true() {
        line.push("-o".to_owned());
    }
    if get("system").is_true() {
        line.push("-r".to_owned());
    }
    line.push(name.clone());
    if !local {
        with_root(&mut line, get("root"));
    }
    if !runs_well(call, &line)? {
        return Ok(false);
    }
    if !groups.is_empty() {
        chgroups(call, &name, &groups, false)?;
    }
    for key in GECOS {
        if get(key).is_true() {
            change_gecos(call, &name, key, &python::str(get(key)))?;
        }
    }
    Ok(true)
}

/// Busybox has no way to say the description's parts or that a home stays.
pub(super) fn add_busybox(call: &Call<'_>, name: &str, args: &Map) -> Result<bool, CallError> {
    let get = |name: &str| args.get(name).unwrap_or(&Value::Nil);
    let mut line = words(&["adduser", "-D"]);
    let mut option = |option: &str, name: &str| {
        if get(name).is_true() {
            line.extend([option.to_owned(), python::str(get(name))]);
        }
    };
    option("-s", "shell");
    option("-u", "uid");
    option("-h", "home");
    option("-g", "fullname");
    if !get("gid").is_nil() {
        let gid = python::str(get("gid"));
        let group = gid
            .parse()
            .ok()
            .and_then(|gid| accounts::group_of(call, gid));
        line.extend(["-G".to_owned(), group.map_or(gid, |group| group.name)]);
    } else if accounts::group(call, name).is_some() {
        line.extend(["-G".to_owned(), name.to_owned()]);
    }
    if get("system").is_true() {
        line.push("-S".to_owned());
    }
    if !get("createhome").is_true() {
        line.push("-H".to_owned());
    }
    line.push(name.to_owned());
    if !runs_well(call, &line)? {
        return Ok(false);
    }
    let groups = groups_list(get("groups"));
    if !groups.is_empty() {
        chgroups(call, name, &groups, true)?;
    }
    Ok(true)
}

/// Whether every user gets a group of its own name.
pub(super) fn own_groups_enabled(call: &Call<'_>) -> bool {
    let text = call.host().read("/etc/login.defs");
    text.lines()
        .find(|line| {
            line.chars()
                .take(15)
                .collect::<String>()
                .contains("USERGROUPS_ENAB")
        })
        .is_some_and(|line| line.contains("yes"))
}

/// Deletes a user.
pub(crate) fn delete(
    call: &Call<'_>,
    name: &str,
    remove: bool,
    force: bool,
    local: bool,
) -> Result<bool, CallError> {
    check_name(name)?;
    if is_busybox(call) {
        let mut line = words(&["deluser"]);
        if remove {
            line.push("--remove-home".to_owned());
        }
        line.push(name.to_owned());
        return runs_well(call, &line);
    }
    let mut line = words(&[tool(call, if local { "luserdel" } else { "userdel" })?]);
    if remove {
        line.push("-r".to_owned());
    }
    if force && !local {
        line.push("-f".to_owned());
    }
    line.push(name.to_owned());
    if let Some(root) = call.get("root").filter(|_| !local) {
        with_root(&mut line, root);
    }
    let ran = Program::new(call, &line).run()?;
    if ran.code == 12 {
        // The user is gone, only the mail box could not be deleted.
        let grains = call.ctx.grains();
        let debian = grains.get("os_family").and_then(Value::as_str) == Some("Debian");
        let mail = ["var/mail", "var/spool/mail"];
        return Ok(debian && mail.iter().any(|path| ran.stderr.contains(path)));
    }
    Ok(ran.ok())
}

/// Changes one attribute with `usermod`.
pub(crate) fn change(
    call: &Call<'_>,
    name: &str,
    key: &str,
    value: &Value,
    persist: bool,
) -> Result<bool, CallError> {
    if GECOS.contains(&key) {
        let text = if value.is_nil() {
            String::new()
        } else {
            python::str(value)
        };
        return change_gecos(call, name, key, &text);
    }
    let option = match key {
        "uid" => "-u",
        "gid" => "-g",
        "home" => "-d",
        "shell" => "-s",
        _ => "-l",
    };
    let before = info(call, name);
    if before.is_empty() {
        return Err(CallError::command(format!("User '{name}' does not exist")));
    }
    if before.get(key) == Some(value) {
        return Ok(true);
    }
    let mut line = words(&[tool(call, "usermod")?]);
    if let Some(root) = call.get("root") {
        with_root(&mut line, root);
    }
    if persist {
        line.push("-m".to_owned());
    }
    line.extend([option.to_owned(), python::str(value), name.to_owned()]);
    Program::new(call, &line).run()?;
    Ok(info(call, name).get(key) == Some(value))
}

pub(super) fn change_gecos(
    call: &Call<'_>,
    name: &str,
    key: &str,
    value: &str,
) -> Result<bool, CallError> {
    let parts = |call: &Call<'_>| accounts::user(call, name).map(|user| gecos_parts(&user));
    let at = GECOS.iter().position(|known| *known == key).unwrap_or(0);
    let Some(mut now) = parts(call) else {
        return Err(CallError::exception(
            "KeyError",
            format!("\"getpwnam(): name not found: '{name}'\""),
        ));
    };
    if now[at] == value {
        return Ok(true);
    }
    value.clone_into(&mut now[at]);
    let text = now.join(",");
    let mut line = words(&[tool(call, "usermod")?]);
    if let Some(root) = call.get("root") {
        with_root(&mut line, root);
    }
    line.extend([
        "-c".to_owned(),
        text.trim_end_matches(',').to_owned(),
        name.to_owned(),
    ]);
    Program::new(call, &line).run()?;
    Ok(parts(call).is_some_and(|parts| parts[at] == value))
}

/// Sets the groups of a user, or adds them.
pub(crate) fn chgroups(
    call: &Call<'_>,
    name: &str,
    groups: &[String],
    append: bool,
) -> Result<bool, CallError> {
    check_name(name)?;
    for group in groups {
        check_name(group)?;
    }
    let mut now = accounts::user(call, name)
        .map(|user| accounts::groups_of(call, &user))
        .unwrap_or_default();
    let mut wanted = groups.to_vec();
    now.sort();
    wanted.sort();
    wanted.dedup();
    if now == wanted {
        return Ok(true);
    }
    if is_busybox(call) {
        let mut fine = true;
        for group in wanted.iter().filter(|group| !now.contains(group)) {
            fine &= runs_well(call, &words(&["addgroup", name, group]))?;
        }
        for group in now
            .iter()
            .filter(|group| !append && !wanted.contains(group))
        {
            fine &= runs_well(call, &words(&["delgroup", name, group]))?;
        }
        return Ok(fine);
    }
    let mut line = words(&[tool(call, "usermod")?]);
    if append {
        line.push("-a".to_owned());
    }
    line.extend(["-G".to_owned(), groups.join(","), name.to_owned()]);
    if let Some(root) = call.get("root") {
        with_root(&mut line, root);
    }
    let ran = Program::new(call, &line).run()?;
    // Users that the system's lookup knows alone are not in the file.
    if !ran.ok() && ran.stderr.contains("not found in") {
        let mut fine = true;
        for group in groups {
            fine &= runs_well(call, &words(&["gpasswd", "-a", name, group]))?;
        }
        return Ok(fine);
    }
    Ok(ran.ok())
}
