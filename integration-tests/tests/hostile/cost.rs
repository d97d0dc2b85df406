//! The cost of a refused request for the master: an operation with its private key
//! only where the table says so, whatever the request holds.

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::StandIn;

use crate::callers::ask;
use crate::doors::{CLEAR, Caller, Row, SEALED};
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

/// Functions that lists of patterns would have to be tried against.
const FUNCTIONS: usize = 250;

/// However many patterns and arguments a request brings, nothing is matched
/// before its caller is proven.
#[test]
fn what_an_unproven_request_holds_is_not_looked_at() -> Result<()> {
    let mut stage = Stage::start()?;
    let publish = |functions: usize, tgt: &str| {
        let names = (0..functions).map(|_| Item::from("a".repeat(250).as_str()));
        let args = (0..functions).map(|_| Item::List(Vec::new()));
        let load = Item::map([
            ("cmd", Item::from("publish")),
            ("fun", Item::List(names.collect())),
            ("arg", Item::List(args.collect())),
            ("tgt", Item::from(tgt)),
            ("tgt_type", Item::from("pcre")),
            ("ret", Item::from("")),
            ("jid", Item::from("")),
            ("user", Item::from("root")),
            ("key", Item::from("none")),
        ]);
        StandIn::clear(load).pack()
    };
    let slow = "(a+)+$".repeat(500);
    let (small, large) = (publish(1, "web1"), publish(FUNCTIONS, &slow));
    let mut of = |request: &[u8]| {
        least(&mut stage, |stage| {
            let answer = Item::unpack(&stage.master.connect()?.ask(request)?)?;
            ensure!(answer.get("error").is_some(), "unexpected {answer:?}");
            Ok(())
        })
    };
    // It is decoded, and that is all: a byte costs less than a match would.
    let (small_ns, large_ns) = (of(&small)?, of(&large)?);
    let per_byte = (large_ns - small_ns) / i64::try_from(large.len())?;
    ensure!(per_byte < 250, "{per_byte} ns for each byte of a request");
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
