//! Checks the caller, the functions and the targets of a publish request.
//!
//! Invariant: nothing is sent for a local program that was not checked here.

use std::collections::HashSet;

use halite_proto::Jid;
use halite_proto::Value;
use halite_proto::clear::{ErrorReply, PublishReply, PublishRequest};
use halite_proto::shown::quoted;

use super::Publishing;
use crate::access::authenticate::{LocalUser, Unproven};
use crate::core::acl::{Allowed, Rights};
use crate::core::find_job::{ALWAYS_ALLOWED, Whom, authorise_user};
use crate::core::jobs;
use crate::core::meant::is_by_ids;
use crate::core::owner::{ProvenBy, is_of, note_proof};
use crate::core::perms::Perm;
use crate::core::targets::Resolved;
use crate::limits::SHOWN_CHARS_MAX;

/// The answer to a local program.
pub(crate) struct Published {
    /// The answer.
    pub(crate) reply: PublishReply,
    /// The answer is to be delayed.
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
    /// It may go to these minions only, whatever its target matches.
    pub(crate) restricted: bool,
}

impl Publishing {
    /// Checks the caller, the functions and the targets of a request.
    ///
    /// Nothing of it is looked at, told or logged before the caller is proven.
    ///
    /// # Errors
    /// With the answer, where it may not be sent.
    pub(crate) fn judge(&self, request: &PublishRequest) -> Result<Box<Judged>, Published> {
        let caller = self.prove(request)?;
        if let Some(why) = jobs::too_large(request) {
            return Err(PublishReply::Error(why).into());
        }
        self.check_blacklist(request, &caller)?;
        let mut request = request.clone();
        // Who logged in goes by that name, whatever the program says.
        if caller.name.is_some() {
            request.user = caller.name;
        }
        if let Rights::Listed(_) = caller.rights {
            if self.takes_over(&request, &caller.proven_by) {
                // Nor is anything told in its name.
                request.jid = None;
                return Err(self.refuse(&request, "the id of another job is"));
            }
            if let Some(what) = jobs::beyond_functions(&request) {
                return Err(self.refuse(&request, &format!("{what} is")));
            }
        }
        let whom = match &caller.rights {
            Rights::Full => Whom::default(),
            Rights::Listed(_) => self.whom(&request, &caller.proven_by),
        };
        // Before its target costs anything.
        if allowed(&request, &caller.rights, whom, &mut |_| true).is_none() {
            return Err(self.refuse_functions(&request));
        }
        let fleet = &self.groups.fleet;
        let resolved = fleet.targets_of(&request);
        let mut within = |target: &str| fleet.are_within(&resolved.minions, target);
        let restricted = match allowed(&request, &caller.rights, whom, &mut within) {
            Some(Allowed::Anywhere) => false,
            Some(Allowed::OnlyResolved) => true,
            None => return Err(self.refuse_functions(&request)),
        };
        if resolved.minions.is_empty() && !fleet.settings.order_masters {
            let error = no_minions(&request);
            return Err(PublishReply::NoMinions { error }.into());
        }
        // Whose the job is, wherever it is kept.
        note_proof(&mut request.extra, Some(&caller.proven_by));
        Ok(Box::new(Judged {
            request,
            resolved,
            restricted,
        }))
    }

    /// Proves who asks.
    fn prove(&self, request: &PublishRequest) -> Result<LocalUser, Published> {
        let user = request.user.as_deref();
        let proven = self.groups.access.authenticate(&request.credentials, user);
        let mut caller = proven.map_err(|unproven| {
            // Who has tried to log in; the program may run as somebody else.
            let tried = request.credentials.username.as_deref();
            let tried = tried.filter(|_| unproven == Unproven::Eauth);
            let telemetry = &self.groups.telemetry;
            telemetry.count_unproven(unproven.cause(), "publish", tried.or(user));
            Published {
                reply: PublishReply::Denied(ErrorReply::authentication()),
                is_slow: unproven.is_slow(),
            }
        })?;
        // A syndic's master hands the rights of its own caller on.
        if let (Rights::Full, Some(list @ Value::List(entries))) =
            (&caller.rights, request.kwargs.get("auth_list"))
            && !entries.is_empty()
        {
            caller.rights = Rights::Listed(Perm::list(list));
        }
        Ok(caller)
    }

    /// `publisher_acl_blacklist`: the name that a program gives may differ from the one
    /// it proves, and either can be forbidden. Behind sudo the person is checked: rules
    /// that name root apply to root itself.
    fn check_blacklist(
        &self,
        request: &PublishRequest,
        caller: &LocalUser,
    ) -> Result<(), Published> {
        let blacklist = &self.groups.access.settings.blacklist;
        let said = request.user.as_deref();
        let proven = caller.proven().filter(|_| !caller.is_behind_sudo(said));
        let mut names = [said, proven].into_iter().flatten();
        let funs = request.fun.names();
        let forbidden = match names.find(|name| blacklist.forbids_user(name)) {
            Some(name) => Some(name),
            None => funs
                .iter()
                .find(|fun| blacklist.forbids_fun(fun))
                .map(String::as_str),
        };
        let Some(forbidden) = forbidden else {
            return Ok(());
        };
        let user = caller.proven().unwrap_or_default();
        if self.groups.telemetry.may_log(user, "blacklist") {
            let forbidden = quoted(forbidden, SHOWN_CHARS_MAX);
            tracing::warn!(user, "publisher_acl_blacklist forbids {forbidden}");
        }
        Err(PublishReply::Denied(ErrorReply::authorization()).into())
    }

    /// Whether it names the job of somebody else. One may add to one's own:
    /// batches of Salt's programs publish each of their parts under one id.
    fn takes_over(&self, request: &PublishRequest, by: &ProvenBy) -> bool {
        let jobs = &self.groups.jobs;
        let user = request.user.as_deref();
        request
            .jid
            .as_ref()
            .is_some_and(|jid| !jobs.may_begin(jid, user, Some(by)))
    }

    /// The part of the target that limits who is asked. Programs that wait for a job ask
    /// its minions whether they still run it.
    fn whom(&self, request: &PublishRequest, by: &ProvenBy) -> Whom {
        let of_own_job = || {
            let asked = request.arg.first()?.as_str()?;
            let load = self.groups.jobs.cache.load(&Jid::parse(asked).ok()?);
            let load = load.ok()??;
            let meant = load.get("Minions").and_then(Value::as_list)?;
            let asked = request.tgt.as_list().filter(|ids| !ids.is_empty())?;
            let is_own = is_of(&load, request.user.as_deref(), Some(by));
            let meant: HashSet<&str> = meant.iter().filter_map(Value::as_str).collect();
            let is_meant = |id: &Value| id.as_str().is_some_and(|id| meant.contains(id));
            Some(is_own && asked.iter().all(is_meant))
        };
        let is_waiting = request.tgt_type == "list" && request.fun.names() == [ALWAYS_ALLOWED];
        Whom {
            by_ids: is_by_ids(&request.tgt_type),
            of_own_job: is_waiting && of_own_job().unwrap_or(false),
        }
    }

    fn refuse_functions(&self, request: &PublishRequest) -> Published {
        let fun = quoted(&request.fun.to_text(), SHOWN_CHARS_MAX);
        self.refuse(request, &format!("{fun} is"))
    }

    /// Refuses a caller who has authenticated; `what` is not permitted.
    fn refuse(&self, request: &PublishRequest, what: &str) -> Published {
        let user = request.user.as_deref().unwrap_or_default();
        if self.groups.telemetry.may_log(user, "publish") {
            let user = quoted(user, SHOWN_CHARS_MAX);
            tracing::warn!(%user, "refused to publish: {what} not permitted");
        }
        let error = ErrorReply::authorization();
        let jid = request.jid.as_ref().map_or("", Jid::as_str);
        let data = jobs::error_event(request, error.to_map());
        // Without an id the tag is `salt/job/error`.
        self.groups.bus.fire_under("job", [jid, "error"], data);
        PublishReply::Denied(error).into()
    }
}

fn allowed(
    request: &PublishRequest,
    rights: &Rights,
    whom: Whom,
    within: &mut dyn FnMut(&str) -> bool,
) -> Option<Allowed> {
    match rights {
        Rights::Full => Some(Allowed::Anywhere),
        Rights::Listed(perms) => {
            let arguments = jobs::arguments(request);
            authorise_user(perms, &jobs::functions(request, &arguments), whom, within)
        }
    }
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
