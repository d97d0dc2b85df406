//! Tokens of masters that share no directory: in a cluster, one that a master has made is
//! good at the other one at once; and where somebody logs out, it is good nowhere.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use halite_integration_tests::{Master, SHORT, START, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::http::{ask, body};
use crate::two::{Bond, Two};

/// Tokens that are made at each master and shown to the other one.
const TOKENS: usize = 10;

/// How much longer than usual a request may take while a master hangs: a second, and what
/// a busy machine adds.
const HANGS_MAX: Duration = Duration::from_millis(2500);

/// What one API says to a request with JSON.
fn post(at: SocketAddr, path: &str, headers: &[(&str, &str)], low: &Value) -> Result<String> {
    let mut all = vec![("Content-Type", "application/json")];
    all.extend_from_slice(headers);
    Ok(ask(at, "POST", path, &all, &low.to_string())?)
}

/// A token of the master of this API.
fn make(at: SocketAddr) -> Result<String> {
    let proof = json!([{ "username": "alice", "password": "secret1", "eauth": "file" }]);
    let said = post(at, "/token", &[], &proof)?;
    let token = body(&said)?[0]["token"].as_str().map(str::to_owned);
    token.with_context(|| said)
}

/// What the master of this API, and no other one, says to a token.
fn show(at: SocketAddr, token: &str) -> Result<String> {
    let low = json!([{ "client": "wheel", "fun": "key.list_all", "token": token }]);
    post(at, "/run", &[("Halite-Relayed", "x")], &low)
}

fn check_good(said: &str) -> Result<()> {
    ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    let keys = &body(said)?["return"][0]["data"]["return"]["minions"];
    ensure!(keys == &json!(["web1"]), "{said}");
    Ok(())
}

/// Waits until the masters have met: one says so of the other.
fn wait_met(two: &Two) -> Result<()> {
    for api in [0, 1] {
        let session = two.login(api)?;
        two.wait_whole(api, &session)?;
        two.wait_masters(api, &session, &[0, 1])?;
    }
    Ok(())
}

#[test]
fn a_token_is_good_at_both_masters_of_a_cluster_at_once() -> Result<()> {
    let two = Two::start(Bond::Cluster)?;
    wait_met(&two)?;
    for _ in 0..TOKENS {
        for (made_at, shown_at) in [(0, 1), (1, 0)] {
            let token = make(two.at[made_at])?;
            check_good(&show(two.at[shown_at], &token)?)?;
        }
    }
    Ok(())
}

#[test]
fn a_master_that_comes_back_knows_the_tokens_made_meanwhile() -> Result<()> {
    let mut two = Two::start(Bond::Cluster)?;
    wait_met(&two)?;
    for (back, other) in [(1, 0), (0, 1)] {
        two.masters[back].kill9()?;
        let token = make(two.at[other])?;
        let at = two.at[back];
        let master = &mut two.masters[back];
        // Shown from the first moment on in which the master answers.
        std::thread::scope(|scope| -> Result<()> {
            let starting = scope.spawn(|| master.start());
            let said = until("an answer of the master", START, || {
                let said = show(at, &token)?;
                Ok((!said.starts_with("HTTP/1.1 503")).then_some(said))
            });
            let started = starting.join();
            started.map_err(|_| anyhow!("a start panicked"))??;
            check_good(&said?)
        })?;
        // The other one is met again before it is killed.
        until("the master is met again", SHORT, || {
            let token = make(at)?;
            Ok(check_good(&show(two.at[other], &token)?).ok())
        })?;
    }
    Ok(())
}

#[test]
fn a_master_that_hangs_delays_logins_and_unknown_tokens_by_a_second() -> Result<()> {
    let mut two = Two::start(Bond::Cluster)?;
    wait_met(&two)?;
    let unknown = "0".repeat(64);
    let begun = Instant::now();
    let said = show(two.at[0], &unknown)?;
    let usually = begun.elapsed();
    ensure!(said.starts_with("HTTP/1.1 401"), "{said}");

    two.masters[1].daemon().signal(Signal::SIGSTOP)?;
    let begun = Instant::now();
    let token = make(two.at[0])?;
    let took = begun.elapsed();
    ensure!(took < HANGS_MAX, "a login took {took:?}");
    let begun = Instant::now();
    let said = show(two.at[0], &unknown)?;
    let took = begun.elapsed();
    ensure!(said.starts_with("HTTP/1.1 401"), "{said}");
    ensure!(
        took < usually + HANGS_MAX,
        "{took:?}, and {usually:?} before"
    );
    check_good(&show(two.at[0], &token)?)?;
    two.masters[1].daemon().signal(Signal::SIGCONT)?;
    until("the token at the other master", SHORT, || {
        Ok(check_good(&show(two.at[1], &token)?).ok())
    })
}

/// The tokens that lie in the store of a master.
pub(crate) fn stored(master: &Master) -> Result<BTreeSet<String>> {
    let dir = master.dir().join("cache/tokens");
    if !dir.exists() {
        return Ok(BTreeSet::new());
    }
    let names = fs::read_dir(dir)?.map(|entry| {
        let name = entry?.file_name().to_string_lossy().into_owned();
        Ok(name.trim_end_matches(".p").to_owned())
    });
    names.collect()
}

/// Logs in at an API; the session, and its token, which a master has made.
fn log_in(two: &Two, api: usize, made_by: usize) -> Result<(String, String)> {
    let before = stored(&two.masters[made_by])?;
    let session = two.login(api)?;
    let after = stored(&two.masters[made_by])?;
    let token = after.difference(&before).next().cloned();
    Ok((session, token.context("no master has made a token")?))
}

fn log_out(two: &Two, api: usize, session: &str) -> Result<()> {
    let said = two.post(api, "/logout", session, &json!({}))?;
    ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    Ok(())
}

fn check_refused(said: &str) -> Result<()> {
    ensure!(said.starts_with("HTTP/1.1 401"), "{said}");
    Ok(())
}

#[test]
fn who_logs_out_at_one_master_of_a_cluster_is_logged_out_at_all() -> Result<()> {
    let two = Two::start(Bond::Cluster)?;
    wait_met(&two)?;
    for (api, other) in [(0, 1), (1, 0)] {
        let (session, token) = log_in(&two, api, api)?;
        check_good(&show(two.at[other], &token)?)?;

        // Who knows the token alone ends it only as another API, and no made-up one.
        let bare = [("X-Auth-Token", token.as_str())];
        check_refused(&post(two.at[other], "/logout", &bare, &json!({}))?)?;
        let made_up = "0".repeat(token.len());
        let relayed = [("X-Auth-Token", made_up.as_str()), ("Halite-Relayed", "x")];
        check_refused(&post(two.at[other], "/logout", &relayed, &json!({}))?)?;
        check_good(&show(two.at[other], &token)?)?;

        log_out(&two, api, &session)?;
        check_refused(&show(two.at[api], &token)?)?;
        until("the other master refuses the token", SHORT, || {
            let said = show(two.at[other], &token)?;
            Ok(said.starts_with("HTTP/1.1 401").then_some(()))
        })?;
        ensure!(!stored(&two.masters[other])?.contains(&token), "it is kept");
    }
    Ok(())
}

#[test]
fn a_token_that_another_master_of_a_list_has_made_ends_there() -> Result<()> {
    let mut two = Two::start(Bond::List)?;
    let session = two.login(0)?;
    two.wait_whole(0, &session)?;
    two.masters[0].kill9()?;
    let (while_away, first) = log_in(&two, 0, 1)?;
    let (after, second) = log_in(&two, 0, 1)?;
    for token in [&first, &second] {
        check_good(&show(two.at[1], token)?)?;
    }

    log_out(&two, 0, &while_away)?;
    check_refused(&show(two.at[1], &first)?)?;
    check_good(&show(two.at[1], &second)?)?;

    two.masters[0].start()?;
    log_out(&two, 0, &after)?;
    check_refused(&show(two.at[1], &second)?)
}
