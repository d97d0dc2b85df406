//! apt and dpkg themselves, in a root of their own: a repository of files, small
//! packages, no network. Needs apt, and root, who must own the packages.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use halite_call::{Module, Registry};
use halite_fake_minion::FakeMinion;
use halite_proto::{Map, Value};
use halite_recorded::carry_out;
use serde_json::{Value as Json, json};

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES, halite_packages::MODULES];
static STATES: &[&[Module]] = &[halite_packages::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

/// A system of its own, with nothing installed.
struct System {
    dir: tempfile::TempDir,
    minion: FakeMinion,
}

fn run(program: &str, args: &[&str]) -> String {
    let ran = Command::new(program).args(args).output().unwrap();
    assert!(ran.status.success(), "{program} {args:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

impl System {
    /// `None`, which is reported, where apt cannot be tried.
    fn new() -> Option<Self> {
        let tools = [
            "apt-get",
            "apt-cache",
            "apt-mark",
            "dpkg",
            "dpkg-deb",
            "dpkg-query",
        ];
        if !halite_test_support::have_programs(&tools) || !halite_test_support::have_root() {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        // apt reads as a user of its own where it can.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let top = dir.path().display().to_string();
        let root = format!("{top}/root");
        for place in [
            "var/lib/dpkg/updates",
            "var/lib/dpkg/info",
            "var/lib/dpkg/triggers",
            "var/lib/apt/lists/partial",
            "var/cache/apt/archives/partial",
            "var/log/apt",
            "etc/apt/sources.list.d",
            "etc/apt/preferences.d",
            "etc/apt/apt.conf.d",
            "etc/apt/trusted.gpg.d",
        ] {
            fs::create_dir_all(format!("{root}/{place}")).unwrap();
        }
        for place in ["var/lib/dpkg/status", "var/lib/dpkg/available"] {
            fs::write(format!("{root}/{place}"), "").unwrap();
        }
        for place in ["bin", "repo", "cache"] {
            fs::create_dir_all(format!("{top}/{place}")).unwrap();
        }
        let arch = run("dpkg", &["--print-architecture"]);
        let config = format!(
            "Dir \"{root}\";\nDir::State::status \"{root}/var/lib/dpkg/status\";\n\
             Dir::Bin::dpkg \"/usr/bin/dpkg\";\nDir::Log \"{root}/var/log/apt\";\n\
             DPkg::Options {{ \"--root={root}\"; \"--force-not-root\"; \"--force-bad-path\"; }};\n\
             APT::Sandbox::User \"\";\nAPT::Architecture \"{arch}\";\nDebug::NoLocking \"1\";\n"
        );
        fs::write(format!("{top}/apt.conf"), config).unwrap();
        let wrap = |name: &str, option: &str| {
            let path = format!("{top}/bin/{name}");
            let text = format!(
                "#!/bin/sh\nexport APT_CONFIG='{top}/apt.conf'\nexec /usr/bin/{name} {option} \"$@\"\n"
            );
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        for name in ["apt-get", "apt-cache", "apt-mark"] {
            wrap(name, "");
        }
        wrap("dpkg", &format!("--root='{root}'"));
        wrap("dpkg-query", &format!("--admindir='{root}/var/lib/dpkg'"));
        let text = |text: String| Value::from(text);
        let minion = FakeMinion::new()
            .with_opts(Map::from([
                ("id", Value::from("m1")),
                ("file_client", "local".into()),
                ("hash_type", "sha256".into()),
                ("cachedir", text(format!("{top}/cache"))),
                ("config_dir", text(top.clone())),
                ("conf_file", text(format!("{top}/minion"))),
                ("__host_root__", text(root)),
                ("__host_path__", text(format!("{top}/bin:/usr/bin:/bin"))),
                ("cmd_safe", true.into()),
            ]))
            .with_grains(Map::from([
                ("os", Value::from("Debian")),
                ("os_family", "Debian".into()),
                ("osarch", arch.as_str().into()),
                ("cpuarch", "x86_64".into()),
                ("osrelease", "12".into()),
                ("oscodename", "bookworm".into()),
                ("kernel", "Linux".into()),
            ]))
            .with_registry(&REGISTRY);
        Some(Self { dir, minion })
    }

    fn top(&self) -> String {
        self.dir.path().display().to_string()
    }

    /// Puts a package into the repository.
    fn publish(&self, name: &str, version: &str, depends: &str) {
        let top = self.top();
        let build = format!("{top}/build");
        let _ = fs::remove_dir_all(&build);
        for place in ["DEBIAN", "etc", "opt"] {
            fs::create_dir_all(format!("{build}/{place}")).unwrap();
        }
        let depends = if depends.is_empty() {
            String::new()
        } else {
            format!("Depends: {depends}\n")
        };
        let control = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: A <a@example.org>\n{depends}Description: a small package\n"
        );
        fs::write(format!("{build}/DEBIAN/control"), control).unwrap();
        fs::write(
            format!("{build}/DEBIAN/conffiles"),
            format!("/etc/{name}.conf\n"),
        )
        .unwrap();
        fs::write(format!("{build}/etc/{name}.conf"), "a=1\n").unwrap();
        fs::write(format!("{build}/opt/{name}"), version).unwrap();
        let file = format!("{top}/repo/{name}_{version}_all.deb");
        run("dpkg-deb", &["-b", "--root-owner-group", &build, &file]);
        let mut index = String::new();
        let mut files: Vec<_> = fs::read_dir(format!("{top}/repo"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "deb"))
            .collect();
        files.sort();
        for path in files {
            let shown = path.to_str().unwrap();
            let sum = run("sha256sum", &[shown]);
            index += &format!(
                "{}\nFilename: ./{}\nSize: {}\nSHA256: {}\n\n",
                run("dpkg-deb", &["-f", shown]),
                path.file_name().unwrap().to_str().unwrap(),
                path.metadata().unwrap().len(),
                sum.split(' ').next().unwrap(),
            );
        }
        fs::write(format!("{top}/repo/Packages"), index).unwrap();
    }

    fn call(&self, fun: &str, args: Json) -> Json {
        carry_out(&self.minion, &json!({"fun": fun, "args": args}))
    }

    fn state(&self, fun: &str, args: Json) -> Json {
        carry_out(&self.minion, &json!({"state": fun, "args": args}))
    }

    fn tried(&self, fun: &str, args: Json) -> Json {
        let call = json!({"state": fun, "args": args, "test": true});
        carry_out(&self.minion, &call)
    }

    fn has(&self, path: &str) -> bool {
        self.dir.path().join("root").join(path).exists()
    }
}

#[track_caller]
fn check(ret: &Json, result: Json, changes: Json, comment: &str) {
    assert_eq!(ret["result"], result, "{ret}");
    assert_eq!(ret["changes"], changes, "{ret}");
    let said = ret["comment"].as_str().unwrap();
    assert!(said.contains(comment), "{said:?} is not {comment:?}");
}

fn new(version: &str) -> Json {
    json!({"old": "", "new": version})
}

#[test]
fn packages_come_and_go_and_stay_where_they_are_held() {
    let Some(system) = System::new() else {
        return;
    };
    system.publish("pear", "1.0-1", "");
    system.publish("plum", "1.0-1", "pear");
    let line = format!("deb [trusted=yes] file:{}/repo ./", system.top());
    let repo = json!({"name": line, "file": "/etc/apt/sources.list.d/fruit.list"});

    let ret = system.tried("pkgrepo.managed", repo.clone());
    assert_eq!(ret["result"], Json::Null, "{ret}");
    assert!(!system.has("etc/apt/sources.list.d/fruit.list"));
    let ret = system.state("pkgrepo.managed", repo.clone());
    assert_eq!(ret["result"], json!(true), "{ret}");
    let written = system
        .dir
        .path()
        .join("root/etc/apt/sources.list.d/fruit.list");
    assert_eq!(fs::read_to_string(written).unwrap().trim(), line);
    check(
        &system.state("pkgrepo.managed", repo.clone()),
        json!(true),
        json!({}),
        // As with Salt, where the line holds options.
        "Configured package repo",
    );

    assert_eq!(system.call("pkg.list_pkgs", json!([])), json!({}));
    assert_eq!(
        system.call("pkg.latest_version", json!(["pear"])),
        json!("1.0-1")
    );
    let plum = json!({"name": "plum"});
    check(
        &system.tried("pkg.installed", plum.clone()),
        Json::Null,
        json!({"plum": new("1.0-1")}),
        "would be installed/updated: plum",
    );
    assert!(!system.has("opt/plum"));
    check(
        &system.state("pkg.installed", plum.clone()),
        json!(true),
        json!({"pear": new("1.0-1"), "plum": new("1.0-1")}),
        "were installed/updated: plum",
    );
    assert!(system.has("opt/plum") && system.has("opt/pear"));
    check(
        &system.state("pkg.installed", plum.clone()),
        json!(true),
        json!({}),
        "already installed",
    );
    check(
        &system.state("pkg.installed", json!({"name": "nope"})),
        json!(false),
        json!({}),
        "Unable to locate package nope",
    );
    assert_eq!(
        system.call("pkg.owner", json!(["/opt/pear"])),
        json!("pear")
    );
    let files = system.call("lowpkg.file_list", json!(["pear"]));
    assert!(
        files["files"].to_string().contains("/etc/pear.conf"),
        "{files}"
    );
    let known = system.call("lowpkg.list_pkgs", json!(["pear"]));
    assert_eq!(known["pear"], json!("1.0-1"), "{known}");

    let held = system.state("pkg.installed", json!({"name": "pear", "hold": true}));
    check(
        &held,
        json!(true),
        json!({"pear": {"new": "hold", "old": "install"}}),
        "now being held",
    );
    assert_eq!(system.call("pkg.list_holds", json!([])), json!(["pear"]));
    system.publish("pear", "2.0-1", "");
    // What has changed shows in the upgrades below.
    system.call("pkg.refresh_db", json!([]));
    assert_eq!(system.call("pkg.list_upgrades", json!([])), json!({}));
    let freed = system.call("pkg.unhold", json!(["pear"]));
    assert_eq!(freed["pear"]["result"], json!(true), "{freed}");
    assert_eq!(
        system.call("pkg.list_upgrades", json!([])),
        json!({"pear": "2.0-1"})
    );
    check(
        &system.state(
            "pkg.installed",
            json!({"name": "x", "pkgs": [{"pear": "2.0-1"}]}),
        ),
        json!(true),
        json!({"pear": {"old": "1.0-1", "new": "2.0-1"}}),
        "pear=2.0-1",
    );

    check(
        &system.state("pkg.removed", plum.clone()),
        json!(true),
        json!({"plum": {"old": "1.0-1", "new": ""}}),
        "All targeted packages were removed",
    );
    assert!(!system.has("opt/plum") && system.has("etc/plum.conf"));
    let ret = system.state("pkg.purged", plum);
    assert_eq!(ret["result"], json!(true), "{ret}");
    assert!(!system.has("etc/plum.conf"));

    let file = format!("{}/repo/plum_1.0-1_all.deb", system.top());
    // Files are looked for below the root.
    let below = system
        .dir
        .path()
        .join("root")
        .join(file.trim_start_matches('/'));
    fs::create_dir_all(below.parent().unwrap()).unwrap();
    fs::copy(&file, below).unwrap();
    let sources = json!({"name": "x", "sources": [{"plum": file}]});
    check(
        &system.state("pkg.installed", sources),
        json!(true),
        json!({"plum": new("1.0-1")}),
        "plum",
    );

    let ret = system.state("pkgrepo.absent", json!({"name": line}));
    assert_eq!(ret["result"], json!(true), "{ret}");
    assert!(!system.has("etc/apt/sources.list.d/fruit.list"));
}
