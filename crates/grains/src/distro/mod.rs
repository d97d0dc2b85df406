//! Which distribution this is, under Salt's names.

mod settings;

use halite_proto::{Map, Value};
use settings::Settings;

use crate::files::Root;
use crate::tables::{FAMILIES, NAMES, NAMES_BY_ID};
use crate::text;

/// `os`, `os_family`, `oscodename`, `osfullname`, `lsb_distrib_*` and
/// `osrelease`.
pub(crate) fn grains(root: &Root, grains: &mut Map) {
    let lsb = Settings::lsb_release(root);
    for (key, value) in &lsb.0 {
        grains.insert(key.as_str(), value.as_str());
    }
    let release = Settings::os_release(root);
    if let Some(release) = &release {
        from_os_release(release, grains);
    }
    if text(grains, "lsb_distrib_description")
        .to_lowercase()
        .starts_with("antergos")
    {
        grains.insert("osfullname", "Antergos Linux");
    } else if lsb.get("lsb_distrib_id").is_none() {
        match &release {
            Some(release) => lsb_from_os_release(release, grains),
            None => lsb_from_old_files(root, grains),
        }
    }
    complete(root, release.as_ref(), grains);
}

fn from_os_release(release: &Settings, grains: &mut Map) {
    let id = release.get("ID").unwrap_or_default();
    let name = release.get("NAME").unwrap_or_default();
    grains.insert("os", os_name(name, Some(id)));
    grains.insert("os_family", family_by_id(id, release.get("ID_LIKE")));
    let codename = release
        .get("VERSION_CODENAME")
        .filter(|name| !name.is_empty())
        .or_else(|| match id {
            "astra" => release.get("VARIANT_ID"),
            "almalinux" | "rocky" => release.get("VERSION").and_then(in_parentheses),
            _ => None,
        });
    if let Some(codename) = codename {
        grains.insert("oscodename", codename);
    }
    grains.insert("osfullname", name.trim());
}

fn lsb_from_os_release(release: &Settings, grains: &mut Map) {
    if let Some(name) = release.get("NAME") {
        grains.insert("lsb_distrib_id", name.trim());
    }
    if let Some(version) = release.get("VERSION_ID") {
        grains.insert("lsb_distrib_release", version);
    }
    let codename = release
        .get("VERSION_CODENAME")
        .or_else(|| release.get("PRETTY_NAME"));
    if let Some(codename) = codename {
        grains.insert("lsb_distrib_codename", codename);
    }
    if let Some((vendor, version)) = release.get("CPE_NAME").and_then(platform_name) {
        let vendor = vendor.to_lowercase();
        if vendor == "suse" || vendor == "opensuse" {
            grains.insert("os", "SUSE");
            if release.get("NAME") == Some("openSUSE Leap") {
                grains.insert("osfullname", "Leap");
            } else if release.get("VERSION") == Some("Tumbleweed") {
                grains.insert("osfullname", "Tumbleweed");
            }
            if let Some(version) = version.filter(|_| vendor == "opensuse") {
                grains.insert("lsb_distrib_release", version);
            }
        }
    }
    if release.get("ID").map(str::trim) == Some("mendel")
        && let Some(version) = release
            .get("PRETTY_NAME")
            .and_then(|name| name.split_whitespace().nth(2))
    {
        grains.insert("lsb_distrib_release", version);
    }
}

/// Distributions from before `os-release`.
fn lsb_from_old_files(root: &Root, grains: &mut Map) {
    if let Some(file) = root.text("/etc/altlinux-release") {
        grains.insert("lsb_distrib_id", "altlinux");
        let words: Vec<&str> = file.split_whitespace().collect();
        if let ["ALT", _, release, codename, ..] = words.as_slice() {
            grains.insert("lsb_distrib_release", *release);
            grains.insert("lsb_distrib_codename", codename.replace(['(', ')'], ""));
        }
    } else if let Some(file) = root.text("/etc/centos-release") {
        grains.insert("lsb_distrib_id", "CentOS");
        if let Some(release) = first_version(&file) {
            grains.insert("lsb_distrib_release", release);
        }
        if let Some(codename) = in_parentheses(&file) {
            grains.insert("lsb_distrib_codename", codename);
        }
    }
}

fn complete(root: &Root, release: Option<&Settings>, grains: &mut Map) {
    if !grains.contains_key("osfullname") {
        let id = text(grains, "lsb_distrib_id").to_owned();
        let name = if id.to_lowercase().starts_with("nilrt") {
            "nilrt"
        } else {
            id.trim()
        };
        grains.insert("osfullname", name);
    }
    let codename = text(grains, "lsb_distrib_codename").to_owned();
    if codename.contains("CentOS Linux 7") || codename.contains("CentOS Linux 8") {
        grains.remove("lsb_distrib_release");
    }
    let version = match text(grains, "lsb_distrib_release").trim() {
        "" => best_version(root, release),
        version => version.to_owned(),
    };
    let os = text(grains, "os").to_owned();
    if ["Rocky", "AlmaLinux", "AstraLinuxSE"]
        .iter()
        .any(|name| os.contains(name))
        && let Some(inner) = in_parentheses(&codename)
    {
        let inner = if os == "AstraLinuxSE" {
            inner
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_lowercase()
        } else {
            inner.to_owned()
        };
        grains.insert("lsb_distrib_codename", inner);
    }
    let own = release.and_then(|release| {
        release
            .get("VERSION_CODENAME")
            .or_else(|| release.get("VERSION").and_then(in_parentheses))
    });
    let codename = match text(grains, "lsb_distrib_codename").trim() {
        "" => own.unwrap_or_default().to_owned(),
        codename if codename.contains("Red Hat") => own.unwrap_or_default().to_owned(),
        codename => codename.to_owned(),
    };
    grains.insert("oscodename", codename);
    if os.is_empty() {
        grains.insert("os", os_name(text(grains, "osfullname"), None));
    }
    let mut version = version;
    if let Some(release) = release
        && let Some(product) = release.get("SUSE_SUPPORT_PRODUCT")
        && let Some(support) = release.get("SUSE_SUPPORT_PRODUCT_VERSION")
    {
        let name = release.get("SUSE_PRETTY_NAME").map(str::to_owned);
        grains.insert(
            "oscodename",
            name.unwrap_or_else(|| format!("{product} {support}")),
        );
        version = support.to_owned();
        if product == "SUSE Linux Micro" {
            grains.insert("osfullname", "SL-Micro");
        }
    }
    grains.insert("osrelease", version);
    let os = text(grains, "os").to_owned();
    grains.insert("os_family", family(&os));
}

/// The most precise version that the files know.
fn best_version(root: &Root, release: Option<&Settings>) -> String {
    let mut versions: Vec<String> = [
        "/etc/centos-release",
        "/etc/redhat-release",
        "/etc/system-release",
    ]
    .iter()
    .filter_map(|path| first_version(&root.text(path)?))
    .collect();
    versions.extend(
        release
            .and_then(|release| release.get("VERSION_ID"))
            .map(str::to_owned),
    );
    if versions.is_empty() {
        versions.extend(root.value("/etc/debian_version"));
    }
    // The first of those with the most parts.
    let parts = |version: &String| version.matches('.').count();
    let most = versions.iter().map(parts).max().unwrap_or_default();
    versions
        .into_iter()
        .find(|version| parts(version) == most)
        .unwrap_or_default()
}

fn first_version(text: &str) -> Option<String> {
    text.split_whitespace()
        .find(|word| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.'))
        .map(str::to_owned)
}

fn in_parentheses(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('(')?;
    rest.split_once(')').map(|(inner, _)| inner)
}

/// Vendor and version of a platform name in either notation of CPE.
fn platform_name(name: &str) -> Option<(&str, Option<&str>)> {
    let parts: Vec<&str> = name.split(':').collect();
    match parts.as_slice() {
        ["cpe", kind, vendor, _, version, ..] if kind.starts_with('/') => {
            Some((vendor, Some(*version).filter(|version| !version.is_empty())))
        }
        ["cpe", "2.3", _, vendor, _, version, ..] => Some((
            vendor,
            Some(*version).filter(|version| !matches!(*version, "*" | "")),
        )),
        _ => None,
    }
}

/// Salt's short name of a distribution.
fn os_name(full_name: &str, id: Option<&str>) -> String {
    let known = NAMES_BY_ID
        .iter()
        .find(|(known_id, name, _)| Some(*known_id) == id && *name == full_name);
    if let Some((_, _, os)) = known {
        return (*os).to_owned();
    }
    let plain = without_linux(full_name);
    let short: String = plain
        .chars()
        .filter(|c| *c != ' ')
        .flat_map(char::to_lowercase)
        .take(10)
        .collect();
    NAMES
        .iter()
        .find(|(known, _)| *known == short)
        .map_or(plain, |(_, os)| (*os).to_owned())
}

/// A name without ` Linux` and ` GNU/Linux`, in any case.
fn without_linux(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let mut kept = String::new();
    let mut at = 0;
    while at < name.len() {
        let cut = [
            " gnu/linux",
            "/gnu/linux",
            "-gnu/linux",
            " linux",
            "-linux",
            "/linux",
        ]
        .iter()
        .find(|word| lower[at..].starts_with(**word));
        match (cut, name[at..].chars().next()) {
            (Some(word), _) => at += word.len(),
            (None, Some(char)) => {
                kept.push(char);
                at += char.len_utf8();
            }
            (None, None) => break,
        }
    }
    kept.trim().to_owned()
}

fn family(os: &str) -> String {
    FAMILIES
        .iter()
        .find(|(name, _)| *name == os)
        .map_or(os, |(_, family)| family)
        .to_owned()
}

/// The family by the ids of `os-release`: the oldest ancestor.
fn family_by_id(id: &str, like: Option<&str>) -> String {
    let like: Vec<&str> = like.unwrap_or_default().split_whitespace().collect();
    let ancestor = if like.is_empty() {
        id
    } else if [id]
        .iter()
        .chain(&like)
        .any(|id| matches!(*id, "debian" | "ubuntu"))
    {
        "debian"
    } else {
        like.last().copied().unwrap_or(id)
    };
    if ancestor == "fedora" {
        return "RedHat".to_owned();
    }
    let mut chars = ancestor.chars();
    chars
        .next()
        .map(|first| {
            first
                .to_uppercase()
                .chain(chars.as_str().to_lowercase().chars())
                .collect()
        })
        .unwrap_or_default()
}

/// The architecture as the package manager calls it.
pub(crate) fn architecture(root: &Root, grains: &Map) -> String {
    let arch = text(grains, "cpuarch");
    if text(grains, "os_family") != "Debian" {
        return arch.to_owned();
    }
    // The first of these is the native one; the file is there only where
    // there are several.
    let native = root
        .text("/var/lib/dpkg/arch")
        .and_then(|text| text.lines().next().map(str::to_owned));
    native.filter(|arch| !arch.is_empty()).unwrap_or_else(|| {
        match arch {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "armv7l" | "armv6l" | "armv8l" => "armhf",
            "i386" | "i486" | "i586" | "i686" => "i386",
            "ppc64le" => "ppc64el",
            "loongarch64" => "loong64",
            other => other,
        }
        .to_owned()
    })
}

/// `osrelease_info`, `osmajorrelease` and `osfinger`.
pub(crate) fn release(grains: &mut Map) {
    let release = text(grains, "osrelease").to_owned();
    if release.is_empty() {
        return;
    }
    let number = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<i64>().ok().filter(|_| digits)
    };
    let info: Vec<Value> = release
        .split('.')
        .map(|part| number(part).map_or_else(|| part.into(), Value::from))
        .collect();
    let first = info.first().cloned().unwrap_or_default();
    grains.insert("osrelease_info", info);
    if let Value::Int(_) = first {
        grains.insert("osmajorrelease", first);
    }
    let os = text(grains, "os");
    let name = match os {
        "Debian" | "Raspbian" | "AlmaLinux" => os,
        _ => text(grains, "osfullname"),
    };
    let shown = match os {
        "Ubuntu" | "Pop" | "NixOS" => release.as_str(),
        _ => release.split('.').next().unwrap_or_default(),
    };
    // A number loses its leading zeros, as in `osrelease_info`.
    let shown = match number(shown) {
        Some(number) => number.to_string(),
        None => shown.to_owned(),
    };
    let finger = format!("{name}-{shown}");
    grains.insert("osfinger", finger);
}
