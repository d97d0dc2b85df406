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
pub(crate) fn publish(master: &Master, request: &mut PublishRequest) -> Published {
    let listens = request.take_listens();
    let Judged {
        request,
        resolved,
        restricted,
    } = match judge(master, request) {
        Ok(judged) => *judged,
        Err(refused) => return refused,
    };
    let before = |jid: &Jid| {
        if !listens {
            master.bus.expect_late(jid);
        }
    };
    match send_after(master, &request, &resolved, restricted, before) {
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
    if let Rights::Listed(_) = caller.rights
        && let Some(what) = not_for_listed(master, &request)
    {
        tracing::warn!(
            user = request.user,
            "refused to publish: {what} is not permitted"
        );
        return Err(refuse(master, &request, ErrorReply::authorization()).into());
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

/// What is not for a user whose functions are listed, whatever is listed.
fn not_for_listed(master: &Master, request: &PublishRequest) -> Option<&'static str> {
    // The results of a job are its user's, who may add to it: batches of Salt's
    // programs publish each of their parts under one id.
    let is_own = |jid: &Jid| {
        let load = master.jobs.load(jid).ok().flatten();
        let user = load.as_ref().and_then(|load| load.get("user")?.as_str());
        user.is_some() && user == request.user.as_deref()
    };
    // One that cannot be looked up may be somebody's.
    let takes_over = |jid: &Jid| master.jobs.knows(jid).unwrap_or(true) && !is_own(jid);
    match &request.jid {
        Some(jid) if takes_over(jid) => Some("the id of another job"),
        _ => jobs::beyond_functions(request),
    }
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
    send_after(master, request, resolved, restricted, |_| {})
}

/// As `send`, after something that is done with the job's id.
fn send_after(
    master: &Master,
    request: &PublishRequest,
    resolved: &Resolved,
    restricted: bool,
    before: impl FnOnce(&Jid),
) -> Result<Jid, String> {
    let nocache = request.kwargs.get("nocache").is_some_and(Value::is_true);
    let jid = match &request.jid {
        Some(jid) => master.jobs.prepare(jid, nocache).map(|()| jid.clone()),
        None => master.allocate_jid(nocache),
    };
    // Who has to make room on a full disk may want to do so with a command.
    let (jid, is_kept) = match jid {
        Ok(jid) => (jid, true),
        Err(error) => {
            let jid = request.jid.clone().unwrap_or_else(|| master.next_jid());
            tracing::error!(%jid, "the job is sent, but not kept: {}", chain(&error));
            (jid, false)
        }
    };
    before(&jid);
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
    if is_kept {
        let kept = jobs::saved_load(request, &jid);
        let meant = Some(resolved.minions.as_slice());
        if !nocache {
            master.job_mirror.load(&jid, &kept, meant);
        }
        if let Err(error) = master.jobs.save_load(&jid, &kept, meant) {
            tracing::error!(jid = job, "could not store the job: {}", chain(&error));
        }
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
    // Without an id the tag is `salt/job/error`.
    master.bus.fire_under("job", [jid, "error"], data);
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
