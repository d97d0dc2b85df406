//! `masters.compare` in a cluster: all members, and what makes them one.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::{Kind, START, until};
use serde_json::Value;

use crate::isolated_cluster::IsolatedCluster;

#[test]
fn members_are_compared_by_what_makes_them_a_cluster() -> Result<()> {
    compare_members(IsolatedCluster::lay(3)?)
}

#[test]
fn members_of_a_cluster_on_a_bus_are_compared() -> Result<()> {
    IsolatedCluster::lay_on_bus(3)?.map_or(Ok(()), compare_members)
}

fn compare_members(mut isolated: IsolatedCluster) -> Result<()> {
    let third = isolated.masters[2].dir();
    fs::write(
        third.join("master.d/copies.conf"),
        "cluster_return_copies: 1\n",
    )?;
    // What minions are not served of files counts in pillars.
    for master in &isolated.masters {
        let text = "file_ignore_glob: ['*.sls']\n";
        fs::write(master.dir().join("master.d/ignored.conf"), text)?;
    }
    fs::create_dir_all(third.join("pillar"))?;
    fs::write(third.join("pillar/site.sls"), "site: basle\n")?;
    isolated.start(3)?;
    let compare = || -> Result<Vec<(String, String, String)>> {
        let tools = isolated.masters[0].tools(Kind::Ours);
        let said = tools.runner(&["masters.compare", "--out=json"])?;
        let rows: Value = serde_json::from_str(&said.stdout).with_context(|| format!("{said}"))?;
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let rows = rows.as_array().context("no rows")?.iter();
        Ok(rows
            .map(|row| {
                (
                    text(row, "master"),
                    text(row, "topic"),
                    text(row, "difference"),
                )
            })
            .collect())
    };
    // Until all have joined, they have different members; and nobody answers twice in a
    // moment.
    let rows = until("the members to agree", START, || {
        let rows = compare()?;
        let differ = |(_, topic, _): &(String, String, String)| {
            matches!(topic.as_str(), "cluster" | "connection")
        };
        Ok((!rows.iter().any(differ)).then_some(rows))
    })?;
    let of = |n: usize| {
        let ip = isolated.ip(n);
        let rows = rows
            .iter()
            .filter(move |(master, ..)| master.starts_with(&ip));
        rows.map(|(_, topic, text)| (topic.as_str(), text.as_str()))
            .collect::<Vec<_>>()
    };
    ensure!(
        of(1).iter().all(|(topic, _)| *topic == "everything"),
        "{rows:?}"
    );
    let third = [
        ("pillar_roots", "base: other files"),
        ("options", "cluster_return_copies: 2 here, 1 there"),
    ];
    ensure!(of(2) == third, "{rows:?}");
    Ok(())
}
