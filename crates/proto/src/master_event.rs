//! The events that masters fire, by their tags and their data.
//!
//! Mirrors section 8.4 of the protocol.
//!
//! Invariant: a tag of a job is built from a checked job id and minion id, so
//! that its parts are found again where they were put.

use crate::clear::ErrorReply;
use crate::event::Event;
use crate::fields::Put;
use crate::publish::{FunSpec, PublishLoad};
use crate::{Jid, Map, MinionId, Tag, Value};

/// The tag of a rotation of the publish key.
pub const KEY_ROTATED: &str = "key";

/// What an event of a job says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEvent<'a> {
    /// The job was accepted: who should answer.
    New,
    /// It was published.
    Publish,
    /// A minion answers.
    Return(&'a str),
    /// A minion begins (3008, where the caller asked for it).
    Start(&'a str),
    /// A minion has got further.
    Progress(&'a str),
    /// The job was refused.
    Error,
    /// Something else.
    Other(&'a str),
}

impl<'a> JobEvent<'a> {
    /// The job and what is said of it, of a tag `salt/job/<jid>/...`.
    ///
    /// The job id may be empty: a request that is refused before it has one.
    pub fn of(tag: &'a str) -> Option<(&'a str, Self)> {
        let (jid, rest) = tag.strip_prefix("salt/job/")?.split_once('/')?;
        let event = match rest.split_once('/') {
            None => match rest {
                "new" => Self::New,
                "publish" => Self::Publish,
                "error" => Self::Error,
                _ => Self::Other(rest),
            },
            Some(("ret", id)) => Self::Return(id),
            Some(("start", id)) => Self::Start(id),
            Some(("prog", id)) => Self::Progress(id.rsplit_once('/').map_or(id, |(id, _)| id)),
            Some(_) => Self::Other(rest),
        };
        Some((jid, event))
    }
}

/// What became of a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthAct {
    /// The minion is in.
    Accept,
    /// Its key waits to be accepted.
    Pend,
    /// Its key is rejected.
    Reject,
    /// Another key is known under its name.
    Denied,
    /// The master has as many minions as it may.
    Full,
}

impl AuthAct {
    /// As it travels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Pend => "pend",
            Self::Reject => "reject",
            Self::Denied => "denied",
            Self::Full => "full",
        }
    }

    /// The `result` that goes with it.
    pub fn result(self) -> bool {
        matches!(self, Self::Accept | Self::Pend)
    }
}

/// `salt/auth`: a minion tried to sign in.
pub fn auth(act: AuthAct, id: &MinionId, public_key: &str, grains: Option<&Map>) -> Event {
    let mut data = Map::with_capacity(6);
    data.put("result", act.result());
    data.put("act", act.as_str());
    data.put("id", id);
    data.put("pub", public_key);
    data.put_some("autosign_grains", grains.cloned());
    event("salt/auth".to_owned(), data)
}

/// `salt/key`: the state of a key changed. The names of states and of actions
/// differ between releases, so the caller chooses.
pub fn key(act: &str, id: &MinionId, public_key: Option<&str>) -> Event {
    let mut data = Map::with_capacity(5);
    data.put("result", true);
    data.put("act", act);
    data.put("id", id);
    data.put_some("pub", public_key);
    event("salt/key".to_owned(), data)
}

/// `key`: the publish key was rotated.
pub fn key_rotated() -> Event {
    event(KEY_ROTATED.to_owned(), [("rotate_aes_key", true)].into())
}

/// `salt/job/<jid>/new`: a job was accepted.
pub fn job_new(load: &PublishLoad, minions: &[MinionId], missing: &[String]) -> Event {
    let mut data = Map::with_capacity(9);
    data.put("jid", &load.jid);
    data.put("tgt_type", load.tgt_type.as_str());
    data.put("tgt", load.tgt.clone());
    data.put("user", load.user.as_deref());
    data.put("fun", load.fun.to_value());
    data.put("arg", load.arg.clone());
    data.put(
        "minions",
        minions.iter().map(Value::from).collect::<Vec<_>>(),
    );
    let missing = missing.iter().map(|id| Value::from(id.as_str()));
    data.put("missing", missing.collect::<Vec<_>>());
    event(job_tag(&load.jid, "new"), data)
}

/// `salt/job/<jid>/publish`: a job was published (3007, 3008).
pub fn job_publish(load: &PublishLoad) -> Event {
    let mut data = load.to_map();
    data.remove("serial");
    event(job_tag(&load.jid, "publish"), data)
}

/// `salt/job/<jid>/ret/<id>`: a minion answered. `data` is all of its request
/// ([`crate::request::Request::event_data`]).
pub fn job_return(jid: &Jid, id: &MinionId, data: Map) -> Event {
    event(job_tag(jid, &format!("ret/{id}")), data)
}

/// `salt/job/<jid>/error`: a request was refused. `load` is the request, without
/// its proofs.
pub fn job_error(jid: Option<&Jid>, mut load: Map, error: &ErrorReply) -> Event {
    load.put("error", error.to_map());
    let jid = jid.map_or("", Jid::as_str);
    event(format!("salt/job/{jid}/error"), load)
}

/// `salt/job/<jid>/sub/<id>/error/<fun>`: a state of a highstate failed.
pub fn job_state_error(jid: &Jid, id: &MinionId, fun: &FunSpec, data: Map) -> Event {
    event(
        job_tag(jid, &format!("sub/{id}/error/{}", one_line(&fun.to_text()))),
        data,
    )
}

/// `salt/minion/<id>/start`: what a minion sends once it is up, as its `tag`.
pub fn minion_start_tag(id: &MinionId) -> Tag {
    event(format!("salt/minion/{id}/start"), Map::new()).tag
}

/// `minion/refresh/<id>`: a minion's grains were stored.
pub fn minion_refresh(id: &MinionId) -> Event {
    let data = Map::from([("Minion data cache refresh", id)]);
    event(format!("minion/refresh/{id}"), data)
}

/// `salt/presence/change`: minions came and went.
pub fn presence_change(new: &[MinionId], lost: &[MinionId]) -> Event {
    let data = Map::from([("new", ids(new)), ("lost", ids(lost))]);
    event("salt/presence/change".to_owned(), data)
}

/// `salt/presence/present`: the minions that are connected.
pub fn presence_present(present: &[MinionId]) -> Event {
    let data = Map::from([("present", ids(present))]);
    event("salt/presence/present".to_owned(), data)
}

fn ids(ids: &[MinionId]) -> Value {
    Value::List(ids.iter().map(Value::from).collect())
}

fn job_tag(jid: &Jid, rest: &str) -> String {
    format!("salt/job/{jid}/{rest}")
}

/// The name of a function as a part of a tag: one line, and not endless.
fn one_line(text: &str) -> String {
    const CHARS_MAX: usize = 255;
    text.replace(['\n', '\r'], " ")
        .chars()
        .take(CHARS_MAX)
        .collect()
}

/// An event whose tag is made of checked names.
fn event(tag: String, data: Map) -> Event {
    Event::new(Tag::from_checked(tag), data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jid() -> Jid {
        Jid::parse("20240229123456789012").unwrap()
    }

    fn id() -> MinionId {
        MinionId::parse("web1").unwrap()
    }

    #[test]
    fn a_job_is_found_in_its_tags() {
        let load = PublishLoad::new("test.ping".into(), Vec::new(), "*".into(), "glob", jid());
        let cases = [
            (job_new(&load, &[id()], &[]), JobEvent::New),
            (job_publish(&load), JobEvent::Publish),
            (
                job_return(&jid(), &id(), Map::new()),
                JobEvent::Return("web1"),
            ),
        ];
        for (event, wanted) in &cases {
            assert_eq!(
                JobEvent::of(event.tag.as_str()),
                Some((jid().as_str(), *wanted))
            );
        }
        assert_eq!(
            JobEvent::of("salt/job/1/prog/web1/12"),
            Some(("1", JobEvent::Progress("web1")))
        );
        assert_eq!(JobEvent::of("salt/job/1"), None);
        assert_eq!(JobEvent::of("salt/auth"), None);
    }

    #[test]
    fn a_refused_request_may_have_no_job() {
        let event = job_error(None, Map::new(), &ErrorReply::authentication());
        assert_eq!(event.tag.as_str(), "salt/job//error");
        assert_eq!(
            JobEvent::of(event.tag.as_str()),
            Some(("", JobEvent::Error))
        );
    }

    #[test]
    fn a_publication_is_announced_without_its_number() {
        let mut load = PublishLoad::new("a.b".into(), Vec::new(), "*".into(), "glob", jid());
        load.serial = Some(7);
        assert!(!job_publish(&load).data.contains_key("serial"));
    }

    #[test]
    fn a_tag_stays_one_line() {
        let long = "x\n\ny".repeat(2000);
        let event = job_state_error(&jid(), &id(), &long.as_str().into(), Map::new());
        assert!(Tag::parse(event.tag.as_str()).is_ok());
    }

    #[test]
    fn a_sign_in_says_what_became_of_it() {
        let event = auth(AuthAct::Pend, &id(), "PEM", None);
        let keys: Vec<_> = event.data.keys().filter_map(Value::as_str).collect();
        assert_eq!(keys, ["result", "act", "id", "pub"]);
        assert_eq!(event.data.get("result"), Some(&true.into()));
    }
}
