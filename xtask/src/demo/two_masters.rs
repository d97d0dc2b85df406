//! Two masters with one key pair, three minions that listen to both.

use std::fs;
use std::path::Path;

use anyhow::Result;
use halite_integration_tests::{Kind, Program, Programs, until};

use super::fleet::{DemoFleet, Example, PATIENCE, command, heading, listens, remark};
use super::web::Web;
use crate::screen::{Style, paint};

const EXAMPLE: Example = Example {
    name: "two-masters",
    addresses: &["127.0.0.11", "127.0.0.12"],
    minions: &["web1", "web2", "db1"],
};

/// The masters, each with its address in the example.
const MASTERS: [(&str, usize); 2] = [("master1", 0), ("master2", 1)];

pub(super) fn play(kind: Kind, programs: Programs, keep: bool, with_page: bool) -> Result<()> {
    let mut demo = DemoFleet::lay(EXAMPLE, kind, programs)?;
    let web = with_page.then(Web::new).transpose()?;
    if let Some(web) = &web {
        web.configure(demo.path(), MASTERS.map(|(master, _)| master))?;
    }
    show(&mut demo)?;
    if let Some(web) = &web {
        serve(&mut demo, web)?;
    }
    if keep || with_page {
        demo.keep(MASTERS[0].0)?;
    }
    Ok(())
}

fn show(demo: &mut DemoFleet) -> Result<()> {
    let dir = demo.path().to_path_buf();
    heading("Two masters with one key pair, three minions that listen to both");
    remark(&format!("everything is in {}", dir.display()));
    command(&format!("cd {}", dir.display()));

    heading("Start the masters; the second gets the key pair of the first");
    let [first, second] = MASTERS;
    demo.start_masters(&[first])?;
    copy_pair(&dir)?;
    demo.start_masters(&[second])?;

    heading("Start the minions");
    demo.start_minions()?;

    heading("Accept their keys on each master");
    for (master, _) in MASTERS {
        demo.wait_keys(&Path::new(master).join("pki/minions_pre"))?;
        demo.tool(Program::Key, master, &["-L"])?;
        demo.tool(Program::Key, master, &["-y", "-A"])?;
    }

    heading("Command the fleet from either master");
    for (master, _) in MASTERS {
        demo.wait_answers(master)?;
        demo.tool(Program::Salt, master, &["*", "test.ping"])?;
    }
    let count = ["*", "cmd.run", "echo $(hostname) has $(nproc) processors"];
    demo.tool(Program::Salt, "master1", &count)?;
    let grains = ["web*", "grains.item", "id", "role", "os"];
    demo.tool(Program::Salt, "master2", &grains)?;

    heading("Kill the first master: the second goes on");
    demo.kill9("master1")?;
    demo.tool(Program::Salt, "master2", &["*", "test.ping"])?;

    heading("Start it again: its minions come back");
    demo.start_masters(&[first])?;
    demo.wait_answers("master1")?;
    demo.tool(Program::Salt, "master1", &["*", "test.ping"])?;
    demo.tool(Program::Salt, "master2", &["*", "test.ping"])?;
    let done = "Done: no command was lost while a master was there to give it.";
    println!("\n{}", paint(Style::Good, done));
    Ok(())
}

/// Gives the second master the key pair of the first, once that has made it.
fn copy_pair(dir: &Path) -> Result<()> {
    let pair = dir.join("master1/pki");
    until("the key pair", PATIENCE, || {
        Ok(pair.join("master.pub").exists().then_some(()))
    })?;
    command(
        "mkdir -p master2/pki && cp master1/pki/master.pem master1/pki/master.pub master2/pki/",
    );
    fs::create_dir_all(dir.join("master2/pki"))?;
    for name in ["master.pem", "master.pub"] {
        fs::copy(pair.join(name), dir.join("master2/pki").join(name))?;
    }
    Ok(())
}

/// The APIs, one for each master.
const APIS: [&str; 2] = ["salt-api-1", "salt-api-2"];

/// Starts the APIs. Each serves the page, and answers for both masters.
fn serve(demo: &mut DemoFleet, web: &Web) -> Result<()> {
    heading("Serve the page of the fleet");
    let masters = MASTERS.map(|(master, _)| master);
    for ((api, master), port) in APIS.into_iter().zip(masters).zip(web.ports()) {
        let recipe = demo.recipe(Program::Api, master)?;
        demo.start(api, recipe)?;
        let daemon = demo.daemon(api)?;
        let at = ([127, 0, 0, 1], port).into();
        until("the API to listen", PATIENCE, || {
            daemon.check_runs()?;
            Ok(listens(&at).then_some(()))
        })?;
    }
    let open = format!("http://127.0.0.1:{}/fleet/", web.ports()[0]);
    println!("\nOpen {}\n{}", paint(Style::Good, &open), web.login());
    Ok(())
}
