//! Checksums of sources: given as such, as `type=hash`, or in a file of many.

use std::fs;
use std::path::Path;

use halite_call::{Call, CallError};
use halite_proto::{Map, Value};

use super::{Scheme, fetch, scheme, url_name};
use crate::core::open;
use crate::core::{hash, path, text};
use crate::limits::SUMS_BYTES_MAX;
use halite_call::os_error;

/// A hash and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    /// `sha256`.
    pub(crate) hash_type: String,
    /// The hash in hexadecimal.
    pub(crate) hsum: String,
}

impl Sum {
    /// As functions return it.
    pub(crate) fn to_value(&self) -> Value {
        Map::from([("hsum", self.hsum.as_str()), ("hash_type", &self.hash_type)]).into()
    }

    /// From what functions return.
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            hash_type: text("hash_type")?,
            hsum: text("hsum")?,
        })
    }
}

/// What hash files are asked with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Names<'a> {
    /// The file that is managed.
    pub(crate) file_name: &'a str,
    /// Where it comes from.
    pub(crate) source: &'a str,
    /// The name that the hash file has for it.
    pub(crate) source_hash_name: Option<&'a str>,
}

/// The hash of a source from its `source_hash`.
///
/// # Errors
/// When it is no hash, of no known type, or the hash file is not to be had.
pub(crate) fn of_source(
    call: &Call<'_>,
    names: Names<'_>,
    source_hash: &str,
    saltenv: &str,
) -> Result<Sum, CallError> {
    let kind = scheme(source_hash);
    if kind != Scheme::Other {
        let file = if source_hash.starts_with('/') {
            source_hash.into()
        } else {
            let wanted = fetch::FetchRequest::fresh(source_hash, saltenv);
            fetch::cache(call, &wanted)?.ok_or_else(|| {
                CallError::command(format!("Source hash file {source_hash} not found"))
            })?
        };
        return extract(&file, "", names)?.ok_or_else(|| {
            // A path by itself might have been meant as a hash.
            if source_hash.starts_with('/') {
                return invalid(source_hash);
            }
            CallError::command(format!(
                "Source hash file {source_hash} contains an invalid hash format, it must be in the \
                 format <hash type>=<hash>."
            ))
        });
    }
    let Some((hash_type, hsum)) = source_hash.split_once('=') else {
        let hsum = source_hash.trim();
        return match hash::type_of_length(hsum.len()).filter(|_| hash::is_hex(hsum)) {
            Some(hash_type) => Ok(Sum {
                hash_type: hash_type.to_owned(),
                hsum: hsum.to_lowercase(),
            }),
            None => Err(invalid(source_hash)),
        };
    };
    let (hash_type, hsum) = (hash_type.trim().to_lowercase(), hsum.trim());
    let Some(length) = hash::length_of(&hash_type) else {
        let known: Vec<&str> = hash::LENGTHS.iter().rev().map(|(name, _)| *name).collect();
        return Err(CallError::command(format!(
            "Invalid hash type '{hash_type}'. Supported hash types are: {}. Either remove the hash \
             type and simply use '{hsum}' as the source_hash, or change the hash type to a \
             supported type.",
            known.join(", ")
        )));
    };
    if hsum.len() != length || !hash::is_hex(hsum) {
        return Err(invalid(source_hash));
    }
    Ok(Sum {
        hash_type,
        hsum: hsum.to_lowercase(),
    })
}

fn invalid(source_hash: &str) -> CallError {
    CallError::command(format!(
        "Source hash {source_hash} format is invalid. The supported formats are: 1) a hash, 2) an \
         expression in the format <hash_type>=<hash>, or 3) either a path to a local file \
         containing hashes, or a URI of a remote hash file. Supported protocols for remote hash \
         files are: salt, file, http, https, ftp, swift, s3. The hash may also not be of a valid \
         length, the following are supported hash types and lengths: {}.",
        hash::lengths_text()
    ))
}

/// Looks for a hash in a file of hashes: the one beside the name asked for,
/// else the one beside the file's own name, beside the source's, else the
/// first.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn extract(
    file: &Path,
    hash_type: &str,
    names: Names<'_>,
) -> Result<Option<Sum>, CallError> {
    let wrong = |error: std::io::Error| os_error(&error, file);
    if fs::metadata(file).map_err(wrong)?.len() > SUMS_BYTES_MAX {
        return Err(CallError::command(format!(
            "{} has more than {SUMS_BYTES_MAX} bytes",
            file.display()
        )));
    }
    let content = text::decode(&open::read(file).map_err(wrong)?);
    let wanted = [
        names.source_hash_name.unwrap_or_default(),
        path::basename(names.file_name),
        url_name(names.source),
    ];
    let mut found: [Option<Sum>; 4] = [None, None, None, None];
    for line in content.lines() {
        let Some(sum) = hash_in(line, hash_type) else {
            continue;
        };
        let rank = wanted
            .iter()
            .position(|name| !name.is_empty() && names_file(line, name));
        let place = &mut found[rank.unwrap_or(3)];
        place.get_or_insert(sum);
    }
    let found = found.into_iter().flatten().next();
    Ok(found)
}

/// The first hash in a line, of `hash_type` or of any.
fn hash_in(line: &str, hash_type: &str) -> Option<Sum> {
    line.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| hash::is_hex(word))
        .find_map(|word| {
            let own = hash::type_of_length(word.len())?;
            (hash_type.is_empty() || own == hash_type).then(|| Sum {
                hash_type: own.to_owned(),
                hsum: word.to_lowercase(),
            })
        })
}

/// Whether a line speaks of a file: its name stands there by itself.
fn names_file(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        let starts = before.is_none_or(|c| c.is_whitespace() || "*(/\\=".contains(c));
        let ends = after.is_none_or(|c| c.is_whitespace() || ")=".contains(c));
        starts && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "b1946ac92492d2347c6235b4d2611184";
    const B: &str = "00000000000000000000000000000000";

    fn found(content: &str, names: Names<'_>) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sums");
        fs::write(&file, content).unwrap();
        extract(&file, "", names).unwrap().map(|sum| sum.hsum)
    }

    #[test]
    fn hashes_are_found_in_every_notation() {
        let names = Names {
            file_name: "/x/other",
            source: "http://h/f",
            source_hash_name: None,
        };
        for line in [
            format!("{A}  f"),
            format!("{A} *dir/f"),
            format!("MD5 (f) = {A}"),
            format!(" {A} 1234 f"),
            A.to_owned(),
        ] {
            assert_eq!(found(&line, names).as_deref(), Some(A), "{line}");
        }
        let two = format!("{A}  f\n{B}  other\n");
        assert_eq!(found(&two, names).as_deref(), Some(B));
        let named = Names {
            source_hash_name: Some("f"),
            ..names
        };
        assert_eq!(found(&two, named).as_deref(), Some(A));
        assert_eq!(found("nothing here", names), None);
    }
}
