//! One call writes one line: a field with a line break never becomes a further line
//! of one of root's files, whichever function writes it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use halite_fake_minion::FakeMinion;
use halite_proto::Map;

const KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIJ0bl0m0FvS0kFVYqWv0Xo7yZ1B6oGxkqkq7dR7sP2Qv";

/// What would be a line of its own.
const OWN_LINE: &str = "evil";

/// A function or a state, its arguments, and the file that it writes.
type Writer = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

const WRITERS: &[Writer] = &[
    (
        "cron.set_job",
        &[
            ("user", "root"),
            ("minute", "1"),
            ("hour", "2"),
            ("daymonth", "3"),
            ("month", "4"),
            ("dayweek", "5"),
            ("cmd", "plain"),
            ("comment", "note"),
            ("identifier", "one"),
        ],
        "tab",
    ),
    (
        "cron.set_special",
        &[
            ("user", "root"),
            ("special", "@daily"),
            ("cmd", "plain"),
            ("identifier", "one"),
        ],
        "tab",
    ),
    (
        "cron.set_env",
        &[("user", "root"), ("name", "A"), ("value", "plain")],
        "tab",
    ),
    (
        "cron:present",
        &[
            ("name", "plain"),
            ("minute", "1"),
            ("identifier", "one"),
            ("comment", "note"),
        ],
        "tab",
    ),
    (
        "cron:present",
        &[("name", "plain"), ("special", "@daily")],
        "tab",
    ),
    (
        "cron:env_present",
        &[("name", "A"), ("value", "plain")],
        "tab",
    ),
    (
        "ssh.set_auth_key",
        &[
            ("user", "root"),
            ("key", KEY),
            ("enc", "ssh-ed25519"),
            ("comment", "plain"),
            ("options", "no-pty"),
        ],
        "root/.ssh/authorized_keys",
    ),
    (
        "ssh_auth:present",
        &[
            ("name", KEY),
            ("user", "root"),
            ("enc", "ed25519"),
            ("comment", "plain"),
        ],
        "root/.ssh/authorized_keys",
    ),
    (
        "ssh.set_known_host",
        &[
            ("user", "root"),
            ("hostname", "plain"),
            ("key", KEY),
            ("enc", "ssh-ed25519"),
            ("hash_known_hosts", ""),
        ],
        "root/.ssh/known_hosts",
    ),
    (
        "hosts.add_host",
        &[("ip", "10.0.0.1"), ("alias", "plain")],
        "etc/hosts",
    ),
    (
        "hosts.set_host",
        &[("ip", "10.0.0.1"), ("alias", "plain"), ("comment", "note")],
        "etc/hosts",
    ),
    (
        "hosts.set_comment",
        &[("ip", "127.0.0.1"), ("comment", "plain")],
        "etc/hosts",
    ),
    (
        "host:present",
        &[("name", "plain"), ("ip", "10.0.0.1"), ("comment", "note")],
        "etc/hosts",
    ),
    (
        "host:only",
        &[("name", "10.0.0.1"), ("hostnames", "plain")],
        "etc/hosts",
    ),
    (
        "dnsutil.hosts_append",
        &[
            ("hostsfile", "/etc/hosts"),
            ("ip_addr", "10.0.0.1"),
            ("entries", "plain"),
        ],
        "etc/hosts",
    ),
    (
        "aliases.set_target",
        &[("alias", "ops"), ("target", "plain")],
        "etc/aliases",
    ),
    (
        "shadow.set_password",
        &[("name", "root"), ("password", "plain")],
        "etc/shadow",
    ),
    (
        "mount.set_fstab",
        &[
            ("name", "/mnt"),
            ("device", "plain"),
            ("fstype", "ext4"),
            ("opts", "ro"),
            ("dump", "0"),
            ("pass_num", "0"),
            ("config", "/etc/fstab"),
        ],
        "etc/fstab",
    ),
    (
        "nfs3.add_export",
        &[
            ("path", "/srv"),
            ("hosts", "plain"),
            ("options", "rw"),
            ("exports", "/etc/exports"),
        ],
        "etc/exports",
    ),
    (
        "sysctl.persist",
        &[("name", "a.b"), ("value", "plain")],
        "etc/sysctl.conf",
    ),
];

/// A machine with files of lines.
fn machine(root: &Path) -> FakeMinion {
    for dir in ["etc", "root", "bin"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    for (name, text) in [
        ("etc/passwd", "root:x:0:0::/root:/bin/sh\n"),
        ("etc/group", "root:x:0:\n"),
        ("etc/shadow", "root:*:20000:0:99999:7:::\n"),
        ("etc/hosts", "127.0.0.1 localhost\n"),
        ("etc/aliases", ""),
        ("etc/fstab", ""),
        ("etc/exports", ""),
        ("tab", ""),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    let tab = root.join("tab").display().to_string();
    let crontab = format!(
        "#!/bin/sh\n[ \"$1\" = -u ] && shift 2\n\
         if [ \"$1\" = -l ]; then cat {tab}; else cat \"$1\" > {tab}; fi\n"
    );
    let sysctl = "#!/bin/sh\necho \"$2\" | sed 's/=/ = /'\n".to_owned();
    for (name, text) in [
        ("crontab", crontab),
        ("ssh-keygen", "#!/bin/sh\n".to_owned()),
        ("sysctl", sysctl),
    ] {
        let program = root.join("bin").join(name);
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
    FakeMinion::new()
        .with_registry(halite_state_run::registry())
        .with_opt("__host_root__", root.to_str().unwrap())
        .with_opt("__host_path__", path)
}

/// Calls it on a machine of its own; what was returned, and the file.
fn written(fun: &str, args: &Map, file: &str) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let minion = machine(dir.path());
    let said = match fun.split_once(':') {
        Some((state, name)) => {
            format!(
                "{:?}",
                minion.run_state(&format!("{state}.{name}"), args, false)
            )
        }
        None => {
            let mut args = args.clone();
            args.insert("__kwarg__", true);
            format!("{:?}", minion.run(fun, &[args.into()]).ret)
        }
    };
    let bytes = fs::read(dir.path().join(file)).unwrap_or_default();
    (said, String::from_utf8(bytes).unwrap())
}

#[test]
fn no_field_becomes_a_line_of_its_own() {
    for (fun, fields, file) in WRITERS {
        let args: Map = fields.iter().map(|(name, value)| (*name, *value)).collect();
        let (said, text) = written(fun, &args, file);
        assert!(text.contains("plain"), "{fun} writes nothing: {said}");
        for (name, value) in *fields {
            for end in ['\n', '\r', '\0'] {
                let mut args = args.clone();
                args.insert(*name, format!("{value}{end}{OWN_LINE} line"));
                let (said, text) = written(fun, &args, file);
                let mut lines = text.split(['\n', '\r', '\0']);
                let own = lines.any(|line| line.starts_with(OWN_LINE));
                assert!(!own, "{fun} {name} {end:?}: {said}\n{text}");
            }
        }
    }
}
