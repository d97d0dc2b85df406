//! Settings of the kernel: the execution module `sysctl`.

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, CallResult, Function, Module, check_one_line, paths, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "sysctl",
    functions: &[
        Function::new(
            "sysctl.assign",
            "(name, value)",
            assign_,
            "Sets a setting until the system starts again.",
        ),
        Function::new(
            "sysctl.default_config",
            "()",
            default_config_,
            "The file that keeps settings when none is named.",
        ),
        Function::new("sysctl.get", "(name)", get_, "The value of a setting."),
        Function::new(
            "sysctl.persist",
            "(name, value, config=None)",
            persist_,
            "Sets a setting, also for the next start of the system.",
        ),
        Function::new(
            "sysctl.show",
            "(config_file=False)",
            show_,
            "All settings, of the kernel or of a file.",
        ),
    ],
};

pub(crate) fn default_config(call: &Call<'_>) -> &'static str {
    if call.host().path("/run/systemd/system").is_dir() {
        "/etc/sysctl.d/99-salt.conf"
    } else {
        "/etc/sysctl.conf"
    }
}

fn tool(call: &Call<'_>) -> Result<(), CallError> {
    if call.host().has("sysctl") {
        Ok(())
    } else {
        Err(CallError::command("Command 'sysctl' cannot be found"))
    }
}

/// The settings of a file; nothing when it cannot be read.
pub(crate) fn configured(call: &Call<'_>, file: &str) -> Option<Map> {
    let path = call.host().path(file);
    if !path.exists() {
        return Some(Map::new());
    }
    let text = paths::read_to_string(path).ok()?;
    Some(
        text.lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.trim_end(), value.trim_start()))
            .collect(),
    )
}

pub(crate) fn get(call: &Call<'_>, name: &str) -> Result<String, CallError> {
    tool(call)?;
    let ran = Program::new(call, &["sysctl", "-n", name])
        .option("redirect_stderr", true)
        .run()?;
    Ok(ran.stdout)
}

/// White space counts as one tab.
pub(crate) fn folded(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join("\t")
}

fn assign(call: &Call<'_>, name: &str, value: &str) -> Result<Map, CallError> {
    let place: String = name
        .chars()
        .map(|c| match c {
            '.' => '/',
            '/' => '.',
            other => other,
        })
        .collect();
    if !call.host().path(format!("/proc/sys/{place}")).exists() {
        return Err(CallError::command(format!("sysctl {name} does not exist")));
    }
    tool(call)?;
    let ran = Program::new(call, &["sysctl", "-w", &format!("{name}={value}")]).run()?;
    let said = ran
        .stdout
        .split_once('=')
        .map(|(key, value)| (key.trim(), value.trim()));
    match said {
        Some((key, new))
            if key == name && new == value && !ran.stderr.contains("Invalid argument") =>
        {
            Ok(Map::from([(key, new)]))
        }
        _ => {
            let error = if !ran.ok() && !ran.stderr.is_empty() {
                ran.stderr
            } else {
                ran.stdout
            };
            Err(CallError::command(format!("sysctl -w failed: {error}")))
        }
    }
}

/// Sets a setting in a file and in the kernel; whether anything was changed.
pub(crate) fn persist(
    call: &Call<'_>,
    name: &str,
    value: &str,
    config: &str,
) -> Result<bool, CallError> {
    let value = value.trim_end();
    check_one_line("name", name)?;
    check_one_line("value", value)?;
    let path = call.host().path(config);
    let unwritable = |_| CallError::command(format!("Could not write to file: {config}"));
    if !path.is_file() {
        if let Some(parent) = path.parent() {
            paths::create_dir_all(parent).map_err(unwritable)?;
        }
        replace_file(&path, b"#\n# Kernel sysctl configuration\n#\n").map_err(unwritable)?;
    }
    let text = paths::read_to_string(&path)
        .map_err(|_| CallError::command(format!("Could not read from file: {config}")))?;
    let mut lines: Vec<String> = Vec::new();
    let mut edited = false;
    for line in text.lines() {
        let own = line
            .split_once('=')
            .map(|(key, value)| (key.trim(), value.trim()));
        match own {
            Some((key, old)) if key == name => {
                if folded(old) == folded(value) {
                    if folded(&get(call, name)?) == folded(value) {
                        return Ok(false);
                    }
                    assign(call, name, value)?;
                    return Ok(true);
                }
                lines.push(format!("{name} = {value}"));
                edited = true;
            }
            _ => lines.push(line.to_owned()),
        }
    }
    if !edited {
        lines.push(format!("{name} = {value}"));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    replace_file(&path, text.as_bytes()).map_err(unwritable)?;
    assign(call, name, value)?;
    Ok(true)
}

fn default_config_(call: &Call<'_>) -> CallResult {
    Ok(default_config(call).into())
}

fn get_(call: &Call<'_>) -> CallResult {
    Ok(get(call, &call.text("name"))?.into())
}

fn assign_(call: &Call<'_>) -> CallResult {
    Ok(assign(call, &call.text("name"), &call.text("value"))?.into())
}

fn persist_(call: &Call<'_>) -> CallResult {
    let config = call.text_opt("config");
    let config = config.as_deref().unwrap_or_else(|| default_config(call));
    let changed = persist(call, &call.text("name"), &call.text("value"), config)?;
    Ok(if changed { "Updated" } else { "Already set" }.into())
}

fn show_(call: &Call<'_>) -> CallResult {
    let file = call.arg("config_file");
    if file.is_true() {
        let file = python::str(file);
        if !call.host().path(&file).exists() {
            return Ok(Value::List(Vec::new()));
        }
        return Ok(configured(call, &file).map_or(Value::Nil, Value::from));
    }
    tool(call)?;
    let ran = Program::new(call, &["sysctl", "-a"]).may_fail().run()?;
    let all: Map = ran
        .stdout
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .collect();
    Ok(all.into())
}
