//! The recorded answers, in a file beside the chapter.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::answer::Answer;

/// Answers by command.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Of real Salt.
    pub salt: BTreeMap<String, Answer>,
    /// Ours, where they differ.
    pub ours: BTreeMap<String, Answer>,
}

impl Recorded {
    /// Reads a file; an absent one holds nothing.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(path)?;
        let value: Value = serde_json::from_str(&text)
            .with_context(|| format!("could not read {}", path.display()))?;
        let part = |name: &str| {
            let map = value.get(name).and_then(Value::as_object);
            let entries = map.into_iter().flatten();
            entries
                .filter_map(|(line, value)| Some((line.clone(), Answer::from_json(value)?)))
                .collect()
        };
        Ok(Self {
            salt: part("salt"),
            ours: part("ours"),
        })
    }

    /// Writes the file, a line for each command.
    pub fn write(&self, path: &Path) -> Result<()> {
        let part = |answers: &BTreeMap<String, Answer>| {
            let lines: Vec<String> = answers
                .iter()
                .map(|(line, answer)| {
                    format!("    {}: {}", Value::from(line.as_str()), answer.to_json())
                })
                .collect();
            match lines.as_slice() {
                [] => "{}".to_owned(),
                lines => format!("{{\n{}\n  }}", lines.join(",\n")),
            }
        };
        let text = format!(
            "{{\n  \"salt\": {},\n  \"ours\": {}\n}}\n",
            part(&self.salt),
            part(&self.ours)
        );
        serde_json::from_str::<Map<String, Value>>(&text).context("not what JSON is")?;
        std::fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
    }
}
