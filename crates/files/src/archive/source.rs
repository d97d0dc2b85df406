//! The archive to extract: which one, of which kind, as a file of this machine.

use std::path::{Path, PathBuf};

use halite_call::addresses::redacted;
use halite_call::{Call, CallError, python, run_state_function};
use halite_proto::{Map, Value};

use super::format::Format;
use crate::sources::sums::{self, Names, Sum};
use crate::sources::{Scheme, fetch, list, local_path, scheme};

/// Where an archive comes from.
pub(super) struct Source {
    pub(super) url: String,
    /// Its hash, or where that is listed, as it is given.
    hash: Option<String>,
    saltenv: String,
    pub(super) is_local: bool,
    pub(super) format: Format,
}

/// What has come of bringing an archive to this machine.
pub(super) enum Fetched {
    File(PathBuf),
    Failed(String),
    /// The whole answer of `file.cached`, which failed or is in test mode.
    Answer(Value),
}

impl Source {
    /// The first source of the state that is there, or why there is none.
    pub(super) fn choose(call: &Call<'_>) -> Result<Self, String> {
        if !call.flag("source") {
            return Err("Invalid source \"\"".to_owned());
        }
        let saltenv = fetch::state_env(call, call.kwargs());
        let (source, hash) = (call.arg("source"), call.arg("source_hash"));
        let chosen =
            list::choose(call, source, hash, &saltenv).map_err(|error| error.to_string())?;
        let url = python::str(&chosen.source);
        let is_local = matches!(scheme(&url), Scheme::Local | Scheme::Other);
        if is_local && !Path::new(local_path(&url)).is_file() {
            return Err(format!("Source file '{}' does not exist", local_path(&url)));
        }
        Ok(Self {
            format: format_of(call, &url)?,
            url,
            hash: chosen.hash.is_true().then(|| python::str(&chosen.hash)),
            saltenv,
            is_local,
        })
    }

    /// The checksum that the archive for `name` must have, if one is asked for.
    ///
    /// # Errors
    /// When the hash is not valid, or not found where it is said to be.
    pub(super) fn checksum(&self, call: &Call<'_>, name: &str) -> Result<Option<Sum>, CallError> {
        let hash = self.hash.as_deref();
        let Some(hash) = hash.filter(|_| !call.flag("skip_verify")) else {
            return Ok(None);
        };
        let hash_name = call.text_opt("source_hash_name");
        let names = Names {
            file_name: name,
            source: &self.url,
            source_hash_name: hash_name.as_deref(),
        };
        sums::of_source(call, names, hash, &self.saltenv).map(Some)
    }

    /// Brings the archive to this machine and checks it against `sum`.
    ///
    /// # Errors
    /// When `file.cached` cannot be called.
    pub(super) fn fetch(&self, call: &Call<'_>, sum: Option<&Sum>) -> Result<Fetched, CallError> {
        if self.is_local {
            return Ok(self.checked(sum));
        }
        let mut kwargs = Map::from([
            ("name", Value::from(self.url.as_str())),
            ("saltenv", self.saltenv.as_str().into()),
            ("skip_verify", call.arg("skip_verify").clone()),
            ("use_etag", call.arg("use_etag").clone()),
            ("source_hash_name", call.arg("source_hash_name").clone()),
        ]);
        if let Some(hash) = &self.hash {
            kwargs.insert("source_hash", hash.as_str());
        }
        let result = run_state_function(call.ctx, "file.cached", Vec::new(), kwargs, call.job)?;
        if result.get("result") != Some(&Value::Bool(true)) {
            return Ok(match result {
                Value::Str(comment) => Fetched::Failed(comment),
                result => Fetched::Answer(result),
            });
        }
        Ok(match fetch::cached_at(call, &self.url, &self.saltenv) {
            Some(archive) => Fetched::File(archive),
            None => Fetched::Failed(format!("Failed to cache {}", redacted(&self.url))),
        })
    }

    /// The archive where it lies on this machine.
    fn checked(&self, sum: Option<&Sum>) -> Fetched {
        let archive = PathBuf::from(local_path(&self.url));
        match sum {
            Some(sum) if fetch::local_sum(&archive, &sum.hash_type).as_ref() != Some(&sum.hsum) => {
                Fetched::Failed(format!(
                    "{} does not match the desired source_hash {}",
                    self.url, sum.hsum
                ))
            }
            _ => Fetched::File(archive),
        }
    }
}

fn format_of(call: &Call<'_>, source: &str) -> Result<Format, String> {
    match call.text_opt("archive_format") {
        Some(name) => Format::parse(&name.to_lowercase()).ok_or_else(|| {
            format!(
                "Invalid archive_format '{name}'. Either set it to a supported value (tar, rar, \
                 zip) or remove this argument and the archive format will be guessed based on file \
                 extension."
            )
        }),
        None => Format::guess(source).ok_or_else(|| {
            "Could not guess archive_format from the value of the 'source' argument. Please set \
             this archive_format to one of the following: tar, rar, zip"
                .to_owned()
        }),
    }
}
