//! `masters.compare`: whether the masters of a fleet agree.

use std::time::Duration;

use halite_crypto::{HashType, SigAlgo, fingerprint_text, random_bytes};
use halite_proto::clear::{ComparisonReply, ComparisonRequest, Promotion};
use halite_proto::envelope::RequestEnvelope;
use halite_proto::msgpack::unpack_wire;
use halite_proto::{Map, Nonce, Value};
use halite_transport::Endpoint;
use halite_transport::fleet::{Requester, RequesterOptions};

use super::error::{Ran, RunnerError};
use super::table::Function;
use super::{Call, cluster};
use crate::clock::{now_micros, now_s};
use crate::comparison::facts::{self, Known};
use crate::comparison::sealed;

pub(super) const FUNCTIONS: &[Function] = &[Function::new(
    "masters.compare",
    "(*masters, timeout=30, clock_skew=2)",
    compare,
    "Compares this master with others that share its key: keys of minions, files,\n\
     pillar, access options, versions and clocks.\n\n\
     Masters are named as in the minions' configuration: `host`, `host:port`; in a cluster,\n\
     all members are compared if none is named. The return code is 1 if anything differs.",
)];

/// What came of asking one master.
pub(super) enum Asked {
    /// It has the same key.
    Facts { facts: Map, clock_off_ms: i64 },
    /// It has another key.
    OtherKey(String),
    /// It did not answer, or not usefully.
    Failed(String),
}

fn compare(call: &Call<'_>) -> Ran {
    let masters = meant_masters(call);
    if masters.is_empty() {
        return Err(RunnerError::Failed(
            "name the other masters: salt-run masters.compare HOST[:PORT] ...".to_owned(),
        ));
    }
    let timeout = call.seconds("timeout", Duration::from_secs(30));
    let skew = call.seconds("clock_skew", Duration::from_secs(2));
    let known = Known {
        general: &call.runners.general,
        keys: &call.runners.keys,
        files: &call.runners.files,
        jobs: &call.runners.jobs,
        publishing: &call.runners.publishing,
        cluster: call.runners.cluster.as_deref(),
        registers: call.runners.registers.as_deref(),
    };
    let ours = facts::gather(known);
    let mut rows = Vec::new();
    for name in &masters {
        let asked = ask(call, name, timeout, None);
        rows.extend(rows_of(name, asked, &ours, skew));
    }
    let agree = rows
        .iter()
        .all(|row| row.get("agree") == Some(&Value::Bool(true)));
    if !agree {
        call.retcode.set(1);
    }
    let rows = Value::List(rows.into_iter().map(Value::Map).collect());
    Ok(Map::from([("outputter", Value::from("nested")), ("data", rows)]).into())
}

/// The masters that the arguments name; if they name none, the other members of the
/// cluster, if this is one.
pub(super) fn meant_masters(call: &Call<'_>) -> Vec<String> {
    let named = named_masters(call);
    match named.is_empty() {
        true => cluster::other_members(call),
        false => named,
    }
}

/// The masters that the arguments name.
fn named_masters(call: &Call<'_>) -> Vec<String> {
    call.bound
        .varargs
        .iter()
        .flat_map(|arg| match arg {
            Value::List(items) => items.iter().map(halite_proto::python::str).collect(),
            one => halite_proto::python::str(one)
                .split(',')
                .map(|name| name.trim().to_owned())
                .collect::<Vec<_>>(),
        })
        .filter(|name| !name.is_empty())
        .collect()
}

/// The rows of one master: one if it agrees, else one for each difference.
fn rows_of(name: &str, asked: Asked, ours: &Map, skew: Duration) -> Vec<Map> {
    let row = |agree: bool, topic: &str, text: String| {
        Map::from([
            ("master", Value::from(name)),
            ("agree", agree.into()),
            ("topic", topic.into()),
            ("difference", text.into()),
        ])
    };
    let (theirs, off) = match asked {
        Asked::Failed(why) => return vec![row(false, "connection", why)],
        Asked::OtherKey(fingerprint) => {
            return vec![row(
                false,
                "key pair",
                format!("another master key: {fingerprint}"),
            )];
        }
        Asked::Facts {
            facts,
            clock_off_ms,
        } => (facts, clock_off_ms),
    };
    let mut rows: Vec<Map> = facts::differences(ours, &theirs)
        .into_iter()
        .map(|(topic, text)| row(false, topic, text))
        .collect();
    if u128::from(off.unsigned_abs()) > skew.as_millis() {
        rows.push(row(false, "clock", format!("off by {off} ms")));
    }
    if rows.is_empty() {
        rows.push(row(
            true,
            "everything",
            format!("none; clocks {off} ms apart"),
        ));
    }
    rows
}

/// Asks another master for its facts, or to do what is said.
pub(super) fn ask(
    call: &Call<'_>,
    name: &str,
    timeout: Duration,
    promotion: Option<Promotion>,
) -> Asked {
    let identity = &call.runners.keys.identity;
    let port = call.runners.settings.ret_port;
    let endpoint = match endpoint_of(name, port) {
        Ok(endpoint) => endpoint,
        Err(why) => return Asked::Failed(why),
    };
    let nonce = Nonce::from_random(random_bytes());
    let ts = now_s();
    let signed = ComparisonRequest::signed(&nonce, ts, promotion.as_ref());
    let sig = match identity.private().sign(SigAlgo::Pkcs1v15Sha224, &signed) {
        Ok(sig) => sig,
        Err(error) => return Asked::Failed(error.to_string()),
    };
    let request = ComparisonRequest {
        nonce: nonce.clone(),
        ts,
        promotion,
        sig,
    };
    let packed = match RequestEnvelope::clear(request.to_map()).encode() {
        Ok(packed) => packed,
        Err(error) => return Asked::Failed(error.to_string()),
    };
    let asked_at = now_micros();
    let answer = call.runtime.block_on(async {
        let requester = Requester::connect(
            endpoint,
            RequesterOptions {
                transport: call.runners.settings.transport,
                ..RequesterOptions::default()
            },
        );
        requester.request(packed, timeout).await
    });
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Asked::Failed(error.to_string()),
    };
    let reply = unpack_wire(&answer).ok().map(ComparisonReply::from_value);
    let Some(Ok(Some(reply))) = reply else {
        return Asked::Failed("it does not support the comparison: not a Halite master".to_owned());
    };
    let own = fingerprint_text(identity.public_pem().as_bytes(), HashType::Sha256);
    if reply.fingerprint != own {
        return Asked::OtherKey(reply.fingerprint);
    }
    let Some(sealed) = reply.sealed else {
        return Asked::Failed(
            "it refused the comparison: the clocks are too far apart, or it was asked too often"
                .to_owned(),
        );
    };
    match sealed::open(&call.runners.keys, &sealed) {
        Some(facts) if facts.get("nonce").and_then(Value::as_str) == Some(nonce.as_str()) => {
            let ours = (asked_at, now_micros());
            Asked::Facts {
                clock_off_ms: clock_off(ours, &facts) / 1000,
                facts,
            }
        }
        _ => Asked::Failed("its answer is not encrypted for this master".to_owned()),
    }
}

/// How far the other clock is ahead, in microseconds. The times at which the question was
/// sent and the answer arrived here enclose those at the other master.
fn clock_off(ours: (u64, u64), theirs: &Map) -> i64 {
    let there = |name: &str| theirs.get(name).and_then(Value::as_i64).unwrap_or_default();
    let here = |micros: u64| i64::try_from(micros).unwrap_or(i64::MAX);
    let way_there = there("clock").saturating_sub(here(ours.0));
    let way_back = there("clock_end").saturating_sub(here(ours.1));
    way_there.saturating_add(way_back) / 2
}

/// `host`, `host:port` or `[v6]:port` as the place of requests.
fn endpoint_of(name: &str, port: u16) -> Result<Endpoint, String> {
    let with_port = |host: &str, port: u16| Endpoint::tcp(host, port);
    let bad = || format!("{name:?} is not the address of a master");
    if let Some(rest) = name.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or_else(bad)?;
        return match rest.strip_prefix(':') {
            Some(text) => Ok(with_port(host, text.parse().map_err(|_| bad())?)),
            None => Ok(with_port(host, port)),
        };
    }
    match name.split_once(':') {
        // More than one colon: a bare v6 address.
        Some((_, rest)) if rest.contains(':') => Ok(with_port(name, port)),
        Some((host, text)) => Ok(with_port(host, text.parse().map_err(|_| bad())?)),
        None => Ok(with_port(name, port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masters_are_named_as_minions_name_them() {
        for (name, uri) in [
            ("m2", "tcp://m2:4506"),
            ("m2:14506", "tcp://m2:14506"),
            ("[fd00::2]:14506", "tcp://[fd00::2]:14506"),
            ("fd00::2", "tcp://[fd00::2]:4506"),
        ] {
            assert_eq!(endpoint_of(name, 4506).unwrap().to_string(), uri);
        }
        assert!(endpoint_of("m2:x", 4506).is_err());
    }

    #[test]
    fn the_time_on_the_way_does_not_count_for_the_clocks() {
        let theirs = Map::from([("clock", 1_500), ("clock_end", 9_500)]);
        assert_eq!(clock_off((1_000, 10_000), &theirs), 0);
        let ahead = Map::from([("clock", 6_500), ("clock_end", 14_500)]);
        assert_eq!(clock_off((1_000, 10_000), &ahead), 5_000);
    }

    #[test]
    fn agreement_is_a_row_and_each_difference_is_one() {
        let facts = Map::from([("version", "1")]);
        let same = Asked::Facts {
            facts: facts.clone(),
            clock_off_ms: 3,
        };
        let rows = rows_of("m2", same, &facts, Duration::from_secs(2));
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].get("agree"), Some(&Value::from(true)));
        let off = Asked::Facts {
            facts: Map::from([("version", "2")]),
            clock_off_ms: -9000,
        };
        let rows = rows_of("m2", off, &facts, Duration::from_secs(2));
        let topics: Vec<_> = rows
            .iter()
            .filter_map(|row| row.get("topic")?.as_str())
            .collect();
        assert_eq!(topics, ["version", "clock"]);
    }

    #[test]
    fn a_long_difference_is_one_row() {
        let why = "no connection to tcp://127.0.0.1:4506 within 3000 ms, and more is not known";
        let failed = Asked::Failed(why.to_owned());
        let rows = rows_of("m2", failed, &Map::new(), Duration::from_secs(2));
        let texts: Vec<&str> = rows
            .iter()
            .filter_map(|row| row.get("difference")?.as_str())
            .collect();
        assert_eq!(texts, [why]);
    }
}
