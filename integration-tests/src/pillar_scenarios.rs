//! Pillars and environments between a master and a minion of any two kinds.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::kind::Kind;
use crate::master::Master;
use crate::wait::{START, until};

/// What a file of a case holds.
const FILES: &[(&str, &str)] = &[
    (
        "pillar/top.sls",
        "base:\n  '*': [common, broken]\n  'role:web':\n    - match: grain\n    - web.*\n  'db*': [secret]\n",
    ),
    (
        "pillar/common.sls",
        "include:\n  - parts.keyed:\n      key: below:here\n      defaults: {who: world}\n\
         app: {name: common, list: [1], deep: {a: 1}}\n\
         {% from 'lib/m.jinja' import shout %}said: {{ shout('hi') }}\n\
         role_seen: {{ grains['role'] }}\nid_seen: {{ salt['grains.get']('id') }} {{ opts['id'] }}\n",
    ),
    (
        "pillar/lib/m.jinja",
        "{% macro shout(t) %}{{ t|upper }}{% endmacro %}",
    ),
    ("pillar/parts/keyed.sls", "greeting: hello {{ who }}\n"),
    (
        "pillar/web/one.sls",
        "app: {name: web, list: [2], deep: {b: 2}}\n",
    ),
    ("pillar/web/two/init.sls", "two: true\n"),
    ("pillar/broken.sls", "x: {{ nope.nope }}\n"),
    ("pillar/secret.sls", "secret: never\n"),
    ("dev/top.sls", "dev:\n  '*': [only]\n"),
    ("dev/only.sls", "env: {{ saltenv }}\n"),
    ("srv/where.txt", "base\n"),
    ("srv-dev/where.txt", "dev\n"),
    ("srv-dev/only/dev.txt", "only\n"),
];

fn lay_files(master: &Master, files: &[(&str, &str)]) -> Result<()> {
    for (path, text) in files {
        let path = master.dir().join(path);
        fs::create_dir_all(path.parent().context("a file without a directory")?)?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn returned(master: &Master, args: &[&str]) -> Result<Value> {
    let mut all = vec!["web1"];
    all.extend(args);
    let mut returns = master.returns(&all)?;
    returns
        .remove("web1")
        .with_context(|| format!("web1 did not return from {args:?}"))
}

/// A pillar of tops, includes and an external one reaches the minion, is
/// changed, is matched; environments and overrides give others. Two
/// environments of files are served.
pub fn pillars_reach_the_minion(master: Kind, minion: Kind) -> Result<()> {
    let fleet = Fleet::new("pillar")?;
    let dir = fleet.path().join("m1");
    let at = |name: &str| dir.join(name);
    let mut master = fleet
        .master("m1", master)
        .auto_accept()
        .set(
            "pillar_roots",
            json!({ "base": [at("pillar")], "dev": [at("dev")] }),
        )
        .set(
            "file_roots",
            json!({ "base": [at("srv")], "dev": [at("srv-dev")] }),
        )
        .set(
            "ext_pillar",
            json!([{ "cmd_yaml": "printf 'ext: {id: %s}'" }]),
        )
        .lay()?;
    lay_files(&master, FILES)?;
    master.start()?;
    let _minion = fleet
        .minion("web1", minion)
        .of(&master)
        .set("grains", json!({ "role": "web" }))
        .start()?;
    master.wait_minion("web1")?;

    let wanted = json!({
        "_errors": ["Rendering SLS 'broken' failed. Please see master log for details."],
        "app": { "name": "web", "list": [2], "deep": { "a": 1, "b": 2 } },
        "below": { "here": { "greeting": "hello world" } },
        "env": "dev",
        "ext": { "id": "web1" },
        "id_seen": "web1 web1",
        "role_seen": "web",
        "said": "HI",
        "two": true,
    });
    check(&returned(&master, &["pillar.raw"])?, &wanted, "the pillar")?;
    let items = returned(&master, &["pillar.items", "unmask=True"])?;
    check(&items, &wanted, "pillar.items")?;
    let only = returned(&master, &["pillar.items", "pillarenv=dev", "unmask=True"])?;
    let dev = json!({ "env": "dev", "ext": { "id": "web1" } });
    check(&only, &dev, "the pillar of dev")?;
    let over = "pillar={app: {name: cli}, new: 1}";
    let over = returned(&master, &["pillar.items", over, "unmask=True"])?;
    ensure!(
        over["app"] == json!({ "name": "cli", "list": [2], "deep": { "a": 1, "b": 2 } })
            && over["new"] == json!(1),
        "an override gave {over}"
    );

    a_changed_pillar_is_used(&master)?;
    environments_are_served(&master, fleet.path())?;
    let log = fs::read_to_string(master.dir().join("log")).unwrap_or_default();
    ensure!(
        !log.contains("hello world"),
        "the pillar is in the master's log"
    );
    Ok(())
}

fn a_changed_pillar_is_used(master: &Master) -> Result<()> {
    lay_files(
        master,
        &[
            ("pillar/web/one.sls", "app: {name: changed}\n"),
            ("pillar/broken.sls", "mended: 1\n"),
        ],
    )?;
    returned(master, &["saltutil.refresh_pillar"])?;
    until("the changed pillar", START, || {
        let pillar = returned(master, &["pillar.raw"])?;
        Ok((pillar["app"]["name"] == json!("changed")
            && pillar["mended"] == json!(1)
            && pillar.get("_errors").is_none())
        .then_some(()))
    })?;
    let matched = master.returns(&["-I", "app:name:changed", "test.ping"])?;
    ensure!(
        matched.contains_key("web1"),
        "a pillar target matched {matched:?}"
    );
    Ok(())
}

fn environments_are_served(master: &Master, dir: &Path) -> Result<()> {
    let to = dir.join("where");
    let to = to.to_str().context("a path that is no text")?;
    for (path, env, content) in [
        ("salt://where.txt", "base", "base\n"),
        ("salt://where.txt", "dev", "dev\n"),
        ("salt://where.txt?saltenv=dev", "base", "dev\n"),
    ] {
        let got = returned(
            master,
            &["cp.get_file", path, to, &format!("saltenv={env}")],
        )?;
        ensure!(got == json!(to), "cp.get_file {path} of {env} gave {got}");
        ensure!(
            fs::read_to_string(to)? == content,
            "{path} of {env} is another file"
        );
    }
    let listed = returned(master, &["cp.list_master", "dev"])?;
    check(
        &listed,
        &json!(["only/dev.txt", "where.txt"]),
        "the files of dev",
    )
}

fn check(found: &Value, wanted: &Value, what: &str) -> Result<()> {
    ensure!(found == wanted, "{what} is {found:#}, not {wanted:#}");
    Ok(())
}
