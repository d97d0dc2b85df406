//! The metrics of the masters of a cluster.

use std::cell::Cell;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use halite_integration_tests::{Ports, START, until};
use halite_test_support::http;
use serde_json::json;

use crate::support::Cluster;

/// Waits until a page of metrics has all of these.
pub(crate) fn page_with(at: SocketAddr, wanted: &[String]) -> Result<()> {
    let asked = || http::ask(at, "GET", "/metrics", &[], "");
    until("the page has all lines", START, || {
        // It may be starting.
        let said = asked().unwrap_or_default();
        Ok(wanted.iter().all(|line| said.contains(line)).then_some(()))
    })
    .with_context(|| format!("{wanted:?} in {:?}", asked()))
}

#[test]
fn a_master_that_is_away_is_seen_by_monitoring() -> Result<()> {
    let ports = Ports::<2>::claim()?;
    let next = Cell::new(0);
    let mut cluster = Cluster::lay(2, |plan| {
        let port = ports.numbers[next.replace(next.get() + 1)];
        let on =
            json!({ "enabled": true, "exporter": "prometheus", "prometheus": { "port": port } });
        plan.set("metrics", on)
    })?;
    cluster.start()?;
    let at = SocketAddr::from(([127, 0, 0, 1], ports.numbers[0]));
    let of = |name: &str, value: &str| {
        let peer = cluster.masters[1].address().ip();
        format!("halite_mesh_{name}{{peer=\"{peer}\"}} {value}")
    };
    let (linked, away) = (of("linked", "1.0\n"), of("linked", "0.0\n"));
    let handled = [
        of("waiting", "0.0\n"),
        of("waiting_oldest_seconds", "0.0\n"),
    ];
    page_with(at, std::slice::from_ref(&linked))?;
    page_with(at, &handled)?;
    page_with(at, &["halite_mesh_skipped_total 0\n".to_owned()])?;
    cluster.masters[1].kill9()?;
    page_with(at, &[away])?;
    cluster.masters[1].start()?;
    page_with(at, &[linked])?;
    page_with(at, &handled)
}
