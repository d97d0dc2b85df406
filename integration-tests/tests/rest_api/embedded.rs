//! The API within a master: `api: embedded`.

use std::fs;
use std::io::Read as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, MasterPlan, Ports, Program, SHORT, START, run};
use serde_json::{Value, json};

use crate::http::{Listening, ask, body, events, header};

/// How long master and API may take together to end.
const END: Duration = Duration::from_secs(5);

/// A master that is to serve its API itself.
fn plan<'f>(fleet: &'f Fleet, at: SocketAddr) -> Result<MasterPlan<'f>> {
    let users = fleet.path().join("users");
    fs::write(&users, "alice:secret1\n")?;
    let logins = json!({ "file": {
        "^filename": users, "^hashtype": "plaintext", "alice": [".*", "@runner", "@wheel"],
    }});
    let plan = fleet.master("m1", Kind::Ours).auto_accept();
    Ok(plan
        .set("api", "embedded")
        .set("external_auth", logins)
        .set("netapi_enable_clients", json!(["local", "runner"]))
        .set(
            "rest_cherrypy",
            json!({ "port": at.port(), "host": "127.0.0.1", "disable_ssl": true }),
        ))
}

fn post(at: SocketAddr, path: &str, session: &str, low: &Value) -> Result<String> {
    let mut headers = vec![("Content-Type", "application/json")];
    if !session.is_empty() {
        headers.push(("X-Auth-Token", session));
    }
    Ok(ask(at, "POST", path, &headers, &low.to_string())?)
}

fn login(at: SocketAddr) -> Result<String> {
    let proof = json!({ "username": "alice", "password": "secret1", "eauth": "file" });
    let said = post(at, "/login", "", &proof)?;
    let session = header(&said, "x-auth-token").with_context(|| said.clone())?;
    Ok(session.to_owned())
}

#[test]
fn the_api_within_a_master_serves_and_ends_with_it() -> Result<()> {
    let fleet = Fleet::new("api-embedded")?;
    let ports = Ports::<1>::claim()?;
    let at = SocketAddr::from(([127, 0, 0, 1], ports.numbers[0]));
    let mut master = plan(&fleet, at)?.start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion(minion.id())?;

    let session = login(at)?;
    let low = json!([
        { "client": "local", "tgt": "*", "fun": "test.ping" },
        { "client": "runner", "fun": "manage.up" },
    ]);
    let said = body(&post(at, "/", &session, &low)?)?;
    ensure!(
        said["return"] == json!([{ "web1": true }, ["web1"]]),
        "{said}"
    );
    let heard = Listening::start(at, &session)?;
    halite_integration_tests::until("the event", SHORT, || {
        post(at, "/hook/within", &session, &json!({ "build": 17 }))?;
        Ok(heard.of("salt/netapi/hook/within").first().map(drop))
    })?;

    // There is one API.
    let second = run(&master.tools(Kind::Ours).recipe(Program::Api, &[])?, SHORT)?;
    ensure!(second.code != 0, "{second}");
    ensure!(
        second.stderr.contains("the master serves the API itself"),
        "{second}"
    );

    // A stream holds up neither.
    let mut stream = events(at, &session)?;
    let ending = Instant::now();
    ensure!(master.stop()? == 0, "the master did not end well");
    ensure!(ending.elapsed() < END, "it took {:?}", ending.elapsed());
    stream.read_to_string(&mut String::new())?;
    ensure!(TcpStream::connect(at).is_err(), "the API is still there");
    for log in ["console", "log"] {
        let said = fs::read_to_string(master.dir().join(log)).unwrap_or_default();
        ensure!(!said.contains("stopping although requests"), "{said}");
    }

    master.start()?;
    login(at)?;
    master.kill9()?;
    ensure!(
        TcpStream::connect(at).is_err(),
        "the API has outlived its master"
    );
    Ok(())
}

#[test]
fn a_port_that_is_taken_ends_the_master_at_once() -> Result<()> {
    let fleet = Fleet::new("api-embedded-taken")?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let at = taken.local_addr()?;
    let master = plan(&fleet, at)?.lay()?;
    let begun = Instant::now();
    let said = run(
        &master.tools(Kind::Ours).recipe(Program::Master, &[])?,
        SHORT,
    )?;
    ensure!(said.code != 0, "{said}");
    let told = format!("{}{}", said.stderr, said.stdout);
    ensure!(told.contains(&at.to_string()), "{said}");
    ensure!(begun.elapsed() < START, "it took {:?}", begun.elapsed());
    Ok(())
}

#[test]
fn an_api_that_cannot_serve_keeps_its_master_from_starting() -> Result<()> {
    let fleet = Fleet::new("api-embedded-wrong")?;
    let ports = Ports::<1>::claim()?;
    let at = SocketAddr::from(([127, 0, 0, 1], ports.numbers[0]));
    let master = plan(&fleet, at)?
        .set("rest_cherrypy", json!({ "port": at.port() }))
        .lay()?;
    let said = run(
        &master
            .tools(Kind::Ours)
            .recipe(Program::Master, &["--check"])?,
        SHORT,
    )?;
    ensure!(said.code != 0 && said.stderr.contains("ssl_crt"), "{said}");
    Ok(())
}
