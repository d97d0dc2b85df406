//! Single rules: there, or not there.

use halite_call::{Aggregation, Call, CallError, CallResult, Chunk, StateReturn, python};
use halite_proto::{Map, Value};

use crate::iptables::tables::Tables;

/// What becomes of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Append,
    Insert,
    Delete,
}

impl Change {
    fn letter(self) -> &'static str {
        match self {
            Self::Append => "A",
            Self::Insert => "I",
            Self::Delete => "D",
        }
    }
}

/// The arguments of one rule.
pub(super) struct Rule<'c, 'a> {
    pub(super) tables: Tables<'c, 'a>,
    pub(super) name: Value,
    pub(super) table: String,
    pub(super) family: String,
    pub(super) kwargs: Map,
}

/// The error of an argument that a rule must have.
pub(in crate::states) fn missing(name: &str) -> CallError {
    CallError::exception("KeyError", format!("'{name}'"))
}

impl<'c, 'a> Rule<'c, 'a> {
    fn new(
        call: &'c Call<'a>,
        name: Value,
        table: &Value,
        family: &Value,
        mut kwargs: Map,
    ) -> Self {
        kwargs.retain(|key, _| {
            !key.as_str().is_some_and(|key| {
                halite_state::keywords::is_internal(key)
                    || ["__agg__", "aggregate", "name_order"].contains(&key)
            })
        });
        Self {
            tables: Tables::named(call, family),
            name,
            table: python::str(table),
            family: python::str(family),
            kwargs,
        }
    }

    pub(super) fn from_call(call: &'c Call<'a>) -> Self {
        Self::new(
            call,
            call.arg("name").clone(),
            call.arg("table"),
            call.arg("family"),
            call.kwargs().clone(),
        )
    }

    pub(super) fn text(&self, name: &str) -> Result<String, CallError> {
        let value = self.kwargs.get(name).ok_or_else(|| missing(name))?;
        Ok(python::str(value))
    }

    /// Where to save the rules: nowhere, at the usual place, or in a file.
    pub(super) fn save(&self) -> Option<Option<String>> {
        save_place(self.kwargs.get("save"))
    }
}

fn save_place(value: Option<&Value>) -> Option<Option<String>> {
    match value {
        Some(Value::Bool(true)) => Some(None),
        Some(value) if value.is_true() => Some(Some(python::str(value))),
        _ => None,
    }
}

/// One rule, or the rules of several states.
pub(super) fn rules(call: &Call<'_>, change: Change) -> CallResult {
    let Some(list) = call.kwargs().get("rules") else {
        return Ok(one(Rule::from_call(call), change)?.into());
    };
    let mut state = StateReturn::of(call);
    state.result = None;
    let (mut names, mut comments, mut save) = (Vec::new(), Vec::new(), None);
    for low in list
        .as_list()
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_map)
    {
        let mut kwargs = low.clone();
        kwargs.remove("rules");
        if let Some(place) = save_place(kwargs.get("save")) {
            save = Some(place);
            kwargs.insert("save", false);
        }
        let name = kwargs.remove("name").ok_or_else(|| missing("name"))?;
        let mut part =
            |key: &str, default: &str| kwargs.remove(key).unwrap_or_else(|| Value::from(default));
        let (table, family) = (part("table", "filter"), part("family", "ipv4"));
        let done = one(Rule::new(call, name, &table, &family, kwargs), change)?;
        names.extend(done.changes.get("locale").cloned());
        comments.push(python::str(&done.comment));
        state.result = done.result;
    }
    if let Some(file) = save
        && !call.is_test()
    {
        Tables::from_call(call).save(file.as_deref())?;
    }
    if !names.is_empty() {
        state.changes.insert("locale", Value::List(names));
    }
    state.comment = comments.join("\n").into();
    Ok(state.into())
}

fn one(rule: Rule<'_, '_>, change: Change) -> Result<StateReturn, CallError> {
    let state = StateReturn::new(rule.name.clone());
    let name = python::str(&rule.name);
    let family = rule.family.clone();
    let position = rule.kwargs.get("position");
    let words = {
        let mut kwargs = rule.kwargs.clone();
        kwargs.remove("position");
        Tables::rule(kwargs)
    };
    let words = match words {
        Ok(words) => words,
        Err(text) => {
            return Ok(state.failed(failed(change, &name, text, &family)));
        }
    };
    let chain = rule.text("chain")?;
    let place = position.map(python::str).unwrap_or_default();
    let command = rule
        .tables
        .command(&rule.table, &chain, change.letter(), &place, &words)?;
    let command = command.trim();
    // How the command and the family stand in the comments.
    let both = match change {
        Change::Append => format!("({command}) for {family}"),
        Change::Insert | Change::Delete => format!("for {family} ({command})"),
    };
    let there = rule.tables.has(&rule.table, &chain, &words)?;
    match change {
        Change::Append | Change::Insert if there => {
            let mut comment = format!("iptables rule for {name} already set {both}");
            if let Some(file) = rule.save()
                && !rule.tables.call.is_test()
                && rule.tables.unsaved(file.as_deref())?
            {
                let out = rule.tables.save(file.as_deref())?;
                comment += &format!("\nSaved iptables rule {name} for {family}\n{command}\n{out}");
            }
            return Ok(state.ok(comment));
        }
        Change::Delete if !there && position.is_none() => {
            return Ok(state.ok(format!("iptables rule for {name} already absent {both}")));
        }
        _ => {}
    }
    if rule.tables.call.is_test() {
        let what = if change == Change::Delete {
            "deleted"
        } else {
            "set"
        };
        return Ok(state.pending(format!(
            "iptables rule for {name} needs to be {what} {both}"
        )));
    }
    let done = match change {
        Change::Append => rule.tables.append(&rule.table, &chain, &words)?,
        Change::Insert => {
            let position = position.ok_or_else(|| missing("position"))?;
            !rule
                .tables
                .insert(&rule.table, &chain, position, &words)?
                .is_true()
        }
        Change::Delete => {
            let what = if position.is_some() { &place } else { &words };
            rule.tables.delete(&rule.table, &chain, what)?.is_empty()
        }
    };
    if !done {
        return Ok(state.failed(failed(change, &name, command, &family)));
    }
    let comment = match rule.save() {
        Some(file) => {
            let out = rule.tables.save(file.as_deref())?;
            let verb = if change == Change::Delete {
                "Deleted"
            } else {
                "Set"
            };
            format!("{verb} and saved iptables rule {name} for {family}\n{command}\n{out}")
        }
        None if change == Change::Delete => format!("Delete iptables rule for {name} {command}"),
        None => format!("Set iptables rule for {name} to: {command} for {family}"),
    };
    Ok(state.ok(comment).change("locale", rule.name))
}

fn failed(change: Change, name: &str, command: &str, family: &str) -> String {
    match change {
        Change::Append => format!(
            "Failed to set iptables rule for {name}.\nAttempted rule was {command} for {family}"
        ),
        Change::Insert => {
            format!("Failed to set iptables rule for {name}.\nAttempted rule was {command}")
        }
        Change::Delete => {
            format!("Failed to delete iptables rule for {name}.\nAttempted rule was {command}")
        }
    }
}

/// The chunk with the rules of all states alike.
pub(super) fn mod_aggregate(call: &Call<'_>) -> CallResult {
    let Some(all) = Aggregation::of(call, "iptables", &["append", "insert"]) else {
        return Ok(call.arg("low").clone());
    };
    if all.others.is_empty() {
        return Ok(all.low.clone().into());
    }
    let mut rules = match all.low.get("rules") {
        Some(Value::List(own)) => own.clone(),
        _ => Vec::new(),
    };
    rules.extend(all.others.iter().map(Chunk::to_value));
    let taken: Vec<&Chunk> = all.others.iter().collect();
    Ok(all.taking(&taken, "rules", rules))
}
