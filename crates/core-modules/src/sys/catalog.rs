//! Everything that `sys` can describe: execution and state functions, runners,
//! returners and renderers.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use halite_call::{
    Call, Function, Job, MinionContext, Module, Signature,
    extensions::{self, ExtensionKind},
    within_call,
};
use halite_proto::Map;

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

    fn of(what: What, function: &Function) -> Self {
        Self {
            name: function.name.to_owned(),
            doc: match what {
                What::States => function.state_doc_text(),
                _ => function.doc_text(),
            },
            signature: function.signature.to_owned(),
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
    ("pyobjects", "Python code that declares states to data."),
    ("text", "Text stays text."),
    ("yaml", "YAML to data."),
];

/// Whether texts are wanted: those of an installed Salt are many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    With,
    Without,
}

/// All that is here, and what of an installed Salt the words mean: modules,
/// functions, patterns; everything without words. Modules that we have are
/// told of without asking anybody else.
pub(super) fn asked(call: &Call<'_>, what: What, words: &[String], texts: Texts) -> Vec<Entry> {
    let mut entries = all(call, what);
    let kind = match what {
        What::Modules => ExtensionKind::Modules,
        What::States => ExtensionKind::States,
        _ => return entries,
    };
    let has_glob = |text: &str| text.contains(['*', '?', '[']);
    let (mut everything, mut modules, mut functions) = (words.is_empty(), Vec::new(), Vec::new());
    for word in words {
        let module = word.split('.').next().unwrap_or_default();
        if has_glob(module) {
            everything = true;
        } else if word.contains('.') && !has_glob(word) {
            if !entries.iter().any(|entry| entry.name == *word) {
                functions.push(word.as_str());
            }
        } else if !entries.iter().any(|entry| entry.module() == module) {
            modules.push(module);
        }
    }
    let docs = texts == Texts::With;
    let mut found = Vec::new();
    if everything {
        found = extensions::catalog(call, kind, None, docs);
    } else {
        for module in modules {
            found.extend(extensions::catalog(call, kind, Some(module), docs));
        }
        let functions = functions.into_iter();
        let functions = functions.filter_map(|name| extensions::of_salt(call.ctx, kind, name));
        entries.extend(functions.map(|function| Entry::of(what, function)));
    }
    let ours: HashSet<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let found = found
        .into_iter()
        .filter(|known| !ours.contains(&known.name));
    entries.extend(found.map(|known| Entry {
        name: known.name,
        doc: known.doc,
        signature: known.signature,
    }));
    entries
}

/// All of a kind; users' own hide ours.
pub(super) fn all(call: &Call<'_>, what: What) -> Vec<Entry> {
    let with_users = |kind: ExtensionKind, ours: &mut dyn Iterator<Item = &'static Function>| {
        let users = extensions::functions(call.ctx, kind);
        let hidden: BTreeSet<&str> = users.iter().map(|function| function.name).collect();
        ours.filter(|function| !hidden.contains(function.name))
            .chain(users.iter().copied())
            .map(|function| Entry::of(what, function))
            .collect()
    };
    let (registry, host) = (call.ctx.registry(), call.host());
    let brings = |module: &str| extensions::has_module(call.ctx, ExtensionKind::Modules, module);
    let available = |modules: &mut dyn Iterator<Item = &'static Module>| {
        let met = modules.filter(|module| {
            let unmet = registry.unmet(module.name, |program| host.has(program));
            unmet.is_none_or(|unmet| what == What::States && !unmet.refuses_states(brings))
        });
        let functions: Vec<_> = met.flat_map(|module| module.functions.iter()).collect();
        functions.into_iter()
    };
    match what {
        What::Modules => with_users(
            ExtensionKind::Modules,
            &mut available(&mut registry.modules()),
        ),
        What::States => with_users(
            ExtensionKind::States,
            &mut available(&mut registry.state_modules()),
        ),
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

/// What the execution functions do whose names begin so: for somebody who has
/// asked for one that is not there. Those of an installed Salt, which would
/// have to be asked, are left out.
pub fn beginning_with(ctx: &dyn MinionContext, job: &Job, start: &str) -> Map {
    let entries = within_call(ctx, job, |call| all(call, What::Modules));
    let alike = entries.into_iter();
    let alike = alike.filter(|entry| entry.name.starts_with(start));
    let docs: BTreeMap<String, String> = alike.map(|entry| (entry.name, entry.doc)).collect();
    docs.into_iter().collect()
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
