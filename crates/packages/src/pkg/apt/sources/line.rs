//! Entries in one line.
use halite_call::CallError;

use super::truth;

pub(super) const TYPES: &[&str] = &["deb", "deb-src", "rpm", "rpm-src"];

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
pub(super) struct Opt {
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
    pub(super) fn words(&mut self, line: &str) -> (Vec<String>, bool) {
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
pub(super) fn split_words(text: &str) -> Vec<String> {
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
pub(super) fn options(line: &str) -> Vec<Opt> {
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
