//! The names of hosts: the execution module `hosts`.

mod text;

use halite_call::host::replace_file;
use halite_call::{
    Call, CallError, CallResult, Function, Module, check_one_line, os_error, python,
};
use halite_proto::{Map, Value};

pub(crate) use self::text::{Entry, add, comment_on, entries, find, remove, set};

pub(crate) const MODULE: Module = Module {
    name: "hosts",
    functions: &[
        Function::new(
            "hosts.add_host",
            "(ip, alias)",
            add_host,
            "Adds a name of an address.",
        ),
        Function::new(
            "hosts.get_alias",
            "(ip)",
            get_alias,
            "The names of an address.",
        ),
        Function::new("hosts.get_ip", "(host)", get_ip, "The address of a name."),
        Function::new(
            "hosts.has_pair",
            "(ip, alias)",
            has_pair,
            "Whether an address has a name.",
        ),
        Function::new(
            "hosts.list_hosts",
            "()",
            list_hosts,
            "All addresses with their names.",
        ),
        Function::new(
            "hosts.rm_host",
            "(ip, alias)",
            rm_host,
            "Removes a name of an address.",
        ),
        Function::new(
            "hosts.set_comment",
            "(ip, comment)",
            set_comment,
            "Sets the comment of an address.",
        ),
        Function::new(
            "hosts.set_host",
            "(ip, alias, comment=None)",
            set_host,
            "Gives an address these names and no others.",
        ),
    ],
};

fn file(call: &Call<'_>) -> String {
    call.opt_text("hosts.file")
        .unwrap_or_else(|| "/etc/hosts".to_owned())
}

/// The file as it is, which must not be lost: changes are made in it.
pub(crate) fn load(call: &Call<'_>) -> Result<String, CallError> {
    call.host().read_to_change(file(call))
}

/// Puts a changed text in the place of the file, as a whole.
pub(crate) fn save(call: &Call<'_>, old: &str, new: &str) -> Result<(), CallError> {
    if new == old {
        return Ok(());
    }
    let file = file(call);
    replace_file(&call.host().path(&file), new.as_bytes()).map_err(|error| os_error(&error, &file))
}

fn list_hosts(call: &Call<'_>) -> CallResult {
    let mut all = Map::new();
    let mut count = 0;
    for entry in entries(&load(call)?) {
        match entry {
            Entry::Comment(line) => {
                all.insert(format!("comment-{count}"), Value::List(vec![line.into()]));
                count += 1;
            }
            Entry::Host {
                ip,
                aliases,
                comment,
            } => {
                let aliases = aliases.into_iter().map(Value::from).collect();
                let mut host = Map::from([("aliases", Value::List(aliases))]);
                if let Some(comment) = comment {
                    host.insert("comment", comment);
                }
                all.insert(ip, host);
            }
        }
    }
    Ok(all.into())
}

fn get_ip(call: &Call<'_>) -> CallResult {
    let wanted = call.text("host");
    let found = entries(&load(call)?)
        .into_iter()
        .find_map(|entry| match entry {
            Entry::Host { ip, aliases, .. } if aliases.contains(&wanted) => Some(ip),
            _ => None,
        });
    Ok(found.unwrap_or_default().into())
}

fn get_alias(call: &Call<'_>) -> CallResult {
    let (aliases, _) = find(&entries(&load(call)?), &call.text("ip")).unwrap_or_default();
    Ok(Value::List(aliases.into_iter().map(Value::from).collect()))
}

fn has_pair(call: &Call<'_>) -> CallResult {
    let ip = call.text("ip");
    let names = match call.arg("alias") {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => vec![python::str(other)],
    };
    let (aliases, _) = find(&entries(&load(call)?), &ip).unwrap_or_default();
    Ok(names.iter().all(|name| aliases.contains(name)).into())
}

/// Refuses arguments that would become further lines of the file.
fn check(call: &Call<'_>, names: &[&str]) -> Result<(), CallError> {
    names
        .iter()
        .try_for_each(|name| check_one_line(name, &call.text(name)))
}

fn add_host(call: &Call<'_>) -> CallResult {
    check(call, &["ip", "alias"])?;
    let old = load(call)?;
    let new = add(&old, &call.text("ip"), &call.text("alias"));
    save(call, &old, &new)?;
    Ok(true.into())
}

fn rm_host(call: &Call<'_>) -> CallResult {
    let old = load(call)?;
    let new = remove(&old, &call.text("ip"), &call.text("alias"));
    save(call, &old, &new)?;
    Ok(true.into())
}

fn set_comment(call: &Call<'_>) -> CallResult {
    check(call, &["ip", "comment"])?;
    let old = load(call)?;
    let Some(new) = comment_on(&old, &call.text("ip"), &call.text("comment")) else {
        return Ok(false.into());
    };
    save(call, &old, &new)?;
    Ok(true.into())
}

fn set_host(call: &Call<'_>) -> CallResult {
    check(call, &["ip", "alias", "comment"])?;
    let comment = call.text_opt("comment");
    let old = load(call)?;
    let new = set(
        &old,
        &call.text("ip"),
        &call.text("alias"),
        comment.as_deref(),
    );
    save(call, &old, &new)?;
    Ok(true.into())
}
