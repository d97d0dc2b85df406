//! NFS exports: the execution module `nfs3`.

use halite_call::host::{Program, replace_file};
use halite_call::{
    Call, CallError, CallResult, Function, Module, check_one_line, os_error, python,
};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "nfs3",
    functions: &[
        Function::new(
            "nfs3.add_export",
            "(exports='/etc/exports', path=None, hosts=None, options=None)",
            add_export,
            "Exports a path to hosts with options.",
        ),
        Function::new(
            "nfs3.del_export",
            "(exports='/etc/exports', path=None)",
            del_export,
            "Exports a path no more.",
        ),
        Function::new(
            "nfs3.list_exports",
            "(exports='/etc/exports')",
            |call| Ok(shown(&read(call)?)),
            "What is exported, to whom and with which options.",
        ),
        Function::new(
            "nfs3.reload_exports",
            "()",
            reload_exports,
            "Has the server read what is exported again.",
        ),
    ],
};

/// Hosts with their options.
type Permission = (String, Vec<String>);

fn read(call: &Call<'_>) -> Result<Vec<(String, Vec<Permission>)>, CallError> {
    let file = call.text("exports");
    let text = halite_call::paths::read_to_string(call.host().path(&file))
        .map_err(|error| os_error(&error, &file))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Vec<(String, Vec<Permission>)> {
    let mut all: Vec<(String, Vec<Permission>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let Some(path) = words.next() else {
            continue;
        };
        // Several paths on a line have the same hosts.
        let mut paths = vec![path.to_owned()];
        let mut permissions = Vec::new();
        for word in words {
            if word.starts_with('/') {
                paths.push(word.to_owned());
                continue;
            }
            let (hosts, options) = word.split_once('(').unwrap_or((word, ""));
            let options = options.replace(')', "");
            let options = options.split(',').map(str::to_owned).collect();
            permissions.push((hosts.to_owned(), options));
        }
        for path in paths {
            match all.iter_mut().find(|(known, _)| *known == path) {
                Some((_, known)) => known.extend(permissions.clone()),
                None => all.push((path, permissions.clone())),
            }
        }
    }
    all
}

fn shown(all: &[(String, Vec<Permission>)]) -> Value {
    all.iter()
        .map(|(path, permissions)| {
            let permissions: Vec<Value> = permissions
                .iter()
                .map(|permission| one(permission).into())
                .collect();
            (path.as_str(), permissions)
        })
        .collect::<Map>()
        .into()
}

fn one((hosts, options): &Permission) -> Map {
    let options: Vec<Value> = options
        .iter()
        .map(|option| option.as_str().into())
        .collect();
    Map::from([
        ("hosts", Value::from(hosts.as_str())),
        ("options", options.into()),
    ])
}

fn write(call: &Call<'_>, all: &[(String, Vec<Permission>)]) -> Result<(), CallError> {
    let file = call.text("exports");
    let lines = all.iter().map(|(path, permissions)| {
        let permissions: String = permissions
            .iter()
            .map(|(hosts, options)| format!(" {hosts}({})", options.join(",")))
            .collect();
        format!("{path}{permissions}\n")
    });
    let text: String = lines.collect();
    replace_file(&call.host().path(&file), text.as_bytes()).map_err(|error| os_error(&error, &file))
}

fn path(call: &Call<'_>) -> Result<String, CallError> {
    let path = call.text("path");
    match path.starts_with('/') && !path.contains(char::is_whitespace) {
        true => Ok(path),
        false => Err(CallError::invocation(format!(
            "not a path to export: {path:?}"
        ))),
    }
}

fn add_export(call: &Call<'_>) -> CallResult {
    if call.arg("hosts").as_str().is_none() {
        return Err(CallError::wrong_type("hosts argument must be a string"));
    }
    let new: Permission = (call.text("hosts"), python::texts(call.arg("options")));
    if new.0.contains(char::is_whitespace) {
        return Err(CallError::invocation("hosts are one word"));
    }
    check_one_line("options", &new.1.join(","))?;
    let path = path(call)?;
    let mut all = read(call)?;
    match all.iter_mut().find(|(known, _)| *known == path) {
        Some((_, known)) => known.push(new.clone()),
        None => all.push((path, vec![new.clone()])),
    }
    write(call, &all)?;
    Ok(one(&new).into())
}

fn del_export(call: &Call<'_>) -> CallResult {
    let path = call.text("path");
    let mut all = read(call)?;
    let count = all.len();
    all.retain(|(known, _)| *known != path);
    if all.len() == count {
        return Err(CallError::exception("KeyError", format!("'{path}'")));
    }
    write(call, &all)?;
    Ok(shown(&all))
}

fn reload_exports(call: &Call<'_>) -> CallResult {
    if !call.host().has("exportfs") {
        return Err(CallError::NotFound(
            "The 'exportfs' binary was not found in $PATH.".to_owned(),
        ));
    }
    let ran = Program::new(call, &["exportfs", "-r"]).run()?;
    Ok(Map::from([
        ("result", Value::from(ran.stderr.is_empty())),
        ("stdout", ran.stdout.into()),
        ("stderr", ran.stderr.into()),
    ])
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_read() {
        let all = parse("# x\n/srv /home web1(rw,sync) *(ro)\n/srv db1(rw)\n");
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].1.len(), 3);
        assert_eq!(
            all[1].1[0],
            ("web1".to_owned(), vec!["rw".to_owned(), "sync".to_owned()])
        );
    }
}
