//! Single rules: present or absent.

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
    let mut kwargs = rule.kwargs.clone();
    kwargs.remove("position");
    let words = match Tables::rule(kwargs) {
        Ok(words) => words,
        Err(text) => {
            let name = python::str(&rule.name);
            return Ok(state.failed(failed(change, &name, text, &rule.family)));
        }
    };
    let attempt = Attempt::new(&rule, change, words)?;
    if attempt.is_needless()? {
        return Ok(state.ok(attempt.already()?));
    }
    if rule.tables.call.is_test() {
        return Ok(state.pending(attempt.prediction()));
    }
    let Attempt { name, command, .. } = &attempt;
    if !attempt.run()? {
        return Ok(state.failed(failed(change, name, command, &rule.family)));
    }
    let comment = attempt.done()?;
    Ok(state.ok(comment).change("locale", rule.name.clone()))
}

/// A rule with the command that changes it.
struct Attempt<'r, 'c, 'a> {
    rule: &'r Rule<'c, 'a>,
    change: Change,
    name: String,
    chain: String,
    words: String,
    position: Option<&'r Value>,
    command: String,
}

impl<'r, 'c, 'a> Attempt<'r, 'c, 'a> {
    fn new(rule: &'r Rule<'c, 'a>, change: Change, words: String) -> Result<Self, CallError> {
        let position = rule.kwargs.get("position");
        let chain = rule.text("chain")?;
        let place = position.map(python::str).unwrap_or_default();
        let command = rule
            .tables
            .command(&rule.table, &chain, change.letter(), &place, &words)?;
        Ok(Self {
            rule,
            change,
            name: python::str(&rule.name),
            chain,
            words,
            position,
            command: command.trim().to_owned(),
        })
    }

    /// How the command and the family stand in the comments.
    fn command_and_family(&self) -> String {
        let (command, family) = (&self.command, &self.rule.family);
        match self.change {
            Change::Append => format!("({command}) for {family}"),
            Change::Insert | Change::Delete => format!("for {family} ({command})"),
        }
    }

    /// Whether the rule is as it is wanted.
    fn is_needless(&self) -> Result<bool, CallError> {
        let Self { rule, chain, .. } = self;
        let is_there = rule.tables.has(&rule.table, chain, &self.words)?;
        Ok(match self.change {
            Change::Append | Change::Insert => is_there,
            Change::Delete => !is_there && self.position.is_none(),
        })
    }

    /// The comment on a rule that is as it is wanted. One that is set is saved, if
    /// that was not done before.
    fn already(&self) -> Result<String, CallError> {
        let (rule, name, both) = (self.rule, &self.name, self.command_and_family());
        if self.change == Change::Delete {
            return Ok(format!("iptables rule for {name} already absent {both}"));
        }
        let mut comment = format!("iptables rule for {name} already set {both}");
        if let Some(file) = rule.save()
            && !rule.tables.call.is_test()
            && rule.tables.unsaved(file.as_deref())?
        {
            let out = rule.tables.save(file.as_deref())?;
            let (command, family) = (&self.command, &rule.family);
            comment += &format!("\nSaved iptables rule {name} for {family}\n{command}\n{out}");
        }
        Ok(comment)
    }

    fn prediction(&self) -> String {
        let (name, both) = (&self.name, self.command_and_family());
        let what = if self.change == Change::Delete {
            "deleted"
        } else {
            "set"
        };
        format!("iptables rule for {name} needs to be {what} {both}")
    }

    /// Changes the rule; whether that was done.
    fn run(&self) -> Result<bool, CallError> {
        let Self {
            rule,
            chain,
            words,
            position,
            ..
        } = self;
        let (tables, table) = (&rule.tables, &rule.table);
        match self.change {
            Change::Append => tables.append(table, chain, words),
            Change::Insert => {
                let position = position.ok_or_else(|| missing("position"))?;
                let error = tables.insert(table, chain, position, words)?;
                Ok(!error.is_true())
            }
            Change::Delete => {
                let place = position.map(python::str);
                let what = place.as_ref().unwrap_or(words);
                Ok(tables.delete(table, chain, what)?.is_empty())
            }
        }
    }

    /// The comment on a rule that was changed, which is saved if that is asked for.
    fn done(&self) -> Result<String, CallError> {
        let Self {
            rule,
            name,
            command,
            ..
        } = self;
        let family = &rule.family;
        let deletes = self.change == Change::Delete;
        let Some(file) = rule.save() else {
            return Ok(if deletes {
                format!("Delete iptables rule for {name} {command}")
            } else {
                format!("Set iptables rule for {name} to: {command} for {family}")
            });
        };
        let out = rule.tables.save(file.as_deref())?;
        let verb = if deletes { "Deleted" } else { "Set" };
        Ok(format!(
            "{verb} and saved iptables rule {name} for {family}\n{command}\n{out}"
        ))
    }
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
