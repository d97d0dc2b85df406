//! An answer has all who have returned, also where they are faster than whoever asks.

use std::thread;

use anyhow::{Result, anyhow, ensure};
use halite_integration_tests::Kind;
use serde_json::json;

use crate::http::{ask, body};
use crate::served::Served;

/// So many ask at once, each so often.
const CALLERS: usize = 8;
const CALLS: usize = 40;

#[test]
fn no_answer_is_without_a_minion_that_has_returned() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let (at, session) = (served.address(), served.session("alice")?);
    let low = json!([
        { "client": "local", "tgt": "*", "fun": "test.ping" },
        { "client": "local", "tgt": "web1", "fun": "test.echo", "arg": ["x"], "full_return": true },
    ])
    .to_string();
    let headers = [
        ("X-Auth-Token", session),
        ("Content-Type", "application/json"),
    ];
    let call = || -> Result<()> {
        for _ in 0..CALLS {
            let said = ask(at, "POST", "/", &headers, &low)?;
            let returns = &body(&said)?["return"];
            ensure!(returns[0] == json!({ "web1": true }), "{said}");
            ensure!(returns[1]["web1"]["ret"] == "x", "{said}");
        }
        Ok(())
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(call)).collect();
        callers.into_iter().try_for_each(|caller| {
            caller
                .join()
                .unwrap_or_else(|_| Err(anyhow!("a caller panicked")))
        })
    })
}
