//! Whole configurations: how files are laid over each other, what becomes of
//! paths, and what people are told.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use halite_config::{BehindError, ConfigError, LoadOptions, Loaded, MasterConfig, MinionConfig};
use halite_config::{load_client, load_master, load_minion};
use halite_proto::{Map, Value};

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn options(&self) -> LoadOptions {
        let root = self.path("root").display().to_string();
        LoadOptions {
            config_dir: Some(self.0.path().to_owned()),
            overrides: vec![("root_dir".to_owned(), Value::from(root))],
            ..LoadOptions::default()
        }
    }

    fn minion(&self) -> Loaded<MinionConfig> {
        load_minion(&self.options()).unwrap_or_else(|error| panic!("{}", error.render()))
    }

    fn master(&self) -> Loaded<MasterConfig> {
        load_master(&self.options()).unwrap_or_else(|error| panic!("{}", error.render()))
    }

    /// A text in which this directory is called `DIR`.
    fn anonymous(&self, text: &str) -> String {
        text.replace(&self.0.path().display().to_string(), "DIR")
    }
}

fn yaml(text: &str) -> Value {
    halite_yaml::load(text, "expected").unwrap().into_value()
}

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
fn mistakes_have_their_place_and_say_what_is_allowed() {
    for (name, text, expected) in [
        (
            "minion",
            "id: x\nauth_timeout: soon\n",
            "DIR/minion:2:15: auth_timeout cannot be \"soon\"; it is a number of seconds\n  \
             auth_timeout: soon\n                ^",
        ),
        (
            "minion",
            "id: x\nmaster:\n  - m1\n  - m2:x\n",
            "DIR/minion:4:5: master cannot be \"m2:x\"; it is host, host:port or [v6]:port \
             (the port is not a number from 1 to 65535)\n    - m2:x\n      ^",
        ),
        (
            "minion",
            "id: a/b\n",
            "DIR/minion:1:5: id cannot be \"a/b\"; it is a name that can be a file's \
             (it contains a path separator)\n  id: a/b\n      ^",
        ),
        (
            "minion",
            "id: x\nencryption_algorithm: none\n",
            "DIR/minion:2:23: encryption_algorithm cannot be \"none\"; \
             it is OAEP-SHA1 or OAEP-SHA224\n  encryption_algorithm: none\n                        ^",
        ),
        (
            "master",
            "ret_port: 0\n",
            "DIR/master:1:11: ret_port cannot be \"0\"; it is a port (1 to 65535)\n  \
             ret_port: 0\n            ^",
        ),
        (
            "master",
            "publish_port: 4506\n",
            "DIR/master:1:15: publish_port cannot be \"4506\"; \
             it is another port than ret_port, 4506\n  publish_port: 4506\n                ^",
        ),
        (
            "master",
            "auto_accept: maybe\n",
            "DIR/master:1:14: auto_accept cannot be \"maybe\"; it is True or False\n  \
             auto_accept: maybe\n               ^",
        ),
        (
            "master",
            "hash_type: sha7\n",
            "DIR/master:1:12: hash_type cannot be \"sha7\"; \
             it is md5, sha1, sha224, sha256, sha384 or sha512\n  hash_type: sha7\n             ^",
        ),
        (
            "master",
            "interface: 127.0.0.1\n\tuser: root\n",
            "DIR/master:2:1: found a tab character that violates indentation \
             (while scanning a plain scalar from line 1)\n   user: root\n  ^",
        ),
        (
            "master",
            "timeout: 1\ntimeout: 2\n",
            "DIR/master:2:1: found conflicting ID 'timeout' \
             (while constructing a mapping from line 1)\n  timeout: 2\n  ^",
        ),
        (
            "master",
            "- a\n",
            "DIR/master:1:1: the file is a list, not a map of options\n  - a\n  ^",
        ),
    ] {
        let dir = Dir::new();
        dir.file(name, text);
        let error = match name {
            "master" => load_master(&dir.options()).map(drop).unwrap_err(),
            _ => load_minion(&dir.options()).map(drop).unwrap_err(),
        };
        assert_eq!(dir.anonymous(&error.render()), expected, "{text:?}");
    }
}

#[test]
fn what_a_master_does_not_have_is_refused_where_it_is_set() {
    for (text, expected) in [
        (
            "external_auth:\n  pam: {alice: [.*]}\n  ../x: {bob: [.*]}\n",
            "DIR/master:3:3: external_auth cannot be \"../x\"; it is a map from ways to log in",
        ),
        (
            "external_auth:\n  pam: [alice]\n",
            "DIR/master:2:3: external_auth cannot be \"pam\"",
        ),
        (
            "event_return: [rawfile_json, ../x]\n",
            "DIR/master:1:30: event_return cannot be \"../x\"",
        ),
        (
            "master_tops:\n  ext_nodes: /bin/enc\n  a/b: {}\n",
            "DIR/master:3:3: master_tops cannot be \"a/b\"",
        ),
        (
            "master_tops:\n  ext_nodes: ''\n",
            "DIR/master:2:3: master_tops cannot be \"ext_nodes\"",
        ),
        (
            "master_job_cache: redis\n",
            "DIR/master:1:19: master_job_cache cannot be \"redis\"; it is `local_cache`",
        ),
    ] {
        let home = Dir::new();
        home.file("master", text);
        let error = load_master(&home.options()).unwrap_err();
        let error = home.anonymous(&error.render());
        assert!(error.starts_with(expected), "{text}\n{error}");
    }
    let home = Dir::new();
    home.file(
        "master",
        "external_auth:\nevent_return: []\neauth_acl_module: ''\n",
    );
    assert!(home.master().config.external_auth.0.is_empty());
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
fn what_programs_set_for_themselves_is_not_for_files() {
    let dir = Dir::new();
    dir.file("minion", "id: x\nuser: root\n__host_path__: /tmp/bin\n");
    dir.file("minion.d/more.conf", "__role: master\n__cli: salt-call\n");
    let loaded = dir.minion();
    let report = dir.anonymous(&loaded.check_report());
    assert!(
        report.starts_with(
            "warning: DIR/minion:3:1: __host_path__ is left out: names with __ are not for files, \
             a program gives them to itself\n  __host_path__: /tmp/bin\n  ^\n\
             warning: DIR/minion.d/more.conf:1:1: __role is left out"
        ),
        "{report}"
    );
    let opts = loaded.config.opts();
    assert!(!opts.contains_key("__host_path__") && !opts.contains_key("__cli"));
}

#[test]
fn names_that_are_not_heeded_are_named() {
    let dir = Dir::new();
    dir.file(
        "minion",
        "id: x\nuser: root\nmysql.host: db\nauth_timeot: 3\nwinrepo_branch: main\n\
         company: us\ninclude: nothing/*.conf\nreturn: [syslog]\nsyslog: {tag: x}\n\
         state_aggregate: true\nfailhard: true\ngpg_keydir: /x\nmodule_dirs: [/y]\n",
    );
    let loaded = dir.minion();
    let report = dir.anonymous(&loaded.check_report());
    assert_eq!(
        report,
        "warning: DIR/minion:7:10: no file matches the include \"nothing/*.conf\"\n  \
         include: nothing/*.conf\n           ^\n\
         warning: DIR/minion:4:1: unknown option auth_timeot, did you mean auth_timeout?\n  \
         auth_timeot: 3\n  ^\n\
         warning: DIR/minion:5:1: winrepo_branch is an option of Salt that is not honoured here: there \
         is no winrepo\n  \
         winrepo_branch: main\n  ^\n\
         warning: DIR/minion:6:1: unknown option company\n  company: us\n  ^\n\
         the configuration is valid: DIR/minion\n"
    );
    assert_eq!(
        loaded.config.opts().get("company"),
        Some(&Value::from("us"))
    );
}

#[test]
fn a_missing_file_means_defaults_and_an_unreadable_one_an_error() {
    let dir = Dir::new();
    let loaded = load_master(&dir.options()).unwrap();
    let report = dir.anonymous(&loaded.check_report());
    assert_eq!(
        report,
        "warning: DIR/master does not exist, defaults are used\nthe configuration is valid\n"
    );
    std::fs::create_dir(dir.path("minion")).unwrap();
    let error = load_minion(&dir.options()).unwrap_err();
    assert!(matches!(error, ConfigError::Read { .. }), "{error:?}");
}

#[test]
fn files_that_include_each_other_are_an_error() {
    let dir = Dir::new();
    dir.file("master", "include: a\n").file("a", "include: a\n");
    let error = load_master(&dir.options()).unwrap_err();
    assert!(
        matches!(error, ConfigError::IncludeDepth { .. }),
        "{error:?}"
    );
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
