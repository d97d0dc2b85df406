//! A crontab: the part that is left alone, and after a mark the part that is
//! managed here.
//!
//! Invariant: reading what was written gives the same table.

/// Begins the managed part.
pub(crate) const MARK: &str = "# Lines below here are managed by Salt, do not edit";

/// Names an entry in the comment above it.
const IDENTIFIER: &str = "SALT_CRON_IDENTIFIER";

/// Stands for an entry without a name.
pub(crate) const NO_IDENTIFIER: &str = "NO ID SET";

/// An entry is switched off behind this.
const DISABLED: &str = "#DISABLED#";

/// When an entry runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum When {
    /// Minute, hour, day of the month, month, day of the week.
    Times([String; 5]),
    /// `@daily` and the like.
    Special(String),
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) when: When,
    pub(crate) cmd: String,
    pub(crate) identifier: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) commented: bool,
}

impl Entry {
    /// The name, or what stands for none.
    pub(crate) fn id(&self) -> &str {
        match self.identifier.as_deref() {
            None | Some("") => NO_IDENTIFIER,
            Some(identifier) => identifier,
        }
    }

    /// Whether this is the entry that is meant.
    pub(crate) fn is_meant(&self, cmd: &str, identifier: Option<&str>) -> bool {
        let wanted = identifier
            .filter(|identifier| !identifier.is_empty())
            .unwrap_or(NO_IDENTIFIER);
        let own = self.id();
        if self.cmd != cmd && own == NO_IDENTIFIER && wanted == NO_IDENTIFIER {
            return false;
        }
        (self.cmd == cmd && own == NO_IDENTIFIER) || own == wanted
    }

    fn write(&self, text: &mut String) {
        if self.comment.is_some() || self.identifier.is_some() {
            text.push('#');
            let comment = self.comment.as_deref().map(|comment| match self.when {
                When::Times(_) => comment,
                When::Special(_) => comment.trim_end(),
            });
            if let Some(comment) = comment.filter(|comment| !comment.is_empty()) {
                text.push_str(&format!(" {}", comment.replace('\n', "\n# ")));
            }
            if let Some(name) = self.identifier.as_ref().filter(|name| !name.is_empty()) {
                text.push_str(&format!(" {IDENTIFIER}:{name}"));
            }
            text.push('\n');
        }
        if self.commented {
            text.push_str(DISABLED);
        }
        match &self.when {
            When::Times(times) => text.push_str(&times.join(" ")),
            When::Special(special) => text.push_str(special),
        }
        text.push_str(&format!(" {}\n", self.cmd));
    }
}

/// The whole table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tab {
    pub(crate) pre: Vec<String>,
    pub(crate) env: Vec<(String, Option<String>)>,
    pub(crate) crons: Vec<Entry>,
    pub(crate) special: Vec<Entry>,
}

impl Tab {
    /// Reads a crontab.
    pub(crate) fn parse(text: &str) -> Self {
        let mut tab = Self::default();
        let mut managed = false;
        let (mut comment, mut identifier): (Option<String>, Option<String>) = (None, None);
        // A carriage return is a part of the line: what is left alone stays as it
        // is.
        for line in text.split_terminator('\n') {
            if line.strip_suffix('\r').unwrap_or(line) == MARK {
                managed = true;
                continue;
            }
            if !managed {
                tab.pre.push(line.to_owned());
                continue;
            }
            let (line, commented) = match line.strip_prefix(DISABLED) {
                Some(rest) => (rest, true),
                None => (line, false),
            };
            if line.starts_with('@') {
                let mut words = line.split_whitespace();
                let special = words.next().unwrap_or_default();
                let cmd = words.collect::<Vec<_>>().join(" ");
                if !cmd.is_empty() {
                    tab.special.push(Entry {
                        when: When::Special(special.to_owned()),
                        cmd,
                        identifier: identifier.take(),
                        comment: comment.take(),
                        commented,
                    });
                }
            } else if line.starts_with('#') {
                let mut text = line.trim_start_matches(['#', ' ']);
                if let Some((before, after)) = text.split_once(IDENTIFIER) {
                    text = before.trim_end();
                    let name: String = after.chars().skip(1).collect();
                    if !name.is_empty() {
                        identifier = Some(name);
                    }
                }
                match &mut comment {
                    Some(comment) => {
                        comment.push('\n');
                        comment.push_str(text);
                    }
                    None => comment = Some(text.to_owned()),
                }
            } else if let Some((name, value)) = line
                .split_once('=')
                .filter(|(name, _)| !name.is_empty() && !name.contains(' '))
            {
                tab.env.push((name.to_owned(), Some(value.to_owned())));
            } else {
                let words: Vec<&str> = line.split(' ').collect();
                if words.len() > 5 {
                    tab.crons.push(Entry {
                        when: When::Times(std::array::from_fn(|at| words[at].to_owned())),
                        cmd: words[5..].join(" "),
                        identifier: identifier.take(),
                        comment: comment.take(),
                        commented,
                    });
                }
            }
        }
        tab
    }

    /// The crontab.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.pre {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(MARK);
        text.push('\n');
        for (name, value) in &self.env {
            match value.as_deref() {
                None | Some("") => text.push_str(&format!("{name}=\"\"\n")),
                Some(value) => text.push_str(&format!("{name}={value}\n")),
            }
        }
        for entry in self.crons.iter().chain(&self.special) {
            entry.write(&mut text);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_and_written_back() {
        let text = format!(
            "MAILTO=x\n# mine\n{MARK}\nPATH=/bin\n# note SALT_CRON_IDENTIFIER:a\n*/5 * * * * run it  twice\n#DISABLED#1 2 3 4 5 off\n# SALT_CRON_IDENTIFIER:b\n@daily tidy\n"
        );
        let tab = Tab::parse(&text);
        assert_eq!(tab.pre.len(), 2);
        assert_eq!(tab.crons[0].comment.as_deref(), Some("note"));
        assert_eq!(tab.crons[0].cmd, "run it  twice");
        assert!(tab.crons[1].commented);
        assert_eq!(tab.special[0].id(), "b");
        assert_eq!(tab.text(), text);
        assert_eq!(Tab::parse(&tab.text()), tab);
    }

    #[test]
    fn entries_are_found_by_name_and_by_command() {
        let tab = Tab::parse(&format!(
            "{MARK}\n* * * * * cmd\n# SALT_CRON_IDENTIFIER:a\n* * * * * other\n"
        ));
        assert!(tab.crons[0].is_meant("cmd", Some("cmd")));
        assert!(tab.crons[0].is_meant("cmd", None));
        assert!(!tab.crons[0].is_meant("x", None));
        assert!(tab.crons[1].is_meant("x", Some("a")));
        assert!(!tab.crons[1].is_meant("other", None));
    }
}
