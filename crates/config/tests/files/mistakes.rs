//! Messages about settings that are wrong, ignored or probably a mistake.

use halite_config::{ConfigError, load_master, load_minion};
use halite_proto::Value;

use crate::Dir;

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
            "minion",
            "id: x\ntransport: tcp\n",
            "DIR/minion:2:12: transport cannot be \"tcp\"; it is zeromq \
             (the tcp and ws transports are not honoured here)\n  \
             transport: tcp\n             ^",
        ),
        (
            "master",
            "transport: ws\n",
            "DIR/master:1:12: transport cannot be \"ws\"; it is zeromq \
             (the tcp and ws transports are not honoured here)\n  \
             transport: ws\n             ^",
        ),
        (
            "master",
            "fileserver_backend: [roots, svn]\n",
            "DIR/master:1:29: fileserver_backend cannot be \"svn\"; it is roots or gitfs or minionfs \
             (svnfs: it is a module in Python, which is not used here)\n  \
             fileserver_backend: [roots, svn]\n                              ^",
        ),
        (
            "master",
            "fileserver_backend:\n  - root\n",
            "DIR/master:2:5: fileserver_backend cannot be \"root\"; it is roots or gitfs or minionfs\n    \
             - root\n      ^",
        ),
        (
            "master",
            "fileserver_backend: []\n",
            "DIR/master:1:21: fileserver_backend cannot be an empty list; it is a list with at least one of: roots, gitfs, minionfs\n  \
             fileserver_backend: []\n                      ^",
        ),
        (
            "minion",
            "id: x\nfile_client: local\nfileserver_backend: minionfs\n",
            "DIR/minion:3:21: fileserver_backend cannot be \"minionfs\"; it is roots or gitfs (minionfs: \
             only a master has files that minions have pushed)\n  \
             fileserver_backend: minionfs\n                      ^",
        ),
        (
            "minion",
            "id: x\nmaster_type: disable\nfileserver_backend: [-roots]\n",
            "DIR/minion:3:22: fileserver_backend cannot be \"-roots\"; it is roots or gitfs\n  \
             fileserver_backend: [-roots]\n                       ^",
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
            "cluster_id: c\ncluster_drain_time: 61\n",
            "DIR/master:2:21: cluster_drain_time cannot be \"61\"; it is 0 to 60 (seconds)\n  \
             cluster_drain_time: 61\n                      ^",
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
            "master_job_cache: ../redis\n",
            "DIR/master:1:19: master_job_cache cannot be \"../redis\"; it is `local_cache`",
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
fn lists_of_rights_are_lists() {
    let acl = "it is a map of users to lists of functions";
    for (text, expected) in [
        (
            "publisher_acl:\n  joe: test.ping\n",
            format!("DIR/master:2:8: publisher_acl cannot be \"test.ping\"; {acl}"),
        ),
        (
            "publisher_acl:\n  joe: {'*': [test.ping]}\n",
            format!("DIR/master:2:8: publisher_acl cannot be a map; {acl}"),
        ),
        (
            "publisher_acl_blacklist:\n  users: root\n",
            "DIR/master:2:10: publisher_acl_blacklist cannot be \"root\"; it is a map with the \
             lists users and modules"
                .to_owned(),
        ),
        (
            "external_auth:\n  file:\n    ^filename: /x\n    joe: test.ping\n",
            "DIR/master:4:10: external_auth cannot be \"test.ping\"".to_owned(),
        ),
        (
            "peer:\n  web1: test.ping\n",
            "DIR/master:2:9: peer cannot be \"test.ping\"".to_owned(),
        ),
    ] {
        let home = Dir::new();
        home.file("master", text);
        let error = load_master(&home.options()).unwrap_err();
        let error = home.anonymous(&error.render());
        assert!(error.starts_with(&expected), "{text}\n{error}");
    }
    let home = Dir::new();
    home.file(
        "master",
        "publisher_acl: {joe: [test.ping], ann: }\n\
         external_auth: {file: {^filename: /x, joe: [.*]}}\n\
         peer: {web1: [test.ping], web2: {foo: [test.ping]}}\n",
    );
    assert!(home.master().warnings.is_empty());
}

#[test]
fn what_a_master_cannot_do_stops_its_start() {
    for (text, why) in [
        (
            "order_masters: true",
            "returns that syndics bring are not accepted",
        ),
        ("eauth_tokens.cluster_id: main", "need no name for it"),
        (
            "client_acl: {joe: [test.ping]}",
            "the option is publisher_acl",
        ),
        (
            "client_acl_blacklist: {users: [joe]}",
            "the option is publisher_acl_blacklist",
        ),
    ] {
        let home = Dir::new();
        home.file("master.d/more.conf", &format!("timeout: 3\n{text}\n"));
        let error = load_master(&home.options()).unwrap_err();
        let (option, _) = text.split_once(": ").unwrap();
        let line = home.anonymous(&error.to_string());
        let start = format!("DIR/master.d/more.conf:2:1: {option} is refused: ");
        assert!(line.starts_with(&start) && line.contains(why), "{line}");
        let shown = home.anonymous(&error.render());
        assert!(shown.ends_with(&format!("\n  {text}\n  ^")), "{shown}");
        // Beside one of Salt's masters it may mean something.
        assert!(
            halite_config::load_client(&home.options()).is_ok(),
            "{text}"
        );
    }
    let home = Dir::new();
    home.file(
        "master",
        "order_masters: False\ncluster_id:\ncluster_pool_port: 4520\ncache: localfs\n\
         eauth_tokens: localfs\n",
    );
    load_master(&home.options()).unwrap();
}

#[test]
fn external_pillars_that_are_nowhere_are_named() {
    let home = Dir::new();
    home.file(
        "master",
        "ext_pillar:\n  - cmd_yaml: cat /x\n  - mongoo: {}\n  - own: x\n",
    );
    let config = home.master().config;
    let unknown = config.unknown_external_pillars(|name| name != "mongoo");
    let lines: Vec<String> = unknown
        .iter()
        .map(|e| home.anonymous(&e.to_string()))
        .collect();
    assert_eq!(lines.len(), 1);
    let start = "DIR/master:3:5: ext_pillar cannot be \"mongoo\"; it is the name of an external";
    assert!(lines[0].starts_with(start), "{lines:?}");
}

#[test]
fn all_mistakes_are_found_in_one_run() {
    let home = Dir::new();
    home.file(
        "master",
        "worker_threads: many\nfailhard: maybe\norder_masters: true\npublish_port: 4506\n\
         signing_algorithm: ROT13\nfileserver_backend: [root, roots, hgfs]\n",
    )
    .file("master.d/a.conf", "publisher_acl: {joe: test.ping}\n");
    let faults = halite_config::draft_master(&home.options())
        .unwrap()
        .finish_all()
        .unwrap_err();
    let places = faults.iter().map(|fault| {
        let place = fault.place().unwrap();
        home.anonymous(&format!("{} {}", place, fault.option().unwrap()))
    });
    assert_eq!(
        places.collect::<Vec<_>>(),
        [
            "DIR/master:1:17 worker_threads",
            "DIR/master:2:11 failhard",
            "DIR/master:3:1 order_masters",
            "DIR/master:4:15 publish_port",
            "DIR/master:5:20 signing_algorithm",
            "DIR/master:6:22 fileserver_backend",
            "DIR/master:6:35 fileserver_backend",
            "DIR/master.d/a.conf:1:22 publisher_acl",
        ]
    );
    let home = Dir::new();
    home.file(
        "minion",
        "id: a/b\nmaster: [m1, 'm2:x']\nauth_timeout: soon\nstartup_states: tops\n",
    );
    let faults = halite_config::draft_minion(&home.options())
        .unwrap()
        .finish_all()
        .unwrap_err();
    let options: Vec<_> = faults.iter().filter_map(ConfigError::option).collect();
    assert_eq!(options, ["id", "master", "auth_timeout", "startup_states"]);
    let text = home.anonymous(&faults[3].to_string());
    assert_eq!(
        text,
        "DIR/minion:4:17: startup_states cannot be \"tops\"; it is highstate or sls or top, or empty"
    );
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
         saltgui_custom_command_help: x\nstate_aggregate: true\nfailhard: true\ngpg_keydir: /x\nmodule_dirs: [/y]\n",
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
fn options_that_are_no_fields_have_types_too() {
    for (file, place) in [
        (
            "failhard: maybe\n",
            "DIR/minion:1:11: failhard cannot be \"maybe\"; it is True or False",
        ),
        (
            "module_dirs:\n  - /a\n  - {b: 1}\n",
            "DIR/minion:3:5: module_dirs cannot be a map; it is text or a list of texts",
        ),
        (
            "providers: pkg\n",
            "DIR/minion:1:12: providers cannot be \"pkg\"; it is a map",
        ),
        (
            "log_granular_levels:\n  salt: debug\n  salt.minion: loud\n",
            "DIR/minion:3:16: log_granular_levels cannot be \"loud\"; it is a map of names to levels \
             (debug, info, warning ...)",
        ),
        (
            "file_roots:\n  base:\n    - /a\n    - [/b]\n",
            "DIR/minion:4:7: file_roots cannot be a list; it is a map of environments to lists of \
             directories",
        ),
    ] {
        let dir = Dir::new();
        dir.file("minion", file);
        let error = load_minion(&dir.options()).unwrap_err();
        assert_eq!(dir.anonymous(&error.to_string()), place);
    }
    let dir = Dir::new();
    dir.file(
        "minion",
        "failhard:\nstate_queue: 3\nrenderer: jinja|yaml\n",
    );
    assert!(dir.minion().warnings.is_empty());
}

#[test]
fn what_is_hardly_meant_is_told_with_its_place() {
    let dir = Dir::new();
    dir.file("here/x.sls", "").file(
        "master",
        "file_roots:\n  base: [DIR/here, DIR/gone]\n  dev: ['DIR/none-*']\n\
         pillar_roots: {base: [DIR/here]}\nmodule_dirs: DIR/mods\n\
         nodegroups:\n  good: 'G@os:Debian or web*'\n  bad: 'N@good and ('\n  lost: N@nobody\n\
         reactor:\n  - 'a/*': [DIR/here/x.sls, DIR/here/y.sls, 'salt://z.sls']\n\
         schedule:\n  j: {function: test.ping, second: 3}\n\
         external_auth:\n  pam:\n    j.doe: [test.*]\n    'ops.*': [test.*]\n    '*': []\n    'ops%': []\n",
    );
    let text = std::fs::read_to_string(dir.path("master")).unwrap();
    let here = dir.path("");
    let here = here.to_str().unwrap().trim_end_matches('/');
    dir.file("master", &text.replace("DIR", here));
    let config = dir.master().config;
    let mut doubts = config.doubts();
    doubts.extend(config.odd_within("schedule", &["j", "second"], "no such option"));
    doubts.extend(config.odd_within("schedule", &["j", "none"], "lacks something"));
    let lines: Vec<_> = doubts
        .iter()
        .map(|doubt| {
            let line = dir.anonymous(&doubt.to_string());
            // The columns depend on how long the name of the directory is.
            let mut parts = line.splitn(4, ':');
            let place: Vec<_> = parts.by_ref().take(2).collect();
            format!("{}:{}", place.join(":"), parts.nth(1).unwrap())
        })
        .collect();
    assert_eq!(
        lines,
        [
            "DIR/master:2: file_roots: DIR/gone is no directory",
            "DIR/master:3: file_roots: nothing matches DIR/none-*",
            "DIR/master:5: module_dirs: DIR/mods is no directory",
            "DIR/master:8: nodegroups: bad: in the node group: `)` where a target is expected",
            "DIR/master:9: nodegroups: lost: there is no node group \"nobody\"",
            "DIR/master:11: reactor: DIR/here/y.sls is no file",
            "DIR/master:17: external_auth: ops.* is compared as it is: names are no patterns",
            "DIR/master:13: schedule: no such option",
            "DIR/master:13: schedule: lacks something",
        ]
    );
}

/// Such a minion need not know where its files come from.
#[test]
fn a_minion_that_asks_its_master_for_files_may_name_any_source() {
    let dir = Dir::new();
    for text in [
        "fileserver_backend: [git, roots, gitfs]\n",
        "file_client: local\nuse_master_when_local: True\nfileserver_backend: [git, roots]\n",
    ] {
        dir.file("minion", &format!("id: x\n{text}"));
        let loaded = load_minion(&dir.options()).unwrap();
        assert_eq!(loaded.warnings, [], "{text}");
        let settled = loaded.config.opts().get("fileserver_backend").cloned();
        let expected = ["gitfs", "roots"].map(Value::from).to_vec();
        assert_eq!(settled, Some(Value::List(expected)), "{text}");
    }
}

#[test]
fn files_that_others_may_write_are_told_of() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let dir = Dir::new();
    dir.file("master", "include: more\n")
        .file("more", "id: x\n");
    let told = || {
        let mut loaded = dir.master();
        loaded.warn_of_writers(None, &[]);
        let lines = loaded.warnings.iter();
        lines
            .map(|warning| dir.anonymous(&warning.to_string()))
            .collect::<Vec<_>>()
    };
    let set = |name: &str, mode| {
        set_permissions(dir.path(name), Permissions::from_mode(mode)).unwrap();
    };
    for (name, mode) in [("", 0o755), ("master", 0o644), ("more", 0o600)] {
        set(name, mode);
    }
    assert_eq!(told(), [""; 0]);
    set("more", 0o606);
    let why =
        "its group or others may write it, and so decide what the daemon runs: `chmod go-w` it";
    assert_eq!(told(), [format!("DIR/more: {why}")]);
    set("more", 0o600);
    set("", 0o775);
    assert_eq!(told(), [format!("DIR: {why}")]);
    set("", 0o755);
    if halite_test_support::have_root() {
        std::os::unix::fs::chown(dir.path("master"), Some(65534), None).unwrap();
        let why = "user 65534 owns it, and so decides what the daemon runs: `chown root` it";
        assert_eq!(told(), [format!("DIR/master: {why}")]);
    }
}
