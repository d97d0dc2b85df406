//! The answers to minions' file requests, in the shapes that Salt gives them,
//! also where nothing is found (`docs/protocol.md`, "Files").
//!
//! An error is the exception of a real master: the caller answers with an
//! empty text.

use std::io::ErrorKind;

use halite_proto::request::{ChunkBeyond, FileChunk, FileList, FilePath, HeldFile, ServeFile};
use halite_proto::{Map, Value};

use crate::list::below;
use crate::{FileHash, Found, ReadError, Roots, Stat};

/// The name of this backend.
const BACKEND: &str = "roots";

impl Roots {
    /// `_file_envs`.
    pub fn answer_envs(&self) -> Value {
        texts(self.envs())
    }

    /// Whether files that a minion holds are those that are here, in their
    /// order.
    pub fn answer_held(&self, files: &[Option<HeldFile>]) -> Value {
        let is_held = |file: &HeldFile| {
            let found = self.find(&file.path, &file.saltenv)?;
            let hash = self.hash_found(&found).ok()?;
            Some(hash.hash_type.name() == file.hash_type && hash.hsum == file.hsum)
        };
        let held = files
            .iter()
            .map(|file| file.as_ref().and_then(is_held).unwrap_or_default());
        Value::List(held.map(Value::from).collect())
    }

    /// `_file_find`.
    pub fn answer_find(&self, file: &FilePath) -> Value {
        let Some(found) = self.find_file(file) else {
            return Map::from([("path", ""), ("rel", "")]).into();
        };
        Map::from([
            ("path", Value::from(&*found.path.to_string_lossy())),
            ("rel", found.rel.into()),
            ("stat", found.stat.into()),
            ("back", BACKEND.into()),
        ])
        .into()
    }

    /// `_file_hash`.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn answer_hash(&self, file: &FilePath) -> Result<Value, ReadError> {
        match self.find_file(file) {
            Some(found) => self.hash_value(&found),
            None => Ok("".into()),
        }
    }

    /// `_file_hash_and_stat`.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn answer_hash_and_stat(&self, file: &FilePath) -> Result<Value, ReadError> {
        let answer = match self.find_file(file) {
            Some(found) => vec![self.hash_value(&found)?, found.stat.into()],
            None => vec!["".into(), Value::Nil],
        };
        Ok(answer.into())
    }

    /// `_file_list`.
    pub fn answer_files(&self, list: &FileList) -> Value {
        self.answer_list(list, |lists| &lists.files)
    }

    /// `_file_list_emptydirs`.
    pub fn answer_empty_dirs(&self, list: &FileList) -> Value {
        self.answer_list(list, |lists| &lists.empty_dirs)
    }

    /// `_dir_list`.
    pub fn answer_dirs(&self, list: &FileList) -> Value {
        self.answer_list(list, |lists| &lists.dirs)
    }

    /// `_symlink_list`.
    pub fn answer_symlinks(&self, list: &FileList) -> Value {
        let prefix = list.prefix.as_deref().unwrap_or_default().trim_matches('/');
        let mut links = Map::new();
        if let (Some(saltenv), true) = (&list.saltenv, is_meant(list.fsbackend.as_ref())) {
            let lists = self.lists(saltenv);
            let found = lists.links.iter();
            for (link, target) in found.filter(|(link, _)| link.starts_with(prefix)) {
                links.insert(link.as_str(), target.as_str());
            }
        }
        links.into()
    }

    /// `_serve_file`.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn answer_serve(&self, wanted: &ServeFile) -> Result<Value, ReadError> {
        let Some(found) = self.find_file(&wanted.file) else {
            return Ok(no_file());
        };
        let (mut hash, mut same, mut bytes) = (None, false, None);
        if let Some(beyond) = &wanted.beyond {
            bytes = beyond.bytes;
            if beyond.hash || beyond.unless.is_some() {
                let known = match self.hash_found(&found) {
                    Ok(known) => known,
                    // It has gone since it was found.
                    Err(error) if error.source.kind() == ErrorKind::NotFound => {
                        return Ok(no_file());
                    }
                    Err(error) => return Err(error),
                };
                let known = (known.hash_type.name().to_owned(), known.hsum);
                same = beyond.unless.as_ref() == Some(&known);
                hash = beyond.hash.then_some(known);
            }
            if same {
                // Nothing is read but what the file is.
                bytes = Some(0);
            }
        }
        let chunk = self.serve_found(&found, wanted.loc, wanted.gzip, bytes)?;
        let beyond = wanted.beyond.as_ref().map(|_| ChunkBeyond {
            version: chunk.version,
            stat: stat_of(found.stat),
            hash,
            same,
        });
        let answer = FileChunk {
            data: chunk.data,
            dest: chunk.dest,
            gzip: chunk.gzip,
            hsum: None,
            beyond,
        };
        Ok(answer.into_value())
    }

    fn find_file(&self, file: &FilePath) -> Option<Found> {
        self.find(&file.path, file.saltenv.as_ref()?)
    }

    fn hash_value(&self, found: &Found) -> Result<Value, ReadError> {
        match self.hash_found(found) {
            Ok(FileHash { hash_type, hsum }) => Ok(Map::from([
                ("hash_type", Value::from(hash_type.name())),
                ("hsum", hsum.into()),
            ])
            .into()),
            // It has gone since it was found.
            Err(error) if error.source.kind() == ErrorKind::NotFound => Ok(Map::new().into()),
            Err(error) => Err(error),
        }
    }

    fn answer_list(
        &self,
        list: &FileList,
        kind: impl FnOnce(&crate::Lists) -> &Vec<String>,
    ) -> Value {
        match &list.saltenv {
            Some(saltenv) if is_meant(list.fsbackend.as_ref()) => {
                let lists = self.lists(saltenv);
                texts(below(kind(&lists), list.prefix.as_deref()))
            }
            _ => Value::List(Vec::new()),
        }
    }
}

/// Whether a minion that names backends means this one: a text or a list of
/// names, or of names not wanted, with a `-` in front.
fn is_meant(backends: Option<&Value>) -> bool {
    let names: Vec<&str> = match backends {
        None => return true,
        Some(Value::List(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::Str(names)) => names.split(',').collect(),
        Some(other) => return !other.is_true(),
    };
    if names.iter().all(|name| name.is_empty()) {
        return true;
    }
    if names.iter().all(|name| name.starts_with('-')) {
        return !names.iter().any(|name| name.get(1..) == Some(BACKEND));
    }
    names.contains(&BACKEND)
}

/// The answer to `_serve_file` where there is no such file.
fn no_file() -> Value {
    Map::from([("data", ""), ("dest", "")]).into()
}

fn stat_of(stat: Stat) -> Vec<Value> {
    match stat.into() {
        Value::List(fields) => fields,
        _ => Vec::new(),
    }
}

fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Value {
    Value::List(texts.into_iter().map(Value::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_may_be_named_or_excluded() {
        let list = |names: &[&str]| Some(texts(names.iter().copied()));
        for meant in [
            None,
            Some(Value::Nil),
            Some("".into()),
            Some("roots".into()),
            Some("git,roots".into()),
            Some("-git".into()),
            list(&["roots"]),
            list(&["-git"]),
            list(&[]),
        ] {
            assert!(is_meant(meant.as_ref()), "{meant:?}");
        }
        for other in [
            Some("git".into()),
            Some("-roots".into()),
            Some("-git,-roots".into()),
            list(&["git"]),
            list(&["git", "-roots"]),
            Some(Value::Int(1)),
        ] {
            assert!(!is_meant(other.as_ref()), "{other:?}");
        }
    }
}
