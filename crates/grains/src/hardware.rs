//! Processors, memory, disks, firmware: what the kernel knows of the machine.

use halite_proto::{Map, Value};

use crate::files::Root;

pub(crate) fn cpu(root: &Root, grains: &mut Map) {
    let mut count = 0_i64;
    let mut model = None;
    let mut flags = Vec::new();
    let text = root.text("/proc/cpuinfo").unwrap_or_default();
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        // A colon within the value ends it, as in Salt.
        let value = value.split(':').next().unwrap_or_default().trim();
        match key.trim() {
            "processor" => count += 1,
            "# processors" => count = value.parse().unwrap_or(count),
            "vendor_id" | "model name" | "cpu" => model = Some(value.to_owned()),
            "Processor" => {
                model = value.split('-').next().map(str::to_owned);
                count = 1;
            }
            "flags" | "Features" => flags = value.split_whitespace().map(Value::from).collect(),
            _ => {}
        }
    }
    grains.insert("num_cpus", count);
    grains.insert("cpu_model", model.unwrap_or_else(|| "Unknown".to_owned()));
    grains.insert("cpu_flags", flags);
}

pub(crate) fn memory(root: &Root, grains: &mut Map) {
    let text = root.text("/proc/meminfo").unwrap_or_default();
    let mebibytes = |name: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .and_then(|(_, value)| value.split_whitespace().next()?.parse::<i64>().ok())
            .unwrap_or_default()
            / 1024
    };
    grains.insert("mem_total", mebibytes("MemTotal"));
    grains.insert("swap_total", mebibytes("SwapTotal"));
}

/// Firmware tables, as the kernel shows them.
pub(crate) fn firmware(root: &Root, grains: &mut Map) {
    const FILES: &[(&str, &str)] = &[
        ("biosversion", "bios_version"),
        ("biosvendor", "bios_vendor"),
        ("boardname", "board_name"),
        ("productname", "product_name"),
        ("manufacturer", "sys_vendor"),
        ("biosreleasedate", "bios_date"),
        ("uuid", "product_uuid"),
        ("serialnumber", "product_serial"),
    ];
    for (grain, file) in FILES {
        if let Some(value) = root.value(&format!("/sys/class/dmi/id/{file}")) {
            let value = if *grain == "uuid" {
                value.to_lowercase()
            } else {
                value
            };
            grains.insert(*grain, value);
        }
    }
}

pub(crate) fn device_tree(root: &Root, grains: &mut Map) {
    let read = |name: &str| {
        root.text(&format!("/proc/device-tree/{name}"))
            .map(|text| text.trim_end_matches('\0').to_owned())
            .filter(|text| !text.is_empty())
    };
    if let Some(model) = read("model") {
        match model.split_once(',') {
            Some((manufacturer, product)) => {
                grains.insert("manufacturer", manufacturer);
                grains.insert("productname", product);
            }
            None => {
                grains.insert("productname", model);
            }
        }
    }
    if let Some(serial) = read("serial-number").or_else(|| read("system-id")) {
        grains.insert("serialnumber", serial);
    }
}

pub(crate) fn fibre_channel(root: &Root, grains: &mut Map) {
    grains.insert("fibre_channel_host", root.is_dir("/sys/class/fc_host"));
}

pub(crate) fn efi(root: &Root, grains: &mut Map) {
    let variables = ["/sys/firmware/efi/efivars", "/sys/firmware/efi/vars"]
        .into_iter()
        .find(|path| root.exists(path));
    grains.insert("efi", variables.is_some());
    let secure = variables.is_some_and(|directory| {
        let names = root.names(directory);
        let mut found = names.iter().filter(|name| name.starts_with("SecureBoot-"));
        let (Some(name), None) = (found.next(), found.next()) else {
            return false;
        };
        let inside = if directory.ends_with("efivars") {
            ""
        } else {
            "/data"
        };
        root.bytes(&format!("{directory}/{name}{inside}"))
            .is_some_and(|bytes| bytes.last() == Some(&1))
    });
    grains.insert("efi-secure-boot", secure);
}

pub(crate) fn disks(root: &Root, grains: &mut Map) {
    let (mut disks, mut ssds) = (Vec::new(), Vec::new());
    for name in root.names("/sys/block") {
        let path = format!("/sys/block/{name}");
        let target = std::fs::read_link(root.at(&path)).unwrap_or_default();
        if target.starts_with("../devices/virtual") {
            continue;
        }
        match root.value(&format!("{path}/queue/rotational")).as_deref() {
            Some("0") => ssds.push(Value::from(name)),
            Some("1") => disks.push(Value::from(name)),
            _ => {}
        }
    }
    grains.insert("disks", disks);
    grains.insert("ssds", ssds);
}

/// Active logical volumes by group, from the names of the device mapper, in
/// which a dash parts group and volume and two stand for one.
pub(crate) fn lvm(root: &Root, grains: &mut Map) {
    if root.which("lvm").is_none() {
        return;
    }
    let mut groups = Map::new();
    let mut names: Vec<String> = root
        .names("/sys/block")
        .into_iter()
        .filter(|device| device.starts_with("dm-"))
        .filter(|device| {
            root.value(&format!("/sys/block/{device}/dm/uuid"))
                .is_some_and(|uuid| uuid.starts_with("LVM-"))
        })
        .filter_map(|device| root.value(&format!("/sys/block/{device}/dm/name")))
        .collect();
    names.sort();
    for name in names {
        let plain = name.replace("--", "\0");
        let Some((group, volume)) = plain.split_once('-') else {
            continue;
        };
        let volumes =
            groups.get_or_insert_with(group.replace('\0', "-"), || Value::List(Vec::new()));
        if let Value::List(volumes) = volumes {
            volumes.push(volume.replace('\0', "-").into());
        }
    }
    grains.insert("lvm", groups);
}

pub(crate) fn mdadm(root: &Root, grains: &mut Map) {
    let Some(text) = root.text("/proc/mdstat") else {
        return;
    };
    let mut devices: Vec<&str> = text
        .lines()
        .filter(|line| {
            !line.starts_with("Personalities : ") && !line.starts_with("unused devices:")
        })
        .filter_map(|line| Some(line.split_once(" : ")?.0))
        .collect();
    devices.sort_unstable();
    devices.dedup();
    let devices: Vec<Value> = devices.into_iter().map(Value::from).collect();
    grains.insert("mdadm", devices);
}

pub(crate) fn kernel_params(root: &Root, grains: &mut Map) {
    let Some(text) = root.text("/proc/cmdline") else {
        return;
    };
    let params: Vec<Value> = words(&text)
        .iter()
        .map(|word| {
            let parts: Vec<&str> = word.split('=').collect();
            let value = match parts.as_slice() {
                [_, value] => Value::from(value.trim_matches('"')),
                _ => Value::Nil,
            };
            vec![parts[0].into(), value].into()
        })
        .collect();
    grains.insert("kernelparams", params);
}

/// Words of the kernel's command line, in which quotes join.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![None::<String>];
    let mut quote = None;
    for char in line.chars() {
        let last = words.len() - 1;
        match (quote, char) {
            (Some(open), char) if open == char => quote = None,
            (None, '"' | '\'') => {
                quote = Some(char);
                words[last].get_or_insert_default();
            }
            (None, char) if char.is_whitespace() => {
                if words[last].is_some() {
                    words.push(None);
                }
            }
            (_, char) => words[last].get_or_insert_default().push(char),
        }
    }
    words.into_iter().flatten().collect()
}

/// Graphics cards, by the names `lspci` would give them.
pub(crate) fn gpus(root: &Root, grains: &mut Map) {
    const VENDORS: &[&str] = &[
        "nvidia",
        "amd",
        "ati",
        "intel",
        "cirrus logic",
        "vmware",
        "matrox",
        "aspeed",
    ];
    if root.which("lspci").is_none() {
        return;
    }
    let mut devices = root.names("/sys/bus/pci/devices");
    devices.sort();
    let id = |device: &str, file: &str| {
        let text = root.value(&format!("/sys/bus/pci/devices/{device}/{file}"))?;
        Some(text.trim_start_matches("0x").to_owned())
    };
    // VGA, 3D and other displays, processing accelerators.
    let shows = |class: &str| {
        ["0300", "0302", "0380", "1200"]
            .iter()
            .any(|known| class.starts_with(known))
    };
    let found: Vec<(String, String)> = devices
        .iter()
        .filter(|device| id(device, "class").is_some_and(|class| shows(&class)))
        .filter_map(|device| Some((id(device, "vendor")?, id(device, "device")?)))
        .collect();
    let names = if found.is_empty() {
        None
    } else {
        pci_ids(root)
    };
    let gpus: Vec<Value> = found
        .iter()
        .map(|(vendor, device)| {
            let (maker, model) = pci_names(names.as_deref().unwrap_or_default(), vendor, device);
            let maker = maker.to_lowercase();
            let words: Vec<&str> = maker.split(|c: char| !c.is_ascii_alphanumeric()).collect();
            let vendor = VENDORS.iter().find(|name| words.contains(name));
            Map::from([
                ("vendor", Value::from(*vendor.unwrap_or(&"unknown"))),
                ("model", model.into()),
            ])
            .into()
        })
        .collect();
    grains.insert("num_gpus", gpus.len());
    grains.insert("gpus", gpus);
}

fn pci_ids(root: &Root) -> Option<String> {
    ["/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"]
        .iter()
        .find_map(|path| root.text(path))
}

/// The names of a maker and its device: a line `vvvv  Maker`, and behind it,
/// indented once, `dddd  Device`.
fn pci_names(ids: &str, vendor: &str, device: &str) -> (String, String) {
    let mut maker = None;
    for line in ids.lines().filter(|line| !line.starts_with('#')) {
        match (&maker, line.strip_prefix('\t')) {
            (None, None) => maker = line.strip_prefix(vendor).map(|name| name.trim().to_owned()),
            (Some(_), None) if !line.is_empty() => break,
            (Some(maker), Some(line)) => {
                if let Some(name) = line.strip_prefix(device) {
                    return (maker.clone(), name.trim().to_owned());
                }
            }
            _ => {}
        }
    }
    let maker = maker.unwrap_or_else(|| format!("Vendor {vendor}"));
    (maker, format!("Device {device}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_names_are_found_under_their_maker() {
        let ids = "# list\n10de  NVIDIA Corporation\n\t2204  GA102 [GeForce RTX 3090]\n\t\t1 2  Sub\n1234  X\n\t2205  Y\n";
        let names = |vendor, device| pci_names(ids, vendor, device);
        assert_eq!(
            names("10de", "2204"),
            (
                "NVIDIA Corporation".to_owned(),
                "GA102 [GeForce RTX 3090]".to_owned()
            )
        );
        assert_eq!(names("10de", "2205").1, "Device 2205");
        assert_eq!(names("ffff", "1").0, "Vendor ffff");
    }

    #[test]
    fn quotes_join_kernel_words() {
        assert_eq!(words("a b=\"c d\" e\n"), ["a", "b=c d", "e"]);
    }
}
