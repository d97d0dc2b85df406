//! `http.query`: the request, and the result made from the answer.

use std::path::Path;

use halite_call::host::replace_file;
use halite_call::{Call, CallError, CallResult, os_error, python};
use halite_proto::{Map, Value, json};

use super::curl::{self, Answer, Fault};
use super::request::{is_set, request, text};

/// Arguments that say how Salt asks, which makes no difference to an answer.
const WITHOUT_MEANING: &[&str] = &["backend", "node", "port", "hide_fields", "opts", "wait_for"];

/// Arguments that are not supported: better no request than another one.
const UNSUPPORTED: &[&str] = &[
    "data_render",
    "header_render",
    "persist_session",
    "stream",
    "streaming_callback",
    "header_callback",
    "handle",
    "formdata",
    "decode_out",
];

/// Asks, and makes of the answer what Salt's `http.query` returns.
pub(super) fn query(call: &Call<'_>, url: &str, kwargs: &Map) -> CallResult {
    refuse_unsupported(kwargs)?;
    let mut ret = Map::new();
    let mut url = url.to_owned();
    if kwargs.get("test") == Some(&Value::Bool(true)) {
        match text(kwargs, "test_url") {
            Some(instead) => url = instead,
            None => return Ok(ret.into()),
        }
        ret.insert("test", true);
    }
    check_scheme(&url)?;
    match curl::ask(call, request(call, &url, kwargs)?)? {
        Ok(answer) => add_answer(&mut ret, &answer, kwargs)?,
        Err(Fault::Timeout(why)) if raises(kwargs) => return Err(no_answer(why)),
        Err(Fault::Connection(why)) if raises(kwargs) => return Err(no_answer(why)),
        Err(Fault::Timeout(when)) => {
            ret.insert("status", 599);
            ret.insert("error", format!("HTTP 599: {when}"));
        }
        Err(Fault::Connection(why)) => {
            if is_wanted(kwargs, "status") {
                ret.insert("status", 0);
            }
            ret.insert("error", why);
        }
    }
    Ok(ret.into())
}

fn refuse_unsupported(kwargs: &Map) -> Result<(), CallError> {
    if let Some(name) = UNSUPPORTED.iter().find(|name| is_set(kwargs, name)) {
        return Err(CallError::command(format!(
            "http.query: {name} is not supported by this minion"
        )));
    }
    for name in WITHOUT_MEANING.iter().filter(|name| is_set(kwargs, name)) {
        tracing::trace!(name, "of no meaning to http.query here");
    }
    Ok(())
}

fn check_scheme(url: &str) -> Result<(), CallError> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let is_http = |scheme: &str| {
        let mut known = ["http", "https"].iter();
        known.any(|known| known.eq_ignore_ascii_case(scheme))
    };
    if scheme.is_some_and(is_http) {
        return Ok(());
    }
    let text = format!("Unsupported url scheme: {url}");
    Err(CallError::exception("ValueError", text))
}

/// Whether no answer is an exception: with the library `requests` it is one, so
/// that a template ends with the reason.
fn raises(kwargs: &Map) -> bool {
    text(kwargs, "backend").as_deref() == Some("requests")
}

fn no_answer(why: impl Into<String>) -> CallError {
    CallError::exception("ConnectionError", why)
}

/// Whether a part of the answer is asked for.
fn is_wanted(kwargs: &Map, name: &str) -> bool {
    kwargs.get(name) == Some(&Value::Bool(true))
}

/// Adds to `ret` what is asked for of an answer.
fn add_answer(ret: &mut Map, answer: &Answer, kwargs: &Map) -> Result<(), CallError> {
    let is_decoded = kwargs.get("decode_body").is_none_or(Value::is_true);
    let body = match is_decoded {
        true => Value::Str(decoded(answer)?),
        false => Value::Bytes(answer.body.clone()),
    };
    let raises = kwargs.get("raise_error").is_none_or(Value::is_true);
    if raises && !(200..300).contains(&answer.status) {
        let error = format!("HTTP {}: {}", answer.status, answer.reason);
        ret.insert("status", i64::from(answer.status));
        ret.insert("error", error);
        ret.insert("body", body);
        return Ok(());
    }
    if let Some(path) = text(kwargs, "text_out") {
        replace_file(Path::new(&path), &answer.body).map_err(|error| os_error(&error, &path))?;
    }
    ret.insert("body", body.clone());
    if is_wanted(kwargs, "status") {
        ret.insert("status", i64::from(answer.status));
    }
    if is_wanted(kwargs, "headers") {
        ret.insert("headers", answer.headers.iter().cloned().collect::<Map>());
    }
    let mut wants_text = is_wanted(kwargs, "text");
    if is_wanted(kwargs, "decode") {
        match data(answer, &body, kwargs)? {
            Some(Data::Dict(dict)) => drop(ret.insert("dict", dict)),
            Some(Data::Text) => wants_text = true,
            None => {
                ret.insert(
                    "error",
                    "Invalid decode_type specified. Valid decode types are: ('json', 'xml', 'yaml', 'plain')",
                );
                return Ok(());
            }
        }
    }
    if wants_text {
        ret.insert("text", body);
    }
    Ok(())
}

/// What is in an answer.
enum Data {
    Dict(Value),
    Text,
}

/// The data of an answer, in the notation that the arguments or the server name;
/// nothing if it cannot be decoded.
fn data(answer: &Answer, body: &Value, kwargs: &Map) -> Result<Option<Data>, CallError> {
    let wanted = text(kwargs, "decode_type");
    let kind = match wanted.as_deref() {
        None | Some("auto") => kind_of(answer),
        Some(wanted) => wanted,
    };
    match kind {
        "plain" => Ok(Some(Data::Text)),
        "json" | "yaml" => Ok(Some(Data::Dict(parsed(kind, &python::str(body))?))),
        "xml" => Err(CallError::command(
            "http.query: decode_type xml is not supported by this minion",
        )),
        _ => Ok(None),
    }
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let found = answer.headers.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

fn kind_of(answer: &Answer) -> &'static str {
    let kind = header(answer, "Content-Type").unwrap_or("application/json");
    let named = ["xml", "json", "yaml"].into_iter();
    named
        .into_iter()
        .find(|name| kind.contains(name))
        .unwrap_or("plain")
}

/// The body as text, in the character set that the server names.
fn decoded(answer: &Answer) -> Result<String, CallError> {
    let kind = header(answer, "Content-Type")
        .unwrap_or_default()
        .to_lowercase();
    let is_latin = kind.starts_with("text/")
        && ["charset=iso-8859-1", "charset=latin-1", "charset=latin1"]
            .iter()
            .any(|set| kind.replace(['"', ' '], "").contains(set));
    if is_latin {
        return Ok(answer.body.iter().copied().map(char::from).collect());
    }
    String::from_utf8(answer.body.clone()).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CallError::command(format!("the answer is no UTF-8 text at byte {at}"))
    })
}

fn parsed(kind: &str, body: &str) -> CallResult {
    if kind == "json" {
        return json::read(body).map_err(|error| CallError::command(error.to_string()));
    }
    match halite_yaml::load(body, "answer") {
        Ok(node) => Ok(node.to_value()),
        Err(error) => Err(CallError::command(error.to_string())),
    }
}
