//! Entries of apt's sources: a line of a `.list` file, or a section of a
//! `.sources` file.
//!
//! Invariant: an entry that nobody changed is written back with the same
//! meaning, and a line that is no entry as it was.

use std::fmt;

use halite_modules::CallError;

const TYPES: &[&str] = &["deb", "deb-src", "rpm", "rpm-src"];

/// `yes` and `no` in all the ways that apt's sources may say them.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "no" | "false" | "without" | "off" | "disable" | "0" => Some(false),
        "yes" | "true" | "with" | "on" | "enable" | "1" => Some(true),
        _ => None,
    }
}

/// A line of `sources.list`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) invalid: bool,
    pub(crate) disabled: bool,
    pub(crate) kind: String,
    pub(crate) architectures: Vec<String>,
    pub(crate) signedby: String,
    pub(crate) trusted: Option<bool>,
    pub(crate) uri: String,
    pub(crate) dist: String,
    pub(crate) comps: Vec<String>,
    pub(crate) comment: String,
    /// The line as it was read.
    pub(crate) line: String,
}

/// One `key=value` between brackets.
struct Opt {
    key: String,
    value: String,
    full: String,
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    /// When it begins like an entry but lacks a part.
    pub(crate) fn parse(line: &str) -> Result<Self, CallError> {
        let mut entry = Self {
            line: line.to_owned(),
            ..Self::default()
        };
        let (words, invalid) = entry.words(line);
        entry.invalid = invalid;
        if invalid {
            return Ok(entry);
        }
        let mut words: Vec<String> = words;
        if words.get(1).is_some_and(|word| word.starts_with('[')) {
            let opts = options(line);
            for opt in &opts {
                match opt.key.as_str() {
                    "arch" => entry
                        .architectures
                        .extend(opt.value.split(',').map(str::to_owned)),
                    "signedby" => entry.signedby.clone_from(&opt.value),
                    "trusted" => entry.trusted = truth(&opt.value),
                    _ => {}
                }
            }
            words = words
                .iter()
                .map(|word| word.trim_matches(['[', ']']).to_owned())
                .filter(|word| !word.is_empty() && !opts.iter().any(|opt| opt.full == *word))
                .collect();
        }
        if words.len() < 3 {
            return Err(CallError::invocation(format!(
                "Invalid repository definition: {}",
                words.join(" ")
            )));
        }
        let mut words = words.into_iter();
        entry.kind = words.next().unwrap_or_default();
        entry.uri = words.next().unwrap_or_default();
        entry.dist = words.next().unwrap_or_default();
        entry.comps = words.collect();
        Ok(entry)
    }

    /// The words of a line, and whether it is no entry.
    fn words(&mut self, line: &str) -> (Vec<String>, bool) {
        let mut rest = line.trim();
        if rest.is_empty() {
            return (Vec::new(), true);
        }
        if let Some(after) = rest.strip_prefix('#') {
            self.disabled = true;
            rest = after;
        }
        if let Some(at) = rest.find('#').filter(|at| *at > 0) {
            rest[at + 1..].clone_into(&mut self.comment);
            rest = &rest[..at];
        }
        let words = split_words(rest);
        let kind = words.first().map_or("", String::as_str);
        let open = words.get(1).is_some_and(|word| word.starts_with('['));
        let closed = words.iter().skip(1).any(|word| word.ends_with(']'));
        let invalid = !TYPES.contains(&kind) || words.len() < 3 || (open && !closed);
        (words, invalid)
    }

    /// The entry as a line: options in the order in which they were, new ones
    /// behind them.
    pub(crate) fn text(&self) -> String {
        if self.invalid {
            return self.line.trim().to_owned();
        }
        let mut opts = options(&self.line);
        let mut set = |key: &str, full: String| match opts.iter_mut().find(|opt| opt.key == key) {
            Some(opt) => opt.full = full,
            None => opts.push(Opt {
                key: key.to_owned(),
                value: String::new(),
                full,
            }),
        };
        if !self.architectures.is_empty() {
            set("arch", format!("arch={}", self.architectures.join(",")));
        }
        if !self.signedby.is_empty() {
            set("signedby", format!("signed-by={}", self.signedby));
        }
        if self.trusted == Some(true) {
            set("trusted", "trusted=yes".to_owned());
        }
        if self.trusted != Some(true) {
            opts.retain(|opt| opt.key != "trusted" || opt.value != "no");
        }
        let mut words: Vec<String> = Vec::new();
        if self.disabled {
            words.push("#".to_owned());
        }
        words.push(self.kind.clone());
        let opts: Vec<String> = opts.into_iter().map(|opt| opt.full).collect();
        if !opts.is_empty() {
            words.push(format!("[{}]", opts.join(" ")));
        }
        words.push(self.uri.clone());
        words.push(self.dist.clone());
        words.push(self.comps.join(" "));
        if !self.comment.is_empty() {
            words.push(format!("#{}", self.comment));
        }
        words.join(" ").trim().to_owned()
    }
}

/// Words at white space; a `cdrom:[..]/` place stays in one piece.
fn split_words(text: &str) -> Vec<String> {
    let plain =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    if let Some(start) = text.find("cdrom:")
        && let Some(length) = text[start..].rfind('/')
    {
        let end = start + length + 1;
        let mut words = plain(&text[..start]);
        words.push(text[start..end].trim().to_owned());
        words.extend(plain(&text[end..]));
        return words;
    }
    plain(text)
}

/// The options between the first brackets that hold a `=`.
fn options(line: &str) -> Vec<Opt> {
    let Some(start) = line.find('[') else {
        return Vec::new();
    };
    let inside = &line[start + 1..];
    let Some(equals) = inside.find('=') else {
        return Vec::new();
    };
    let Some(end) = inside[equals..].find(']').map(|at| at + equals) else {
        return Vec::new();
    };
    let mut opts: Vec<Opt> = Vec::new();
    for word in inside[..end].split_whitespace() {
        let Some((name, value)) = word.split_once('=') else {
            continue;
        };
        let key = if name.starts_with("arch") {
            "arch"
        } else if name.starts_with("signed-by") {
            "signedby"
        } else {
            name
        };
        let opt = Opt {
            key: key.to_owned(),
            value: value.to_owned(),
            full: word.to_owned(),
        };
        match opts.iter_mut().find(|known| known.key == key) {
            Some(known) => *known = opt,
            None => opts.push(opt),
        }
    }
    opts
}

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

    fn finish(&mut self, tag: Option<(String, String)>) {
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

    fn words(&self, name: &str) -> Vec<String> {
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

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// A line.
    Line(Line),
    /// A section.
    Section(Section),
}

/// An entry and the file it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) file: String,
    pub(crate) form: Form,
}

impl Source {
    pub(crate) fn is_invalid(&self) -> bool {
        match &self.form {
            Form::Line(line) => line.invalid,
            Form::Section(section) => section.tags.is_empty() || section.words("Types").is_empty(),
        }
    }

    pub(crate) fn is_disabled(&self) -> bool {
        match &self.form {
            Form::Line(line) => line.disabled,
            Form::Section(section) => section.get("Enabled").and_then(truth) == Some(false),
        }
    }

    pub(crate) fn types(&self) -> Vec<String> {
        self.many("Types", |line| vec![line.kind.clone()])
    }

    pub(crate) fn uris(&self) -> Vec<String> {
        self.many("URIs", |line| vec![line.uri.clone()])
    }

    pub(crate) fn suites(&self) -> Vec<String> {
        self.many("Suites", |line| {
            Some(line.dist.clone())
                .filter(|dist| !dist.is_empty())
                .into_iter()
                .collect()
        })
    }

    pub(crate) fn comps(&self) -> Vec<String> {
        self.many("Components", |line| line.comps.clone())
    }

    pub(crate) fn architectures(&self) -> Vec<String> {
        self.many("Architectures", |line| line.architectures.clone())
    }

    fn many(&self, tag: &str, of_line: impl Fn(&Line) -> Vec<String>) -> Vec<String> {
        match &self.form {
            Form::Line(line) => of_line(line),
            Form::Section(section) => section.words(tag),
        }
    }

    /// The key; nothing for a section without one.
    pub(crate) fn signedby(&self) -> Option<String> {
        match &self.form {
            Form::Line(line) => Some(line.signedby.clone()),
            Form::Section(section) => section.get("Signed-By").map(str::to_owned),
        }
    }

    pub(crate) fn trusted(&self) -> Option<bool> {
        match &self.form {
            Form::Line(line) => line.trusted,
            Form::Section(section) => section.get("Trusted").and_then(truth),
        }
    }

    /// Sets one of the many-valued fields.
    pub(crate) fn set_many(&mut self, tag: &str, values: &[String]) {
        let first = values.first().cloned().unwrap_or_default();
        match &mut self.form {
            Form::Section(section) => section.set(tag, &values.join(" ")),
            Form::Line(line) => match tag {
                "URIs" => line.uri = first,
                "Suites" => line.dist = first,
                "Components" => line.comps = values.to_vec(),
                "Architectures" => line.architectures = values.to_vec(),
                _ => line.kind = first,
            },
        }
    }

    pub(crate) fn set_disabled(&mut self, disabled: bool) {
        match &mut self.form {
            Form::Line(line) => line.disabled = disabled,
            Form::Section(section) if disabled => section.set("Enabled", "no"),
            Form::Section(section) => section.unset("Enabled"),
        }
    }

    pub(crate) fn set_signedby(&mut self, key: &str) {
        match &mut self.form {
            Form::Line(line) => key.clone_into(&mut line.signedby),
            Form::Section(section) => section.set("Signed-By", key),
        }
    }

    pub(crate) fn set_trusted(&mut self, trusted: bool) {
        match &mut self.form {
            Form::Line(line) => line.trusted = Some(trusted),
            Form::Section(section) => {
                section.set("Trusted", if trusted { "yes" } else { "no" });
            }
        }
    }

    pub(crate) fn set_comment(&mut self, comment: &str) {
        match &mut self.form {
            Form::Line(line) => comment.clone_into(&mut line.comment),
            Form::Section(section) => {
                let marked = |line: &str| {
                    if line.starts_with('#') {
                        line.to_owned()
                    } else {
                        format!("#{line}")
                    }
                };
                section.header = comment.lines().map(marked).collect();
            }
        }
    }

    /// The entry as it stands in its file.
    pub(crate) fn text(&self) -> String {
        match &self.form {
            Form::Line(line) => line.text(),
            Form::Section(section) => section.to_string().trim().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line::parse(text).unwrap()
    }

    #[test]
    fn lines_are_taken_apart_and_put_together() {
        let entry = line(
            "deb [arch=amd64,arm64 signed-by=/k.gpg] http://h/debian bookworm main contrib # note",
        );
        assert_eq!(entry.architectures, ["amd64", "arm64"]);
        assert_eq!(entry.signedby, "/k.gpg");
        assert_eq!(
            (entry.uri.as_str(), entry.dist.as_str()),
            ("http://h/debian", "bookworm")
        );
        assert_eq!(entry.comps, ["main", "contrib"]);
        assert_eq!(
            entry.text(),
            "deb [arch=amd64,arm64 signed-by=/k.gpg] http://h/debian bookworm main contrib # note"
        );
        let off = line("#deb http://h/ x main");
        assert!(off.disabled && !off.invalid);
        assert_eq!(off.text(), "# deb http://h/ x main");
        assert_eq!(line("deb http://h/ ./").text(), "deb http://h/ ./");
        assert_eq!(
            line("deb [ arch=amd64 ] http://h/ x main").text(),
            "deb [arch=amd64] http://h/ x main"
        );
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        for text in [
            "",
            "# a note",
            "deb http://h/",
            "nonsense [",
            "deb [a=b http://h x",
        ] {
            let entry = line(text);
            assert!(entry.invalid, "{text}");
            assert_eq!(entry.text(), text.trim());
        }
        assert!(Line::parse("deb [a=b] http://h/").is_err());
    }

    #[test]
    fn sections_are_taken_apart_and_put_together() {
        let text = "# ours\nTypes: deb deb-src\nURIs: http://h/\nSuites: a b\nComponents: main\nSigned-By:\n -----BEGIN\n .\n end\n";
        let section = Section::parse(text);
        assert_eq!(section.get("suites"), Some("a b"));
        let source = Source {
            file: "x.sources".to_owned(),
            form: Form::Section(section),
        };
        assert_eq!(source.types(), ["deb", "deb-src"]);
        assert_eq!(source.suites(), ["a", "b"]);
        assert!(
            source
                .text()
                .starts_with("# ours\nTypes: deb deb-src\nURIs: http://h/\n")
        );
        assert!(!source.is_disabled() && !source.is_invalid());
    }
}
