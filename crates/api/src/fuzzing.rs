//! Decodes bytes of callers and of other APIs, for the fuzz targets.

use crate::decode;
use crate::encode::to_json;
use crate::{masters, routes};

const TYPES: [&str; 5] = [
    "application/json",
    "application/x-www-form-urlencoded",
    "application/x-yaml",
    "text/plain; charset=utf-8",
    "text/yaml",
];

/// The body of a request: the first byte selects its type. Low data is read again, as
/// another API does.
pub fn request(bytes: &[u8]) {
    let Some((first, body)) = bytes.split_first() else {
        return;
    };
    let kind = TYPES.get(usize::from(*first) % TYPES.len()).copied();
    if let Ok(text) = std::str::from_utf8(body) {
        decode::query(text);
    }
    let Ok(body) = decode::body(kind, body) else {
        return;
    };
    for chunk in decode::low_data(body.data).unwrap_or_default() {
        let Some(json) = to_json(&chunk.into()) else {
            continue;
        };
        if let Ok(body) = decode::body(Some("application/json"), json.as_bytes()) {
            let again = decode::low_data(body.data).unwrap_or_default();
            assert!(again.len() <= 1, "{json} is several chunks");
        }
    }
}

/// The head of a request: its path, and below it the headers, each in a line.
pub fn head(bytes: &[u8]) {
    routes::fuzzing::head(bytes);
}

/// The event stream of another API, in pieces.
pub fn event_stream(bytes: &[u8]) {
    masters::fuzzing::event_stream(bytes);
}
