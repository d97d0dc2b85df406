//! YAML 1.1 as Salt reads it, with the place of every node, and as Salt writes it.
//!
//! Reading: the scanner and parser follow libyaml, so the same documents are
//! accepted and refused as by Salt's loader; the meaning of scalars, merging,
//! aliases and the refusal of duplicate keys follow Salt's loader ([`load`]).
//! Writing: the emitter follows libyaml too, so the text equals that of Salt's
//! dumper ([`dump`]).
//!
//! Invariant: no text makes this crate panic, recurse or grow without a limit that
//! is named in [`limits`].

mod compose;
mod construct;
pub mod dump;
pub mod error;
mod key;
pub mod limits;
mod node;
mod parse;
pub mod place;
mod resolve;
mod scalar;
mod scan;
mod tree;

pub use dump::{DumpOptions, FlowStyle, ScalarQuotes, dump, dump_within};
pub use error::{ErrorKind, YamlError};
pub use key::python_str;
pub use node::{Node, NodeKind};
pub use place::{SourceLocation, Span};

use halite_proto::Value;

/// Reads the one document in `text`; `name` is the file's name in errors. An
/// empty text is null.
///
/// # Errors
/// Where Salt's loader refuses the text, and where a limit is passed.
pub fn load(text: &str, name: &str) -> Result<Node, YamlError> {
    let source = place::Source { name, text };
    let read = || construct::construct(compose::compose(source)?, source);
    read().map_err(|error| *error)
}

/// What a text says, without places.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// The value.
    pub value: Value,
    /// Whether aliases make parts of it the same object; [`load`] tells which.
    pub has_aliases: bool,
}

/// Like [`load`], for who does not ask where things stand: faster, and with
/// less memory.
///
/// # Errors
/// As [`load`].
pub fn load_data(text: &str, name: &str) -> Result<Data, YamlError> {
    let source = place::Source { name, text };
    let read = || {
        let document = compose::compose(source)?;
        let has_aliases = document.has_aliases;
        let value = construct::construct(document, source)?;
        Ok(Data { value, has_aliases })
    };
    read().map_err(|error: Box<YamlError>| *error)
}

/// Like [`load`], for text that has not been checked to be UTF-8.
///
/// # Errors
/// As [`load`], and where the text is not UTF-8.
pub fn load_bytes(text: &[u8], name: &str) -> Result<Node, YamlError> {
    match std::str::from_utf8(text) {
        Ok(text) => load(text, name),
        Err(error) => {
            let good = text.get(..error.valid_up_to()).unwrap_or_default();
            let good = String::from_utf8_lossy(good);
            let source = place::Source { name, text: &good };
            let mut span = Span::START;
            for c in good.chars() {
                span = span.after(c);
            }
            Err(source.error(ErrorKind::Reader, span, "the text is not UTF-8"))
        }
    }
}

/// The value of `text` as an unquoted scalar: `1` is a number, `yes` true,
/// `~` null, `2020-01-01` text. Text that only looks like a number (`0b_`)
/// stays text.
pub fn scalar(text: &str) -> Value {
    let tag = resolve::plain(text);
    scalar::construct(&tag, text).unwrap_or_else(|_| Value::from(text))
}
