//! Commands that a minion publishes to others, where `peer` allows it.
//!
//! Invariant: without a matching entry of `peer` the answer is an empty map,
//! and the results of a job are given only to the minion that published it.

use std::time::Duration;

use halite_proto::clear::{Credentials, PublishRequest};
use halite_proto::event::{Event, VALUE_TRIMMED, is_trimmed};
use halite_proto::msgpack::{Packing, packed_len};
use halite_proto::publish::FunSpec;
use halite_proto::request::{PeerPublish, PubRet};
use halite_proto::shown::quoted;
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::StoredReturn;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::{Caller, Handled};
use crate::core::acl::{Allowed, authorise};
use crate::core::jobs;
use crate::core::mine::exact_type;
use crate::core::peer::is_recursive;
use crate::core::targets::{Asked, Resolved};
use crate::error::chain;
use crate::events::bus::Bus;
use crate::fleet::Fleet;
use crate::jobs::{Jobs, untrimmed};
use crate::limits::{
    FUNCTIONS_PER_JOB_MAX, MINION_TARGET_BYTES_MAX, PEER_WAIT_DEFAULT, PEER_WAIT_MAX,
    SHOWN_CHARS_MAX,
};
use crate::publishing::Publishing;
use crate::settings::General;

/// A peer job that was judged.
struct Judged {
    request: PublishRequest,
    resolved: Resolved,
    restricted: bool,
}

/// The parts of the master that jobs of minions use.
#[derive(Clone, Copy)]
pub(super) struct PeerJobs<'a> {
    pub(super) general: &'a General,
    pub(super) bus: &'a Bus,
    pub(super) jobs: &'a Jobs,
    pub(super) fleet: &'a Fleet,
    pub(super) publishing: &'a Publishing,
}

impl PeerJobs<'_> {
    /// `minion_pub`: publishes, and names the job.
    pub(super) fn publish(self, caller: &Caller, asked: &PeerPublish) -> Handled {
        let Some(mut job) = judge(self, caller, asked) else {
            return Handled::nothing();
        };
        if job.resolved.minions.is_empty() {
            return nobody();
        }
        let Some(jid) = begin(self, caller, &mut job) else {
            return Handled::failed();
        };
        if !send_judged(self.publishing, caller, &job) {
            return Handled::failed();
        }
        let minions: Vec<Value> = job.resolved.minions.iter().map(Value::from).collect();
        Map::from([
            ("jid", Value::from(&jid)),
            ("minions", Value::from(minions)),
        ])
        .into()
    }

    /// `minion_publish`: publishes, and waits for the results.
    pub(super) fn publish_and_wait(self, caller: &Caller, asked: &PeerPublish) -> Handled {
        let Some(mut job) = judge(self, caller, asked) else {
            return Handled::nothing();
        };
        if job.resolved.minions.is_empty() {
            // Nobody is meant: that is no job.
            return Handled::nothing();
        }
        let Some(turn) = self.publishing.peer_turns.take(&caller.id) else {
            if caller.may_log("peer turns") {
                tracing::warn!(
                    minion = %caller.id,
                    "refused to publish for the minion: too many of its jobs are unanswered"
                );
            }
            return Handled::nothing();
        };
        let Some(jid) = begin(self, caller, &mut job) else {
            return Handled::failed();
        };
        // Before it leaves: no result may be missed.
        let mut events = self.bus.subscribe(format!("salt/job/{jid}/ret/"));
        if !send_judged(self.publishing, caller, &job) {
            return Handled::failed();
        }
        let is_full = asked.form.as_deref() == Some("full");
        let wait = wait_of(asked.tmo.as_ref());
        let cache = self.jobs.cache.clone();
        Handled::Later(Box::pin(async move {
            let _turn = turn;
            let deadline = Instant::now() + wait;
            let mut answer = Map::new();
            while answer.len() < job.resolved.minions.len() {
                let Ok(Some(event)) = timeout_at(deadline, events.recv()).await else {
                    break;
                };
                if let Ok(event) = Event::unpack(event.bytes())
                    && is_of_one(&event.data, &job.resolved.minions)
                {
                    let data = whole(&cache, &jid, event.data).await;
                    take_result(&mut answer, data, is_full);
                }
            }
            if is_full {
                answer.insert("__jid__", &jid);
            }
            answer.into()
        }))
    }
}

/// The answer without a job if the target matches no minion. It differs from the answer
/// without the right.
fn nobody() -> Handled {
    Map::from([
        ("jid", Value::from(0)),
        ("minions", Value::List(Vec::new())),
    ])
    .into()
}

/// `pub_ret`: the results so far of a job that this minion published.
pub(super) fn results(jobs: &Jobs, caller: &Caller, ret: &PubRet) -> Handled {
    if !jobs.is_published_by(&ret.jid, &caller.id) {
        return Handled::nothing();
    }
    match jobs.cache.returns(&ret.jid) {
        Ok(returns) => returns
            .into_iter()
            .map(|(id, stored)| (Value::from(&id), Value::from(shown(stored))))
            .collect::<Map>()
            .into(),
        Err(error) => {
            tracing::error!(jid = %ret.jid, "could not read the results: {}", chain(&error));
            Handled::failed()
        }
    }
}

/// Whether the minion may publish this, and to which minions.
fn judge(parts: PeerJobs<'_>, caller: &Caller, publish: &PeerPublish) -> Option<Judged> {
    let judged = judge_permitted(parts, &caller.id, publish);
    if judged.is_none() && caller.may_log("peer") {
        let fun = quoted(&publish.fun, SHOWN_CHARS_MAX);
        tracing::warn!(minion = %caller.id, "may not publish {fun} (option peer)");
    }
    judged
}

/// Rights are checked first, before the functions are parsed and before a target can
/// reveal anything about other minions.
fn judge_permitted(parts: PeerJobs<'_>, id: &MinionId, publish: &PeerPublish) -> Option<Judged> {
    let fleet = parts.fleet;
    let perms = fleet.settings.peers.publishes(id);
    if perms.is_empty() || is_too_long(publish) {
        return None;
    }
    let request = request_of(parts.general, id, publish)?;
    let funs: Vec<&str> = request.fun.names().iter().map(String::as_str).collect();
    if jobs::too_large(&request).is_some() || is_recursive(&funs) {
        return None;
    }
    let arguments = jobs::arguments(&request);
    let functions = jobs::functions(&request, &arguments);
    authorise(&perms, &functions, &mut |_| true)?;
    let asked = jobs::asked(&request);
    let resolved = fleet.resolve_or_nobody(asked);
    let mut within = |target: &str| fleet.are_within(&resolved.minions, target);
    let allowed = authorise(&perms, &functions, &mut within)?;
    if !is_exact(fleet, asked, &resolved) {
        return None;
    }
    Some(Judged {
        restricted: allowed == Allowed::OnlyResolved,
        request,
        resolved,
    })
}

/// Whether no honest minion asks for that much.
fn is_too_long(publish: &PeerPublish) -> bool {
    let is_list = publish.tgt_type.as_deref() == Some("list");
    let is_long = |text: &str| text.len() > MINION_TARGET_BYTES_MAX;
    (!is_list && publish.tgt.as_str().is_some_and(is_long))
        || publish.fun.split(',').count() > FUNCTIONS_PER_JOB_MAX
}

/// Allocates a job id and records whose job it is.
fn begin(parts: PeerJobs<'_>, caller: &Caller, job: &mut Judged) -> Option<Jid> {
    let arguments = job.request.arg.iter();
    let bytes = arguments
        .map(|value| packed_len(value, Packing::Modern))
        .sum();
    if !parts.jobs.reserve_room(&caller.id, bytes) {
        return None;
    }
    let jid = parts.jobs.allocate(false);
    parts
        .jobs
        .record_publisher(&jid, &caller.id)
        .map_err(|error| tracing::error!("could not record who published a job: {}", chain(&error)))
        .ok()?;
    job.request.jid = Some(jid.clone());
    Some(jid)
}

fn send_judged(publishing: &Publishing, caller: &Caller, job: &Judged) -> bool {
    publishing
        .send(&job.request, &job.resolved, job.restricted)
        .map_err(|error| {
            tracing::error!(minion = %caller.id, "could not publish for the minion: {error}")
        })
        .is_ok()
}

fn request_of(general: &General, id: &MinionId, publish: &PeerPublish) -> Option<PublishRequest> {
    let several = publish.fun.contains(',');
    let arg = arguments(&publish.arg, several)?;
    let fun = if several {
        FunSpec::Many(publish.fun.split(',').map(str::to_owned).collect())
    } else {
        FunSpec::One(publish.fun.clone())
    };
    Some(PublishRequest {
        tgt: publish.tgt.clone(),
        tgt_type: publish
            .tgt_type
            .clone()
            .unwrap_or_else(|| "glob".to_owned()),
        fun,
        arg,
        credentials: Credentials::default(),
        ret: publish.ret.clone().unwrap_or_default(),
        jid: None,
        kwargs: Map::from([("id", id)]),
        user: Some(general.user.clone()),
        to: None,
        extra: Map::new(),
    })
}

/// The arguments as the minions get them: texts are read as YAML scalars, but
/// `name=value` is left to the minions.
fn arguments(arg: &Value, several: bool) -> Option<Vec<Value>> {
    let items = match arg {
        Value::List(items) => items.clone(),
        Value::Nil => Vec::new(),
        Value::Str(text) if text.is_empty() => Vec::new(),
        Value::Map(_) | Value::Ext(..) => return None,
        single => vec![single.clone()],
    };
    let read = |text: &str| {
        if text.contains(['=', '\n']) {
            Value::from(text)
        } else {
            halite_yaml::scalar(text)
        }
    };
    Some(
        items
            .into_iter()
            .map(|item| match item {
                Value::Str(text) if several => {
                    Value::List(text.split_whitespace().map(read).collect())
                }
                Value::Str(text) => read(&text),
                other => other,
            })
            .collect(),
    )
}

/// Whether wildcards on pillar values make no difference: with them a minion
/// could guess what it may not read.
fn is_exact(fleet: &Fleet, asked: Asked<'_>, found: &Resolved) -> bool {
    let tgt_type = match asked.tgt_type {
        "pillar_pcre" => "pillar_exact",
        other => exact_type(other),
    };
    if tgt_type == asked.tgt_type {
        return true;
    }
    let exact = fleet.resolve_or_nobody(Asked { tgt_type, ..asked });
    found.minions.iter().all(|id| exact.minions.contains(id))
}

fn wait_of(tmo: Option<&Value>) -> Duration {
    let seconds = match tmo {
        Some(Value::Str(text)) => text.trim().parse().ok(),
        Some(value) => value.as_i64(),
        None => None,
    };
    seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map_or(PEER_WAIT_DEFAULT, Duration::from_secs)
        .min(PEER_WAIT_MAX)
}

/// Whether a result is of one of these: others would end the wait for them.
fn is_of_one(data: &Map, minions: &[MinionId]) -> bool {
    let id = data.get("id").and_then(Value::as_str);
    minions.iter().any(|minion| Some(minion.as_str()) == id)
}

/// A result with all of its value, which an event may have been too small for.
async fn whole(cache: &halite_store::Jobs, jid: &Jid, mut data: Map) -> Map {
    let is_cut = data.get("return").is_some_and(is_trimmed);
    let id = data.get("id").and_then(Value::as_str);
    let Some(id) = id.filter(|_| is_cut).map(str::to_owned) else {
        return data;
    };
    let value = data.remove("return").unwrap_or_default();
    let (cache, jid) = (cache.clone(), jid.clone());
    let read = spawn_blocking(move || untrimmed(&cache, &jid, &id, value)).await;
    data.insert("return", read.unwrap_or_else(|_| VALUE_TRIMMED.into()));
    data
}

fn take_result(answer: &mut Map, mut data: Map, is_full: bool) {
    let Some(id) = data.remove("id").filter(|id| id.as_str().is_some()) else {
        return;
    };
    let ret = data.remove("return").unwrap_or_default();
    if is_full {
        data.insert("ret", ret);
        answer.insert(id, data);
    } else {
        answer.insert(id, ret);
    }
}

fn shown(stored: StoredReturn) -> Map {
    let mut map = stored.into_map();
    let ret = map.remove("return").unwrap_or_default();
    let mut shown = Map::from([("ret", ret)]);
    if let Some(out) = map.remove("out") {
        shown.insert("out", out);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_values_and_named_ones_wait_for_the_minion() {
        let list = Value::List(vec!["5".into(), "a=5".into(), "x".into(), 7.into()]);
        assert_eq!(
            arguments(&list, false),
            Some(vec![5.into(), "a=5".into(), "x".into(), 7.into()])
        );
        assert_eq!(arguments(&"".into(), false), Some(Vec::new()));
        assert_eq!(arguments(&"1".into(), false), Some(vec![1.into()]));
        let several = Value::List(vec!["cat /proc/cpuinfo".into(), "".into()]);
        assert_eq!(
            arguments(&several, true),
            Some(vec![
                Value::List(vec!["cat".into(), "/proc/cpuinfo".into()]),
                Value::List(Vec::new())
            ])
        );
    }

    #[test]
    fn nobody_waits_for_ever() {
        assert_eq!(wait_of(None), PEER_WAIT_DEFAULT);
        assert_eq!(wait_of(Some(&"7".into())), Duration::from_secs(7));
        assert_eq!(wait_of(Some(&(-1).into())), PEER_WAIT_DEFAULT);
        assert_eq!(wait_of(Some(&i64::MAX.into())), PEER_WAIT_MAX);
    }
}
