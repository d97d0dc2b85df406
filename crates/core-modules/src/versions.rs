//! The versions of the minion's components and of the system.

use std::fmt::Write;

use halite_proto::{Map, Value};

use halite_call::host::run_quietly;
use halite_call::{Call, python};

/// By section and name; what is not there is `None`, as in Salt's report.
pub(super) fn information(call: &Call<'_>) -> Map {
    let grains = call.ctx.grains();
    let grain = |name: &str| grains.get(name).map(python::str).unwrap_or_default();
    let dist = [
        grain("os").to_lowercase(),
        grain("osrelease"),
        grain("oscodename"),
    ];
    let full = [grain("osfullname"), grain("osrelease"), grain("oscodename")];
    Map::from([
        (
            "Salt Version",
            Map::from([
                ("Salt", Value::from(halite_grains::SALT_VERSION)),
                ("Halite", Value::from(env!("CARGO_PKG_VERSION"))),
            ]),
        ),
        ("Python Version", Map::from([("Python", python_of(call))])),
        (
            "System Versions",
            Map::from([
                ("system", Value::from(grain("kernel"))),
                ("dist", joined(&dist).into()),
                ("release", grain("kernelrelease").into()),
                ("machine", grain("cpuarch").into()),
                ("version", joined(&full).into()),
                ("locale", "utf-8".into()),
            ]),
        ),
        (
            "Salt Package Information",
            Map::from([("Package Type", Value::Nil)]),
        ),
    ])
}

/// The version of the Python that runs users' modules.
fn python_of(call: &Call<'_>) -> Value {
    let wanted = call.opt("python_executable").as_str();
    let Ok(path) = halite_pyworker::python(wanted) else {
        return Value::Nil;
    };
    let answer = run_quietly(call, &[&path.to_string_lossy(), "-V"]);
    let said = answer.ok().flatten().unwrap_or_default().stdout;
    said.strip_prefix("Python ").map_or(Value::Nil, Value::from)
}

/// The same as text: sections, and names aligned at their colons.
pub(super) fn report(call: &Call<'_>) -> String {
    let information = information(call);
    let sections = || {
        information
            .iter()
            .filter_map(|(name, section)| Some((name, section.as_map()?)))
    };
    let width = sections()
        .flat_map(|(_, section)| section.keys())
        .filter_map(Value::as_str)
        .map(str::len)
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for (name, section) in sections() {
        let _ = writeln!(text, "{}:", python::str(name));
        for (name, version) in section {
            let version = match version {
                Value::Nil => "Not Installed".to_owned(),
                version => python::str(version),
            };
            let _ = writeln!(text, "  {:>width$}: {version}", python::str(name));
        }
        text.push_str(" \n");
    }
    text.truncate(text.trim_end().len());
    text
}

fn joined(words: &[String]) -> String {
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}
