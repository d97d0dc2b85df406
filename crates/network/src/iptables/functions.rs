//! The execution module `iptables`.

use halite_call::{Call, CallError, CallResult, Function, Module};
use halite_proto::Value;

use super::tables::{NO_CHAIN, NO_RULE, Tables, policy_of};

pub(crate) const MODULE: Module = Module {
    name: "iptables",
    functions: &[
        Function::new(
            "iptables.append",
            "(table='filter', chain=None, rule=None, family='ipv4')",
            append,
            "Adds a rule at the end of a chain, if the chain does not have it.",
        ),
        Function::new(
            "iptables.build_rule",
            "(table='filter', chain=None, command=None, position='', full=None, family='ipv4', **kwargs)",
            build_rule,
            "The rule that the arguments describe, with full=True the whole command line.",
        ),
        Function::new(
            "iptables.check",
            "(table='filter', chain=None, rule=None, family='ipv4')",
            check,
            "Whether a chain has a rule.",
        ),
        Function::new(
            "iptables.check_chain",
            "(table='filter', chain=None, family='ipv4')",
            check_chain,
            "Whether a table has a chain.",
        ),
        Function::new(
            "iptables.delete",
            "(table, chain=None, position=None, rule=None, family='ipv4')",
            delete,
            "Removes a rule from a chain, by its position or as a whole.",
        ),
        Function::new(
            "iptables.delete_chain",
            "(table='filter', chain=None, family='ipv4')",
            delete_chain,
            "Removes a chain.",
        ),
        Function::new(
            "iptables.flush",
            "(table='filter', chain='', family='ipv4')",
            flush,
            "Removes all rules of a chain, or of all chains of a table.",
        ),
        Function::new(
            "iptables.get_policy",
            "(table='filter', chain=None, family='ipv4')",
            get_policy,
            "The policy of a chain that is in force.",
        ),
        Function::new(
            "iptables.get_rules",
            "(family='ipv4')",
            get_rules,
            "The rules that are in force.",
        ),
        Function::new(
            "iptables.get_saved_policy",
            "(table='filter', chain=None, conf_file=None, family='ipv4')",
            get_saved_policy,
            "The policy of a chain in the file that keeps rules.",
        ),
        Function::new(
            "iptables.get_saved_rules",
            "(conf_file=None, family='ipv4')",
            get_saved_rules,
            "The rules in the file that keeps them.",
        ),
        Function::new(
            "iptables.insert",
            "(table='filter', chain=None, position=None, rule=None, family='ipv4')",
            insert,
            "Puts a rule at a position of a chain, if the chain does not have it. A position below 0 counts from the end.",
        ),
        Function::new(
            "iptables.new_chain",
            "(table='filter', chain=None, family='ipv4')",
            new_chain,
            "Makes a chain.",
        ),
        Function::new(
            "iptables.save",
            "(filename=None, family='ipv4')",
            save,
            "Keeps the rules that are in force in a file. The option iptables.save_filters, a list of regular expressions, leaves out lines.",
        ),
        Function::new(
            "iptables.set_policy",
            "(table='filter', chain=None, policy=None, family='ipv4')",
            set_policy,
            "Sets the policy of a chain.",
        ),
        Function::new(
            "iptables.version",
            "(family='ipv4')",
            version,
            "The version of iptables.",
        ),
    ],
};

fn version(call: &Call<'_>) -> CallResult {
    let ran = Tables::from_call(call).run("--version")?;
    let version = ran.stdout.split_whitespace().nth(1);
    let version =
        version.ok_or_else(|| CallError::exception("IndexError", "list index out of range"))?;
    Ok(version.into())
}

fn build_rule(call: &Call<'_>) -> CallResult {
    let rule = match Tables::rule(call.kwargs().clone()) {
        Ok(rule) => rule,
        Err(text) => return Ok(text.into()),
    };
    if !call.flag("full") {
        return Ok(rule.into());
    }
    for (name, text) in [
        ("table", "Error: Table needs to be specified"),
        ("chain", NO_CHAIN),
        ("command", "Error: Command needs to be specified"),
    ] {
        if !call.flag(name) {
            return Ok(text.into());
        }
    }
    let line = Tables::from_call(call).command(
        &call.text("table"),
        &call.text("chain"),
        &call.text("command"),
        &call.text("position"),
        &rule,
    )?;
    Ok(line.into())
}

/// The table and the chain, and the rule if it is wanted.
fn place(call: &Call<'_>, with_rule: bool) -> Result<(String, String, String), &'static str> {
    let rule = if with_rule {
        call.text("rule")
    } else {
        String::new()
    };
    if !call.flag("chain") {
        return Err(NO_CHAIN);
    }
    if with_rule && !call.flag("rule") {
        return Err(NO_RULE);
    }
    Ok((call.text("table"), call.text("chain"), rule))
}

fn append(call: &Call<'_>) -> CallResult {
    match place(call, true) {
        Ok((table, chain, rule)) => Ok(Tables::from_call(call)
            .append(&table, &chain, &rule)?
            .into()),
        Err(text) => Ok(text.into()),
    }
}

fn check(call: &Call<'_>) -> CallResult {
    match place(call, true) {
        Ok((table, chain, rule)) => Ok(Tables::from_call(call).has(&table, &chain, &rule)?.into()),
        Err(text) => Ok(text.into()),
    }
}

fn check_chain(call: &Call<'_>) -> CallResult {
    match place(call, false) {
        Ok((table, chain, _)) => Ok(Tables::from_call(call).has_chain(&table, &chain)?.into()),
        Err(text) => Ok(text.into()),
    }
}

fn insert(call: &Call<'_>) -> CallResult {
    if !call.flag("chain") {
        return Ok(NO_CHAIN.into());
    }
    if !call.flag("position") {
        return Ok("Error: Position needs to be specified or use append (-A)".into());
    }
    match place(call, true) {
        Ok((table, chain, rule)) => {
            Tables::from_call(call).insert(&table, &chain, call.arg("position"), &rule)
        }
        Err(text) => Ok(text.into()),
    }
}

fn delete(call: &Call<'_>) -> CallResult {
    let (position, rule) = (call.flag("position"), call.flag("rule"));
    if position && rule {
        return Ok("Error: Only specify a position or a rule, not both".into());
    }
    let rule = call.text(if position { "position" } else { "rule" });
    let (table, chain) = (call.text("table"), call.text("chain"));
    Ok(Tables::from_call(call)
        .delete(&table, &chain, &rule)?
        .into())
}

/// Nothing to complain about is true.
fn complaint(text: String) -> Value {
    if text.is_empty() {
        true.into()
    } else {
        text.into()
    }
}

fn new_chain(call: &Call<'_>) -> CallResult {
    match place(call, false) {
        Ok((table, chain, _)) => Ok(complaint(
            Tables::from_call(call).new_chain(&table, &chain)?,
        )),
        Err(text) => Ok(text.into()),
    }
}

fn delete_chain(call: &Call<'_>) -> CallResult {
    match place(call, false) {
        Ok((table, chain, _)) => Ok(complaint(
            Tables::from_call(call).delete_chain(&table, &chain)?,
        )),
        Err(text) => Ok(text.into()),
    }
}

fn flush(call: &Call<'_>) -> CallResult {
    let (table, chain) = (call.text("table"), call.text("chain"));
    Ok(Tables::from_call(call).flush(&table, &chain)?.into())
}

fn get_rules(call: &Call<'_>) -> CallResult {
    Ok(Tables::from_call(call).rules()?.into())
}

fn get_saved_rules(call: &Call<'_>) -> CallResult {
    let file = call.text_opt("conf_file");
    Ok(Tables::from_call(call).saved_rules(file.as_deref())?.into())
}

fn get_policy(call: &Call<'_>) -> CallResult {
    match place(call, false) {
        Ok((table, chain, _)) => Tables::from_call(call).policy(&table, &chain),
        Err(text) => Ok(text.into()),
    }
}

fn get_saved_policy(call: &Call<'_>) -> CallResult {
    let (table, chain, _) = match place(call, false) {
        Ok(place) => place,
        Err(text) => return Ok(text.into()),
    };
    let file = call.text_opt("conf_file");
    let rules = Tables::from_call(call).saved_rules(file.as_deref())?;
    Ok(policy_of(&rules, &table, &chain))
}

fn set_policy(call: &Call<'_>) -> CallResult {
    if !call.flag("chain") {
        return Ok(NO_CHAIN.into());
    }
    if !call.flag("policy") {
        return Ok("Error: Policy needs to be specified".into());
    }
    let (table, chain, policy) = (call.text("table"), call.text("chain"), call.text("policy"));
    Ok(Tables::from_call(call)
        .set_policy(&table, &chain, &policy)?
        .into())
}

fn save(call: &Call<'_>) -> CallResult {
    let file = call.text_opt("filename");
    Ok(Tables::from_call(call).save(file.as_deref())?.into())
}
