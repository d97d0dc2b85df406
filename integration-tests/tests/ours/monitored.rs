//! `examples/monitoring`: its rules and dashboard match the metrics of real
//! daemons.

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{
    Daemon, Fleet, Kind, Output, Ports, Program, Recipe, START, run, until,
};
use halite_test_services::find_program;
use halite_test_support::have_programs;
use serde_json::{Value, json};

use crate::watched::{asked, posted};

const PROMTOOL: &str = "promtool";

const DEADLINE: Duration = Duration::from_secs(60);

/// What the names of our metrics begin with; `up` and functions do not.
const PREFIXES: [&str; 3] = ["salt_", "halite_", "process_"];

fn repository(path: &str) -> PathBuf {
    halite_integration_tests::package_dir()
        .join("..")
        .join(path)
}

fn example(name: &str) -> PathBuf {
    repository("examples/monitoring").join(name)
}

/// The names of metrics in a text; the parts of histograms as one.
fn names(text: &str) -> BTreeSet<String> {
    let is_letter = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let words = text.split(|char| !is_letter(char));
    let ours = words.filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix)));
    ours.map(|word| word.trim_end_matches("_bucket").to_owned())
        .collect()
}

/// The expressions of the rules and of the dashboard.
fn expressions() -> Result<String> {
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(example("dashboard.json"))?)?;
    let panels = dashboard["panels"].as_array().context("no panels")?;
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    let mut all: Vec<String> = targets
        .filter_map(|target| target["expr"].as_str().map(str::to_owned))
        .collect();
    ensure!(all.len() >= panels.len(), "a panel shows nothing");
    all.push(fs::read_to_string(example("alerts.yml"))?);
    Ok(all.join("\n"))
}

#[test]
fn rules_and_dashboard_name_metrics_that_are_documented() -> Result<()> {
    let used = names(&expressions()?);
    ensure!(used.len() > 15, "{used:?}");
    let page = fs::read_to_string(repository("docs/monitoring.md"))?;
    let documented = names(&page);
    let unknown: Vec<_> = used.difference(&documented).collect();
    ensure!(unknown.is_empty(), "not in docs/monitoring.md: {unknown:?}");
    Ok(())
}

/// Whatever is refused, lost or cut off is seen without looking for it.
#[test]
fn what_is_dropped_or_cut_off_has_a_rule_and_a_panel() -> Result<()> {
    let dashboard = fs::read_to_string(example("dashboard.json"))?;
    let rules = fs::read_to_string(example("alerts.yml"))?;
    for name in [
        "halite_cluster_bus_connected",
        "halite_cluster_bus_storing",
        "halite_connections_turned_away_total",
        "halite_bus_events_dropped_total",
        "halite_api_events_dropped_total",
        "halite_store_dropped_total",
        "halite_replay_dropped_total",
        "halite_minion_returns_dropped_total",
    ] {
        ensure!(names(&dashboard).contains(name), "no panel of {name}");
        ensure!(names(&rules).contains(name), "no rule about {name}");
    }
    Ok(())
}

#[test]
fn promtool_accepts_the_rules_and_they_fire_as_they_should() -> Result<()> {
    if !have_programs(&[PROMTOOL]) {
        return Ok(());
    }
    promtool(&["check", "rules", "alerts.yml"])?.ok()?;
    promtool(&["check", "config", "prometheus.yml"])?.ok()?;
    promtool(&["test", "rules", "alerts.test.yml"])?.ok()?;
    Ok(())
}

fn promtool(args: &[&str]) -> Result<Output> {
    let program = find_program(PROMTOOL).context("no promtool")?;
    let paths: Vec<String> = args
        .iter()
        .map(|arg| match arg.ends_with(".yml") {
            true => example(arg).display().to_string(),
            false => (*arg).to_owned(),
        })
        .collect();
    let recipe = Recipe::new(PROMTOOL, program, &std::env::temp_dir()).args(&paths);
    run(&recipe, DEADLINE)
}

/// Waits until a page of metrics has all of these.
fn page_with(at: SocketAddr, wanted: &[&str]) -> Result<()> {
    until("the page has all lines", START, || {
        let said = asked(at, "/metrics")?;
        Ok(wanted.iter().all(|line| said.contains(line)).then_some(()))
    })
    .with_context(|| format!("{:?}", asked(at, "/metrics")))
}

#[test]
fn a_master_a_minion_and_an_api_count_what_they_do() -> Result<()> {
    let fleet = Fleet::new("monitored")?;
    let ports = Ports::<4>::claim()?;
    let [of_master, of_minion, of_api, api_port] = ports.numbers;
    let on = |port: u16| json!({ "enabled": true, "exporter": "prometheus", "prometheus": { "port": port } });
    let users = fleet.path().join("users");
    fs::write(&users, "alice:secret1\n")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set(
            "external_auth",
            json!({ "file": {
                "^filename": users, "^hashtype": "plaintext", "alice": [".*"],
            }}),
        )
        .set("netapi_enable_clients", json!(["local"]))
        .set(
            "rest_cherrypy",
            json!({ "port": api_port, "disable_ssl": true, "metrics": on(of_api) }),
        )
        .set("metrics", on(of_master))
        .file("top.sls", "base:\n  '*':\n    - web\n")
        .file("web.sls", "changes:\n  test.succeed_with_changes\n")
        .start()?;
    let minion = fleet
        .minion("web1", Kind::Ours)
        .set("metrics", on(of_minion));
    let mut minion = minion.of(&master).start()?;
    master.wait_minion("web1")?;
    let recipe = master.tools(Kind::Ours).recipe(Program::Api, &[])?;
    let mut api = Daemon::new(recipe, master.dir().join("api-console"));
    api.start()?;
    let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    until("the API listens", START, || {
        api.check_runs()?;
        Ok(TcpStream::connect(at(api_port)).ok())
    })?;
    let echo = |password: &str| {
        let low = json!([{
            "client": "local", "tgt": "*", "fun": "test.echo", "arg": ["x"],
            "username": "alice", "password": password, "eauth": "file",
        }])
        .to_string();
        posted(at(api_port), "/run", &low)
    };
    let said = echo("secret1")?;
    ensure!(said.contains("{\"web1\": \"x\"}"), "{said}");
    ensure!(echo("wrong")?.starts_with("HTTP/1.1 401"));

    master.salt(&["web1", "state.highstate"])?.ok()?;
    page_with(
        at(of_master),
        &[
            "halite_highstate_last_success{minion=\"web1\"} 1.0\n",
            "halite_highstate_last_changed{minion=\"web1\"} 1.0\n",
            "halite_highstate_last_timestamp_seconds{minion=\"web1\"} ",
            "halite_highstate_minions 1.0\n",
            "halite_highstate_minions_failed 0.0\n",
            "halite_replay_jobs 2.0\n",
            "halite_replay_dropped_total 0\n",
            "halite_returns_stored_total{result=\"stored\"} ",
            "halite_store_available{role=\"jobs\"} 1.0\n",
            "halite_requests_waiting{lane=\"general\"} 0.0\n",
            "halite_bus_events_waiting 0.0\n",
            "halite_bus_events_dropped_total 0\n",
            "halite_bus_subscribers ",
            "halite_connections_turned_away_total 0\n",
        ],
    )?;
    page_with(
        at(of_minion),
        &[
            "halite_minion_jobs_run_total{fun=\"test.echo\",success=\"true\"} 1\n",
            "salt_minion_exec_duration_milliseconds_count{fun=\"test.echo\"} 1\n",
            "halite_minion_masters_configured 1.0\n",
            "halite_minion_masters_ready 1.0\n",
            "halite_minion_jobs_running 0.0\n",
            "halite_minion_returns_waiting 0.0\n",
            "halite_minion_returns_waiting_bytes 0.0\n",
            "halite_minion_returns_oldest_seconds 0.0\n",
            "halite_minion_returns_dropped_total 0\n",
            "target_info{service_name=\"salt-minion\"",
        ],
    )?;
    page_with(
        at(of_api),
        &[
            "halite_api_requests_answered_total{page=\"run\",status=\"200\"} 1\n",
            "halite_api_requests_answered_total{page=\"run\",status=\"401\"} 1\n",
            "halite_api_requests_duration_milliseconds_count{page=\"run\"} 2\n",
            "halite_api_commands_total{client=\"local\",result=\"success\"} 1\n",
            "halite_api_commands_total{client=\"local\",result=\"failure\"} 1\n",
            "halite_api_event_streams 0.0\n",
            "halite_api_bus_connected 1.0\n",
            "halite_api_commands_running 0.0\n",
            "halite_api_masters_away 0.0\n",
            "halite_api_sessions 0.0\n",
            "target_info{service_name=\"salt-api\"",
        ],
    )?;

    // What is not there any more raises no alarm. A minion that lives would come again
    // with its key, which is accepted.
    minion.kill9()?;
    master.key(&["-y", "-d", "web1"])?.ok()?;
    page_with(at(of_master), &["halite_highstate_minions 0.0\n"])?;
    let said = asked(at(of_master), "/metrics")?;
    ensure!(!said.contains("minion=\"web1\""), "{said}");
    Ok(())
}
