//! States of web servers' answers.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};
use halite_target::pcre::Pcre;

use crate::http;

pub(crate) const MODULE: Module = Module {
    name: "http",
    functions: &[
        Function::new(
            "http.query",
            "(name, match=None, match_type='string', status=None, status_type='string', wait_for=None, **kwargs)",
            query_,
            "A web server answers with a text or a status.",
        ),
        Function::new(
            "http.wait_for_successful_query",
            "(name, wait_for=300, **kwargs)",
            wait_for_successful_query,
            "A web server answers, within wait_for seconds, with a text or a status.",
        ),
    ],
};

/// What is expected of the answer.
struct Expected {
    text: Value,
    text_type: String,
    status: Value,
    status_type: String,
}

fn query_(call: &Call<'_>) -> CallResult {
    let expected = Expected {
        text: call.arg("match").clone(),
        text_type: call.text("match_type"),
        status: call.arg("status").clone(),
        status_type: call.text("status_type"),
    };
    query(call, &expected, call.arg("wait_for"), call.clean_kwargs())
}

fn wait_for_successful_query(call: &Call<'_>) -> CallResult {
    let mut kwargs = call.clean_kwargs();
    let all = kwargs.clone();
    let mut take = |name: &str, default: Value| {
        let value = kwargs.get(name).cloned().unwrap_or(default);
        kwargs.retain(|key, _| key.as_str() != Some(name));
        value
    };
    let expected = Expected {
        text: take("match", Value::Nil),
        text_type: python::str(&take("match_type", "string".into())),
        status: take("status", Value::Nil),
        status_type: python::str(&take("status_type", "string".into())),
    };
    // In test mode nothing is asked, and waiting would tell nothing.
    let is_good = |ret: &Value| call.is_test() || ret.get("result").is_some_and(Value::is_true);
    let ask = || query(call, &expected, &Value::Nil, kwargs.clone());
    http::until(call, &all, ask, is_good)
}

fn query(call: &Call<'_>, expected: &Expected, wait_for: &Value, mut kwargs: Map) -> CallResult {
    let mut state = StateReturn::of(call);
    state.more.insert("data", Map::new());
    if expected.text.is_nil() && expected.status.is_nil() {
        return Ok(state
            .failed(" Either match text (match) or a status code (status) is required.")
            .into());
    }
    if kwargs.get("decode").is_none() {
        kwargs.insert("decode", false);
    }
    kwargs.insert("text", true);
    kwargs.insert("status", true);
    if call.is_test() {
        kwargs.insert("test", true);
    }
    let test_url = kwargs.get("test_url").cloned();
    let fun = if wait_for.is_true() {
        kwargs.insert("wait_for", wait_for.clone());
        "http.wait_for_successful_query"
    } else {
        "http.query"
    };
    let data = call.salt(fun, &[call.arg("name").clone()], kwargs)?;
    let mut comments = Vec::new();
    state.result = judge(expected, &data, &mut comments)?;
    let mut comment = comments.join(" ");
    if call.is_test() {
        state.result = None;
        comment.push_str(" (TEST MODE");
        if let Some(url) = test_url {
            comment.push_str(&format!(", TEST URL WAS: {}", python::str(&url)));
        }
        comment.push(')');
    }
    state.comment = comment.into();
    state.more.insert("data", data);
    Ok(state.into())
}

fn is_in(pattern: &Value, text: &str) -> Result<bool, CallError> {
    Pcre::searching(&python::str(pattern))
        .and_then(|pattern| pattern.is_in(text))
        .map_err(|error| CallError::exception("error", error.to_string()))
}

/// Whether the answer is as expected, and what is to be said about it.
fn judge(
    expected: &Expected,
    data: &Value,
    comments: &mut Vec<String>,
) -> Result<Option<bool>, CallError> {
    let field = |name| data.get(name).map(python::str).unwrap_or_default();
    let was = |found| {
        if found {
            "was found."
        } else {
            "was not found."
        }
    };
    let mut result = None;
    if !expected.text.is_nil() {
        let text = field("text");
        let shown = python::str(&expected.text);
        let (kind, found) = match expected.text_type.as_str() {
            "string" => ("text", Some(text.contains(&shown))),
            "pcre" => ("pattern", Some(is_in(&expected.text, &text)?)),
            _ => ("", None),
        };
        if let Some(found) = found {
            comments.push(format!("Match {kind} \"{shown}\" {}", was(found)));
            result = Some(found);
        }
    }
    if expected.status.is_nil() {
        return Ok(result);
    }
    let status = field("status");
    let shown = python::str(&expected.status);
    let found = match expected.status_type.as_str() {
        "list" => {
            let matching = python::texts(&expected.status)
                .into_iter()
                .filter(|wanted| *wanted == status);
            for wanted in matching {
                comments.push(format!("Status {wanted} was found."));
                result = result.or(Some(true));
            }
            if result != Some(true) {
                comments.push(format!("Statuses {shown} were not found."));
                result = Some(false);
            }
            return Ok(result);
        }
        "pcre" => {
            let found = is_in(&expected.status, &status)?;
            comments.push(format!("Status pattern \"{shown}\" {}", was(found)));
            found
        }
        "string" => {
            comments.push(format!("Status {shown} {}", was(shown == status)));
            shown == status
        }
        _ => return Ok(result),
    };
    Ok(match found {
        true => result.or(Some(true)),
        false => Some(false),
    })
}
