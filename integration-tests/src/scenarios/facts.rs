//! Facts about the machine.

use anyhow::{Result, ensure};
use serde_json::json;

use super::Pair;
use crate::kind::Kind;

/// Grains that a minion of either kind reports.
const REPORTED: [&str; 52] = [
    "id",
    "role",
    "kernel",
    "kernelrelease",
    "kernelversion",
    "os",
    "os_family",
    "osfullname",
    "osrelease",
    "osmajorrelease",
    "osfinger",
    "oscodename",
    "osarch",
    "cpuarch",
    "num_cpus",
    "cpu_model",
    "cpu_flags",
    "mem_total",
    "swap_total",
    "host",
    "nodename",
    "localhost",
    "fqdn",
    "domain",
    "ipv4",
    "ipv6",
    "fqdn_ip4",
    "ip4_interfaces",
    "ip_interfaces",
    "hwaddr_interfaces",
    "virtual",
    "init",
    "machine_id",
    "path",
    "shell",
    "username",
    "uid",
    "gid",
    "pid",
    "master",
    "saltversion",
    "saltversioninfo",
    "saltpath",
    "pythonversion",
    "pythonpath",
    "pythonexecutable",
    "locale_info",
    "server_id",
    "lsb_distrib_id",
    "disks",
    "dns",
    "ps",
];

/// Those that depend on what is installed or configured on the machine.
const MAYBE_MISSING: [&str; 6] = [
    "lsb_distrib_id",
    "oscodename",
    "fqdn_ip4",
    "swap_total",
    "domain",
    "machine_id",
];

/// The facts about the machine that nearly every tree of states relies on.
pub fn grains_are_reported(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::with(
        master,
        minion,
        |plan| plan,
        |plan| plan.set("grains", json!({ "role": ["web", "db"] })),
    )?;
    let grains = pair.returned(&["grains.items"])?;
    let missing: Vec<_> = REPORTED
        .iter()
        .filter(|name| grains.get(**name).is_none() && !MAYBE_MISSING.contains(*name))
        .collect();
    ensure!(missing.is_empty(), "missing grains: {missing:?}");
    ensure!(
        grains["id"] == "web1"
            && grains["kernel"] == "Linux"
            && grains["role"] == json!(["web", "db"]),
        "unexpected {grains}"
    );
    ensure!(
        grains["num_cpus"].as_u64().is_some_and(|count| count > 0),
        "no processor in {grains}"
    );
    ensure!(
        grains["master"] == pair.master.address().ip().to_string(),
        "another master in {}",
        grains["master"]
    );

    assert_eq!(
        pair.returned(&["grains.get", "role"])?,
        json!(["web", "db"])
    );
    let item = pair.returned(&["grains.item", "id", "kernel"])?;
    ensure!(
        item == json!({ "id": "web1", "kernel": "Linux" }),
        "unexpected {item}"
    );
    Ok(())
}
