//! `match.*`: whether a target matches this minion.

use halite_proto::{Map, Value};
use halite_range::RangeServer;
use halite_target::{DEFAULT_DELIMITER, Reading, Subject, Target};

use super::grains::map_argument;
use halite_call::{Call, CallError, CallResult, Function, Module, dicts::Choice, python};

pub(super) const MODULE: Module = Module {
    name: "match",
    functions: &[
        Function::new(
            "match.compound",
            "(tgt, minion_id=None)",
            compound,
            "Whether the minion is meant by a compound target.",
        ),
        Function::new(
            "match.data",
            "(tgt)",
            data,
            "Whether the minion's data store has a value: never, this minion has none.",
        ),
        Function::new(
            "match.filter_by",
            "(lookup, tgt_type='compound', minion_id=None, merge=None, merge_lists=False, default='default')",
            filter_by,
            "The first entry of a map whose key, a target, means this minion; the entry\n`default` where none does; under `merge`.",
        ),
        Function::new(
            "match.glob",
            "(tgt, minion_id=None)",
            glob,
            "Whether the minion's id matches a glob.",
        ),
        Function::new(
            "match.grain",
            "(tgt, delimiter=':')",
            grain,
            "Whether a grain matches a glob (`os:Deb*`).",
        ),
        Function::new(
            "match.grain_pcre",
            "(tgt, delimiter=':')",
            grain_pcre,
            "Whether a grain matches a regular expression.",
        ),
        Function::new(
            "match.ifelse",
            "(*args, tgt_type='compound', minion_id=None, merge=None, merge_lists=False)",
            ifelse,
            "Takes targets and values in turn and a value for the rest: the value behind\nthe first target that means this minion.",
        ),
        Function::new(
            "match.ipcidr",
            "(tgt)",
            ipcidr,
            "Whether the minion has an address, or one in a net.",
        ),
        Function::new(
            "match.list",
            "(tgt, minion_id=None)",
            list,
            "Whether the minion's id is in a list.",
        ),
        Function::new(
            "match.pcre",
            "(tgt, minion_id=None)",
            pcre,
            "Whether the minion's id matches a regular expression.",
        ),
        Function::new(
            "match.pillar",
            "(tgt, delimiter=':')",
            pillar,
            "Whether a pillar value matches a glob (`role:web*`).",
        ),
        Function::new(
            "match.pillar_pcre",
            "(tgt, delimiter=':')",
            pillar_pcre,
            "Whether a pillar value matches a regular expression.",
        ),
        Function::new(
            "match.search_by",
            "(lookup, tgt_type='compound', minion_id=None)",
            search_by,
            "The keys of a map whose lists hold a target that means this minion; None\nwhere there is no such key.",
        ),
    ],
};

/// The minion, or one of another id with the same data.
struct This {
    id: String,
    grains: std::sync::Arc<Map>,
    pillar: std::sync::Arc<Map>,
}

impl This {
    fn new(call: &Call<'_>) -> Self {
        let asked = call.get("minion_id").filter(|id| id.is_true());
        Self {
            id: asked.map_or_else(|| call.ctx.id(), python::str),
            grains: call.ctx.grains(),
            pillar: call.ctx.pillar(),
        }
    }
}

impl Subject for This {
    fn id(&self) -> &str {
        &self.id
    }

    fn grains(&self) -> Option<&Map> {
        Some(&self.grains)
    }

    fn pillar(&self) -> Option<&Map> {
        Some(&self.pillar)
    }
}

/// Whether `tgt` means `this`; a target that cannot be read means nobody.
fn means(call: &Call<'_>, this: &This, tgt: &Value, tgt_type: &str) -> Option<bool> {
    let delimiter = call.get("delimiter").map(python::str);
    let server = RangeServer::from_opts(call.ctx.opts());
    let reading = Reading {
        delimiter: delimiter.as_deref().unwrap_or(DEFAULT_DELIMITER),
        nodegroups: call.opt("nodegroups").as_map(),
        ranges: Some(&server),
    };
    match Target::parse_with(tgt, tgt_type, &reading) {
        Ok(target) => Some(target.matches(this)),
        Err(error) => {
            tracing::error!("{}", error.render(&python::str(tgt)));
            None
        }
    }
}

fn simple(call: &Call<'_>, tgt_type: &str) -> CallResult {
    let this = This::new(call);
    Ok(means(call, &this, call.arg("tgt"), tgt_type)
        .unwrap_or(false)
        .into())
}

fn compound(call: &Call<'_>) -> CallResult {
    simple(call, "compound")
}

fn glob(call: &Call<'_>) -> CallResult {
    simple(call, "glob")
}

fn pcre(call: &Call<'_>) -> CallResult {
    simple(call, "pcre")
}

fn list(call: &Call<'_>) -> CallResult {
    simple(call, "list")
}

fn grain(call: &Call<'_>) -> CallResult {
    simple(call, "grain")
}

fn grain_pcre(call: &Call<'_>) -> CallResult {
    simple(call, "grain_pcre")
}

fn pillar(call: &Call<'_>) -> CallResult {
    simple(call, "pillar")
}

fn pillar_pcre(call: &Call<'_>) -> CallResult {
    simple(call, "pillar_pcre")
}

fn data(_: &Call<'_>) -> CallResult {
    Ok(false.into())
}

fn ipcidr(call: &Call<'_>) -> CallResult {
    let this = This::new(call);
    // What is no address gives an empty list, as in Salt.
    Ok(
        means(call, &this, call.arg("tgt"), "ipcidr")
            .map_or_else(|| Vec::new().into(), Value::from),
    )
}

fn filter_by(call: &Call<'_>) -> CallResult {
    let lookup = map_argument(call, "lookup")?;
    let (this, tgt_type) = (This::new(call), call.text("tgt_type"));
    let picked = lookup
        .iter()
        .find(|(tgt, _)| means(call, &this, tgt, &tgt_type) == Some(true))
        .map(|(_, value)| value.clone());
    let choice = Choice {
        default: call.arg("default"),
        base: None,
        merge: call.arg("merge"),
        merge_lists: call.flag("merge_lists"),
    };
    choice.finish(lookup, picked)
}

fn search_by(call: &Call<'_>) -> CallResult {
    let lookup = map_argument(call, "lookup")?;
    let (this, tgt_type) = (This::new(call), call.text("tgt_type"));
    let mut found = Vec::new();
    for (key, targets) in lookup {
        // A plain text counts as a list of its characters, as in Salt.
        let targets: Vec<Value> = match targets {
            Value::List(targets) => targets.clone(),
            Value::Str(text) => text.chars().map(|char| char.to_string().into()).collect(),
            _ => Vec::new(),
        };
        if targets
            .iter()
            .any(|tgt| means(call, &this, tgt, &tgt_type) == Some(true))
        {
            found.push(key.clone());
        }
    }
    Ok(if found.is_empty() {
        Value::Nil
    } else {
        found.into()
    })
}

fn ifelse(call: &Call<'_>) -> CallResult {
    let args = call.varargs();
    let Some((default, pairs)) = args.split_last().filter(|(_, pairs)| pairs.len() % 2 == 0) else {
        return Err(CallError::exception(
            "salt.exceptions.SaltException",
            "The ifelse function must have an odd number of arguments!",
        ));
    };
    let (this, tgt_type) = (This::new(call), call.text("tgt_type"));
    let picked = pairs
        .chunks_exact(2)
        .find(|pair| means(call, &this, &pair[0], &tgt_type) == Some(true))
        .map_or(default, |pair| &pair[1]);
    let choice = Choice {
        default: &Value::from("default"),
        base: None,
        merge: call.arg("merge"),
        merge_lists: call.flag("merge_lists"),
    };
    choice.finish(&Map::new(), Some(picked.clone()))
}
