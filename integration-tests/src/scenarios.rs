//! What must work between a master and a minion of any two kinds.
//!
//! Each scenario lays a fleet of its own and reads as the commands that an
//! administrator would type. The suites say which kinds meet; between two
//! real Salts the scenarios prove themselves.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::kind::Kind;
use crate::master::{KeyState, Master, MasterPlan};
use crate::minion::{Minion, MinionPlan};
use crate::wait::{START, until};

/// One master with one minion, whose key is accepted by `salt-key`.
struct Pair {
    master: Master,
    minion: Minion,
    fleet: Fleet,
}

impl Pair {
    fn of(master: Kind, minion: Kind) -> Result<Self> {
        Self::with(master, minion, |plan| plan, |plan| plan)
    }

    fn with(
        master: Kind,
        minion: Kind,
        change_master: impl for<'a> FnOnce(MasterPlan<'a>) -> MasterPlan<'a>,
        change_minion: impl for<'a> FnOnce(MinionPlan<'a>) -> MinionPlan<'a>,
    ) -> Result<Self> {
        let fleet = Fleet::new("pair")?;
        let master = change_master(fleet.master("m1", master)).start()?;
        let minion = change_minion(fleet.minion("web1", minion).of(&master)).start()?;
        master.accept("web1")?;
        Ok(Self {
            master,
            minion,
            fleet,
        })
    }

    /// What the minion returns to a command that must succeed.
    fn returned(&self, args: &[&str]) -> Result<Value> {
        let mut all = vec!["web1"];
        all.extend(args);
        self.master
            .returns(&all)?
            .remove("web1")
            .with_context(|| format!("web1 did not return from {args:?}"))
    }
}

/// A new minion's key waits, is listed, is accepted, and the minion answers.
pub fn key_is_accepted_and_the_minion_answers(master: Kind, minion: Kind) -> Result<()> {
    let fleet = Fleet::new("accept")?;
    let master = fleet.master("m1", master).start()?;
    let _minion = fleet.minion("web1", minion).of(&master).start()?;

    master.wait_key("web1", KeyState::Pending)?;
    let keys = master.key(&["-L", "--out=json"])?.ok()?.json()?;
    ensure!(
        keys["minions_pre"] == json!(["web1"]),
        "the new key is not listed: {keys}"
    );
    let refused = master.salt(&["*", "test.ping"])?.exit(2)?;
    ensure!(
        refused.stdout.contains("No minions matched the target."),
        "an unaccepted minion was asked: {refused}"
    );

    master.accept("web1")?;
    let keys = master.key(&["-L", "--out=json"])?.ok()?.json()?;
    ensure!(
        keys["minions"] == json!(["web1"]),
        "the accepted key is not listed: {keys}"
    );
    ensure!(
        keys["minions_pre"] == json!([]),
        "the accepted key still waits: {keys}"
    );

    master.check_ping(&["web1"])?;
    let text = master.salt(&["*", "test.ping"])?.ok()?;
    ensure!(
        text.stdout == "web1:\n    True\n",
        "unexpected text of {text}"
    );
    Ok(())
}

/// Shell commands run, with their arguments, results and exit codes.
pub fn commands_run(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::of(master, minion)?;
    assert_eq!(
        pair.returned(&["cmd.run", "echo hello; echo again"])?,
        json!("hello\nagain")
    );
    assert_eq!(pair.returned(&["cmd.run", "pwd", "cwd=/"])?, json!("/"));
    assert_eq!(
        pair.returned(&["cmd.run", "echo $COLOUR", "env={COLOUR: žluťoučký}"])?,
        json!("žluťoučký")
    );
    assert_eq!(
        pair.returned(&["cmd.run_stdout", "echo out; echo err >&2"])?,
        json!("out")
    );
    let echoed = pair.returned(&["test.arg", "1", "two", "three=3.5"])?;
    assert_eq!(echoed["args"], json!([1, "two"]));
    assert_eq!(echoed["kwargs"]["three"], json!(3.5));

    let failed = pair
        .master
        .salt(&[
            "web1",
            "cmd.run_all",
            "echo out; echo err >&2; exit 3",
            "--out=json",
        ])?
        .exit(1)?;
    let all = failed.of("web1")?;
    ensure!(
        all["retcode"] == 3 && all["stdout"] == "out" && all["stderr"] == "err",
        "unexpected {failed}"
    );
    ensure!(all["pid"].is_u64(), "no process id in {failed}");
    ensure!(
        failed
            .stderr
            .contains("ERROR: Minions returned with non-zero exit code"),
        "unexpected {failed}"
    );

    let unknown = pair
        .master
        .salt(&["web1", "no.such", "--out=json"])?
        .exit(1)?;
    ensure!(
        unknown.of("web1")? == json!("'no.such' is not available."),
        "unexpected {unknown}"
    );

    let event = pair
        .master
        .events()?
        .wait("the return of the failed command", START, |event| {
            event.tag.ends_with("/ret/web1") && event.data["fun"] == "cmd.run_all"
        })?;
    ensure!(
        event.data["retcode"] == 3 && event.data["success"] == false,
        "unexpected {event:?}"
    );
    Ok(())
}

/// The facts about the machine that nearly every tree of states relies on.
pub fn grains_are_reported(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::with(
        master,
        minion,
        |plan| plan,
        |plan| plan.set("grains", json!({ "role": ["web", "db"] })),
    )?;
    let grains = pair.returned(&["grains.items"])?;
    let names = [
        "id",
        "role",
        "kernel",
        "kernelrelease",
        "kernelversion",
        "os",
        "os_family",
        "osfullname",
        "osrelease",
        "osmajorrelease",
        "osfinger",
        "oscodename",
        "osarch",
        "cpuarch",
        "num_cpus",
        "cpu_model",
        "cpu_flags",
        "mem_total",
        "swap_total",
        "host",
        "nodename",
        "localhost",
        "fqdn",
        "domain",
        "ipv4",
        "ipv6",
        "fqdn_ip4",
        "ip4_interfaces",
        "ip_interfaces",
        "hwaddr_interfaces",
        "virtual",
        "init",
        "machine_id",
        "path",
        "shell",
        "username",
        "uid",
        "gid",
        "pid",
        "master",
        "saltversion",
        "saltversioninfo",
        "saltpath",
        "pythonversion",
        "pythonpath",
        "pythonexecutable",
        "locale_info",
        "server_id",
        "lsb_distrib_id",
        "disks",
        "dns",
        "ps",
    ];
    // Grains that depend on what is installed or configured on the machine.
    let maybe = [
        "lsb_distrib_id",
        "oscodename",
        "fqdn_ip4",
        "swap_total",
        "domain",
        "machine_id",
    ];
    let missing: Vec<_> = names
        .iter()
        .filter(|name| grains.get(**name).is_none() && !maybe.contains(*name))
        .collect();
    ensure!(missing.is_empty(), "missing grains: {missing:?}");
    ensure!(
        grains["id"] == "web1"
            && grains["kernel"] == "Linux"
            && grains["role"] == json!(["web", "db"]),
        "unexpected {grains}"
    );
    ensure!(
        grains["num_cpus"].as_u64().is_some_and(|count| count > 0),
        "no processor in {grains}"
    );
    ensure!(
        grains["master"] == pair.master.address().ip().to_string(),
        "another master in {}",
        grains["master"]
    );

    assert_eq!(
        pair.returned(&["grains.get", "role"])?,
        json!(["web", "db"])
    );
    let item = pair.returned(&["grains.item", "id", "kernel"])?;
    ensure!(
        item == json!({ "id": "web1", "kernel": "Linux" }),
        "unexpected {item}"
    );
    Ok(())
}

/// Files of the master arrive whole at the minion, in one and in many chunks.
pub fn files_arrive(master: Kind, minion: Kind) -> Result<()> {
    let small = "first line\nžluťoučký\n";
    let pair = Pair::with(
        master,
        minion,
        |plan| plan.file("web/small.txt", small).file("empty", ""),
        |plan| plan,
    )?;
    let large: Vec<u8> = (0..3_000_000_u32)
        .map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    fs::write(pair.master.dir().join("srv/large.bin"), &large)?;
    let wanted: [(&str, &[u8]); 3] = [
        ("web/small.txt", small.as_bytes()),
        ("large.bin", &large),
        ("empty", b""),
    ];
    for (name, content) in wanted {
        let to = pair.fleet.path().join("got");
        let to = to.to_str().context("a path that is no text")?;
        let returned = pair.returned(&["cp.get_file", &format!("salt://{name}"), to])?;
        ensure!(
            returned == json!(to),
            "cp.get_file of {name} returned {returned}"
        );
        ensure!(fs::read(to)? == content, "{name} arrived changed");
        fs::remove_file(to)?;
    }
    let listed = pair.returned(&["cp.list_master"])?;
    ensure!(
        listed == json!(["empty", "large.bin", "web/small.txt"]),
        "unexpected list {listed}"
    );
    let missing = pair.returned(&["cp.get_file", "salt://no/such", "/dev/null"])?;
    ensure!(missing == json!(""), "a missing file gave {missing}");
    // Whether that is an error or nothing at all, it is not the file.
    let outside = pair
        .master
        .salt(&["web1", "cp.get_file_str", "salt://../master"])?;
    ensure!(
        !outside.stdout.contains("publish_port"),
        "a file above the root was served: {outside}"
    );
    Ok(())
}

/// A small tree of states is fetched and applied.
pub fn a_small_tree_is_applied(master: Kind, minion: Kind) -> Result<()> {
    let sls = "\
{% set path = pillar.get('path', grains['saltpath'] and opts['root_dir'] ~ '/applied') %}
the file:
  file.managed:
    - name: {{ path }}
    - source: salt://web/motd
    - template: jinja
    - mode: '0640'

a command:
  cmd.run:
    - name: echo applied >> {{ path }}.log
    - onchanges:
      - file: the file
";
    let pair = Pair::with(
        master,
        minion,
        |plan| {
            plan.file("web/init.sls", sls)
                .file("web/motd", "this is {{ grains['id'] }}\n")
        },
        |plan| plan,
    )?;
    let file = pair.minion.dir().join("applied");
    let first = pair.returned(&["state.apply", "web"])?;
    let results = first
        .as_object()
        .with_context(|| format!("no states in {first}"))?;
    ensure!(results.len() == 2, "expected two states in {first}");
    ensure!(
        results.values().all(|state| state["result"] == true),
        "a state failed: {first}"
    );
    assert_eq!(fs::read_to_string(&file)?, "this is web1\n");
    assert_eq!(fs::read_to_string(file.with_extension("log"))?, "applied\n");

    let again = pair.returned(&["state.apply", "web"])?;
    let unchanged = |state: &Value| state["changes"] == json!({});
    ensure!(
        again
            .as_object()
            .is_some_and(|states| states.values().all(unchanged)),
        "the second run changed: {again}"
    );
    Ok(())
}

/// What a minion puts into the mine, another command reads from it.
pub fn the_mine_keeps_and_gives(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::with(
        master,
        minion,
        |plan| plan,
        |plan| {
            plan.set("mine_functions", json!({ "test.echo": ["from the file"] }))
                .set("mine_interval", 60)
        },
    )?;
    assert_eq!(pair.returned(&["mine.update"])?, json!(true));
    assert_eq!(
        pair.returned(&["mine.get", "*", "test.echo"])?,
        json!({ "web1": "from the file" })
    );
    assert_eq!(
        pair.returned(&["mine.send", "grains.get", "id"])?,
        json!(true)
    );
    assert_eq!(
        pair.returned(&["mine.get", "web1", "grains.get"])?,
        json!({ "web1": "web1" })
    );
    assert_eq!(
        pair.returned(&["mine.get", "nobody", "grains.get"])?,
        json!({})
    );
    assert_eq!(pair.returned(&["mine.delete", "grains.get"])?, json!(true));
    assert_eq!(pair.returned(&["mine.get", "*", "grains.get"])?, json!({}));
    Ok(())
}

/// `salt-call` on the minion talks to the master on its own.
pub fn salt_call_reaches_the_master(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::with(
        master,
        minion,
        |plan| plan.file("greeting", "hello"),
        |plan| plan,
    )?;
    let mark = pair.master.events()?.mark();
    assert_eq!(pair.minion.called(&["test.ping"])?, json!(true));
    let event =
        pair.master
            .events()?
            .wait_after(mark, "the return of salt-call", START, |event| {
                event.tag.starts_with("salt/job/") && event.tag.ends_with("/ret/web1")
            })?;
    ensure!(
        event.data["fun"] == "test.ping" && event.data["return"] == true,
        "unexpected {event:?}"
    );

    assert_eq!(
        pair.minion
            .called(&["cp.get_file_str", "salt://greeting"])?,
        json!("hello")
    );
    assert_eq!(pair.minion.called(&["pillar.items"])?, json!({}));
    assert_eq!(
        pair.minion
            .called(&["event.send", "custom/tag", "colour=red"])?,
        json!(true)
    );
    let event = pair
        .master
        .events()?
        .wait("custom/tag", START, |event| event.tag == "custom/tag")?;
    ensure!(
        event.data["data"]["colour"] == "red" && event.data["id"] == "web1",
        "unexpected {event:?}"
    );

    pair.minion.call(&["no.such"])?.exit(255)?;
    pair.minion
        .call(&["--retcode-passthrough", "cmd.run", "exit 7"])?
        .exit(7)?;
    assert_eq!(
        pair.minion.called(&["--local", "test.echo", "alone"])?,
        json!("alone")
    );
    Ok(())
}

/// A deleted key has no access from that moment on; a new sign-in waits again.
pub fn a_deleted_key_has_no_access(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::of(master, minion)?;
    pair.master.check_ping(&["web1"])?;
    let mark = pair.master.events()?.mark();
    pair.master.key(&["-y", "-d", "web1"])?.ok()?;
    pair.master.salt(&["web1", "test.ping"])?.exit(2)?;
    pair.master
        .events()?
        .wait_after(mark, "the rotation of the publish key", START, |event| {
            event.tag == "key" && event.data["rotate_aes_key"] == true
        })?;
    // What the minion asks with its old session is refused; it has to sign in
    // again, and its key waits for a new decision.
    let called = pair.minion.call(&["-t", "2", "test.ping"])?;
    ensure!(called.code != 0, "a deleted minion was served: {called}");
    pair.master.accept_again("web1")?;
    until("the accepted minion to answer again", START, || {
        Ok(pair.master.check_ping(&["web1"]).ok())
    })
}

/// A master that dies and comes back finds its minion again.
pub fn the_minion_survives_its_master(master: Kind, minion: Kind) -> Result<()> {
    let mut pair = Pair::of(master, minion)?;
    pair.master.check_ping(&["web1"])?;
    pair.master.kill9()?;
    pair.master.start()?;
    until("the minion to answer the restarted master", START, || {
        Ok(pair.master.check_ping(&["web1"]).ok())
    })
}

/// The minion answers while it works on something long, and the long command
/// is waited for.
pub fn a_long_command_is_waited_for(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::of(master, minion)?;
    let slow = pair
        .master
        .salt(&["-t", "1", "web1", "test.sleep", "4", "--out=json"])?
        .ok()?;
    ensure!(slow.of("web1")? == json!(true), "unexpected {slow}");

    let started = pair
        .master
        .salt(&["--async", "web1", "test.sleep", "30"])?
        .ok()?;
    let jid = started
        .stdout
        .trim()
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .to_owned();
    ensure!(jid.len() == 20, "no job id in {started}");
    let running = until("the job to be seen", START, || {
        let running = pair.returned(&["saltutil.find_job", &jid])?;
        Ok((running["jid"] == jid.as_str()).then_some(running))
    })?;
    ensure!(running["fun"] == "test.sleep", "unexpected {running}");
    pair.returned(&["saltutil.kill_job", &jid])?;
    until("the job to be gone", START, || {
        Ok((pair.returned(&["saltutil.find_job", &jid])? == json!({})).then_some(()))
    })
}

/// Two minions with one name: the second key is denied, the first keeps working.
pub fn a_second_key_under_one_name_is_denied(master: Kind, minion: Kind) -> Result<()> {
    let pair = Pair::of(master, minion)?;
    let twin = pair.fleet.path().join("twin");
    fs::create_dir_all(&twin)?;
    let settings = fs::read_to_string(pair.minion.dir().join("minion"))?;
    let dir = pair.minion.dir().display().to_string();
    fs::write(
        twin.join("minion"),
        settings.replace(&dir, &twin.display().to_string()),
    )?;
    let called = pair.minion.call_as(&twin, &["-t", "2", "test.ping"])?;
    ensure!(called.code != 0, "a foreign key was served: {called}");
    pair.master.wait_key("web1", KeyState::Denied)?;
    pair.master.check_ping(&["web1"])?;
    Ok(())
}

/// Every minion of the list answers every master of the list, and when one
/// master dies the others go on.
pub fn several_masters_share_their_minions(masters: &[Kind], minions: &[Kind]) -> Result<()> {
    let fleet = Fleet::new("several")?;
    let mut running: Vec<Master> = Vec::new();
    for (number, kind) in masters.iter().enumerate() {
        let mut plan = fleet.master(&format!("m{}", number + 1), *kind);
        if let Some(first) = running.first() {
            plan = plan.key_pair_of(first);
        }
        running.push(plan.start()?);
    }
    let ids: Vec<String> = (1..=minions.len())
        .map(|number| format!("web{number}"))
        .collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut started = Vec::new();
    for (id, kind) in ids.iter().zip(minions) {
        let plan = running.iter().fold(fleet.minion(id, *kind), MinionPlan::of);
        started.push(plan.start()?);
    }
    for master in &running {
        for id in &ids {
            master.accept(id)?;
        }
    }
    for master in &running {
        master.check_ping(&ids)?;
        let ran = master.returns(&["*", "cmd.run", "echo $((6 * 7))"])?;
        ensure!(
            ran.len() == ids.len() && ran.values().all(|answer| answer == "42"),
            "unexpected {ran:?}"
        );
    }
    let Some((first, others)) = running.split_first_mut() else {
        bail!("no master");
    };
    first.kill9()?;
    for master in &*others {
        master.check_ping(&ids)?;
        master.check_ping(&ids)?;
    }
    first.start()?;
    until("every minion to answer the restarted master", START, || {
        Ok(first.check_ping(&ids).ok())
    })?;
    for master in &*others {
        master.check_ping(&ids)?;
    }
    Ok(())
}
