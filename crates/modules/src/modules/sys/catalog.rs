//! Everything that `sys` can tell of: execution and state functions, runners,
//! returners and renderers.

use std::collections::BTreeSet;

use halite_proto::Map;
use halite_signature::Signature;

use crate::call::Call;
use crate::extensions::{self, Kind};
use crate::registry::Function;

/// The runners of the master, which are no part of this program: name,
/// parameters and documentation. A test of the master keeps it up to date.
pub const RUNNERS: &str = include_str!("runners.tsv");

/// What is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Modules,
    States,
    Runners,
    Returners,
    Renderers,
}

/// One function.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) doc: String,
    signature: String,
}

impl Entry {
    fn new(name: &str, signature: &str, doc: &str) -> Self {
        Self {
            name: name.to_owned(),
            doc: format!("\n    {}\n    ", doc.replace('\n', "\n    ")),
            signature: signature.to_owned(),
        }
    }

    pub(super) fn module(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// The parameters, as Python's `inspect` tells them.
    pub(super) fn argspec(&self) -> Map {
        let signature = Signature::parse(&self.signature);
        signature.unwrap_or_default().argspec()
    }

    pub(super) fn signature(&self) -> Signature {
        Signature::parse(&self.signature).unwrap_or_default()
    }
}

impl From<&Function> for Entry {
    fn from(function: &Function) -> Self {
        Self {
            name: function.name.to_owned(),
            doc: function.doc_text(),
            signature: function.signature.to_owned(),
        }
    }
}

const RETURNERS: &[(&str, &str, &str)] = &[
    (
        "local.returner",
        "(ret)",
        "Shows the result on the terminal of the program.",
    ),
    (
        "local_cache.get_jid",
        "(jid)",
        "The returns of a job that were kept.",
    ),
    ("local_cache.get_jids", "()", "The jobs that were kept."),
    (
        "local_cache.returner",
        "(load)",
        "Keeps the result in the job cache of the minion.",
    ),
    (
        "rawfile_json.returner",
        "(ret)",
        "Appends the result as a line of JSON to a file.",
    ),
    (
        "syslog.returner",
        "(ret)",
        "Sends the result to the log of the system.",
    ),
];

const RENDERERS: &[(&str, &str)] = &[
    ("gpg", "Decrypts the encrypted texts in data or text."),
    ("jinja", "A template to text."),
    ("json", "JSON to data."),
    ("py", "Python code with a function run to data."),
    ("text", "Text stays text."),
    ("yaml", "YAML to data."),
];

/// All of a kind; users' own hide ours.
pub(super) fn all(call: &Call<'_>, what: What) -> Vec<Entry> {
    let with_users = |kind: Kind, ours: &mut dyn Iterator<Item = &'static Function>| {
        let users = extensions::functions(call.ctx, kind);
        let hidden: BTreeSet<&str> = users.iter().map(|function| function.name).collect();
        ours.filter(|function| !hidden.contains(function.name))
            .chain(users.iter().copied())
            .map(Entry::from)
            .collect()
    };
    let registry = call.ctx.registry();
    match what {
        What::Modules => with_users(Kind::Modules, &mut registry.functions()),
        What::States => {
            let mut functions = registry
                .state_modules()
                .flat_map(|module| module.functions.iter());
            with_users(Kind::States, &mut functions)
        }
        What::Runners => RUNNERS
            .lines()
            .filter_map(|line| {
                let mut fields = line.splitn(3, '\t');
                let mut next = || fields.next();
                let (name, signature, doc) = (next()?, next()?, next()?);
                Some(Entry::new(name, signature, &doc.replace("\\n", "\n")))
            })
            .collect(),
        What::Returners => RETURNERS
            .iter()
            .map(|(name, signature, doc)| Entry::new(name, signature, doc))
            .collect(),
        What::Renderers => RENDERERS
            .iter()
            .map(|(name, doc)| Entry::new(name, "(data, saltenv='base', sls='', **kwargs)", doc))
            .collect(),
    }
}

/// The text of [`RUNNERS`] for these functions: what the file has to hold.
pub fn runners_listed<'a>(
    functions: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
) -> String {
    let mut lines: Vec<String> = functions
        .into_iter()
        .map(|(name, signature, doc)| {
            format!("{name}\t{signature}\t{}\n", doc.replace('\n', "\\n"))
        })
        .collect();
    lines.sort();
    lines.concat()
}
