//! Mistakes in states: Salt's message, which scripts read, and the part of the SLS
//! it is about, which leads people to the line.
//!
//! Invariant: the text of a mistake is Salt's and names no place.

use std::fmt;

use halite_proto::{Map, Value};

use crate::text::ordered_str;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    text: String,
    report: Option<String>,
    about: Vec<About>,
}

/// A part of an SLS or of a top file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The environment.
    pub env: String,
    /// The SLS; `None` is the top file of any environment.
    pub sls: Option<String>,
    /// The keys and entries that lead there: an id, a state module, an
    /// argument, an entry of its list. How far they lead is for who looks.
    pub path: Vec<Value>,
}

impl About {
    /// A part of an SLS.
    pub fn sls(env: &str, sls: &str, path: impl IntoIterator<Item = Value>) -> Self {
        Self {
            env: env.to_owned(),
            sls: Some(sls.to_owned()),
            path: path.into_iter().collect(),
        }
    }

    /// A part of the declaration `body`, which says where it comes from.
    pub fn declared(body: &Map, path: impl IntoIterator<Item = Value>) -> Self {
        let part = |key| body.get(key).map(ordered_str);
        Self {
            env: part("__env__").unwrap_or_else(|| "base".to_owned()),
            sls: Some(part("__sls__").unwrap_or_default()),
            path: path.into_iter().collect(),
        }
    }

    /// A part of a top file.
    pub fn top(path: impl IntoIterator<Item = Value>) -> Self {
        Self {
            env: String::new(),
            sls: None,
            path: path.into_iter().collect(),
        }
    }
}

impl Mistake {
    /// A mistake in these words.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            report: None,
            about: Vec::new(),
        }
    }

    /// A text that does not render; `report` says where.
    pub fn of_render(text: String, report: String) -> Self {
        Self {
            text,
            report: Some(report),
            about: Vec::new(),
        }
    }

    /// The same mistake, about one part more.
    #[must_use]
    pub fn about(mut self, about: About) -> Self {
        self.about.push(about);
        self
    }

    /// Salt's words.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Salt's words alone.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Where it is, if whoever found it knew.
    pub fn report(&self) -> Option<&str> {
        self.report.as_deref()
    }

    /// What it is about.
    pub fn parts(&self) -> &[About] {
        &self.about
    }

    /// The same about other words.
    #[must_use]
    pub(crate) fn reworded(self, text: String) -> Self {
        Self { text, ..self }
    }
}

impl From<String> for Mistake {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq<str> for Mistake {
    fn eq(&self, text: &str) -> bool {
        self.text == text
    }
}

impl PartialEq<&str> for Mistake {
    fn eq(&self, text: &&str) -> bool {
        self.text == *text
    }
}

impl PartialEq<String> for Mistake {
    fn eq(&self, text: &String) -> bool {
        self.text == *text
    }
}
