//! Masters behind one address: one is killed, a fourth joins, and is removed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use halite_integration_tests::{Kind, Program, Programs, run, until};
use serde_json::{Map, Value};

use super::balancer;
use super::fleet::{DemoFleet, Example, PATIENCE, command, heading, random_hex, remark, took};
use crate::screen::{Style, paint};

const EXAMPLE: Example = Example {
    name: "cluster",
    addresses: &[
        "127.0.0.20",
        "127.0.0.21",
        "127.0.0.22",
        "127.0.0.23",
        "127.0.0.24",
    ],
    minions: &["web1", "web2", "db1"],
};

/// The address of the balancer in the example.
const BALANCER: usize = 0;

/// The masters, each with its address in the example.
const MASTERS: [(&str, usize); 4] = [("m1", 1), ("m2", 2), ("m3", 3), ("m4", 4)];

/// What stands in the example for the secret by which masters join.
const SECRET: &str = "replace-me-with-a-long-random-text";

pub(super) fn play(programs: Programs, keep: bool) -> Result<()> {
    let mut demo = DemoFleet::lay(EXAMPLE, Kind::Ours, programs)?;
    let dir = demo.path().to_path_buf();
    heading("Three masters that share no files, behind one address; three minions");
    remark(&format!("everything is in {}", dir.display()));
    command(&format!("cd {}", dir.display()));
    write_secret(&dir)?;

    balancer::start(&mut demo, BALANCER, &MASTERS.map(|(_, n)| n), keep)?;
    show(&mut demo)?;
    if keep {
        demo.keep("m1")?;
    }
    Ok(())
}

fn show(demo: &mut DemoFleet) -> Result<()> {
    heading("Start the masters: one founds the cluster, the others join it");
    let [first, second, third, fourth] = MASTERS;
    demo.start_masters(&[first, second, third])?;
    wait_linked(demo, "m1")?;
    demo.tool(Program::Run, "m1", &["cluster.members"])?;

    heading("Start the minions, and accept their keys at one master");
    demo.start_minions()?;
    demo.wait_keys(Path::new("m2/pki/cluster/minions_pre"))?;
    demo.tool(Program::Key, "m2", &["-y", "-A"])?;
    demo.wait_keys(Path::new("m3/pki/cluster/minions"))?;
    demo.tool(Program::Key, "m3", &["-L"])?;

    heading("Command the fleet from any master");
    for (master, _) in [first, second, third] {
        demo.wait_answers(master)?;
        demo.tool(Program::Salt, master, &["*", "test.ping"])?;
    }

    heading("Kill a master: its minions come back through the balancer");
    demo.kill9("m1")?;
    let begun = Instant::now();
    demo.wait_answers("m2")?;
    remark("  all minions answer again");
    took(begun);
    demo.tool(Program::Salt, "m2", &["*", "test.ping"])?;

    heading("Start it again, and a fourth one, which the others do not name");
    demo.start_masters(&[first])?;
    demo.start_masters(&[fourth])?;
    demo.wait_keys(Path::new("m4/pki/cluster/minions"))?;
    demo.tool(Program::Key, "m4", &["-L"])?;
    demo.wait_answers("m4")?;
    demo.tool(Program::Salt, "m4", &["*", "test.ping"])?;

    heading("Remove it: its links end at once, and what it knew is replaced");
    let removed = demo.address(fourth.1).ip().to_string();
    demo.tool(Program::Run, "m1", &["cluster.remove", &removed])?;
    demo.stop("m4")?;
    demo.wait_answers("m1")?;
    demo.tool(Program::Salt, "m1", &["*", "test.ping"])?;
    demo.tool(Program::Run, "m2", &["cluster.members"])?;
    let done = "Done: no minion was touched while masters died, came and went.";
    println!("\n{}", paint(Style::Good, done));
    Ok(())
}

/// Waits until a master is linked to all other members: it takes a moment more than to
/// listen for minions.
fn wait_linked(demo: &DemoFleet, master: &str) -> Result<()> {
    let recipe = demo.recipe(Program::Run, master)?;
    let recipe = recipe.args(&["cluster.members", "--out=json"]);
    until("the members to be linked", PATIENCE, || {
        let shown: Value = serde_json::from_str(&run(&recipe, PATIENCE)?.ok()?.stdout)?;
        let members = shown["members"].as_object();
        let are_linked = |members: &Map<String, Value>| {
            let is_away = |member: &Value| member["connected"] == false;
            !members.values().any(is_away)
        };
        Ok(members.is_some_and(are_linked).then_some(()))
    })
}

/// Puts a secret of this run into the files of the masters, for their user alone.
fn write_secret(dir: &Path) -> Result<()> {
    let secret = random_hex::<32>()?;
    command(&format!(
        "sed -i \"s/{SECRET}/$(openssl rand -hex 32)/\" m?/master"
    ));
    command("chmod 600 m?/master");
    for (master, _) in MASTERS {
        let file = dir.join(master).join("master");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
        let text = fs::read_to_string(&file)?;
        fs::write(&file, text.replace(SECRET, &secret))?;
    }
    Ok(())
}
