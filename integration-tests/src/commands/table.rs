//! The file of a chapter.
//!
//! ```text
//! # a comment
//! @accepted gone1                  a key without a minion
//! @master timeout 2                an option of the master; `{fleet}` is the directory
//! @without __pub_x why              a key that only Salt's answers hold
//! salt 'web*' test.ping
//! salt '*' test.ping -b 1
//!     text
//!     differs: why it does
//! salt web1 status.uptime
//!     exit only: why what it prints cannot be compared
//! ```
//!
//! A command is a line of its own; the notes below it are indented.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::words::words;
use crate::kind::Program;

/// The commands of one file.
#[derive(Debug, Default)]
pub struct Chapter {
    /// Ids whose keys are accepted although there is no such minion.
    pub accepted: Vec<String>,
    /// Options of the master, as YAML.
    pub master: Vec<(String, String)>,
    /// Keys that only Salt's answers hold, in the commands below.
    pub without: Vec<String>,
    /// The commands in their order.
    pub rows: Vec<Row>,
}

/// A command and how its answer is compared.
#[derive(Debug)]
pub struct Row {
    /// The line as it stands in the file.
    pub line: String,
    /// What runs.
    pub program: Program,
    /// Its arguments.
    pub args: Vec<String>,
    /// What it reads.
    pub stdin: String,
    /// What counts.
    pub compare: Compare,
    /// Why the answers differ, if they do.
    pub differs: Option<String>,
}

/// What of an answer counts.
#[derive(Clone, Debug, Default)]
pub struct Compare {
    /// Standard output is compared as it is; otherwise `--out=json` is added
    /// and data is compared.
    pub text: bool,
    /// Standard error counts too.
    pub stderr: bool,
    /// Nothing but the exit code counts; the note says why.
    pub exit_only: bool,
    /// Lists and lines may come in any order.
    pub any_order: bool,
    /// Only so many lines of text count.
    pub lines: Option<usize>,
    /// Texts count up to the end of this one: what follows is documentation, which is
    /// written anew here.
    pub up_to: Option<String>,
    /// Values count by their types only.
    pub types_only: bool,
    /// Keys whose values do not count.
    pub hidden: Vec<String>,
    /// Of each minion's map only these keys count, where any are named: the
    /// others tell of the machine.
    pub only: Vec<String>,
    /// Keys that do not count at all, in the whole chapter.
    pub without: Vec<String>,
}

impl Compare {
    /// Whether a note says how output is compared.
    fn looks_at_output(&self) -> bool {
        self.text
            || self.stderr
            || self.any_order
            || self.types_only
            || self.lines.is_some()
            || self.up_to.is_some()
            || !(self.hidden.is_empty() && self.only.is_empty())
    }
}

impl Chapter {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("could not read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    /// Reads a file whose commands are shown as they are, without `--out`.
    pub fn read_screens(path: &Path) -> Result<Self> {
        let mut chapter = Self::read(path)?;
        for row in &mut chapter.rows {
            row.compare.text = true;
        }
        Ok(chapter)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut chapter = Self::default();
        for (number, line) in text.lines().enumerate() {
            chapter
                .take(line)
                .with_context(|| format!("line {}: {line}", number + 1))?;
        }
        for (number, row) in chapter.rows.iter().enumerate() {
            let first = chapter.rows.iter().position(|other| other.line == row.line);
            ensure!(first == Some(number), "twice: {}", row.line);
        }
        Ok(chapter)
    }

    fn take(&mut self, line: &str) -> Result<()> {
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with([' ', '\t']) {
            let row = self.rows.last_mut().context("a note without a command")?;
            return row.apply_note(line.trim());
        }
        if let Some(directive) = line.strip_prefix('@') {
            let mut parts = directive.splitn(3, ' ');
            // What a key is left out for is for people.
            match (parts.next(), parts.next(), parts.next()) {
                (Some("accepted"), Some(id), None) => self.accepted.push(id.to_owned()),
                (Some("master"), Some(option), Some(value)) => {
                    self.master.push((option.to_owned(), value.to_owned()));
                }
                (Some("without"), Some(key), Some(_reason)) => self.without.push(key.to_owned()),
                _ => bail!("no such directive"),
            }
            return Ok(());
        }
        let mut row = Row::parse(line)?;
        row.compare.without.clone_from(&self.without);
        self.rows.push(row);
        Ok(())
    }
}

impl Row {
    fn parse(line: &str) -> Result<Self> {
        let mut words = words(line)?.into_iter();
        let program = match words.next().as_deref() {
            Some("salt") => Program::Salt,
            Some("salt-run") => Program::Run,
            Some("salt-key") => Program::Key,
            Some("salt-call") => Program::Call,
            Some("salt-cp") => Program::Cp,
            Some("salt-minion") => Program::Minion,
            _ => bail!("no such program"),
        };
        Ok(Self {
            line: line.to_owned(),
            program,
            args: words.collect(),
            stdin: String::new(),
            compare: Compare::default(),
            differs: None,
        })
    }

    fn apply_note(&mut self, note: &str) -> Result<()> {
        let compare = &mut self.compare;
        match note.split_once(": ") {
            None if note == "text" => compare.text = true,
            None if note == "stderr" => compare.stderr = true,
            None if note == "any order" => compare.any_order = true,
            None if note == "types only" => compare.types_only = true,
            Some(("hide", keys)) => {
                compare.hidden = keys.split(", ").map(str::to_owned).collect();
            }
            Some(("only", keys)) => {
                compare.only = keys.split(", ").map(str::to_owned).collect();
            }
            Some(("lines", count)) => {
                compare.text = true;
                compare.lines = Some(count.parse().context("no number of lines")?);
            }
            // Why nothing else counts is for people.
            Some(("exit only", _reason)) => compare.exit_only = true,
            Some(("up to", text)) => compare.up_to = Some(text.to_owned()),
            Some(("stdin", text)) => self.stdin = text.replace("\\n", "\n"),
            Some(("differs", reason)) => self.differs = Some(reason.to_owned()),
            _ => bail!("no such note"),
        }
        ensure!(
            !(compare.exit_only && compare.looks_at_output()),
            "where only the exit code counts, no other note can say what is compared"
        );
        Ok(())
    }

    /// Whether `--out=json` is added to the command.
    pub fn asks_for_json(&self) -> bool {
        let chosen = |arg: &String| arg.starts_with("--out=") || arg.starts_with("--output=");
        !self.compare.text && !self.args.iter().any(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::Chapter;

    #[test]
    fn notes_belong_to_the_command_above() {
        let text = "# words\n@accepted gone1\n@master timeout 2\n\nsalt '*' test.ping\nsalt-key -d x\n    text\n    stdin: n\\n\n    differs: because\n";
        let chapter = Chapter::parse(text).unwrap();
        assert_eq!(chapter.accepted, ["gone1"]);
        assert_eq!(chapter.master, [("timeout".to_owned(), "2".to_owned())]);
        let [ping, delete] = chapter.rows.as_slice() else {
            panic!("{chapter:?}");
        };
        assert_eq!(ping.args, ["*", "test.ping"]);
        assert!(ping.asks_for_json() && !delete.asks_for_json());
        assert_eq!(delete.stdin, "n\n");
        assert_eq!(delete.differs.as_deref(), Some("because"));
    }

    #[test]
    fn mistakes_are_refused() {
        for text in [
            "    text\n",
            "rm -rf x\n",
            "@nothing x\n",
            "salt a\nsalt a\n",
            "salt a\n  x\n",
            "salt a\n  exit only\n",
            "salt a\n  exit only: why\n  text\n",
            "salt a\n  types only\n  exit only: why\n",
        ] {
            assert!(Chapter::parse(text).is_err(), "{text}");
        }
    }
}
