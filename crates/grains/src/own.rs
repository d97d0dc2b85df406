//! Grains about this process: names, paths, languages, versions.

use std::env;

use halite_proto::{Map, Value};
use jiff::tz::TimeZone;
use nix::unistd::{Gid, Group, Uid, User};

use crate::files::Root;
use crate::{SALT_VERSION, ZMQ_VERSION};

pub(crate) fn directory(grains: &mut Map) {
    if let Ok(directory) = env::current_dir() {
        grains.insert("cwd", directory.display().to_string());
    }
}

pub(crate) fn machine_id(root: &Root, grains: &mut Map) {
    let id = root
        .value("/etc/machine-id")
        .or_else(|| root.value("/var/lib/dbus/machine-id"));
    if let Some(id) = id {
        grains.insert("machine_id", id);
    }
}

pub(crate) fn kernel(root: &Root, grains: &mut Map) {
    let read = |name: &str| {
        root.value(&format!("/proc/sys/kernel/{name}"))
            .unwrap_or_default()
    };
    grains.insert("kernel", read("ostype"));
    grains.insert("nodename", read("hostname"));
    grains.insert("kernelrelease", read("osrelease"));
    grains.insert("kernelversion", read("version"));
    // Kernels before 6.1 do not say for what they were built.
    let arch = Some(read("arch"))
        .filter(|arch| !arch.is_empty())
        .unwrap_or_else(|| match env::consts::ARCH {
            "x86" => "i686".to_owned(),
            "arm" => "armv7l".to_owned(),
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le".to_owned(),
            "powerpc64" => "ppc64".to_owned(),
            other => other.to_owned(),
        });
    grains.insert("cpuarch", arch);
}

/// The language as a Python program would see it, which takes the `C` locale
/// for American English in UTF-8.
pub(crate) fn locale(root: &Root, grains: &mut Map) {
    let setting = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| env::var(name).ok())
        .find(|value| !value.is_empty())
        .unwrap_or_default();
    let (language, encoding) = setting.split_once('.').unwrap_or((&setting, ""));
    let language = match language {
        "" | "C" | "POSIX" => "en_US",
        other => other,
    };
    let encoding = encoding.split('@').next().unwrap_or_default();
    let encoding = match encoding.to_ascii_lowercase().replace('-', "").as_str() {
        "" | "utf8" => "UTF-8".to_owned(),
        _ => encoding.to_uppercase().replace("ISO-", "ISO"),
    };
    let timezone = zone(root)
        .to_offset_info(jiff::Timestamp::now())
        .abbreviation()
        .to_owned();
    let locale = Map::from([
        ("defaultlanguage", Value::from(language)),
        ("defaultencoding", encoding.into()),
        ("detectedencoding", "utf-8".into()),
        ("timezone", timezone.into()),
    ]);
    grains.insert("locale_info", locale);
}

/// The time zone. Its own file is enough: the library would look through all
/// there are, to learn its name.
fn zone(root: &Root) -> TimeZone {
    let is_set = env::var_os("TZ").is_some();
    let file = (!is_set && root.is_real()).then(|| root.bytes("/etc/localtime"));
    let zone = file.flatten().map(|file| TimeZone::tzif("", &file));
    zone.and_then(Result::ok).unwrap_or_else(TimeZone::system)
}

pub(crate) fn paths(grains: &mut Map) {
    let path = env::var("PATH").unwrap_or_default().trim().to_owned();
    let parts: Vec<Value> = path.split(':').map(Value::from).collect();
    grains.insert("path", path);
    grains.insert("systempath", parts);
}

pub(crate) fn versions(root: &Root, grains: &mut Map) {
    python(root, grains);
    let directory = env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.display().to_string()));
    grains.insert("saltpath", directory.unwrap_or_default());
    grains.insert("saltversion", SALT_VERSION);
    let info: Vec<Value> = SALT_VERSION
        .split('.')
        .filter_map(|part| part.parse::<i64>().ok())
        .map(Value::from)
        .collect();
    grains.insert("saltversioninfo", info);
    grains.insert("zmqversion", ZMQ_VERSION);
}

/// The system's Python, which states that install packages for it ask for.
fn python(root: &Root, grains: &mut Map) {
    let Some(path) = root.python() else {
        return;
    };
    let real = path.canonicalize().unwrap_or(path);
    grains.insert("pythonexecutable", real.display().to_string());
    grains.insert("pythonpath", Vec::new());
    // Its place; what it is only Python says.
    grains.insert(PYTHON_VERSION, Value::Nil);
}

const PYTHON_VERSION: &str = "pythonversion";

/// What `python3 -V` has said as a grain, which is absent where it says nothing.
pub(crate) fn python_version(said: Option<&str>, grains: &mut Map) {
    if !grains.contains_key(PYTHON_VERSION) {
        return;
    }
    match said.and_then(version_info) {
        Some(version) => grains.insert(PYTHON_VERSION, version),
        None => grains.remove(PYTHON_VERSION),
    };
}

/// `Python 3.13.0rc1` as `sys.version_info`.
fn version_info(said: &str) -> Option<Vec<Value>> {
    const LEVELS: [(&str, &str); 3] = [("rc", "candidate"), ("a", "alpha"), ("b", "beta")];
    let text = said.trim().strip_prefix("Python ")?;
    let mut parts = text.splitn(3, '.');
    let (major, minor, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (micro, rest) = rest.split_at(digits);
    let level = LEVELS.iter().find_map(|(mark, level)| {
        let serial = rest.strip_prefix(mark)?.trim_end_matches('+');
        Some((*level, serial.parse().ok()?))
    });
    let (level, serial): (&str, i64) = level.unwrap_or(("final", 0));
    let number = |text: &str| text.parse::<i64>().ok().map(Value::from);
    Some(vec![
        number(major)?,
        number(minor)?,
        number(micro)?,
        level.into(),
        serial.into(),
    ])
}

pub(crate) fn shell(grains: &mut Map) {
    grains.insert(
        "shell",
        env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned()),
    );
}

pub(crate) fn process(grains: &mut Map) {
    let (uid, gid) = (Uid::effective(), Gid::effective());
    let user = User::from_uid(uid).ok().flatten();
    let default_gid = user.as_ref().map_or(gid, |user| user.gid);
    let name = user.map_or_else(|| uid.to_string(), |user| user.name);
    let group = Group::from_gid(default_gid).ok().flatten();
    grains.insert("username", name);
    grains.insert(
        "groupname",
        group.map_or_else(String::new, |group| group.name),
    );
    grains.insert("pid", std::process::id());
    grains.insert("gid", gid.as_raw());
    grains.insert("uid", uid.as_raw());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythons_version_is_what_it_says() {
        let info = |said| {
            let parts = version_info(said)?;
            let shown: Vec<String> = parts.iter().map(halite_proto::python::str).collect();
            Some(shown.join(" "))
        };
        assert_eq!(info("Python 3.11.2\n").as_deref(), Some("3 11 2 final 0"));
        assert_eq!(
            info("Python 3.13.0rc1").as_deref(),
            Some("3 13 0 candidate 1")
        );
        assert_eq!(info("Python 3.13.1+").as_deref(), Some("3 13 1 final 0"));
        assert_eq!(info("pypy"), None);
        let mut grains = Map::from([(PYTHON_VERSION, Value::Nil)]);
        python_version(None, &mut grains);
        assert!(grains.is_empty());
    }
}
