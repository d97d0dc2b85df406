//! Every scenario gives the result of real Salt (`common`).
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

// One player of scenarios serves both families.
use halite_call::{Module, Registry};

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES, halite_packages::MODULES];
static STATES: &[&[Module]] = &[halite_packages::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

#[test]
fn scenarios_come_out_as_with_salt() {
    halite_recorded::assert_as_recorded(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}

#[test]
fn a_key_is_only_removed_by_its_id() {
    let scenario = serde_json::json!({
        "grains": {"os_family": "Debian"}, "shims": [], "answered": ["apt-key"],
        "data": {"answers": "apt-key del 02824086|1||gpg: no\\n\n"},
    });
    let shims = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims");
    let machine = halite_recorded::Machine::new(shims, &scenario, &REGISTRY);
    let no_id = "EXC SaltInvocationError: keyid or keyid_ppa and PPA name must be passed";
    let no_launchpad = "EXC SaltInvocationError: keyid_ppa is not there, Launchpad is not asked: \
                        name the key with keyid";
    for (kwargs, ret, runs) in [
        (serde_json::json!({"keyid": ""}), no_id, 0),
        (serde_json::json!({"keyid": null}), no_id, 0),
        (
            serde_json::json!({"name": "ppa:a/b", "keyid_ppa": true}),
            no_launchpad,
            0,
        ),
        (
            serde_json::json!({"keyid": "02824086"}),
            "EXC CommandExecutionError: Failed to remove keyid 02824086: gpg: no",
            1,
        ),
    ] {
        let call = serde_json::json!({"fun": "pkg.del_repo_key", "kwargs": kwargs});
        let played = machine.play(&call);
        assert_eq!(played["ret"], ret, "{call}");
        assert_eq!(played["log"].as_array().unwrap().len(), runs, "{call}");
    }
}

/// What names a thing comes from pillars and from who may call one function:
/// some options of git run programs and write files.
#[test]
fn a_name_for_git_is_never_an_option() {
    let scenario = serde_json::json!({
        "grains": {"os_family": "Debian"}, "shims": [], "answered": ["git"], "data": {"answers": ""},
    });
    let shims = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims");
    let machine = halite_recorded::Machine::new(shims, &scenario, &REGISTRY);
    let evil = "--upload-pack=touch /tmp/pwned;";
    for (fun, name) in [
        ("git.fetch", "refspecs"),
        ("git.fetch", "remote"),
        ("git.ls_remote", "ref"),
        ("git.ls_remote", "remote"),
        ("git.remote_refs", "url"),
        ("git.clone", "url"),
        ("git.archive", "rev"),
        ("git.checkout", "rev"),
        ("git.rev_parse", "rev"),
        ("git.describe", "rev"),
        ("git.merge", "rev"),
        ("git.diff", "item1"),
        ("git.push", "remote"),
        ("git.push", "ref"),
        ("git.branch", "name"),
        ("git.tag", "name"),
        ("git.config_get", "key"),
        ("git.config_unset", "value_regex"),
        ("git.merge_base", "refs"),
        ("git.merge_tree", "ref1"),
        ("git.merge_tree", "ref2"),
        ("git.worktree_add", "worktree_path"),
    ] {
        let mut kwargs = serde_json::json!({"cwd": "/repo"});
        for (needed, value) in [
            (("git.archive", "output"), "/a.tar"),
            (("git.config_unset", "key"), "a.b"),
            (("git.merge_tree", "ref1"), "HEAD"),
            (("git.merge_tree", "ref2"), "HEAD"),
            (("git.push", "remote"), "origin"),
            (("git.push", "ref"), "HEAD"),
        ] {
            if needed.0 == fun {
                kwargs[needed.1] = value.into();
            }
        }
        if fun == "git.remote_refs" {
            kwargs = serde_json::json!({});
        }
        kwargs[name] = evil.into();
        let call = serde_json::json!({"fun": fun, "kwargs": kwargs});
        let played = machine.play(&call);
        let ret = played["ret"].as_str().unwrap_or_default();
        assert!(
            ret.starts_with("EXC SaltInvocationError: "),
            "{call}: {played}"
        );
        assert!(ret.contains("upload-pack"), "{call}: {ret}");
        assert_eq!(played["log"].as_array().unwrap().len(), 0, "{call}");
    }
}

#[test]
fn real_tools_are_read_as_salt_reads_them() {
    halite_recorded::assert_transcripts(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}

/// Whoever owns the directory that root has pip run in does not choose what is run.
#[test]
fn a_pip_in_the_current_directory_is_not_run() {
    const PYTHON: &str = "/usr/bin/python3";
    if !Path::new(PYTHON).exists() {
        return halite_test_support::not_run(PYTHON);
    }
    let shims = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims");
    let machine = halite_recorded::Machine::new(
        shims,
        &serde_json::json!({"shims": [], "grains": {}}),
        &REGISTRY,
    );
    let root = machine.dir.path();
    let [venv, own, home] = ["root/venv/bin", "own/pip", "home"].map(|dir| root.join(dir));
    for dir in [&venv, &own, &home] {
        fs::create_dir_all(dir).unwrap();
    }
    symlink(PYTHON, venv.join("python")).unwrap();
    fs::write(own.join("__init__.py"), "").unwrap();
    let says_its_arguments = "import sys; print('own', *sys.argv[1:])\n";
    fs::write(own.join("__main__.py"), says_its_arguments).unwrap();
    for name in ["pip.py", "runpy.py"] {
        fs::write(home.join(name), "print('evil')\n").unwrap();
    }
    for bin_env in ["/venv", "/venv/bin/python"] {
        let call = serde_json::json!({"fun": "pip.freeze", "kwargs": {
            "bin_env": bin_env, "cwd": home, "env_vars": {"PYTHONPATH": root.join("own")},
        }});
        assert_eq!(
            machine.play(&call)["ret"],
            serde_json::json!(["own freeze --all"]),
            "{call}"
        );
    }
}
