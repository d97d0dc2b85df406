//! States of the tables, chains and rules of nftables.

mod rules;

use self::rules::{Change, rule};
use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use super::iptables::missing;
use crate::nftables::tables::Tables;

pub(crate) const MODULE: Module = Module {
    name: "nftables",
    functions: &[
        Function::new(
            "nftables.append",
            "(name, family='ipv4', **kwargs)",
            |call| rule(call, Change::Append),
            "A chain has a rule, at its end if it must be added.",
        ),
        Function::new(
            "nftables.chain_absent",
            "(name, table='filter', family='ipv4')",
            chain_absent,
            "A table does not have a chain.",
        ),
        Function::new(
            "nftables.chain_present",
            "(name, table='filter', table_type=None, hook=None, priority=None, family='ipv4')",
            chain_present,
            "A table has a chain.",
        ),
        Function::new(
            "nftables.delete",
            "(name, family='ipv4', **kwargs)",
            |call| rule(call, Change::Delete),
            "A chain does not have a rule.",
        ),
        Function::new(
            "nftables.flush",
            "(name, family='ipv4', ignore_absence=False, **kwargs)",
            flush,
            "Removes the rules of a chain, or of all chains of a table.",
        ),
        Function::new(
            "nftables.insert",
            "(name, family='ipv4', **kwargs)",
            |call| rule(call, Change::Insert),
            "A chain has a rule, at a position if it must be added.",
        ),
        Function::new(
            "nftables.set_policy",
            "(name, table='filter', family='ipv4', **kwargs)",
            set_policy,
            "A chain has a policy.",
        ),
        Function::new(
            "nftables.table_absent",
            "(name, family='ipv4', **kwargs)",
            table_absent,
            "There is no such table.",
        ),
        Function::new(
            "nftables.table_present",
            "(name, family='ipv4', **kwargs)",
            table_present,
            "There is a table.",
        ),
    ],
};

/// The arguments that are the state's own.
fn own(call: &Call<'_>) -> Map {
    let mut kwargs = call.kwargs().clone();
    kwargs.retain(|key, _| {
        !key.as_str()
            .is_some_and(halite_state::keywords::is_internal)
    });
    kwargs
}

fn text(kwargs: &Map, name: &str) -> Result<String, CallError> {
    kwargs
        .get(name)
        .map(python::str)
        .ok_or_else(|| missing(name))
}

fn chain_present(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let (name, table, tables) = (
        call.text("name"),
        call.text("table"),
        Tables::from_call(call)?,
    );
    let family = &tables.family;
    if tables.has_chain(&table, &name)?.ok {
        return Ok(state
            .ok(format!(
                "nftables {name} chain is already exist in {table} table for {family}"
            ))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "nftables chain {name} would be created in table {table} for family {family}"
            ))
            .into());
    }
    let base = ["table_type", "hook", "priority"].map(|name| call.arg(name));
    let made = tables.new_chain(&table, &name, base)?;
    Ok(if made.ok {
        state
            .ok(format!(
                "nftables {name} chain in {table} table create success for {family}"
            ))
            .change("locale", name)
    } else {
        state.failed(format!(
            "Failed to create {name} chain in {table} table: {} for {family}",
            made.comment.trim()
        ))
    }
    .into())
}

fn chain_absent(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let (name, table, tables) = (
        call.text("name"),
        call.text("table"),
        Tables::from_call(call)?,
    );
    let family = &tables.family;
    if !tables.has_chain(&table, &name)?.ok {
        return Ok(state
            .ok(format!(
                "nftables {name} chain is already absent in {table} table for {family}"
            ))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "nftables chain {name} would be deleted from table {table} for family {family}"
            ))
            .into());
    }
    let mut verb = "flush";
    let mut done = tables.flush(&table, &name)?;
    if done.ok {
        verb = "delete";
        done = tables.delete_chain(&table, &name)?;
    }
    Ok(if done.ok {
        state
            .ok(format!(
                "nftables {name} chain in {table} table delete success for {family}"
            ))
            .change("locale", name)
    } else {
        state.failed(format!(
            "Failed to {verb} {name} chain in {table} table: {} for {family}",
            done.comment.trim()
        ))
    }
    .into())
}

fn flush(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    if call.is_test() {
        return Ok(state
            .pending("nftables flush not performed in test mode.")
            .into());
    }
    let (name, kwargs, tables) = (call.text("name"), own(call), Tables::from_call(call)?);
    let may_be_absent = call.flag("ignore_absence");
    let family = &tables.family;
    let table = kwargs
        .get("table")
        .map_or_else(|| "filter".to_owned(), python::str);
    let has_table = tables.has_table(&table)?.ok;
    if !may_be_absent && !has_table {
        return Ok(state
            .failed(format!(
                "Failed to flush table {table} in family {family}, table does not exist."
            ))
            .into());
    }
    let mut there = has_table;
    let chain = match kwargs.get("chain") {
        None => String::new(),
        Some(chain) => {
            let chain = python::str(chain);
            let has_chain = tables.has_chain(&table, &chain)?.ok;
            there &= has_chain;
            if !may_be_absent && !has_chain {
                return Ok(state
                    .failed(format!(
                        "Failed to flush chain {chain} in table {table} in family {family}, chain does not exist."
                    ))
                    .into());
            }
            chain
        }
    };
    let done = tables.flush(&table, &chain)?.ok || (may_be_absent && !there);
    Ok(if done {
        state
            .ok(format!(
                "Flush nftables rules in {table} table {chain} chain {family} family"
            ))
            .change("locale", name)
    } else {
        state.failed("Failed to flush nftables rules")
    }
    .into())
}

fn set_policy(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let (name, table, kwargs) = (call.text("name"), call.text("table"), own(call));
    let tables = Tables::from_call(call)?;
    let family = &tables.family;
    let (chain, policy) = (text(&kwargs, "chain")?, text(&kwargs, "policy")?);
    let current = tables.policy(&table, &chain)?.unwrap_or_default();
    let about = format!("nftables default policy for chain {chain} on table {table} for {family}");
    if current.to_lowercase() == policy.to_lowercase() {
        return Ok(state.ok(format!("{about} already set to {policy}")).into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("{about} needs to be set to {policy}"))
            .into());
    }
    if !tables.set_policy(&table, &chain, &policy.to_lowercase())? {
        return Ok(state.failed("Failed to set nftables default policy").into());
    }
    let verb = if kwargs.get("save").is_some_and(Value::is_true) {
        let file = kwargs.get("save_filename").filter(|file| file.is_true());
        tables.save(file.map(python::str).as_deref())?;
        "Set and saved"
    } else {
        "Set"
    };
    Ok(state
        .ok(format!(
            "{verb} default policy for {chain} to {policy} family {family}"
        ))
        .change("locale", name)
        .into())
}

fn table_present(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let (name, tables) = (call.text("name"), Tables::from_call(call)?);
    let family = &tables.family;
    if tables.has_table(&name)?.ok {
        return Ok(state
            .ok(format!(
                "nftables table {name} already exists in family {family}"
            ))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "nftables table {name} would be created in family {family}"
            ))
            .into());
    }
    Ok(if tables.new_table(&name)?.ok {
        state
            .ok(format!(
                "nftables table {name} successfully created in family {family}"
            ))
            .change("locale", name)
    } else {
        state.failed(format!("Failed to create table {name} for family {family}"))
    }
    .into())
}

fn table_absent(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let (name, tables) = (call.text("name"), Tables::from_call(call)?);
    let family = &tables.family;
    if !tables.has_table(&name)?.ok {
        return Ok(state
            .ok(format!(
                "nftables table {name} is already absent from family {family}"
            ))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "nftables table {name} would be deleted from family {family}"
            ))
            .into());
    }
    Ok(if tables.delete_table(&name)?.ok {
        state
            .ok(format!(
                "nftables table {name} successfully deleted from family {family}"
            ))
            .change("locale", name)
    } else {
        state.failed(format!(
            "Failed to delete table {name} from family {family}"
        ))
    }
    .into())
}
