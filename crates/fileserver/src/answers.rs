//! The answers to minions' file requests, in the shapes that Salt gives them,
//! also where nothing is found (`docs/protocol.md`, "Files").
//!
//! An error is the exception of a real master: the caller answers with an
//! empty text.

use std::io::ErrorKind;

use halite_proto::request::{
    ChunkBeyond, Commits, FileChunk, FileList, FilePath, HeldFile, HeldFiles, MinionRequest,
    ServeFile,
};
use halite_proto::{Map, Value};

use crate::list::below;
use crate::{Backends, FileHash, FileServer, Found, Lists, ReadError, Stat};

impl FileServer {
    /// The answer to a request for files; `None` if the request is for
    /// something else.
    ///
    /// # Errors
    /// When a file is there and cannot be read.
    pub fn answer(&self, request: &MinionRequest) -> Option<Result<Value, ReadError>> {
        Some(match request {
            MinionRequest::FileEnvs => Ok(texts(&self.envs(&Backends::All))),
            MinionRequest::FileFind(file) => Ok(self.answer_find(file)),
            MinionRequest::FileHash(file) => self.answer_hash(file),
            MinionRequest::FileHashAndStat(file) => self.answer_hash_and_stat(file),
            MinionRequest::FileList(list) => Ok(self.answer_list(list, |lists| &lists.files)),
            MinionRequest::FileListEmptydirs(list) => {
                Ok(self.answer_list(list, |lists| &lists.empty_dirs))
            }
            MinionRequest::DirList(list) => Ok(self.answer_list(list, |lists| &lists.dirs)),
            MinionRequest::SymlinkList(list) => Ok(self.answer_symlinks(list)),
            MinionRequest::ServeFile(wanted) => self.answer_serve(wanted),
            MinionRequest::HeldFiles(files) => Ok(self.answer_held(files)),
            MinionRequest::Commits(of) => {
                let mut commits = Commits::default();
                commits.insert(of.saltenv.clone(), self.commits(&of.saltenv));
                Ok(commits.to_value())
            }
            _ => return None,
        })
    }

    /// Whether files that a minion holds are those that are here, in their
    /// order.
    fn answer_held(&self, asked: &HeldFiles) -> Value {
        let is_held = |file: &HeldFile| {
            let found = self.find_then(&file.path, &file.saltenv, &asked.commits)?;
            let hash = found.hash().ok()?;
            Some(hash.hash_type.name() == file.hash_type && hash.hsum == file.hsum)
        };
        let held = asked
            .files
            .iter()
            .map(|file| file.as_ref().and_then(is_held).unwrap_or_default());
        Value::List(held.map(Value::from).collect())
    }

    fn answer_find(&self, file: &FilePath) -> Value {
        let Some(found) = self.find_file(file) else {
            return Map::from([("path", ""), ("rel", "")]).into();
        };
        Map::from([
            ("path", Value::from(&*found.path.to_string_lossy())),
            ("rel", found.rel.into()),
            ("stat", found.stat.into()),
            ("back", found.backend.into()),
        ])
        .into()
    }

    fn answer_hash(&self, file: &FilePath) -> Result<Value, ReadError> {
        match self.find_file(file) {
            Some(found) => hash_value(&found),
            None => Ok("".into()),
        }
    }

    fn answer_hash_and_stat(&self, file: &FilePath) -> Result<Value, ReadError> {
        let answer = match self.find_file(file) {
            Some(found) => vec![hash_value(&found)?, found.stat.into()],
            None => vec!["".into(), Value::Nil],
        };
        Ok(answer.into())
    }

    fn answer_list(&self, list: &FileList, kind: fn(&Lists) -> &Vec<String>) -> Value {
        let Some(saltenv) = &list.saltenv else {
            return Value::List(Vec::new());
        };
        let meant = Backends::from_value(list.fsbackend.as_ref());
        let lists = self.lists_then(saltenv, &meant, &list.commits);
        texts(&below(kind(&lists), list.prefix.as_deref()))
    }

    fn answer_symlinks(&self, list: &FileList) -> Value {
        let prefix = list.prefix.as_deref().unwrap_or_default().trim_matches('/');
        let mut links = Map::new();
        if let Some(saltenv) = &list.saltenv {
            let meant = Backends::from_value(list.fsbackend.as_ref());
            let lists = self.lists_then(saltenv, &meant, &list.commits);
            let found = lists.links.iter();
            for (link, target) in found.filter(|(link, _)| link.starts_with(prefix)) {
                links.insert(link.as_str(), target.as_str());
            }
        }
        links.into()
    }

    fn find_file(&self, file: &FilePath) -> Option<Found<'_>> {
        self.find_then(&file.path, file.saltenv.as_ref()?, &file.commits)
    }

    fn answer_serve(&self, wanted: &ServeFile) -> Result<Value, ReadError> {
        let Some(found) = self.find_file(&wanted.file) else {
            return Ok(no_file());
        };
        let (mut hash, mut same, mut bytes) = (None, false, None);
        if let Some(beyond) = &wanted.beyond {
            bytes = beyond.bytes;
            if beyond.hash || beyond.unless.is_some() {
                let known = match found.hash() {
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
}

fn hash_value(found: &Found<'_>) -> Result<Value, ReadError> {
    match found.hash() {
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

fn texts(texts: &[impl AsRef<str>]) -> Value {
    let texts = texts.iter().map(|text| Value::from(text.as_ref()));
    Value::List(texts.collect())
}
