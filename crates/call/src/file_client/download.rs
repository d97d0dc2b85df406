//! The download of one file from the master.
//!
//! From a Salt master: ask for the hash, and unless a copy has it already, ask for
//! one piece after the other until an empty one comes (`fileclient.py` of Salt
//! 3008). A Halite master answers all that with the first piece, and says with each
//! piece to which content it belongs. With both, later pieces are requested while
//! earlier ones are on their way.
//!
//! Invariant: no more than `FILE_PIECES_AHEAD` pieces are held, whatever the size
//! of the file.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use halite_crypto::{HashType, Hasher};
use halite_proto::request::{ChunkBeyond, Commits, FilePath, ServeBeyond, ServeFile, size_in_stat};
use halite_proto::{Map, Value};

use super::partial::Partial;
use super::piece::Piece;
use super::{FileClient, FileError, hash_of, private_dirs};
use crate::context::Ahead;
use crate::limits::{
    FILE_CHANGES_MAX, FILE_PIECE_BYTES, FILE_PIECES_AHEAD, FILE_REPLY_TRIES, HASHED_BYTES_MAX,
    SMALL_FILE_BYTES,
};

/// A file that is wanted here.
pub(super) struct Download<'c> {
    pub(super) client: &'c FileClient<'c>,
    pub(super) path: &'c str,
    pub(super) saltenv: &'c str,
    pub(super) to: &'c Path,
    pub(super) gzip: Option<i64>,
}

/// The answer to the first question about a file.
enum First {
    /// Hash and stat.
    Known(Map, Value),
    /// What the file is, and its first piece.
    Piece(ChunkBeyond, Vec<u8>),
    /// There is no such file.
    Missing,
}

/// How a try ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    /// The file is here.
    Whole,
    /// The master has no such file.
    Missing,
    /// What was written is not one content: the file changed meanwhile, or
    /// another master went on with it.
    Changed,
}

impl Download<'_> {
    /// Has the file at its place; `false` if the master has no such file.
    pub(super) fn run(&self) -> Result<bool, FileError> {
        for _ in 0..FILE_CHANGES_MAX {
            match self.once()? {
                Ended::Whole => return Ok(true),
                Ended::Missing => return Ok(false),
                Ended::Changed => tracing::debug!(self.path, "it changed on its way: once more"),
            }
        }
        // As Salt takes it: what is there when it is asked for.
        let known = self.client.hash_and_stat(self.path, self.saltenv)?;
        match known {
            Some((hash, stat)) => self.of_salt(&hash, &stat),
            None => Ok(false),
        }
    }

    /// Hash and stat of the file as the master has it; nothing if it has none.
    /// A small file is at its place then, if a Halite master was asked and it
    /// could be written.
    pub(super) fn look(&self) -> Result<Option<(Map, Value)>, FileError> {
        // The hash of a large file is not worth the question.
        let here = fs::metadata(self.to).ok();
        if here.is_some_and(|here| here.len() > SMALL_FILE_BYTES) {
            return self.client.hash_and_stat(self.path, self.saltenv);
        }
        let beyond = ServeBeyond {
            unless: self.own_hash(),
            hash: true,
            bytes: Some(SMALL_FILE_BYTES),
            large: false,
        };
        let (about, data) = match self.first(beyond)? {
            First::Known(hash, stat) => return Ok(Some((hash, stat))),
            First::Missing => return Ok(None),
            First::Piece(about, data) => (about, data),
        };
        let Some((hash_type, hsum)) = &about.hash else {
            return self.client.hash_and_stat(self.path, self.saltenv);
        };
        if !about.same && about.size() == Some(data.len() as u64) {
            let written = self.begin().and_then(|mut partial| {
                self.write(&mut partial, &data)?;
                self.end(partial)
            });
            if let Err(error) = written {
                // Whoever needs the file meets it again.
                tracing::debug!(self.path, "not kept: {error}");
            }
        }
        let hash = Map::from([("hash_type", hash_type.as_str()), ("hsum", hsum.as_str())]);
        Ok(Some((hash, Value::List(about.stat))))
    }

    fn once(&self) -> Result<Ended, FileError> {
        let own = self.own_hash();
        let beyond = ServeBeyond {
            unless: own.clone(),
            hash: own.is_some(),
            bytes: Some(FILE_PIECE_BYTES),
            large: true,
        };
        let (about, data) = match self.first(beyond)? {
            First::Known(hash, stat) => {
                return Ok(match self.of_salt(&hash, &stat)? {
                    true => Ended::Whole,
                    false => Ended::Missing,
                });
            }
            First::Missing => return Ok(Ended::Missing),
            First::Piece(about, data) => (about, data),
        };
        if about.same || self.is_here(own.as_ref(), about.hash.as_ref()) {
            return Ok(Ended::Whole);
        }
        self.pieces(&about, data)
    }

    /// The first question about a file: a Salt master tells its hash and stat, a
    /// Halite one gives the first piece with what it is asked for besides.
    fn first(&self, beyond: ServeBeyond) -> Result<First, FileError> {
        let load = self
            .client
            .load("_file_hash_and_stat", self.path, self.saltenv);
        let wish = self.wish(0, Some(beyond));
        let answer = self.client.ask_beyond(load, wish, self.path)?;
        if let Some((hash, stat)) = super::hash_and_stat_of(&answer) {
            return Ok(First::Known(hash, stat));
        }
        if !matches!(answer, Value::Map(_)) {
            return Ok(First::Missing);
        }
        let piece = Piece::read(answer).map_err(|why| self.senseless(why))?;
        if piece.is_missing {
            return Ok(First::Missing);
        }
        match piece.beyond {
            Some(about) => Ok(First::Piece(about, piece.data)),
            None => Err(self.senseless("it does not say of which file it is".to_owned())),
        }
    }

    /// The hash of what is here, of the kind that the master most likely uses.
    fn own_hash(&self) -> Option<(String, String)> {
        if !self.to.is_file() {
            return None;
        }
        let name = self.client.hash_type();
        let hash = hash_of(self.to, HashType::parse(&name).ok()?).ok()?;
        Some((name, hash))
    }

    /// Whether what is here is the file after all: the master has hashed with
    /// another function.
    fn is_here(&self, own: Option<&(String, String)>, known: Option<&(String, String)>) -> bool {
        match (own, known) {
            (Some((own_type, _)), Some((hash_type, hsum))) if own_type != hash_type => {
                has_hash(self.to, hash_type, hsum)
            }
            _ => false,
        }
    }

    /// Takes the file from a Halite master that has given the first piece.
    fn pieces(&self, about: &ChunkBeyond, first: Vec<u8>) -> Result<Ended, FileError> {
        let size = about.size();
        let mut partial = self.begin()?;
        let mut written = self.write(&mut partial, &first)?;
        drop(first);
        let mut ahead = self.ahead(written, size, Some(about.version.as_str()));
        // Without a size, as from no file server of ours, an empty piece ends it.
        while size.is_none_or(|size| written < size) {
            let piece = self.next(&mut ahead, written)?;
            let version = piece.beyond.as_ref().map(|beyond| &beyond.version);
            if version != Some(&about.version) || piece.data.is_empty() && size.is_some() {
                return Ok(Ended::Changed);
            }
            if piece.data.is_empty() {
                break;
            }
            written += self.write(&mut partial, &piece.data)?;
        }
        self.end(partial)
    }

    /// Takes the file in Salt's way; `false` if it is gone meanwhile.
    fn of_salt(&self, hash: &Map, stat: &Value) -> Result<bool, FileError> {
        let text = |key: &str| hash.get(key).and_then(Value::as_str);
        let known = text("hash_type").zip(text("hsum"));
        if let Some((hash_type, hsum)) = known
            && self.to.is_file()
            && has_hash(self.to, hash_type, hsum)
        {
            return Ok(true);
        }
        let size = stat.as_list().and_then(size_in_stat);
        // That a small file is whole costs less to see than to be told.
        let mut hasher = known
            .filter(|_| size.is_some_and(|size| size <= HASHED_BYTES_MAX))
            .and_then(|(hash_type, _)| HashType::parse(hash_type).ok())
            .map(Hasher::new);
        let mut partial = self.begin()?;
        let mut written = 0;
        let mut ahead = self.ahead(0, None, None);
        loop {
            let piece = self.next(&mut ahead, written)?;
            if piece.data.is_empty() {
                // Nothing at all, not even a name: gone in between.
                if written == 0 && piece.is_missing {
                    return Ok(false);
                }
                break;
            }
            if written == 0 {
                ahead = self.ahead(piece.data.len() as u64, size, None);
            }
            written += self.write(&mut partial, &piece.data)?;
            if let Some(mut hash) = hasher.take() {
                hash.update(&piece.data);
                if size == Some(written) {
                    let whole = known.is_some_and(|(_, hsum)| hash.finish_hex() == hsum);
                    if whole {
                        break;
                    }
                } else {
                    hasher = Some(hash);
                }
            }
        }
        self.end(partial).map(|_| true)
    }

    fn begin(&self) -> Result<Partial, FileError> {
        if let Some(directory) = self.to.parent().filter(|directory| !directory.is_dir()) {
            private_dirs(directory).map_err(|error| self.unwritten(error))?;
        }
        Partial::create(self.to).map_err(|error| self.unwritten(error))
    }

    fn write(&self, partial: &mut Partial, data: &[u8]) -> Result<u64, FileError> {
        partial
            .file
            .write_all(data)
            .map_err(|error| self.unwritten(error))?;
        Ok(data.len() as u64)
    }

    fn end(&self, partial: Partial) -> Result<Ended, FileError> {
        partial.finish().map_err(|error| self.unwritten(error))?;
        Ok(Ended::Whole)
    }

    /// The pieces behind a first one of `piece` bytes, of a file of `size`.
    fn ahead(&self, piece: u64, size: Option<u64>, version: Option<&str>) -> Lookahead<'_> {
        let begins = match size {
            Some(size) if piece > 0 && size > piece => {
                self.client.ctx.files().ahead().map(|line| (line, size))
            }
            _ => None,
        };
        let beyond = version.map(|_| ServeBeyond {
            bytes: Some(piece),
            large: true,
            ..ServeBeyond::default()
        });
        Lookahead {
            line: begins,
            asked: VecDeque::new(),
            next: piece,
            piece,
            beyond,
        }
    }

    /// The piece at `at`.
    fn next(&self, ahead: &mut Lookahead<'_>, at: u64) -> Result<Piece, FileError> {
        let mut why = String::new();
        for _ in 0..FILE_REPLY_TRIES {
            let answer = match ahead.answer(self, at) {
                Some(answer) => answer.map_err(|source| FileError::Ask {
                    path: self.path.to_owned(),
                    source,
                })?,
                None => {
                    let beyond = ahead.beyond.clone();
                    let plain = self.wish(at, None);
                    match beyond {
                        None => self.client.ask(plain, self.path)?,
                        beyond => {
                            self.client
                                .ask_beyond(plain, self.wish(at, beyond), self.path)?
                        }
                    }
                }
            };
            match Piece::read(answer) {
                Ok(piece) => return Ok(piece),
                Err(wrong) => why = wrong,
            }
            tracing::debug!(self.path, why, "asking for a piece again");
        }
        Err(self.senseless(why))
    }

    fn wish(&self, at: u64, beyond: Option<ServeBeyond>) -> Map {
        let wish = ServeFile {
            file: FilePath {
                path: self.path.to_owned(),
                saltenv: None,
                commits: Commits::default(),
            },
            loc: at,
            gzip: self.gzip,
            beyond,
        };
        let mut load = wish.to_map();
        // Whether it is one is for the master to say.
        load.insert("saltenv", self.saltenv);
        load
    }

    fn senseless(&self, why: String) -> FileError {
        FileError::Reply {
            path: self.path.to_owned(),
            why,
        }
    }

    fn unwritten(&self, source: io::Error) -> FileError {
        FileError::Write {
            path: self.to.to_owned(),
            source,
        }
    }
}

/// The pieces that are asked for before those before them are here.
struct Lookahead<'c> {
    /// Where they are asked for, and the size of the file.
    line: Option<(Box<dyn Ahead + 'c>, u64)>,
    /// Where those begin that are on their way.
    asked: VecDeque<u64>,
    /// Where the one begins that is asked for next.
    next: u64,
    /// How long each is.
    piece: u64,
    beyond: Option<ServeBeyond>,
}

impl Lookahead<'_> {
    /// The answer about the piece at `at`; nothing if it was not asked for.
    fn answer(
        &mut self,
        download: &Download<'_>,
        at: u64,
    ) -> Option<Result<Value, crate::ContextError>> {
        let (line, size) = self.line.as_mut()?;
        while self.asked.len() < FILE_PIECES_AHEAD && self.next < *size {
            let beyond = self.beyond.clone();
            let beyond = beyond.map(|beyond| download.wish(self.next, Some(beyond)));
            line.ask(download.wish(self.next, None), beyond);
            self.asked.push_back(self.next);
            self.next += self.piece;
        }
        if self.asked.pop_front() == Some(at) {
            return line.answer();
        }
        // Pieces of another length than the first: one after the other.
        self.line = None;
        None
    }
}

fn has_hash(path: &Path, name: &str, sum: &str) -> bool {
    HashType::parse(name)
        .ok()
        .and_then(|hash_type| hash_of(path, hash_type).ok())
        .is_some_and(|own| own == sum)
}
