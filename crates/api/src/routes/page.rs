//! The page of the fleet: files that are part of the program.
//!
//! Invariant: the page has no rights of its own. It uses this API with the session
//! of its user, loads nothing from elsewhere, and runs no script but these.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{App, Asked};
use crate::fault::Fault;

const HTML: &str = "text/html;charset=utf-8";
const CSS: &str = "text/css;charset=utf-8";
const SCRIPT: &str = "text/javascript;charset=utf-8";
const SVG: &str = "image/svg+xml";

/// What the browser lets the page do. Text from minions must not become markup: with
/// trusted types even the attempt fails.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// A file of the page.
struct File {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

macro_rules! files {
    ($($name:literal: $kind:ident),* $(,)?) => {
        [$(File { name: $name, kind: $kind, text: include_str!(concat!("../../page/", $name)) }),*]
    };
}

const INDEX: &str = "index.html";

static FILES: [File; 21] = files! {
    "index.html": HTML,
    "style.css": CSS,
    "icon.svg": SVG,
    "main.js": SCRIPT,
    "api.js": SCRIPT,
    "away.js": SCRIPT,
    "rights.js": SCRIPT,
    "dom.js": SCRIPT,
    "texts.js": SCRIPT,
    "stream.js": SCRIPT,
    "table.js": SCRIPT,
    "target.js": SCRIPT,
    "results.js": SCRIPT,
    "fleet.js": SCRIPT,
    "history.js": SCRIPT,
    "masters.js": SCRIPT,
    "jobs.js": SCRIPT,
    "job.js": SCRIPT,
    "keys.js": SCRIPT,
    "events.js": SCRIPT,
    "why.js": SCRIPT,
};

/// `GET /fleet/...`
pub(super) fn file(app: &App, asked: &Asked) -> Result<Response, Fault> {
    let name = match asked.rest.as_slice() {
        // The names in the page are relative to its directory.
        [] if !asked.path.ends_with('/') => return Ok(to_directory(app)),
        [] => INDEX,
        [name] => name.as_str(),
        _ => return Err(Fault::no_page(&asked.path)),
    };
    let file = FILES.iter().find(|file| file.name == name);
    let file = file.ok_or_else(|| Fault::no_page(&asked.path))?;
    let mut response = file.text.into_response();
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_TYPE, file.kind);
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    // Another version of the program may have another page.
    set(header::CACHE_CONTROL, "no-cache");
    Ok(response)
}

/// Leads to the directory of the page. The address is that of the settings: one
/// made of the request's path could lead to another host.
fn to_directory(app: &App) -> Response {
    let settings = &app.settings;
    let path = settings.page_path.as_deref().unwrap_or_default();
    let place = format!("{}/{path}/", settings.root_prefix);
    let mut response = StatusCode::PERMANENT_REDIRECT.into_response();
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_no_text_becomes_markup() {
        for file in &FILES {
            let text = file.text.replace("http://www.w3.org/2000/svg", "");
            for word in ["http:", "https:", "//cdn", "url("] {
                assert!(!text.contains(word), "{}: {word}", file.name);
            }
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacent",
                "document.write",
                "eval(",
            ] {
                assert!(!text.contains(word), "{}: {word}", file.name);
            }
        }
        let index = FILES.iter().find(|file| file.name == INDEX).unwrap().text;
        assert!(
            !index.contains(" on") && !index.contains("style="),
            "{index}"
        );
    }

    #[test]
    fn every_module_that_is_imported_is_served() {
        for file in FILES.iter().filter(|file| file.kind == SCRIPT) {
            for line in file.text.lines().filter(|line| line.contains(" from \"")) {
                let name = line
                    .rsplit('"')
                    .nth(1)
                    .and_then(|name| name.strip_prefix("./"));
                let is_served = FILES.iter().any(|file| Some(file.name) == name);
                assert!(is_served, "{}: {line}", file.name);
            }
        }
    }
}
