//! Recorded cases whose outcome intentionally differs from Salt's: a file beside
//! the record holds, by the name of each case, our answer and the reason.
//!
//! `HALITE_UPDATE_DIFFERENCES=1` writes the file. It keeps the reasons; new cases
//! get an empty one, which the next run refuses.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test support: a wrong record ends the test"
)]

use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};

/// The list of one record, while its cases are tried.
#[derive(Debug)]
pub struct Differences {
    path: PathBuf,
    /// Cases of the file that no case of the record has claimed yet.
    unclaimed: Map<String, Json>,
    /// The file as it would be written now.
    current: Map<String, Json>,
    wrong: Vec<String>,
}

impl Differences {
    /// The list in this file; an absent one is empty.
    ///
    /// # Panics
    /// When it is not JSON.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
        Self {
            unclaimed: serde_json::from_str(&text).unwrap(),
            current: Map::new(),
            wrong: Vec::new(),
            path,
        }
    }

    /// Judges a case: `ours` is what we answer, `unlike_salt` says where that
    /// is not what Salt answered, or is `None` if both are equal.
    ///
    /// # Panics
    /// When two cases have this name.
    pub fn check(&mut self, name: &str, ours: Json, unlike_salt: Option<String>) {
        let known = self.unclaimed.remove(name);
        assert!(!self.current.contains_key(name), "two cases named {name}");
        let Some(unlike_salt) = unlike_salt else {
            if known.is_some() {
                let wrong = format!("{name}\n  is listed as a difference, but equals Salt");
                self.wrong.push(wrong);
            }
            return;
        };
        let why = known.as_ref().map_or("", |known| text_of(&known["why"]));
        match &known {
            None => self.wrong.push(format!("{name}{unlike_salt}")),
            Some(_) if why.is_empty() => {
                self.wrong
                    .push(format!("{name}\n  is listed without a reason"));
            }
            Some(known) if known["ours"] != ours => {
                let was = &known["ours"];
                let changed =
                    format!("{name}\n  is not what we answered\n  was {was}\n  is  {ours}");
                self.wrong.push(changed);
            }
            Some(_) => {}
        }
        let entry = json!({"why": why, "ours": ours});
        self.current.insert(name.to_owned(), entry);
    }

    /// Leaves a case as it is: this run cannot try it.
    pub fn skip(&mut self, name: &str) {
        if let Some(known) = self.unclaimed.remove(name) {
            self.current.insert(name.to_owned(), known);
        }
    }

    /// Fails if a case was not as listed. Without `whole` only some of the
    /// cases were tried, so those that are left prove nothing.
    ///
    /// # Panics
    /// When a case was not as listed.
    pub fn finish(mut self, whole: bool) {
        if whole && std::env::var_os("HALITE_UPDATE_DIFFERENCES").is_some() {
            let text = serde_json::to_string_pretty(&self.current).unwrap();
            fs::write(&self.path, text + "\n").unwrap();
            return;
        }
        if whole {
            let names = self.unclaimed.keys();
            let unknown = names.map(|name| format!("{name}\n  is listed, but not recorded"));
            self.wrong.extend(unknown);
        }
        assert!(
            self.wrong.is_empty(),
            "{} cases are not as {} says:\n{}",
            self.wrong.len(),
            self.path.display(),
            self.wrong.join("\n")
        );
    }
}

fn text_of(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}
