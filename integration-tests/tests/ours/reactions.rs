//! The reactor: events trigger commands, runners and decisions about keys.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, KeyState, Kind, Master, START, until};
use serde_json::json;

#[test]
fn events_call_for_commands_runners_and_keys() -> Result<()> {
    let fleet = Fleet::new("reactor")?;
    let dir = fleet.path().join("m1/srv");
    let path = |name: &str| dir.join(name).display().to_string();
    let rules = json!([
        { "salt/auth": [path("accept.sls")] },
        { "salt/minion/*/start": [path("greet.sls"), "salt://tell.sls"] },
        { "my/broken": [path("broken.sls")] },
    ]);
    let master = fleet
        .master("m1", Kind::Ours)
        .set("reactor", rules)
        .file(
            "accept.sls",
            "{% if data['act'] == 'pend' and data['id'].startswith('web') %}\n\
             accept:\n  wheel.key.accept:\n    - args:\n      - match: {{ data['id'] }}\n\
             {% endif %}\n",
        )
        .file(
            "greet.sls",
            "greet:\n  local.test.arg:\n    - tgt: {{ data['id'] }}\n    - args:\n      \
             - greeting: hello {{ data['id'] }}\n",
        )
        .file(
            "tell.sls",
            "tell:\n  runner.event.send:\n    - args:\n        tag: my/told\n        data:\n          \
             by: {{ tag }}\n",
        )
        .file("broken.sls", "{% if %}\n")
        .start()?;
    let _web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    let _db1 = fleet.minion("db1", Kind::Ours).of(&master).start()?;
    // The key is accepted by the reaction, and the minion greeted.
    master.wait_key("web1", KeyState::Accepted)?;
    let events = master.events()?;
    let greeted = events.wait("the greeting to return", START, |event| {
        event.tag.ends_with("/ret/web1") && event.data["fun"] == "test.arg"
    })?;
    assert_eq!(greeted.data["return"]["kwargs"]["greeting"], "hello web1");
    let told = events.wait("my/told", START, |event| event.tag == "my/told")?;
    assert_eq!(told.data["by"], "salt/minion/web1/start");
    // Nobody reacts for the other one.
    master.wait_key("db1", KeyState::Pending)?;

    // A file that cannot be rendered is said, and stops nothing.
    let tools = master.tools(Kind::Ours);
    tools.runner(&["event.send", "my/broken"])?.ok()?;
    until("the complaint", START, || {
        let log = fs::read_to_string(master.dir().join("log"))?;
        Ok(log.contains("Failed to render reaction").then_some(()))
    })?;
    master.check_ping(&["web1"])?;
    Ok(())
}

/// Tells of the event that has called for it.
const TELL: &str = "tell:\n  runner.event.send:\n    - args:\n        tag: my/told\n        \
                    data:\n          word: {{ data.get('word') or data['data']['word'] }}\n";

fn fire(master: &Master, tag: &str, word: &str) -> Result<()> {
    let tools = master.tools(Kind::Ours);
    let data = format!("{{word: {word}}}");
    tools.runner(&["event.send", tag, &data])?.ok().map(drop)
}

fn wait_told(master: &Master, mark: usize, word: &str) -> Result<()> {
    let events = master.events()?;
    let is_it = |event: &halite_integration_tests::Event| {
        event.tag == "my/told" && event.data["word"] == word
    };
    events
        .wait_after(mark, "the reaction", START, is_it)
        .map(drop)
}

#[test]
fn each_master_reacts_to_an_event_that_reaches_all_of_them() -> Result<()> {
    let fleet = Fleet::new("reactors")?;
    let lay = |name: &str| {
        let path = fleet.path().join(name).join("srv/tell.sls");
        let rules = json!([{ "web/up": [path.display().to_string()] }]);
        let master = fleet.master(name, Kind::Ours).set("reactor", rules);
        master.auto_accept().file("tell.sls", TELL)
    };
    let first = lay("m1").start()?;
    let second = lay("m2").key_pair_of(&first).start()?;
    let web1 = fleet.minion("web1", Kind::Ours).of(&first).of(&second);
    let web1 = web1.start()?;
    first.wait_minion("web1")?;
    second.wait_minion("web1")?;
    web1.called(&["event.send", "web/up", "{word: both}"])?;
    for master in [&first, &second] {
        let events = master.events()?;
        let told = events.wait("the reaction", START, |event| event.tag == "my/told")?;
        ensure!(told.data["word"] == "both", "{told:?}");
    }
    // One of them leaves it to the other one.
    let tools = second.tools(Kind::Ours);
    tools.runner(&["reactor.set_leader", "False"])?.ok()?;
    fire(&second, "web/up", "unheard")?;
    let mark = second.events()?.mark();
    tools.runner(&["reactor.set_leader", "True"])?.ok()?;
    fire(&second, "web/up", "heard")?;
    wait_told(&second, mark, "heard")?;
    let events = second.events()?.events().into_iter();
    let unheard = events.filter(|event| event.tag == "my/told");
    ensure!(
        unheard
            .filter(|event| event.data["word"] == "unheard")
            .count()
            == 0,
        "a master reacted that was told not to"
    );
    Ok(())
}

#[test]
fn a_reaction_that_hangs_holds_up_nobody_but_reactions() -> Result<()> {
    const EVENTS: usize = 12;
    const WAITING: usize = 4;
    let fleet = Fleet::new("slow-reactor")?;
    let path = |name: &str| fleet.path().join("m1/srv").join(name).display().to_string();
    let (hangs, gate) = (fleet.path().join("hangs"), fleet.path().join("gate"));
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("reactor_worker_threads", 1)
        .set("reactor_worker_hwm", WAITING)
        .set(
            "reactor",
            json!([{ "my/hang": [path("hang.sls")] }, { "my/tell": [path("tell.sls")] }]),
        )
        .file(
            "hang.sls",
            &format!(
                "#!py\nimport os, time\ndef run():\n    open({hangs:?}, 'w').close()\n    \
                 while not os.path.exists({gate:?}):\n        time.sleep(0.05)\n    return {{}}\n"
            ),
        )
        .file("tell.sls", TELL)
        .start()?;
    let _web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    fire(&master, "my/hang", "x")?;
    until("the file to hang", START, || {
        Ok(hangs.exists().then_some(()))
    })?;
    let events = master.events()?;
    for number in 0..EVENTS {
        fire(&master, "my/tell", &format!("w{number}"))?;
    }
    // A reaction that does not fit is logged, and everything else goes on.
    until("the complaint", START, || {
        let log = fs::read_to_string(master.dir().join("log"))?;
        let is_told = log.contains("the reactor is overloaded");
        Ok(is_told.then_some(()))
    })?;
    master.check_ping(&["web1"])?;
    ensure!(events.events().iter().all(|event| event.tag != "my/told"));
    fs::write(&gate, "")?;
    // The oldest were kept.
    for number in 0..WAITING {
        wait_told(&master, 0, &format!("w{number}"))?;
    }
    let mark = events.mark();
    fire(&master, "my/tell", "after")?;
    wait_told(&master, mark, "after")?;
    let told = events.events();
    let told = told.iter().filter(|event| event.tag == "my/told").count();
    ensure!(told == WAITING + 1, "{told} reactions");
    Ok(())
}

#[test]
fn more_runners_than_have_places_wait_and_hold_up_nobody() -> Result<()> {
    const RUNNERS: usize = 100;
    let fleet = Fleet::new("many-reactions")?;
    let path = |name: &str| fleet.path().join("m1/srv").join(name).display().to_string();
    let gate = fleet.path().join("gate");
    let hang = format!("while [ ! -e {} ]; do sleep 0.5; done", gate.display());
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set(
            "reactor",
            json!([{ "my/many": [path("many.sls")] }, { "my/greet": [path("greet.sls")] }]),
        )
        .file(
            "many.sls",
            &format!(
                "{{% for n in range({RUNNERS}) %}}\nwait{{{{ n }}}}:\n  runner.salt.cmd:\n    \
                 - args:\n        fun: cmd.run\n        cmd: '{hang}'\n        python_shell: true\n{{% endfor %}}\n"
            ),
        )
        .file(
            "greet.sls",
            "greet:\n  local.test.arg:\n    - tgt: web1\n    - args:\n      - hello: there\n",
        )
        .start()?;
    let _web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let events = master.events()?;
    let count = |end: &str| {
        let seen = events.events();
        let of_runners = seen
            .iter()
            .filter(|event| event.tag.ends_with(end) && event.data["fun"] == "runner.salt.cmd");
        of_runners.count()
    };
    fire(&master, "my/many", "x")?;
    let running = until("the places to be taken", START, || {
        let running = count("/new");
        Ok((running >= 48).then_some(running))
    })?;
    // People and other reactions are served meanwhile.
    fire(&master, "my/greet", "x")?;
    events.wait("the greeting to return", START, |event| {
        event.tag.ends_with("/ret/web1") && event.data["fun"] == "test.arg"
    })?;
    ensure!(running < RUNNERS && count("/ret") == 0, "{running} run");
    fs::write(&gate, "")?;
    until("all to have run", START, || {
        Ok((count("/ret") == RUNNERS).then_some(()))
    })
}

#[test]
fn a_changed_file_is_taken_up() -> Result<()> {
    let fleet = Fleet::new("changed-reaction")?;
    let file = fleet.path().join("m1/srv/tell.sls");
    let master = fleet
        .master("m1", Kind::Ours)
        .set(
            "reactor",
            json!([{ "my/*/tell": [file.display().to_string()] }]),
        )
        .start()?;
    let tell = |word: &str| {
        let mark = master.events()?.mark();
        fire(&master, "my/own/tell", word)?;
        anyhow::Ok(mark)
    };
    // It need not be there from the beginning.
    tell("nobody")?;
    until("the complaint", START, || {
        let log = fs::read_to_string(master.dir().join("log"))?;
        Ok(log.contains("there is no such file").then_some(()))
    })?;
    fs::write(&file, TELL)?;
    wait_told(&master, tell("one")?, "one")?;
    fs::write(
        &file,
        TELL.replace("{{ data.get('word') or data['data']['word'] }}", "changed"),
    )?;
    wait_told(&master, tell("two")?, "changed")
}
