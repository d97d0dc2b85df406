//! The execution module `pkg_resource`: what the modules of package managers share,
//! for custom modules that use it.

use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

use super::lists::{self, attributes_of};
use super::targets::{Targets, pack_sources, parse_targets};
use super::this_machine::provider;
use super::version;

pub(crate) const MODULE: Module = Module {
    name: "pkg_resource",
    functions: &[
        Function::new(
            "pkg_resource.add_pkg",
            "(pkgs, name, pkgver)",
            add_pkg,
            "A list of packages with one more version.",
        ),
        Function::new(
            "pkg_resource.check_extra_requirements",
            "(pkgname, pkgver)",
            |_| Ok(true.into()),
            "Whether a package manager's own conditions are met; none of these has any.",
        ),
        Function::new(
            "pkg_resource.format_pkg_list",
            "(packages, versions_as_list, attr)",
            format_pkg_list,
            "A list of packages as `pkg.list_pkgs` returns it.",
        ),
        Function::new(
            "pkg_resource.format_version",
            "(epoch, version, release)",
            format_version,
            "Epoch, version and release in one text.",
        ),
        Function::new(
            "pkg_resource.pack_sources",
            "(sources, normalize=True)",
            pack_sources_,
            "A list of package files as one map.",
        ),
        Function::new(
            "pkg_resource.parse_targets",
            "(name=None, pkgs=None, sources=None, saltenv='base', normalize=True, **kwargs)",
            parse_targets_,
            "The packages that are meant, and whether they are files or of a repository.",
        ),
        Function::new(
            "pkg_resource.sort_pkglist",
            "(pkgs)",
            sort_pkglist,
            "A list of packages with the versions of each in order.",
        ),
        Function::new(
            "pkg_resource.stringify",
            "(pkgs)",
            stringify,
            "A list of packages with the versions of each in one text.",
        ),
        Function::new(
            "pkg_resource.version",
            "(*names, **kwargs)",
            |call| call.salt("pkg.version", call.varargs(), call.clean_kwargs()),
            "The installed version of packages, empty if there is none.",
        ),
        Function::new(
            "pkg_resource.version_clean",
            "(verstr)",
            version_clean,
            "A version as it can be compared.",
        ),
        Function::new(
            "pkg_resource.version_compare",
            "(ver1, oper, ver2, ignore_epoch=False)",
            version_compare,
            "Whether a comparison of two versions holds.",
        ),
    ],
};

fn map_of(call: &Call<'_>, name: &str) -> Result<Map, CallError> {
    match call.arg(name) {
        Value::Map(map) => Ok(map.clone()),
        other => Err(CallError::wrong_type(format!(
            "{name} must be a dictionary, not {}",
            python::repr(other)
        ))),
    }
}

fn add_pkg(call: &Call<'_>) -> CallResult {
    let mut pkgs = map_of(call, "pkgs")?;
    lists::add(&mut pkgs, &call.text("name"), &call.text("pkgver"));
    Ok(pkgs.into())
}

fn format_pkg_list(call: &Call<'_>) -> CallResult {
    let mut pkgs = map_of(call, "packages")?;
    let wanted = attributes_of(Some(call.arg("attr")));
    let is_map = |items: &Value| {
        items
            .as_list()
            .is_some_and(|items| items.iter().any(|item| item.as_map().is_some()))
    };
    for (_, items) in pkgs.iter_mut() {
        let (true, Value::List(list)) = (is_map(items), &mut *items) else {
            continue;
        };
        for item in list {
            let Value::Map(about) = item else {
                continue;
            };
            if wanted.is_empty() {
                let part = |name: &str| {
                    let value = about.get(name).filter(|value| value.is_true());
                    value.map(python::str).unwrap_or_default()
                };
                *item = joined_version(&part("epoch"), &part("version"), &part("release")).into();
            } else if !wanted.iter().any(|name| name == "all") {
                about.retain(|key, _| {
                    key.as_str()
                        .is_some_and(|key| wanted.iter().any(|name| name == key))
                });
            }
        }
    }
    if wanted.is_empty() {
        lists::sort(&mut pkgs);
        if !call.flag("versions_as_list") {
            pkgs = lists::joined(&pkgs);
        }
    }
    Ok(pkgs.into())
}

fn joined_version(epoch: &str, version: &str, release: &str) -> String {
    let mut full = String::new();
    if !epoch.is_empty() && epoch != "0" {
        full.push_str(epoch);
        full.push(':');
    }
    full.push_str(version);
    if !release.is_empty() {
        full.push('-');
        full.push_str(release);
    }
    full
}

fn format_version(call: &Call<'_>) -> CallResult {
    let part = |name: &str| call.text_opt(name).unwrap_or_default();
    Ok(joined_version(&part("epoch"), &part("version"), &part("release")).into())
}

fn pack_sources_(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    let packed = pack_sources(call, provider, call.arg("sources"), call.flag("normalize"));
    Ok(packed.into_iter().collect::<Map>().into())
}

fn parse_targets_(call: &Call<'_>) -> CallResult {
    let mut kwargs = call.clean_kwargs();
    for name in ["name", "pkgs", "sources", "saltenv"] {
        kwargs.insert(name, call.arg(name).clone());
    }
    let targets = parse_targets(call, provider(call)?, &kwargs, call.flag("normalize"))?;
    let pair = match targets {
        Targets::None => [Value::Nil, Value::Nil],
        Targets::Repository(wanted) => {
            let wanted: Map = wanted
                .into_iter()
                .map(|(name, version)| (name, version.map_or(Value::Nil, Value::from)))
                .collect();
            [wanted.into(), "repository".into()]
        }
        Targets::Files(files) => [super::functions::texts(files), "file".into()],
    };
    Ok(Value::List(pair.into()))
}

fn sort_pkglist(call: &Call<'_>) -> CallResult {
    let mut pkgs = map_of(call, "pkgs")?;
    lists::sort(&mut pkgs);
    Ok(pkgs.into())
}

fn stringify(call: &Call<'_>) -> CallResult {
    Ok(lists::joined(&map_of(call, "pkgs")?).into())
}

/// As the package manager cleans it; none of these has anything to clean.
fn version_clean(call: &Call<'_>) -> CallResult {
    if call.has_function("pkg.version_clean") {
        let args = [call.arg("verstr").clone()];
        return call.salt("pkg.version_clean", &args, Map::new());
    }
    Ok(call.arg("verstr").clone())
}

fn version_compare(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    let [a, b] = ["ver1", "ver2"].map(|name| {
        let text = call.text(name);
        if call.flag("ignore_epoch") {
            version::without_epoch(&text).to_owned()
        } else {
            text
        }
    });
    let order = provider.compare(&a, &b);
    let holds = match call.text("oper").as_str() {
        "==" | "=" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        other => {
            return Err(CallError::invocation(format!(
                "{other} is no comparison of versions"
            )));
        }
    };
    Ok(holds.into())
}
