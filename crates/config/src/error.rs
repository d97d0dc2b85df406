//! What is wrong with a configuration, and where.

use std::path::PathBuf;

use halite_yaml::YamlError;
use halite_yaml::place::SourceLocation;
use thiserror::Error;

/// Why a configuration cannot be used. [`ConfigError::render`] is for people:
/// it shows the line.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file is there and cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file is not YAML.
    #[error("{0}")]
    Yaml(Box<YamlError>),
    /// A file is not a map of options.
    #[error("{place}: the file is a {found}, not a map of options")]
    NotAMap {
        /// Where.
        place: Box<SourceLocation>,
        /// What it is.
        found: &'static str,
    },
    /// An option's value is of the wrong type, or not one that it may have.
    #[error("{place}: {option} cannot be {found}; it is {allowed}")]
    Value {
        /// Where the value stands.
        place: Box<SourceLocation>,
        /// The option.
        option: String,
        /// What it is.
        found: String,
        /// What it may be.
        allowed: String,
    },
    /// A value from the command line or the environment cannot be used.
    #[error("{option} cannot be {found}; it is {allowed}")]
    Override {
        /// The option.
        option: String,
        /// What was given.
        found: String,
        /// What it may be.
        allowed: String,
    },
    /// An option asks for what is not here.
    #[error("{}{option} is refused: {why}", .place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
    Refused {
        /// Where the option stands, if it is in a file.
        place: Option<Box<SourceLocation>>,
        /// The option.
        option: String,
        /// Why.
        why: &'static str,
    },
    /// A part of an option that code outside this crate reads cannot be used.
    #[error("{}{option}: {why}", .place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
    Unusable {
        /// Where it stands, if it is in a file.
        place: Option<Box<SourceLocation>>,
        /// The option.
        option: String,
        /// What is wrong with it, and what it may be.
        why: String,
    },
    /// A store of secrets does not answer.
    #[error("what is behind {address} {source}")]
    Behind {
        /// The address.
        address: String,
        /// Why not.
        source: BehindError,
    },
    /// Files include each other too deeply.
    #[error("{}: includes are nested more than {max} deep", path.display())]
    IncludeDepth {
        /// The file that includes once too often.
        path: PathBuf,
        /// The limit.
        max: usize,
    },
    /// No id can be found for this minion.
    #[error("could not find an id for this minion: {why}; set `id` in its configuration")]
    NoId {
        /// What was tried.
        why: String,
    },
}

/// Why nothing was read behind an address of `sdb`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BehindError {
    /// Whoever should know has failed. What it said may have a secret in it.
    #[error("cannot be read; the driver of its profile has failed")]
    Failed,
    /// It has taken too long.
    #[error("has not been told within {0} s; the driver of its profile hangs")]
    Late(u64),
}

impl ConfigError {
    /// The error with its cause and the line it is about.
    pub fn render(&self) -> String {
        match self {
            Self::Yaml(error) => error.render(),
            Self::Read { source, .. } => format!("{self}: {source}"),
            other => match other.place().map(SourceLocation::excerpt) {
                Some(excerpt) if !excerpt.is_empty() => format!("{self}\n{excerpt}"),
                _ => self.to_string(),
            },
        }
    }

    /// Where the mistake is.
    pub fn place(&self) -> Option<&SourceLocation> {
        match self {
            Self::NotAMap { place, .. } | Self::Value { place, .. } => Some(place),
            Self::Refused { place, .. } | Self::Unusable { place, .. } => place.as_deref(),
            _ => None,
        }
    }

    /// The option that is wrong.
    pub fn option(&self) -> Option<&str> {
        match self {
            Self::Value { option, .. }
            | Self::Override { option, .. }
            | Self::Refused { option, .. }
            | Self::Unusable { option, .. } => Some(option),
            _ => None,
        }
    }
}

/// The mistakes of a configuration. Only the first of each option is kept: the
/// others may follow from it.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<ConfigError>);

impl Faults {
    pub(crate) fn add(&mut self, fault: ConfigError) {
        let option = fault.option();
        let is_known = option.is_some() && self.0.iter().any(|known| known.option() == option);
        if !is_known {
            self.0.push(fault);
        }
    }

    /// Adds the mistakes in the items of one option: none follows from another.
    pub(crate) fn add_items(&mut self, items: Vec<ConfigError>) {
        let mut items = items.into_iter();
        let Some(first) = items.next() else {
            return;
        };
        let known = self.0.len();
        self.add(first);
        if self.0.len() > known {
            self.0.extend(items);
        }
    }

    /// Adds the mistake of a check that has failed.
    pub(crate) fn check<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        result.map_err(|fault| self.add(fault)).ok()
    }

    pub(crate) fn add_some(&mut self, fault: Option<ConfigError>) {
        fault.into_iter().for_each(|fault| self.add(fault));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mistakes in the order of the files, those without a place first.
    pub(crate) fn in_order(mut self, files: &[PathBuf]) -> Vec<ConfigError> {
        self.0.sort_by_key(|fault| {
            fault.place().map(|place| {
                let file = files.iter().position(|file| *file == *place.file);
                (file, place.span)
            })
        });
        self.0
    }
}

/// Something an administrator should look at; the start goes on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Warning {
    /// The configuration file is not there.
    #[error("{} does not exist, defaults are used", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// An included file is not there.
    #[error("{place}: no file matches the include {pattern:?}")]
    NoInclude {
        /// Where it is included.
        place: SourceLocation,
        /// The pattern.
        pattern: String,
    },
    /// Salt has this option and we do not heed it (yet).
    #[error(
        "{place}: {option} is an option of Salt that is not honoured here{}",
        .why.map(|why| format!(": {why}")).unwrap_or_default()
    )]
    NotHonoured {
        /// Where.
        place: SourceLocation,
        /// The option.
        option: String,
        /// Why not.
        why: Option<&'static str>,
    },
    /// Nobody has this option.
    #[error("{place}: unknown option {option}{}", .nearest.map(|n| format!(", did you mean {n}?")).unwrap_or_default())]
    Unknown {
        /// Where.
        place: SourceLocation,
        /// The option.
        option: String,
        /// The option with the nearest name.
        nearest: Option<&'static str>,
    },
    /// What lies in a place that the configuration names.
    #[error("{}: {text}", path.display())]
    Found {
        /// The place.
        path: PathBuf,
        /// What is odd.
        text: String,
    },
    /// A value means something, but hardly what was meant.
    #[error("{place}: {text}")]
    Odd {
        /// Where.
        place: SourceLocation,
        /// What is odd.
        text: String,
    },
}

impl Warning {
    /// The warning with the line it is about.
    pub fn render(&self) -> String {
        let place = match self {
            Self::NoFile { .. } | Self::Found { .. } => None,
            Self::NoInclude { place, .. }
            | Self::NotHonoured { place, .. }
            | Self::Unknown { place, .. }
            | Self::Odd { place, .. } => Some(place),
        };
        match place
            .map(SourceLocation::excerpt)
            .filter(|excerpt| !excerpt.is_empty())
        {
            Some(excerpt) => format!("{self}\n{excerpt}"),
            None => self.to_string(),
        }
    }
}
