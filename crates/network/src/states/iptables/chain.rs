//! Chains: present, empty, or with a policy.

use halite_call::{Call, CallResult, StateReturn, python};

use super::rule::{Rule, missing};
use crate::iptables::tables::Tables;

pub(super) fn chain_present(call: &Call<'_>) -> CallResult {
    let (name, table, family) = (call.text("name"), call.text("table"), call.text("family"));
    let state = StateReturn::of(call);
    let tables = Tables::from_call(call);
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

pub(super) fn chain_absent(call: &Call<'_>) -> CallResult {
    let (name, table, family) = (call.text("name"), call.text("table"), call.text("family"));
    let state = StateReturn::of(call);
    let tables = Tables::from_call(call);
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

pub(super) fn set_policy(call: &Call<'_>) -> CallResult {
    let rule = Rule::from_call(call);
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

pub(super) fn flush(call: &Call<'_>) -> CallResult {
    let rule = Rule::from_call(call);
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
