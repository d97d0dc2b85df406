//! The execution module `lowpkg`: the tools below the package managers, `dpkg`
//! and `rpm`.

use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

use super::apt;
use super::functions::{by_package, listed, names, one_or_all, verify_arguments};
use super::provider::{Files, Provider};
use super::targets::local_file;
use super::this_machine::provider;
use super::{lists, rpm, version};

pub(crate) const MODULE: Module = Module {
    name: "lowpkg",
    functions: &[
        Function::new(
            "lowpkg.bin_pkg_info",
            "(path, saltenv='base')",
            bin_pkg_info,
            "The name, version and architecture of a package file.",
        ),
        Function::new(
            "lowpkg.checksum",
            "(*paths, **kwargs)",
            checksum,
            "Whether package files are whole (rpm).",
        ),
        Function::new(
            "lowpkg.diff",
            "(package_path, path)",
            diff,
            "What differs between a file and the one in a package file (rpm).",
        ),
        Function::new(
            "lowpkg.file_dict",
            "(*packages, **kwargs)",
            |call| files(call, by_package),
            "The files of packages, by package.",
        ),
        Function::new(
            "lowpkg.file_list",
            "(*packages, **kwargs)",
            |call| files(call, listed),
            "The files of packages in one list.",
        ),
        Function::new(
            "lowpkg.info",
            "(*packages, **kwargs)",
            info,
            "What is known of installed packages.",
        ),
        Function::new(
            "lowpkg.list_pkgs",
            "(*packages, **kwargs)",
            list_pkgs,
            "The installed packages and their versions.",
        ),
        Function::new(
            "lowpkg.modified",
            "(*packages, **flags)",
            modified,
            "The files of packages that are not as they were (rpm).",
        ),
        Function::new(
            "lowpkg.owner",
            "(*paths, **kwargs)",
            owner,
            "The package that a file belongs to (rpm).",
        ),
        Function::new(
            "lowpkg.unpurge",
            "(*packages)",
            unpurge,
            "Packages that wait to be purged stay installed (dpkg).",
        ),
        Function::new(
            "lowpkg.verify",
            "(*packages, **kwargs)",
            verify,
            "The files of packages that are not as they were, with what differs (rpm).",
        ),
        Function::new(
            "lowpkg.version_cmp",
            "(ver1, ver2, ignore_epoch=False)",
            version_cmp,
            "-1, 0 or 1: the order of two versions.",
        ),
    ],
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Dpkg,
    Rpm,
}

/// The tool of this machine, and the package manager above it.
fn tool(call: &Call<'_>) -> Result<(Tool, &'static dyn Provider), CallError> {
    let provider = provider(call)?;
    match provider.name() {
        "apt" => Ok((Tool::Dpkg, provider)),
        "dnf" | "zypper" => Ok((Tool::Rpm, provider)),
        other => Err(CallError::command(format!(
            "{other} has neither dpkg nor rpm below it"
        ))),
    }
}

/// That the tool of this machine is the one that has the function.
fn only(call: &Call<'_>, wanted: Tool) -> Result<(), CallError> {
    if tool(call)?.0 == wanted {
        return Ok(());
    }
    let name = match wanted {
        Tool::Dpkg => "dpkg",
        Tool::Rpm => "rpm",
    };
    Err(CallError::command(format!(
        "This function is not available on this system: only for {name}"
    )))
}

fn bin_pkg_info(call: &Call<'_>) -> CallResult {
    let (path, saltenv) = (call.text("path"), call.text("saltenv"));
    let (tool, provider) = tool(call)?;
    let place = match path.contains("://") {
        true => local_file(call, &path, &saltenv)?
            .ok_or_else(|| CallError::command(format!("Unable to cache file {path}")))?,
        false => path.clone(),
    };
    if !call.host().path(&place).is_file() {
        return Err(CallError::command(format!(
            "{path} does not exist on minion"
        )));
    }
    match provider.file_info(call, &place)? {
        Some(info) => {
            let mut about = Map::from([
                ("name", Value::from(info.name)),
                ("version", info.version.into()),
                ("arch", info.arch.into()),
            ]);
            if tool == Tool::Rpm {
                about.insert("repoid", "none");
                about.insert("install_date", Value::Nil);
                about.insert("install_date_time_t", Value::Nil);
            }
            Ok(about.into())
        }
        None => Err(CallError::command(format!(
            "Unable to get info for {place}"
        ))),
    }
}

fn checksum(call: &Call<'_>) -> CallResult {
    only(call, Tool::Rpm)?;
    Ok(rpm::checksum(call, &names(call))?.into())
}

fn diff(call: &Call<'_>) -> CallResult {
    only(call, Tool::Rpm)?;
    let (package, path) = (call.text("package_path"), call.text("path"));
    let different = rpm::diff(call, &package, &path)?;
    Ok(different.unwrap_or_default().into())
}

/// The files of packages. What dpkg says of one that is not there is returned,
/// not raised, as in Salt.
fn files(call: &Call<'_>, shape: fn(Files) -> Map) -> CallResult {
    let (tool, provider) = tool(call)?;
    match provider.files(call, &names(call)) {
        Ok(found) => Ok(shape(found).into()),
        Err(error) if tool == Tool::Dpkg => Ok(error.to_string().into()),
        Err(error) => Err(error.into()),
    }
}

fn info(call: &Call<'_>) -> CallResult {
    let names = names(call);
    if tool(call)?.0 == Tool::Dpkg {
        let kwargs = crate::only(call, &["failhard"])?;
        let failhard = kwargs.get("failhard").is_none_or(Value::is_true);
        return Ok(apt::info_plain(call, &names, failhard)?.into());
    }
    let kwargs = call.clean_kwargs();
    let wanted = lists::attributes_of(kwargs.get("attr"));
    let all_versions = kwargs.get("all_versions").is_some_and(Value::is_true);
    let mut all = Map::new();
    for (name, about) in rpm::info(call, &names, &wanted)? {
        if all_versions {
            lists::push(&mut all, &name, about.into());
        } else {
            all.insert(name, about);
        }
    }
    Ok(all.into())
}

fn list_pkgs(call: &Call<'_>) -> CallResult {
    let names = names(call);
    if tool(call)?.0 == Tool::Dpkg {
        return Ok(match apt::list_plain(call, &names) {
            Ok(list) => list.into(),
            Err(error) => error.to_string().into(),
        });
    }
    Ok(rpm::list_plain(call, &names)?.into())
}

fn modified(call: &Call<'_>) -> CallResult {
    only(call, Tool::Rpm)?;
    Ok(rpm::modified(call, &names(call), &call.clean_kwargs())?.into())
}

fn owner(call: &Call<'_>) -> CallResult {
    only(call, Tool::Rpm)?;
    let paths = names(call);
    if paths.is_empty() {
        return Ok("".into());
    }
    let mut owners = Map::new();
    for path in &paths {
        owners.insert(path.as_str(), rpm::owner(call, path)?);
    }
    Ok(one_or_all(owners, true))
}

fn unpurge(call: &Call<'_>) -> CallResult {
    only(call, Tool::Dpkg)?;
    let names = names(call);
    if names.is_empty() {
        return Ok(Map::new().into());
    }
    match tool(call)?.1.unpurge(call, &names) {
        Some(changes) => Ok(changes?.into()),
        None => Ok(Map::new().into()),
    }
}

fn verify(call: &Call<'_>) -> CallResult {
    only(call, Tool::Rpm)?;
    let (options, ignored) = verify_arguments(call);
    Ok(rpm::verify(call, &names(call), &options, &ignored)?.into())
}

fn version_cmp(call: &Call<'_>) -> CallResult {
    let (_, provider) = tool(call)?;
    let texts = [call.arg("ver1"), call.arg("ver2")].map(python::str);
    let ignore = call.flag("ignore_epoch");
    let [a, b] = texts.each_ref().map(|text| {
        if ignore {
            version::without_epoch(text)
        } else {
            text.as_str()
        }
    });
    Ok(Value::from(provider.compare(a, b) as i32))
}
