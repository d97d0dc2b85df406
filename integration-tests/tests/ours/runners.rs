//! `salt-run`: functions of the master, their texts, codes and events.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Minion, Output, Program, START, run, until};
use serde_json::{Value, json};

struct Pair {
    master: Master,
    minions: Vec<Minion>,
    fleet: Fleet,
}

impl Pair {
    fn start() -> Result<Self> {
        let fleet = Fleet::new("runners")?;
        let master = fleet
            .master("m1", Kind::Ours)
            .auto_accept()
            .file("web/init.sls", "x: test.nop\n")
            .set("presence_events", true)
            .start()?;
        let mut minions = Vec::new();
        for id in ["web1", "web2"] {
            let minion = fleet.minion(id, Kind::Ours).of(&master);
            minions.push(minion.set("grains", json!({ "role": "web" })).start()?);
            master.wait_minion(id)?;
        }
        Ok(Self {
            master,
            minions,
            fleet,
        })
    }

    fn run(&self, args: &[&str]) -> Result<Output> {
        self.master.tools(Kind::Ours).runner(args)
    }

    /// What a runner returns, through `--out=json`.
    fn returned(&self, args: &[&str]) -> Result<Value> {
        let mut all = args.to_vec();
        all.push("--out=json");
        self.run(&all)?.ok()?.json()
    }
}

/// The id of a job that `--async` has started.
fn jid_of(output: &Output) -> &str {
    output.stdout.trim().rsplit(' ').next().unwrap_or_default()
}

#[test]
fn jobs_are_found_and_described_as_by_salt() -> Result<()> {
    let pair = Pair::start()?;
    let started = pair
        .master
        .salt(&["--async", "*", "test.echo", "kept", "--metadata={a: 1}"])?
        .ok()?;
    let jid = jid_of(&started);
    let both = json!({ "web1": "kept", "web2": "kept" });
    until("both minions to return", START, || {
        Ok((pair.returned(&["jobs.lookup_jid", jid])? == both).then_some(()))
    })?;
    let job = pair.returned(&["jobs.list_job", jid])?;
    let keys: Vec<&String> = job.as_object().context("no job")?.keys().collect();
    // The order of samples/salt-run-jobs.list_job.json.
    assert_eq!(
        keys,
        [
            "jid",
            "Function",
            "Arguments",
            "Target",
            "Target-type",
            "User",
            "Metadata",
            "Minions",
            "StartTime",
            "Result"
        ]
    );
    assert_eq!(job["Minions"], json!(["web1", "web2"]));
    assert_eq!(job["Metadata"], json!({ "a": 1 }));
    assert_eq!(
        job["Result"]["web1"],
        json!({ "return": "kept", "retcode": 0, "success": true })
    );
    let printed = pair.returned(&["jobs.print_job", jid])?;
    assert_eq!(printed[jid]["Function"], "test.echo");
    assert_eq!(
        pair.returned(&["jobs.exit_success", jid])?,
        json!({ "web1": true, "web2": true })
    );
    let listed = pair.returned(&["jobs.list_jobs", "search_function=test.e*"])?;
    assert_eq!(listed.as_object().map(serde_json::Map::len), Some(1));
    assert!(listed[jid].get("Minions").is_none());
    let last = pair.returned(&["jobs.last_run", "function=test.echo"])?;
    assert_eq!(last[jid]["Target"], "*");
    let filtered = pair.returned(&["jobs.list_jobs_filter", "1"])?;
    assert_eq!(filtered.as_array().map(Vec::len), Some(1));
    let missing = pair.returned(&["jobs.lookup_jid", "20991231000000000000"])?;
    assert_eq!(missing, json!({}));
    assert_eq!(pair.returned(&["jobs.active"])?, json!({}));
    Ok(())
}

#[test]
fn a_runner_is_a_job_with_events_of_its_own() -> Result<()> {
    let pair = Pair::start()?;
    let mark = pair.master.events()?.mark();
    let asked = pair
        .run(&["--async", "test.arg", "1", "two", "three=3"])?
        .ok()?;
    ensure!(asked.stdout.is_empty(), "unexpected {asked}");
    ensure!(
        asked
            .stderr
            .contains("This execution is running under tag salt/run/20"),
        "unexpected {asked}"
    );
    let ended =
        pair.master
            .events()?
            .wait_after(mark, "the end of the runner", START, |event| {
                event.tag.starts_with("salt/run/") && event.tag.ends_with("/ret")
            })?;
    assert_eq!(ended.data["fun"], "runner.test.arg");
    assert_eq!(ended.data["fun_args"], json!([1, "two", { "three": 3 }]));
    assert_eq!(ended.data["success"], true);
    let returned = json!({ "args": [1, "two"], "kwargs": { "three": 3 } });
    assert_eq!(ended.data["return"], returned);
    let begun = pair.master.events()?.events();
    ensure!(
        begun.iter().any(|event| event.tag.ends_with("/new")
            && event.data["jid"] == ended.data["jid"]
            && event.data["fun"] == "runner.test.arg"),
        "no event of the start"
    );
    let jid = ended.data["jid"].as_str().context("no jid")?;
    let kept = pair.returned(&["jobs.lookup_jid", jid])?;
    ensure!(
        kept.as_object().is_some_and(|kept| kept
            .values()
            .any(|data| data["return"] == returned && data["fun"] == "runner.test.arg")),
        "unexpected {kept}"
    );
    Ok(())
}

#[test]
fn texts_and_codes_of_runners_are_salts() -> Result<()> {
    let pair = Pair::start()?;
    let unknown = pair.run(&["no.such"])?.ok()?;
    assert_eq!(unknown.stdout, "'no.such' is not available.\n");
    let up = pair.run(&["manage.up"])?.ok()?;
    assert_eq!(up.stdout, "- web1\n- web2\n");
    let status = pair.run(&["manage.status"])?.ok()?;
    assert_eq!(status.stdout, "down:\nup:\n    - web1\n    - web2\n");
    let arg = pair.run(&["test.raw_arg", "false"])?.ok()?;
    assert_eq!(arg.stdout, "args:\n    - False\nkwargs:\n    ----------\n");
    let wrong = pair.run(&["jobs.lookup_jid"])?.ok()?;
    ensure!(
        wrong.stdout.contains(
            "Passed invalid arguments: lookup_jid() missing 1 required positional argument: 'jid'"
        ),
        "unexpected {wrong}"
    );
    let failed = pair
        .run(&["error.error", "name=ValueError", "message=nope"])?
        .exit(1)?;
    ensure!(
        failed
            .stdout
            .starts_with("Exception occurred in runner error.error: ValueError: nope"),
        "unexpected {failed}"
    );
    pair.run(&["--jid=7", "manage.up"])?.exit(64)?;
    let docs = pair.run(&["-d", "manage.up"])?.ok()?;
    ensure!(docs.stdout.starts_with("manage.up:\n"), "unexpected {docs}");
    let quiet = pair.run(&["--quiet", "manage.up"])?.ok()?;
    assert_eq!(quiet.stdout, "");
    let jid = "20301224120000000000";
    pair.run(&["--jid", jid, "test.arg", "x"])?.ok()?;
    let kept = pair.returned(&["jobs.list_job", jid])?;
    assert_eq!(kept["Function"], "runner.test.arg");
    Ok(())
}

#[test]
fn what_the_master_keeps_is_shown_and_forgotten() -> Result<()> {
    let pair = Pair::start()?;
    let grains = pair.returned(&["cache.grains", "web1"])?;
    assert_eq!(grains["web1"]["role"], "web");
    assert_eq!(pair.returned(&["cache.clear_grains", "web1"])?, json!(true));
    assert_eq!(
        pair.returned(&["cache.grains", "web1"])?,
        json!({ "web1": {} })
    );
    pair.master
        .salt(&["web1", "mine.send", "test.ping"])?
        .ok()?;
    assert_eq!(
        pair.returned(&["mine.get", "*", "test.ping"])?,
        json!({ "web1": true })
    );
    assert_eq!(
        pair.returned(&["fileserver.file_list"])?,
        json!(["web/init.sls"])
    );
    assert_eq!(pair.returned(&["fileserver.envs"])?, json!(["base"]));
    assert_eq!(pair.returned(&["config.get", "worker_threads"])?, json!(2));
    let matched = pair.returned(&["match.compound_matches", "G@role:web", "web2"])?;
    assert_eq!(matched, json!({ "res": "web2" }));
    let survey = pair.returned(&["survey.hash", "*", "test.echo", "same"])?;
    assert_eq!(
        survey,
        json!([{ "pool": ["web1", "web2"], "result": "same" }])
    );
    let ran = pair.returned(&["salt.execute", "web1", "test.echo", "arg=[hello]"])?;
    assert_eq!(ran, json!({ "web1": "hello" }));
    let mark = pair.master.events()?.mark();
    assert_eq!(
        pair.returned(&["event.send", "my/tag", "{colour: red}"])?,
        json!(true)
    );
    let event = pair
        .master
        .events()?
        .wait_after(mark, "my/tag", START, |event| event.tag == "my/tag")?;
    assert_eq!(event.data["colour"], "red");
    Ok(())
}

#[test]
fn who_is_gone_is_known_at_once() -> Result<()> {
    let mut pair = Pair::start()?;
    // Who comes and goes within a moment is not told of.
    let named = |list: &Value, id: &str| {
        let ids = list.as_array();
        ids.is_some_and(|ids| ids.iter().any(|name| name == id))
    };
    pair.master
        .events()?
        .wait("web2 to be there", START, |event| {
            event.tag == "salt/presence/change" && named(&event.data["new"], "web2")
        })?;
    let mark = pair.master.events()?.mark();
    if let Some(web2) = pair.minions.last_mut() {
        web2.kill9()?;
    }
    pair.master
        .events()?
        .wait_after(mark, "the loss of web2", START, |event| {
            event.tag == "salt/presence/change" && event.data["lost"] == json!(["web2"])
        })?;
    // Nothing here waits for `timeout` and `gather_job_timeout`.
    assert_eq!(
        pair.returned(&["manage.status"])?,
        json!({ "up": ["web1"], "down": ["web2"] })
    );
    assert_eq!(pair.returned(&["manage.down"])?, json!(["web2"]));
    assert_eq!(pair.returned(&["manage.present"])?, json!(["web1"]));
    assert_eq!(pair.returned(&["manage.not_present"])?, json!(["web2"]));
    let silent = until("the master to give web2 up", START, || {
        let begun = std::time::Instant::now();
        let shown = pair.master.salt(&["-t", "60", "*", "test.ping"])?.exit(1)?;
        // Until it has been away for a while, it may be connecting again.
        Ok((begun.elapsed().as_secs() < 30).then_some(shown))
    })?;
    ensure!(
        silent.stdout.contains(
            "web2:\n    Minion did not return. [Not connected]\n    It has no connection"
        ),
        "unexpected {silent}"
    );
    let unknown = pair
        .master
        .salt(&["-L", "web1,nosuch", "test.ping"])?
        .exit(1)?;
    ensure!(
        unknown
            .stdout
            .contains("nosuch:\n    Minion did not return. [Never seen]"),
        "unexpected {unknown}"
    );
    let versions = pair.returned(&["manage.versions"])?;
    assert_eq!(versions["Minion offline"], json!({ "web2": false }));
    Ok(())
}

#[test]
fn events_are_shown_until_there_were_enough() -> Result<()> {
    let pair = Pair::start()?;
    let tools = pair.master.tools(Kind::Ours);
    let recipe = tools.recipe(
        Program::Run,
        &["state.event", "salt/job/*/ret/web2", "count=1"],
    )?;
    let mut shown = halite_integration_tests::Daemon::new(recipe, pair.fleet.path().join("events"));
    shown.start()?;
    let line = until("an event to be shown", START, || {
        pair.master.check_ping(&["web1", "web2"])?;
        // Before its end a line may be on its way.
        let said = shown.said();
        Ok(said.split_once('\n').map(|(line, _)| line.to_owned()))
    })?;
    let (tag, data) = line.split_once('\t').context("no tab")?;
    let data: Value = serde_json::from_str(data)?;
    ensure!(
        tag.ends_with("/ret/web2") && data["fun"] == "test.ping",
        "unexpected {line}"
    );
    shown.wait_exit(START).map(|code| assert_eq!(code, 0))
}

#[test]
fn the_showing_of_events_outlives_its_master() -> Result<()> {
    let fleet = Fleet::new("shown-events")?;
    let mut master = fleet.master("m1", Kind::Ours).start()?;
    let recipe = master
        .tools(Kind::Ours)
        .recipe(Program::Run, &["state.event", "my/*"])?;
    let log = fleet.path().join("events");
    let mut shown = halite_integration_tests::Daemon::new(recipe, log);
    shown.start()?;
    let is_shown = |master: &Master, tag: &str| {
        until("an event to be shown", START, || {
            let tools = master.tools(Kind::Ours);
            tools.runner(&["event.send", tag])?.ok()?;
            let is_shown = |said: String| said.lines().any(|line| line.starts_with(tag));
            Ok(is_shown(shown.said()).then_some(()))
        })
    };
    // One that is gone is waited for.
    is_shown(&master, "my/first")?;
    master.kill9()?;
    master.start_on_ports()?;
    is_shown(&master, "my/second")?;
    shown.kill9()
}

#[test]
fn masters_of_one_fleet_are_compared() -> Result<()> {
    let fleet = Fleet::new("compare")?;
    let lone = fleet.master("m1", Kind::Ours).start()?;
    let keys = fleet.path().join("keys.sealed");
    let pass = fleet.path().join("pass");
    std::fs::write(&pass, "a long passphrase\n")?;
    let (keys, pass) = (keys.display().to_string(), pass.display().to_string());
    lone.key(&["--export", &keys, "--passphrase-file", &pass])?
        .ok()?;
    let mut second = fleet.master("m2", Kind::Ours).lay()?;
    second
        .key(&["--import", &keys, "--passphrase-file", &pass])?
        .ok()?;
    second.start()?;
    let address = second.address().request().to_string();
    let tools = lone.tools(Kind::Ours);
    let same = tools
        .runner(&["masters.compare", &address, "--out=json"])?
        .ok()?
        .json()?;
    assert_eq!(same[0]["agree"], true, "{same}");

    std::fs::write(second.dir().join("srv/more"), "x")?;
    let other = until("the difference to be seen", START, || {
        let compared = tools.runner(&["masters.compare", &address, "--out=json"])?;
        let rows = compared.json()?;
        Ok((rows[0]["topic"] == "file_roots").then_some(compared))
    })?;
    assert_eq!(other.code, 1, "{other}");

    let stranger = fleet.master("m3", Kind::Ours).start()?;
    let address = stranger.address().request().to_string();
    let other = tools
        .runner(&["masters.compare", &address, "--out=json"])?
        .exit(1)?
        .json()?;
    assert_eq!(other[0]["topic"], "key pair", "{other}");
    // And the second master keeps what it has.
    let refused = stranger.key(&["--import", &keys, "--passphrase-file", &pass])?;
    assert_eq!(refused.code, 1, "{refused}");
    Ok(())
}

/// A killed job has not succeeded, whatever text it returned; and a question
/// that costs nothing does not wait behind work.
#[test]
fn a_killed_job_has_failed_and_work_holds_no_question_up() -> Result<()> {
    let fleet = Fleet::new("killed")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let _web1 = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .set("process_count_max", 1)
        .start()?;
    master.wait_minion("web1")?;
    let runner = |args: &[&str]| master.tools(Kind::Ours).runner(args)?.ok()?.json();
    for command in [
        "test.sleep 600",
        "cmd.run 'echo some; sleep 600'",
        "test.sleep 600",
    ] {
        let words = match command.strip_prefix("cmd.run ") {
            Some(line) => vec!["cmd.run", line.trim_matches('\'')],
            None => command.split(' ').collect(),
        };
        let args = [&["--async", "web1"], words.as_slice()].concat();
        let started = master.salt(&args)?.ok()?;
        let jid = jid_of(&started).to_owned();
        until("the job to run", START, || {
            let found = master.returns(&["web1", "saltutil.find_job", &jid])?;
            Ok((found["web1"] != json!({})).then_some(()))
        })?;
        ensure!(master.returns(&["web1", "test.ping"])?["web1"] == json!(true));
        ensure!(master.returns(&["web1", "test.version"])?["web1"] != json!(false));
        ensure!(master.returns(&["web1", "grains.get", "id"])?["web1"] == json!("web1"));
        ensure!(master.returns(&["web1", "status.loadavg"])?["web1"]["1-min"].is_number());
        master.returns(&["web1", "saltutil.kill_job", &jid])?;
        until("the killed job to return", START, || {
            let returned = runner(&["jobs.lookup_jid", &jid, "--out=json"])?;
            Ok(returned.get("web1").is_some().then_some(()))
        })?;
        let good = runner(&["jobs.exit_success", &jid, "--out=json"])?;
        ensure!(good == json!({ "web1": false }), "{command}: {good}");
    }
    Ok(())
}

/// `salt-run` ends when its master dies, as `salt` does.
#[test]
fn a_runner_whose_master_dies_ends() -> Result<()> {
    for how in ["kill", "restart"] {
        let fleet = Fleet::new("dies")?;
        let mut master = fleet.master("m1", Kind::Ours).start()?;
        let recipe = master
            .tools(Kind::Ours)
            .recipe(Program::Run, &["test.sleep", "600"])?;
        let running = std::thread::spawn(move || run(&recipe, START));
        until("the runner to run", START, || {
            let proc = std::fs::read_dir(master.dir().join("cache/proc"))?;
            Ok((proc.count() > 0).then_some(()))
        })?;
        master.kill9()?;
        if how == "restart" {
            master.start()?;
        }
        let output = running
            .join()
            .map_err(|_| anyhow::anyhow!("it panicked"))??;
        ensure!(output.code == 1, "{how}: {output}");
    }
    Ok(())
}
