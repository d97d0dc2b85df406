//! Who publishes, and whether they may: judges the caller, the functions and the
//! targets of a request.
//!
//! Invariant: only what was judged here for a local program is sent for it.

use halite_proto::Jid;
use halite_proto::Value;
use halite_proto::clear::{ErrorReply, PublishReply, PublishRequest};

use super::Publishing;
use crate::access::authenticate::{LocalUser, Unproven};
use crate::core::acl::{Allowed, Rights, authorise, is_blacklisted};
use crate::core::jobs;
use crate::core::targets::Resolved;

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

impl Publishing {
    /// Judges caller, functions and targets of a request.
    ///
    /// # Errors
    /// With the answer, where it may not be sent.
    pub(crate) fn judge(&self, request: &PublishRequest) -> Result<Box<Judged>, Published> {
        let funs: Vec<&str> = request.fun.names().iter().map(String::as_str).collect();
        let user = request.user.as_deref();
        if is_blacklisted(
            &self.groups.access.settings.publisher_acl_blacklist,
            user,
            &funs,
        ) {
            tracing::warn!(
                user,
                "publisher_acl_blacklist forbids {}",
                request.fun.to_text()
            );
            return Err(PublishReply::Denied(ErrorReply::authorization()).into());
        }
        let caller = self.prove(request).map_err(|unproven| {
            if self
                .groups
                .telemetry
                .may_log(user.unwrap_or_default(), "publish")
            {
                tracing::warn!(
                    user,
                    ?unproven,
                    "refused to publish: the caller is not authenticated"
                );
            }
            Published {
                reply: self.refuse(request, ErrorReply::authentication()),
                is_slow: unproven.is_slow(),
            }
        })?;
        // The name that a program says need not be the one that is proven.
        if is_blacklisted(
            &self.groups.access.settings.publisher_acl_blacklist,
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
            && let Some(what) = self.not_for_listed(&request)
        {
            tracing::warn!(
                user = request.user,
                "refused to publish: {what} is not permitted"
            );
            return Err(self.refuse(&request, ErrorReply::authorization()).into());
        }
        let resolved = self.groups.fleet.targets_of(&request);
        let restricted = match self.allowed(&request, &caller.rights, &resolved) {
            Some(Allowed::Anywhere) => false,
            Some(Allowed::OnlyResolved) => resolved.by_data,
            None => {
                tracing::warn!(
                    user = request.user,
                    "refused to publish {}: not permitted",
                    request.fun.to_text()
                );
                return Err(self.refuse(&request, ErrorReply::authorization()).into());
            }
        };
        if resolved.minions.is_empty() && !self.groups.fleet.settings.order_masters {
            let error = no_minions(&request);
            return Err(PublishReply::NoMinions { error }.into());
        }
        Ok(Box::new(Judged {
            request,
            resolved,
            restricted,
        }))
    }

    /// Proves who asks.
    fn prove(&self, request: &PublishRequest) -> Result<LocalUser, Unproven> {
        let mut user = self
            .groups
            .access
            .authenticate(&request.credentials, request.user.as_deref())?;
        // A syndic's master hands the rights of its own caller on.
        if let (Rights::Full, Some(Value::List(list))) =
            (&user.rights, request.kwargs.get("auth_list"))
            && !list.is_empty()
        {
            user.rights = Rights::Listed(list.clone());
        }
        Ok(user)
    }

    /// What is not for a user whose functions are listed, whatever is listed.
    fn not_for_listed(&self, request: &PublishRequest) -> Option<&'static str> {
        // The results of a job are its user's, who may add to it: batches of Salt's
        // programs publish each of their parts under one id.
        let is_own = |jid: &Jid| {
            let load = self.groups.jobs.cache.load(jid).ok().flatten();
            let user = load.as_ref().and_then(|load| load.get("user")?.as_str());
            user.is_some() && user == request.user.as_deref()
        };
        // One that cannot be looked up may be somebody's.
        let takes_over =
            |jid: &Jid| self.groups.jobs.cache.knows(jid).unwrap_or(true) && !is_own(jid);
        match &request.jid {
            Some(jid) if takes_over(jid) => Some("the id of another job"),
            _ => jobs::beyond_functions(request),
        }
    }

    fn allowed(
        &self,
        request: &PublishRequest,
        rights: &Rights,
        resolved: &Resolved,
    ) -> Option<Allowed> {
        match rights {
            Rights::Full => Some(Allowed::Anywhere),
            Rights::Listed(perms) => authorise(perms, &jobs::functions(request), &mut |target| {
                self.groups.fleet.are_within(&resolved.minions, target)
            }),
        }
    }

    fn refuse(&self, request: &PublishRequest, error: ErrorReply) -> PublishReply {
        let jid = request.jid.as_ref().map_or("", Jid::as_str);
        let data = jobs::error_event(request, error.to_map());
        // Without an id the tag is `salt/job/error`.
        self.groups.bus.fire_under("job", [jid, "error"], data);
        PublishReply::Denied(error)
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
