//! The text of `/etc/hosts`: its entries, and its new text after a change.
//!
//! Invariant: texts come in and go out, so that a state of several changes replaces
//! the file once.

/// A line of `/etc/hosts`, or all lines of one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A comment.
    Comment(String),
    /// An address.
    Host {
        ip: String,
        aliases: Vec<String>,
        comment: Option<String>,
    },
}

/// All entries; lines of one address together.
pub(crate) fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            continue;
        }
        if line.starts_with('#') {
            entries.push(Entry::Comment(line.to_owned()));
            continue;
        }
        let (names, note) = match line.split_once('#') {
            Some((names, note)) => (names, Some(note.trim_start().to_owned())),
            None => (line, None),
        };
        let mut words = names.split_whitespace().map(str::to_owned);
        let own = words.next().unwrap_or_default();
        let known = entries.iter_mut().find_map(|entry| match entry {
            Entry::Host {
                ip,
                aliases,
                comment,
            } if *ip == own => Some((aliases, comment)),
            _ => None,
        });
        match known {
            Some((aliases, comment)) => {
                aliases.extend(words);
                if note.is_some() {
                    *comment = note;
                }
            }
            None => entries.push(Entry::Host {
                ip: own,
                aliases: words.collect(),
                comment: note,
            }),
        }
    }
    entries
}

fn written(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        match entry {
            Entry::Comment(line) => text.push_str(line),
            Entry::Host {
                ip,
                aliases,
                comment,
            } => {
                let mut line = format!("{ip}\t\t{}", aliases.join(" "));
                if let Some(comment) = comment {
                    line.push_str(&format!("\t\t# {comment}"));
                }
                text.push_str(line.trim());
            }
        }
        text.push('\n');
    }
    text
}

/// The names and the comment of an address.
pub(crate) fn find(entries: &[Entry], wanted: &str) -> Option<(Vec<String>, Option<String>)> {
    entries.iter().find_map(|entry| match entry {
        Entry::Host {
            ip,
            aliases,
            comment,
        } if ip == wanted => Some((aliases.clone(), comment.clone())),
        _ => None,
    })
}

/// With one more name of an address.
pub(crate) fn add(text: &str, ip: &str, alias: &str) -> String {
    let mut entries = entries(text);
    let known = entries.iter_mut().find_map(|entry| match entry {
        Entry::Host {
            ip: own, aliases, ..
        } if own == ip => Some(aliases),
        _ => None,
    });
    match known {
        Some(aliases) if aliases.iter().any(|known| known == alias) => return text.to_owned(),
        Some(aliases) => aliases.push(alias.to_owned()),
        None => entries.push(Entry::Host {
            ip: ip.to_owned(),
            aliases: vec![alias.to_owned()],
            comment: None,
        }),
    }
    written(&entries)
}

/// With this comment of an address; nothing if it is not there.
pub(crate) fn comment_on(text: &str, ip: &str, note: &str) -> Option<String> {
    let mut entries = entries(text);
    let comment = entries.iter_mut().find_map(|entry| match entry {
        Entry::Host {
            ip: own, comment, ..
        } if own == ip => Some(comment),
        _ => None,
    })?;
    if comment.as_deref() == Some(note) {
        return Some(text.to_owned());
    }
    *comment = Some(note.to_owned());
    Some(written(&entries))
}

/// Without a name of an address; other lines stay as they are.
pub(crate) fn remove(text: &str, ip: &str, alias: &str) -> String {
    let (names, _) = find(&entries(text), ip).unwrap_or_default();
    if !names.iter().any(|name| name == alias) {
        return text.to_owned();
    }
    let mut left = String::new();
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let (names, note) = trimmed.split_once('#').unwrap_or((trimmed, ""));
        let mut words = names.split_whitespace();
        if trimmed.starts_with('#') || words.next() != Some(ip) {
            left.push_str(line);
            continue;
        }
        let others: Vec<&str> = words.filter(|name| *name != alias).collect();
        if !others.is_empty() {
            let names: String = others.iter().map(|name| format!("{name} ")).collect();
            left.push_str(&format!("{ip}\t\t{names}"));
            if !note.trim().is_empty() {
                left.push_str(&format!("# {}", note.trim_start()));
            }
            left.push('\n');
        }
    }
    left
}

/// With these names of an address, and no others.
pub(crate) fn set(text: &str, ip: &str, alias: &str, comment: Option<&str>) -> String {
    let note = comment
        .map(|comment| format!("\t\t# {comment}"))
        .unwrap_or_default();
    let new = if alias.trim().is_empty() {
        String::new()
    } else {
        format!("{ip}\t\t{alias}{note}\n")
    };
    let mut changed = String::new();
    let mut done = false;
    for line in text.lines() {
        let own = line.split_whitespace().next();
        if own != Some(ip) {
            changed.push_str(line);
            changed.push('\n');
        } else if !done {
            changed.push_str(&new);
            done = true;
        }
    }
    if !done {
        changed.push_str(&new);
    }
    changed
}
