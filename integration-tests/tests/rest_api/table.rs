//! The table of requests: `requests.yaml`, read by serde.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

/// The whole table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    requests: Vec<Entry>,
    /// Where our answers are others, and why.
    pub(crate) differences: Vec<Difference>,
    /// Where our cookies are others, and why.
    pub(crate) cookies: Vec<CookieDifference>,
}

/// A request, and all that it is asked with in turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Method and path.
    ask: String,
    /// Who asks: a name of [`Caller`], or several.
    #[serde(default = "nobody")]
    by: Several,
    /// What the body is written as.
    #[serde(default)]
    r#in: Option<Several>,
    /// What answer is asked for.
    #[serde(default)]
    accept: Option<Several>,
    /// The body, as data.
    #[serde(default)]
    low: Option<Value>,
    /// The body as it is, instead.
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Several {
    One(String),
    Many(Vec<String>),
}

impl Several {
    fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

fn nobody() -> Several {
    Several::One("nobody".to_owned())
}

/// Answers of ours that are meant to be others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Difference {
    /// The names of requests that begin so.
    pub(crate) of: String,
    /// For whoever wonders.
    pub(crate) why: String,
}

/// Cookies of ours that are meant to be others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CookieDifference {
    /// The names of requests that begin so.
    pub(crate) of: String,
    /// The status of our answer; any if it is not said.
    status: Option<u16>,
    /// What ours sets.
    #[serde(default)]
    pub(crate) ours: Vec<String>,
    /// For whoever wonders.
    pub(crate) why: String,
}

/// One request as it is sent.
#[derive(Debug)]
pub(crate) struct Request {
    /// By which recorded answers are found: it says all of the request.
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) by: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Table {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)?;
        serde_yaml::from_str(&text).with_context(|| format!("could not read {}", path.display()))
    }

    /// Every request, in the order of the table.
    pub(crate) fn requests(&self) -> Result<Vec<Request>> {
        let mut requests: Vec<Request> = Vec::new();
        for entry in &self.requests {
            for request in entry.requests()? {
                let is_new = requests.iter().all(|known| known.name != request.name);
                ensure!(is_new, "twice in the table: {}", request.name);
                requests.push(request);
            }
        }
        Ok(requests)
    }

    /// Why our answer to this request is another, if it is meant to be.
    pub(crate) fn why(&self, name: &str) -> Option<&str> {
        let mut differences = self.differences.iter();
        let found = differences.find(|difference| name.starts_with(&difference.of));
        found.map(|difference| difference.why.as_str())
    }

    /// What the cookies of our answer to this request are meant to be, if they are not
    /// to be Salt's: the first difference that fits.
    pub(crate) fn cookies_of(&self, name: &str, status: u16) -> Option<&CookieDifference> {
        self.cookies.iter().find(|difference| {
            let is_of_status = difference.status.is_none_or(|wanted| wanted == status);
            is_of_status && name.starts_with(&difference.of)
        })
    }
}

impl Entry {
    fn requests(&self) -> Result<Vec<Request>> {
        let anything = [String::new()];
        let of = |several: &Option<Several>| match several {
            None => anything.to_vec(),
            Some(several) => several.names().to_vec(),
        };
        let mut requests = Vec::new();
        for by in self.by.names() {
            for form in of(&self.r#in) {
                for accept in of(&self.accept) {
                    requests.push(self.request(by, &form, &accept)?);
                }
            }
        }
        Ok(requests)
    }

    fn request(&self, by: &str, form: &str, accept: &str) -> Result<Request> {
        let (method, path) = self.ask.split_once(' ').context("no method and path")?;
        let mut headers: Vec<(String, String)> = self.headers.clone().into_iter().collect();
        let mut name = format!("{} by {by}", self.ask);
        let form = match (form, &self.low) {
            ("", Some(_)) => "json",
            (form, _) => form,
        };
        if !form.is_empty() {
            name.push_str(&format!(" in {form}"));
            headers.push(("Content-Type".to_owned(), media(form)?.to_owned()));
        }
        if !accept.is_empty() {
            name.push_str(&format!(" for {accept}"));
            headers.push(("Accept".to_owned(), media(accept)?.to_owned()));
        }
        for (header, value) in &self.headers {
            name.push_str(&format!(" {header}={value}"));
        }
        let body = match (&self.text, &self.low) {
            (Some(text), _) => text.clone(),
            (None, Some(low)) => written(low, form)?,
            (None, None) => String::new(),
        };
        if !body.is_empty() {
            let said = self
                .low
                .as_ref()
                .map_or_else(|| body.clone(), Value::to_string);
            name.push_str(&format!(": {said}"));
        }
        Ok(Request {
            name,
            method: method.to_owned(),
            path: path.to_owned(),
            by: by.to_owned(),
            headers,
            body,
        })
    }
}

fn media(form: &str) -> Result<&str> {
    Ok(match form {
        "json" => "application/json",
        "yaml" => "application/x-yaml",
        "form" => "application/x-www-form-urlencoded",
        "text" => "text/plain",
        other if other.contains('/') => other,
        other => bail!("no content type is called {other}"),
    })
}

fn written(low: &Value, form: &str) -> Result<String> {
    Ok(match form {
        "yaml" => serde_yaml::to_string(low)?,
        "form" => {
            let fields = low.as_object().context("a form is a map")?;
            let mut pairs = Vec::new();
            for (name, value) in fields {
                let values = match value {
                    Value::Array(values) => values.clone(),
                    one => vec![one.clone()],
                };
                for value in values {
                    let text = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned);
                    pairs.push(format!("{}={}", escaped(name), escaped(&text)));
                }
            }
            pairs.join("&")
        }
        _ => low.to_string(),
    })
}

/// With each byte that means something in a form as its number.
fn escaped(text: &str) -> String {
    let letter = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
}
