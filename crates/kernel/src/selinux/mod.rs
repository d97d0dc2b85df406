//! SELinux: the execution module `selinux`.
//!
//! Invariant: listings are read here; no name becomes part of a shell's line or
//! of a pattern.

mod labels;

pub(crate) use labels::{apply, change_port, context, kind, port, unapplied, write_context};

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, CallResult, Function, Module, os_text, paths, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "selinux",
    functions: &[
        Function::new(
            "selinux.fcontext_add_policy",
            "(name, filetype=None, sel_type=None, sel_user=None, sel_level=None)",
            |call| labels::change_context(call, "add"),
            "Sets the context of files, or changes it.",
        ),
        Function::new(
            "selinux.fcontext_apply_policy",
            "(name, recursive=False)",
            labels::fcontext_apply_policy,
            "Gives files the contexts that are set for them.",
        ),
        Function::new(
            "selinux.fcontext_delete_policy",
            "(name, filetype=None, sel_type=None, sel_user=None, sel_level=None)",
            |call| labels::change_context(call, "delete"),
            "Removes the context of files.",
        ),
        Function::new(
            "selinux.fcontext_get_policy",
            "(name, filetype=None, sel_type=None, sel_user=None, sel_level=None)",
            |call| Ok(context(call)?.map_or(Value::Nil, Value::from)),
            "The context that is set for files.",
        ),
        Function::new(
            "selinux.fcontext_policy_is_applied",
            "(name, recursive=False)",
            |call| Ok(unapplied(call)?.into()),
            "What of files does not have the context that is set; empty if all have.",
        ),
        Function::new(
            "selinux.filetype_id_to_string",
            "(filetype='a')",
            |call| Ok(kind(&call.text("filetype"))?.into()),
            "The name of a kind of files.",
        ),
        Function::new(
            "selinux.getconfig",
            "()",
            |call| Ok(configured(call).map_or(Value::Nil, Value::from)),
            "The mode after the next start.",
        ),
        Function::new(
            "selinux.getenforce",
            "()",
            |call| Ok(mode(call).into()),
            "The mode that is in force.",
        ),
        Function::new(
            "selinux.getsebool",
            "(boolean)",
            |call| one(&booleans(call)?, &call.text("boolean")),
            "What is known of a boolean.",
        ),
        Function::new(
            "selinux.getsemod",
            "(module)",
            |call| one(&modules(call)?, &call.text("module")),
            "What is known of a module.",
        ),
        Function::new(
            "selinux.install_semod",
            "(module_path)",
            install_semod,
            "Installs a module from a file, which may be one of the master.",
        ),
        Function::new(
            "selinux.list_sebool",
            "()",
            |call| Ok(booleans(call)?.into()),
            "All booleans.",
        ),
        Function::new(
            "selinux.list_semod",
            "()",
            |call| Ok(modules(call)?.into()),
            "All modules.",
        ),
        Function::new(
            "selinux.port_add_policy",
            "(name, sel_type=None, protocol=None, port=None, sel_range=None)",
            |call| change_port(call, "add"),
            "Sets the type of a port.",
        ),
        Function::new(
            "selinux.port_delete_policy",
            "(name, protocol=None, port=None)",
            |call| change_port(call, "delete"),
            "Removes the type of a port.",
        ),
        Function::new(
            "selinux.port_get_policy",
            "(name, sel_type=None, protocol=None, port=None)",
            |call| {
                Ok(port(call, call.text_opt("sel_type").as_deref())?
                    .map_or(Value::Nil, Value::from))
            },
            "The type of a port.",
        ),
        Function::new(
            "selinux.port_modify_policy",
            "(name, sel_type=None, protocol=None, port=None, sel_range=None)",
            |call| change_port(call, "modify"),
            "Changes the type of a port.",
        ),
        Function::new(
            "selinux.remove_semod",
            "(module)",
            |call| does(call, &["semodule", "--remove", &call.text("module")]),
            "Removes a module.",
        ),
        Function::new(
            "selinux.selinux_fs_path",
            "()",
            |call| Ok(kernel(call).map_or(Value::Nil, Value::from)),
            "Where the kernel shows SELinux.",
        ),
        Function::new(
            "selinux.setenforce",
            "(mode)",
            setenforce_,
            "Sets the mode, now and for the next start.",
        ),
        Function::new(
            "selinux.setsebool",
            "(boolean, value, persist=False)",
            setsebool,
            "Sets a boolean, with persist=True also for the next start.",
        ),
        Function::new(
            "selinux.setsebools",
            "(pairs, persist=False)",
            |call| {
                let pairs = call.arg("pairs").as_map().cloned().unwrap_or_default();
                Ok(set_booleans(call, &pairs, call.flag("persist"))?.into())
            },
            "Sets booleans, with persist=True also for the next start.",
        ),
        Function::new(
            "selinux.setsemod",
            "(module, state)",
            |call| {
                let (module, state) = (call.text("module"), call.text("state"));
                Ok(set_module(call, &module, &state)?.into())
            },
            "Switches a module on or off.",
        ),
    ],
};

const CONFIG: &str = "/etc/selinux/config";

fn one(all: &Map, name: &str) -> CallResult {
    Ok(all.get(name).cloned().unwrap_or_else(|| Map::new().into()))
}

fn output(call: &Call<'_>, words: &[&str]) -> Result<String, CallError> {
    Ok(Program::new(call, words).run()?.stdout)
}

fn does(call: &Call<'_>, words: &[&str]) -> CallResult {
    Ok(Program::new(call, words).run()?.ok().into())
}

/// What `cmd.run_all` returns.
fn ran(call: &Call<'_>, words: &[String]) -> CallResult {
    let words = words
        .iter()
        .map(|word| Value::from(word.as_str()))
        .collect();
    let mut kwargs = Map::from([("python_shell", Value::from(false))]);
    if let Some(path) = call.opt_text("__host_path__") {
        kwargs.insert("env", Map::from([("PATH", path)]));
    }
    call.salt("cmd.run_all", &[Value::List(words)], kwargs)
}

fn kernel(call: &Call<'_>) -> Option<&'static str> {
    ["/sys/fs/selinux", "/selinux"]
        .into_iter()
        .find(|place| call.host().path(place).join("enforce").is_file())
}

pub(crate) fn mode(call: &Call<'_>) -> &'static str {
    let Some(place) = kernel(call) else {
        return "Disabled";
    };
    match call.host().read(format!("{place}/enforce")).trim() {
        "" => "Disabled",
        "0" => "Permissive",
        _ => "Enforcing",
    }
}

pub(crate) fn configured(call: &Call<'_>) -> Option<String> {
    let text = call.host().read(CONFIG);
    let mode = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("SELINUX="))?;
    let mut chars = mode.chars();
    let first = chars.next()?;
    let rest = chars.as_str().to_lowercase();
    Some(
        format!("{}{rest}", first.to_uppercase())
            .trim_start()
            .to_owned(),
    )
}

fn setenforce_(call: &Call<'_>) -> CallResult {
    Ok(set_mode(call, &call.text("mode"))?.into())
}

pub(crate) fn set_mode(call: &Call<'_>, wanted: &str) -> Result<&'static str, CallError> {
    let (now, word) = match wanted.to_lowercase().as_str() {
        "enforcing" => ("1", "enforcing"),
        "permissive" => ("0", "permissive"),
        "disabled" => ("0", "disabled"),
        _ => return Err(CallError::invocation(format!("Invalid mode {wanted}"))),
    };
    let host = call.host();
    if let Some(place) = kernel(call)
        && mode(call) != "Disabled"
    {
        let enforce = host.path(place).join("enforce");
        paths::write(&enforce, now).map_err(|error| {
            let why = os_text(&error, &enforce);
            CallError::command(format!("Could not write SELinux enforce file: {why}"))
        })?;
    }
    let path = host.path(CONFIG);
    let text = paths::read_to_string(&path).map_err(|error| {
        let why = os_text(&error, CONFIG);
        CallError::command(format!("Could not read SELinux config file: {why}"))
    })?;
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| match line.strip_prefix("SELINUX=") {
            Some(_) => format!("SELINUX={word}"),
            None => line.to_owned(),
        })
        .collect();
    replace_file(&path, lines.join("\n").as_bytes()).map_err(|error| {
        let why = os_text(&error, CONFIG);
        CallError::command(format!("Could not write SELinux config file: {why}"))
    })?;
    Ok(mode(call))
}

/// `name (on , off) What it is for`
pub(crate) fn booleans(call: &Call<'_>) -> Result<Map, CallError> {
    let text = output(call, &["semanage", "boolean", "--list"])?;
    let mut all = Map::new();
    for line in text.lines().skip(1) {
        let mut words = line.split_whitespace();
        let (Some(name), Some(state), Some(_), Some(default)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let about: Vec<&str> = words.collect();
        all.insert(
            name,
            Map::from([
                ("State", state.trim_start_matches('(')),
                ("Default", default.trim_end_matches(')')),
                ("Description", about.join(" ").as_str()),
            ]),
        );
    }
    Ok(all)
}

fn setsebool(call: &Call<'_>) -> CallResult {
    let (name, value) = (call.text("boolean"), call.text("value"));
    let mut words = vec!["setsebool"];
    if call.flag("persist") {
        words.push("-P");
    }
    words.extend([name.as_str(), value.as_str()]);
    does(call, &words)
}

pub(crate) fn set_booleans(call: &Call<'_>, pairs: &Map, persist: bool) -> Result<bool, CallError> {
    let mut program = Program::new(call, &["setsebool"]);
    if persist {
        program = program.arg("-P");
    }
    for (name, value) in pairs {
        program = program.arg(format!("{}={}", python::str(name), python::str(value)));
    }
    Ok(program.run()?.ok())
}

/// `100 name pp`, with `disabled` behind it where it is off.
pub(crate) fn modules(call: &Call<'_>) -> Result<Map, CallError> {
    let text = output(call, &["semodule", "--list-modules=full"])?;
    let mut all = Map::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(name) = words.get(1) {
            let known = [
                ("Enabled", Value::from(words.len() != 4)),
                ("Version", Value::Nil),
            ];
            all.insert(*name, Map::from(known));
        }
    }
    Ok(all)
}

pub(crate) fn set_module(call: &Call<'_>, name: &str, state: &str) -> Result<bool, CallError> {
    let option = match state.to_lowercase().as_str() {
        "enabled" => "--enable",
        "disabled" => "--disable",
        _ => return Err(CallError::invocation(format!("Invalid state {state}"))),
    };
    Ok(Program::new(call, &["semodule", option, name]).run()?.ok())
}

fn install_semod(call: &Call<'_>) -> CallResult {
    install(call, &call.text("module_path")).map(Value::from)
}

pub(crate) fn install(call: &Call<'_>, path: &str) -> Result<bool, CallError> {
    let mut path = path.to_owned();
    if path.starts_with("salt://") {
        path = python::str(&call.salt("cp.cache_file", &[path.into()], Map::new())?);
    }
    let ran = Program::new(call, &["semodule", "--install", &path]).run()?;
    Ok(ran.ok())
}
