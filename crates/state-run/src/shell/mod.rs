//! The thin shell around `halite_state::run`, which performs the effects of a run.

mod beside;
mod drive;
mod events;
mod gate;
mod known;
mod narrator;

pub(crate) use drive::{Stage, drive};
pub(crate) use gate::{ALL, Pauses, pause_dir};
pub(crate) use known::{KnownFunctions, is_ours_to_answer};

use halite_call::CallError;

/// A failure as Python's traceback shows it, which is what comments hold.
pub(crate) fn trace(fun: &str, error: &CallError) -> String {
    if let Some(trace) = error.trace() {
        return trace.to_owned();
    }
    let text = match error {
        CallError::Command(text) => format!("salt.exceptions.CommandExecutionError: {text}"),
        CallError::Invocation(text) => format!("salt.exceptions.SaltInvocationError: {text}"),
        CallError::NotFound(text) => format!("salt.exceptions.CommandNotFoundError: {text}"),
        CallError::Arguments(text) => format!("TypeError: {text}"),
        CallError::Exception { .. } => error.to_string(),
        CallError::Ended(_) => format!("SystemExit: {error}"),
    };
    format!("Traceback (most recent call last):\n  File \"halite\", in {fun}\n{text}\n")
}
