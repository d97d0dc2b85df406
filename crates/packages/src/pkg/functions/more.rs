//! Functions that only some package managers have.

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::listing::names;
use crate::pkg::apt::restarts;
use crate::pkg::dnf::{self, groups};
use crate::pkg::error::PkgError;
use crate::pkg::provider::Provider;
use crate::pkg::this_machine::provider;
use crate::pkg::{pacman, rpm, zypper};

/// The provider, if it is one of those that have the function.
///
/// # Errors
/// In Salt's words, when it is another one.
pub(super) fn only(call: &Call<'_>, having: &[&str]) -> Result<&'static dyn Provider, CallError> {
    let provider = provider(call)?;
    if having.contains(&provider.name()) {
        return Ok(provider);
    }
    Err(CallError::command(format!(
        "This function is not available for the package manager of this system, {}: only for {}",
        provider.name(),
        having.join(", ")
    )))
}

pub(super) const APT: &[&str] = &["apt"];
const WITH_RPM: &[&str] = &["dnf", "zypper"];
const WITH_GROUPS: &[&str] = &["dnf", "pacman"];
const ZYPPER: &[&str] = &["zypper"];

fn as_value(found: Result<Map, PkgError>) -> CallResult {
    Ok(found?.into())
}

pub(super) fn clean_locks(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    as_value(zypper::clean_locks(call))
}

pub(super) fn list_locks(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    Ok(zypper::list_locks(call).into())
}

pub(super) fn diff(call: &Call<'_>) -> CallResult {
    only(call, WITH_RPM)?;
    as_value(dnf::diff(call, &names(call)))
}

pub(super) fn download(call: &Call<'_>) -> CallResult {
    match only(call, WITH_RPM)?.name() {
        "dnf" => as_value(dnf::download(call, &names(call), &call.clean_kwargs())),
        _ => as_value(zypper::download(call, &names(call))),
    }
}

pub(super) fn group_list(call: &Call<'_>) -> CallResult {
    match only(call, WITH_GROUPS)?.name() {
        "dnf" => as_value(groups::group_list(call)),
        _ => as_value(pacman::group_list(call)),
    }
}

pub(super) fn group_info(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    match only(call, WITH_GROUPS)?.name() {
        "dnf" => as_value(groups::group_info(call, &name)),
        _ => as_value(pacman::group_info(call, &name)),
    }
}

pub(super) fn group_diff(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    match only(call, WITH_GROUPS)?.name() {
        "dnf" => as_value(groups::group_diff(call, &name)),
        _ => as_value(pacman::group_diff(call, &name)),
    }
}

pub(super) fn group_install(call: &Call<'_>) -> CallResult {
    only(call, &["dnf"])?;
    as_value(groups::group_install(call))
}

pub(super) fn info_available(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    as_value(zypper::info_available(
        call,
        &names(call),
        &call.clean_kwargs(),
    ))
}

pub(super) fn list_patches(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    as_value(zypper::list_patches(call, false))
}

pub(super) fn list_installed_patches(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    as_value(zypper::list_patches(call, true))
}

pub(super) fn list_patterns(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    as_value(zypper::list_patterns(call, false))
}

pub(super) fn list_installed_patterns(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    as_value(zypper::list_patterns(call, true))
}

pub(super) fn list_products(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    Ok(zypper::list_products(call)?)
}

pub(super) fn list_provides(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    as_value(zypper::list_provides(call))
}

pub(super) fn resolve_capabilities(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    zypper::resolve_capabilities(call)
}

pub(super) fn search(call: &Call<'_>) -> CallResult {
    only(call, ZYPPER)?;
    as_value(zypper::search(call))
}

pub(super) fn modified(call: &Call<'_>) -> CallResult {
    only(call, WITH_RPM)?;
    as_value(rpm::modified(call, &names(call), &call.clean_kwargs()))
}

/// The arguments of a verification: options of rpm, kinds of files that do not
/// count.
pub(in crate::pkg) fn verify_arguments(call: &Call<'_>) -> (Vec<String>, Vec<String>) {
    let list = |name: &str| match call.get(name) {
        Some(Value::Str(text)) => text.split(',').map(|item| item.trim().to_owned()).collect(),
        Some(other) => python::texts(other),
        None => Vec::new(),
    };
    (list("verify_options"), list("ignore_types"))
}

pub(super) fn services_need_restart(call: &Call<'_>) -> CallResult {
    only(call, APT)?;
    Ok(restarts::services(call)?.into())
}

pub(super) fn verify(call: &Call<'_>) -> CallResult {
    only(call, WITH_RPM)?;
    let (options, ignored) = verify_arguments(call);
    as_value(rpm::verify(call, &names(call), &options, &ignored))
}
