//! Python packages: the execution module `pip`.

mod functions;
mod options;
mod run;
use halite_call::{Function, Module};

pub(crate) use functions::{arguments, index_options};
use functions::{
    freeze_, install_, is_installed, list_, list_all_versions, list_freeze_parse, list_upgrades_,
    normalize, uninstall_, upgrade, upgrade_available, version_,
};
pub(crate) use run::{Pip, ran_map};

const INSTALL: &str = "(pkgs=None, requirements=None, bin_env=None, use_wheel=False, no_use_wheel=False, log=None, proxy=None, timeout=None, editable=None, find_links=None, index_url=None, extra_index_url=None, no_index=False, mirrors=None, build=None, target=None, download=None, download_cache=None, source=None, upgrade=False, force_reinstall=False, ignore_installed=False, exists_action=None, no_deps=False, no_install=False, no_download=False, global_options=None, install_options=None, user=None, cwd=None, pre_releases=False, cert=None, allow_all_external=False, allow_external=None, allow_unverified=None, process_dependency_links=False, saltenv='base', env_vars=None, use_vt=False, trusted_host=None, no_cache_dir=False, extra_args=None, cache_dir=None, no_binary=None, disable_version_check=False, **kwargs)";

pub(crate) const MODULE: Module = Module {
    name: "pip",
    functions: &[
        Function::new(
            "pip.freeze",
            "(bin_env=None, user=None, cwd=None, use_vt=False, env_vars=None, **kwargs)",
            freeze_,
            "The installed packages as pip would ask for them.",
        ),
        Function::new(
            "pip.install",
            INSTALL,
            install_,
            "Installs Python packages.",
        ),
        Function::new(
            "pip.is_installed",
            "(pkgname, bin_env=None, user=None, cwd=None)",
            is_installed,
            "Whether a Python package is installed.",
        ),
        Function::new(
            "pip.list",
            "(prefix=None, bin_env=None, user=None, cwd=None, env_vars=None, **kwargs)",
            list_,
            "The installed packages and their versions.",
        ),
        Function::new(
            "pip.list_all_versions",
            "(pkg, bin_env=None, include_alpha=False, include_beta=False, include_rc=False, user=None, cwd=None, index_url=None, extra_index_url=None)",
            list_all_versions,
            "All versions of a package that can be installed.",
        ),
        Function::new(
            "pip.list_freeze_parse",
            "(prefix=None, bin_env=None, user=None, cwd=None, env_vars=None, **kwargs)",
            list_freeze_parse,
            "The installed packages and their versions, as `pip freeze` tells them.",
        ),
        Function::new(
            "pip.list_upgrades",
            "(bin_env=None, user=None, cwd=None)",
            list_upgrades_,
            "The packages that can be upgraded, with their new versions.",
        ),
        Function::new(
            "pip.normalize",
            "(name)",
            normalize,
            "The name of a package as all spellings of it are told apart.",
        ),
        Function::new(
            "pip.uninstall",
            "(pkgs=None, requirements=None, bin_env=None, log=None, proxy=None, timeout=None, user=None, cwd=None, saltenv='base', use_vt=False, extra_args=None)",
            uninstall_,
            "Removes Python packages.",
        ),
        Function::new(
            "pip.upgrade",
            "(bin_env=None, user=None, cwd=None, use_vt=False)",
            upgrade,
            "Upgrades all Python packages.",
        ),
        Function::new(
            "pip.upgrade_available",
            "(pkg, bin_env=None, user=None, cwd=None)",
            upgrade_available,
            "Whether a newer version of a package is there.",
        ),
        Function::new(
            "pip.version",
            "(bin_env=None, cwd=None, user=None)",
            version_,
            "The version of pip.",
        ),
    ],
};
