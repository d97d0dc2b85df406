//! A request from the arguments of `http.query`, and what is made of the
//! answer.

use std::fs;
use std::path::Path;

use halite_call::host::replace_file;
use halite_call::{Call, CallError, CallResult, python, redirect_protocols};
use halite_proto::{Map, Value, json};

use super::curl::{self, Answer, Fault, Request};
use super::url::{form, with_params};

/// Arguments that say how Salt asks, which makes no difference here.
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

const AGENT: &str = concat!("Halite/", env!("CARGO_PKG_VERSION"), " http.query()");

fn is_set(kwargs: &Map, name: &str) -> bool {
    kwargs.get(name).is_some_and(Value::is_true)
}

fn text(kwargs: &Map, name: &str) -> Option<String> {
    kwargs
        .get(name)
        .filter(|value| value.is_true())
        .map(python::str)
}

/// Asks, and makes of the answer what Salt's `http.query` returns.
pub(super) fn query(call: &Call<'_>, url: &str, kwargs: &Map) -> CallResult {
    if let Some(name) = UNSUPPORTED.iter().find(|name| is_set(kwargs, name)) {
        return Err(CallError::command(format!(
            "http.query: {name} is not supported by this minion"
        )));
    }
    for name in WITHOUT_MEANING.iter().filter(|name| is_set(kwargs, name)) {
        tracing::trace!(name, "of no meaning to http.query here");
    }
    let mut ret = Map::new();
    let mut url = url.to_owned();
    if kwargs.get("test") == Some(&Value::Bool(true)) {
        match text(kwargs, "test_url") {
            Some(instead) => url = instead,
            None => return Ok(ret.into()),
        }
        ret.insert("test", true);
    }
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    if !scheme.is_some_and(|scheme| {
        ["http", "https"]
            .iter()
            .any(|s| s.eq_ignore_ascii_case(scheme))
    }) {
        let text = format!("Unsupported url scheme: {url}");
        return Err(CallError::exception("ValueError", text));
    }
    let has = |name: &str| kwargs.get(name) == Some(&Value::Bool(true));
    let answer = match curl::ask(call, request(call, &url, kwargs)?)? {
        Ok(answer) => answer,
        Err(Fault::Timeout(when)) => {
            ret.insert("status", 599);
            ret.insert("error", format!("HTTP 599: {when}"));
            return Ok(ret.into());
        }
        Err(Fault::Connection(why)) => {
            if has("status") {
                ret.insert("status", 0);
            }
            ret.insert("error", why);
            return Ok(ret.into());
        }
    };
    let is_decoded = kwargs.get("decode_body").is_none_or(Value::is_true);
    let body = match is_decoded {
        true => Value::Str(decoded(&answer)?),
        false => Value::Bytes(answer.body.clone()),
    };
    let raises = kwargs.get("raise_error").is_none_or(Value::is_true);
    if raises && !(200..300).contains(&answer.status) {
        ret.insert("status", i64::from(answer.status));
        ret.insert(
            "error",
            format!("HTTP {}: {}", answer.status, answer.reason),
        );
        ret.insert("body", body);
        return Ok(ret.into());
    }
    if let Some(path) = text(kwargs, "text_out") {
        replace_file(Path::new(&path), &answer.body)
            .map_err(|error| CallError::command(format!("{path}: {error}")))?;
    }
    ret.insert("body", body.clone());
    if has("status") {
        ret.insert("status", i64::from(answer.status));
    }
    if has("headers") {
        ret.insert("headers", answer.headers.iter().cloned().collect::<Map>());
    }
    let mut wants_text = has("text");
    if has("decode") {
        let wanted = text(kwargs, "decode_type");
        let kind = match wanted.as_deref() {
            None | Some("auto") => kind_of(&answer),
            Some(wanted) => wanted,
        };
        match kind {
            "plain" => wants_text = true,
            "json" | "yaml" => {
                ret.insert("dict", data(kind, &python::str(&body))?);
            }
            "xml" => {
                return Err(CallError::command(
                    "http.query: decode_type xml is not supported by this minion",
                ));
            }
            _ => {
                ret.insert(
                    "error",
                    "Invalid decode_type specified. Valid decode types are: ('json', 'xml', 'yaml', 'plain')",
                );
                return Ok(ret.into());
            }
        }
    }
    if wants_text {
        ret.insert("text", body);
    }
    Ok(ret.into())
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

fn data(kind: &str, body: &str) -> CallResult {
    if kind == "json" {
        return json::read(body).map_err(|error| CallError::command(error.to_string()));
    }
    match halite_yaml::load(body, "answer") {
        Ok(node) => Ok(node.to_value()),
        Err(error) => Err(CallError::command(error.to_string())),
    }
}

fn read(path: &str) -> Result<String, CallError> {
    fs::read_to_string(path).map_err(|error| CallError::command(format!("{path}: {error}")))
}

/// All headers; a later one replaces an earlier one of the same name.
fn headers(kwargs: &Map) -> Result<Vec<(String, String)>, CallError> {
    let mut headers: Vec<(String, String)> = Vec::new();
    if let Some(Value::Map(map)) = kwargs.get("header_dict") {
        headers.extend(map.iter().map(|(k, v)| (python::str(k), python::str(v))));
    }
    let lines = match text(kwargs, "header_file") {
        Some(path) => read(&path)?.lines().map(str::to_owned).collect(),
        None => kwargs
            .get("header_list")
            .map(python::texts)
            .unwrap_or_default(),
    };
    for line in lines {
        let mut parts = line.split(':');
        if let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            let name = name.trim().to_owned();
            headers.retain(|(known, _)| *known != name);
            headers.push((name, value.trim().to_owned()));
        }
    }
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("user-agent"));
    let agent = text(kwargs, "agent").unwrap_or_else(|| AGENT.to_owned());
    headers.push(("User-agent".to_owned(), agent));
    Ok(headers)
}

fn request(call: &Call<'_>, url: &str, kwargs: &Map) -> Result<Request, CallError> {
    let mut request = Request {
        // An argument of ours: Salt's always follows.
        stays: kwargs.get("follow_redirects") == Some(&Value::Bool(false)),
        ..Request::default()
    };
    request
        .config
        .option("proto-redir", redirect_protocols(url));
    request
        .config
        .option("url", &with_params(url, kwargs.get("params")));
    for (name, value) in headers(kwargs)? {
        if name.contains(['\r', '\n']) || value.contains(['\r', '\n']) {
            return Err(CallError::command(format!("Unsafe header value in {name}")));
        }
        match value.as_str() {
            "" => request.config.option("header", &format!("{name};")),
            value => request.config.option("header", &format!("{name}: {value}")),
        }
    }
    let method = text(kwargs, "method").unwrap_or_else(|| "GET".to_owned());
    let body = match text(kwargs, "data_file") {
        Some(path) => Some(read(&path)?),
        None => match kwargs.get("data") {
            None | Some(Value::Nil) => None,
            Some(Value::Map(map)) => Some(form(map)),
            Some(other) => Some(python::str(other)),
        },
    };
    match (method.as_str(), body) {
        ("GET", None) => {}
        ("HEAD", None) => request.config.switch("head"),
        // Left to curl, which turns it to a GET behind a redirection.
        ("POST", body) => request.config.option("data-raw", &body.unwrap_or_default()),
        (method, body) => {
            request.config.option("request", method);
            if let Some(body) = body {
                if !matches!(method, "PUT" | "PATCH") {
                    tracing::debug!(method, "a body where servers expect none");
                }
                request.config.option("data-raw", &body);
            }
        }
    }
    let auth = kwargs.get("auth").map(python::texts).unwrap_or_default();
    let (user, password) = match auth.as_slice() {
        [user, password, ..] => (Some(user.clone()), password.clone()),
        _ => (
            text(kwargs, "username"),
            text(kwargs, "password").unwrap_or_default(),
        ),
    };
    if let Some(user) = user {
        request.config.option("user", &format!("{user}:{password}"));
    }
    let setting = |name: &str| {
        let given = kwargs.get(name).filter(|value| !value.is_nil());
        given.unwrap_or_else(|| call.opt(name)).clone()
    };
    if setting("verify_ssl") == Value::Bool(false) {
        request.config.switch("insecure");
    }
    let bundle = python::str(&setting("ca_bundle"));
    if Path::new(&bundle).is_file() {
        request.config.option("cacert", &bundle);
    }
    match setting("cert") {
        Value::Str(path) => request.config.option("cert", &path),
        Value::List(paths) => {
            for (name, path) in ["cert", "key"].into_iter().zip(&paths) {
                request.config.option(name, &python::str(path));
            }
        }
        _ => {}
    }
    if is_set(kwargs, "cookies") {
        let jar = text(kwargs, "cookie_jar").unwrap_or_else(|| {
            call.ctx
                .cachedir()
                .join("cookies.txt")
                .display()
                .to_string()
        });
        request.config.option("cookie", &jar);
        request.config.option("cookie-jar", &jar);
    }
    for (option, name, default) in [
        ("connect-timeout", "http_connect_timeout", 20.0),
        ("max-time", "http_request_timeout", 3600.0),
    ] {
        // Functions that wait for news say for how long.
        let wanted = kwargs.get(name).unwrap_or_else(|| call.opt(name));
        let seconds = python::float(wanted).unwrap_or(default);
        request
            .config
            .option(option, &seconds.max(0.001).to_string());
    }
    proxy(call, url, &mut request);
    Ok(request)
}

/// The proxy that the options name.
fn proxy(call: &Call<'_>, url: &str, request: &mut Request) {
    let (Some(host), Some(port)) = (call.opt_text("proxy_host"), call.opt_text("proxy_port"))
    else {
        return;
    };
    request
        .config
        .option("proxy", &format!("http://{host}:{port}"));
    let user = call.opt_text("proxy_username");
    if let (Some(user), Some(password)) = (user, call.opt_text("proxy_password")) {
        request
            .config
            .option("proxy-user", &format!("{user}:{password}"));
    }
    let direct = python::texts(call.opt("no_proxy"));
    if !direct.is_empty() {
        request.config.option("noproxy", &direct.join(","));
    }
    tracing::debug!(url, host, "through a proxy");
}
