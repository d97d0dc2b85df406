//! The reactor: events call for commands, runners and decisions about keys.

use std::fs;

use anyhow::Result;
use halite_integration_tests::{Fleet, KeyState, Kind, START};
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
    halite_integration_tests::until("the complaint", START, || {
        let log = fs::read_to_string(master.dir().join("log"))?;
        Ok(log.contains("Failed to render reaction").then_some(()))
    })?;
    master.check_ping(&["web1"])?;
    Ok(())
}
