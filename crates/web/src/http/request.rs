//! A request from the arguments of `http.query`.

use std::path::Path;

use halite_call::curl::CurlConfig;
use halite_call::{Call, CallError, os_error, paths, python, redirect_protocols};
use halite_proto::{Map, Value};

use super::curl::Request;
use super::url::{form, with_params};

/// The request that the arguments describe.
///
/// # Errors
/// When a file of it cannot be read, or a header has more than one line.
pub(super) fn request(call: &Call<'_>, url: &str, kwargs: &Map) -> Result<Request, CallError> {
    let mut request = Request {
        // An argument of ours: Salt's always follows.
        stays: kwargs.get("follow_redirects") == Some(&Value::Bool(false)),
        ..Request::default()
    };
    let config = &mut request.config;
    config.option("proto-redir", redirect_protocols(url));
    config.option("url", &with_params(url, kwargs.get("params")));
    set_headers(config, kwargs)?;
    set_body(config, kwargs)?;
    set_login(config, kwargs);
    set_tls(call, config, kwargs);
    set_cookies(call, config, kwargs);
    set_limits(call, config, kwargs);
    set_proxy(call, url, config);
    Ok(request)
}

pub(super) fn is_set(kwargs: &Map, name: &str) -> bool {
    kwargs.get(name).is_some_and(Value::is_true)
}

pub(super) fn text(kwargs: &Map, name: &str) -> Option<String> {
    kwargs
        .get(name)
        .filter(|value| value.is_true())
        .map(python::str)
}

fn set_headers(config: &mut CurlConfig, kwargs: &Map) -> Result<(), CallError> {
    for (name, value) in headers(kwargs)? {
        if name.contains(['\r', '\n']) || value.contains(['\r', '\n']) {
            return Err(CallError::command(format!("Unsafe header value in {name}")));
        }
        match value.as_str() {
            "" => config.option("header", &format!("{name};")),
            value => config.option("header", &format!("{name}: {value}")),
        }
    }
    Ok(())
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

/// The method, and what is sent with it.
fn set_body(config: &mut CurlConfig, kwargs: &Map) -> Result<(), CallError> {
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
        ("HEAD", None) => config.switch("head"),
        // Left to curl, which turns it to a GET behind a redirection.
        ("POST", body) => config.option("data-raw", &body.unwrap_or_default()),
        (method, body) => {
            config.option("request", method);
            if let Some(body) = body {
                if !matches!(method, "PUT" | "PATCH") {
                    tracing::debug!(method, "a body where servers expect none");
                }
                config.option("data-raw", &body);
            }
        }
    }
    Ok(())
}

fn read(path: &str) -> Result<String, CallError> {
    paths::read_to_string(path).map_err(|error| os_error(&error, path))
}

fn set_login(config: &mut CurlConfig, kwargs: &Map) {
    let auth = kwargs.get("auth").map(python::texts).unwrap_or_default();
    let (user, password) = match auth.as_slice() {
        [user, password, ..] => (Some(user.clone()), password.clone()),
        _ => (
            text(kwargs, "username"),
            text(kwargs, "password").unwrap_or_default(),
        ),
    };
    if let Some(user) = user {
        config.option("user", &format!("{user}:{password}"));
    }
}

/// Whom to believe, and which certificate to show.
fn set_tls(call: &Call<'_>, config: &mut CurlConfig, kwargs: &Map) {
    let setting = |name: &str| {
        let given = kwargs.get(name).filter(|value| !value.is_nil());
        given.unwrap_or_else(|| call.opt(name)).clone()
    };
    if setting("verify_ssl") == Value::Bool(false) {
        config.switch("insecure");
    }
    let bundle = python::str(&setting("ca_bundle"));
    if Path::new(&bundle).is_file() {
        config.option("cacert", &bundle);
    }
    match setting("cert") {
        Value::Str(path) => config.option("cert", &path),
        Value::List(paths) => {
            for (name, path) in ["cert", "key"].into_iter().zip(&paths) {
                config.option(name, &python::str(path));
            }
        }
        _ => {}
    }
}

fn set_cookies(call: &Call<'_>, config: &mut CurlConfig, kwargs: &Map) {
    if is_set(kwargs, "cookies") {
        let jar = text(kwargs, "cookie_jar").unwrap_or_else(|| {
            call.ctx
                .cachedir()
                .join("cookies.txt")
                .display()
                .to_string()
        });
        config.option("cookie", &jar);
        config.option("cookie-jar", &jar);
    }
}

fn set_limits(call: &Call<'_>, config: &mut CurlConfig, kwargs: &Map) {
    for (option, name, default) in [
        ("connect-timeout", "http_connect_timeout", 20.0),
        ("max-time", "http_request_timeout", 3600.0),
    ] {
        // Functions that wait for news say for how long.
        let wanted = kwargs.get(name).unwrap_or_else(|| call.opt(name));
        let seconds = python::float(wanted).unwrap_or(default);
        config.option(option, &seconds.max(0.001).to_string());
    }
}

/// The proxy that the options name.
fn set_proxy(call: &Call<'_>, url: &str, config: &mut CurlConfig) {
    let (Some(host), Some(port)) = (call.opt_text("proxy_host"), call.opt_text("proxy_port"))
    else {
        return;
    };
    config.option("proxy", &format!("http://{host}:{port}"));
    let user = call.opt_text("proxy_username");
    if let (Some(user), Some(password)) = (user, call.opt_text("proxy_password")) {
        config.option("proxy-user", &format!("{user}:{password}"));
    }
    let direct = python::texts(call.opt("no_proxy"));
    if !direct.is_empty() {
        config.option("noproxy", &direct.join(","));
    }
    tracing::debug!(url, host, "through a proxy");
}

const AGENT: &str = concat!("Halite/", env!("CARGO_PKG_VERSION"), " http.query()");
