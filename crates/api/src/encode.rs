//! Data as the body of an answer, in the form that was asked for.

use axum::body::HttpBody as _;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use halite_proto::json::{self, Style};
use halite_proto::{Value, python};
use halite_yaml::DumpOptions;

use crate::fault::Fault;
use crate::limits::{FREED_BESIDE_BYTES_MIN, YAML_BYTES_MAX};

/// A form of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/json`
    Json,
    /// `application/x-yaml`
    Yaml,
}

const FORMATS: [(Format, &str); 2] = [
    (Format::Json, "application/json"),
    (Format::Yaml, "application/x-yaml"),
];

impl Format {
    /// The format that an `Accept` header asks for.
    ///
    /// # Errors
    /// With 406 if there is none that it would take.
    pub fn accepted(accept: Option<&str>) -> Result<Self, Fault> {
        let names = FORMATS.map(|(_, name)| name);
        match accepted(accept, &names) {
            Some(at) => Ok(FORMATS.get(at).map_or(Self::Json, |(format, _)| *format)),
            None => Err(Fault::new(
                StatusCode::NOT_ACCEPTABLE,
                format!(
                    "Your client sent this Accept header: {}. But this resource only emits these \
                     media types: {}.",
                    accept.unwrap_or_default(),
                    names.join(", ")
                ),
            )),
        }
    }

    /// An answer with data; binary data stands as Python would spell it.
    ///
    /// # Errors
    /// With 500 for data that the form cannot hold, or not within its limit.
    pub fn answer(self, data: &Value) -> Result<Response, Fault> {
        let text = match self {
            Self::Json => to_json(data).ok_or_else(unwritable)?,
            Self::Yaml => to_yaml(data, YAML_BYTES_MAX)?,
        };
        Ok(self.response(text))
    }

    /// The same for data that may be long, which nothing else needs. To free a hundred
    /// thousand jobs takes as long as to write them: who asks does not wait for it.
    ///
    /// # Errors
    /// As [`Self::answer`].
    pub(crate) fn answer_with(self, data: Value) -> Result<Response, Fault> {
        let answered = self.answer(&data);
        let length = answered
            .as_ref()
            .ok()
            .and_then(|response| response.body().size_hint().exact());
        if length.is_some_and(|length| length > FREED_BESIDE_BYTES_MIN) {
            drop(tokio::task::spawn_blocking(move || drop(data)));
        }
        answered
    }

    /// An answer with a text in this form.
    pub(crate) fn response(self, text: String) -> Response {
        let name = match self {
            Self::Json => "application/json",
            Self::Yaml => "application/x-yaml",
        };
        let mut response = text.into_response();
        let value = HeaderValue::from_static(name);
        response.headers_mut().insert(header::CONTENT_TYPE, value);
        response
    }
}

/// The refusal of data that cannot be written.
pub(crate) fn unwritable() -> Fault {
    failed("Could not serialize the return data from Salt.")
}

fn failed(why: &str) -> Fault {
    Fault::new(StatusCode::INTERNAL_SERVER_ERROR, why)
}

/// Data as YAML, if that has at most this many bytes.
fn to_yaml(data: &Value, bytes_max: usize) -> Result<String, Fault> {
    halite_yaml::dump_within(data, DumpOptions::block(), bytes_max)
        .ok_or_else(|| failed("The answer is too long as YAML; ask for JSON."))
}

/// Data as JSON, on one line and in ASCII.
pub fn to_json(data: &Value) -> Option<String> {
    let style = Style {
        default: Some(python::str),
        ..Style::default()
    };
    json::write(data, style).ok()
}

/// Which of some media types an `Accept` header prefers, as CherryPy finds it.
pub fn accepted(accept: Option<&str>, media: &[&str]) -> Option<usize> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return Some(0);
    };
    let mut ranges: Vec<(f32, &str)> = accept
        .split(',')
        .map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let value = parts.next().unwrap_or_default();
            let quality = parts.find_map(|part| part.strip_prefix("q="));
            let quality = quality.and_then(|quality| quality.parse().ok());
            (quality.unwrap_or(1.0), value)
        })
        .collect();
    ranges.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut wanted = ranges.into_iter().filter(|(quality, _)| *quality > 0.0);
    wanted.find_map(|(_, range)| match range.strip_suffix('*') {
        Some("*/") => Some(0),
        Some(kind) if kind.ends_with('/') => media.iter().position(|name| name.starts_with(kind)),
        _ => media.iter().position(|name| *name == range),
    })
}

#[cfg(test)]
mod tests {
    use halite_proto::limits::DEPTH_MAX;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_the_same_however_long_it_is() {
        let length = usize::try_from(FREED_BESIDE_BYTES_MIN).unwrap();
        for text in ["short".to_owned(), "x".repeat(length)] {
            let data = Value::from(text);
            let response = Format::Json.answer_with(data.clone()).unwrap();
            let body = axum::body::to_bytes(response.into_body(), 2 * length).await;
            assert_eq!(body.unwrap(), to_json(&data).unwrap());
        }
    }

    #[test]
    fn the_best_form_is_chosen() {
        for (accept, expected) in [
            (None, Some(Format::Json)),
            (Some(""), Some(Format::Json)),
            (Some("*/*"), Some(Format::Json)),
            (Some("application/x-yaml"), Some(Format::Yaml)),
            (Some("text/html, application/*;q=0.5"), Some(Format::Json)),
            (
                Some("application/json;q=0.1, application/x-yaml"),
                Some(Format::Yaml),
            ),
            (Some("application/json;q=0"), None),
            (Some("text/plain"), None),
        ] {
            assert_eq!(Format::accepted(accept).ok(), expected, "{accept:?}");
        }
        let fault = Format::accepted(Some("text/plain")).unwrap_err();
        assert_eq!(fault.status.as_u16(), 406);
    }

    /// What a minion returns, or somebody has echoed: a byte for each line.
    #[test]
    fn little_data_that_is_nested_deeply_is_no_endless_answer() {
        const BYTES_MAX: usize = 100_000;
        let leaves = Value::List(vec![Value::Nil; 1000]);
        let deep = (0..DEPTH_MAX / 2).fold(leaves, |inner, _| vec![inner].into());
        assert!(to_json(&deep).unwrap().len() < BYTES_MAX);
        let refused = to_yaml(&deep, BYTES_MAX).unwrap_err();
        assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
        let long = to_yaml(&deep, YAML_BYTES_MAX).unwrap();
        assert_eq!(to_yaml(&deep, long.len()).unwrap(), long);
    }
}
