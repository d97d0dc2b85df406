//! A master with its users' own Python modules: external pillars, tops,
//! returners of events.

use std::fs;

use anyhow::Result;
use halite_integration_tests::{Fleet, Kind, START, until};
use serde_json::json;

const PILLAR: &str = "
def ext_pillar(minion_id, pillar, *args, **kwargs):
    return {'own': {'id': minion_id, 'args': list(args), 'has': sorted(pillar), 'role': __grains__.get('role')}}
";

const TOP: &str = "
def top(**kwargs):
    return {'base': ['from_top_' + kwargs['opts']['id'], __opts__['master_tops']['own']]}
";

const RETURNER: &str = "
def event_return(events):
    with open(__opts__['events_file'], 'a') as out:
        for event in events:
            out.write(event['tag'] + chr(10))
";

#[test]
fn a_master_uses_what_its_users_wrote() -> Result<()> {
    let fleet = Fleet::new("ownpy")?;
    let dir = fleet.path().join("m1");
    let told = dir.join("events-told");
    let nop = |name: &str| format!("{name}:\n  test.nop\n");
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("ext_pillar", json!([{ "own": ["a", 2] }]))
        .set("master_tops", json!({ "own": "conf_top" }))
        .set("event_return", "own")
        .set("events_file", told.display().to_string())
        .file("_pillar/own.py", PILLAR)
        .file("_tops/own.py", TOP)
        .file("_returners/own.py", RETURNER)
        .file("from_top_web1.sls", &nop("one"))
        .file("conf_top.sls", &nop("two"))
        .start()?;
    let tools = master.tools(Kind::Ours);
    // Before they are fetched the pillar says what it lacks.
    let pillar = tools.runner(&["pillar.show_pillar", "web1", "--out=json"])?;
    assert!(pillar.stdout.contains("there is no such external pillar"));
    for kind in ["pillar", "tops", "returners"] {
        let synced = tools.runner(&[&format!("saltutil.sync_{kind}"), "--out=json"])?;
        let synced: serde_json::Value = serde_json::from_str(&synced.stdout)?;
        assert_eq!(synced, json!([format!("{kind}.own")]));
    }
    let _web1 = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .set("grains", json!({ "role": "web" }))
        .start()?;
    master.wait_minion("web1")?;
    let pillar = tools.salt(&["web1", "pillar.raw", "own", "--out=json", "--static"])?;
    let pillar: serde_json::Value = serde_json::from_str(&pillar.stdout)?;
    let own = json!({ "id": "web1", "args": ["a", 2], "has": [], "role": "web" });
    assert_eq!(pillar["web1"], own);
    let top = tools.salt(&["web1", "state.show_top", "--out=json", "--static"])?;
    let top: serde_json::Value = serde_json::from_str(&top.stdout)?;
    assert_eq!(
        top["web1"],
        json!({ "base": ["from_top_web1", "conf_top"] })
    );
    until("the events to be stored", START, || {
        let told = fs::read_to_string(&told).unwrap_or_default();
        Ok(told.contains("/ret/web1").then_some(()))
    })?;
    Ok(())
}
