//! The commands for one server of a cluster, and its answers.

use redis::{
    Cmd, ErrorKind, Pipeline, RedisError, RedisResult, ServerErrorKind, Value, make_extension_error,
};

use super::slots::{Node, named_node};

/// The code of what no server does now. None says so itself.
pub(super) const UNSERVED: &str = "UNSERVED";

/// The code of an answer that is longer than what is read.
pub(super) const TOO_LONG: &str = "TOOLONG";

/// What a server says of a command that it does not do.
pub(super) enum Redirect {
    /// Its slot is on another server from now on.
    Moved { slot: u16, node: Node },
    /// Its key is on another server already.
    Ask(Node),
    /// Its keys are on both.
    TryAgain,
}

/// The commands that are sent to one server.
pub(super) fn wrapped(commands: &[&Cmd], is_asking: bool, is_transaction: bool) -> Pipeline {
    let mut sent = redis::pipe();
    if is_asking {
        sent.cmd("ASKING");
    }
    if is_transaction {
        sent.cmd("MULTI");
    }
    for command in commands {
        sent.add_command((*command).clone());
    }
    if is_transaction {
        sent.cmd("EXEC");
    }
    sent
}

/// What the commands gave, of all that was answered.
pub(super) fn unwrapped(answers: &mut Vec<Value>, is_transaction: bool) -> RedisResult<Vec<Value>> {
    let last = answers.pop().ok_or_else(no_answer)?;
    if !is_transaction {
        return Ok(vec![last]);
    }
    // Why it was given up says more than that it was.
    for answer in answers.drain(..) {
        answer.extract_error()?;
    }
    match last {
        Value::Array(answers) => Ok(answers),
        other => {
            other.extract_error()?;
            Err((ErrorKind::UnexpectedReturnType, "EXEC gives no list").into())
        }
    }
}

pub(super) fn redirect(answer: &Value, asked: &str) -> Option<(Redirect, RedisError)> {
    let Value::ServerError(error) = answer else {
        return None;
    };
    let kind = error.kind()?;
    let error = RedisError::from(error.clone());
    let to = || {
        let (node, slot) = error.redirect_node()?;
        Some((named_node(node, asked)?, slot))
    };
    let redirect = match kind {
        ServerErrorKind::Moved => {
            let (node, slot) = to()?;
            Redirect::Moved { slot, node }
        }
        ServerErrorKind::Ask => Redirect::Ask(to()?.0),
        ServerErrorKind::TryAgain => Redirect::TryAgain,
        _ => return None,
    };
    Some((redirect, error))
}

pub(super) fn pick<'c>(commands: &[&'c Cmd], numbers: &[usize]) -> Vec<&'c Cmd> {
    let picked = numbers.iter().filter_map(|number| commands.get(*number));
    picked.copied().collect()
}

pub(super) fn fill(all: &mut [Value], numbers: &[usize], answers: Vec<Value>) {
    for (number, answer) in numbers.iter().zip(answers) {
        if let Some(place) = all.get_mut(*number) {
            *place = answer;
        }
    }
}

/// The first answer that is an error.
pub(super) fn first_error(answers: &[Value]) -> Option<RedisError> {
    answers.iter().find_map(|answer| match answer {
        Value::ServerError(error) => Some(error.clone().into()),
        _ => None,
    })
}

/// That the cluster is not whole, as far as the server knows.
pub(super) fn says_down(answers: &[Value]) -> Option<RedisError> {
    answers.iter().find_map(|answer| match answer {
        Value::ServerError(error) if error.kind() == Some(ServerErrorKind::ClusterDown) => {
            Some(error.clone().into())
        }
        _ => None,
    })
}

/// What no server does now, although others may do what is asked of them.
pub(super) fn unserved(why: impl ToString) -> RedisError {
    make_extension_error(UNSERVED.to_owned(), Some(why.to_string()))
}

/// An answer that was not read to its end.
pub(super) fn too_long() -> RedisError {
    make_extension_error(TOO_LONG.to_owned(), None)
}

fn no_answer() -> RedisError {
    (ErrorKind::UnexpectedReturnType, "there is no answer").into()
}
