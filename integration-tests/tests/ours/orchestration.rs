//! `salt-run state.orchestrate`: a master's own state run commands minions.

use anyhow::{Context, Result};
use halite_integration_tests::{Fleet, Kind};
use serde_json::Value;

const ALL: &str = include_str!("orchestration/all.sls");
/// What real Salt 3008.5 returned for it, without times and job ids.
const SALT: &str = include_str!("orchestration/salt-3008.5.json");

/// The results without what differs from run to run.
fn settled(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|key, _| {
            let differs = ["start_time", "duration", "__jid__", "__run_num__"];
            !differs.contains(&key.as_str()) && !key.starts_with("__pub_")
        });
        for value in map.values_mut() {
            *value = settled(value.take());
        }
    }
    value
}

#[test]
fn an_orchestration_returns_what_it_does_with_salt() -> Result<()> {
    let fleet = Fleet::new("orchestration")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("orch/all.sls", ALL)
        .file(
            "web.sls",
            "a:\n  test.succeed_with_changes: []\nb:\n  test.nop: []\n",
        )
        .file("bad.sls", "x:\n  test.fail_without_changes: []\n")
        .file("noch.sls", "x:\n  test.nop: []\n")
        .start()?;
    let _minion = fleet.minion("m1", Kind::Ours).of(&master).start()?;
    master.wait_minion("m1")?;
    let tools = master.tools(Kind::Ours);

    let ran = tools.runner(&["state.orchestrate", "orch.all", "--out=json"])?;
    assert_eq!(ran.code, 1, "{ran:?}");
    let all = ran.json()?;
    let (_, results) = all["data"]
        .as_object()
        .and_then(|data| data.iter().next())
        .context("no results")?;
    let theirs: Value = serde_json::from_str(SALT)?;
    let ours = settled(results.clone());
    for (tag, result) in theirs.as_object().context("no recording")? {
        assert_eq!(&ours[tag], result, "{tag}");
    }

    let ran = tools.runner(&["state.orch", "web"])?.ok()?;
    assert!(ran.stdout.contains("Succeeded: 2 (changed=1)"), "{ran:?}");
    let ran = tools.runner(&["state.orch", "nothere"])?;
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("Data failed to compile"), "{ran:?}");
    Ok(())
}
