//! Whether the machine is virtual, and of which kind.

use halite_proto::Map;

use crate::files::Root;
use crate::text;

/// `virtual`, `virtual_subtype` and what Xen says of itself. `detected` is the
/// word of `systemd-detect-virt`.
pub(crate) fn grains(root: &Root, detected: Option<&str>, grains: &mut Map) {
    let mut found = Virtualization::default();
    if !detected.is_some_and(|word| from_systemd(word, &mut found)) {
        // Salt asks these programs, which read the same tables; without them
        // it does not know.
        if root.which("dmidecode").is_some() && root.is_dir("/sys/class/dmi/id") {
            from_firmware(root, &mut found);
        } else if root.which("lspci").is_some() && root.is_dir("/proc/bus/pci") {
            from_pci(root, &mut found);
        }
    }
    from_root(root, &mut found);
    from_openvz(root, &mut found);
    from_xen(root, grains, &mut found);
    from_product(root, &mut found);
    from_first_process(root, &mut found);
    from_cloud(root, &mut found);

    let kind = match (found.kind, found.subtype.is_some()) {
        (None, true) => "virtual",
        (None, false) => "physical",
        (Some(kind), _) => kind,
    };
    grains.insert("virtual", kind);
    if let Some(subtype) = found.subtype {
        grains.insert("virtual_subtype", subtype);
    }
    if kind.contains("xen") {
        hypervisor(root, grains);
    }
}

#[derive(Debug, Default)]
struct Virtualization {
    kind: Option<&'static str>,
    subtype: Option<String>,
}

impl Virtualization {
    fn is(&mut self, kind: &'static str) {
        self.kind = Some(kind);
    }

    fn is_a(&mut self, kind: &'static str, subtype: &str) {
        self.kind = Some(kind);
        self.subtype = Some(subtype.to_owned());
    }
}

/// Whether the word decides.
fn from_systemd(word: &str, found: &mut Virtualization) -> bool {
    const SAME: &[&str] = &[
        "qemu",
        "kvm",
        "oracle",
        "xen",
        "bochs",
        "chroot",
        "uml",
        "systemd-nspawn",
    ];
    if let Some(same) = SAME.iter().find(|same| **same == word) {
        found.is(same);
    } else if word.contains("vmware") {
        found.is("VMware");
    } else if word.contains("microsoft") {
        found.is("VirtualPC");
    } else if word.contains("lxc") {
        found.is_a("container", "LXC");
    } else if word.contains("podman") {
        found.is_a("container", "Podman");
    } else if word.contains("docker") {
        found.is_a("container", "Docker");
    } else if word.contains("amazon") {
        found.is_a("Nitro", "Amazon EC2");
    } else {
        return false;
    }
    true
}

fn dmi(root: &Root, file: &str) -> String {
    root.value(&format!("/sys/class/dmi/id/{file}"))
        .unwrap_or_default()
}

fn from_firmware(root: &Root, found: &mut Virtualization) {
    let bios = dmi(root, "bios_vendor");
    let maker = dmi(root, "sys_vendor");
    let product = dmi(root, "product_name");
    let all = format!("{bios}\n{maker}\n{product}");
    if ["QEMU", "Bochs"]
        .iter()
        .any(|name| bios.starts_with(name) || maker.starts_with(name))
    {
        found.is("kvm");
    }
    if all.contains("BHYVE") {
        found.is("bhyve");
    } else if maker.starts_with("oVirt") {
        found.is_a("kvm", "ovirt");
    } else if product.starts_with("RHEV Hypervisor") {
        found.is_a("kvm", "rhev");
    } else if all.contains("VirtualBox") {
        found.is("VirtualBox");
    } else if all.contains("VMware") {
        found.is("VMware");
    } else if maker.starts_with("Microsoft") && all.contains("Virtual Machine") {
        found.is("VirtualPC");
    } else if all.contains("Parallels Software") {
        found.is("Parallels");
    } else if maker.starts_with("Google") {
        found.is("kvm");
    } else if maker.starts_with("Nutanix") && product.starts_with("AHV") {
        found.is_a("kvm", "Nutanix AHV");
    } else if bios.starts_with("SeaBIOS") {
        found.is("kvm");
    }
}

fn from_pci(root: &Root, found: &mut Virtualization) {
    let vendors: Vec<String> = root
        .names("/sys/bus/pci/devices")
        .iter()
        .filter_map(|device| root.value(&format!("/sys/bus/pci/devices/{device}/vendor")))
        .collect();
    let has = |vendor: &str| vendors.iter().any(|known| known == vendor);
    if has("0x15ad") {
        found.is("VMware");
    } else if has("0x80ee") {
        found.is("VirtualBox");
    } else if has("0x1b36") || has("0x1234") || has("0x1af4") {
        found.is("kvm");
    }
}

fn from_root(root: &Root, found: &mut Virtualization) {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &str| {
        let data = root.at(path).metadata().ok()?;
        Some((data.dev(), data.ino()))
    };
    if let (Some(own), Some(first)) = (identity("/"), identity("/proc/1/root/."))
        && own != first
    {
        found.subtype = Some("chroot".to_owned());
    }
}

fn from_openvz(root: &Root, found: &mut Virtualization) {
    if root.is_file("/proc/vz/version") {
        found.is("openvzhn");
    } else if root.is_file("/proc/vz/veinfo") {
        found.is("openvzve");
    }
    let status = root.text("/proc/self/status").unwrap_or_default();
    let id = status.lines().find_map(|line| line.strip_prefix("envID:"));
    if let Some(id) = id.and_then(|id| id.trim().parse::<u64>().ok()) {
        found.is(if id == 0 { "openvzhn" } else { "openvzve" });
    }
}

fn from_xen(root: &Root, grains: &Map, found: &mut Virtualization) {
    if !["/proc/sys/xen", "/sys/bus/xen", "/proc/xen"]
        .iter()
        .any(|path| root.is_dir(path))
    {
        return;
    }
    let subtype = if root.is_file("/proc/xen/xsd_kva") {
        Some("Xen Dom0")
    } else if text(grains, "productname") == "HVM domU" {
        Some("Xen HVM DomU")
    } else if let Some(capabilities) = root.text("/proc/xen/capabilities") {
        Some(if capabilities.contains("control_d") {
            "Xen Dom0"
        } else {
            "Xen PV DomU"
        })
    } else if root.is_dir("/sys/bus/xen/drivers/xenconsole") {
        Some("Xen PV DomU")
    } else {
        None
    };
    if let Some(subtype) = subtype {
        found.subtype = Some(subtype.to_owned());
    }
    if found
        .subtype
        .as_ref()
        .is_some_and(|subtype| subtype.to_lowercase().contains("dom"))
    {
        found.is("xen");
    }
}

fn from_product(root: &Root, found: &mut Virtualization) {
    if root
        .text("/proc/cpuinfo")
        .is_some_and(|text| text.contains("QEMU Virtual CPU"))
    {
        found.is("kvm");
    }
    let product = root
        .text("/sys/devices/virtual/dmi/id/product_name")
        .unwrap_or_default();
    if product.contains("VirtualBox") {
        found.is("VirtualBox");
    } else if product.contains("RHEV Hypervisor") {
        found.is_a("kvm", "rhev");
    } else if product.contains("oVirt Node") {
        found.is_a("kvm", "ovirt");
    } else if product.contains("Google") {
        found.is("gce");
    } else if product.contains("BHYVE") {
        found.is("bhyve");
    }
}

fn from_first_process(root: &Root, found: &mut Virtualization) {
    let cgroup = root.text("/proc/1/cgroup").unwrap_or_default();
    if cgroup.contains(":/lxc/") {
        found.is_a("container", "LXC");
    } else if cgroup.contains(":/kubepods/") {
        found.subtype = Some("kubernetes".to_owned());
    } else if cgroup.contains(":/libpod_parent/") {
        found.subtype = Some("libpod".to_owned());
    } else if [":/system.slice/docker", ":/docker/", ":/docker-ce/"]
        .iter()
        .any(|path| cgroup.contains(path))
    {
        found.is_a("container", "Docker");
    }
    let environment = root.text("/proc/1/environ").unwrap_or_default();
    if environment.contains("container=lxc") {
        found.is_a("container", "LXC");
    }
}

/// Clouds whose hypervisor looks like any other.
fn from_cloud(root: &Root, found: &mut Virtualization) {
    if !matches!(found.kind, Some("qemu" | "kvm" | "xen")) || root.which("dmidecode").is_none() {
        return;
    }
    let maker = dmi(root, "sys_vendor");
    let product = dmi(root, "product_name");
    if maker.starts_with("Amazon EC2") {
        if found.kind != Some("xen") {
            found.is("Nitro");
        }
        found.subtype = Some(if product.is_empty() {
            "Amazon EC2".to_owned()
        } else {
            format!("Amazon EC2 ({product})")
        });
    } else if dmi(root, "product_version").contains(".amazon") {
        found.subtype = Some("Amazon EC2".to_owned());
    } else if maker.starts_with("Nutanix") && product.starts_with("AHV") {
        found.subtype = Some("Nutanix AHV".to_owned());
    }
}

/// What Xen says of its version and features.
fn hypervisor(root: &Root, grains: &mut Map) {
    const FEATURES: &[(u32, &str)] = &[
        (0, "writable_page_tables"),
        (1, "writable_descriptor_tables"),
        (2, "auto_translated_physmap"),
        (3, "supervisor_mode_kernel"),
        (4, "pae_pgdir_above_4gb"),
        (5, "mmu_pt_update_preserve_ad"),
        (7, "gnttab_map_avail_bits"),
        (8, "hvm_callback_vector"),
        (9, "hvm_safe_pvclock"),
        (10, "hvm_pirqs"),
        (11, "dom0"),
        (12, "grant_map_identity"),
        (13, "memory_op_vnode_supported"),
        (14, "ARM_SMCCC_supported"),
    ];
    let part = |name: &str| root.value(&format!("/sys/hypervisor/version/{name}"));
    if let (Some(major), Some(minor), Some(extra)) = (part("major"), part("minor"), part("extra")) {
        grains.insert("virtual_hv_version", format!("{major}.{minor}{extra}"));
        let info: Vec<halite_proto::Value> = [major, minor, extra].map(Into::into).to_vec();
        grains.insert("virtual_hv_version_info", info);
    }
    if let Some(features) = root.value("/sys/hypervisor/properties/features")
        && let Ok(bits) = u64::from_str_radix(features.trim_start_matches("0x"), 16)
    {
        let names: Vec<halite_proto::Value> = FEATURES
            .iter()
            .filter(|(bit, _)| bits & (1 << bit) != 0)
            .map(|(_, name)| (*name).into())
            .collect();
        grains.insert("virtual_hv_features", features);
        grains.insert("virtual_hv_features_list", names);
    }
}
