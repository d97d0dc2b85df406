//! The clear `publish` of programs on the master's host.
//!
//! Invariant: a job is stored and announced before it leaves, and it leaves
//! only after its caller, its functions and its targets were judged.

use halite_proto::clear::{Credentials, ErrorReply, PublishReply, PublishRequest};
use halite_proto::{Jid, Map, Value};

use super::authenticate::{LocalUser, Unproven, authenticate};
use crate::core::acl::{Allowed, Rights, authorise, is_blacklisted};
use crate::core::jobs;
use crate::core::targets::{Asked, Resolved, resolve};
use crate::error::chain;
use crate::master::Master;

/// What the client is told when no job id can be had.
const NO_JID: &str = "Master failed to assign jid";

/// The answer to a local program.
pub(crate) struct Published {
    /// The answer.
    pub(crate) reply: PublishReply,
    /// It is to take its time.
    pub(crate) is_slow: bool,
}

impl From<PublishReply> for Published {
    fn from(reply: PublishReply) -> Self {
        Self {
            reply,
            is_slow: false,
        }
    }
}

/// A request that was judged: it may be sent.
pub(crate) struct Judged {
    /// The request, in the name that was proven.
    pub(crate) request: PublishRequest,
    /// Whom it means.
    pub(crate) resolved: Resolved,
    /// It may only go to those, whoever else its target means.
    pub(crate) restricted: bool,
}

/// Publishes a job for a local program.
pub(crate) fn publish(master: &Master, request: &PublishRequest) -> Published {
    let Judged {
        request,
        resolved,
        restricted,
    } = match judge(master, request) {
        Ok(judged) => *judged,
        Err(refused) => return refused,
    };
    match send(master, &request, &resolved, restricted) {
        Ok(jid) => PublishReply::Accepted {
            jid,
            minions: resolved.minions,
            missing: resolved.missing,
        },
        Err(error) => PublishReply::Error(error),
    }
    .into()
}

/// Judges caller, functions and targets of a request.
///
/// # Errors
/// With the answer, where it may not be sent.
pub(crate) fn judge(master: &Master, request: &PublishRequest) -> Result<Box<Judged>, Published> {
    let funs: Vec<&str> = request.fun.names().iter().map(String::as_str).collect();
    let user = request.user.as_deref();
    if is_blacklisted(&master.settings.publisher_acl_blacklist, user, &funs) {
        tracing::warn!(
            user,
            "publisher_acl_blacklist forbids {}",
            request.fun.to_text()
        );
        return Err(PublishReply::Denied(ErrorReply::authorization()).into());
    }
    let caller = prove(master, request).map_err(|unproven| {
        if master.may_remark(user.unwrap_or_default(), "publish") {
            tracing::warn!(
                user,
                ?unproven,
                "refused to publish: the caller is not authenticated"
            );
        }
        Published {
            reply: refuse(master, request, ErrorReply::authentication()),
            is_slow: unproven.is_slow(),
        }
    })?;
    // The name that a program says need not be the one that is proven.
    if is_blacklisted(
        &master.settings.publisher_acl_blacklist,
        caller.proven(),
        &[],
    ) {
        tracing::warn!(
            user = caller.proven(),
            "publisher_acl_blacklist forbids the user"
        );
        return Err(PublishReply::Denied(ErrorReply::authorization()).into());
    }
    let mut request = request.clone();
    // Who logged in goes by that name, whatever the program says.
    if caller.name.is_some() {
        request.user = caller.name;
    }
    let resolved = meant(master, &request);
    let restricted = match allowed(master, &request, &caller.rights, &resolved) {
        Some(Allowed::Anywhere) => false,
        Some(Allowed::OnlyResolved) => resolved.by_data,
        None => {
            tracing::warn!(
                user = request.user,
                "refused to publish {}: not permitted",
                request.fun.to_text()
            );
            return Err(refuse(master, &request, ErrorReply::authorization()).into());
        }
    };
    if resolved.minions.is_empty() && !master.settings.order_masters {
        let error = no_minions(&request);
        return Err(PublishReply::NoMinions { error }.into());
    }
    Ok(Box::new(Judged {
        request,
        resolved,
        restricted,
    }))
}

/// Stores, announces and sends a job that was judged.
///
/// # Errors
/// With what the caller is told.
pub(crate) fn send(
    master: &Master,
    request: &PublishRequest,
    resolved: &Resolved,
    restricted: bool,
) -> Result<Jid, String> {
    let nocache = request.kwargs.get("nocache").is_some_and(Value::is_true);
    let jid = match &request.jid {
        Some(jid) => master.jobs.prepare(jid, nocache).map(|()| jid.clone()),
        None => master.allocate_jid(nocache),
    };
    let jid = jid.map_err(|error| {
        tracing::error!("could not allocate a job id: {}", chain(&error));
        NO_JID.to_owned()
    })?;
    let mut load = jobs::publish_load(request, jid.clone(), master.settings.master_id.as_deref());
    // Minions are not asked to ask a range server: who is meant is known.
    if restricted || jobs::asks_range(request) {
        jobs::restrict(&mut load, &resolved.minions);
    }
    // Only Halite minions speak of their connections: no other is told of this.
    let is_ours = |id| master.attendance.seat(id).is_some();
    if jobs::asks_for_progress(request) && resolved.minions.iter().all(is_ours) {
        load.extra.insert(jobs::PROGRESS, true);
    }
    let job = jid.as_str();
    master
        .bus
        .fire_under("job", [job, "new"], jobs::new_event(&load, resolved));
    let saved = master.jobs.save_load(
        &jid,
        &jobs::saved_load(request, &jid),
        Some(&resolved.minions),
    );
    if let Err(error) = saved {
        tracing::error!(jid = job, "could not store the job: {}", chain(&error));
    }
    master
        .bus
        .fire_under("job", [job, "publish"], load.to_map());
    master.missed.note(&load, &resolved.minions);
    if let Err(error) = master.publisher.publish(&load, &resolved.minions) {
        tracing::error!(jid = job, "{}", chain(&error));
        return Err(chain(&error));
    }
    tracing::info!(
        user = request.user.as_deref(),
        jid = job,
        "published {} for {} minions",
        request.fun.to_text(),
        resolved.minions.len()
    );
    Ok(jid)
}

/// Pings all minions, so that they notice a new publish key before it matters.
pub(crate) fn ping_everybody(master: &Master) {
    let request = PublishRequest {
        tgt: "*".into(),
        tgt_type: "glob".to_owned(),
        fun: "test.ping".into(),
        arg: Vec::new(),
        credentials: Credentials::default(),
        ret: String::new(),
        jid: None,
        kwargs: Map::new(),
        user: Some(master.settings.user.clone()),
        to: None,
        extra: Map::new(),
    };
    let resolved = meant(master, &request);
    if let Err(error) = send(master, &request, &resolved, false) {
        tracing::warn!("could not ping the minions: {error}");
    }
}

/// Whom a command means.
pub(crate) fn meant(master: &Master, request: &PublishRequest) -> Resolved {
    let asked = Asked {
        with_unknown: master.settings.targets_uncached,
        ranges: Some(&master.range_server),
        ..jobs::asked(request)
    };
    resolved(master, asked)
}

/// Whom the target means; one that is not understood means nobody.
pub(crate) fn resolved(master: &Master, asked: Asked<'_>) -> Resolved {
    resolve(asked, master).unwrap_or_else(|error| {
        tracing::warn!("the target is not understood: {error}");
        Resolved::default()
    })
}

/// Proves who asks.
fn prove(master: &Master, request: &PublishRequest) -> Result<LocalUser, Unproven> {
    let mut user = authenticate(master, &request.credentials, request.user.as_deref())?;
    // A syndic's master hands the rights of its own caller on.
    if let (Rights::Full, Some(Value::List(list))) = (&user.rights, request.kwargs.get("auth_list"))
        && !list.is_empty()
    {
        user.rights = Rights::Listed(list.clone());
    }
    Ok(user)
}

fn allowed(
    master: &Master,
    request: &PublishRequest,
    rights: &Rights,
    resolved: &Resolved,
) -> Option<Allowed> {
    match rights {
        Rights::Full => Some(Allowed::Anywhere),
        Rights::Listed(perms) => authorise(perms, &jobs::functions(request), &mut |target| {
            master.are_within(&resolved.minions, target)
        }),
    }
}

fn refuse(master: &Master, request: &PublishRequest, error: ErrorReply) -> PublishReply {
    let jid = request.jid.as_ref().map_or("", Jid::as_str);
    let data = jobs::error_event(request, error.to_map());
    // With an empty id the tag has two slashes, as Salt's.
    master.bus.fire(&format!("salt/job/{jid}/error"), data);
    PublishReply::Denied(error)
}

fn no_minions(request: &PublishRequest) -> String {
    let target = match &request.tgt {
        Value::List(ids) => ids
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(","),
        other => crate::core::text::python_text(other).unwrap_or_default(),
    };
    format!("Master could not resolve minions for target {target}")
}
