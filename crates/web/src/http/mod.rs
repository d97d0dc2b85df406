//! Requests to web servers: the execution module `http`.

mod bundle;
mod curl;
mod query;
mod request;
mod url;

use std::time::{Duration, Instant};

use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "http",
    functions: &[
        Function::new(
            "http.query",
            "(url, **kwargs)",
            query_,
            "Asks a web server and returns its answer.\n\nmethod, params, data, data_file, header_dict, header_list, header_file,\nusername, password, cert, ca_bundle, verify_ssl, agent and cookies shape the\nrequest; status, headers, text and decode (with decode_type) say what is\nreturned beside the body.",
        ),
        Function::new(
            "http.update_ca_bundle",
            "(target=None, source=None, merge_files=None)",
            bundle::update_ca_bundle,
            "Fetches the certificates of authorities that are trusted, and adds those of\nmore files.",
        ),
        Function::new(
            "http.wait_for_successful_query",
            "(url, wait_for=300, **kwargs)",
            wait_for_successful_query,
            "Asks a web server until it answers without an error, for at most wait_for\nseconds, with request_interval seconds between the requests.",
        ),
    ],
};

/// Seconds between requests where none are given: Salt asks without a pause,
/// which would keep a processor and a server busy.
const INTERVAL_SECONDS: f64 = 0.1;

/// Asks again and again until an answer is good enough, the time is over or
/// the job ends. What fails at last is the failure.
///
/// # Errors
/// That of the last request, or the end of the job.
pub(crate) fn until(
    call: &Call<'_>,
    kwargs: &Map,
    mut ask: impl FnMut() -> CallResult,
    is_good: impl Fn(&Value) -> bool,
) -> CallResult {
    let seconds = |value: &Value| {
        let seconds = python::float(value)?;
        Duration::try_from_secs_f64(seconds.max(0.0))
            .map_err(|error| CallError::exception("ValueError", error.to_string()))
    };
    let length = seconds(call.arg("wait_for"))?;
    let pause = match kwargs.get("request_interval") {
        Some(value) => seconds(value)?,
        None => Duration::from_secs_f64(INTERVAL_SECONDS),
    };
    let begin = Instant::now();
    loop {
        let answer = ask();
        if let Err(CallError::Ended(_)) = answer {
            return answer;
        }
        if answer.as_ref().is_ok_and(&is_good) || begin.elapsed() > length {
            return answer;
        }
        if !call.cancel().sleep(pause) {
            return Err(ended(call));
        }
    }
}

/// The job was ended from outside.
pub(crate) fn ended(call: &Call<'_>) -> CallError {
    CallError::Ended(call.cancel().ended_by().unwrap_or_default())
}

fn query_(call: &Call<'_>) -> CallResult {
    query::query(call, &call.text("url"), &call.clean_kwargs())
}

fn wait_for_successful_query(call: &Call<'_>) -> CallResult {
    let (url, kwargs) = (call.text("url"), call.clean_kwargs());
    let is_good = |answer: &Value| {
        let has = |key| answer.get(key).is_some_and(Value::is_true);
        !has("error") && !has("Error")
    };
    until(call, &kwargs, || query::query(call, &url, &kwargs), is_good)
}
