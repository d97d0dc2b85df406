//! Modules of the kernel: the execution module `kmod`.

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, CallResult, Function, Module, check_one_line, os_error, paths};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "kmod",
    functions: &[
        Function::new(
            "kmod.available",
            "()",
            available_,
            "The modules that can be loaded.",
        ),
        Function::new(
            "kmod.check_available",
            "(mod)",
            check_available,
            "Whether a module can be loaded.",
        ),
        Function::new(
            "kmod.is_loaded",
            "(mod)",
            is_loaded,
            "Whether a module is loaded.",
        ),
        Function::new(
            "kmod.load",
            "(mod, persist=False)",
            load_,
            "Loads a module.",
        ),
        Function::new(
            "kmod.lsmod",
            "()",
            lsmod,
            "The loaded modules with their sizes and users.",
        ),
        Function::new(
            "kmod.mod_list",
            "(only_persist=False)",
            mod_list,
            "The loaded modules.",
        ),
        Function::new(
            "kmod.remove",
            "(mod, persist=False, comment=True)",
            remove_,
            "Unloads a module.",
        ),
    ],
};

/// Where modules are named that the next start loads.
fn config(call: &Call<'_>) -> &'static str {
    if call.host().path("/run/systemd/system").is_dir() {
        "/etc/modules-load.d/salt_managed.conf"
    } else if call.host().path("/etc/modules").exists() {
        "/etc/modules"
    } else {
        "/etc/modules-load.d/salt_managed.conf"
    }
}

/// Names are equal with dashes and underscores.
fn normal(name: &str) -> String {
    name.replace('-', "_")
}

pub(crate) fn loaded(call: &Call<'_>) -> Vec<String> {
    let text = call.host().read("/proc/modules");
    let mut names: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    names.sort();
    names
}

pub(crate) fn persistent(call: &Call<'_>) -> Vec<String> {
    let text = call.host().read(config(call));
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_whitespace().next().unwrap_or(line).to_owned())
        .collect()
}

pub(crate) fn available(call: &Call<'_>) -> Vec<String> {
    let grains = call.ctx.grains();
    let release = grains
        .get("kernelrelease")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut found = Vec::new();
    let builtin = call
        .host()
        .read(format!("/lib/modules/{release}/modules.builtin"));
    let name_of = |file: &str| {
        let name = file.rsplit('/').next().unwrap_or(file);
        name.split(".ko").next().unwrap_or(name).to_owned()
    };
    found.extend(builtin.lines().map(name_of));
    let mut directories = vec![call.host().path(format!("/lib/modules/{release}"))];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                directories.push(path);
            } else {
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.contains(".ko") {
                    found.push(name_of(&name));
                }
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn set_persistent(call: &Call<'_>, name: &str, on: bool, comment: bool) -> Result<(), CallError> {
    check_one_line("a module", name)?;
    let file = config(call);
    let is_it = |line: &str| normal(line.trim()) == normal(name);
    let text = call.host().read_to_change(file)?;
    let mut lines: Vec<String> = Vec::new();
    let mut there = false;
    for line in text.lines() {
        if on && is_it(line.trim_start_matches(['#', ' '])) {
            if !there {
                lines.push(name.to_owned());
            }
            there = true;
        } else if !on && is_it(line) {
            if comment {
                lines.push(format!("#{}", line.trim()));
            }
        } else {
            lines.push(line.to_owned());
        }
    }
    if on && !there {
        lines.push(name.to_owned());
    }
    let mut new = lines.join("\n");
    if !new.is_empty() {
        new.push('\n');
    }
    if new == text {
        return Ok(());
    }
    let path = call.host().path(file);
    let failed = |error: std::io::Error| os_error(&error, file);
    if let Some(parent) = path.parent() {
        paths::create_dir_all(parent).map_err(failed)?;
    }
    replace_file(&path, new.as_bytes()).map_err(failed)
}

/// Loads or unloads; what came or went, or the complaint.
pub(crate) fn change(
    call: &Call<'_>,
    name: &str,
    on: bool,
    persist: bool,
    comment: bool,
) -> Result<Result<Vec<String>, String>, CallError> {
    let before = loaded(call);
    let words: &[&str] = if on {
        &["modprobe", name]
    } else {
        &["rmmod", name]
    };
    let ran = Program::new(call, words).run()?;
    if !ran.ok() {
        let action = if on { "loading" } else { "removing" };
        return Ok(Err(format!("Error {action} module {name}: {}", ran.stderr)));
    }
    let after = loaded(call);
    let (from, other) = if on {
        (&after, &before)
    } else {
        (&before, &after)
    };
    let mut changed: Vec<String> = from
        .iter()
        .filter(|name| !other.contains(name))
        .cloned()
        .collect();
    if persist {
        let was = persistent(call)
            .iter()
            .any(|known| normal(known) == normal(name));
        set_persistent(call, name, on, comment)?;
        if was != on && !changed.iter().any(|known| known == name) {
            changed.push(name.to_owned());
        }
    }
    Ok(Ok(changed))
}

fn list(items: Vec<String>) -> Value {
    Value::List(items.into_iter().map(Value::from).collect())
}

fn available_(call: &Call<'_>) -> CallResult {
    Ok(list(available(call)))
}

fn check_available(call: &Call<'_>) -> CallResult {
    Ok(available(call).contains(&call.text("mod")).into())
}

fn is_loaded(call: &Call<'_>) -> CallResult {
    let name = normal(&call.text("mod"));
    Ok(loaded(call).contains(&name).into())
}

fn mod_list(call: &Call<'_>) -> CallResult {
    Ok(list(if call.flag("only_persist") {
        persistent(call)
    } else {
        loaded(call)
    }))
}

fn lsmod(call: &Call<'_>) -> CallResult {
    let text = call.host().read("/proc/modules");
    let modules = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, size, depcount, users, ..] = words.as_slice() else {
            return None;
        };
        let users = users
            .split(',')
            .filter(|user| !matches!(*user, "" | "-"))
            .map(Value::from);
        Some(
            Map::from([
                ("size", Value::from(*size)),
                ("module", (*name).into()),
                ("depcount", (*depcount).into()),
                ("deps", Value::List(users.collect())),
            ])
            .into(),
        )
    });
    Ok(Value::List(modules.collect()))
}

fn change_(call: &Call<'_>, on: bool) -> CallResult {
    let comment = call.get("comment").is_none_or(Value::is_true);
    let changed = change(call, &call.text("mod"), on, call.flag("persist"), comment)?;
    Ok(match changed {
        Ok(names) => list(names),
        Err(text) => text.into(),
    })
}

fn load_(call: &Call<'_>) -> CallResult {
    change_(call, true)
}

fn remove_(call: &Call<'_>) -> CallResult {
    change_(call, false)
}
