//! Pages for programs that watch a master: `metrics` for Prometheus, `health_port`
//! for balancers.

use std::net::{SocketAddr, TcpStream};

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Ports, SHORT, until};
use halite_test_support::http;
use serde_json::json;

/// What is answered to a request for a page.
pub(crate) fn asked(at: SocketAddr, path: &str) -> Result<String> {
    Ok(http::ask(at, "GET", path, &[], "")?)
}

/// What is answered to JSON.
pub(crate) fn posted(at: SocketAddr, path: &str, json: &str) -> Result<String> {
    let headers = [("Content-Type", "application/json")];
    Ok(http::ask(at, "POST", path, &headers, json)?)
}

#[test]
fn a_master_counts_what_it_does() -> Result<()> {
    let fleet = Fleet::new("metrics")?;
    let ports = Ports::<1>::claim()?;
    let port = ports.numbers[0];
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set(
            "metrics",
            json!({ "enabled": true, "exporter": "prometheus", "prometheus": { "port": port } }),
        )
        .start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let at = SocketAddr::from(([127, 0, 0, 1], port));
    let page = || asked(at, "/metrics");
    master.tools(Kind::Ours).check_ping(&["web1"])?;
    master.salt(&["web1", "test.arg", "x"])?.ok()?;
    let said = page()?;
    ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    for line in [
        "salt_jobs_published_total{fun=\"test.arg\"} 1\n",
        "salt_jobs_completed_total{fun=\"test.arg\",success=\"true\"} 1\n",
        "salt_auth_attempts_total{result=\"success\"}",
        "salt_events_fired_total{tag_prefix=\"job\"}",
        "salt_master_requests_handled_total{cmd=\"_return\"}",
        "salt_master_requests_duration_milliseconds_bucket{le=\"1.0\",cmd=\"_return\"}",
        "salt_master_connected_minions_count 1.0",
        "process_open_fds ",
    ] {
        ensure!(said.contains(line), "{line} is not in {said}");
    }
    drop(minion);
    until("the minion is no longer counted", SHORT, || {
        let is_gone = page()?.contains("salt_master_connected_minions_count 0.0");
        Ok(is_gone.then_some(()))
    })
}

#[test]
fn a_balancer_hears_whether_a_master_serves() -> Result<()> {
    let fleet = Fleet::new("health")?;
    let ports = Ports::<1>::claim()?;
    let port = ports.numbers[0];
    let master = fleet
        .master("m1", Kind::Ours)
        .set("health_port", port)
        .start()?;
    let at = SocketAddr::from((master.address().ip(), port));
    for path in ["/", "/health", "/health/ready"] {
        let said = asked(at, path)?;
        ensure!(said.starts_with("HTTP/1.1 200"), "{path}: {said}");
    }
    ensure!(asked(at, "/metrics")?.starts_with("HTTP/1.1 404"));
    drop(master);
    ensure!(TcpStream::connect(at).is_err());
    Ok(())
}
