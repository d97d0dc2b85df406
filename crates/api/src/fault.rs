//! The answer to a failed request: a status, and a page with the reason.
//!
//! Clients of `rest_cherrypy` expect these pages to be HTML, whatever they accept.
//! Invariant: data of a request appears on a page only escaped.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The header of an answer to another API that says that nobody has acted on what
/// was asked.
pub(crate) const UNTOUCHED: &str = "halite-untouched";

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The status.
    pub status: StatusCode,
    /// Why, for people.
    pub message: String,
    /// Headers beside the usual ones.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether the master has said nothing, as it does to one wrong password too
    /// many.
    pub is_unanswered: bool,
}

impl Fault {
    /// A fault with words of its own.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            headers: Vec::new(),
            is_unanswered: false,
        }
    }

    /// The request makes no sense.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The client has not logged in, or has no right to do this.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    /// The request has no session.
    pub fn no_session() -> Self {
        Self::denied("No permission -- see authorization schemes")
    }

    /// The page does not exist.
    pub fn no_page(path: &str) -> Self {
        let message = format!("The path '{path}' was not found.");
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// There is such a page, without these parameters.
    pub fn no_match() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Nothing matches the given URI")
    }

    /// The page does not take this method; `allow` are those it takes.
    pub fn no_method(allow: &'static str) -> Self {
        let mut fault = Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "Specified method is invalid for this resource",
        );
        fault
            .headers
            .push((header::ALLOW, HeaderValue::from_static(allow)));
        fault
    }

    /// The body is too large.
    pub fn too_large() -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "The entity sent with the request exceeds the maximum allowed bytes.",
        )
    }

    /// The user has as many connections as one user may have.
    pub(crate) fn too_many_connections() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "There are too many connections of this user already",
        )
    }

    /// The master cannot be asked.
    pub fn no_master() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Salt Master is not available.",
        )
    }

    /// The same as another API is to hear it: nobody has acted on the request, which
    /// may go to another master.
    pub(crate) fn untouched() -> Self {
        let mut fault = Self::no_master();
        let yes = HeaderValue::from_static("1");
        fault
            .headers
            .push((HeaderName::from_static(UNTOUCHED), yes));
        fault
    }

    /// Whether it certainly had no effect.
    pub(crate) fn is_untouched(&self) -> bool {
        self.headers.iter().any(|(name, _)| *name == UNTOUCHED)
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let status = self.status;
        let reason = status.canonical_reason().unwrap_or_default();
        let title = format!("{} {reason}", status.as_u16());
        let page = format!(
            "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
             </head>\n<body>\n<h2>{title}</h2>\n<p>{}</p>\n</body>\n</html>\n",
            escaped(&self.message)
        );
        let mut response = (status, page).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/html;charset=utf-8"),
        );
        headers.extend(
            self.headers
                .into_iter()
                .map(|(name, value)| (Some(name), value)),
        );
        response
    }
}

/// A text as it may stand in HTML, outside of tags.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_cannot_write_the_page() {
        assert_eq!(
            escaped("</p><script>alert('&\"')</script>"),
            "&lt;/p&gt;&lt;script&gt;alert('&amp;\"')&lt;/script&gt;"
        );
    }
}
