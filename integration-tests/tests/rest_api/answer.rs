//! An answer without the parts that change each time: job ids, tokens, times and
//! the values of grains.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cookie;

/// The headers that clients look at.
const HEADERS: [&str; 5] = [
    "content-type",
    "x-auth-token",
    "www-authenticate",
    "allow",
    "location",
];

/// A map of so many names is of grains: their values are those of the machine.
const GRAINS_MIN: usize = 30;

/// Fields whose value is a moment.
const TIMES: [&str; 6] = [
    "start",
    "expire",
    "StartTime",
    "_stamp",
    "start_time",
    "duration",
];

/// Answers by the names of requests.
pub(crate) type Answers = BTreeMap<String, Answer>;

/// An answer as it is compared.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    /// The cookies that it sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cookies: Vec<String>,
    /// JSON and YAML as data, the sentence of a page of HTML as text.
    pub(crate) body: Value,
}

impl Answer {
    /// The answer in these bytes of HTTP/1.1.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let (head, body) = text.split_once("\r\n\r\n").context("no answer")?;
        let status = head.split(' ').nth(1).context("no status")?.parse()?;
        let mut headers = BTreeMap::new();
        let (mut cookies, mut date) = (Vec::new(), "");
        let mut is_chunked = false;
        for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            let name = name.to_ascii_lowercase();
            match name.as_str() {
                "transfer-encoding" => is_chunked |= value == "chunked",
                "set-cookie" => cookies.push(value),
                "date" => date = value,
                _ => {}
            }
            if HEADERS.contains(&name.as_str()) {
                headers.insert(name, steady_text(value));
            }
        }
        let body = match is_chunked {
            true => whole(body).context("a chunk is broken")?,
            false => body.to_owned(),
        };
        let kind = headers.get("content-type").map_or("", String::as_str);
        let body = if kind.starts_with("application/json") {
            serde_json::from_str(&body).unwrap_or_else(|_| Value::from(body.as_str()))
        } else if kind.starts_with("application/x-yaml") {
            serde_yaml::from_str(&body).unwrap_or_else(|_| Value::from(body.as_str()))
        } else {
            sentence(&body)
        };
        let shape = |cookie: &&str| cookie::shape(cookie, date);
        Ok(Self {
            status,
            headers,
            cookies: cookies.iter().map(shape).collect(),
            body: steady(body),
        })
    }

    /// The same without cookies.
    pub(crate) fn without_cookies(&self) -> Self {
        Self {
            cookies: Vec::new(),
            ..self.clone()
        }
    }
}

/// What chunks hold.
fn whole(mut chunks: &str) -> Option<String> {
    let mut whole = String::new();
    loop {
        let (length, rest) = chunks.split_once("\r\n")?;
        let length = usize::from_str_radix(length.split(';').next()?.trim(), 16).ok()?;
        if length == 0 {
            return Some(whole);
        }
        whole.push_str(rest.get(..length)?);
        chunks = rest.get(length..)?.strip_prefix("\r\n")?;
    }
}

/// What a page of an error says.
fn sentence(page: &str) -> Value {
    let said = page
        .split_once("<p>")
        .and_then(|(_, rest)| rest.split_once("</p>"));
    match said {
        Some((sentence, _)) => Value::from(sentence.trim()),
        None => Value::from(page.trim()),
    }
}

fn steady(value: Value) -> Value {
    match value {
        Value::String(text) => steady_text(&text).into(),
        Value::Array(items) => items.into_iter().map(steady).collect(),
        Value::Object(fields) if fields.len() >= GRAINS_MIN => "GRAINS".into(),
        Value::Object(fields) => {
            let mut steadied = Map::new();
            for (name, value) in fields {
                let value = match name.as_str() {
                    "pid" => "PID".into(),
                    time if TIMES.contains(&time) => "TIME".into(),
                    _ => steady(value),
                };
                steadied.insert(steady_text(&name), value);
            }
            steadied.into()
        }
        other => other,
    }
}

/// A text with each job id and each token as a word, and without the lines of a
/// traceback.
fn steady_text(text: &str) -> String {
    if let Some((before, _)) = text.split_once("Traceback (most recent call last)") {
        return format!("{before}TRACEBACK");
    }
    let mut steadied = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(['\0']) {
        if letter.is_ascii_alphanumeric() {
            word.push(letter);
            continue;
        }
        let is_jid = word.len() == 20 && word.bytes().all(|byte| byte.is_ascii_digit());
        let is_token = word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        match (is_jid, is_token) {
            (true, _) => steadied.push_str("JID"),
            (_, true) => steadied.push_str("TOKEN"),
            _ => steadied.push_str(&word),
        }
        word.clear();
        if letter != '\0' {
            steadied.push(letter);
        }
    }
    steadied
}

/// The answers of a file; an absent one holds none.
pub(crate) fn read(path: &Path) -> Result<Answers> {
    if !path.exists() {
        return Ok(Answers::new());
    }
    let text = fs::read_to_string(path)?;
    serde_json::from_str(&text).with_context(|| format!("could not read {}", path.display()))
}

/// Writes a file, a line for each answer.
pub(crate) fn write(path: &Path, answers: &Answers) -> Result<()> {
    let mut lines = Vec::new();
    for (name, answer) in answers {
        let answer = serde_json::to_string(answer)?;
        lines.push(format!("{}:\n  {answer}", Value::from(name.as_str())));
    }
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
}
