//! The messages with which one master sends the others its `file_roots` and
//! `pillar_roots`.
//!
//! The sender asks, and each of its requests has one answer: first which of its
//! files the receiver lacks, then, piece by piece, whether the receiver has stored
//! them. The receiver decides where a file goes; a path only leads down.

use std::fmt;
use std::path::Path;

use halite_proto::Value;
use thiserror::Error;

use crate::encoding::{DecodeError, Items, expected};
use crate::limits::{
    ROOT_ENV_BYTES_MAX, ROOT_PATH_BYTES_MAX, ROOT_PATH_PARTS_MAX, ROOT_PIECE_BYTES_MAX,
    ROOTS_ASKED_AT_ONCE_MAX, ROOTS_REFUSAL_BYTES_MAX,
};

/// Directories that belong to programs beside the files, whatever the case of their
/// letters: nothing is given from there, and nothing is put there.
pub const LEFT_OUT: [&str; 5] = [".git", ".hg", ".svn", ".tox", "__pycache__"];

/// Bytes of a SHA-256 in hexadecimal digits.
const HASH_CHARS: usize = 64;

/// Which of the two options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// `file_roots`.
    Files,
    /// `pillar_roots`.
    Pillar,
}

impl Which {
    /// The option.
    pub fn option(self) -> &'static str {
        match self {
            Self::Files => "file_roots",
            Self::Pillar => "pillar_roots",
        }
    }

    fn parse(option: &str) -> Option<Self> {
        let both = [Self::Files, Self::Pillar];
        both.into_iter().find(|which| which.option() == option)
    }
}

/// The path of a file below a root, with `/` between its parts. It has no way up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RootPath(String);

/// Why a path is none below a root.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("not a path below a root: {why}")]
pub struct RootPathError {
    why: &'static str,
}

impl RootPath {
    /// Reads a path.
    ///
    /// # Errors
    /// When it is empty, too long, begins with `/`, or has a zero byte or a part that is
    /// empty, `.`, `..` or one of [`LEFT_OUT`].
    pub fn parse(text: &str) -> Result<Self, RootPathError> {
        let wrong = |why| Err(RootPathError { why });
        if text.len() > ROOT_PATH_BYTES_MAX || text.split('/').count() > ROOT_PATH_PARTS_MAX {
            return wrong("it is too long");
        }
        if text.contains('\0') {
            return wrong("it has a zero byte");
        }
        if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return wrong("a part of it is empty, . or ..");
        }
        let is_left_out = |part: &str| LEFT_OUT.iter().any(|name| part.eq_ignore_ascii_case(name));
        if text.split('/').any(is_left_out) {
            return wrong("a part of it belongs to another program");
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As a path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl fmt::Display for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A directory of files: an environment of one of the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootEnv {
    /// The option.
    pub which: Which,
    /// The environment, as it is configured.
    pub saltenv: String,
}

/// A file that a master has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootFile {
    /// Where it is.
    pub path: RootPath,
    /// How long, in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// A question of the master that gives its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which of these files the other one has not, or not so.
    Compare(RootEnv, Vec<RootFile>),
    /// Whether it takes a piece of a file; those of one come in order.
    Take {
        /// Where the file belongs.
        env: RootEnv,
        /// The whole file.
        file: RootFile,
        /// Its permissions.
        mode: u32,
        /// Where the piece belongs.
        offset: u64,
        /// The piece.
        data: Vec<u8>,
    },
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Which of the files differ, by their place in the question.
    Differ(Vec<usize>),
    /// The piece is taken; the file is there if it was the last.
    Taken,
    /// Why not.
    Refused(String),
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A question with its number.
    Asks(u64, Question),
    /// The answer to the question of that number.
    Answers(u64, Answer),
}

impl Message {
    /// As it is sent.
    pub fn to_value(&self) -> Value {
        Value::List(match self {
            Self::Asks(number, Question::Compare(env, files)) => vec![
                0.into(),
                (*number).into(),
                env.which.option().into(),
                env.saltenv.as_str().into(),
                Value::List(files.iter().map(RootFile::to_value).collect()),
            ],
            Self::Asks(
                number,
                Question::Take {
                    env,
                    file,
                    mode,
                    offset,
                    data,
                },
            ) => vec![
                1.into(),
                (*number).into(),
                env.which.option().into(),
                env.saltenv.as_str().into(),
                file.to_value(),
                (*mode).into(),
                (*offset).into(),
                Value::Bytes(data.clone()),
            ],
            Self::Answers(number, Answer::Differ(places)) => {
                let places = places.iter().map(|place| Value::from(*place as u64));
                vec![2.into(), (*number).into(), Value::List(places.collect())]
            }
            Self::Answers(number, Answer::Taken) => vec![3.into(), (*number).into()],
            Self::Answers(number, Answer::Refused(why)) => {
                vec![4.into(), (*number).into(), why.as_str().into()]
            }
        })
    }

    /// Reads what another master has sent.
    ///
    /// # Errors
    /// When it is nothing that masters say.
    pub fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        let kind = items.number("kind of message")?;
        let number = items.number("number of a question")?;
        Ok(match kind {
            0 => {
                let env = root_env(&mut items)?;
                let max = ROOTS_ASKED_AT_ONCE_MAX;
                let files = Items::at_most(items.value("files")?, "files", max)?;
                let files = files.map(RootFile::from_value).collect::<Result<_, _>>()?;
                Self::Asks(number, Question::Compare(env, files))
            }
            1 => {
                let env = root_env(&mut items)?;
                let file = RootFile::from_value(items.value("file")?)?;
                let mode = u32::try_from(items.number("mode")?).map_err(|_| expected("mode"))?;
                let offset = items.number("offset")?;
                let data = match items.value("piece")? {
                    Value::Bytes(data) if data.len() <= ROOT_PIECE_BYTES_MAX => data,
                    _ => return Err(expected("piece")),
                };
                let question = Question::Take {
                    env,
                    file,
                    mode,
                    offset,
                    data,
                };
                Self::Asks(number, question)
            }
            2 => {
                let max = ROOTS_ASKED_AT_ONCE_MAX;
                let places = Items::at_most(items.value("places")?, "places", max)?;
                let place = |item: Value| {
                    let place = item.as_int().and_then(|place| usize::try_from(place).ok());
                    place.ok_or_else(|| expected("place"))
                };
                let places = places.map(place).collect::<Result<_, _>>()?;
                Self::Answers(number, Answer::Differ(places))
            }
            3 => Self::Answers(number, Answer::Taken),
            4 => {
                let why = items.text("reason", ROOTS_REFUSAL_BYTES_MAX)?;
                Self::Answers(number, Answer::Refused(why))
            }
            _ => return Err(expected("kind of message")),
        })
    }
}

impl RootFile {
    fn to_value(&self) -> Value {
        Value::List(vec![
            self.path.as_str().into(),
            self.size.into(),
            self.sha256.as_str().into(),
        ])
    }

    fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        let path = items.text("path", ROOT_PATH_BYTES_MAX)?;
        let path = RootPath::parse(&path).map_err(|_| expected("path below a root"))?;
        let size = items.number("size")?;
        let sha256 = items.text("hash", HASH_CHARS)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if sha256.len() != HASH_CHARS || !sha256.bytes().all(is_digit) {
            return Err(expected("hash"));
        }
        Ok(Self { path, size, sha256 })
    }
}

fn root_env(items: &mut Items) -> Result<RootEnv, DecodeError> {
    let option = items.text("option", ROOT_ENV_BYTES_MAX)?;
    Ok(RootEnv {
        which: Which::parse(&option).ok_or_else(|| expected("option"))?,
        saltenv: items.text("environment", ROOT_ENV_BYTES_MAX)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(path: &str) -> RootFile {
        RootFile {
            path: RootPath::parse(path).unwrap(),
            size: 3,
            sha256: "0f".repeat(32),
        }
    }

    fn env() -> RootEnv {
        RootEnv {
            which: Which::Pillar,
            saltenv: "base".to_owned(),
        }
    }

    #[test]
    fn messages_are_read_as_they_were_sent() {
        let take = Question::Take {
            env: env(),
            file: file("a/b.sls"),
            mode: 0o644,
            offset: 7,
            data: b"xyz".to_vec(),
        };
        for message in [
            Message::Asks(
                1,
                Question::Compare(env(), vec![file("top.sls"), file("a/b")]),
            ),
            Message::Asks(2, take),
            Message::Answers(3, Answer::Differ(vec![0, 2])),
            Message::Answers(4, Answer::Taken),
            Message::Answers(5, Answer::Refused("no room".to_owned())),
        ] {
            assert_eq!(Message::from_value(message.to_value()).unwrap(), message);
        }
    }

    #[test]
    fn no_path_leads_out_of_its_root() {
        for path in [
            "",
            "/etc/passwd",
            "..",
            "a/../b",
            "a//b",
            "./a",
            "a/.",
            "a\0b",
            "a/",
            ".git/config",
            "a/.GIT/x",
        ] {
            assert!(RootPath::parse(path).is_err(), "{path:?}");
            let mut list = file("x").to_value();
            if let Value::List(items) = &mut list {
                items[0] = path.into();
            }
            let asks = Value::List(vec![
                0.into(),
                1.into(),
                "file_roots".into(),
                "base".into(),
                Value::List(vec![list]),
            ]);
            assert!(Message::from_value(asks).is_err(), "{path:?}");
        }
        assert!(RootPath::parse(&"a/".repeat(ROOT_PATH_PARTS_MAX)).is_err());
        assert!(RootPath::parse(&"a".repeat(ROOT_PATH_BYTES_MAX + 1)).is_err());
        assert!(RootPath::parse("..a/b..").is_ok());
    }

    proptest! {
        #[test]
        fn what_is_a_path_has_normal_parts_only(text in "[a./\\\\]{0,12}") {
            if let Ok(path) = RootPath::parse(&text) {
                let mut parts = path.as_path().components();
                prop_assert!(parts.all(|part| matches!(part, std::path::Component::Normal(_))));
            }
        }
    }
}
