//! The table of the functions.

use halite_call::{Call, CallResult, Function, Module};

use super::{entries, run, sets};

pub(crate) const MODULE: Module = Module {
    name: "ipset",
    functions: &[
        Function::new(
            "ipset.add",
            "(name=None, entry=None, family='ipv4', **kwargs)",
            entries::add,
            "Adds an entry to a set, with timeout (seconds), packets, bytes, skbmark,\nskbprio, skbqueue and comment where the set was made for them.",
        ),
        Function::new(
            "ipset.check",
            "(name=None, entry=None, family='ipv4')",
            entries::check,
            "Whether a set has an entry, or all of a list or network.",
        ),
        Function::new(
            "ipset.check_set",
            "(name=None, family='ipv4')",
            sets::check,
            "Whether there is a set.",
        ),
        Function::new(
            "ipset.delete",
            "(name=None, entry=None, family='ipv4', **kwargs)",
            entries::delete,
            "Removes an entry from a set.",
        ),
        Function::new(
            "ipset.delete_set",
            "(name=None, family='ipv4')",
            sets::delete,
            "Deletes a set.",
        ),
        Function::new(
            "ipset.flush",
            "(name=None, family='ipv4')",
            sets::flush,
            "Removes all entries from a set, or from all sets.",
        ),
        Function::new(
            "ipset.list_sets",
            "(family='ipv4')",
            sets::list,
            "The sets, and what they were made with.",
        ),
        Function::new(
            "ipset.new_set",
            "(name=None, set_type=None, family='ipv4', comment=False, **kwargs)",
            sets::make,
            "Makes a set of a kind (hash:ip, hash:net, ...), with range, maxelem,\nhashsize, netmask, size, timeout (seconds), counters, skbinfo and comment.",
        ),
        Function::new(
            "ipset.rename_set",
            "(name=None, new_set=None, family='ipv4')",
            sets::rename,
            "Gives a set another name.",
        ),
        Function::new(
            "ipset.test",
            "(name=None, entry=None, family='ipv4', **kwargs)",
            entries::test,
            "Whether the kernel finds an entry in a set.",
        ),
        Function::new("ipset.version", "()", version, "The version of ipset."),
    ],
};

fn version(call: &Call<'_>) -> CallResult {
    let said = run(call, &["--version"])?.stdout;
    let word = said.split_whitespace().nth(1).unwrap_or_default();
    Ok(word.trim_end_matches(',').into())
}
