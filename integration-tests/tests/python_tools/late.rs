//! Salt's own client that subscribes after it has published, and what other
//! programs receive then.

use anyhow::{Context, Result};
use halite_integration_tests::{Fleet, Kind, Master, Minion, Ports, START, for_each_salt, until};
use serde_json::{Value, json};

/// How many minions answer before the client listens.
const MINIONS: usize = 10;

/// Seconds after which a master may have forgotten returns that somebody listens
/// for late; it keeps them for five.
const TOO_LATE: f64 = 4.0;
/// How often the machine may be too busy to listen in time.
const TRIES: usize = 4;

/// How many returns of a job are heard before an event of our own.
const OLD_ONES: &str = r#"
def old_ones(bus, jid):
    old = 0
    end = time.monotonic() + 60
    mark = "mark/%d/%d" % (os.getpid(), time.monotonic_ns())
    while time.monotonic() < end:
        bus.fire_event({}, mark)
        event = bus.get_event(wait=1, full=True)
        while event:
            if event["tag"] == mark:
                return old
            old += event["tag"].startswith("salt/job/%s/ret/" % jid)
            event = bus.get_event(wait=1, full=True)
    raise SystemExit("the bus is deaf")
"#;

/// Publishes, and lets the minions answer once it is about to connect: when it
/// has looked into the job cache, and before it hears anything. Then listens
/// again, twice.
const LATE: &str = r#"
import json, os, sys, time
import salt.client, salt.config, salt.utils.event

conf, go, minions = sys.argv[1], "GO", COUNT
opts = salt.config.client_config(conf)
found = {"late": None}
job = None

OLD_ONES
real = salt.utils.event.SaltEvent.connect_pub
def connect_late(self, *args, **kwargs):
    if self is local.event and job and found["late"] is None:
        open(go, "w").close()
        begun = time.monotonic()
        end = begun + 60
        returned = {}
        while time.monotonic() < end and len(returned) < minions:
            returned = other.get_cache_returns(job["jid"])
        found["late"] = len(returned)
        found["took"] = time.monotonic() - begun
    return real(self, *args, **kwargs)

other = salt.client.LocalClient(conf)
local = salt.client.LocalClient(conf)
salt.utils.event.SaltEvent.connect_pub = connect_late
wait = "while ! test -e %s; do sleep 0.05; done; echo late" % go
job = local.run_job("*", "cmd.run", [wait], timeout=60)
returned = {}
for part in local.get_cli_returns(job["jid"], set(job["minions"]), timeout=60):
    returned.update(part)
found["returned"] = len(returned)
found["texts"] = sorted({part["ret"] for part in returned.values()})
for client in local, other:
    client.destroy()
found["again"] = []
for turn in range(2):
    bus = salt.utils.event.get_event("master", opts=opts, listen=True)
    found["again"].append(old_ones(bus, job["jid"]))
    bus.destroy()
found["jid"] = job["jid"]
print(json.dumps(found), flush=True)
# Salt 3008 waits for ever for its own sockets otherwise.
os._exit(0)
"#;

/// A program that is started after all that.
const LATER: &str = r#"
import json, os, sys, time
import salt.config, salt.utils.event
OLD_ONES
opts = salt.config.client_config(sys.argv[1])
print(old_ones(salt.utils.event.get_event("master", opts=opts, listen=True), "JID"), flush=True)
os._exit(0)
"#;

/// Our master with many minions, its bus on sockets or on ports.
fn master_with_minions(
    fleet: &Fleet,
    mode: &str,
    tool: Kind,
    ports: [u16; 3],
) -> Result<(Master, Vec<Minion>)> {
    let [publish, pull, publications] = ports;
    let plan = fleet.master("m1", Kind::Ours).auto_accept();
    let plan = plan.set("ipc_mode", mode);
    let plan = plan.set("tcp_master_pub_port", publish);
    let plan = plan.set("tcp_master_pull_port", pull);
    let plan = plan.set("tcp_master_publish_pull", publications);
    // Who is at the other end of a TCP connection cannot be told.
    let plan = match (mode, tool) {
        ("tcp", Kind::Salt3006) => plan.set("event_bus_framing", "prefixed"),
        _ => plan,
    };
    let mut master = plan.lay()?;
    master.start_on_ports()?;
    let mut minions = Vec::new();
    for n in 0..MINIONS {
        let minion = fleet.minion(&format!("web{n}"), Kind::Ours).of(&master);
        minions.push(minion.start()?);
    }
    until("all minions to answer", START, || {
        let pinged = master.salt(&["*", "test.ping", "--out=json"])?;
        let found = pinged.by_minion().unwrap_or_default();
        Ok((found.len() == MINIONS).then_some(()))
    })?;
    Ok((master, minions))
}

for_each_salt! {
    fn a_client_that_listens_late_misses_nothing(tool) {
        let ports = Ports::<3>::claim()?;
        for mode in ["ipc", "tcp"] {
            let fleet = Fleet::new("late")?;
            let (master, _minions) = master_with_minions(&fleet, mode, tool, ports.numbers)?;
            let tools = master.tools(tool);
            let script = LATE.replace("OLD_ONES", OLD_ONES);
            let script = script.replace("COUNT", &MINIONS.to_string());
            let mut found = Value::Null;
            for turn in 0..TRIES {
                let go = fleet.path().join(format!("go{turn}")).display().to_string();
                let output = tools.python(&script.replace("GO", &go))?.ok()?;
                let last = output.stdout.lines().last().context("no output")?;
                found = serde_json::from_str(last).with_context(|| output.to_string())?;
                if found["took"].as_f64().is_some_and(|took| took < TOO_LATE) {
                    break;
                }
            }
            assert_eq!(found["returned"], MINIONS, "{mode}: {found}");
            assert_eq!(found["texts"], json!(["late"]), "{mode}: {found}");
            assert_eq!(found["late"], MINIONS, "{mode}: {found}");
            // Whose connections those of TCP are cannot be told.
            if mode == "tcp" {
                continue;
            }
            assert_eq!(found["again"], json!([0, 0]), "{found}");
            let jid = found["jid"].as_str().unwrap_or_default();
            let script = LATER.replace("OLD_ONES", OLD_ONES).replace("JID", jid);
            let later = tools.python(&script)?.ok()?;
            assert_eq!(later.stdout.lines().last(), Some("0"), "{later}");
        }
        Ok(())
    };
}
