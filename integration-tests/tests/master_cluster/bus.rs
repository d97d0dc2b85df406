//! Masters whose bus is an engine: commands, and an engine that dies.

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::{Kind, Minion, Ports, START, until};
use serde_json::{Value, json};

use crate::isolated_cluster::IsolatedCluster;
use crate::monitored::page_with;

/// Two masters on a bus, each with a minion.
struct OnBus {
    minions: Vec<Minion>,
    /// The metrics of the first.
    metrics: Ports<1>,
    cluster: IsolatedCluster,
}

impl OnBus {
    fn start() -> Result<Option<Self>> {
        let Some(mut cluster) = IsolatedCluster::lay_on_bus(2)? else {
            return Ok(None);
        };
        let metrics = Ports::<1>::claim()?;
        let options = json!({ "metrics": {
            "enabled": true, "exporter": "prometheus",
            "prometheus": { "port": metrics.numbers[0] },
        }});
        let conf = cluster.masters[0].dir().join("master.d/metrics.conf");
        fs::write(conf, options.to_string())?;
        cluster.start(2)?;
        let mut minions = Vec::new();
        for n in 0..2 {
            let id = format!("web{}", n + 1);
            let plan = cluster.fleet.minion(&id, Kind::Ours);
            minions.push(plan.of(&cluster.masters[n]).start()?);
            cluster.wait_file(&[0, 1], &format!("minions_pre/{id}"), true)?;
            cluster.masters[1 - n].key(&["-y", "-a", &id])?.ok()?;
            cluster.wait_file(&[0, 1], &format!("minions/{id}"), true)?;
        }
        let on_bus = Self {
            minions,
            metrics,
            cluster,
        };
        for n in 0..2 {
            on_bus.wait_answers(n, &["web1", "web2"])?;
        }
        Ok(Some(on_bus))
    }

    /// Waits until just these minions answer a master.
    fn wait_answers(&self, n: usize, wanted: &[&str]) -> Result<()> {
        let what = format!("{wanted:?} to answer m{}", n + 1);
        until(&what, START, || {
            let said = self.cluster.masters[n].salt(&["-t", "1", "*", "test.ping", "--out=txt"])?;
            let answers = |id: &&str| said.stdout.contains(&format!("{id}: True"));
            let all = ["web1", "web2"].iter().filter(|id| answers(id));
            Ok(all.eq(wanted).then_some(()))
        })
    }

    /// Waits until the first master's metrics say whether it is connected to the bus, which
    /// stores its messages then.
    fn wait_metrics(&self, is_connected: bool) -> Result<()> {
        let at = SocketAddr::from(([127, 0, 0, 1], self.metrics.numbers[0]));
        let number = if is_connected { "1.0" } else { "0.0" };
        let mut lines = vec![format!("halite_cluster_bus_connected {number}\n")];
        if is_connected {
            lines.push("halite_cluster_bus_storing 1.0\n".to_owned());
        }
        page_with(at, &lines)
    }

    fn status(&self, n: usize) -> Result<Value> {
        let tools = self.cluster.masters[n].tools(Kind::Ours);
        let shown = tools.runner(&["cluster.status", "--out=json"])?.ok()?;
        Ok(serde_json::from_str(&shown.stdout)?)
    }

    /// How often a minion has run what writes a line to this file.
    fn runs(&self, file: &str) -> usize {
        let text = fs::read_to_string(self.cluster.fleet.path().join(file));
        text.unwrap_or_default().lines().count()
    }
}

#[test]
fn masters_serve_their_own_minions_without_the_engine_and_tell_the_rest_later() -> Result<()> {
    let Some(mut on_bus) = OnBus::start()? else {
        return Ok(());
    };
    on_bus.wait_metrics(true)?;
    let engine = &on_bus.cluster.bus.as_ref().context("no bus")?.server;
    engine.kill();
    on_bus.wait_metrics(false)?;
    for n in 0..2 {
        on_bus.wait_answers(n, &[["web1"], ["web2"]][n])?;
        let status = on_bus.status(n)?;
        ensure!(status["bus"]["connected"] == false, "{status}");
        ensure!(status["away"][0] == on_bus.cluster.ip(1 - n), "{status}");
        let log = fs::read_to_string(on_bus.cluster.masters[n].dir().join("log"))?;
        let said = log.matches("the bus of the cluster at").count();
        ensure!(
            log.contains("is away: this master serves its own") && said < 6,
            "{log}"
        );
        ensure!(!log.contains("of-the-bus"), "the password is in the log");
    }
    // A job that the other master's minion hears of when the engine is back, once.
    let file = on_bus.cluster.fleet.path().join("runs");
    let command = format!("echo ran >> {}", file.display());
    let asked = ["--async", "web2", "cmd.run", command.as_str()];
    on_bus.cluster.masters[0].salt(&asked)?.ok()?;
    engine.start()?;
    until("the job to run at web2", START, || {
        Ok((on_bus.runs("runs") > 0).then_some(()))
    })?;
    for n in 0..2 {
        on_bus.wait_answers(n, &["web1", "web2"])?;
    }
    on_bus.wait_metrics(true)?;
    let status = on_bus.status(0)?;
    ensure!(status["bus"]["connected"] == true, "{status}");
    ensure!(status["half"] == false, "{status}");
    ensure!(
        on_bus.runs("runs") == 1,
        "it ran {} times",
        on_bus.runs("runs")
    );
    // And a master that is killed is back among the others.
    on_bus.cluster.masters[1].kill9()?;
    on_bus.wait_answers(0, &["web1"])?;
    on_bus.cluster.masters[1].start()?;
    on_bus.wait_answers(0, &["web1", "web2"])?;
    for minion in &mut on_bus.minions {
        minion.stop()?;
    }
    Ok(())
}

#[test]
fn what_is_wrong_with_a_bus_stops_the_start_and_shows_no_password() -> Result<()> {
    let cluster = IsolatedCluster::lay_on_bus(1)?;
    let Some(mut cluster) = cluster else {
        return Ok(());
    };
    let conf = cluster.masters[0].dir().join("master.d/cluster.conf");
    let good = fs::read_to_string(&conf)?;
    let log = cluster.masters[0].dir().join("log");
    for (wrong, why) in [
        (
            "cluster_bus: redis://u:of-the-bus@h",
            "option `cluster_bus`: it must begin with nats://",
        ),
        (
            "cluster_bus: nats://of-the-bus@h",
            "write USER:PASSWORD before the @",
        ),
        (
            "cluster_bus_key: /nowhere",
            "it requires `cluster_bus_cert`",
        ),
        (
            "cluster_bus_ca: /nowhere",
            "option `cluster_bus_ca`: /nowhere: No such file",
        ),
    ] {
        let option = wrong.split(':').next().unwrap_or_default();
        let kept = good
            .lines()
            .filter(|line| !line.starts_with(&format!("{option}:")));
        let text: String = kept
            .chain([wrong])
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(&conf, text)?;
        let said = cluster.masters[0].start().err().context(wrong)?;
        let said = format!("{said:?}\n{}", fs::read_to_string(&log).unwrap_or_default());
        ensure!(said.contains(why), "{wrong}: {said}");
        ensure!(!said.contains("of-the-bus"), "{wrong}: {said}");
    }
    Ok(())
}
