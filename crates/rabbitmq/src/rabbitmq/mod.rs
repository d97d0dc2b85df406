//! RabbitMQ, through `rabbitmqctl`: the execution module `rabbitmq`.
//!
//! Lists are requested as JSON and passwords go to standard input, which
//! `rabbitmqctl` supports since 3.8.

mod control;
mod objects;
mod upstreams;

use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

pub(crate) use control::CONTROL;
use control::{PLUGINS, good, keyed, plain, rows, run, run_and_report, secretly, written};
use objects::{policies, users, vhosts};
pub(crate) use upstreams::{PARTS, definition};

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
        |call| run_and_report(call, "Added", &["add_vhost", &call.text("vhost")]),
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
            run_and_report(
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
            run_and_report(call, "Deleted", &["clear_policy", "-p", &vhost, &name])
        },
        "Removes a policy.",
    ),
    Function::new(
        "rabbitmq.delete_upstream",
        "(name, runas=None)",
        upstreams::delete,
        "Removes an upstream of the federation.",
    ),
    Function::new(
        "rabbitmq.delete_user",
        "(name, runas=None)",
        |call| run_and_report(call, "Deleted", &["delete_user", &call.text("name")]),
        "Removes a user.",
    ),
    Function::new(
        "rabbitmq.delete_vhost",
        "(vhost, runas=None)",
        |call| run_and_report(call, "Deleted", &["delete_vhost", &call.text("vhost")]),
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
        "rabbitmq.list_queues",
        "(runas=None, *args)",
        |call| queues(call, &[]),
        "The queues of the broker with what is asked about each, else with how many\nmessages wait.",
    ),
    Function::new(
        "rabbitmq.list_queues_vhost",
        "(vhost, runas=None, *args)",
        |call| queues(call, &["-p", &call.text("vhost")]),
        "The same of a virtual host.",
    ),
    Function::new(
        "rabbitmq.list_upstreams",
        "(runas=None)",
        |call| Ok(upstreams::all(call)?.into()),
        "The upstreams of the federation, each with its definition as JSON.",
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
            run_and_report(call, "Permissions Set", &words)
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
        "rabbitmq.set_upstream",
        "(name, uri, prefetch_count=None, reconnect_delay=None, ack_mode=None, trust_user_id=None, exchange=None, max_hops=None, expires=None, message_ttl=None, ha_policy=None, queue=None, runas=None)",
        upstreams::set,
        "Makes or changes an upstream of the federation.",
    ),
    Function::new(
        "rabbitmq.set_user_tags",
        "(name, tags, runas=None)",
        |call| {
            let mut words = vec!["set_user_tags".to_owned(), call.text("name")];
            words.extend(python::texts(call.arg("tags")));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            run_and_report(call, "Tag(s) set", &words)
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
        "rabbitmq.upstream_exists",
        "(name, runas=None)",
        |call| {
            Ok(upstreams::all(call)?
                .contains_key(&call.text("name"))
                .into())
        },
        "Whether there is an upstream of the federation.",
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
    run_and_report(call, "Set", &words)
}

/// Queues by name, each with a list of what is asked about it.
fn queues(call: &Call<'_>, within: &[&str]) -> CallResult {
    let asked: Vec<String> = call.varargs().iter().map(python::str).collect();
    let mut words = vec!["list_queues", "-q"];
    words.extend(within);
    words.extend(asked.iter().map(String::as_str));
    let said = good(run(call, CONTROL, &words, None)?)?.stdout;
    let lines = said.lines().filter_map(|line| {
        let mut fields = line.split('\t').map(str::trim);
        let name = fields.next().filter(|name| !name.is_empty())?;
        let about: Vec<Value> = fields.map(Value::from).collect();
        Some(match about.is_empty() {
            true => (name, Value::from("")),
            false => (name, about.into()),
        })
    });
    Ok(lines.collect::<Map>().into())
}
