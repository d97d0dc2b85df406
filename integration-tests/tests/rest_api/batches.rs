//! CVE-2017-5192: a batch wants proof as other clients do, and its user has no more
//! rights by it.

use anyhow::{Result, ensure};
use halite_integration_tests::Kind;
use serde_json::{Value, json};

use crate::http::{body, status};
use crate::served::Served;

/// A batch, with the proof of somebody.
fn batch(fun: &str, args: &[&str], proof: &Value) -> Value {
    let mut low = json!({
        "client": "local_batch", "tgt": "*", "fun": fun, "arg": args, "batch": "1",
    });
    if let (Some(low), Some(proof)) = (low.as_object_mut(), proof.as_object()) {
        low.extend(proof.clone());
    }
    low
}

#[test]
fn a_batch_has_the_rights_of_who_proves_to_ask_for_it() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let bob = |password: &str| json!({ "username": "bob", "password": password, "eauth": "file" });
    let nobody = json!({});
    for proof in [
        nobody.clone(),
        json!({ "username": "bob" }),
        json!({ "username": "bob", "eauth": "file" }),
        bob("wrong"),
        json!({ "token": "abcd" }),
    ] {
        let low = batch("test.ping", &[], &proof);
        let said = served.post("/run", "", &low)?;
        ensure!(status(&said) == Some(401), "{proof}: {said}");
        let said = served.post("/", "", &low)?;
        ensure!(status(&said) == Some(401), "{proof}: {said}");
    }
    // What bob may do, and what not, by his password and by his session.
    let session = served.session("bob")?;
    for (path, session, proof) in [("/run", "", &bob("secret2")), ("/", session, &nobody)] {
        let said = served.post(path, session, &batch("test.ping", &[], proof))?;
        ensure!(
            body(&said)?["return"] == json!([{ "web1": true }]),
            "{said}"
        );
        let said = served.post(path, session, &batch("test.echo", &["x"], proof))?;
        ensure!(status(&said) == Some(401), "{path}: {said}");
    }
    Ok(())
}
