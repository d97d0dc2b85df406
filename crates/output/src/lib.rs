//! Outputters: values to the text that Salt's tools print.
//!
//! Scripts read these texts, so every outputter prints the bytes that Salt
//! 3008.5 prints for the same data (`salt/output/*.py`); `quiet` and
//! `newline_values_only` are kept from 3006, which had them last.
//!
//! Invariant: nothing here prints, reads a file or knows a terminal; a value
//! and options come in, text goes out, and no value makes it fail. Data that
//! an outputter cannot show is shown by `nested`, as in Salt.

mod color;
mod highstate;
mod json;
mod key;
mod nested;
mod plain;
mod pprint;
use halite_proto::python;
mod table;
mod textwrap;
mod yaml;

use halite_proto::Value;

pub use color::{Color, Palette};

/// The text formats there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputter {
    /// Results of state runs.
    Highstate,
    /// JSON, one document per call.
    Json,
    /// What `salt-key` lists.
    Key,
    /// The default: an indented tree.
    Nested,
    /// Values without ids, one a line (of Salt 3006).
    NewlineValuesOnly,
    /// Minions that did not return.
    NoReturn,
    /// Python's pretty print.
    Pprint,
    /// Nothing (of Salt 3006).
    Quiet,
    /// Python's `str()`.
    Raw,
    /// Boxed columns.
    Table,
    /// `id: line` for each line.
    Txt,
    /// YAML.
    Yaml,
}

impl Outputter {
    /// Every outputter with the name that `--out` takes.
    pub const ALL: [(&'static str, Self); 12] = [
        ("highstate", Self::Highstate),
        ("json", Self::Json),
        ("key", Self::Key),
        ("nested", Self::Nested),
        ("newline_values_only", Self::NewlineValuesOnly),
        ("no_return", Self::NoReturn),
        ("pprint", Self::Pprint),
        ("quiet", Self::Quiet),
        ("raw", Self::Raw),
        ("table", Self::Table),
        ("txt", Self::Txt),
        ("yaml", Self::Yaml),
    ];

    /// The outputter called `name`; `text` is another name of `txt`.
    pub fn parse(name: &str) -> Option<Self> {
        if name == "text" {
            return Some(Self::Txt);
        }
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, outputter)| *outputter)
    }
}

/// How far structured formats are indented (`output_indent`, `--out-indent`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Indent {
    /// Each format's own way; JSON takes four spaces.
    #[default]
    Unset,
    /// One line a document: a negative number, or null in a configuration.
    Compact,
    /// This many spaces.
    Spaces(usize),
    /// Four spaces and sorted keys.
    Pretty,
}

impl Indent {
    /// Reads `--out-indent`'s value.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "pretty" {
            return Some(Self::Pretty);
        }
        let number: i64 = text.trim().parse().ok()?;
        Some(usize::try_from(number).map_or(Self::Compact, Self::Spaces))
    }

    /// Reads the option `output_indent`; `None` for a value of another kind.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Nil => Some(Self::Compact),
            Value::Str(text) => Self::parse(text),
            Value::Int(number) => {
                Some(usize::try_from(*number).map_or(Self::Compact, Self::Spaces))
            }
            _ => None,
        }
    }
}

/// What the outputters may know besides the data.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// Colours as terminal sequences.
    pub color: bool,
    /// Whether escape characters of the data are made harmless.
    pub strip_colors: bool,
    /// Indentation of the structured formats.
    pub indent: Indent,
    /// The exit code of what is shown: anything but 0 is red in `nested`.
    pub retcode: i64,
    /// Where `nested` begins, in columns.
    pub nested_indent: usize,
    /// How `highstate` shows state runs.
    pub highstate: HighstateOptions,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            color: false,
            strip_colors: true,
            indent: Indent::Unset,
            retcode: 0,
            nested_indent: 0,
            highstate: HighstateOptions::default(),
        }
    }
}

/// The `state_*` options.
#[derive(Clone, Debug)]
pub struct HighstateOptions {
    /// `state_output`: full, terse, mixed, changes or filter, and each with
    /// `_id` behind it.
    pub output: String,
    /// `state_verbose`: also show what was right already.
    pub verbose: bool,
    /// `state_output_profile`: show start and duration.
    pub profile: bool,
    /// `state_output_pct`: percentages in the summary.
    pub percentages: bool,
    /// `state_output_diff`: only what changed or failed.
    pub diff: bool,
    /// `state_tabular`: how terse lines are laid out.
    pub tabular: Tabular,
    /// `state_compress_ids`: one entry for an id with several names.
    pub compress_ids: bool,
    /// `state_output_exclude`: results (`True`, `False`, `None`) that `filter`
    /// leaves out.
    pub exclude: Vec<String>,
    /// `state_output_terse`: results that `filter` shows in one line.
    pub terse: Vec<String>,
}

/// How a terse line is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tabular {
    /// As a sentence.
    No,
    /// In columns.
    Columns,
    /// As a text says, in the notation of Python's `str.format`.
    Format(String),
}

impl Tabular {
    /// Reads the option.
    pub fn read(value: &Value) -> Self {
        match value {
            Value::Str(format) => Self::Format(format.clone()),
            value if value.is_true() => Self::Columns,
            _ => Self::No,
        }
    }
}

impl Default for HighstateOptions {
    fn default() -> Self {
        Self {
            output: "full".to_owned(),
            verbose: true,
            profile: true,
            percentages: false,
            diff: false,
            tabular: Tabular::No,
            compress_ids: false,
            exclude: Vec::new(),
            terse: Vec::new(),
        }
    }
}

/// The data is not of the shape that the outputter shows.
#[derive(Debug)]
struct Unfit;

/// The text of `data` by the outputter called `name`, without white space at
/// its end. No name, or one that is not known, means `nested`.
pub fn render(name: Option<&str>, data: &Value, options: &RenderOptions) -> String {
    let outputter = name.and_then(Outputter::parse).unwrap_or(Outputter::Nested);
    render_as(outputter, data, options)
}

/// The text of `data` by `outputter`, without white space at its end.
pub fn render_as(outputter: Outputter, data: &Value, options: &RenderOptions) -> String {
    let text = match outputter {
        Outputter::Highstate => highstate::render(data, options),
        Outputter::Json => Ok(json::render(data, options.indent)),
        Outputter::Key => key::render(data, options),
        Outputter::Nested => Ok(nested::render(data, options)),
        Outputter::NewlineValuesOnly => plain::newline_values_only(data),
        Outputter::NoReturn => nested::render_no_return(data, options),
        Outputter::Pprint => Ok(pprint::render(data, options.indent)),
        Outputter::Quiet => Ok(String::new()),
        Outputter::Raw => Ok(python::str(data)),
        Outputter::Table => table::render(data, options),
        Outputter::Txt => Ok(plain::txt(data)),
        Outputter::Yaml => Ok(yaml::render(data, options.indent)),
    };
    let mut text = text.unwrap_or_else(|Unfit| nested::render(data, options));
    text.truncate(python::trim_end(&text).len());
    text
}
