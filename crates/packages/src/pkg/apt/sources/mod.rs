//! Entries of apt's sources: a line of a `.list` file, or a section of a
//! `.sources` file.
//!
//! Invariant: an entry that nobody changed is written back with the same
//! meaning, and a line that is no entry as it was.

mod line;
mod section;
pub(crate) use line::Line;
pub(crate) use section::Section;

/// `yes` and `no` in all the ways that apt's sources may say them.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "no" | "false" | "without" | "off" | "disable" | "0" => Some(false),
        "yes" | "true" | "with" | "on" | "enable" | "1" => Some(true),
        _ => None,
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
