//! Groups of packages (`dnf groupinfo`).

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::{Dnf, options, run};
use crate::pkg::error::PkgError;
use crate::pkg::provider::{Listing, Provider};
use crate::words;

/// The kinds of members, in Salt's order.
pub(in crate::pkg) const KINDS: [&str; 4] = ["mandatory", "optional", "default", "conditional"];

/// How deep groups of groups are followed.
const DEPTH_MAX: usize = 16;

/// What is known of a group.
#[derive(Debug, Clone, Default)]
struct Group {
    is_environment: bool,
    name: Option<String>,
    id: Option<String>,
    description: Option<String>,
    /// Beside `KINDS`.
    members: [Vec<String>; 4],
}

impl Group {
    fn parse(text: &str) -> Option<Self> {
        let mut group = Self::default();
        let mut kind = None;
        let mut seen = false;
        for line in text.lines() {
            let line = line
                .trim()
                .trim_start_matches(|c: char| c.is_ascii_punctuation())
                .trim();
            let lower = line.to_lowercase();
            let header = lower
                .strip_suffix(" packages:")
                .or_else(|| lower.strip_suffix(" groups:"));
            if let Some(header) = header {
                kind = KINDS.iter().position(|kind| *kind == header);
                continue;
            }
            let field = line.split_once(':').map(|(key, value)| {
                let value = value.trim();
                (key.trim().to_lowercase(), value.to_owned())
            });
            match field {
                Some((key, value)) if key == "group" || key == "environment group" => {
                    group.is_environment = key != "group";
                    group.name = Some(value);
                    seen = true;
                }
                Some((key, value)) if key == "group-id" || key == "environment-id" => {
                    group.id = Some(value);
                }
                Some((key, value)) if key == "description" => group.description = Some(value),
                _ => {
                    if let (Some(kind), false) = (kind, line.is_empty()) {
                        group.members[kind].push(line.to_owned());
                    }
                }
            }
        }
        seen.then_some(group)
    }

    fn ask(call: &Call<'_>, name: &str, kwargs: &Map) -> Result<Self, PkgError> {
        let mut line = words(&["--quiet"]);
        line.extend(options(kwargs));
        line.extend(words(&["groupinfo", name]));
        let ran = run(call, &line, false)?;
        Self::parse(&ran.stdout)
            .ok_or_else(|| PkgError::command(format!("Group '{name}' not found")))
    }

    /// The same with the packages of its groups instead of these.
    fn expanded(
        mut self,
        call: &Call<'_>,
        kwargs: &Map,
        ignored: &[String],
        depth: usize,
    ) -> Result<Self, PkgError> {
        if !self.is_environment || depth == 0 {
            return Ok(self);
        }
        let groups = std::mem::take(&mut self.members);
        // Members of a mandatory group are as they say themselves; those of
        // others are never more than that kind.
        for (kind, names) in groups.into_iter().enumerate() {
            for name in names.iter().filter(|name| !ignored.contains(name)) {
                let group = Self::ask(call, name, kwargs)?;
                let group = group.expanded(call, kwargs, ignored, depth - 1)?;
                for (inner, packages) in group.members.into_iter().enumerate() {
                    let place = if KINDS[kind] == "mandatory" {
                        inner
                    } else {
                        kind
                    };
                    self.members[place].extend(packages);
                }
            }
        }
        for packages in &mut self.members {
            packages.sort();
            packages.dedup();
        }
        Ok(self)
    }
}

fn list(items: &[String]) -> Value {
    let mut items: Vec<&String> = items.iter().collect();
    items.sort();
    Value::List(items.into_iter().map(|item| item.as_str().into()).collect())
}

fn text(value: Option<String>) -> Value {
    value.map_or(Value::Nil, Value::from)
}

/// The function `pkg.group_list`.
pub(in crate::pkg) fn group_list(call: &Call<'_>) -> Result<Map, PkgError> {
    const SECTIONS: &[(&str, &str)] = &[
        ("installed groups:", "installed"),
        ("available groups:", "available"),
        ("installed environment groups:", "installed environments"),
        ("available environment groups:", "available environments"),
        ("available language groups:", "available languages"),
    ];
    let ran = run(call, &words(&["--quiet", "grouplist", "hidden"]), false)?;
    let mut found: Map = SECTIONS
        .iter()
        .map(|(_, key)| {
            let empty = if *key == "available languages" {
                Value::Map(Map::new())
            } else {
                Value::List(Vec::new())
            };
            (*key, empty)
        })
        .collect();
    let mut section = None;
    for line in ran.stdout.lines() {
        let lower = line.trim().to_lowercase();
        if let Some((_, key)) = SECTIONS.iter().find(|(header, _)| *header == lower) {
            section = Some(*key);
            continue;
        }
        let name = line.trim();
        if name.is_empty() || !line.starts_with(char::is_whitespace) {
            continue;
        }
        match section.and_then(|key| found.get_mut(key)) {
            Some(Value::List(names)) => names.push(name.into()),
            Some(Value::Map(languages)) => {
                // "Afrikaans Support [af]"
                let (title, id) = name.rsplit_once(" [").unwrap_or((name, ""));
                let about = Map::from([
                    ("name", title.trim()),
                    ("language", id.trim_end_matches(']')),
                ]);
                languages.insert(title.trim(), about);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The function `pkg.group_info`.
pub(in crate::pkg) fn group_info(call: &Call<'_>, name: &str) -> Result<Map, PkgError> {
    let kwargs = call.clean_kwargs();
    let mut group = Group::ask(call, name, &kwargs)?;
    let kind = if group.is_environment {
        "environment group"
    } else {
        "package group"
    };
    if call.flag("expand") {
        let ignored = python::texts(call.arg("ignore_groups"));
        group = group.expanded(call, &kwargs, &ignored, DEPTH_MAX)?;
    }
    let mut about: Map = KINDS
        .iter()
        .zip(&group.members)
        .map(|(kind, members)| (*kind, list(members)))
        .collect();
    about.insert("type", kind);
    about.insert("group", text(group.name));
    about.insert("id", text(group.id));
    about.insert("description", text(group.description));
    Ok(about)
}

/// The members of groups, those of groups within them too.
pub(crate) fn members(
    call: &Call<'_>,
    name: &str,
    kwargs: &Map,
) -> Result<[Vec<String>; 4], PkgError> {
    let group = Group::ask(call, name, kwargs)?;
    Ok(group.expanded(call, kwargs, &[], DEPTH_MAX)?.members)
}

/// The function `pkg.group_diff`.
pub(in crate::pkg) fn group_diff(call: &Call<'_>, name: &str) -> Result<Map, PkgError> {
    let members = members(call, name, &call.clean_kwargs())?;
    let current = Dnf.list(call, Listing::Installed)?;
    Ok(KINDS
        .iter()
        .zip(members)
        .map(|(kind, members)| {
            let (there, missing): (Vec<String>, Vec<String>) = members
                .into_iter()
                .partition(|name| current.contains_key(name));
            let diff = Map::from([
                ("installed", list(&there)),
                ("not installed", list(&missing)),
            ]);
            (*kind, Value::from(diff))
        })
        .collect())
}

/// The function `pkg.group_install`.
pub(in crate::pkg) fn group_install(call: &Call<'_>) -> Result<Map, PkgError> {
    let names = python::texts(call.arg("name"));
    if names.is_empty() {
        return Err(PkgError::invocation("no groups specified"));
    }
    let (skip, include) = (
        python::texts(call.arg("skip")),
        python::texts(call.arg("include")),
    );
    let kwargs = call.clean_kwargs();
    let mut targets: Vec<String> = Vec::new();
    for name in names {
        let [mandatory, _, default, _] = members(call, &name, &kwargs)?;
        targets.extend(mandatory);
        targets.extend(default.into_iter().filter(|name| !skip.contains(name)));
    }
    targets.extend(include);
    targets.sort();
    targets.dedup();
    let current = Dnf.list(call, Listing::Installed)?;
    targets.retain(|name| !current.contains_key(name));
    if targets.is_empty() {
        return Ok(Map::new());
    }
    let mut arguments = kwargs;
    let pkgs = targets.into_iter().map(Value::from).collect();
    arguments.insert("pkgs", Value::List(pkgs));
    Dnf.install(call, &arguments)
}
