//! How files, defaults and the command line are merged.

use std::path::{Path, PathBuf};

use halite_config::{BehindError, LoadOptions, load_client, load_master, load_minion};
use halite_proto::{Map, Value};

use crate::{Dir, yaml};

/// What real Salt 3008.5 made of the same files.
#[test]
fn files_are_laid_over_each_other_as_in_salt() {
    let dir = Dir::new();
    dir.file(
        "minion",
        "id: x\ninclude: more/*.conf\ngrains: {main: 1, x: {a: 1}}\nmine_functions: {m: 1}\n",
    )
    .file(
        "minion.d/a.conf",
        "grains: {a: 1, x: {b: 1}, l: [1, 2]}\nschedule: {j1: {function: test.ping}}\n\
         include: ../more/nested.inc\nsls_list: [one]\n",
    )
    .file(
        "minion.d/b.conf",
        "grains: {b: 2, l: [2, 3]}\nsls_list: [one, two]\n\
         schedule: {j2: {function: test.ping}}\nping_interval: 5\n",
    )
    .file("minion.d/_hidden.conf.bak", "ping_interval: 1\n")
    .file("minion.d/.hidden.conf", "ping_interval: 1\n")
    .file("more/nested.inc", "grains: {nested: 1}\nping_interval: 7\n")
    .file("more/z.conf", "ping_interval: 9\n");
    let loaded = dir.minion();
    let opts = loaded.config.opts();
    for (name, expected) in [
        ("grains", "{nested: 1, b: 2, l: [2, 3]}"),
        ("sls_list", "[one, two]"),
        (
            "schedule",
            "{j1: {function: test.ping}, j2: {function: test.ping}}",
        ),
        ("ping_interval", "9"),
        ("mine_functions", "{m: 1}"),
        ("master", "salt"),
        ("file_buffer_size", "262144"),
    ] {
        assert_eq!(opts.get(name), Some(&yaml(expected)), "{name}");
    }
    assert_eq!(loaded.config.ping_interval, 9);
    let names: Vec<_> = loaded
        .files()
        .iter()
        .map(|file| dir.anonymous(&file.display().to_string()))
        .collect();
    assert_eq!(
        names,
        [
            "DIR/minion",
            "DIR/minion.d/a.conf",
            "DIR/minion.d/../more/nested.inc",
            "DIR/minion.d/b.conf",
            "DIR/more/z.conf",
        ]
    );
}

#[test]
fn lists_and_maps_of_included_files_add_up() {
    let dir = Dir::new();
    dir.file("master", "peer: {main: [test.ping]}\n")
        .file(
            "master.d/1.conf",
            "file_roots: {base: [/a]}\npeer: {'web*': [test.ping]}\n",
        )
        .file(
            "master.d/2.conf",
            "file_roots: {base: [/a, /b], dev: [/d]}\n",
        );
    let config = dir.master().config;
    let base: Vec<&Path> = config.file_roots["base"]
        .iter()
        .map(PathBuf::as_path)
        .collect();
    assert_eq!(base, [Path::new("/a"), Path::new("/b")]);
    assert!(config.file_roots.contains_key("dev"));
    assert_eq!(
        config.opts().get("peer"),
        Some(&yaml("{'web*': [test.ping]}"))
    );
}

#[test]
fn environments_keep_their_order_and_wildcards_mean_what_is_there() {
    let dir = Dir::new();
    dir.file("formulas/b/x", "").file("formulas/a/x", "").file(
        "master",
        "file_roots: {zeta: /z, base: [/a], alpha: [/b]}\n",
    );
    let roots = dir.path("formulas/*");
    dir.file(
        "master.d/1.conf",
        &format!("pillar_roots: {{base: ['{}', /p]}}\n", roots.display()),
    );
    let config = dir.master().config;
    let shown = config.opts().get("file_roots").cloned().unwrap_or_default();
    let envs: Vec<_> = shown.as_map().unwrap().keys().cloned().collect();
    assert_eq!(envs, ["zeta".into(), "base".into(), "alpha".into()]);
    assert_eq!(shown.get("zeta"), Some(&yaml("[/z]")));
    let formulas = dir.path("formulas");
    let wanted = [formulas.join("a"), formulas.join("b"), "/p".into()];
    assert_eq!(config.pillar_roots["base"], wanted);
}

#[test]
fn paths_are_below_root_dir() {
    let dir = Dir::new();
    dir.file(
        "master",
        "sock_dir: rel/sock\ncachedir: /x\nautosign_file: /a\n",
    );
    let config = dir.master().config;
    let opts = config.opts();
    for (name, expected) in [
        ("sock_dir", "rel/sock"),
        ("cachedir", "x"),
        ("autosign_file", "a"),
        ("token_dir", "x/tokens"),
        ("syndic_dir", "x/syndics"),
        ("sqlite_queue_dir", "var/cache/salt/master/queues"),
        ("log_file", "var/log/salt/master"),
        ("key_logfile", "var/log/salt/key"),
        ("extension_modules", "var/cache/salt/master/extmods"),
        ("pidfile", "var/run/salt-master.pid"),
        ("pki_dir", "etc/salt/pki/master"),
    ] {
        let expected = dir.path("root").join(expected).display().to_string();
        assert_eq!(
            opts.get(name).and_then(Value::as_str),
            Some(expected.as_str()),
            "{name}"
        );
    }
    assert_eq!(config.sock_dir, dir.path("root/rel/sock"));
    assert_eq!(opts.get("__role"), Some(&Value::from("master")));
}

#[test]
fn defaults_differ_between_master_and_minion() {
    let dir = Dir::new();
    dir.file("master", "").file("minion", "id: x");
    let (master, minion) = (dir.master().config, dir.minion().config);
    assert_eq!(
        (master.file_buffer_size, minion.file_buffer_size),
        (1_048_576, 262_144)
    );
    assert!(master.sign_pub_messages && !minion.sign_pub_messages);
    let of = |opts: &Map| opts.get("file_client").cloned();
    assert_eq!(of(master.opts()), Some(Value::from("local")));
    assert_eq!(of(minion.opts()), Some(Value::from("remote")));
}

#[test]
fn clients_ask_this_machine_where_the_master_listens_everywhere() {
    for (interface, expected) in [
        ("0.0.0.0", "127.0.0.1"),
        ("'::'", "::1"),
        ("192.0.2.1", "192.0.2.1"),
    ] {
        let dir = Dir::new();
        dir.file("master", &format!("interface: {interface}\nid: m\n"));
        let config = load_client(&dir.options()).unwrap().config;
        assert_eq!(config.interface, expected);
    }
}

#[test]
fn what_a_master_has_of_modules_is_read() {
    let home = Dir::new();
    home.file(
        "master",
        concat!(
            "event_return: rawfile_json\n",
            "event_return_whitelist: salt/job/*\n",
            "rawfile_json: {filename: /x}\n",
            "auth.ldap.server: ldap.example\n",
            "external_auth: {ldap: {ali: [.*]}}\n",
            "master_tops: {ext_nodes: /bin/enc}\n",
            "sqlite_queue_dir: /var/queues\n",
        ),
    );
    let loaded = home.master();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert_eq!(loaded.config.event_return.0, ["rawfile_json"]);
    assert_eq!(loaded.config.event_return_whitelist.0, ["salt/job/*"]);
    assert_eq!(loaded.config.master_tops.0.len(), 1);
    assert!(loaded.config.sqlite_queue_dir.ends_with("var/queues"));
}

#[test]
fn values_are_read_with_the_meaning_of_yaml_1_1() {
    let dir = Dir::new();
    dir.file(
        "master",
        "auto_accept: yes\nopen_mode: off\nret_port: '14506'\npublish_port: 1_4505\nid: 0644\n",
    );
    let config = dir.master().config;
    assert!(config.auto_accept && !config.open_mode);
    assert_eq!((config.ret_port.0, config.publish_port.0), (14_506, 14_505));
    assert_eq!(config.id.as_deref(), Some("644"));
}

#[test]
fn a_minion_keeps_the_name_it_has_found() {
    let dir = Dir::new();
    dir.file("minion", "append_domain: example.com\n")
        .file("root/etc/salt/minion_id", "web7\n");
    assert_eq!(dir.minion().config.id.as_deref(), Some("web7.example.com"));
    dir.file("master", "");
    assert_eq!(dir.master().config.id.as_deref(), Some("web7_master"));
}

#[test]
fn only_a_start_writes_the_found_name_down() {
    let dir = Dir::new();
    dir.file("minion", "master: m1\n");
    let kept = dir.path("root/etc/salt/minion_id");
    let found = dir.minion().config.id;
    assert!(found.is_some() && !kept.exists());
    let options = LoadOptions {
        keep_id: true,
        ..dir.options()
    };
    load_minion(&options).unwrap();
    assert_eq!(std::fs::read_to_string(kept).ok(), found);
}

#[test]
fn the_command_line_wins() {
    let dir = Dir::new();
    dir.file("minion", "id: x\nlog_level: debug\n");
    let mut options = dir.options();
    options
        .overrides
        .push(("log_level".to_owned(), Value::from("quiet")));
    let config = load_minion(&options).unwrap().config;
    assert_eq!(config.log_level.0, "quiet");
    options
        .overrides
        .push(("log_level".to_owned(), Value::from("loud")));
    let error = load_minion(&options).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("log_level cannot be \"loud\"; it is all, garbage")
    );
}

#[test]
fn a_path_of_the_command_line_is_not_put_below_root_dir() {
    let dir = Dir::new();
    dir.file(
        "master",
        "root_dir: /elsewhere\npidfile: /a\nlog_file: /b\n",
    );
    let mut options = dir.options();
    for (name, path) in [("pidfile", "/run/x.pid"), ("log_file", "/tmp/x.log")] {
        options.overrides.push((name.to_owned(), Value::from(path)));
    }
    let config = load_master(&options).unwrap().config;
    assert_eq!(config.pidfile, Path::new("/run/x.pid"));
    assert_eq!(config.log_file, Path::new("/tmp/x.log"));
    assert_eq!(
        config.opts().get("log_file").and_then(Value::as_str),
        Some("/tmp/x.log")
    );
}

#[test]
fn the_directory_of_the_configuration_may_be_relative() {
    let options = LoadOptions {
        config_dir: Some("tests".into()),
        ..LoadOptions::default()
    };
    let config = load_master(&options).unwrap().config;
    let expected = std::env::current_dir().unwrap().join("tests");
    assert_eq!(
        config.opts().get("config_dir").and_then(Value::as_str),
        expected.to_str()
    );
}

#[test]
fn what_is_behind_addresses_takes_their_place() {
    fn read(opts: &Map, address: &str) -> Result<Value, BehindError> {
        assert_eq!(opts.get("profile"), Some(&Value::from("p")));
        match address {
            "sdb://profile/port" => Ok("4711".into()),
            "sdb://profile/list" => Ok(Value::List(vec!["a".into()])),
            "sdb://profile/secret" => Ok("s3cret".into()),
            "sdb://profile/late" => Err(BehindError::Late(15)),
            "sdb://nobody/x" => Ok(address.into()),
            _ => Err(BehindError::Failed),
        }
    }
    let dir = Dir::new();
    dir.file(
        "master",
        "profile: p\nret_port: sdb://profile/port\nkeysize: sdb://profile/gone\n\
         key_pass: sdb://profile/secret\nopen_mode: sdb://nobody/x\n\
         mine: {deep: [sdb://profile/secret, 1]}\ngrains: {a: sdb://profile/secret}\n",
    );
    let options = LoadOptions {
        behind: Some(read),
        ..dir.options()
    };
    let loaded = load_master(&options).unwrap();
    let config = &loaded.config;
    assert_eq!((config.ret_port.0, config.keysize), (4711, 2048));
    assert_eq!(config.key_pass.as_deref(), Some("s3cret"));
    assert!(!config.open_mode);
    let deep = config.opts().get("mine").and_then(|mine| mine.get("deep"));
    assert_eq!(deep, Some(&Value::List(vec!["s3cret".into(), 1.into()])));
    let grain = config
        .opts()
        .get("grains")
        .and_then(|grains| grains.get("a"));
    assert_eq!(grain, Some(&"sdb://profile/secret".into()));
    let report = dir.anonymous(&loaded.check_report());
    assert!(
        report.contains("DIR/master:3:10: sdb://profile/gone cannot be read; the driver")
            && report.contains("DIR/master:5:12: sdb://nobody/x names no profile"),
        "{report}"
    );
    // Programs that ask nobody take their defaults.
    let config = load_master(&dir.options()).unwrap().config;
    assert_eq!((config.ret_port.0, config.keysize), (4506, 2048));
    dir.file("master", "profile: p\nret_port: sdb://profile/late\n");
    let error = load_master(&options).unwrap_err().render();
    assert_eq!(
        error,
        "what is behind sdb://profile/late has not been told within 15 s; the driver of its \
         profile hangs"
    );
}

#[test]
fn options_of_the_caller_win_over_the_masters() {
    let dir = Dir::new();
    dir.file("master", "timeout: 7\noutput: yaml\n")
        .file("rc", "output: json\n");
    let options = LoadOptions {
        own_file: Some(dir.path("rc")),
        ..dir.options()
    };
    let config = load_client(&options).unwrap().config;
    assert_eq!(config.output.as_deref(), Some("json"));
    assert_eq!(config.timeout.0.to_string(), "7");
    let none = LoadOptions {
        own_file: Some(dir.path("none")),
        ..dir.options()
    };
    let config = load_client(&none).unwrap().config;
    assert_eq!(config.output.as_deref(), Some("yaml"));
}

#[test]
fn the_older_name_of_the_port_for_peers_counts_where_the_newer_is_missing() {
    for (text, port) in [
        ("cluster_port: 4601\n", 4601),
        ("cluster_port: 4601\ncluster_pool_port: 4602\n", 4602),
        ("", 4520),
    ] {
        let dir = Dir::new();
        dir.file("master", &format!("cluster_id: c\n{text}"));
        let config = dir.master().config;
        assert_eq!(config.cluster_pool_port.0, port, "{text}");
        let shown = config.opts().get("cluster_pool_port");
        assert_eq!(shown, Some(&yaml(&port.to_string())), "{text}");
    }
    // A port that is taken is named as it was written.
    let dir = Dir::new();
    dir.file("master", "cluster_id: c\ncluster_port: 4505\n");
    let error = load_master(&dir.options()).unwrap_err();
    let line = dir.anonymous(&error.to_string());
    assert!(
        line.starts_with("DIR/master:2:15: cluster_port cannot be"),
        "{line}"
    );
}
