//! Requests in the clear: sign-ins, and requests of programs on this machine.
//!
//! Invariant: the caller is not proven here. Each handler does that itself, and an
//! answer that would help somebody who guesses is delayed.

use std::sync::Arc;

use halite_proto::auth::AuthAnswer;
use halite_proto::clear::ClearCommand;
use halite_proto::{Map, Refusal, Value};
use halite_transport::fleet::Incoming;

use crate::clock::now_s;
use crate::core::gate::Cause;
use crate::core::lane::{Lane, lane_of_command};
use crate::error::chain;
use crate::handlers::{batch, comparison, low, publish};
use crate::limits::PING_BYTES_MAX;
use crate::master::Master;
use crate::serving::request_pipeline::{Answer, encode};

/// The answer of a handler.
enum Reply {
    Now(Value),
    /// The sender may be guessing.
    Slow(Value),
    Nothing,
}

impl Reply {
    /// The reply, and whether it is to be delayed.
    fn unhurried((value, is_slow): (Value, bool)) -> Self {
        match is_slow {
            true => Self::Slow(value),
            false => Self::Now(value),
        }
    }
}

/// Answers a request in the clear, if it is for this lane.
pub(super) fn answer(
    master: &Arc<Master>,
    load: Map,
    version: u32,
    lane: Lane,
    incoming: &Incoming,
) -> Answer {
    let command = match ClearCommand::from_map(load) {
        Ok(command) => command,
        Err(error) => {
            if master.telemetry.may_log("", "unhandled") {
                tracing::warn!(
                    "a request in the clear cannot be handled: {}",
                    chain(&error)
                );
            }
            master.telemetry.count_refusal(Cause::Failed, None);
            return Answer::Now(encode(&Refusal::HandlerFailed.to_value()));
        }
    };
    match lane_of(master, &command, lane) {
        of if of == lane => {}
        other => return Answer::Elsewhere(other),
    }
    let telemetry = &master.telemetry;
    let name = match &command {
        ClearCommand::Unknown { .. } => None,
        known => telemetry.stats.name(known.cmd()),
    };
    let handle = || handle(master, command, version, incoming);
    let reply = telemetry.stats.measure(&master.bus, name, handle);
    telemetry.counters.serve();
    match reply {
        Reply::Now(value) => Answer::Now(encode(&value)),
        Reply::Slow(value) => Answer::Slow(encode(&value)),
        Reply::Nothing => Answer::Nothing,
    }
}

/// The lane of a command that is in `lane`.
fn lane_of(master: &Master, command: &ClearCommand, lane: Lane) -> Lane {
    match (lane_of_command(command), command.token()) {
        // It may be known by now.
        (Lane::Control, Some(_)) if lane == Lane::Tokens => Lane::Tokens,
        (Lane::Control, Some(token)) if master.access.tokens.is_to_be_sought(token, now_s()) => {
            Lane::Tokens
        }
        (of, _) => of,
    }
}

fn handle(master: &Arc<Master>, command: ClearCommand, version: u32, incoming: &Incoming) -> Reply {
    let sign_in = |answer: Option<AuthAnswer>| match answer {
        Some(answer) => Reply::Now(answer.to_value()),
        None => Reply::Nothing,
    };
    match command {
        ClearCommand::Auth(request) => {
            sign_in(master.sign_ins(incoming.from).answer(&request, version))
        }
        ClearCommand::AuthBadId(bad) => {
            sign_in(master.sign_ins(incoming.from).refuse_bad_id(bad, version))
        }
        // Anybody may ask; a large one would only be told back.
        ClearCommand::Ping(_) if incoming.payload.len() > PING_BYTES_MAX => {
            Reply::Now(Map::new().into())
        }
        ClearCommand::Ping(load) => Reply::Now(load.into()),
        ClearCommand::Publish(mut request) => {
            let published = publish::publish(&master.publishing, &master.bus, &mut request);
            Reply::unhurried((published.reply.to_value(), published.is_slow))
        }
        ClearCommand::Batch(request) => {
            let published = batch::start(&master.publishing, &master.batches, &request);
            Reply::unhurried((published.reply.to_value(), published.is_slow))
        }
        ClearCommand::Runner(request) => {
            Reply::unhurried(low::runner(&master.access, &master.runners, request))
        }
        ClearCommand::Wheel(request) => {
            Reply::unhurried(low::wheel(&master.access, &master.wheel, request))
        }
        ClearCommand::MkToken(request) => {
            Reply::unhurried(low::make_token(&master.access, &request))
        }
        ClearCommand::GetToken { token } => {
            Reply::Now(low::get_token(&master.access, token.as_deref()))
        }
        ClearCommand::LogOut(request) => Reply::Now(low::log_out(&master.access, &request)),
        ClearCommand::Standing(request) => Reply::unhurried(master.standings().answer(&request)),
        ClearCommand::Compare(request) => Reply::Now(comparison::compare(
            master.comparable(),
            &master.questions,
            &request,
        )),
        ClearCommand::Unknown { .. } => Reply::Now(Map::new().into()),
    }
}
