//! States of the rules of iptables.

mod chain;
mod rule;

use halite_call::{Function, Module};
pub(super) use rule::missing;
use rule::{Change, mod_aggregate, rules};

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
            chain::chain_absent,
            "A table does not have a chain.",
        ),
        Function::new(
            "iptables.chain_present",
            "(name, table='filter', family='ipv4')",
            chain::chain_present,
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
            chain::flush,
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
            chain::set_policy,
            "A chain has a policy.",
        ),
    ],
};
