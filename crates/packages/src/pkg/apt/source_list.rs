//! All of apt's sources on this machine: reading the files, writing them back.

use std::path::PathBuf;

use halite_call::host::replace_file;
use halite_call::{Call, os_error, paths};

use super::sources::{Form, Line, Section, Source};
use crate::pkg::error::PkgError;

/// The file for entries that name no other.
pub(crate) const MAIN_FILE: &str = "/etc/apt/sources.list";

const PARTS: &str = "/etc/apt/sources.list.d/";

/// Written when the last entry is gone.
const EMPTY: &str = "## See sources.list(5) for more information, especialy\n\
                     # Remember that you can only use http, ftp or file URIs\n\
                     # CDROMs are managed through the apt-cdrom tool.\n";

/// The entries of all files, in the order of the files' names.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceList {
    pub(crate) list: Vec<Source>,
}

impl SourceList {
    /// Reads all files. One that cannot be read is left alone.
    pub(crate) fn load(call: &Call<'_>) -> Self {
        let host = call.host();
        let mut files = vec![MAIN_FILE.to_owned()];
        let mut parts: Vec<String> = std::fs::read_dir(host.path(PARTS))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".sources") || name.ends_with(".list"))
            .map(|name| format!("{PARTS}{name}"))
            .collect();
        parts.sort();
        files.extend(parts);
        let mut all = Self::default();
        for file in files {
            let Ok(text) = paths::read_to_string(host.path(&file)) else {
                continue;
            };
            match parse(&file, &text) {
                Ok(entries) => all.list.extend(entries),
                Err(error) => tracing::warn!(file, %error, "could not read apt's sources"),
            }
        }
        all
    }

    /// Writes every file that has entries.
    pub(crate) fn save(&self, call: &Call<'_>) -> Result<(), PkgError> {
        let host = call.host();
        if self.list.is_empty() {
            return write(&host.path(MAIN_FILE), EMPTY);
        }
        let mut files: Vec<(&str, String)> = Vec::new();
        for source in &self.list {
            let at = files.iter().position(|(file, _)| *file == source.file);
            let text = match at {
                Some(at) => {
                    let text = &mut files[at].1;
                    if matches!(source.form, Form::Section(_)) {
                        text.push('\n');
                    }
                    text
                }
                None => {
                    files.push((&source.file, String::new()));
                    let last = files.len() - 1;
                    &mut files[last].1
                }
            };
            text.push_str(&source.text());
            text.push('\n');
        }
        for (file, text) in files {
            write(&host.path(file), &text)?;
        }
        Ok(())
    }
}

fn write(path: &PathBuf, text: &str) -> Result<(), PkgError> {
    if paths::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    replace_file(path, text.as_bytes()).map_err(|error| PkgError::from(os_error(&error, path)))
}

fn parse(file: &str, text: &str) -> Result<Vec<Source>, PkgError> {
    let source = |form| Source {
        file: file.to_owned(),
        form,
    };
    if !file.ends_with(".sources") {
        return text
            .lines()
            .map(|line| Ok(source(Form::Line(Line::parse(line)?))))
            .collect();
    }
    let mut sections = vec![String::new()];
    for line in text.lines() {
        if line.trim().is_empty() {
            sections.push(String::new());
        } else if let Some(last) = sections.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    Ok(sections
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| source(Form::Section(Section::parse(text))))
        .collect())
}
