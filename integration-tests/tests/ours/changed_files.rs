//! Files that change on the master between runs of states: each run uses the files
//! at its beginning, although the minion remembers what the last one has read.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master};

#[test]
fn each_run_reads_the_files_of_now() -> Result<()> {
    let fleet = Fleet::new("changed-files")?;
    let target = fleet.path().join("target");
    let web = format!(
        "{{% from 'map.jinja' import word %}}\n{}:\n  file.managed:\n    - source: salt://text.jinja\n    \
         - template: jinja\n    - context: {{word: {{{{ word }}}}}}\n",
        target.display()
    );
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("web.sls", &web)
        .file("map.jinja", "{% set word = 'one' %}")
        .file("text.jinja", "{{ word }} here\n")
        .start()?;
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let srv = master.dir().join("srv");
    let reads = |wanted: &str| -> Result<()> {
        let good = apply(&master)?;
        let text = fs::read_to_string(&target)?;
        ensure!(good && text == wanted, "{text:?} is not {wanted:?}");
        Ok(())
    };
    reads("one here\n")?;
    reads("one here\n")?;
    // Of the same length and at once: only the content tells.
    fs::write(srv.join("map.jinja"), "{% set word = 'two' %}")?;
    reads("two here\n")?;
    fs::write(srv.join("text.jinja"), "{{ word }} over\n")?;
    reads("two over\n")?;
    fs::remove_file(srv.join("map.jinja"))?;
    ensure!(!apply(&master)?, "what is gone is still imported");
    fs::write(srv.join("map.jinja"), "{% set word = 'one' %}")?;
    reads("one over\n")
}

fn apply(master: &Master) -> Result<bool> {
    let done = master.salt(&["web1", "state.apply", "web", "--out=json"])?;
    Ok(done.code == 0)
}
