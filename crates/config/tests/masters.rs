//! What a minion's files may say about its masters, and the messages about invalid
//! settings.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use halite_config::{LoadOptions, Loaded, MinionConfig, load_minion};
use halite_proto::Value;

fn load(text: &str) -> Result<Loaded<MinionConfig>, String> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("minion"), text).unwrap();
    let root = dir.path().join("root").display().to_string();
    let options = LoadOptions {
        config_dir: Some(dir.path().to_owned()),
        overrides: vec![
            ("root_dir".to_owned(), Value::from(root)),
            ("id".to_owned(), Value::from("m")),
        ],
        ..LoadOptions::default()
    };
    let anonymous = |text: String| text.replace(&dir.path().display().to_string(), "DIR");
    load_minion(&options).map_err(|error| anonymous(error.render()))
}

fn masters(loaded: &Loaded<MinionConfig>) -> Vec<String> {
    let masters = loaded.config.masters().unwrap();
    masters.iter().map(ToString::to_string).collect()
}

#[test]
fn a_master_that_is_listed_twice_is_served_once() {
    let loaded = load("master: [a, b, 'a:4506', '[::1]:4506', '::1', 'a:4507']\n").unwrap();
    assert_eq!(masters(&loaded), ["a", "b", "[::1]:4506", "a:4507"]);
    let told: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains(":1:16: this master is listed before"),
        "{told:?}"
    );
    assert!(told[1].contains(":1:40: "), "{told:?}");
}

#[test]
fn a_mistake_in_a_list_has_the_place_of_the_item() {
    for (text, expected) in [
        (
            "master:\n  - a\n  - {b: c}\n",
            "DIR/minion:3:5: master cannot be a map; it is a host, or a list of hosts",
        ),
        (
            "master: [a, 5]\n",
            "DIR/minion:1:13: master cannot be \"5\"; it is a host, or a list of hosts",
        ),
        (
            "master: 10\n",
            "DIR/minion:1:9: master cannot be \"10\"; it is a host, or a list of hosts",
        ),
        (
            "master: [a\n",
            "DIR/minion:2:1: did not find expected ',' or ']'",
        ),
        (
            "master:\n  - a\n  - b:x\n",
            "DIR/minion:3:5: master cannot be \"b:x\"; it is host, host:port or [v6]:port",
        ),
        (
            "tcp_pub_port: [4510, x]\n",
            "DIR/minion:1:22: tcp_pub_port cannot be \"x\"; it is a port, or a list of ports",
        ),
        (
            "master: [10.0.0.1, a]\nmaster_uri_format: ip_only\n",
            "DIR/minion:1:20: master cannot be \"a\"; it is an address without a port",
        ),
        (
            "master: ['10.0.0.1:4506']\nmaster_uri_format: ip_only\n",
            "DIR/minion:1:10: master cannot be \"10.0.0.1:4506\"; it is an address",
        ),
        (
            "master: salt\nmaster_type: func\n",
            "DIR/minion:1:9: master cannot be \"salt\"; it is module.function",
        ),
        (
            "source_address: eth0\n",
            "DIR/minion:1:17: source_address cannot be \"eth0\"; it is an address",
        ),
        (
            "source_ret_port: 70000\n",
            "DIR/minion:1:18: source_ret_port cannot be \"70000\"; it is a port, or 0",
        ),
        (
            "startup_states: top\n",
            "DIR/minion:1:17: startup_states cannot be \"top\"; it is highstate or sls",
        ),
        (
            "startup_states: everything\n",
            "DIR/minion:1:17: startup_states cannot be \"everything\"",
        ),
    ] {
        let error = load(text).unwrap_err();
        assert!(error.starts_with(expected), "{text}\n{error}");
    }
}

#[test]
fn a_file_that_ends_too_early_shows_its_last_line() {
    let error = load("id: b\nmaster: [a\n\n").unwrap_err();
    assert!(error.contains("\n  master: [a\n            ^"), "{error}");
}

#[test]
fn a_function_may_name_the_masters() {
    let loaded = load("master: my_masters.pick\nmaster_type: func\n").unwrap();
    assert_eq!(masters(&loaded), [""; 0]);
    assert_eq!(loaded.config.master.entries, ["my_masters.pick"]);
}

#[test]
fn the_options_of_links_are_honoured() {
    let text = "master_tries: 2\nretry_dns: 5\nretry_dns_count: 3\nrandom_reauth_delay: 60\n\
        random_startup_delay: 3\nrecon_randomize: False\n\
        source_interface_name: lo\nsource_publish_port: 4000\nstartup_states: sls\n\
        sls_list: [a, b]\nminion_sign_messages: True\npermissive_pki_access: True\n\
        schedule: {j: {function: test.ping, seconds: 3}}\n";
    let loaded = load(text).unwrap();
    assert_eq!(loaded.warnings, []);
    assert!(loaded.config.is_set("recon_randomize"));
    assert!(!loaded.config.is_set("recon_max"));
}

/// What `test.opts_pkg` of real Salt 3008.5 does not have.
#[test]
fn functions_do_not_see_options_that_a_minion_of_salt_has_not() {
    let not_there = [
        "append_domain",
        "autosign_grains",
        "color",
        "log_datefmt_console",
        "mine_functions",
        "output",
        "publish_port",
        "state_output_pct",
        "state_tabular",
    ];
    let loaded = load("").unwrap();
    for name in not_there {
        assert!(!loaded.config.opts().contains_key(name), "{name}");
    }
    let loaded = load("mine_functions: {test.ping: []}\ncolor: False\n").unwrap();
    for name in [
        "mine_functions",
        "color",
        "return_spool_bytes",
        "state_output",
    ] {
        assert!(loaded.config.opts().contains_key(name), "{name}");
    }
}
