//! The names of hosts: the execution module `hosts`.

use halite_modules::host::replace_file;
use halite_modules::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "hosts",
    functions: &[
        Function::new(
            "hosts.add_host",
            "(ip, alias)",
            add_host,
            "Adds a name of an address.",
        ),
        Function::new(
            "hosts.get_alias",
            "(ip)",
            get_alias,
            "The names of an address.",
        ),
        Function::new("hosts.get_ip", "(host)", get_ip, "The address of a name."),
        Function::new(
            "hosts.has_pair",
            "(ip, alias)",
            has_pair,
            "Whether an address has a name.",
        ),
        Function::new(
            "hosts.list_hosts",
            "()",
            list_hosts,
            "All addresses with their names.",
        ),
        Function::new(
            "hosts.rm_host",
            "(ip, alias)",
            rm_host,
            "Removes a name of an address.",
        ),
        Function::new(
            "hosts.set_comment",
            "(ip, comment)",
            set_comment,
            "Sets the comment of an address.",
        ),
        Function::new(
            "hosts.set_host",
            "(ip, alias, comment=None)",
            set_host,
            "Gives an address these names and no others.",
        ),
    ],
};

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

fn file(call: &Call<'_>) -> String {
    call.opt_text("hosts.file")
        .unwrap_or_else(|| "/etc/hosts".to_owned())
}

/// All entries; lines of one address together.
pub(crate) fn read(call: &Call<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in call.host().read(file(call)).lines().map(str::trim) {
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

fn write(call: &Call<'_>, entries: &[Entry]) -> Result<(), CallError> {
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
    save(call, &text)
}

fn save(call: &Call<'_>, text: &str) -> Result<(), CallError> {
    let file = file(call);
    replace_file(&call.host().path(&file), text.as_bytes())
        .map_err(|error| CallError::command(format!("{file}: {error}")))
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

pub(crate) fn has(call: &Call<'_>, ip: &str, alias: &str) -> bool {
    find(&read(call), ip).is_some_and(|(aliases, _)| aliases.iter().any(|known| known == alias))
}

pub(crate) fn add(call: &Call<'_>, ip: &str, alias: &str) -> Result<(), CallError> {
    let mut entries = read(call);
    let known = entries.iter_mut().find_map(|entry| match entry {
        Entry::Host {
            ip: own, aliases, ..
        } if own == ip => Some(aliases),
        _ => None,
    });
    match known {
        Some(aliases) if aliases.iter().any(|known| known == alias) => return Ok(()),
        Some(aliases) => aliases.push(alias.to_owned()),
        None => entries.push(Entry::Host {
            ip: ip.to_owned(),
            aliases: vec![alias.to_owned()],
            comment: None,
        }),
    }
    write(call, &entries)
}

/// Sets the comment of an address; whether it is there.
pub(crate) fn comment_on(call: &Call<'_>, ip: &str, text: &str) -> Result<bool, CallError> {
    let mut entries = read(call);
    for entry in &mut entries {
        if let Entry::Host {
            ip: own, comment, ..
        } = entry
            && own == ip
        {
            if comment.as_deref() != Some(text) {
                *comment = Some(text.to_owned());
                write(call, &entries)?;
            }
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes a name; other lines stay as they are.
pub(crate) fn remove(call: &Call<'_>, ip: &str, alias: &str) -> Result<(), CallError> {
    if !has(call, ip, alias) {
        return Ok(());
    }
    let mut text = String::new();
    for line in call.host().read(file(call)).split_inclusive('\n') {
        let trimmed = line.trim();
        let (names, note) = trimmed.split_once('#').unwrap_or((trimmed, ""));
        let mut words = names.split_whitespace();
        if trimmed.starts_with('#') || words.next() != Some(ip) {
            text.push_str(line);
            continue;
        }
        let left: Vec<&str> = words.filter(|name| *name != alias).collect();
        if !left.is_empty() {
            let names: String = left.iter().map(|name| format!("{name} ")).collect();
            text.push_str(&format!("{ip}\t\t{names}"));
            if !note.trim().is_empty() {
                text.push_str(&format!("# {}", note.trim_start()));
            }
            text.push('\n');
        }
    }
    save(call, &text)
}

/// Gives an address these names.
pub(crate) fn set(
    call: &Call<'_>,
    ip: &str,
    alias: &str,
    comment: Option<&str>,
) -> Result<(), CallError> {
    let note = comment
        .map(|comment| format!("\t\t# {comment}"))
        .unwrap_or_default();
    let new = if alias.trim().is_empty() {
        String::new()
    } else {
        format!("{ip}\t\t{alias}{note}\n")
    };
    let mut text = String::new();
    let mut done = false;
    for line in call.host().read(file(call)).lines() {
        let own = line.split_whitespace().next();
        if own != Some(ip) {
            text.push_str(line);
            text.push('\n');
        } else if !done {
            text.push_str(&new);
            done = true;
        }
    }
    if !done {
        text.push_str(&new);
    }
    save(call, &text)
}

fn list_hosts(call: &Call<'_>) -> CallResult {
    let mut all = Map::new();
    let mut count = 0;
    for entry in read(call) {
        match entry {
            Entry::Comment(line) => {
                all.insert(format!("comment-{count}"), Value::List(vec![line.into()]));
                count += 1;
            }
            Entry::Host {
                ip,
                aliases,
                comment,
            } => {
                let aliases = aliases.into_iter().map(Value::from).collect();
                let mut host = Map::from([("aliases", Value::List(aliases))]);
                if let Some(comment) = comment {
                    host.insert("comment", comment);
                }
                all.insert(ip, host);
            }
        }
    }
    Ok(all.into())
}

fn get_ip(call: &Call<'_>) -> CallResult {
    let wanted = call.text("host");
    let found = read(call).into_iter().find_map(|entry| match entry {
        Entry::Host { ip, aliases, .. } if aliases.contains(&wanted) => Some(ip),
        _ => None,
    });
    Ok(found.unwrap_or_default().into())
}

fn get_alias(call: &Call<'_>) -> CallResult {
    let (aliases, _) = find(&read(call), &call.text("ip")).unwrap_or_default();
    Ok(Value::List(aliases.into_iter().map(Value::from).collect()))
}

fn has_pair(call: &Call<'_>) -> CallResult {
    let ip = call.text("ip");
    let names = match call.arg("alias") {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => vec![python::str(other)],
    };
    Ok(names.iter().all(|name| has(call, &ip, name)).into())
}

fn add_host(call: &Call<'_>) -> CallResult {
    add(call, &call.text("ip"), &call.text("alias"))?;
    Ok(true.into())
}

fn rm_host(call: &Call<'_>) -> CallResult {
    remove(call, &call.text("ip"), &call.text("alias"))?;
    Ok(true.into())
}

fn set_comment(call: &Call<'_>) -> CallResult {
    Ok(comment_on(call, &call.text("ip"), &call.text("comment"))?.into())
}

fn set_host(call: &Call<'_>) -> CallResult {
    let comment = call.text_opt("comment");
    set(
        call,
        &call.text("ip"),
        &call.text("alias"),
        comment.as_deref(),
    )?;
    Ok(true.into())
}
