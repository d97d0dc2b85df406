//! `salt-run state.orchestrate`: a master's own state run commands minions.

use anyhow::{Context, Result};
use halite_integration_tests::{Fleet, Kind};
use serde_json::Value;

/// Orchestrations, and what real Salt 3008.5 returned for them, without times
/// and job ids.
const ALL: [(&str, &str, &str); 2] = [
    (
        "all",
        include_str!("orchestration/all.sls"),
        include_str!("orchestration/salt-3008.5.json"),
    ),
    (
        "more",
        include_str!("orchestration/more.sls"),
        include_str!("orchestration/more-3008.5.json"),
    ),
];

/// The orchestrations that another one runs.
const INNER: &str = "inner:\n  salt.state:\n    - tgt: m1\n    - sls: web\n";
const INNER_BAD: &str = "inner:\n  salt.state:\n    - tgt: m1\n    - sls: bad\n";

/// The results without what differs from run to run, and from host to host.
fn settled(value: Value) -> Value {
    let Value::Object(map) = value else {
        return value;
    };
    let kept = map.into_iter().filter(|(key, _)| {
        let differs = ["start_time", "duration", "__jid__", "__run_num__"];
        !differs.contains(&key.as_str()) && !key.starts_with("__pub_")
    });
    kept.map(|(key, value)| {
        let is_master = key.ends_with("_master");
        (
            if is_master { "@master".to_owned() } else { key },
            settled(value),
        )
    })
    .collect()
}

#[test]
fn an_orchestration_returns_what_it_does_with_salt() -> Result<()> {
    let fleet = Fleet::new("orchestration")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("orch/all.sls", ALL[0].1)
        .file("orch/more.sls", ALL[1].1)
        .file("orch/inner.sls", INNER)
        .file("orch/inner_bad.sls", INNER_BAD)
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

    for (name, _, salt) in ALL {
        let ran = tools.runner(&["state.orchestrate", &format!("orch.{name}"), "--out=json"])?;
        assert_eq!(ran.code, 1, "{ran:?}");
        let all = ran.json()?;
        let (_, results) = all["data"]
            .as_object()
            .and_then(|data| data.iter().next())
            .context("no results")?;
        let theirs: Value = serde_json::from_str(salt)?;
        let ours = settled(results.clone());
        for (tag, result) in theirs.as_object().context("no recording")? {
            assert_eq!(&ours[tag], result, "{tag}");
        }
    }

    let ran = tools.runner(&["state.orch", "web"])?.ok()?;
    assert!(ran.stdout.contains("Succeeded: 2 (changed=1)"), "{ran:?}");
    let ran = tools.runner(&["state.orch", "nothere"])?;
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("Data failed to compile"), "{ran:?}");
    Ok(())
}
