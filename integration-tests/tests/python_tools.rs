//! Real Salt's own programs and its Python interface against our running
//! master, and our programs against a master of real Salt.

#[path = "python_tools/caches.rs"]
mod caches;
#[path = "python_tools/git_cases.rs"]
mod git_cases;
#[path = "python_tools/git_masterless.rs"]
mod git_masterless;
#[path = "python_tools/git_pillars.rs"]
mod git_pillars;
#[path = "python_tools/git_remotes.rs"]
mod git_remotes;
#[path = "python_tools/git_runners.rs"]
mod git_runners;
#[path = "python_tools/git_servers.rs"]
mod git_servers;
#[path = "python_tools/git_shared.rs"]
mod git_shared;
#[path = "python_tools/late.rs"]
mod late;
#[path = "python_tools/one_server.rs"]
mod one_server;
#[path = "python_tools/stores.rs"]
mod stores;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{
    Daemon, Fleet, Kind, Master, Minion, Output, Ports, Program, START, for_each_salt, until,
};
use serde_json::{Value, json};

/// Our master with two minions of ours.
struct Ours {
    fleet: Fleet,
    master: Master,
    _minions: [Minion; 2],
}

impl Ours {
    fn start() -> Result<Self> {
        Self::start_with(json!({}))
    }

    /// With users who may log in.
    fn start_with(external_auth: Value) -> Result<Self> {
        let fleet = Fleet::new("tools")?;
        let plan = fleet.master("m1", Kind::Ours);
        let master = plan.set("external_auth", external_auth).start()?;
        let minions = [
            fleet.minion("web1", Kind::Ours).of(&master).start()?,
            fleet.minion("web2", Kind::Ours).of(&master).start()?,
        ];
        for minion in &minions {
            master.accept(minion.id())?;
        }
        Ok(Self {
            fleet,
            master,
            _minions: minions,
        })
    }
}

/// The ids of each state that `salt-key -L` lists.
fn keys(output: Output) -> Result<Value> {
    output.ok()?.json()
}

/// A listener and sender on a minion's bus: hears what it sends, and asks the
/// scheduler.
const BUS: &str = r#"
import json, os, time
import salt.config, salt.utils.event
opts = salt.config.minion_config("MINION")
bus = salt.utils.event.get_event("minion", opts=opts, listen=True)
found = {}
end = time.monotonic() + 60
while time.monotonic() < end and not found.get("own"):
    bus.fire_event({"a": 1}, "custom/tag")
    found["own"] = bus.get_event(tag="custom/tag", wait=1)
found["own"].pop("_stamp", None)
job = {"j": {"function": "test.ping", "minutes": 5}}
bus.fire_event({"func": "add", "name": "j", "schedule": job, "persist": False}, "manage_schedule")
answer = bus.get_event(tag="/salt/minion/minion_schedule_add_complete", wait=60)
found["schedule"] = answer["schedule"]
bus.fire_event({"tag": "for/master", "data": {"b": 2}, "events": None, "pretag": None}, "fire_master")
print(json.dumps(found), flush=True)
# Salt 3008 waits for ever for its own sockets otherwise.
os._exit(0)
"#;

const LOCAL_CLIENT: &str = r#"
import json, sys, time
import salt.client
local = salt.client.LocalClient(sys.argv[1])
found = {}
found["cmd"] = local.cmd("*", "test.ping", timeout=60)
found["full"] = local.cmd("web1", "cmd.run", ["echo hi; exit 3"], full_return=True, timeout=60)
found["list"] = local.cmd(["web2"], "test.arg", [1, "two"], tgt_type="list", kwarg={"three": 3}, timeout=60)
found["iter"] = sorted(sorted(part) for part in local.cmd_iter("*", "test.ping", timeout=60))
found["nobody"] = local.cmd("nobody", "test.ping", timeout=60)
job = local.run_job("*", "test.echo", ["kept"], timeout=60)
found["expected"] = sorted(job["minions"])
end = time.monotonic() + 60
while time.monotonic() < end:
    found["cached"] = local.get_cache_returns(job["jid"])
    if len(found["cached"]) == 2:
        break
print(json.dumps(found))
"#;

/// What `salt-api` asks of a master, whatever web server is in front of it.
const NETAPI: &str = r#"
import json, time
import salt.config, salt.netapi
opts = salt.config.client_config("MASTER")
opts["netapi_enable_clients"] = ["local", "local_async", "local_batch", "local_subset", "runner", "wheel"]
api = salt.netapi.NetapiClient(opts)
def ask(client, fun, **more):
    login = {"eauth": "auto", "username": "alice", "password": "x"}
    return api.run({"client": client, "fun": fun, **login, **more})
def refused(*args, **kwargs):
    try:
        return ask(*args, **kwargs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
found = {}
found["local"] = ask("local", "test.ping", tgt="*")
jid = ask("local_async", "test.echo", tgt="web1", arg=["later"])["jid"]
end = time.monotonic() + 60
while time.monotonic() < end and not found.get("returned"):
    found["returned"] = ask("runner", "jobs.lookup_jid", jid=jid)
found["subset"] = len(ask("local_subset", "test.ping", tgt="*", subset=1))
found["batch"] = {}
for part in ask("local_batch", "test.ping", tgt="*", batch="1"):
    found["batch"].update(part)
found["runner"] = sorted(ask("runner", "manage.up"))
found["wheel"] = ask("wheel", "key.list", match="accepted")["data"]["return"]["minions"]
found["password"] = refused("local", "test.ping", tgt="*", username="bob")
found["function"] = refused("local", "cmd.run", tgt="*", arg=["id"])
found["runner_password"] = refused("runner", "manage.up", username="bob")
print(json.dumps(found))
"#;

for_each_salt! {
    fn salt_of_python_commands_our_master(tool) {
        let ours = Ours::start()?;
        let tools = ours.master.tools(tool);
        tools.check_ping(&["web1", "web2"])?;
        let text = tools.salt(&["web1", "test.ping"])?.ok()?;
        assert_eq!(text.stdout, "web1:\n    True\n");
        let failed = tools.salt(&["web1", "cmd.run", "echo hi; exit 7"])?.exit(1)?;
        assert_eq!(failed.stdout, "web1:\n    hi\n");
        let listed = tools.salt(&["-L", "web1,web2", "grains.get", "id", "--out=json"])?.ok()?;
        assert_eq!(Value::Object(listed.by_minion()?), json!({ "web1": "web1", "web2": "web2" }));
        let nobody = tools.salt(&["nobody", "test.ping"])?.exit(2)?;
        ensure!(nobody.stdout.contains("No minions matched the target."), "unexpected {nobody}");
        // A job that takes longer than the timeout is asked after, not given up.
        let slow = tools.salt(&["-t", "1", "web1", "test.sleep", "4", "--out=json"])?.ok()?;
        assert_eq!(slow.of("web1")?, json!(true));
        Ok(())
    };

    fn salt_run_of_python_finds_our_jobs(tool) {
        let ours = Ours::start()?;
        let tools = ours.master.tools(tool);
        let started = ours.master.salt(&["--async", "*", "test.echo", "kept"])?.ok()?;
        let jid = started.stdout.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        let found = until("both minions to return", START, || {
            let found = tools.runner(&["jobs.lookup_jid", &jid, "--out=json"])?.ok()?.json()?;
            Ok(found.as_object().is_some_and(|found| found.len() == 2).then_some(found))
        })?;
        assert_eq!(found, json!({ "web1": "kept", "web2": "kept" }));
        let job = tools.runner(&["jobs.list_job", &jid, "--out=json"])?.ok()?.json()?;
        assert_eq!(job["Function"], "test.echo");
        assert_eq!(job["Target"], "*");
        assert_eq!(job["Arguments"], json!(["kept"]));
        assert_eq!(job["Minions"], json!(["web1", "web2"]));
        assert_eq!(job["Result"]["web1"]["return"], "kept");
        let up = tools.runner(&["manage.up", "--out=json"])?.ok()?.json()?;
        assert_eq!(up, json!(["web1", "web2"]));
        Ok(())
    };

    fn salt_key_of_python_decides_for_our_master(tool) {
        let fleet = Fleet::new("keys")?;
        let master = fleet.master("m1", Kind::Ours).start()?;
        let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
        let tools = master.tools(tool);
        master.wait_key("web1", halite_integration_tests::KeyState::Pending)?;
        let listed = keys(tools.key(&["-L", "--out=json"])?)?;
        assert_eq!(listed["minions_pre"], json!(["web1"]));
        tools.key(&["-y", "-a", "web1"])?.ok()?;
        master.wait_minion("web1")?;
        master.check_ping(&["web1"])?;

        let theirs = tools.key(&["-p", "web1", "--out=json"])?.ok()?.json()?;
        let ours = master.key(&["-p", "web1", "--out=json"])?.ok()?.json()?;
        assert_eq!(theirs, ours);

        let mark = master.events()?.mark();
        tools.key(&["-y", "-d", "web1"])?.ok()?;
        master.salt(&["web1", "test.ping"])?.exit(2)?;
        master.events()?.wait_after(mark, "the rotation of the publish key", START, |event| event.tag == "key")?;
        let called = minion.call(&["-t", "2", "test.ping"])?;
        ensure!(called.code != 0, "a deleted minion was served: {called}");
        Ok(())
    };

    fn salt_run_of_python_shows_our_events(tool) {
        let ours = Ours::start()?;
        let recipe = ours.master.tools(tool).recipe(Program::Run, &["state.event", "salt/job/*/ret/web2"])?;
        let mut shown = Daemon::new(recipe, ours.fleet.path().join("events"));
        shown.start()?;
        let line = until("an event to be shown", START, || {
            shown.check_runs()?;
            ours.master.check_ping(&["web1", "web2"])?;
            // The last one may be on its way.
            let said = shown.said();
            let (whole, _) = said.rsplit_once('\n').unwrap_or_default();
            Ok(whole.lines().find(|line| line.starts_with("salt/job/")).map(str::to_owned))
        })?;
        let (tag, data) = line.split_once('\t').with_context(|| format!("no tab in {line}"))?;
        let data: Value = serde_json::from_str(data)?;
        ensure!(tag.ends_with("/ret/web2") && data["fun"] == "test.ping" && data["return"] == true, "unexpected {line}");
        Ok(())
    };

    fn local_client_of_python_works_with_our_master(tool) {
        let ours = Ours::start()?;
        let output = ours.master.tools(tool).python(LOCAL_CLIENT)?.ok()?;
        let last = output.stdout.lines().last().context("no output")?;
        let found: Value = serde_json::from_str(last).with_context(|| output.to_string())?;
        let both = json!({ "web1": true, "web2": true });
        assert_eq!(found["cmd"], both);
        assert_eq!(found["full"]["web1"]["ret"], "hi");
        assert_eq!(found["full"]["web1"]["retcode"], 3);
        assert_eq!(found["list"]["web2"]["args"], json!([1, "two"]));
        assert_eq!(found["list"]["web2"]["kwargs"]["three"], 3);
        assert_eq!(found["iter"], json!([["web1"], ["web2"]]));
        assert_eq!(found["nobody"], json!({}));
        assert_eq!(found["expected"], json!(["web1", "web2"]));
        assert_eq!(found["cached"]["web1"]["ret"], "kept");
        assert_eq!(found["cached"]["web2"]["ret"], "kept");
        Ok(())
    };

    fn our_salt_commands_a_python_master(theirs) {
        let fleet = Fleet::new("theirs")?;
        let master = fleet.master("m1", theirs).start()?;
        let _minion = fleet.minion("web1", theirs).of(&master).start()?;
        master.accept("web1")?;
        let tools = master.tools(Kind::Ours);
        tools.check_ping(&["web1"])?;
        let failed = tools.salt(&["web1", "cmd.run", "echo hi; exit 7"])?.exit(1)?;
        assert_eq!(failed.stdout, "web1:\n    hi\n");
        ensure!(failed.stderr.contains("ERROR: Minions returned with non-zero exit code"), "unexpected {failed}");
        tools.salt(&["nobody", "test.ping"])?.exit(2)?;
        let slow = tools.salt(&["-t", "1", "web1", "test.sleep", "4", "--out=json"])?.ok()?;
        assert_eq!(slow.of("web1")?, json!(true));
        let started = tools.salt(&["--async", "web1", "test.ping"])?.ok()?;
        ensure!(started.stdout.starts_with("Executed command with job ID: "), "unexpected {started}");
        Ok(())
    };

    fn our_salt_run_runs_at_a_python_master(theirs) {
        let fleet = Fleet::new("theirs")?;
        let master = fleet.master("m1", theirs).start()?;
        let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
        master.accept("web1")?;
        let tools = master.tools(Kind::Ours);
        let up = tools.runner(&["manage.up", "--out=json"])?.ok()?.json()?;
        assert_eq!(up, json!(["web1"]));
        let arg = tools.runner(&["test.arg", "1", "two", "three=3", "--out=json"])?.ok()?.json()?;
        assert_eq!(arg, json!({ "args": [1, "two"], "kwargs": { "three": 3 } }));
        let started = tools.salt(&["--async", "web1", "test.echo", "kept"])?.ok()?;
        let jid = started.stdout.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        let found = until("the minion to return", START, || {
            let found = tools.runner(&["jobs.lookup_jid", &jid, "--out=json"])?.ok()?.json()?;
            Ok((found != json!({})).then_some(found))
        })?;
        assert_eq!(found, json!({ "web1": "kept" }));
        let batch = tools.salt(&["*", "test.ping", "-b", "1", "--out=json"])?.ok()?;
        ensure!(batch.stdout.contains("\"web1\": true"), "unexpected {batch}");
        let docs = tools.runner(&["-d", "manage.up"])?.ok()?;
        ensure!(docs.stdout.starts_with("manage.up:\n"), "unexpected {docs}");
        // Its process dies without a return, or returns a traceback.
        let none = tools.runner(&["no.such"])?.exit(1)?;
        ensure!(!none.to_string().contains("Traceback"), "unexpected {none}");
        Ok(())
    };

    fn salt_of_python_logs_in_at_our_master(tool) {
        let fleet = Fleet::new("login")?;
        let rules = json!({ "auto": { "alice": [{ "*": ["test.*"] }, "@runner"] } });
        let master = fleet.master("m1", Kind::Ours).set("external_auth", rules).start()?;
        let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
        master.accept("web1")?;
        let tools = master.tools(tool);
        let login = ["-a", "auto", "--username", "alice", "--password", "x"];
        let with_login = |more: &[&'static str]| [&login[..], more].concat();
        let ping = tools.salt(&with_login(&["*", "test.ping", "--out=json"]))?.ok()?;
        assert_eq!(ping.of("web1")?, json!(true));
        let denied = tools.salt(&with_login(&["*", "cmd.run", "id"]))?;
        ensure!(denied.stdout.contains("Authorization error occurred."), "unexpected {denied}");
        let up = tools.runner(&with_login(&["manage.up", "--out=json"]))?.ok()?;
        assert_eq!(up.json()?, json!(["web1"]));
        Ok(())
    };

    fn the_client_of_salt_api_works_with_our_master(tool) {
        let ours = Ours::start_with(json!({ "auto": { "alice": ["test.*", "sys.list_functions", "@runner", "@wheel"] } }))?;
        let conf = ours.master.dir().join("master").display().to_string();
        let script = NETAPI.replace("MASTER", &conf);
        let said = ours.master.tools(tool).python(&script)?.ok()?.json()?;
        assert_eq!(said["local"], json!({ "web1": true, "web2": true }), "{said}");
        assert_eq!(said["returned"], json!({ "web1": "later" }), "{said}");
        assert_eq!(said["subset"], json!(1), "{said}");
        assert_eq!(said["batch"], json!({ "web1": true, "web2": true }), "{said}");
        assert_eq!(said["runner"], json!(["web1", "web2"]), "{said}");
        assert_eq!(said["wheel"], json!(["web1", "web2"]), "{said}");
        for wrong in ["password", "function", "runner_password"] {
            let refused = said[wrong].as_str().unwrap_or_default();
            ensure!(refused.contains("Error"), "{wrong}: {said}");
        }
        Ok(())
    };

    fn a_batch_that_salt_of_python_begins_goes_on_at_our_master(tool) {
        let ours = Ours::start()?;
        let started = ours.master.tools(tool).salt(&["--async", "-b", "1", "*", "test.echo", "part"])?.ok()?;
        // Older releases wait for their batches and show what came.
        if tool != Kind::Salt3008 {
            ensure!(started.stdout.matches("part").count() == 2, "unexpected {started}");
            return Ok(());
        }
        let jid = started.stdout.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        let complete = format!("salt/batch/{jid}/complete");
        let done = ours.master.events()?.wait("the batch to complete", START, |event| event.tag == complete)?;
        assert_eq!((&done.data["completed"], &done.data["failed"]), (&json!(2), &json!(0)));
        let status = ours.master.tools(tool).runner(&["batch.status", &jid, "--out=json"])?.ok()?.json()?;
        assert_eq!((&status["completed"], &status["pending"]), (&json!(2), &json!(0)));
        let active = ours.master.tools(tool).runner(&["batch.list_active", "--out=json"])?.ok()?.json()?;
        assert_eq!(active, json!([]));
        Ok(())
    };

    fn our_salt_key_decides_for_a_python_master(theirs) {
        let fleet = Fleet::new("keys")?;
        let master = fleet.master("m1", theirs).start()?;
        let _minion = fleet.minion("web1", theirs).of(&master).start()?;
        let tools = master.tools(Kind::Ours);
        master.wait_key("web1", halite_integration_tests::KeyState::Pending)?;
        let ours = keys(tools.key(&["-L", "--out=json"])?)?;
        assert_eq!(ours, keys(master.key(&["-L", "--out=json"])?)?);
        assert_eq!(ours["minions_pre"], json!(["web1"]));
        tools.key(&["-y", "-a", "web1"])?.ok()?;
        master.wait_minion("web1")?;
        master.check_ping(&["web1"])?;
        let ours = keys(tools.key(&["-L", "--out=json"])?)?;
        assert_eq!(ours, keys(master.key(&["-L", "--out=json"])?)?);

        let mark = master.events()?.mark();
        tools.key(&["-y", "-d", "web1"])?.ok()?;
        master.salt(&["web1", "test.ping"])?.exit(2)?;
        master.events()?.wait_after(mark, "the rotation of the publish key", START, |event| event.tag == "key")?;
        Ok(())
    };

    fn python_attaches_to_the_bus_of_our_minion(tool) {
        let ports = Ports::<2>::claim()?;
        let [publish, pull] = ports.numbers;
        let fleet = Fleet::new("bus")?;
        let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
        for mode in ["ipc", "tcp"] {
            let plan = fleet.minion(&format!("{mode}1"), Kind::Ours).of(&master);
            let plan = plan.set("ipc_mode", mode).set("tcp_pub_port", publish);
            // Who is at the other end of a TCP connection cannot be told.
            let framing = match (mode, tool) {
                ("tcp", Kind::Salt3006) => "prefixed",
                _ => "auto",
            };
            let plan = plan.set("event_bus_framing", framing);
            let minion = plan.set("tcp_pull_port", pull).start()?;
            master.wait_minion(minion.id())?;
            let conf = minion.dir().join("minion").display().to_string();
            let script = BUS.replace("MINION", &conf);
            let heard = master.tools(tool).python(&script)?.ok()?.json()?;
            assert_eq!(heard["own"], json!({ "a": 1 }), "{mode}: {heard}");
            ensure!(heard["schedule"].get("j").is_some(), "{mode}: {heard}");
            let id = minion.id();
            let told = master.events()?.wait("an event for the master", START, |event| {
                event.tag == "for/master" && event.data["id"] == id
            })?;
            assert_eq!(told.data["data"], json!({ "b": 2 }), "{mode}");
        }
        Ok(())
    };
}
