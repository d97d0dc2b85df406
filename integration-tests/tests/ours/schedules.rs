//! Jobs of a schedule that one minion hands on to others.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Minion};
use serde_json::{Value, json};

struct Pair {
    master: Master,
    _minions: Vec<Minion>,
    _fleet: Fleet,
}

impl Pair {
    fn start() -> Result<Self> {
        let fleet = Fleet::new("schedules")?;
        let master = fleet
            .master("m1", Kind::Ours)
            .auto_accept()
            .set("peer", json!({ "web1": ["schedule.add"] }))
            .start()?;
        let mut minions = Vec::new();
        for id in ["web1", "web2"] {
            minions.push(fleet.minion(id, Kind::Ours).of(&master).start()?);
            master.wait_minion(id)?;
        }
        Ok(Self {
            master,
            _minions: minions,
            _fleet: fleet,
        })
    }

    fn asked(&self, minion: &str, words: &[&str]) -> Result<Value> {
        let mut all = vec![minion];
        all.extend(words);
        all.push("--out=json");
        self.master.salt(&all)?.of(minion)
    }

    fn jobs(&self, minion: &str) -> Result<Value> {
        self.asked(minion, &["schedule.list", "return_yaml=False"])
    }
}

#[test]
fn a_job_that_is_handed_on_arrives_whole_or_stays() -> Result<()> {
    let pair = Pair::start()?;
    let add = [
        "schedule.add",
        "told",
        "function=test.arg",
        "job_args=[one, 'two=2']",
        "job_kwargs={x: 1}",
        "hours=90",
        "metadata={why: 'a, b'}",
        "splay={start: 1, end: 2}",
    ];
    pair.asked("web1", &add)?;
    let job = pair.jobs("web1")?;
    ensure!(job["told"]["args"] == json!(["one", "two=2"]), "{job}");
    let copied = pair.asked("web1", &["schedule.copy", "told", "web2"])?;
    ensure!(
        copied["result"] == true && copied["minions"] == json!(["web2"]),
        "{copied}"
    );
    assert_eq!(pair.jobs("web2")?["told"], job["told"]);
    // There it is already: that it has not arrived is said, and it stays.
    let moved = pair.asked("web1", &["schedule.move", "told", "web2"])?;
    ensure!(
        moved["result"] == false && moved["minions"] == json!(["web2"]),
        "{moved}"
    );
    assert_eq!(pair.jobs("web1")?, job);
    pair.asked("web2", &["schedule.delete", "told"])?;
    let moved = pair.asked("web1", &["schedule.move", "told", "web2"])?;
    ensure!(moved["result"] == true, "{moved}");
    assert_eq!(pair.jobs("web2")?["told"], job["told"]);
    let left = pair.jobs("web1")?;
    ensure!(
        left.as_object().context("no map")?.get("told").is_none(),
        "{left}"
    );
    Ok(())
}
