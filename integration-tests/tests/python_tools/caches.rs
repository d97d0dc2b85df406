//! What `salt-run` of real Salt finds of the grains, the pillar and the mine that our
//! master keeps of its minions.

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, START, for_each_salt, until};
use serde_json::{Value, json};

const MINIONS: [&str; 2] = ["web1", "db1"];

/// Answers of the `salt-run` of a kind.
fn ask(master: &Master, tool: Kind, words: &[&str]) -> Result<Value> {
    let words = [words, &["--out=json", "-l", "quiet"]].concat();
    master.tools(tool).runner(&words)?.ok()?.json()
}

for_each_salt! {
    fn salt_run_of_python_shows_what_our_master_keeps(tool) {
        let fleet = Fleet::new("caches")?;
        let plan = fleet.master("m1", Kind::Ours).auto_accept();
        let plan = plan.set("ext_pillar", json!([{ "cmd_json": r#"echo '{"color": "red"}'"# }]));
        let plan = plan.set("minion_data_layout", json!(3006));
        let master = plan.start()?;
        let start = |id: &str| {
            let minion = fleet.minion(id, Kind::Ours).of(&master);
            let minion = minion.set("grains", json!({ "rack": id }));
            minion.set("mine_functions", json!({ "test.echo": [id] })).start()
        };
        let _minions = [start(MINIONS[0])?, start(MINIONS[1])?];
        let mine = ["mine.get", "*", "test.echo"];
        let both = json!({ "web1": "web1", "db1": "db1" });
        until("both mines to be kept", START, || {
            Ok((ask(&master, Kind::Ours, &mine)? == both).then_some(()))
        })?;
        assert_eq!(ask(&master, tool, &mine)?, both);
        let kept = ask(&master, tool, &["cache.mine", "web1"])?;
        assert_eq!(kept, json!({ "web1": { "test.echo": "web1" } }));
        let ours = ask(&master, Kind::Ours, &["cache.grains", "*"])?;
        let theirs = ask(&master, tool, &["cache.grains", "*"])?;
        for id in MINIONS {
            assert_eq!(theirs[id]["rack"], id, "{theirs}");
            assert_eq!(theirs[id], ours[id]);
        }
        let pillars = ask(&master, tool, &["cache.pillar", "web1"])?;
        // 3008 masks it.
        ensure!(pillars["web1"].get("color").is_some(), "{pillars}");
        let one = ask(&master, tool, &["cache.grains", "rack:db1", "tgt_type=grain"])?;
        ensure!(one.as_object().is_some_and(|one| one.len() == 1), "{one}");

        // What our master forgets is not there for them either.
        ask(&master, Kind::Ours, &["cache.clear_all", "web1"])?;
        assert_eq!(ask(&master, tool, &mine)?, json!({ "db1": "db1" }));
        let left = ask(&master, tool, &["cache.grains", "*"])?;
        ensure!(left["web1"].as_object().is_none_or(serde_json::Map::is_empty), "{left}");
        Ok(())
    };
}
