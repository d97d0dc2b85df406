//! The clear commands about the master itself: runners, wheel functions, tokens.
//!
//! Invariant: a function of the master runs only for a caller who has proven their
//! identity and has the right.

use std::sync::Arc;
use std::time::Duration;

use halite_call::args::Parted;
use halite_proto::clear::{LogOutRequest, LowRequest, TokenRequest};
use halite_proto::shown::quoted;
use halite_proto::{Jid, Map, Value};

use crate::access::Access;
use crate::access::authenticate::{LocalUser, Unproven};
use crate::clock::now_s;
use crate::core::acl::Rights;
use crate::core::eauth::Office;
use crate::core::owner::ProvenBy;
use crate::error::chain;
use crate::limits::SHOWN_CHARS_MAX;
use crate::runner::{self, Runners};
use crate::wheel::{self, Wheel};

/// An answer, and whether it is to take its time.
type Answer = (Value, bool);

const TAKEN_JID: &str = "The job id belongs to another job.";

const NO_SYNTAX: &str = "A command invocation error occurred: Check syntax.";

/// Starts a runner; the answer says where its events are.
pub(crate) fn runner(access: &Access, runners: &Arc<Runners>, request: LowRequest) -> Answer {
    let admitted = match admit(access, request, Office::Runner) {
        Ok(admitted) => admitted,
        Err(refused) => return refused,
    };
    let is_taken = |jid: &Jid| {
        let (user, by) = (&admitted.user, &admitted.proven_by);
        !runners.jobs.may_begin(jid, Some(user), Some(by))
    };
    if !admitted.is_full && admitted.jid.as_ref().is_some_and(is_taken) {
        if access.may_log(&admitted.user, "jid") {
            tracing::warn!(
                user = admitted.user,
                "refused a runner: its jid belongs to another job"
            );
        }
        return (refusal("SaltInvocationError", TAKEN_JID), false);
    }
    let asked = runner::Asked {
        args: admitted.args,
        kwargs: admitted.kwargs,
        jid: admitted.jid,
        timeout: admitted.timeout,
        is_owner: admitted.is_owner,
        proven_by: Some(admitted.proven_by),
        takes_packed: true,
        ..runner::Asked::new(&admitted.fun, &admitted.user)
    };
    match runner::start(runners, asked) {
        Ok((jid, tag)) => {
            let answer = Map::from([("tag", Value::from(tag)), ("jid", (&jid).into())]);
            (answer.into(), false)
        }
        Err(error) => {
            let text = chain(&error);
            tracing::error!("could not start a runner: {text}");
            (refusal("SaltInvocationError", &text), false)
        }
    }
}

/// Runs a wheel function; the answer is what it returns.
pub(crate) fn wheel(access: &Access, wheel: &Wheel, request: LowRequest) -> Answer {
    match admit(access, request, Office::Wheel) {
        Ok(admitted) => {
            let answer = wheel::run(
                wheel,
                &admitted.fun,
                admitted.args,
                admitted.kwargs,
                (&admitted.user, Some(&admitted.proven_by)),
            );
            (answer, false)
        }
        Err(refused) => refused,
    }
}

/// A request that was judged.
struct Admitted {
    fun: String,
    args: Vec<Value>,
    kwargs: Map,
    user: String,
    /// How they have proven that.
    proven_by: ProvenBy,
    jid: Option<Jid>,
    timeout: Option<Duration>,
    /// They may do everything.
    is_full: bool,
    /// They may do so by a key file, not by a login.
    is_owner: bool,
}

fn admit(access: &Access, request: LowRequest, office: Office) -> Result<Admitted, Answer> {
    let user = request.user.as_deref();
    let fun = request.fun.unwrap_or_default();
    let caller = match access.authenticate(&request.credentials, user) {
        Ok(caller) => caller,
        Err(unproven) => {
            let name = request.credentials.username.as_deref();
            // Who has tried to log in is named, as Salt does.
            let told = (unproven == Unproven::Eauth).then(|| name.unwrap_or("UNKNOWN"));
            access.count_unproven(unproven, office.name(), told.or(user));
            return Err((denied(unproven, told), unproven.is_slow()));
        }
    };
    let mut fields = request.fields;
    let jid = fields.remove("jid");
    let jid = jid.and_then(|jid| Jid::parse(jid.as_str()?).ok());
    let timeout = match office {
        Office::Runner => fields.remove("timeout").and_then(|value| seconds(&value)),
        Office::Wheel => None,
    };
    let (args, kwargs) = match office {
        Office::Runner => runner_arguments(&fields),
        Office::Wheel => wheel_arguments(fields),
    };
    let has_two_parts =
        fun.split('.').filter(|part| !part.is_empty()).count() == 2 && fun.split('.').count() == 2;
    if !has_two_parts {
        return Err((refusal("SaltInvocationError", NO_SYNTAX), false));
    }
    // They are called with these, and nothing is parted any more.
    let judged = Parted {
        positional: args.clone(),
        named: kwargs.clone().into_iter().collect(),
    };
    if !caller.may_run(office, &fun, &judged) {
        let kind = proof_of(&caller, &request.credentials.token);
        let user = caller.name.as_deref().or(user);
        if access.may_log(user.unwrap_or_default(), office.name()) {
            let user = user.map(|user| quoted(user, SHOWN_CHARS_MAX));
            let fun = quoted(&fun, SHOWN_CHARS_MAX);
            tracing::warn!(
                user,
                "refused the {} function {fun}: not permitted",
                office.name()
            );
        }
        return Err((denied(kind, user), false));
    }
    let is_full = caller.rights == Rights::Full;
    Ok(Admitted {
        is_full,
        is_owner: is_full && caller.name.is_none(),
        proven_by: caller.proven_by,
        user: caller
            .name
            .or_else(|| user.map(str::to_owned))
            .unwrap_or_else(|| "UNKNOWN".to_owned()),
        fun,
        args,
        kwargs,
        jid,
        timeout,
    })
}

/// A positive number of seconds.
fn seconds(value: &Value) -> Option<Duration> {
    let seconds = value.as_f64()?;
    (seconds > 0.0)
        .then(|| Duration::try_from_secs_f64(seconds).ok())
        .flatten()
}

fn proof_of(caller: &LocalUser, token: &Option<String>) -> Unproven {
    match (&caller.name, token) {
        (None, _) => Unproven::Key,
        (Some(_), Some(_)) => Unproven::Token,
        (Some(_), None) => Unproven::Eauth,
    }
}

/// The refusal for a sender who has not authenticated, or for a user without the right.
fn denied(unproven: Unproven, user: Option<&str>) -> Value {
    let kind = match unproven {
        Unproven::Token => "token",
        Unproven::Eauth => "eauth",
        Unproven::Key => "user",
    };
    let whom = user.map_or_else(String::new, |user| format!(" for user {user}"));
    let message = format!("Authentication failure of type \"{kind}\" occurred{whom}.");
    refusal(unproven.error_name(), &message)
}

fn refusal(name: &str, message: &str) -> Value {
    let error = Map::from([("name", name), ("message", message)]);
    Map::from([("error", error)]).into()
}

/// `kwarg: {arg: [...], kwarg: {...}}`, or `kwarg: {name: value}`.
fn runner_arguments(fields: &Map) -> (Vec<Value>, Map) {
    let Some(low) = fields.get("kwarg").and_then(Value::as_map) else {
        return (list_of(fields.get("arg")), Map::new());
    };
    match (low.get("arg"), low.get("kwarg")) {
        (Some(args), Some(kwargs)) => (
            list_of(Some(args)),
            kwargs.as_map().cloned().unwrap_or_default(),
        ),
        _ => (Vec::new(), low.clone()),
    }
}

/// `arg` and `kwarg`, or arguments by their names.
fn wheel_arguments(mut fields: Map) -> (Vec<Value>, Map) {
    // What salt-api calls the kind of request.
    fields.remove("client");
    let args = fields.remove("arg");
    let kwargs = fields.remove("kwarg");
    if args.is_none() && kwargs.is_none() {
        return (Vec::new(), fields);
    }
    let kwargs = kwargs.and_then(|kwargs| kwargs.as_map().cloned());
    (list_of(args.as_ref()), kwargs.unwrap_or_default())
}

fn list_of(value: Option<&Value>) -> Vec<Value> {
    match value {
        Some(Value::List(items)) => items.clone(),
        None | Some(Value::Nil) => Vec::new(),
        Some(one) => vec![one.clone()],
    }
}

/// Makes a token; returns its data, or an empty text.
pub(crate) fn make_token(access: &Access, request: &TokenRequest) -> Answer {
    match access.make_token(request) {
        Ok(token) => (token.into(), false),
        Err(unproven) => {
            let name = request.credentials.username.as_deref();
            access.count_unproven(unproven, "token", name);
            (Value::from(""), unproven.is_slow())
        }
    }
}

/// The data of a token: nothing if it does not exist, false if none is given.
pub(crate) fn get_token(access: &Access, token: Option<&str>) -> Value {
    match token {
        None => false.into(),
        Some(token) => access.tokens.get(token, now_s()).unwrap_or_default().into(),
    }
}

/// Deletes a token, at the other masters of the cluster too. An unknown token changes
/// nothing, so that peers are not flooded with made-up ones.
pub(crate) fn log_out(access: &Access, request: &LogOutRequest) -> Value {
    let tokens = &access.tokens;
    let has_ended = request
        .token
        .as_deref()
        .is_some_and(|token| tokens.get(token, now_s()).is_some() && tokens.remove(token));
    LogOutRequest::answer(has_ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_in_several_forms() {
        let low = Map::from([
            ("arg", Value::List(vec![1.into()])),
            ("kwarg", Map::from([("a", 2)]).into()),
        ]);
        let fields = Map::from([("kwarg", low)]);
        let expect = (vec![Value::from(1)], Map::from([("a", 2)]));
        assert_eq!(runner_arguments(&fields), expect);
        let by_name = Map::from([("kwarg", Map::from([("tgt", "*")]))]);
        assert_eq!(
            runner_arguments(&by_name),
            (Vec::new(), Map::from([("tgt", "*")]))
        );
        assert_eq!(
            wheel_arguments(Map::from([("client", "wheel"), ("match", "web*")])),
            (Vec::new(), Map::from([("match", "web*")]))
        );
        let positional = Map::from([("arg", Value::List(vec!["web*".into()]))]);
        assert_eq!(
            wheel_arguments(positional),
            (vec!["web*".into()], Map::new())
        );
    }
}
