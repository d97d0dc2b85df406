//! The output of a program that ran to its end.
//!
//! Invariant: an error about an output shows the command, the exit code and both
//! streams, so that a failed test can be understood from its text.

use std::fmt;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

/// The end of one run of one program.
#[derive(Clone, Debug)]
pub struct Output {
    /// The command as one would type it.
    pub command: String,
    /// The exit code; -1 if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// This output if the exit code is 0.
    pub fn ok(self) -> Result<Self> {
        self.exit(0)
    }

    /// This output if the exit code is `code`.
    pub fn exit(self, code: i32) -> Result<Self> {
        if self.code != code {
            bail!("expected exit code {code} of {self}");
        }
        Ok(self)
    }

    /// The documents of a stream of JSON values on standard output.
    pub fn documents(&self) -> Result<Vec<Value>> {
        serde_json::Deserializer::from_str(&self.stdout)
            .into_iter()
            .collect::<Result<_, _>>()
            .with_context(|| format!("expected JSON from {self}"))
    }

    /// The one JSON document on standard output.
    pub fn json(&self) -> Result<Value> {
        match self.documents()?.as_slice() {
            [value] => Ok(value.clone()),
            others => bail!(
                "expected one JSON document, found {} in {self}",
                others.len()
            ),
        }
    }

    /// What each minion returned: the keys of all JSON documents together. Two
    /// documents about one minion are an error: it answered twice.
    pub fn by_minion(&self) -> Result<Map<String, Value>> {
        let mut all = Map::new();
        for document in self.documents()? {
            let Value::Object(map) = document else {
                bail!("expected maps of minions in {self}");
            };
            for (minion, value) in map {
                if all.contains_key(&minion) {
                    bail!("{minion} is in two documents of {self}");
                }
                all.insert(minion, value);
            }
        }
        Ok(all)
    }

    /// What `minion` returned.
    pub fn of(&self, minion: &str) -> Result<Value> {
        self.by_minion()?
            .remove(minion)
            .with_context(|| format!("nothing of {minion} in {self}"))
    }

    /// The lines of standard output.
    pub fn lines(&self) -> Vec<&str> {
        self.stdout.lines().collect()
    }
}

impl fmt::Display for Output {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "`{}` (exit code {})", self.command, self.code)?;
        writeln!(out, "--- stdout\n{}", self.stdout.trim_end())?;
        write!(out, "--- stderr\n{}", self.stderr.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(stdout: &str) -> Output {
        Output {
            command: "salt".to_owned(),
            code: 0,
            stdout: stdout.to_owned(),
            stderr: String::new(),
        }
    }

    #[test]
    fn a_minion_that_answers_twice_is_noticed() {
        let once = output("{\"a\": 1}\n{\"b\": 2}\n").by_minion();
        assert_eq!(once.map(|all| all.len()).ok(), Some(2));
        let twice = output("{\"a\": 1}\n{\"a\": 1}\n").by_minion();
        let text = twice.map_err(|error| error.to_string()).err();
        assert!(text.is_some_and(|text| text.starts_with("a is in two documents")));
    }
}
