//! States of the rules of iptables.

use halite_modules::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::iptables::tables::Tables;

pub(crate) const MODULE: Module = Module {
    name: "iptables",
    functions: &[
        Function::new(
            "iptables.append",
            "(name, table='filter', family='ipv4', **kwargs)",
            |call| rules(call, Change::Append),
            "A chain has a rule, at its end if it must be added.",
        ),
        Function::new(
            "iptables.chain_absent",
            "(name, table='filter', family='ipv4')",
            chain_absent,
            "A table does not have a chain.",
        ),
        Function::new(
            "iptables.chain_present",
            "(name, table='filter', family='ipv4')",
            chain_present,
            "A table has a chain.",
        ),
        Function::new(
            "iptables.delete",
            "(name, table='filter', family='ipv4', **kwargs)",
            |call| rules(call, Change::Delete),
            "A chain does not have a rule.",
        ),
        Function::new(
            "iptables.flush",
            "(name, table='filter', family='ipv4', **kwargs)",
            flush,
            "Removes the rules of a chain, or of all chains of a table.",
        ),
        Function::new(
            "iptables.insert",
            "(name, table='filter', family='ipv4', **kwargs)",
            |call| rules(call, Change::Insert),
            "A chain has a rule, at a position if it must be added.",
        ),
        Function::new(
            "iptables.mod_aggregate",
            "(low, chunks, running)",
            mod_aggregate,
            "Puts the rules of several states into one state.",
        ),
        Function::new(
            "iptables.set_policy",
            "(name, table='filter', family='ipv4', **kwargs)",
            set_policy,
            "A chain has a policy.",
        ),
    ],
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
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
struct Rule<'c, 'a> {
    tables: Tables<'c, 'a>,
    name: Value,
    table: String,
    family: String,
    kwargs: Map,
}

pub(super) fn missing(name: &str) -> CallError {
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

    fn of(call: &'c Call<'a>) -> Self {
        Self::new(
            call,
            call.arg("name").clone(),
            call.arg("table"),
            call.arg("family"),
            call.kwargs().clone(),
        )
    }

    fn text(&self, name: &str) -> Result<String, CallError> {
        let value = self.kwargs.get(name).ok_or_else(|| missing(name))?;
        Ok(python::str(value))
    }

    /// Where to save the rules: nowhere, at the usual place, or in a file.
    fn save(&self) -> Option<Option<String>> {
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
fn rules(call: &Call<'_>, change: Change) -> CallResult {
    let Some(list) = call.kwargs().get("rules") else {
        return Ok(one(Rule::of(call), change)?.into());
    };
    let mut state = StateReturn::new(call.arg("name").clone());
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
        Tables::of(call).save(file.as_deref())?;
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

fn chain_present(call: &Call<'_>) -> CallResult {
    let (name, table, family) = (call.text("name"), call.text("table"), call.text("family"));
    let state = StateReturn::new(call.arg("name").clone());
    let tables = Tables::of(call);
    if tables.has_chain(&table, &name)? {
        return Ok(state
            .ok(format!(
                "iptables {name} chain is already exist in {table} table for {family}"
            ))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "iptables {name} chain in {table} table needs to be set for {family}"
            ))
            .into());
    }
    let complaint = tables.new_chain(&table, &name)?;
    Ok(if complaint.is_empty() {
        state
            .ok(format!(
                "iptables {name} chain in {table} table create success for {family}"
            ))
            .change("locale", name)
    } else {
        state.failed(format!(
            "Failed to create {name} chain in {table} table: {} for {family}",
            complaint.trim()
        ))
    }
    .into())
}

fn chain_absent(call: &Call<'_>) -> CallResult {
    let (name, table, family) = (call.text("name"), call.text("table"), call.text("family"));
    let state = StateReturn::new(call.arg("name").clone());
    let tables = Tables::of(call);
    if !tables.has_chain(&table, &name)? {
        return Ok(state
            .ok(format!(
                "iptables {name} chain is already absent in {table} table for {family}"
            ))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "iptables {name} chain in {table} table needs to be removed {family}"
            ))
            .into());
    }
    let mut verb = "flush";
    let mut complaint = tables.flush(&table, &name)?;
    if complaint.is_empty() {
        verb = "delete";
        complaint = tables.delete_chain(&table, &name)?;
    }
    Ok(if complaint.is_empty() {
        state
            .ok(format!(
                "iptables {name} chain in {table} table delete success for {family}"
            ))
            .change("locale", name)
    } else {
        state.failed(format!(
            "Failed to {verb} {name} chain in {table} table: {} for {family}",
            complaint.trim()
        ))
    }
    .into())
}

fn set_policy(call: &Call<'_>) -> CallResult {
    let rule = Rule::of(call);
    let (chain, policy) = (rule.text("chain")?, rule.kwargs.get("policy").cloned());
    let (table, family) = (&rule.table, &rule.family);
    let state = StateReturn::new(rule.name.clone());
    let current = rule.tables.policy(table, &chain)?;
    let policy = policy.ok_or_else(|| missing("policy"))?;
    let wanted = python::str(&policy);
    let about = format!("iptables default policy for chain {chain} on table {table} for {family}");
    if current == policy {
        return Ok(state.ok(format!("{about} already set to {wanted}")).into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("{about} needs to be set to {wanted}"))
            .into());
    }
    if !rule.tables.set_policy(table, &chain, &wanted)?.is_empty() {
        return Ok(state.failed("Failed to set iptables default policy").into());
    }
    let verb = match rule.save() {
        Some(file) => {
            rule.tables.save(file.as_deref())?;
            "Set and saved"
        }
        None => "Set",
    };
    Ok(state
        .ok(format!(
            "{verb} default policy for {chain} to {wanted} family {family}"
        ))
        .change("locale", rule.name)
        .into())
}

fn flush(call: &Call<'_>) -> CallResult {
    let rule = Rule::of(call);
    let chain = rule
        .kwargs
        .get("chain")
        .map(python::str)
        .unwrap_or_default();
    let (table, family) = (&rule.table, &rule.family);
    let state = StateReturn::new(rule.name.clone());
    if call.is_test() {
        let name = python::str(&rule.name);
        return Ok(state
            .pending(format!(
                "iptables rules in {name} table {table} chain {family} family needs to be flushed"
            ))
            .into());
    }
    if !rule.tables.flush(table, &chain)?.is_empty() {
        return Ok(state.failed("Failed to flush iptables rules").into());
    }
    Ok(state
        .ok(format!(
            "Flush iptables rules in {table} table {chain} chain {family} family"
        ))
        .change("locale", rule.name)
        .into())
}

/// The key of a chunk among results.
fn tag(chunk: &Map) -> String {
    let part = |name: &str| chunk.get(name).map(python::str).unwrap_or_default();
    [part("state"), part("__id__"), part("name"), part("fun")].join("_|-")
}

/// Returns `low` with the rules of all states alike. The chunks it took over
/// are listed in its `__agg_tags__`, since they cannot be marked from here.
fn mod_aggregate(call: &Call<'_>) -> CallResult {
    let Value::Map(low) = call.arg("low") else {
        return Ok(call.arg("low").clone());
    };
    let fun = low.get("fun").and_then(Value::as_str);
    if !matches!(fun, Some("append" | "insert")) {
        return Ok(low.clone().into());
    }
    let chunks = call.arg("chunks").as_list().unwrap_or_default();
    let taken: Vec<&Map> = chunks
        .iter()
        .filter_map(Value::as_map)
        .filter(|chunk| {
            chunk.get("state").and_then(Value::as_str) == Some("iptables")
                && chunk.get("fun").and_then(Value::as_str) == fun
                && !chunk.contains_key("__agg__")
                && call.arg("running").get(&tag(chunk)).is_none()
        })
        .collect();
    let mut low = low.clone();
    if !taken.is_empty() {
        let mut rules = match low.get("rules") {
            Some(Value::List(own)) => own.clone(),
            _ => Vec::new(),
        };
        rules.extend(taken.iter().map(|chunk| Value::from((*chunk).clone())));
        let tags = taken.iter().map(|chunk| Value::from(tag(chunk))).collect();
        low.insert("rules", Value::List(rules));
        low.insert("__agg_tags__", Value::List(tags));
    }
    Ok(low.into())
}
