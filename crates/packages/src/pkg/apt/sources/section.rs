//! Entries of `.sources` files.
use std::fmt;

/// A section of a `.sources` file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) header: Vec<String>,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) footer: Vec<String>,
}

impl Section {
    /// Reads a section.
    pub(crate) fn parse(text: &str) -> Self {
        let mut section = Self::default();
        let mut tag: Option<(String, String)> = None;
        let mut seen = false;
        for line in text.lines() {
            if line.starts_with('#') {
                if seen {
                    section.footer.push(line.to_owned());
                } else {
                    section.header.push(line.to_owned());
                }
                continue;
            }
            seen = true;
            let starts = line
                .split_once(':')
                .filter(|(name, _)| !name.is_empty() && !name.contains(char::is_whitespace));
            match starts {
                Some((name, value)) => {
                    section.finish(tag.take());
                    tag = Some((name.to_owned(), value.trim_start().to_owned()));
                }
                None => {
                    if let Some((_, value)) = &mut tag {
                        value.push('\n');
                        value.push_str(line);
                    }
                }
            }
        }
        section.finish(tag);
        section
    }

    pub(super) fn finish(&mut self, tag: Option<(String, String)>) {
        if let Some((name, value)) = tag {
            self.set(&name, value.trim());
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.tags
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        match self
            .tags
            .iter_mut()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            Some((_, old)) => value.clone_into(old),
            None => self.tags.push((name.to_owned(), value.to_owned())),
        }
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.tags
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    pub(super) fn words(&self, name: &str) -> Vec<String> {
        let text = self.get(name).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.header {
            writeln!(f, "{line}")?;
        }
        for (name, value) in &self.tags {
            if !value.is_empty() {
                writeln!(f, "{name}: {value}")?;
            }
        }
        for line in &self.footer {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}
