//! The cost of a refused request for the master: an operation with its private key
//! only where the table says so, whatever the request holds.

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::StandIn;
use serde_json::{Map, Value};

use crate::callers::ask;
use crate::doors::{CLEAR, Caller, Outcome, Row, SEALED};
use crate::stage::Stage;

/// How often each request is measured. The least counts: the master has other
/// things to do meanwhile.
const TIMES: usize = 4;

/// The processor time of the cheapest of some requests.
fn least(stage: &mut Stage, mut ask: impl FnMut(&Stage) -> Result<()>) -> Result<i64> {
    let mut least = i64::MAX;
    for _ in 0..TIMES {
        let before = stage.cpu_ns()?;
        ask(stage)?;
        least = least.min(stage.cpu_ns()? - before);
    }
    Ok(least)
}

/// A sign-in that is refused with a signature.
fn signature_ns(stage: &mut Stage) -> Result<i64> {
    let thief = StandIn::new("witness")?;
    least(stage, |stage| {
        let answer = thief.sign_in(&mut stage.master.connect()?)?;
        ensure!(!crate::stage::is_session(&answer), "a second key was taken");
        Ok(())
    })
}

#[test]
fn nothing_but_sign_ins_uses_the_masters_key_for_somebody_unproven() -> Result<()> {
    let mut stage = Stage::start()?;
    let signature = signature_ns(&mut stage)?;
    let mut wrong = Vec::new();
    for (rows, is_sealed) in [(SEALED, true), (CLEAR, false)] {
        for row in rows.iter().copied().flatten().filter(|row| !row.cost.signs) {
            for caller in Caller::ALL.into_iter().filter(|of| of.is_unproven()) {
                let took = least(&mut stage, |stage| {
                    ask(stage, caller, row, is_sealed).map(drop)
                })?;
                if took > signature * 4 / 5 {
                    wrong.push(said(row, caller, took, signature));
                }
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn said(row: &Row, caller: Caller, took: i64, signature: i64) -> String {
    let (took, signature) = (took / 1000, signature / 1000);
    let cmd = row.cmd;
    format!("{cmd} of {caller:?} takes {took} \u{b5}s, a signature {signature} \u{b5}s")
}

/// What a list of patterns, a target or a list of functions could be made of.
const SLOW: &str = "(a+)+$";
const WORDS: usize = 250;
const WORD_CHARS: usize = 250;

/// So many functions, which nearly match all patterns of the stage.
const FUNCTIONS: usize = 5000;
const NEARLY_FORBIDDEN: &str = "aaaaaaaaaa";

/// The same request with a target that takes long to match, and so many arguments and
/// functions, and some in fields that nobody knows.
fn fattened(row: &Row, is_sealed: bool) -> Result<Row> {
    let mut fields: Map<String, Value> = serde_json::from_str(row.fields)?;
    let words = vec![Value::from("a".repeat(WORD_CHARS)); WORDS];
    let is_publication = row.fields.contains("tgt");
    if is_publication {
        fields.insert("tgt".into(), SLOW.repeat(WORDS * 2).into());
        fields.insert("tgt_type".into(), "pcre".into());
    }
    if is_publication && fields.contains_key("fun") {
        let funs = vec![NEARLY_FORBIDDEN; FUNCTIONS];
        // Minions name several in one text.
        let funs = match is_sealed {
            true => funs.join(",").into(),
            false => Value::from(funs),
        };
        fields.insert("fun".into(), funs);
        let none = vec![Value::Array(Vec::new()); FUNCTIONS];
        fields.insert("arg".into(), none.into());
    } else {
        fields.insert("arg".into(), words.clone().into());
    }
    fields.insert("more".into(), words.into());
    Ok(Row {
        // A test may keep what it asks for as long as it runs.
        fields: Value::Object(fields).to_string().leak(),
        cmd: row.cmd,
        cells: row.cells,
        cost: row.cost,
    })
}

/// The refused requests whose work grows by more than their row allows for each byte.
fn dear(is_asked: fn(Caller, Outcome) -> bool) -> Result<Vec<String>> {
    let mut stage = Stage::start()?;
    let mut dear = Vec::new();
    for (rows, is_sealed) in [(SEALED, true), (CLEAR, false)] {
        // Of a sign-in the key is what costs: see below.
        for row in rows.iter().copied().flatten().filter(|row| !row.cost.signs) {
            let fat = fattened(row, is_sealed)?;
            let more = i64::try_from(fat.fields.len() - row.fields.len())?;
            let cells = Caller::ALL.into_iter().zip(row.cells);
            for (caller, _) in cells.filter(|(caller, cell)| is_asked(*caller, *cell)) {
                let mut of = |row: &Row| {
                    least(&mut stage, |stage| {
                        ask(stage, caller, row, is_sealed).map(drop)
                    })
                };
                let per_byte = (of(&fat)? - of(row)?) / more;
                if per_byte > row.cost.byte_ns {
                    let cmd = row.cmd;
                    dear.push(format!("{cmd} of {caller:?}: {per_byte} ns for each byte"));
                }
            }
        }
    }
    Ok(dear)
}

/// However many patterns, functions and arguments a request brings, nothing is
/// matched before its caller is proven.
#[test]
fn what_an_unproven_request_holds_is_not_looked_at() -> Result<()> {
    let dear = dear(|caller, _| caller.is_unproven())?;
    ensure!(dear.is_empty(), "{}", dear.join("\n"));
    Ok(())
}

/// Nor is it where the caller is proven and may not ask for it, or for that much.
#[test]
fn what_a_caller_may_not_ask_for_is_refused_at_little_cost() -> Result<()> {
    let dear = dear(|caller, outcome| !caller.is_unproven() && outcome.is_refusal())?;
    ensure!(dear.is_empty(), "{}", dear.join("\n"));
    Ok(())
}

/// The largest key that a minion may have, and the exponent that makes most work.
const KEY_BYTES: usize = 2048;
const EXPONENT: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

/// A public key of that size. Nobody has its other half.
fn largest_key() -> String {
    let number = |tail: &[u8]| {
        let mut body = vec![0];
        body.extend(tail);
        der(0x02, &body)
    };
    let mut modulus = halite_crypto::random_bytes::<KEY_BYTES>();
    modulus[0] |= 0x80;
    modulus[KEY_BYTES - 1] |= 1;
    let pair = der(0x30, &[number(&modulus), number(&EXPONENT)].concat());
    let rsa = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    let bits = der(0x03, &[vec![0], pair].concat());
    let text = STANDARD.encode(der(0x30, &[rsa.to_vec(), bits].concat()));
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .filter_map(|line| std::str::from_utf8(line).ok())
        .collect();
    let lines = lines.join("\n");
    format!("-----BEGIN PUBLIC KEY-----\n{lines}\n-----END PUBLIC KEY-----")
}

/// A value of ASN.1 with its kind and length.
fn der(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    match u8::try_from(body.len()) {
        Ok(length @ 0..0x80) => out.push(length),
        _ => {
            out.push(0x82);
            out.extend(u16::try_from(body.len()).unwrap_or(0).to_be_bytes());
        }
    }
    out.extend(body);
    out
}

/// Signs in with the largest key there is, as a minion whose key waits and as an
/// accepted one, for which secrets are sealed with it.
#[test]
fn the_largest_key_costs_a_sign_in_little() -> Result<()> {
    let mut stage = Stage::start()?;
    let signature = signature_ns(&mut stage)?;
    let pem = largest_key();
    let accepted = stage.master.dir().join("pki/minions/wide");
    std::fs::write(accepted, &pem)?;
    for (id, is_accepted, times) in [("narrow", false, 3), ("wide", true, 30)] {
        let request = StandIn::clear(Item::map([
            ("cmd", Item::from("_auth")),
            ("id", Item::from(id)),
            ("nonce", Item::from("0123456789abcdef0123456789abcdef")),
            ("enc_algo", Item::from("OAEP-SHA1")),
            ("sig_algo", Item::from("PKCS1v15-SHA1")),
            ("pub", Item::from(pem.as_str())),
        ]))
        .pack();
        let took = least(&mut stage, |stage| {
            let answer = Item::unpack(&stage.master.connect()?.ask(&request)?)?;
            let load = answer.get("load").and_then(Item::bytes);
            let grant = Item::unpack(load.unwrap_or_default())?;
            let has_session = grant.get("session").is_some();
            ensure!(has_session == is_accepted, "{id}: {grant:?}");
            Ok(())
        })?;
        let (took, most) = (took / 1000, times * signature / 1000);
        ensure!(
            took < most,
            "{id}: {took} \u{b5}s instead of {most} \u{b5}s"
        );
    }
    Ok(())
}
