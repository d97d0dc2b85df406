//! `.repo` files, in which dnf and zypper keep repositories.

use halite_call::{Call, python};
use halite_proto::{Map, Value};

/// The names of the `.repo` files in a directory, sorted.
pub(crate) fn names_in(call: &Call<'_>, directory: &str) -> Vec<String> {
    let mut files: Vec<String> = std::fs::read_dir(call.host().path(directory))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".repo"))
        .collect();
    files.sort();
    files
}

/// The text before the first section, and the sections.
pub(crate) fn parse(text: &str) -> (String, Map) {
    let mut header = String::new();
    let mut repos = Map::new();
    let mut repo: Option<(String, Map)> = None;
    let mut last_key = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            if let Some((name, fields)) = repo.take() {
                repos.insert(name, fields);
            }
            repo = Some((name.to_owned(), Map::new()));
            continue;
        }
        let Some((_, fields)) = &mut repo else {
            header.push_str(line);
            header.push('\n');
            continue;
        };
        if trimmed.is_empty() {
            continue;
        }
        if let Some(comment) = trimmed.strip_prefix('#') {
            let comments =
                fields.get_or_insert_with(Value::from("comments"), || Value::List(Vec::new()));
            if let Value::List(comments) = comments {
                comments.push(comment.trim().into());
            }
        } else if line.starts_with(char::is_whitespace) && !last_key.is_empty() {
            if let Some(Value::Str(value)) = fields.get_mut(&last_key) {
                value.push('\n');
                value.push_str(trimmed);
            }
        } else if let Some((key, value)) = trimmed.split_once('=') {
            key.trim().clone_into(&mut last_key);
            fields.insert(last_key.as_str(), value.trim());
        }
    }
    if let Some((name, fields)) = repo {
        repos.insert(name, fields);
    }
    (header, repos)
}

pub(crate) fn write(header: &str, repos: &Map) -> String {
    let mut text = header.to_owned();
    for (name, fields) in repos {
        text.push_str(&format!("[{}]\n", python::str(name)));
        let mut comments = String::new();
        for (key, value) in fields.as_map().into_iter().flatten() {
            match (key.as_str(), value) {
                (Some("comments"), value) => comments = comments_text(value),
                (_, Value::Bool(bool)) => {
                    text.push_str(&format!("{}={}\n", python::str(key), u8::from(*bool)));
                }
                (_, value) => {
                    let value = python::str(value).replace('\n', "\n ");
                    text.push_str(&format!("{}={value}\n", python::str(key)));
                }
            }
        }
        text.push_str(&comments);
        text.push('\n');
    }
    text
}

/// Comments as lines of a `.repo` file.
pub(crate) fn comments_text(comments: &Value) -> String {
    let lines = match comments {
        Value::List(items) => items.iter().map(python::str).collect(),
        Value::Nil => Vec::new(),
        other => vec![python::str(other)],
    };
    lines
        .iter()
        .map(|line| format!("# {}\n", line.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_written_back() {
        let text = "# top\n[a]\nname=A\nbaseurl=http://a/\n http://b/\nenabled=1\n# note\n\n[b]\nname=B\n\n";
        let (header, repos) = parse(text);
        assert_eq!(header, "# top\n");
        let a = repos.get("a").unwrap();
        assert_eq!(
            a.get("baseurl").unwrap().as_str(),
            Some("http://a/\nhttp://b/")
        );
        assert_eq!(write(&header, &repos), text);
    }
}
