//! Returners: other places for results, besides the masters.
//!
//! Custom ones in Python (`_returners`) and those of an installed Salt are looked
//! up by name when there is a record.
//!
//! Invariant: a returner gets a record only once the return is on its way to the
//! masters, and no error in it changes that return.

mod database;
mod local_cache;
mod rawfile_json;
mod settings;
mod syslog;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use halite_call::extensions::{self, ExtensionKind};
use halite_call::python::repr;
use halite_call::{CallError, Job, MinionContext, run_plugin, within_call};
use halite_output::{Indent, Outputter, RenderOptions, render_as};
use halite_proto::{Map, Value};
use halite_store::StoreError;
use thiserror::Error;
use tracing::{debug, error};

use crate::core::sign_in::chain;

/// Why a record did not get where it was to go.
#[derive(Debug, Error)]
pub enum ReturnerError {
    /// A setting of the returner is invalid.
    #[error("bad setting `{name}`: {why}")]
    Setting {
        /// The setting.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The record has what JSON has no way to write.
    #[error("the record cannot be written as JSON")]
    NoJson,
    /// The record names no job or minion.
    #[error("the record is not the record of a job: {0}")]
    NoRecord(String),
    /// A file or socket failed.
    #[error("could not write to {path}")]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A returner in Python failed.
    #[error("it failed")]
    Python(#[source] CallError),
    /// The job cache failed.
    #[error("could not store the return")]
    Store(#[from] StoreError),
}

type Deliver = fn(&dyn MinionContext, &Map) -> Result<(), ReturnerError>;

/// What there is, by name.
const TABLE: [(&str, Deliver); 8] = [
    ("local", |_, record| show(record)),
    ("local_cache", local_cache::deliver),
    ("mysql", database::mysql),
    ("pgjsonb", database::pgjsonb),
    ("postgres", database::postgres),
    ("rawfile_json", rawfile_json::deliver),
    ("redis", database::redis),
    ("syslog", syslog::deliver),
];

/// Names of returners that do not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown returner {}; known ones are: {}", names.join(", "), all())]
pub struct Unknown {
    /// The names.
    pub names: Vec<String>,
}

fn all() -> String {
    TABLE.map(|(name, _)| name).join(", ")
}

/// Where a result is to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenReturners {
    names: Vec<&'static str>,
    unknown: Vec<String>,
}

impl ChosenReturners {
    /// The returners of these lists of names, each once.
    pub fn of<'n>(lists: impl IntoIterator<Item = &'n str>) -> Self {
        let mut wanted = Self::default();
        let names = lists.into_iter().flat_map(|list| list.split(','));
        for name in names.map(str::trim).filter(|name| !name.is_empty()) {
            match TABLE.iter().find(|(known, _)| *known == name) {
                Some((known, _)) if !wanted.names.contains(known) => wanted.names.push(known),
                None if !wanted.unknown.iter().any(|known| known == name) => {
                    wanted.unknown.push(name.to_owned());
                }
                _ => {}
            }
        }
        wanted
    }

    /// The same, with those that the minion's option `return` names.
    pub fn with_option<'n>(lists: impl IntoIterator<Item = &'n str>, opts: &'n Map) -> Self {
        let option = texts(opts.get("return"));
        Self::of(lists.into_iter().chain(option))
    }

    /// Whether nobody is to get anything.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.unknown.is_empty()
    }

    /// Refuses names of returners that do not exist, in Python either.
    ///
    /// # Errors
    /// When there is one.
    pub fn checked(self, opts: &Map) -> Result<Self, Unknown> {
        let is_unknown = |name: &&String| {
            let function = format!("{name}.returner");
            !extensions::has_plugin(
                opts,
                halite_state_run::registry(),
                ExtensionKind::Returners,
                &function,
            )
        };
        let names: Vec<String> = self.unknown.iter().filter(is_unknown).cloned().collect();
        match names.is_empty() {
            true => Ok(self),
            false => Err(Unknown { names }),
        }
    }

    /// Passes the record to all of them; failures are logged. Blocks.
    pub fn deliver(&self, ctx: &dyn MinionContext, record: &Map) {
        let jid = record.get("jid").and_then(Value::as_str).unwrap_or("-");
        let mut names = Vec::new();
        for name in &self.unknown {
            match in_python(ctx, name, record) {
                None => names.push(name.clone()),
                Some(Err(cause)) => error!(jid, returner = name, "{}", chain(&cause)),
                Some(Ok(())) => debug!(jid, returner = name, "returned"),
            }
        }
        if !names.is_empty() {
            error!(jid, "{}", Unknown { names });
        }
        let table = BTreeMap::from(TABLE);
        for name in &self.names {
            match table.get(name).map(|deliver| deliver(ctx, record)) {
                Some(Err(cause)) => error!(jid, returner = name, "{}", chain(&cause)),
                Some(Ok(())) | None => debug!(jid, returner = name, "returned"),
            }
        }
    }
}

/// Passes the record to a returner in Python, if there is one of that name.
fn in_python(
    ctx: &dyn MinionContext,
    name: &str,
    record: &Map,
) -> Option<Result<(), ReturnerError>> {
    let returner = extensions::plugin(ctx, ExtensionKind::Returners, &format!("{name}.returner"))?;
    let args = vec![record.clone().into()];
    let ran = within_call(ctx, &Job::default(), |call| {
        run_plugin(call, returner, args, Map::new())
    });
    Some(ran.map(drop).map_err(ReturnerError::Python))
}

/// The texts of an option that is a text or a list of them.
pub fn texts(option: Option<&Value>) -> Vec<&str> {
    match option {
        Some(Value::Str(text)) => vec![text],
        Some(Value::List(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// `local`: shows that it works.
fn show(record: &Map) -> Result<(), ReturnerError> {
    let line = format!("{}\n", repr(&record.clone().into()));
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(line.as_bytes());
    written
        .and_then(|()| stdout.flush())
        .map_err(|source| ReturnerError::Write {
            path: "standard output".into(),
            source,
        })
}

/// The record as `json.dumps` of Salt writes it: one line.
fn json(record: &Map) -> Result<String, ReturnerError> {
    let options = RenderOptions {
        indent: Indent::Compact,
        ..RenderOptions::default()
    };
    match render_as(Outputter::Json, &record.clone().into(), &options) {
        // What the writer gives when it cannot write.
        text if text == "{}" => Err(ReturnerError::NoJson),
        text => Ok(text),
    }
}

#[cfg(test)]
mod tests;
