//! Pillars from git where there is no master: `salt-call --local` of real Salt
//! and ours with the same options.

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Minion};
use serde_json::{Value, json};

use crate::git_remotes::Tree;

fn pillar(minion: &Minion, args: &[&str]) -> Result<Value> {
    minion.called(&[&["--local", "pillar.items"], args].concat())
}

#[test]
fn a_minion_without_a_master_has_the_pillar_of_now() -> Result<()> {
    let fleet = Fleet::new("gitalone")?;
    let tree = Tree::new(&fleet.path().join("pillar"))?;
    let top = "base: {'*': [site, web.server.port]}\n";
    tree.commit(&[("top.sls", top), ("site.sls", "value: one\nmap: {a: 1}\n")])?;
    tree.git(&["checkout", "-q", "-b", "dev"])?;
    let top = "dev: {'*': [site]}\n";
    tree.commit(&[("top.sls", top), ("site.sls", "value: dev\n")])?;
    tree.git(&["checkout", "-q", "main"])?;
    let mounted = Tree::new(&fleet.path().join("mounted"))?;
    mounted.commit(&[("pillar/port.sls", "port: 80\n")])?;
    let master = fleet.master("m1", Kind::Ours).lay()?;
    let minion = |id: &str, kind| {
        fleet
            .minion(id, kind)
            .of(&master)
            .set("file_client", "local")
            .set("pillar_mask_output", false)
            .set("git_pillar_base", "main")
            .set("git_pillar_provider", "gitpython")
            .set(
                "ext_pillar",
                json!([{ "git": [
                    format!("__env__ {}", tree.url()),
                    { format!("main {}", mounted.url()): [
                        { "root": "pillar" }, { "mountpoint": "web/server" },
                    ]},
                ]}]),
            )
            .lay()
    };
    let (ours, theirs) = (minion("a", Kind::Ours)?, minion("b", Kind::Salt3008)?);
    for value in ["one", "two"] {
        if value == "two" {
            tree.commit(&[("site.sls", "value: two\nmap: {a: 1}\n")])?;
        }
        // A saltenv is taken, and means nothing here.
        for args in [&[][..], &["saltenv=dev"]] {
            let (here, there) = (pillar(&ours, args)?, pillar(&theirs, args)?);
            ensure!(here == there, "{args:?}: {there} in Salt, {here} here");
        }
        let expected = json!({ "value": value, "map": { "a": 1 }, "port": 80 });
        let here = pillar(&ours, &[])?;
        ensure!(here == expected, "{here}");
    }
    // Salt's own fails here: two branches of a remote ask each other to fetch.
    let here = pillar(&ours, &["pillarenv=dev"])?;
    ensure!(here == json!({ "value": "dev" }), "{here}");
    // What was fetched counts while the remote is away.
    let away = fleet.path().join("away");
    std::fs::rename(fleet.path().join("pillar"), &away)?;
    let here = pillar(&ours, &[])?;
    ensure!(here["value"] == json!("two"), "{here}");
    Ok(())
}
