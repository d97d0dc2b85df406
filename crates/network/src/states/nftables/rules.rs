//! States of the rules of nftables.
use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::Value;

use super::{missing, own, text};
use crate::nftables::answer::Answer;
use crate::nftables::tables::Tables;

/// What a state does with a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Append,
    Insert,
    Delete,
}

/// A rule of a chain.
struct Rule {
    table: String,
    chain: String,
    words: String,
    /// Its place in the chain, as the state gives it.
    position: Option<Value>,
}

impl Rule {
    fn change(&self, tables: &Tables<'_, '_>, change: Change) -> Result<Answer, CallError> {
        let (table, chain, words) = (&self.table, &self.chain, &self.words);
        let position = self.position.as_ref();
        let place = position.filter(|place| place.is_true()).map(python::str);
        match (change, place) {
            (Change::Append, _) => tables.add(table, chain, words, None),
            (Change::Insert, _) if position.is_none() => Err(missing("position")),
            (Change::Insert, place) => {
                tables.add(table, chain, words, Some(&place.unwrap_or_default()))
            }
            (Change::Delete, Some(place)) => tables.delete(table, chain, Some(&place), None),
            (Change::Delete, None) => tables.delete(table, chain, None, Some(words)),
        }
    }
}

pub(super) fn rule(call: &Call<'_>, change: Change) -> CallResult {
    let state = StateReturn::of(call);
    let (name, kwargs, tables) = (call.text("name"), own(call), Tables::from_call(call)?);
    let family = &tables.family;
    let mut of_rule = kwargs.clone();
    let position = of_rule.remove("position");
    let words = tables.rule(of_rule)?;
    let rule = Rule {
        table: text(&kwargs, "table")?,
        chain: text(&kwargs, "chain")?,
        words,
        position,
    };
    let words = &rule.words;
    let there = tables.has(&rule.table, &rule.chain, words)?.ok;
    let both = match change {
        Change::Append => format!("({words}) for {family}"),
        Change::Insert | Change::Delete => format!("for {family} ({words})"),
    };
    let is = match (change, there) {
        (Change::Append | Change::Insert, true) => Some("set"),
        (Change::Delete, false) => Some("absent"),
        _ => None,
    };
    if let Some(is) = is {
        let comment = format!("nftables rule for {name} already {is} {both}");
        return Ok(state.ok(comment).into());
    }
    if call.is_test() {
        let what = match change {
            Change::Delete => "deleted",
            Change::Append | Change::Insert => "set",
        };
        let comment = format!("nftables rule for {name} needs to be {what} {both}");
        return Ok(state.pending(comment).into());
    }
    let done = rule.change(&tables, change)?;
    if !done.ok {
        let comment = failure(change, &name, words, family, &done.comment);
        return Ok(state.failed(comment).into());
    }
    let saved = kwargs.get("save").is_some_and(Value::is_true);
    if saved {
        tables.save(None)?;
    }
    let comment = success(change, saved, &name, words, family);
    Ok(state.ok(comment).change("locale", name).into())
}

fn failure(change: Change, name: &str, words: &str, family: &str, why: &str) -> String {
    let verb = match change {
        Change::Delete => "delete",
        Change::Append | Change::Insert => "set",
    };
    let comment = format!("Failed to {verb} nftables rule for {name}.\nAttempted rule was {words}");
    match change {
        Change::Append => format!("{comment} for {family}.\n{why}"),
        Change::Insert | Change::Delete => comment,
    }
}

fn success(change: Change, saved: bool, name: &str, words: &str, family: &str) -> String {
    match (change, saved) {
        (Change::Delete, true) => {
            format!("Deleted and Saved nftables rule for {name} for {words}{family}")
        }
        (Change::Delete, false) => format!("Delete nftables rule for {name} {words}"),
        (_, true) => format!("Set and Saved nftables rule for {name} to: {words} for {family}"),
        (_, false) => format!("Set nftables rule for {name} to: {words} for {family}"),
    }
}
