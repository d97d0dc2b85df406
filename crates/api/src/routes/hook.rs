//! `/hook`: turns a post into an event on the master's bus.

use axum::http::{HeaderName, StatusCode, header};
use axum::response::Response;
use halite_process::clock::unix_micros;
use halite_proto::event::Event;
use halite_proto::{Map, Tag, Value};
use halite_transport::ipc::EventPusher;

use super::{App, Asked};
use crate::decode::Body;
use crate::encode::Format;
use crate::fault::Fault;

/// What every tag begins with.
pub(super) const TAG_BASE: [&str; 3] = ["salt", "netapi", "hook"];

/// `POST /hook/...`
pub(super) async fn fire(app: &App, asked: &Asked, body: Body) -> Result<Response, Fault> {
    let format = Format::accepted(asked.header(header::ACCEPT))?;
    let tag = tag(&asked.rest)?;
    let post = match body.data.is_true() {
        true => body.data,
        false => Map::new().into(),
    };
    let data = Map::from([
        ("body", Value::from(body.raw)),
        ("post", post),
        ("headers", headers(asked).into()),
    ]);
    let mut event = Event::new(tag, data);
    event.stamp(unix_micros(), true);
    let packed = event.pack().map_err(|_| Fault::too_large())?;
    let endpoint = &app.runner.client.settings().event_pull;
    let sent = async {
        let mut pusher = EventPusher::connect(endpoint)
            .await
            .map_err(|error| halite_proto::chain(&error))?;
        pusher
            .push(&packed)
            .await
            .map_err(|error| halite_proto::chain(&error))
    };
    if let Err(error) = sent.await {
        tracing::error!("could not fire the event of a hook: {error}");
        return Err(Fault::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "The event bus of the master did not accept the event.",
        ));
    }
    format.answer(&Map::from([("success", true)]).into())
}

/// The tag of a path.
///
/// # Errors
/// With 400 for a path that could be taken for more than a tag.
pub(super) fn tag(path: &[String]) -> Result<Tag, Fault> {
    if path.iter().any(|part| part.chars().any(char::is_control)) {
        return Err(Fault::bad(
            "The tag of an event must not contain control characters",
        ));
    }
    let parts = TAG_BASE.into_iter().chain(path.iter().map(String::as_str));
    let text: Vec<&str> = parts.collect();
    let tag = Tag::parse(text.join("/"));
    tag.map_err(|error| Fault::bad(format!("the path is not a valid event tag: {error}")))
}

/// The headers of the request by their usual names. Proofs of who asks are left
/// out: an event is for everybody.
fn headers(asked: &Asked) -> Map {
    const PROOFS: [HeaderName; 4] = [
        header::AUTHORIZATION,
        header::PROXY_AUTHORIZATION,
        header::COOKIE,
        HeaderName::from_static(crate::sessions::AUTH_HEADER),
    ];
    let given = asked
        .headers
        .iter()
        .filter(|(name, _)| !PROOFS.contains(name));
    let mut headers: Map = given
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (Value::from(title(name.as_str())), Value::from(value))
        })
        .collect();
    headers.insert("Remote-Addr", asked.peer.address.to_string());
    headers
}

/// `x-my-key` as `X-My-Key`.
fn title(name: &str) -> String {
    let parts = name.split('-').map(|part| {
        let mut chars = part.chars();
        let first = chars.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    });
    parts.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_tag_below_that_of_hooks() {
        let of = |parts: &[&str]| {
            let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
            tag(&parts).map(|tag| tag.as_str().to_owned())
        };
        assert_eq!(of(&["a", "b c"]).as_deref(), Ok("salt/netapi/hook/a/b c"));
        assert!(of(&["a\n\n", "b"]).is_err());
        assert!(of(&["\r"]).is_err());
        assert_eq!(title("x-my-key"), "X-My-Key");
    }
}
