//! APIs that speak TLS themselves: to clients, and to each other.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Output, Recipe, SHORT, run, until};
use halite_test_services::find_program;
use halite_test_support::have_programs;
use serde_json::{Value, json};

use crate::cookie::shape;
use crate::http::{body, header};
use crate::two::{AWAY, Bond, Two};

const CURL: &str = "curl";

/// What an API answers over TLS, with its head. The authority is that of the certificate.
fn curl(two: &Two, api: usize, path: &str, args: &[&str]) -> Result<Output> {
    let tls = two.tls.as_ref().context("no certificates")?;
    let url = format!("https://{}{path}", two.at[api]);
    let ca = tls.ca.display().to_string();
    let program = find_program(CURL).context("no curl")?;
    let recipe = Recipe::new(CURL, program, two.minion.dir())
        .args(&["-sSi", "--http1.1", "--cacert", &ca, &url])
        .args(args);
    run(&recipe, SHORT)
}

fn post(two: &Two, api: usize, path: &str, session: &str, low: &Value) -> Result<String> {
    let token = format!("X-Auth-Token: {session}");
    let low = low.to_string();
    let args = [
        "-H",
        "Content-Type: application/json",
        "-H",
        &token,
        "-d",
        &low,
    ];
    Ok(curl(two, api, path, &args)?.ok()?.stdout)
}

/// Scripts cannot read it, and browsers send it over TLS and with requests of this site only.
const SECURE_COOKIE: &str = "session_id=SESSION; expires=LATER; Max-Age=SECONDS; Path=/; \
                             HttpOnly; SameSite=Strict; Secure";

/// Logs in; the session.
fn login(two: &Two, api: usize) -> Result<String> {
    let proof = json!({ "username": "alice", "password": "secret1", "eauth": "file" });
    let said = post(two, api, "/login", "", &proof)?;
    let cookie = header(&said, "set-cookie").with_context(|| said.clone())?;
    let date = header(&said, "date").with_context(|| said.clone())?;
    ensure!(shape(cookie, date) == SECURE_COOKIE, "{cookie}");
    let session = header(&said, "x-auth-token").with_context(|| said.clone())?;
    Ok(session.to_owned())
}

/// Pings by an API; the masters that the answer is without.
fn ping(two: &Two, api: usize, session: &str) -> Result<Option<String>> {
    let low = json!([{ "client": "local", "tgt": "*", "fun": "test.ping" }]);
    let said = post(two, api, "/", session, &low)?;
    ensure!(body(&said)?["return"][0]["web1"] == true, "{said}");
    Ok(header(&said, AWAY).map(str::to_owned))
}

#[test]
fn apis_with_tls_answer_clients_and_each_other() -> Result<()> {
    if !have_programs(&[CURL]) {
        return Ok(());
    }
    let mut two = Two::start_tls(Bond::SharedTokens)?;
    let (first, second) = (login(&two, 0)?, login(&two, 1)?);
    until("the first API reaches both masters", SHORT, || {
        Ok(ping(&two, 0, &first)?.is_none().then_some(()))
    })?;
    // The second one does not trust the authority.
    let unknown = two.at[0].to_string();
    until("the second API trusts nobody", SHORT, || {
        let away = ping(&two, 1, &second)?;
        Ok(away
            .is_some_and(|away| away.contains(&unknown))
            .then_some(()))
    })?;

    // Without its own master the first API asks the other one, over TLS.
    two.masters[0].kill9()?;
    let name = two.name(0);
    ensure!(ping(&two, 0, &first)?.as_ref() == Some(&name));
    let late = login(&two, 0)?;
    ensure!(ping(&two, 0, &late)?.as_ref() == Some(&name));

    // Who does not know the authority is not answered, nor who speaks without TLS.
    let url = format!("https://{}/", two.at[0]);
    let program = find_program(CURL).context("no curl")?;
    let recipe = Recipe::new(CURL, program, two.minion.dir()).args(&["-sS", &url]);
    ensure!(
        run(&recipe, SHORT)?.code != 0,
        "the certificate is not checked"
    );
    ensure!(two.get(0, "/", &first).is_err(), "answered without TLS");
    Ok(())
}
