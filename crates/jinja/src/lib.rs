//! Templates: the Jinja of states, pillars and managed files, with Python's
//! values.
//!
//! A text is lexed and parsed to a tree that threads can share
//! ([`Template`]); rendering walks the tree. What a template needs of the
//! world - other templates, Salt's functions, YAML - the caller supplies
//! ([`Host`]); the crate itself reads nothing and knows no clock. Invariant:
//! whatever the text, a render ends with text or an [`Error`] within its
//! [`Limits`], and no attribute reaches anything but data.
//!
//! ```
//! use halite_jinja::{Engine, Globals, NoHost, Settings};
//!
//! let engine = Engine::new(Settings::salt());
//! let template = engine.parse("motd", "{% for n in names %}{{ loop.index }}:{{ n }} {% endfor %}")?;
//! let mut globals = Globals::new();
//! globals.insert_data("names", &vec!["a".into(), "b".into()].into());
//! assert_eq!(template.render(&NoHost, &globals)?, "1:a 2:b ");
//! # Ok::<(), halite_jinja::Error>(())
//! ```
//!
//! # Known differences from Jinja2 3.1 on CPython
//!
//! - Integers end at 128 bits, with an error; there are no complex numbers.
//! - Sets print in the order of insertion; CPython's order changes from run to
//!   run.
//! - `map`, `select`, `zip` and their kin compute all items at once; only what
//!   a failing, never consumed item would do differs.
//! - A macro sees the variables around it as they are when it is called; so
//!   does Jinja2, except for names that its compiler saw assigned later.
//! - `urlize` and `lipsum` are not there: nothing that Salt renders uses them.
//! - Attributes with two underscores on both sides are refused on every value,
//!   also where Python has none of that name.
//! - Where a filter of Python's fails on an undefined value with a `TypeError`
//!   of its own, ours names the variable.
//! - The pairs of `groupby` print; Salt's finalizer fails on them.
//! - A list or map that holds itself is never freed, as nothing collects
//!   cycles; macros, which always are cycles, are freed at a render's end.
//! - Templates are cached by the name that the template gives, `./x` too: so
//!   does Salt within one render.
//! - These of Salt's filters ask the host ([`Host::filter`]): `date_format`,
//!   `dns_check`, `file_hashsum`, `filter_by_networks`, `gen_mac`, `get_uid`,
//!   `http_query`, `is_bin_file`, `is_empty`, `is_text_file`, `json_query`,
//!   `list_files`, `mysql_to_dict`, `rand_str`, `random`, `random_hash`,
//!   `random_sample`, `random_shuffle`, `random_str`, `strftime`, `which`,
//!   `xml`. The digests (`md5` ... `sha512`, `hmac`, `uuid`) take theirs from
//!   [`Host::digest`], YAML goes through [`Host::encode_yaml`] and
//!   [`Host::decode_yaml`].
//! - Limits: steps, output, nesting and the stack; Python has the last one
//!   only.

mod ast;
mod checks;
mod engine;
mod error;
mod escape;
mod eval;
mod filters;
mod finalize;
mod format;
mod functions;
mod host;
mod json;
mod lex;
mod limits;
mod methods;
mod parse;
mod settings;
mod source;
mod stack;
mod template;
mod trace;
mod value;
mod walk;

pub use engine::{Engine, Globals};
pub use error::{Error, ErrorKind, Location, Result, TrailStep};
pub use host::{Host, LoadRequest, LoadedSource, NoHost, Returned};
pub use limits::{Limits, SOURCE_BYTES_MAX};
pub use settings::{Settings, UndefinedMode};
pub use source::{Source, Span};
pub use template::Template;
pub use trace::Trace;
pub use value::Value;
