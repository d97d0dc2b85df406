//! A client that leaves before it is answered.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, SHORT, START, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::http::{ask, begin, body};
use crate::served::Served;
use crate::tokens::stored;

/// So many tokens the API asks its master about at once; a logout after them waits.
const ASKED_AT_ONCE: usize = 8;

/// The counters of the API, which does not ask its master for them.
fn stats(served: &Served) -> Result<Value> {
    let session = [("X-Auth-Token", served.session("alice")?)];
    body(&ask(served.address(), "GET", "/stats", &session, "")?)
}

/// Waits until so many requests are under way beside the one that asks.
fn wait_under_way(served: &Served, count: usize) -> Result<()> {
    until(&format!("{count} requests are under way"), START, || {
        let stats = stats(served)?;
        Ok((stats["requests_under_way"] == count + 1).then_some(()))
    })
}

#[test]
fn who_leaves_while_logging_out_is_logged_out() -> Result<()> {
    let mut served = Served::start(Kind::Ours)?;
    let at = served.address();
    let session = |user| served.session(user).map(str::to_owned);
    let (of_alice, of_bob) = (session("alice")?, session("bob")?);
    let (of_alice, of_bob) = ([("X-Auth-Token", &*of_alice)], [("X-Auth-Token", &*of_bob)]);
    let before = stored(served.master())?;
    ensure!(before.len() == 2, "{before:?}");

    // While the master hangs, the logout waits: nobody has told the master of it.
    served.signal_master(Signal::SIGSTOP)?;
    let asking: Vec<_> = (0..ASKED_AT_ONCE)
        .map(|_| begin(at, "HEAD", "/events", &of_alice, ""))
        .collect::<Result<_, _>>()?;
    wait_under_way(&served, ASKED_AT_ONCE)?;
    let leaving = begin(at, "POST", "/logout", &of_bob, "")?;
    until("the session of bob has ended", START, || {
        Ok((stats(&served)?["sessions"] == 1).then_some(()))
    })?;
    drop(leaving);
    wait_under_way(&served, ASKED_AT_ONCE)?;
    ensure!(stored(served.master())? == before, "it did not wait");
    served.signal_master(Signal::SIGCONT)?;

    let left = until("the token of bob is gone", SHORT, || {
        let left = stored(served.master())?;
        Ok((left.len() < before.len()).then_some(left))
    })?;
    let gone = before
        .difference(&left)
        .next()
        .context("no token is gone")?;
    let ping = |token: &str| {
        let low = json!([{ "client": "local", "tgt": "*", "fun": "test.ping", "token": token }]);
        served.post("/run", "", &low)
    };
    let refused = ping(gone)?;
    ensure!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let kept = left.first().context("both tokens are gone")?;
    let answered = ping(kept)?;
    ensure!(answered.starts_with("HTTP/1.1 200"), "{answered}");
    drop(asking);
    Ok(())
}
