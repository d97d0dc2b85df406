//! `status.*`: the load and the health of the machine and the minion.

mod machine;
mod processes;

use halite_proto::{Map, Value};

use halite_call::{Call, CallResult, Function, Module, Upstream, python};

pub(super) const MODULE: Module = Module {
    name: "status",
    functions: &[
        Function::new(
            "status.all_status",
            "()",
            all_status,
            "Everything that the other functions tell of the machine.",
        ),
        Function::new(
            "status.cpuinfo",
            "()",
            machine::cpuinfo,
            "What the kernel knows of the processors.",
        ),
        Function::new(
            "status.cpustats",
            "()",
            machine::cpustats,
            "How the processors have spent their time.",
        ),
        Function::new(
            "status.custom",
            "()",
            custom,
            "Those parts of the status that the options `status.<function>.custom` name.",
        ),
        Function::new(
            "status.diskstats",
            "()",
            machine::diskstats,
            "What has been read from and written to each disk.",
        ),
        Function::new(
            "status.diskusage",
            "(*args)",
            machine::diskusage,
            "Total and available bytes of mounted file systems: of all, or by path or kind.",
        ),
        Function::new(
            "status.loadavg",
            "()",
            machine::loadavg,
            "The load of the last 1, 5 and 15 minutes.",
        ),
        Function::new(
            "status.master",
            "(master=None, connected=True)",
            master,
            "Whether the minion is connected to a master; fires an event when that is not\nwhat was expected.",
        ),
        Function::new(
            "status.meminfo",
            "()",
            machine::meminfo,
            "What the kernel knows of the memory.",
        ),
        Function::new(
            "status.netdev",
            "()",
            machine::netdev,
            "What each network interface has received and sent.",
        ),
        Function::new(
            "status.netstats",
            "()",
            machine::netstats,
            "The kernel's network counters.",
        ),
        Function::new(
            "status.nproc",
            "()",
            machine::nproc,
            "The number of processors.",
        ),
        Function::new(
            "status.pid",
            "(sig)",
            processes::pid,
            "The ids of the processes whose command line matches a regular expression.",
        ),
        Function::new(
            "status.ping_master",
            "(master)",
            ping_master,
            "Whether a master answers on its request port.",
        ),
        Function::new(
            "status.procs",
            "()",
            processes::procs,
            "All processes with their users and command lines.",
        ),
        Function::new(
            "status.proxy_reconnect",
            "(proxy_name, opts=None)",
            |_| Ok(false.into()),
            "Connects a proxy minion again, which this one is not.",
        ),
        Function::new(
            "status.time",
            "(format='%A, %d. %B %Y %I:%M%p')",
            time,
            "The local time, in the notation of strftime.",
        ),
        Function::new(
            "status.uptime",
            "()",
            machine::uptime,
            "How long the machine has been up.",
        ),
        Function::new(
            "status.version",
            "()",
            machine::version,
            "The version of the kernel.",
        ),
        Function::new(
            "status.vmstats",
            "()",
            machine::vmstats,
            "The kernel's memory counters.",
        ),
        Function::new("status.w", "()", processes::w, "Who is logged in."),
    ],
};

fn all_status(call: &Call<'_>) -> CallResult {
    let mut all = Map::new();
    for name in [
        "cpuinfo",
        "cpustats",
        "diskstats",
        "diskusage",
        "loadavg",
        "meminfo",
        "netdev",
        "netstats",
        "uptime",
        "vmstats",
        "w",
    ] {
        all.insert(name, call.salt(&format!("status.{name}"), &[], Map::new())?);
    }
    Ok(all.into())
}

fn custom(call: &Call<'_>) -> CallResult {
    let mut found = Map::new();
    for (key, names) in call.ctx.opts() {
        let Some(fun) = key
            .as_str()
            .filter(|key| key.starts_with("status."))
            .and_then(|key| key.strip_suffix(".custom"))
        else {
            continue;
        };
        let status = call.salt(fun, &[], Map::new())?;
        for name in python::texts(names) {
            let value = status.get(&name).cloned().unwrap_or_default();
            found.insert(name, value);
        }
    }
    Ok(found.into())
}

fn ping_master(call: &Call<'_>) -> CallResult {
    let master = call.text("master");
    let answered = |upstream: &dyn Upstream| upstream.ping(&master);
    Ok((!master.is_empty() && call.ctx.upstream().is_ok_and(answered)).into())
}

fn master(call: &Call<'_>) -> CallResult {
    let Some(master) = call.text_opt("master") else {
        return Ok(Value::Nil);
    };
    let upstream = call.ctx.upstream();
    let connected = upstream.is_ok_and(|upstream| upstream.is_connected(Some(&master)));
    if connected != call.flag("connected") {
        let tag = if connected {
            "__master_connected"
        } else {
            "__master_disconnected"
        };
        if let Some(bus) = call.ctx.local_bus() {
            bus.fire_local(tag, Map::from([("master", master)]))?;
        }
    }
    Ok(connected.into())
}

fn time(call: &Call<'_>) -> CallResult {
    let format = call.text("format");
    let now = jiff::Zoned::now();
    Ok(jiff::fmt::strtime::format(&format, &now)
        .unwrap_or_else(|_| now.to_string())
        .into())
}
