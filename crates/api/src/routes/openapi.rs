//! The description of the API for programs, `GET /openapi.json`.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::Asked;
use crate::fault::Fault;

/// Paths in it are relative to its own place, so that `root_prefix` changes nothing.
const TEXT: &str = include_str!("../../openapi.json");

/// `GET /openapi.json`
pub(super) fn description(asked: &Asked) -> Result<Response, Fault> {
    asked.bare()?;
    let mut response = TEXT.into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use halite_proto::{Map, Value, json};

    use super::super::paths::{FIXED, Page, allow};
    use super::TEXT;
    use crate::masters::{AWAY, RELAYED};

    /// The page of the first part of a described path.
    fn page_of(path: &str) -> Option<Page> {
        match path.split('/').nth(1)? {
            "" => Some(Page::Root),
            // The default of `webhook_url`.
            "hook" => Some(Page::Hook),
            name => FIXED
                .iter()
                .find(|(fixed, _)| *fixed == name)
                .map(|(_, page)| *page),
        }
    }

    fn paths() -> Map {
        let doc = json::read(TEXT).unwrap();
        doc.get("paths").and_then(Value::as_map).cloned().unwrap()
    }

    #[test]
    fn every_page_is_described_with_the_methods_that_it_takes() {
        let paths = paths();
        let mut described = Vec::new();
        for (path, methods) in &paths {
            let path = path.as_str().unwrap();
            let page = page_of(path).unwrap_or_else(|| panic!("{path} is no page"));
            let methods = methods.as_map().unwrap().keys();
            let methods: BTreeSet<_> = methods
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            let taken = allow(page).split(", ").filter(|method| *method != "HEAD");
            let taken: BTreeSet<_> = taken.map(str::to_lowercase).collect();
            match path.contains('{') {
                // Of several forms of a page not all take everything.
                true => assert!(methods.is_subset(&taken), "{path}"),
                false => assert_eq!(methods, taken, "{path}"),
            }
            described.push(page);
        }
        for (name, page) in FIXED {
            assert!(described.contains(&page), "{name} is not described");
        }
        assert!(described.contains(&Page::Hook));
    }

    #[test]
    fn the_headers_of_several_masters_are_described() {
        let text = TEXT.to_lowercase();
        for header in [AWAY, RELAYED] {
            assert!(text.contains(&format!("\"{header}\"")), "{header}");
        }
    }

    #[test]
    fn what_it_refers_to_is_there() {
        let doc = json::read(TEXT).unwrap();
        for part in TEXT.split("\"$ref\": \"#/").skip(1) {
            let path = part.split('"').next().unwrap();
            let found = path.split('/').try_fold(&doc, |at, name| at.get(name));
            assert!(found.is_some(), "{path}");
        }
    }
}
