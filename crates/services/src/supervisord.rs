//! Processes under supervisord, through `supervisorctl`: the execution module
//! `supervisord`.

use std::path::Path;

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, CallResult, Function, Module};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "supervisord",
    functions: &[
        Function::new(
            "supervisord.add",
            "(name, user=None, conf_file=None, bin_env=None)",
            |call| control(call, "add", Some(group(&call.text("name")))),
            "Takes up a process or a group that is new in the configuration.",
        ),
        Function::new(
            "supervisord.custom",
            "(command, user=None, conf_file=None, bin_env=None)",
            custom,
            "What supervisorctl says to any command.",
        ),
        Function::new(
            "supervisord.options",
            "(name, conf_file=None)",
            options,
            "The options of a process in the configuration.",
        ),
        Function::new(
            "supervisord.remove",
            "(name, user=None, conf_file=None, bin_env=None)",
            |call| control(call, "remove", Some(group(&call.text("name")))),
            "Gives up a process or a group that has been stopped.",
        ),
        Function::new(
            "supervisord.reread",
            "(user=None, conf_file=None, bin_env=None)",
            |call| control(call, "reread", None),
            "Reads the configuration again and changes nothing.",
        ),
        Function::new(
            "supervisord.restart",
            "(name='all', user=None, conf_file=None, bin_env=None)",
            |call| control(call, "restart", Some(members(&call.text("name")))),
            "Restarts a process, a group (group:) or all.",
        ),
        Function::new(
            "supervisord.start",
            "(name='all', user=None, conf_file=None, bin_env=None)",
            |call| control(call, "start", Some(members(&call.text("name")))),
            "Starts a process, a group (group:) or all.",
        ),
        Function::new(
            "supervisord.status",
            "(name=None, user=None, conf_file=None, bin_env=None)",
            status,
            "The processes with their states and what is said of them.",
        ),
        Function::new(
            "supervisord.status_bool",
            "(name, expected_state=None, user=None, conf_file=None, bin_env=None)",
            status_bool,
            "Whether there is a process, and in a state if one is given.",
        ),
        Function::new(
            "supervisord.status_raw",
            "(name=None, user=None, conf_file=None, bin_env=None)",
            |call| control(call, "status", call.text_opt("name")),
            "What supervisorctl says of the states of processes.",
        ),
        Function::new(
            "supervisord.stop",
            "(name='all', user=None, conf_file=None, bin_env=None)",
            |call| control(call, "stop", Some(members(&call.text("name")))),
            "Stops a process, a group (group:) or all.",
        ),
        Function::new(
            "supervisord.update",
            "(user=None, conf_file=None, bin_env=None, name=None)",
            |call| {
                control(
                    call,
                    "update",
                    call.text_opt("name").map(|name| group(&name)),
                )
            },
            "Reads the configuration again and restarts what has changed.",
        ),
    ],
};

/// Where the configuration is if nobody says so.
const CONFIGS: [&str; 2] = ["/etc/supervisor/supervisord.conf", "/etc/supervisord.conf"];

/// What is put before the output of a command that failed.
const FAILED: &str = "ERROR: ";

/// A group is started by `group:`.
fn members(name: &str) -> String {
    name.strip_suffix('*')
        .filter(|group| group.ends_with(':'))
        .unwrap_or(name)
        .to_owned()
}

/// A group is added by its name alone.
fn group(name: &str) -> String {
    let name = name
        .strip_suffix(":*")
        .or_else(|| name.strip_suffix(':'))
        .unwrap_or(name);
    name.to_owned()
}

fn program(call: &Call<'_>) -> Result<String, CallError> {
    const NAME: &str = "supervisorctl";
    let none = || CallError::NotFound(format!("Could not find a `{NAME}` binary"));
    let Some(given) = call.text_opt("bin_env") else {
        let found = call.host().which(NAME).ok_or_else(none)?;
        return Ok(found.to_string_lossy().into_owned());
    };
    if !call.host().path(&given).is_dir() {
        return Ok(given);
    }
    let program = Path::new(&given).join("bin").join(NAME);
    match call.host().path(&program).is_file() {
        true => Ok(program.to_string_lossy().into_owned()),
        false => Err(none()),
    }
}

fn run(call: &Call<'_>, command: &[String]) -> Result<String, CallError> {
    let mut words = vec![program(call)?];
    if let Some(file) = call.text_opt("conf_file") {
        words.extend(["-c".to_owned(), file]);
    }
    words.extend(command.iter().cloned());
    // It tells of processes that do not run by its return code.
    let ran = Program::new(call, &words)
        .user(call.text_opt("user").as_deref())
        .may_fail()
        .run()?;
    Ok(said(ran))
}

fn said(ran: Ran) -> String {
    match ran.ok() || ran.stdout.contains("ERROR") {
        true => ran.stdout,
        // It writes nearly everything to its output.
        false if ran.stdout.is_empty() => format!("{FAILED}{}", ran.stderr),
        false => format!("{FAILED}{}", ran.stdout),
    }
}

fn control(call: &Call<'_>, command: &str, name: Option<String>) -> CallResult {
    let mut words = vec![command.to_owned()];
    words.extend(name.filter(|name| !name.is_empty()));
    Ok(run(call, &words)?.into())
}

fn custom(call: &Call<'_>) -> CallResult {
    Ok(run(call, &[call.text("command")])?.into())
}

/// Process, state and reason of each line about a process.
fn lines(text: &str) -> impl Iterator<Item = (String, String, String)> + '_ {
    let text = text.strip_prefix(FAILED).unwrap_or(text);
    text.lines().filter_map(|line| {
        let (process, rest) = line.split_once(char::is_whitespace)?;
        let rest = rest.trim_start();
        let (state, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if !state.starts_with(|first: char| first.is_ascii_uppercase()) {
            return None;
        }
        Some((
            process.to_owned(),
            state.to_owned(),
            reason.trim_start().to_owned(),
        ))
    })
}

fn status(call: &Call<'_>) -> CallResult {
    let mut words = vec!["status".to_owned()];
    words.extend(call.text_opt("name"));
    let said = run(call, &words)?;
    let processes: Map = lines(&said)
        .map(|(process, state, reason)| {
            let about = Map::from([("state", state), ("reason", reason)]);
            (process, Value::from(about))
        })
        .collect();
    if processes.is_empty() && said.starts_with(FAILED) {
        return Err(CallError::command(said));
    }
    Ok(processes.into())
}

fn status_bool(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let said = run(call, &["status".to_owned(), name.clone()])?;
    let Some((process, state, reason)) = lines(&said).last() else {
        return Ok(false.into());
    };
    if reason == "(no such process)" || process.trim_end_matches(':') != name {
        return Ok(false.into());
    }
    let expected = call.text_opt("expected_state");
    Ok(expected.is_none_or(|expected| expected == state).into())
}

fn options(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let host = call.host();
    let file = call.text_opt("conf_file").or_else(|| {
        let mut usual = CONFIGS.iter().filter(|path| host.path(path).exists());
        usual.next().map(|path| (*path).to_owned())
    });
    let file = file.ok_or_else(|| CallError::command("No suitable config file found"))?;
    let found = section(&host.read(&file), &format!("program:{name}"));
    found
        .map(Value::from)
        .ok_or_else(|| CallError::command(format!("Process '{name}' not found")))
}

/// A section of a configuration file, each value as what it looks like.
fn section(text: &str, wanted: &str) -> Option<Map> {
    let mut found: Option<Vec<(String, String)>> = None;
    let mut inside = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = bare
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            inside = name == wanted;
            if inside {
                found.get_or_insert_default();
            }
            continue;
        }
        let Some(options) = found.as_mut().filter(|_| inside) else {
            continue;
        };
        if line.starts_with(char::is_whitespace) {
            // The rest of the option before.
            if let Some((_, value)) = options.last_mut() {
                value.push('\n');
                value.push_str(bare);
            }
        } else if let Some((key, value)) = bare.split_once(['=', ':']) {
            options.push((key.trim().to_lowercase(), value.trim().to_owned()));
        }
    }
    Some(
        found?
            .into_iter()
            .map(|(key, value)| (key, typed(&value)))
            .collect(),
    )
}

fn typed(text: &str) -> Value {
    let text = text.split(';').next().unwrap_or_default().trim();
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    if let Ok(number) = text.parse::<f64>()
        && number.is_finite()
    {
        return Value::Float(number);
    }
    match text.to_ascii_lowercase().as_str() {
        "true" => true.into(),
        "false" => false.into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use halite_call::python;

    use super::*;

    #[test]
    fn options_are_what_they_look_like() {
        let text = "[supervisord]\nlogfile=/x\n[program:web]\ncommand=/bin/web -a ; comment\n\
                    autostart = TRUE\nstartretries: 3\nenvironment=A=1,\n  B=2\n; no\n\
                    [program:other]\ncommand=/bin/o\n";
        let found = section(text, "program:web").unwrap();
        assert_eq!(
            python::repr(&found.into()),
            "{'command': '/bin/web -a', 'autostart': True, 'startretries': 3, \
             'environment': 'A=1,\\nB=2'}"
        );
        assert!(section(text, "program:none").is_none());
    }

    #[test]
    fn names_of_groups() {
        assert_eq!(
            [members("a:*"), members("a:"), members("a")],
            ["a:", "a:", "a"]
        );
        assert_eq!([group("a:*"), group("a:"), group("a")], ["a", "a", "a"]);
        let said = "web        RUNNING   pid 12, uptime 0:00:01\nworkers:w1 STOPPED\n";
        let read: Vec<_> = lines(said).collect();
        assert_eq!(read[0].2, "pid 12, uptime 0:00:01");
        assert_eq!(read[1].1, "STOPPED");
    }
}
