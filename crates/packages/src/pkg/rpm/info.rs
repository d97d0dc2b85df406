//! What rpm knows of installed packages.

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::database::rpm;
use crate::pkg::error::PkgError;
use crate::pkg::lists;
use crate::{time, words};

/// Keys of `info`, and where rpm has them.
const FIELDS: &[(&str, &str)] = &[
    ("name", "%{NAME}"),
    (
        "relocations",
        "%|PREFIXES?{[%{PREFIXES} ]}:{(not relocatable)}|",
    ),
    ("epoch", "%{EPOCH}"),
    ("version", "%{VERSION}"),
    ("vendor", "%{VENDOR}"),
    ("release", "%{RELEASE}"),
    ("build_date_time_t", "%{BUILDTIME}"),
    ("install_date_time_t", "%|INSTALLTIME?{%{INSTALLTIME}}|"),
    ("build_host", "%{BUILDHOST}"),
    ("group", "%{GROUP}"),
    ("source_rpm", "%{SOURCERPM}"),
    ("size", "%|LONGSIZE?{%{LONGSIZE}}|"),
    ("arch", "%{ARCH}"),
    ("license", "%|LICENSE?{%{LICENSE}}|"),
    (
        "signature",
        "%|DSAHEADER?{%{DSAHEADER:pgpsig}}:{%|RSAHEADER?{%{RSAHEADER:pgpsig}}:{%|SIGGPG?{%{SIGGPG:pgpsig}}:{%|SIGPGP?{%{SIGPGP:pgpsig}}:{(none)}|}|}|}|",
    ),
    ("packager", "%|PACKAGER?{%{PACKAGER}}|"),
    ("url", "%|URL?{%{URL}}|"),
    ("summary", "%|SUMMARY?{%{SUMMARY}}|"),
];

/// What rpm knows of installed packages: for each name one map per version.
pub(crate) fn info(
    call: &Call<'_>,
    names: &[String],
    wanted: &[String],
) -> Result<Vec<(String, Map)>, PkgError> {
    let mut format: String = FIELDS
        .iter()
        .map(|(key, tag)| format!("{key}: {tag}\\n"))
        .collect();
    format.push_str("description:\\n%|DESCRIPTION?{%{DESCRIPTION}}|\\n-----\\n");
    let mut line = words(&["-q", "--queryformat", &format]);
    if names.is_empty() {
        line.push("-a".to_owned());
    }
    line.extend(names.iter().cloned());
    let ran = rpm(call, &line)?;
    let is_wanted = |key: &str| wanted.is_empty() || wanted.iter().any(|name| name == key);
    let mut all = Vec::new();
    for text in ran.stdout.split("\n-----") {
        let Some((head, description)) = text.split_once("\ndescription:\n") else {
            continue;
        };
        let (mut name, mut info) = (String::new(), Map::new());
        for (key, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            match key {
                "name" => value.clone_into(&mut name),
                "epoch" | "packager" if value == "(none)" => {}
                _ if value.is_empty() => {}
                "build_date_time_t" | "install_date_time_t" => {
                    let seconds = value.parse().unwrap_or_default();
                    let short = key.trim_end_matches("_time_t");
                    if is_wanted(key) {
                        info.insert(key, seconds);
                    }
                    if is_wanted(short) {
                        info.insert(short, time::utc(seconds));
                    }
                }
                _ if !is_wanted(key) => {}
                key => drop(info.insert(key, value)),
            }
        }
        if is_wanted("description") {
            info.insert("description", description);
        }
        if !name.is_empty() {
            all.push((name, info));
        }
    }
    Ok(all)
}

/// The same as `pkg.info_installed` returns it: for each name one map, or the list of those
/// of all versions.
pub(crate) fn info_installed(
    call: &Call<'_>,
    names: &[String],
    kwargs: &Map,
) -> Result<Map, PkgError> {
    let mut attributes = python::texts(kwargs.get("attr").unwrap_or(&Value::Nil));
    if let Some(source) = attributes.iter_mut().find(|name| *name == "source") {
        source.push_str("_rpm");
    }
    let all_versions = kwargs.get("all_versions").is_some_and(Value::is_true);
    let mut all = Map::new();
    for (name, mut about) in info(call, names, &attributes)? {
        // Package managers name it shorter than rpm does.
        if let Some(source) = about.remove("source_rpm") {
            about.insert("source", source);
        }
        if all_versions {
            lists::push(&mut all, &name, about.into());
        } else {
            all.insert(name, about);
        }
    }
    Ok(all)
}
