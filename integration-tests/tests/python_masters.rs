//! Our minion with the masters of real Salt.

use std::fs;

use halite_integration_tests::chaos::publish;
use halite_integration_tests::proxy::Proxy;
use halite_integration_tests::{
    Emulator, Fleet, Kind, START, for_each_salt, pillar_scenarios, scenarios, state_scenarios,
    until,
};
use serde_json::json;

const OURS: Kind = Kind::Ours;

for_each_salt! {
    fn a_key_is_accepted_and_the_minion_answers(master) scenarios::key_is_accepted_and_the_minion_answers(master, OURS);
    fn commands_run(master) scenarios::commands_run(master, OURS);
    fn grains_are_reported(master) scenarios::grains_are_reported(master, OURS);
    fn files_arrive(master) scenarios::files_arrive(master, OURS);
    fn files_go_in_pieces(master) scenarios::files_go_in_pieces(master, OURS);
    fn the_mine_keeps_and_gives(master) scenarios::the_mine_keeps_and_gives(master, OURS);
    fn salt_call_reaches_the_master(master) scenarios::salt_call_reaches_the_master(master, OURS);
    fn a_deleted_key_has_no_access(master) scenarios::a_deleted_key_has_no_access(master, OURS);
    fn the_minion_survives_its_master(master) scenarios::the_minion_survives_its_master(master, OURS);
    fn a_long_command_is_waited_for(master) scenarios::a_long_command_is_waited_for(master, OURS);
    fn a_second_key_under_one_name_is_denied(master) scenarios::a_second_key_under_one_name_is_denied(master, OURS);
    fn pillars_reach_the_minion(master) pillar_scenarios::pillars_reach_the_minion(master, OURS);
    fn a_small_tree_is_applied(master) scenarios::a_small_tree_is_applied(master, OURS);
    fn states_are_applied(master) state_scenarios::states_are_applied(master, OURS);
    fn one_run_at_a_time(master) state_scenarios::one_run_at_a_time(master, OURS);

    fn an_emulated_fleet_works(master) {
        const COUNT: u32 = 20;
        let fleet = Fleet::new("herd")?;
        let master = fleet.master("m1", master).auto_accept().start()?;
        let herd = Emulator::start(&fleet, &master, (0, COUNT), &["--state-bytes", "3000"])?;
        herd.wait_ready(COUNT, START * 2)?;
        let all = |function: &str| master.returns(&["emu*", function, "--static", "-t", "60"]);
        let pings = all("test.ping")?;
        assert_eq!(pings.len(), COUNT as usize, "{pings:?}");
        assert!(pings.values().all(|answer| *answer == json!(true)), "{pings:?}");
        let runs = all("state.apply")?;
        assert_eq!(runs.len(), COUNT as usize);
        assert!(runs.values().all(|run| run.to_string().len() > 2000), "{runs:?}");
        herd.stop()
    };

    fn scheduled_jobs_return(master) {
        let fleet = Fleet::new("schedule")?;
        let master = fleet.master("m1", master).start()?;
        let schedule = json!({ "j": { "function": "test.arg", "args": [1], "seconds": 2,
            "metadata": { "a": 1 } } });
        let minion = fleet.minion("web1", OURS).of(&master).set("schedule", schedule).start()?;
        master.accept(minion.id())?;
        let event = master.events()?.wait("the return of a scheduled job", START, |event| {
            event.tag.contains("/ret/web1") && event.data["schedule"] == "j"
        })?;
        assert_eq!(event.data["return"]["args"], json!([1]));
        assert_eq!(event.data["metadata"]["a"], json!(1));
        Ok(())
    };

    fn a_large_return_arrives_over_a_slow_wire(master) {
        // More than the wire carries, and the buffers of the system hold, in twice the
        // time that a delivery may stand still.
        const RETURN_BYTES: usize = 15_000_000;
        const BYTES_PER_S: usize = 1_250_000;
        let fleet = Fleet::new("slow")?;
        let master = fleet.master("m1", master).start()?;
        let proxy = Proxy::before(&master)?;
        let minion = fleet.minion("web1", OURS).set("master", json!([proxy.request().to_string()]))
            .set("return_retry_timer", 1).set("return_retry_timer_max", 1).start()?;
        master.accept(minion.id())?;
        proxy.set_pace(BYTES_PER_S);
        let before = proxy.passed_to_master();
        let command = format!("head -c {RETURN_BYTES} /dev/zero | tr '\\0' x");
        let jid = publish(&master, "web1", &command)?;
        let tag = format!("salt/job/{jid}/ret/web1");
        master.events()?.wait(&tag, START * 2, |event| event.tag == tag)?;
        let asked = ["jobs.lookup_jid", &jid, "--out=json"];
        let kept = master.tools(master.kind()).runner(&asked)?.ok()?.json()?;
        assert_eq!(kept["web1"].as_str().map(str::len), Some(RETURN_BYTES));
        let passed = proxy.passed_to_master() - before;
        assert!(passed < RETURN_BYTES * 5 / 4, "{passed} bytes were sent");
        Ok(())
    };

    fn our_salt_asks_nothing_that_the_master_does_not_know(master) {
        let fleet = Fleet::new("asks")?;
        let master = fleet.master("m1", master).set("log_level_logfile", "debug").start()?;
        let minion = fleet.minion("web1", OURS).of(&master).start()?;
        master.accept(minion.id())?;
        let tools = master.tools(OURS);
        tools.salt(&["web1", "cmd.run", "sleep 3; echo there"])?.ok()?;
        tools.runner(&["jobs.active"])?.ok()?;
        let log = fs::read_to_string(master.dir().join("log"))?;
        assert!(log.contains("cmd.run"), "nothing is logged");
        let complaints = log.lines().filter(|line| line.contains("not exposed"));
        assert_eq!(complaints.collect::<Vec<_>>(), [""; 0]);
        Ok(())
    };

    fn events_of_beacons_arrive(master) {
        let fleet = Fleet::new("beacons")?;
        let master = fleet.master("m1", master).start()?;
        let log = fleet.path().join("log");
        fs::write(&log, "")?;
        let beacons = json!({ "log": [{ "file": log.display().to_string() },
            { "tags": { "a/b": { "regex": ".*bye" } } }] });
        let minion = fleet.minion("web1", OURS).of(&master).set("beacons", beacons)
            .set("loop_interval", json!(0.1)).start()?;
        master.accept(minion.id())?;
        let seen = || -> anyhow::Result<Vec<String>> {
            let events = master.events()?.events().into_iter();
            let told = events.filter(|event| event.tag == "salt/beacon/web1/log/a/b");
            Ok(told.map(|event| event.data["raw"].as_str().unwrap_or_default().to_owned()).collect())
        };
        let mut lines = Vec::new();
        until("the beacon to look", START, || {
            lines.push(format!("bye {}", lines.len()));
            fs::write(&log, lines.join("\n") + "\n")?;
            Ok((!seen()?.is_empty()).then_some(()))
        })?;
        // Many at once go together, and each arrives once.
        lines.extend((0..50).map(|number| format!("bye more {number}")));
        fs::write(&log, lines.join("\n") + "\n")?;
        let told = until("the last one", START, || {
            let told = seen()?;
            Ok(told.iter().any(|line| line == "bye more 49").then_some(told))
        })?;
        assert!(lines.ends_with(&told), "got {told:?}");
        Ok(())
    };
}
