//! Modules whose program is missing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::Path;

use halite_proto::{Map, Value};

use crate::local_minion::LocalMinion;

/// A minion that finds programs in `root/bin` only.
fn minion(root: &Path) -> LocalMinion {
    let bin = root.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let opts = Map::from([("__host_path__", bin.to_str().unwrap())]);
    LocalMinion::laid_out_with(root, ("os_family", "Debian"), opts)
}

fn comment(ret: &Value, id: &str) -> String {
    let states = ret.as_map().unwrap().iter();
    let mut of_id =
        states.filter(|(tag, _)| tag.as_str().unwrap().contains(&format!("_|-{id}_|-")));
    let (_, record) = of_id.next().unwrap();
    record.get("comment").unwrap().as_str().unwrap().to_owned()
}

const SLS: &str = "\
before:
  cron.env_present: [{value: x}]
debconf:
  debconf.set: [{data: {}}]
volume:
  lvm.vg_present: []
rule:
  iptables.append: []
program:
  cmd.run: [{name: 'ln -s /bin/true BIN/crontab'}]
after:
  cron.env_present: [{value: x}]
";

#[test]
fn a_state_whose_program_is_missing_is_not_found_until_a_state_installs_it() {
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(dir.path());
    let bin = dir.path().join("bin");
    let sls = SLS.replace("BIN", bin.to_str().unwrap());
    std::fs::write(dir.path().join("srv/tools.sls"), sls).unwrap();
    let ret = minion.call("state.apply", &["tools"]).ret;
    for (id, state, why) in [
        (
            "before",
            "cron.env_present",
            "'cron' __virtual__ returned False: cron module could not be loaded",
        ),
        (
            "debconf",
            "debconf.set",
            "'debconf' __virtual__ returned False: debconf module could not be loaded",
        ),
        (
            "volume",
            "lvm.vg_present",
            "'lvm' __virtual__ returned False: lvm command not found",
        ),
        (
            "rule",
            "iptables.append",
            "'iptables' __virtual__ returned False: iptables module could not be loaded",
        ),
    ] {
        let expected = format!("State '{state}' was not found in SLS 'tools'\nReason: {why}\n");
        assert_eq!(comment(&ret, id), expected);
    }
    let after = comment(&ret, "after");
    assert!(!after.contains("was not found"), "{after}");
}

#[test]
fn functions_without_their_program_are_not_available_and_not_listed() {
    let dir = tempfile::tempdir().unwrap();
    let minion = minion(dir.path());
    let outcome = minion.call("cron.ls", &["root"]);
    let text = "'cron' __virtual__ returned False: crontab command not found";
    assert_eq!((outcome.ret, outcome.retcode), (text.into(), 1));
    for list in ["sys.list_modules", "sys.list_state_modules"] {
        let listed = minion.call(list, &[]).ret;
        let has = |name: &str| listed.as_list().unwrap().contains(&name.into());
        assert!(has("file") || has("cmd"), "{list}");
        assert!(
            !has("cron") && !has("iptables") && !has("selinux"),
            "{list}"
        );
    }
    std::os::unix::fs::symlink("/bin/true", dir.path().join("bin/crontab")).unwrap();
    let listed = minion.call("sys.list_modules", &[]).ret;
    assert!(listed.as_list().unwrap().contains(&"cron".into()));
}

/// A minion of [`minion`] for which users have these files of Python.
fn with_files(root: &Path, files: &[(&str, &str)]) -> LocalMinion {
    let (bin, own) = (root.join("bin"), root.join("own"));
    std::fs::create_dir(&bin).unwrap();
    let dirs: Vec<Value> = ["modules", "states"]
        .iter()
        .map(|kind| own.join(kind).to_str().unwrap().into())
        .collect();
    for (name, text) in files {
        let path = own.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let opts = Map::from([
        ("__host_path__", Value::from(bin.to_str().unwrap())),
        ("module_dirs", vec![dirs[0].clone()].into()),
        ("states_dirs", vec![dirs[1].clone()].into()),
        ("python_fallback", false.into()),
    ]);
    LocalMinion::laid_out_with(root, ("os_family", "Debian"), opts)
}

#[test]
fn a_state_without_its_program_is_not_in_states_of_python() {
    if !halite_test_support::have_programs(&["python3"]) {
        return;
    }
    let text = "def has(name): return name in __states__\ndef run(name): return __states__[name]('x', value='y')\n";
    let dir = tempfile::tempdir().unwrap();
    let minion = with_files(dir.path(), &[("modules/mine.py", text)]);
    let has = |name| minion.call("mine.has", &[name]).ret;
    assert_eq!(has("file.managed"), true.into());
    assert_eq!(has("cron.env_present"), false.into());
    let ran = minion.call("mine.run", &["cron.env_present"]).ret;
    let ran = ran.as_str().unwrap();
    assert!(
        ran.contains("KeyError") && ran.contains("cron.env_present"),
        "{ran}"
    );
    std::os::unix::fs::symlink("/bin/true", dir.path().join("bin/crontab")).unwrap();
    assert_eq!(has("cron.env_present"), true.into());
}

#[test]
fn a_module_that_users_bring_replaces_the_program_for_the_states() {
    if !halite_test_support::have_programs(&["python3"]) {
        return;
    }
    let text = "def list_tab(user): return {}\n";
    let files = [("modules/cron.py", text), ("modules/lvm.py", text)];
    let dir = tempfile::tempdir().unwrap();
    let minion = with_files(dir.path(), &files);
    let sls = SLS.replace("BIN", "/nowhere");
    std::fs::write(dir.path().join("srv/tools.sls"), sls).unwrap();
    let ret = minion.call("state.apply", &["tools"]).ret;
    let before = comment(&ret, "before");
    assert!(!before.contains("was not found"), "{before}");
    // These look for the program itself.
    let volume = comment(&ret, "volume");
    assert!(volume.contains("Reason: 'lvm' __virtual__"), "{volume}");
    let listed = minion.call("sys.list_state_modules", &[]).ret;
    let has = |name: &str| listed.as_list().unwrap().contains(&name.into());
    assert!(has("cron") && !has("lvm"));
}
