//! RabbitMQ, through `rabbitmqctl`: the execution module `rabbitmq`.
//!
//! Lists are asked for as JSON and passwords go in over the input, which
//! `rabbitmqctl` does since 3.8.

use halite_modules::host::{Program, Ran};
use halite_modules::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value, json};

pub(crate) const MODULE: Module = Module {
    name: "rabbitmq",
    functions: FUNCTIONS,
};

const FUNCTIONS: &[Function] = &[
    Function::new(
        "rabbitmq.add_user",
        "(name, password=None, runas=None)",
        add_user,
        "Makes a user; without a password one that cannot log in with one.",
    ),
    Function::new(
        "rabbitmq.add_vhost",
        "(vhost, runas=None)",
        |call| told(call, "Added", &["add_vhost", &call.text("vhost")]),
        "Makes a virtual host.",
    ),
    Function::new(
        "rabbitmq.change_password",
        "(name, password, runas=None)",
        |call| {
            let password = call.text("password");
            secretly(call, "Password Changed", "change_password", &password)
        },
        "Changes the password of a user.",
    ),
    Function::new(
        "rabbitmq.check_password",
        "(name, password, runas=None)",
        check_password,
        "Whether a password is that of a user.",
    ),
    Function::new(
        "rabbitmq.clear_password",
        "(name, runas=None)",
        |call| {
            told(
                call,
                "Password Cleared",
                &["clear_password", &call.text("name")],
            )
        },
        "Takes the password from a user.",
    ),
    Function::new(
        "rabbitmq.cluster_status",
        "(runas=None)",
        |call| plain(call, &["cluster_status"]),
        "What is said of the cluster.",
    ),
    Function::new(
        "rabbitmq.delete_policy",
        "(vhost, name, runas=None)",
        |call| {
            let (vhost, name) = (call.text("vhost"), call.text("name"));
            told(call, "Deleted", &["clear_policy", "-p", &vhost, &name])
        },
        "Removes a policy.",
    ),
    Function::new(
        "rabbitmq.delete_user",
        "(name, runas=None)",
        |call| told(call, "Deleted", &["delete_user", &call.text("name")]),
        "Removes a user.",
    ),
    Function::new(
        "rabbitmq.delete_vhost",
        "(vhost, runas=None)",
        |call| told(call, "Deleted", &["delete_vhost", &call.text("vhost")]),
        "Removes a virtual host.",
    ),
    Function::new(
        "rabbitmq.disable_plugin",
        "(name, runas=None)",
        |call| change_plugin(call, "Disabled", "disable"),
        "Turns a plugin off.",
    ),
    Function::new(
        "rabbitmq.enable_plugin",
        "(name, runas=None)",
        |call| change_plugin(call, "Enabled", "enable"),
        "Turns a plugin on.",
    ),
    Function::new(
        "rabbitmq.force_reset",
        "(runas=None)",
        |call| plain(call, &["force_reset"]),
        "Forgets everything, whatever the cluster says.",
    ),
    Function::new(
        "rabbitmq.join_cluster",
        "(host, user='rabbit', ram_node=None, runas=None)",
        join_cluster,
        "Makes the node a part of the cluster of another.",
    ),
    Function::new(
        "rabbitmq.list_available_plugins",
        "(runas=None)",
        |call| plugins(call, &[]),
        "The plugins that there are.",
    ),
    Function::new(
        "rabbitmq.list_enabled_plugins",
        "(runas=None)",
        |call| plugins(call, &["-e"]),
        "The plugins that are on.",
    ),
    Function::new(
        "rabbitmq.list_permissions",
        "(vhost, runas=None)",
        |call| {
            let rows = rows(call, &["list_permissions", "-p", &call.text("vhost")])?;
            Ok(keyed(rows, "user").into())
        },
        "Who may do what in a virtual host.",
    ),
    Function::new(
        "rabbitmq.list_policies",
        "(vhost='/', runas=None)",
        |call| Ok(policies(call)?.into()),
        "The policies of a virtual host.",
    ),
    Function::new(
        "rabbitmq.list_user_permissions",
        "(name, runas=None)",
        |call| {
            let rows = rows(call, &["list_user_permissions", &call.text("name")])?;
            Ok(keyed(rows, "vhost").into())
        },
        "What a user may do, by virtual host.",
    ),
    Function::new(
        "rabbitmq.list_users",
        "(runas=None)",
        |call| Ok(users(call)?.into()),
        "The users with their tags.",
    ),
    Function::new(
        "rabbitmq.list_vhosts",
        "(runas=None)",
        |call| {
            Ok(vhosts(call)?
                .into_iter()
                .map(Value::from)
                .collect::<Vec<_>>()
                .into())
        },
        "The virtual hosts.",
    ),
    Function::new(
        "rabbitmq.plugin_is_enabled",
        "(name, runas=None)",
        |call| {
            let on = python::texts(&plugins(call, &["-e"])?);
            Ok(on.contains(&call.text("name")).into())
        },
        "Whether a plugin is on.",
    ),
    Function::new(
        "rabbitmq.policy_exists",
        "(vhost, name, runas=None)",
        |call| {
            let all = policies(call)?;
            let all = all.get(&call.text("vhost"));
            Ok(all
                .is_some_and(|all| all.get(&call.text("name")).is_some())
                .into())
        },
        "Whether there is a policy.",
    ),
    Function::new(
        "rabbitmq.reset",
        "(runas=None)",
        |call| plain(call, &["reset"]),
        "Leaves the cluster and forgets everything.",
    ),
    Function::new(
        "rabbitmq.set_permissions",
        "(vhost, user, conf='.*', write='.*', read='.*', runas=None)",
        |call| {
            let names = ["vhost", "user", "conf", "write", "read"];
            let [vhost, user, conf, write, read] = names.map(|name| call.text(name));
            let words = ["set_permissions", "-p", &vhost, &user, &conf, &write, &read];
            told(call, "Permissions Set", &words)
        },
        "Says what a user may do in a virtual host.",
    ),
    Function::new(
        "rabbitmq.set_policy",
        "(vhost, name, pattern, definition, priority=None, runas=None, apply_to=None)",
        set_policy,
        "Makes or changes a policy.",
    ),
    Function::new(
        "rabbitmq.set_user_tags",
        "(name, tags, runas=None)",
        |call| {
            let mut words = vec!["set_user_tags".to_owned(), call.text("name")];
            words.extend(python::texts(call.arg("tags")));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            told(call, "Tag(s) set", &words)
        },
        "Gives a user these tags and no others.",
    ),
    Function::new(
        "rabbitmq.start_app",
        "(runas=None)",
        |call| plain(call, &["start_app"]),
        "Starts the broker within its running system.",
    ),
    Function::new(
        "rabbitmq.status",
        "(runas=None)",
        |call| plain(call, &["status"]),
        "What is said of the broker.",
    ),
    Function::new(
        "rabbitmq.stop_app",
        "(runas=None)",
        |call| plain(call, &["stop_app"]),
        "Stops the broker; its system goes on.",
    ),
    Function::new(
        "rabbitmq.user_exists",
        "(name, runas=None)",
        |call| Ok(users(call)?.contains_key(&call.text("name")).into()),
        "Whether there is a user.",
    ),
    Function::new(
        "rabbitmq.vhost_exists",
        "(name, runas=None)",
        |call| Ok(vhosts(call)?.contains(&call.text("name")).into()),
        "Whether there is a virtual host.",
    ),
];

/// The name of the program of the broker; what states need.
pub(crate) const CONTROL: &str = "rabbitmqctl";
const PLUGINS: &str = "rabbitmq-plugins";

fn run(
    call: &Call<'_>,
    program: &str,
    words: &[&str],
    input: Option<&str>,
) -> Result<Ran, CallError> {
    let found = call.host().which(program);
    let found =
        found.ok_or_else(|| CallError::NotFound(format!("Command not found: {program}")))?;
    let mut all = vec![found.to_string_lossy().into_owned()];
    all.extend(words.iter().map(|word| (*word).to_owned()));
    let mut running = Program::new(call, &all)
        .user(call.text_opt("runas").as_deref())
        .option("reset_system_locale", false);
    if let Some(input) = input {
        running = running.stdin(format!("{input}\n"));
    }
    running.run()
}

/// What went wrong, in Salt's words.
fn failed(ran: &Ran) -> CallError {
    CallError::command(format!("RabbitMQ command failed: {}", ran.complaint()))
}

fn good(ran: Ran) -> Result<Ran, CallError> {
    match ran.ok() {
        true => Ok(ran),
        false => Err(failed(&ran)),
    }
}

fn plain(call: &Call<'_>, words: &[&str]) -> CallResult {
    Ok(good(run(call, CONTROL, words, None)?)?.stdout.into())
}

/// What was said, under what was done.
fn told(call: &Call<'_>, done: &str, words: &[&str]) -> CallResult {
    let said = good(run(call, CONTROL, words, None)?)?.stdout;
    Ok(Map::from([(done, said)]).into())
}

/// The same of a command that asks for a password.
fn secretly(call: &Call<'_>, done: &str, command: &str, password: &str) -> CallResult {
    let ran = run(
        call,
        CONTROL,
        &[command, &call.text("name")],
        Some(password),
    )?;
    let said = without_prompt(&good(ran)?.stdout);
    Ok(Map::from([(done, said)]).into())
}

fn without_prompt(text: &str) -> String {
    let lines = text.lines().filter(|line| line.trim() != "Password:");
    lines.collect::<Vec<_>>().join("\n")
}

/// JSON for the broker.
fn written(data: &Value) -> Result<String, CallError> {
    json::write(data, json::Style::default())
        .map_err(|error| CallError::wrong_type(error.to_string()))
}

/// A list of the broker's, each entry a map.
fn rows(call: &Call<'_>, words: &[&str]) -> Result<Vec<Map>, CallError> {
    let words = [words, &["-q", "--formatter=json"]].concat();
    let said = good(run(call, CONTROL, &words, None)?)?.stdout;
    let read = json::read(&said);
    let Ok(Value::List(rows)) = read else {
        let text = format!("RabbitMQ command failed: {said}");
        return Err(CallError::command(text));
    };
    let maps = rows.into_iter().filter_map(|row| match row {
        Value::Map(row) => Some(row),
        _ => None,
    });
    Ok(maps.collect())
}

/// Rows by one of their fields, without it.
fn keyed(rows: Vec<Map>, key: &str) -> Map {
    let rows = rows.into_iter().map(|mut row| {
        let name = row.remove(key).unwrap_or_default();
        (name, Value::from(row))
    });
    rows.collect()
}

fn users(call: &Call<'_>) -> Result<Map, CallError> {
    let rows = rows(call, &["list_users"])?.into_iter();
    let users = rows.map(|mut row| {
        let tags = row
            .remove("tags")
            .unwrap_or_else(|| Value::List(Vec::new()));
        (row.remove("user").unwrap_or_default(), tags)
    });
    Ok(users.collect())
}

fn vhosts(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let rows = rows(call, &["list_vhosts"])?;
    Ok(rows
        .iter()
        .filter_map(|row| row.get("name").map(python::str))
        .collect())
}

/// Policies by virtual host and name.
fn policies(call: &Call<'_>) -> Result<Map, CallError> {
    let vhost = call.text("vhost");
    let mut named = Map::new();
    for mut row in rows(call, &["list_policies", "-p", &vhost])? {
        let name = row.remove("name").unwrap_or_default();
        let field = |key: &str| row.get(key).cloned().unwrap_or_default();
        let definition = match field("definition") {
            text @ Value::Str(_) => text,
            other => written(&other)?.into(),
        };
        let about = Map::from([
            ("pattern", field("pattern")),
            ("apply_to", field("apply-to")),
            ("definition", definition),
            ("priority", python::str(&field("priority")).into()),
        ]);
        named.insert(name, about);
    }
    Ok(match named.is_empty() {
        true => Map::new(),
        false => Map::from([(vhost, named)]),
    })
}

fn add_user(call: &Call<'_>) -> CallResult {
    if let Some(password) = call.text_opt("password") {
        return secretly(call, "Added", "add_user", &password);
    }
    // There is no user without a password to begin with.
    let random = call.salt("random.get_str", &[20.into()], Map::new())?;
    let added = secretly(call, "Added", "add_user", &python::str(&random))?;
    let name = call.text("name");
    let cleared = good(run(call, CONTROL, &["clear_password", &name], None)?);
    if let Err(error) = cleared {
        run(call, CONTROL, &["delete_user", &name], None)?;
        return Err(error);
    }
    Ok(added)
}

fn check_password(call: &Call<'_>) -> CallResult {
    let (name, password) = (call.text("name"), call.text("password"));
    let ran = run(
        call,
        CONTROL,
        &["authenticate_user", &name],
        Some(&password),
    )?;
    Ok(ran.ok().into())
}

fn join_cluster(call: &Call<'_>) -> CallResult {
    let node = format!("{}@{}", call.text("user"), call.text("host"));
    let mut words = vec!["join_cluster"];
    if call.flag("ram_node") {
        words.push("--ram");
    }
    words.push(&node);
    good(run(call, CONTROL, &["stop_app"], None)?)?;
    let joined = run(call, CONTROL, &words, None)?;
    // It is to run again, whether that went well or not.
    good(run(call, CONTROL, &["start_app"], None)?)?;
    Ok(Map::from([("Join", good(joined)?.stdout)]).into())
}

fn plugins(call: &Call<'_>, more: &[&str]) -> CallResult {
    let words = [&["list", "-m", "-q"], more].concat();
    let said = good(run(call, PLUGINS, &words, None)?)?.stdout;
    let names = said
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.contains(' '));
    Ok(names.map(Value::from).collect::<Vec<_>>().into())
}

fn change_plugin(call: &Call<'_>, done: &str, verb: &str) -> CallResult {
    let said = good(run(call, PLUGINS, &[verb, &call.text("name")], None)?)?.stdout;
    Ok(Map::from([(done, said)]).into())
}

fn set_policy(call: &Call<'_>) -> CallResult {
    let definition = match call.arg("definition") {
        Value::Str(text) => text.clone(),
        map @ Value::Map(_) => written(map)?,
        _ => {
            return Err(CallError::invocation(
                "The 'definition' argument must be a dictionary or JSON string",
            ));
        }
    };
    let names = ["vhost", "name", "pattern"];
    let [vhost, name, pattern] = names.map(|name| call.text(name));
    let mut words = vec!["set_policy".to_owned(), "-p".to_owned(), vhost];
    for (option, argument) in [("--priority", "priority"), ("--apply-to", "apply_to")] {
        if let Some(value) = call.text_opt(argument) {
            words.extend([option.to_owned(), value]);
        }
    }
    words.extend([name, pattern, definition]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    told(call, "Set", &words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_no_answers() {
        assert_eq!(
            without_prompt("Adding ...\nPassword: \nDone."),
            "Adding ...\nDone."
        );
    }

    #[test]
    fn rows_by_a_field() {
        let row = Map::from([("user", "ann"), ("read", ".*")]);
        assert_eq!(
            python::repr(&keyed(vec![row], "user").into()),
            "{'ann': {'read': '.*'}}"
        );
    }
}
