//! The core grains of a Linux machine: what Salt 3008 says of the same one,
//! key for key and in the same order, read from files within a few
//! milliseconds.
//!
//! Where they differ from Salt's, and why:
//!
//! - `pythonversion`, `pythonexecutable`: of the system's `python3`, since this
//!   program runs none; absent without one. `pythonpath` is empty. `saltpath`
//!   is the directory of the program.
//! - `zmqversion`: of the library that is built in. `ca_truststore`: `os`.
//! - `fqdns`: from `/etc/hosts` only; [`network::resolve_fqdns`] asks the name
//!   service too, which may take seconds, and is for the background.
//! - `gpus`: names from the system's `pci.ids`, read only where `lspci` is
//!   installed and a display is there; nothing is started.
//! - `virtual`: `virt-what` is never started (it takes long);
//!   `systemd-detect-virt` is, `dmidecode` and `lspci` are read from `/sys`.
//! - `lvm`: active volumes, from the device mapper.
//! - `ip_gw`, `ip4_gw`, `ip6_gw`: also where no `ip` program is installed.
//! - `pid`, `cwd`, `path`, `systempath`, `shell`: of this process, as in Salt.
//!
//! Invariant: nothing here asks the name service for more than the machine's
//! own name, and every program that is started is waited for only so long.

mod distro;
mod files;
mod hardware;
mod init;
pub mod interfaces;
mod kept;
pub mod network;
mod own;
mod programs;
mod statics;
mod tables;
mod virt;

use std::path::PathBuf;

use halite_proto::{Map, Value};

use files::Root;
pub use kept::{Kept, Want};
use programs::Programs;

/// The version of Salt whose behaviour, grains and states this is compatible
/// with: what `saltversion` says, since state files decide by it.
pub const SALT_VERSION: &str = "3008.5";

/// The version of libzmq that is built in.
const ZMQ_VERSION: &str = "4.3.4";

/// What grains depend on beside the machine.
#[derive(Debug, Clone)]
pub struct GrainsOptions {
    /// Where `/proc`, `/sys` and `/etc` are looked for; other than `/` only in
    /// tests, and then nothing is started or asked of the system.
    pub root: PathBuf,
    /// The minion's id.
    pub id: String,
    /// The option `master`, as it is.
    pub master: Value,
    /// The option `append_domain`, if it is set.
    pub append_domain: Option<Value>,
    /// The option `grains`: laid over everything else.
    pub config: Map,
    /// The file of static grains, beside the configuration file.
    pub file: Option<PathBuf>,
    /// The option `grains_blacklist`: patterns of grains to leave out.
    pub blacklist: Vec<String>,
    /// The option `grains_deep_merge`.
    pub deep_merge: bool,
    /// The options `enable_gpu_grains` and `enable_lspci`.
    pub gpus: bool,
    /// The option `enable_fqdns_grains`.
    pub fqdns: bool,
}

impl Default for GrainsOptions {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            id: String::new(),
            master: Value::from(""),
            append_domain: None,
            config: Map::new(),
            file: None,
            blacklist: Vec::new(),
            deep_merge: false,
            gpus: true,
            fqdns: true,
        }
    }
}

impl GrainsOptions {
    /// What the merged options of a minion say.
    pub fn from_opts(opts: &Map) -> Self {
        let text = |name: &str| opts.get(name).and_then(Value::as_str).map(str::to_owned);
        let on = |name: &str| opts.get(name) != Some(&Value::Bool(false));
        let list = opts.get("grains_blacklist").and_then(Value::as_list);
        let directory = text("conf_file").and_then(|file| {
            let file = PathBuf::from(file);
            if file.is_dir() {
                Some(file)
            } else {
                file.parent().map(PathBuf::from)
            }
        });
        Self {
            id: text("id").unwrap_or_default(),
            master: opts.get("master").cloned().unwrap_or_else(|| "".into()),
            append_domain: opts
                .get("append_domain")
                .filter(|value| value.is_true())
                .cloned(),
            config: opts
                .get("grains")
                .and_then(Value::as_map)
                .cloned()
                .unwrap_or_default(),
            file: directory.map(|directory| directory.join("grains")),
            blacklist: list
                .unwrap_or_default()
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            deep_merge: opts.get("grains_deep_merge") == Some(&Value::Bool(true)),
            gpus: on("enable_gpu_grains") && on("enable_lspci"),
            fqdns: on("enable_fqdns_grains"),
            ..Self::default()
        }
    }
}

/// Starts what the next [`collect`] will ask of other programs, for a program
/// that knows from its beginning that it will: they take as long as reading its
/// configuration. To be called by the user that will collect.
pub fn collect_ahead() {
    programs::start_ahead();
}

/// Collects all grains, without those of users' modules.
pub fn collect(options: &GrainsOptions) -> Map {
    collect_with(options, |_| Map::new())
}

/// Collects all grains. Users' modules, which see the others, hide what the
/// machine says; the file of static grains hides theirs, and what the
/// configuration sets hides everything, whole.
pub fn collect_with(options: &GrainsOptions, users: impl FnOnce(&Map) -> Map) -> Map {
    let root = Root::new(&options.root);
    // Started first, read when everything else is there.
    let programs = Programs::started(&root);
    let interfaces = root.is_real().then(interfaces::read).unwrap_or_default();
    let mut grains = Map::with_capacity(96);

    if let Some(domain) = &options.append_domain {
        grains.insert("append_domain", domain.clone());
    }
    own::directory(&mut grains);
    network::gateways(&root, &mut grains);
    network::dns(&root, &mut grains);
    hardware::fibre_channel(&root, &mut grains);
    network::fqdns(&root, options.fqdns, &interfaces, &mut grains);
    own::machine_id(&root, &mut grains);
    grains.insert("master", options.master.clone());
    grains.insert("server_id", server_id(&options.id));
    network::host_names(&root, &mut grains);
    interfaces::hwaddr_grain(&interfaces, &mut grains);
    grains.insert("id", options.id.as_str());
    interfaces::address_grains(&interfaces, &mut grains);
    network::own_addresses(&root, &interfaces, &mut grains);
    interfaces::all_addresses_grain(&interfaces, &mut grains);
    hardware::kernel_params(&root, &mut grains);
    own::locale(&root, &mut grains);
    // Whatever files tell comes first, so that programs have time to answer.
    let mut machine = machine_data(&root, options);
    let (mut own, last) = (own_data(&root), last_data(&root));

    let said = programs.finish();
    init::systemd(said.systemctl.as_deref(), &mut machine);
    own::python_version(said.python.as_deref(), &mut own);
    grains.extend(machine);
    virt::grains(&root, said.detect_virt.as_deref(), &mut grains);
    processes(&mut grains);
    distro::release(&mut grains);
    grains.extend(own);
    let file = statics::file(options);
    statics::merge(&file, options.deep_merge, &mut grains);
    grains.extend(last);

    let seen = statics::with(&options.config, &grains);
    let users = users(&seen);
    if !users.is_empty() {
        statics::merge(&users, options.deep_merge, &mut grains);
        statics::merge(&file, options.deep_merge, &mut grains);
    }
    statics::block(&options.blacklist, &mut grains);
    grains.extend(options.config.clone());
    grains
}

/// The kernel, the system and the machine, with a place for what systemd says of
/// itself.
fn machine_data(root: &Root, options: &GrainsOptions) -> Map {
    let mut grains = Map::from([("num_gpus", Value::from(0)), ("gpus", Vec::new().into())]);
    own::kernel(root, &mut grains);
    init::selinux(root, &mut grains);
    grains.insert(init::SYSTEMD, Value::Nil);
    grains.insert("init", init::system(root));
    distro::grains(root, &mut grains);
    hardware::cpu(root, &mut grains);
    if options.gpus {
        hardware::gpus(root, &mut grains);
    }
    hardware::device_tree(root, &mut grains);
    let architecture = distro::architecture(root, &grains);
    grains.insert("osarch", architecture);
    hardware::memory(root, &mut grains);
    hardware::firmware(root, &mut grains);
    grains
}

/// How processes are listed.
fn processes(grains: &mut Map) {
    let ps = if text(grains, "virtual") == "openvzhn" {
        "ps -fH -p $(grep -l \"^envID:[[:space:]]*0\\$\" /proc/[0-9]*/status | sed -e \
         \"s=/proc/\\([0-9]*\\)/.*=\\1=\")  | awk '{ $7=\"\"; print }'"
    } else if text(grains, "os_family") == "NILinuxRT" {
        "ps -o user,pid,ppid,tty,time,comm"
    } else {
        "ps -efHww"
    };
    grains.insert("ps", ps);
}

/// What the process knows, and the disks.
fn own_data(root: &Root) -> Map {
    let mut grains = Map::new();
    own::paths(&mut grains);
    own::versions(root, &mut grains);
    hardware::disks(root, &mut grains);
    grains
}

/// What comes behind the file of static grains.
fn last_data(root: &Root) -> Map {
    let mut grains = Map::new();
    own::shell(&mut grains);
    grains.insert(
        "transactional",
        root.which("transactional-update").is_some(),
    );
    hardware::efi(root, &mut grains);
    hardware::lvm(root, &mut grains);
    hardware::mdadm(root, &mut grains);
    own::process(&mut grains);
    grains.insert("package", Value::Nil);
    grains.insert("ca_truststore", "os");
    grains
}

/// A number made of the id, for programs that want one per machine.
fn server_id(id: &str) -> i64 {
    let hash = halite_crypto::hash_hex(halite_crypto::HashType::Sha256, id.as_bytes());
    let low = hash.get(hash.len().saturating_sub(8)..).unwrap_or_default();
    i64::from_str_radix(low, 16).unwrap_or_default() & 0x7fff_ffff
}

/// The text of a grain that is there already.
fn text<'a>(grains: &'a Map, name: &str) -> &'a str {
    grains.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_id_is_that_of_salt() {
        assert_eq!(server_id("m1"), 890_885_657);
    }
}
