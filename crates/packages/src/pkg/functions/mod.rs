//! The functions of `pkg`: arguments in, the provider's work, Salt's shapes out.

mod change;
mod listing;
mod more;
mod repos;
mod selections;

pub(crate) use change::hold_targets;
use halite_call::{Function, Module};
pub(super) use listing::{by_package, listed, names, one_or_all, texts};
pub(super) use more::verify_arguments;

const INSTALL: &str = "(name=None, refresh=False, fromrepo=None, skip_verify=False, debconf=None, pkgs=None, sources=None, reinstall=False, downloadonly=False, ignore_epoch=False, normalize=True, **kwargs)";

pub(crate) const MODULE: Module = Module {
    name: "pkg",
    functions: &[
        Function::new(
            "pkg.add_repo_key",
            "(path=None, text=None, keyserver=None, keyid=None, saltenv='base', aptkey=True, keydir=None, keyfile=None)",
            repos::add_repo_key,
            "Takes over a key that signs a repository.",
        ),
        Function::new(
            "pkg.autoremove",
            "(list_only=False, purge=False)",
            change::autoremove,
            "Removes packages that nothing needs any more, or lists them.",
        ),
        Function::new(
            "pkg.available_version",
            "(*names, **kwargs)",
            listing::latest_version,
            "The newest version that repositories have, empty if it is installed.",
        ),
        Function::new(
            "pkg.clean_locks",
            "(root=None)",
            more::clean_locks,
            "Drops locks that mean nothing (zypper).",
        ),
        Function::new(
            "pkg.clean_metadata",
            "(**kwargs)",
            change::refresh_db,
            "Reads the lists of the repositories again.",
        ),
        Function::new(
            "pkg.del_repo",
            "(repo, **kwargs)",
            repos::del_repo,
            "Deletes a repository.",
        ),
        Function::new(
            "pkg.del_repo_key",
            "(name=None, aptkey=True, keydir=None, **kwargs)",
            repos::del_repo_key,
            "Removes the key that keyid names (apt). Without aptkey, the first file of keydir that it is in\ngoes, with the other keys in that file.",
        ),
        Function::new(
            "pkg.diff",
            "(*paths, **kwargs)",
            more::diff,
            "What differs between files and the packages that they are from (dnf, zypper).",
        ),
        Function::new(
            "pkg.download",
            "(*packages, **kwargs)",
            more::download,
            "Fetches package files without installing them (dnf, zypper).",
        ),
        Function::new(
            "pkg.file_dict",
            "(*packages, **kwargs)",
            listing::file_dict,
            "The files of packages, by package.",
        ),
        Function::new(
            "pkg.file_list",
            "(*packages, **kwargs)",
            listing::file_list,
            "The files of packages in one list.",
        ),
        Function::new(
            "pkg.get_locked_packages",
            "(pattern=None, full=True, root=None, **kwargs)",
            change::list_holds,
            "The packages that are held.",
        ),
        Function::new(
            "pkg.get_repo",
            "(repo, **kwargs)",
            repos::get_repo,
            "What is known of a repository; empty if it is not set up.",
        ),
        Function::new(
            "pkg.get_repo_keys",
            "(aptkey=True, keydir=None)",
            repos::get_repo_keys,
            "The keys that sign repositories, by their ids (apt): those of apt-key, or, without aptkey,\nthose in the files of keydir, /etc/apt/keyrings if it is not given.",
        ),
        Function::new(
            "pkg.get_selections",
            "(pattern=None, state=None)",
            selections::get_selections,
            "Packages by what is wanted of them (install, hold, deinstall, purge).",
        ),
        Function::new(
            "pkg.group_diff",
            "(name, **kwargs)",
            more::group_diff,
            "The packages of a group, by whether they are installed (dnf, pacman).",
        ),
        Function::new(
            "pkg.group_info",
            "(name, expand=False, ignore_groups=None, **kwargs)",
            more::group_info,
            "The packages of a group (dnf, pacman).",
        ),
        Function::new(
            "pkg.group_install",
            "(name, skip=(), include=(), **kwargs)",
            more::group_install,
            "Installs a group of packages (dnf).",
        ),
        Function::new(
            "pkg.group_list",
            "()",
            more::group_list,
            "All groups of packages (dnf, pacman).",
        ),
        Function::new(
            "pkg.groupinstall",
            "(name, skip=(), include=(), **kwargs)",
            more::group_install,
            "Installs a group of packages (dnf).",
        ),
        Function::new(
            "pkg.hold",
            "(name=None, pkgs=None, sources=None, **kwargs)",
            change::hold,
            "Keeps packages at their version.",
        ),
        Function::new(
            "pkg.info_available",
            "(*names, **kwargs)",
            more::info_available,
            "What repositories say about packages (zypper).",
        ),
        Function::new(
            "pkg.info_installed",
            "(*names, **kwargs)",
            listing::info_installed,
            "What is known of installed packages.",
        ),
        Function::new(
            "pkg.install",
            INSTALL,
            change::install,
            "Installs packages: name (with version), pkgs, or files in sources.\nReturns what was changed.",
        ),
        Function::new(
            "pkg.latest_version",
            "(*names, **kwargs)",
            listing::latest_version,
            "The newest version that repositories have, empty if it is installed.",
        ),
        Function::new(
            "pkg.list_downloaded",
            "(root=None, **kwargs)",
            listing::list_downloaded,
            "Package files in the cache of the package manager.",
        ),
        Function::new(
            "pkg.list_holds",
            "(pattern=None, full=True, root=None, **kwargs)",
            change::list_holds,
            "The packages that are held.",
        ),
        Function::new(
            "pkg.list_installed_patches",
            "(**kwargs)",
            more::list_installed_patches,
            "The patches that are installed (zypper).",
        ),
        Function::new(
            "pkg.list_installed_patterns",
            "(root=None)",
            more::list_installed_patterns,
            "The patterns that are installed (zypper).",
        ),
        Function::new(
            "pkg.list_locks",
            "(root=None)",
            more::list_locks,
            "The locks of packages (zypper).",
        ),
        Function::new(
            "pkg.list_patches",
            "(refresh=False, root=None, **kwargs)",
            more::list_patches,
            "All patches (zypper).",
        ),
        Function::new(
            "pkg.list_patterns",
            "(refresh=False, root=None)",
            more::list_patterns,
            "All patterns (zypper).",
        ),
        Function::new(
            "pkg.list_pkgs",
            "(versions_as_list=False, removed=False, purge_desired=False, **kwargs)",
            listing::list_pkgs,
            "The installed packages and their versions.",
        ),
        Function::new(
            "pkg.list_products",
            "(all=False, refresh=False, root=None)",
            more::list_products,
            "The installed products, or all (zypper).",
        ),
        Function::new(
            "pkg.list_provides",
            "(root=None, **kwargs)",
            more::list_provides,
            "What installed packages provide beside themselves (zypper).",
        ),
        Function::new(
            "pkg.list_repo_pkgs",
            "(*args, **kwargs)",
            listing::list_repo_pkgs,
            "The versions that repositories have.",
        ),
        Function::new(
            "pkg.list_repos",
            "(**kwargs)",
            repos::list_repos,
            "The repositories that are set up.",
        ),
        Function::new(
            "pkg.list_updates",
            "(refresh=True, dist_upgrade=True, **kwargs)",
            listing::list_upgrades,
            "The packages that can be upgraded, with their new versions.",
        ),
        Function::new(
            "pkg.list_upgrades",
            "(refresh=True, dist_upgrade=True, **kwargs)",
            listing::list_upgrades,
            "The packages that can be upgraded, with their new versions.",
        ),
        Function::new(
            "pkg.mod_repo",
            "(repo, saltenv='base', aptkey=True, **kwargs)",
            repos::mod_repo,
            "Sets up a repository, or changes one.",
        ),
        Function::new(
            "pkg.modified",
            "(*packages, **flags)",
            more::modified,
            "The files of packages that are not as they were (dnf, zypper).",
        ),
        Function::new(
            "pkg.normalize_name",
            "(name)",
            listing::normalize_name,
            "The name of a package without an architecture that goes without saying.",
        ),
        Function::new(
            "pkg.owner",
            "(*paths, **kwargs)",
            listing::owner,
            "The package that a file belongs to.",
        ),
        Function::new(
            "pkg.parse_arch",
            "(name)",
            listing::parse_arch,
            "A name in two: the package, and its architecture if it has one.",
        ),
        Function::new(
            "pkg.purge",
            "(name=None, pkgs=None, **kwargs)",
            change::purge,
            "Removes packages and their configuration.",
        ),
        Function::new(
            "pkg.refresh_db",
            "(cache_valid_time=0, failhard=False, **kwargs)",
            change::refresh_db,
            "Reads the lists of the repositories again.",
        ),
        Function::new(
            "pkg.remove",
            "(name=None, pkgs=None, **kwargs)",
            change::remove,
            "Removes packages; their configuration stays.",
        ),
        Function::new(
            "pkg.resolve_capabilities",
            "(pkgs, refresh=False, root=None, **kwargs)",
            more::resolve_capabilities,
            "Capabilities as the packages that provide them (zypper).",
        ),
        Function::new(
            "pkg.search",
            "(criteria, refresh=False, **kwargs)",
            more::search,
            "Searches in what repositories have (zypper).",
        ),
        Function::new(
            "pkg.services_need_restart",
            "(**kwargs)",
            more::services_need_restart,
            "Services that use files which a package has replaced since (apt, with checkrestart of\ndebian-goodies).",
        ),
        Function::new(
            "pkg.set_selections",
            "(path=None, selection=None, clear=False, saltenv='base')",
            selections::set_selections,
            "Sets what is wanted of packages.",
        ),
        Function::new(
            "pkg.show",
            "(*names, **kwargs)",
            listing::show,
            "What repositories say about packages.",
        ),
        Function::new(
            "pkg.unhold",
            "(name=None, pkgs=None, sources=None, **kwargs)",
            change::unhold,
            "Lets held packages be upgraded again.",
        ),
        Function::new(
            "pkg.update",
            "(name=None, pkgs=None, refresh=True, skip_verify=False, normalize=True, minimal=False, obsoletes=False, **kwargs)",
            change::update,
            "Upgrades packages without those that others make obsolete (dnf).",
        ),
        Function::new(
            "pkg.upgrade",
            "(refresh=True, dist_upgrade=False, **kwargs)",
            change::upgrade,
            "Upgrades all packages. Returns what was changed.",
        ),
        Function::new(
            "pkg.upgrade_available",
            "(name, **kwargs)",
            listing::upgrade_available,
            "Whether a newer version of a package is there.",
        ),
        Function::new(
            "pkg.verify",
            "(*names, **kwargs)",
            more::verify,
            "The files of packages that are not as they were, with what differs (dnf, zypper).",
        ),
        Function::new(
            "pkg.version",
            "(*names, **kwargs)",
            listing::version_,
            "The installed version of packages, empty if there is none.",
        ),
        Function::new(
            "pkg.version_cmp",
            "(pkg1, pkg2, ignore_epoch=False, **kwargs)",
            listing::version_cmp,
            "-1, 0 or 1: the order of two versions.",
        ),
        Function::new(
            "pkg.which",
            "(path)",
            listing::which,
            "The package that a file belongs to.",
        ),
    ],
};
