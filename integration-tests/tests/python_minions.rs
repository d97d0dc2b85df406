//! Our master with the minions of real Salt.

use std::thread;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::chaos::publish;
use halite_integration_tests::{
    Fleet, FullDisk, Kind, Master, Program, SHORT, START, for_each_salt, pillar_scenarios, run,
    scenarios, state_scenarios, until,
};
use serde_json::{Value, json};

const OURS: Kind = Kind::Ours;

for_each_salt! {
    fn a_key_is_accepted_and_the_minion_answers(minion) scenarios::key_is_accepted_and_the_minion_answers(OURS, minion);
    fn commands_run(minion) scenarios::commands_run(OURS, minion);
    fn grains_are_reported(minion) scenarios::grains_are_reported(OURS, minion);
    fn files_arrive(minion) scenarios::files_arrive(OURS, minion);
    fn files_go_in_pieces(minion) scenarios::files_go_in_pieces(OURS, minion);
    fn a_small_tree_is_applied(minion) scenarios::a_small_tree_is_applied(OURS, minion);
    fn the_mine_keeps_and_gives(minion) scenarios::the_mine_keeps_and_gives(OURS, minion);
    fn salt_call_reaches_the_master(minion) scenarios::salt_call_reaches_the_master(OURS, minion);
    fn a_deleted_key_has_no_access(minion) scenarios::a_deleted_key_has_no_access(OURS, minion);
    fn the_minion_survives_its_master(minion) scenarios::the_minion_survives_its_master(OURS, minion);
    fn who_connects_again_is_waited_for(minion) waited_for_while_it_connects_again(minion);
    fn a_result_waits_for_a_master_that_cannot_store_it(minion) result_waits_for_the_job_cache(minion);
    fn a_long_command_is_waited_for(minion) scenarios::a_long_command_is_waited_for(OURS, minion);
    fn a_second_key_under_one_name_is_denied(minion) scenarios::a_second_key_under_one_name_is_denied(OURS, minion);
    fn pillars_reach_the_minion(minion) pillar_scenarios::pillars_reach_the_minion(OURS, minion);
    fn states_are_applied(minion) state_scenarios::states_are_applied(OURS, minion);
}

/// A minion of Salt's brings a result once, and takes any answer for a success: that of a
/// command, and that of a job which it has given itself.
fn result_waits_for_the_job_cache(minion: Kind) -> Result<()> {
    let fleet = Fleet::new("unkept")?;
    let master = fleet.master("m1", OURS).auto_accept().start()?;
    let minion = fleet.minion("web1", minion).of(&master).start()?;
    master.wait_minion("web1")?;
    let jobs = FullDisk::at(&master.dir().join("cache/jobs"))?;
    let jid = publish(&master, "web1", "echo kept")?;
    wait_in_memory(&master, 1)?;
    minion.call(&["test.echo", "its own"])?.ok()?;
    wait_in_memory(&master, 2)?;
    let warned = master.salt(&["web1", "test.ping"])?.ok()?;
    let warning = "are kept in this master's memory";
    ensure!(warned.stderr.contains(warning), "unexpected {warned}");
    jobs.mend()?;
    until("the result to be stored", SHORT, || {
        let shown = runner(&master, &["jobs.lookup_jid", &jid])?;
        Ok((shown["web1"] == "kept").then_some(()))
    })?;
    let own = until("the minion's own job to be stored", SHORT, || {
        let listed = runner(&master, &["jobs.list_jobs", "search_function=test.echo"])?;
        let first = listed.as_object().and_then(|jobs| jobs.keys().next());
        Ok(first.cloned())
    })?;
    let shown = runner(&master, &["jobs.lookup_jid", &own])?;
    ensure!(shown == json!({ "web1": "its own" }), "unexpected {shown}");
    Ok(())
}

/// Waits until so many results wait in the master's memory.
fn wait_in_memory(master: &Master, count: u64) -> Result<()> {
    until("results to be in memory", START, || {
        let status = runner(master, &["store.status"])?;
        Ok((status["jobs"]["in_memory"]["count"] == count).then_some(()))
    })
}

fn runner(master: &Master, words: &[&str]) -> Result<Value> {
    let said = master
        .tools(OURS)
        .runner(&[words, &["--out=json"]].concat())?;
    Ok(serde_json::from_str(&said.ok()?.stdout)?)
}

/// A job runs while the master is started anew. By default a minion of Salt's
/// takes up to 11 s before it connects again, which says nothing of the job.
fn waited_for_while_it_connects_again(minion: Kind) -> Result<()> {
    let fleet = Fleet::new("again")?;
    let mut master = fleet.master("m1", OURS).auto_accept().start()?;
    let _minion = fleet
        .minion("web1", minion)
        .of(&master)
        .set("recon_default", 8000)
        .set("recon_max", 8000)
        .start()?;
    master.wait_minion("web1")?;
    let words = ["-t", "40", "web1", "test.sleep", "12", "--out=json"];
    let salt = master.tools(OURS).recipe(Program::Salt, &words)?;
    let waiting = thread::spawn(move || run(&salt, SHORT));
    until("the job to run", START, || {
        let running = master.salt(&["web1", "saltutil.is_running", "test.sleep", "--out=json"])?;
        let running = running.ok()?.of("web1")?;
        Ok(running
            .as_array()
            .is_some_and(|jobs| !jobs.is_empty())
            .then_some(()))
    })?;
    master.kill9()?;
    master.start()?;
    let shown = waiting.join().ok().context("a panic")??.ok()?;
    ensure!(shown.of("web1")? == json!(true), "unexpected {shown}");
    Ok(())
}
