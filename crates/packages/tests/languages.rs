//! Packages of Ruby and Node, compared with Salt 3006.30 (states) and 3008.5.
#![allow(clippy::unwrap_used)]

// One player of scenarios serves all families.
use halite_call::{Module, Registry};
use serde_json::{Value as Json, json};

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES, halite_packages::MODULES];
static STATES: &[&[Module]] = &[halite_packages::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

fn machine(program: &str, answers: &[&str]) -> halite_recorded::Machine {
    let shims = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims");
    let scenario = json!({
        "shims": [], "grains": {"os": "Debian", "os_family": "Debian"},
        "answered": [program], "data": {"answers": answers.join("\n")},
    });
    halite_recorded::Machine::new(shims, &scenario, &REGISTRY)
}

fn gem() -> halite_recorded::Machine {
    machine(
        "gem",
        &[
            "gem --version|0|3.3.15\\n|",
            "gem list|0|\\n*** LOCAL GEMS ***\\n\\nbigdecimal (default: 3.1.1)\\nrake (13.0.6, 12.3.3)\\n|",
            "gem list rake|0|rake (13.0.6, 12.3.3)\\n|",
            "gem outdated|0|rake (13.0.6 < 13.1.0)\\n|",
            "gem sources|0|*** CURRENT SOURCES ***\\n\\nhttps://rubygems.org/\\nhttp://x.example/\\n|",
            "gem install nope --no-document|2||ERROR:  Could not find a valid gem 'nope' (>= 0) in any repository\\n",
            "gem install vagrant --no-document|0|1 gem installed\\n|",
        ],
    )
}

fn npm() -> halite_recorded::Machine {
    let there = r#"{"dependencies": {"coffee-script": {"version": "1.0.1"}, "@scope/pkg": {"version": "2.0.0"}}}"#;
    let list = format!("npm list --json --silent --global --depth=0|0|{there}|");
    machine(
        "npm",
        &[
            &list,
            "npm list --json --silent --global missing|1|{\"error\": {}}|",
            "npm install --json --silent --global nope|1||npm ERR! 404\\n",
            "npm install --json --silent --global new@2|0|[{\"name\": \"new\"}]|",
            "npm install --json --silent --global @scope/pkg@3 coffee-script|0|done|",
            "npm install --json --silent --dry-run|0|[{\"name\": \"a\"}]|",
            "npm uninstall zork --global|1||npm ERR! zork\\n",
        ],
    )
}

fn fun(machine: &halite_recorded::Machine, fun: &str, args: Json, kwargs: Json) -> (Json, Json) {
    let told = machine.play(&json!({"fun": fun, "args": args, "kwargs": kwargs}));
    (told["ret"].clone(), told["log"].clone())
}

/// Result, comment and changes of a state, and what was run.
fn state(machine: &halite_recorded::Machine, fun: &str, args: Json) -> (Json, String, Json, Json) {
    let test = args["test"].as_bool().unwrap_or(false);
    let mut args = args;
    args.as_object_mut().unwrap().remove("test");
    let told = machine.play(&json!({"state": fun, "args": args, "test": test}));
    let ret = &told["ret"];
    let comment = ret["comment"].as_str().unwrap_or_default().to_owned();
    (
        ret["result"].clone(),
        comment,
        ret["changes"].clone(),
        told["log"].clone(),
    )
}

#[test]
fn gems_are_listed_installed_and_removed() {
    let gem = gem();
    let (all, log) = fun(&gem, "gem.list", json!([]), json!({}));
    assert_eq!(
        all,
        json!({"bigdecimal": ["default: 3.1.1"], "rake": ["13.0.6", "12.3.3"]})
    );
    assert_eq!(log, json!(["gem list"]));
    let (new, _) = fun(&gem, "gem.list_upgrades", json!([]), json!({}));
    assert_eq!(new, json!({"rake": "13.1.0"}));
    let (sources, _) = fun(&gem, "gem.sources_list", json!([]), json!({}));
    assert_eq!(
        sources,
        json!(["https://rubygems.org/", "http://x.example/"])
    );
    let options = json!({
        "version": 2, "proxy": "http://p", "pre_releases": true, "rdoc": true, "ri": true,
        "source": "http://s",
    });
    let (_, log) = fun(&gem, "gem.install", json!(["rake other"]), options);
    assert_eq!(
        log,
        json!(["gem install rake other --version 2 --prerelease -p http://p --source http://s"])
    );
    let (failed, _) = fun(&gem, "gem.install", json!(["nope"]), json!({}));
    assert_eq!(
        failed,
        json!(
            "EXC CommandExecutionError: ERROR:  Could not find a valid gem 'nope' (>= 0) in any repository"
        )
    );
    let (_, log) = fun(&gem, "gem.uninstall", json!(["rake"]), json!({}));
    assert_eq!(log, json!(["gem uninstall rake -a -x"]));
}

#[test]
fn states_of_gems_do_only_what_is_needed() {
    let gem = gem();
    let there = [
        (json!({"name": "rake"}), "Gem is already installed."),
        (
            json!({"name": "rake", "version": "12.3.3"}),
            "Gem is already installed.",
        ),
        (
            json!({"name": "rake", "version": ">= 12"}),
            "Installed Gem meets version requirements.",
        ),
    ];
    for (args, comment) in there {
        let (result, said, changes, log) = state(&gem, "gem.installed", args);
        assert_eq!(
            (result, said.as_str(), changes),
            (json!(true), comment, json!({}))
        );
        assert_eq!(log, json!(["gem list rake"]));
    }
    let (result, comment, changes, log) = state(&gem, "gem.installed", json!({"name": "vagrant"}));
    assert_eq!(
        (result, comment.as_str()),
        (json!(true), "Gem was successfully installed")
    );
    assert_eq!(changes, json!({"vagrant": "Installed"}));
    assert_eq!(
        log,
        json!([
            "gem list vagrant",
            "gem --version",
            "gem install vagrant --no-document"
        ])
    );
    let later = json!({"name": "rake", "version": "< 12", "test": true});
    let (result, comment, ..) = state(&gem, "gem.installed", later);
    assert_eq!(
        (result, comment.as_str()),
        (Json::Null, "The gem rake would have been installed")
    );
    let (result, comment, changes, _) = state(&gem, "gem.removed", json!({"name": "rake"}));
    assert_eq!(
        (result, comment.as_str()),
        (json!(true), "Gem was successfully removed.")
    );
    assert_eq!(changes, json!({"rake": "Removed"}));
    let (_, comment, ..) = state(&gem, "gem.removed", json!({"name": "vagrant"}));
    assert_eq!(comment, "Gem is not installed.");
    let old = "http://x.example/";
    let (_, comment, ..) = state(&gem, "gem.sources_add", json!({"name": old}));
    assert_eq!(comment, "Gem source is already added.");
    let (_, comment, changes, _) = state(&gem, "gem.sources_remove", json!({"name": old}));
    assert_eq!(comment, "Gem source was successfully removed.");
    assert_eq!(changes, json!({old: "Removed"}));
    let new = json!({"name": "http://new/", "test": true});
    let (result, comment, ..) = state(&gem, "gem.sources_add", new);
    assert_eq!(result, Json::Null);
    assert_eq!(comment, "The gem source http://new/ would have been added.");
}

#[test]
fn packages_of_node_are_listed_and_installed() {
    let npm = npm();
    let (none, _) = fun(&npm, "npm.list", json!(["missing"]), json!({}));
    assert_eq!(none, json!({}));
    let (made, log) = fun(&npm, "npm.install", json!([]), json!({"pkgs": ["new@2"]}));
    assert_eq!(made, json!([{"name": "new"}]));
    assert_eq!(log, json!(["npm install --json --silent --global new@2"]));
    let options = json!({"pkg": "a", "registry": "http://r", "dry_run": true, "silent": false});
    let (_, log) = fun(&npm, "npm.install", json!([]), options);
    assert_eq!(
        log,
        json!(["npm install --json --global --registry=http://r --dry-run a"])
    );
    let (failed, _) = fun(&npm, "npm.install", json!(["nope"]), json!({}));
    assert_eq!(failed, json!("EXC CommandExecutionError: npm ERR! 404"));
    let (gone, _) = fun(&npm, "npm.uninstall", json!(["zork"]), json!({}));
    assert_eq!(gone, json!(false));
    let (_, log) = fun(
        &npm,
        "npm.cache_clean",
        json!(["a"]),
        json!({"force": true}),
    );
    assert_eq!(log, json!(["npm cache clean a --force"]));
}

#[test]
fn states_of_packages_of_node_do_only_what_is_needed() {
    let npm = npm();
    for (name, by) in [
        ("coffee-script", "coffee-script@1.0.1"),
        ("coffee-script@1.0.1", "coffee-script@1.0.1"),
        ("@scope/pkg", "@scope/pkg@2.0.0"),
    ] {
        let (result, comment, changes, _) = state(&npm, "npm.installed", json!({"name": name}));
        assert_eq!((result, changes), (json!(true), json!({})));
        assert_eq!(comment, format!("Package(s) '{name}' satisfied by {by}"));
    }
    let pkgs = json!({"name": "x", "pkgs": ["coffee-script@1.0.1", "new@2"], "test": true});
    let (result, comment, changes, _) = state(&npm, "npm.installed", pkgs);
    assert_eq!(result, Json::Null);
    assert_eq!(
        comment,
        "NPM package(s) 'new@2' are set to be installed. Package(s) 'coffee-script@1.0.1, new@2' satisfied by coffee-script@1.0.1"
    );
    assert_eq!(changes, json!({"old": [], "new": ["new@2"]}));
    let (result, comment, changes, _) = state(&npm, "npm.installed", json!({"name": "new@2"}));
    assert_eq!(result, json!(true));
    assert_eq!(comment, "Package(s) 'new@2' successfully installed");
    assert_eq!(changes, json!({"old": [], "new": ["new@2"]}));
    let forced =
        json!({"name": "x", "pkgs": ["@scope/pkg@3", "coffee-script"], "force_reinstall": true});
    let (_, comment, ..) = state(&npm, "npm.installed", forced);
    assert_eq!(
        comment,
        "Package(s) '@scope/pkg@3, coffee-script' successfully installed"
    );
    let (result, comment, ..) = state(&npm, "npm.installed", json!({"name": "nope"}));
    assert_eq!(
        (result, comment.as_str()),
        (json!(false), "Error installing 'nope': npm ERR! 404")
    );
    let (_, comment, changes, _) = state(&npm, "npm.removed", json!({"name": "@scope/pkg"}));
    assert_eq!(comment, "Package '@scope/pkg' was successfully removed");
    assert_eq!(changes, json!({"@scope/pkg": "Removed"}));
    let (_, comment, ..) = state(&npm, "npm.removed", json!({"name": "gone"}));
    assert_eq!(comment, "Package 'gone' is not installed");
    let (result, comment, changes, _) = state(
        &npm,
        "npm.bootstrap",
        json!({"name": "@TMP@", "test": true}),
    );
    assert_eq!(
        (result, comment.as_str()),
        (Json::Null, "@TMP@ is set to be bootstrapped")
    );
    assert_eq!(changes, json!({"old": [], "new": [{"name": "a"}]}));
}
