//! The execution module `nftables`.

use halite_call::{Call, CallError, CallResult, Function, Module, os_error, paths};
use halite_proto::{Map, Value};

use super::tables::Tables;

pub(crate) const MODULE: Module = Module {
    name: "nftables",
    functions: &[
        Function::new(
            "nftables.append",
            "(table='filter', chain=None, rule=None, family='ipv4')",
            append,
            "Adds a rule at the end of a chain, if the chain does not have it.",
        ),
        Function::new(
            "nftables.build_rule",
            "(table=None, chain=None, command=None, position='', full=None, family='ipv4', **kwargs)",
            build_rule,
            "The rule that the arguments describe, with full=True the whole command line.",
        ),
        Function::new(
            "nftables.check",
            "(table='filter', chain=None, rule=None, family='ipv4')",
            check,
            "Whether a chain has a rule.",
        ),
        Function::new(
            "nftables.check_chain",
            "(table='filter', chain=None, family='ipv4')",
            check_chain,
            "Whether a table has a chain.",
        ),
        Function::new(
            "nftables.check_table",
            "(table=None, family='ipv4')",
            check_table,
            "Whether there is a table.",
        ),
        Function::new(
            "nftables.delete",
            "(table, chain=None, position=None, rule=None, family='ipv4')",
            delete,
            "Removes a rule from a chain, by its handle or as a whole.",
        ),
        Function::new(
            "nftables.delete_chain",
            "(table='filter', chain=None, family='ipv4')",
            delete_chain,
            "Removes a chain.",
        ),
        Function::new(
            "nftables.delete_table",
            "(table, family='ipv4')",
            delete_table,
            "Removes a table.",
        ),
        Function::new(
            "nftables.flush",
            "(table='filter', chain='', family='ipv4')",
            flush,
            "Removes all rules of a chain, or of all chains of a table.",
        ),
        Function::new(
            "nftables.get_policy",
            "(table='filter', chain=None, family='ipv4')",
            get_policy,
            "The policy of a chain.",
        ),
        Function::new(
            "nftables.get_rule_handle",
            "(table='filter', chain=None, rule=None, family='ipv4')",
            get_rule_handle,
            "The handle of a rule.",
        ),
        Function::new(
            "nftables.get_rules",
            "(family='ipv4')",
            get_rules,
            "The tables as nft lists them.",
        ),
        Function::new(
            "nftables.get_rules_json",
            "(family='ipv4')",
            get_rules_json,
            "The whole set of rules as data.",
        ),
        Function::new(
            "nftables.get_saved_rules",
            "(conf_file=None)",
            get_saved_rules,
            "The lines of the file that keeps rules.",
        ),
        Function::new(
            "nftables.insert",
            "(table='filter', chain=None, position=None, rule=None, family='ipv4')",
            insert,
            "Puts a rule at the begin of a chain, or at a position.",
        ),
        Function::new(
            "nftables.list_tables",
            "(family='ipv4')",
            list_tables,
            "The tables of a family.",
        ),
        Function::new(
            "nftables.new_chain",
            "(table='filter', chain=None, table_type=None, hook=None, priority=None, family='ipv4')",
            new_chain,
            "Makes a chain; with type, hook and priority one that packets come to.",
        ),
        Function::new(
            "nftables.new_table",
            "(table, family='ipv4')",
            new_table,
            "Makes a table.",
        ),
        Function::new(
            "nftables.save",
            "(filename=None, family='ipv4')",
            save,
            "Keeps the rules of all families in a file.",
        ),
        Function::new(
            "nftables.set_policy",
            "(table='filter', chain=None, policy=None, family='ipv4')",
            set_policy,
            "Sets the policy of a chain.",
        ),
        Function::new("nftables.version", "()", version, "The version of nft."),
    ],
};

/// An argument as text, empty for one that is nothing.
fn text(call: &Call<'_>, name: &str) -> String {
    call.text_opt(name).unwrap_or_default()
}

fn version(call: &Call<'_>) -> CallResult {
    let said = Tables::run(call, "nft --version")?;
    let version = said.split_whitespace().nth(1);
    let version =
        version.ok_or_else(|| CallError::exception("IndexError", "list index out of range"))?;
    Ok(version.into())
}

/// The answer of `build_rule`.
fn built(comment: &str, rule: String, ok: bool) -> Value {
    Map::from([
        ("comment", Value::from(comment)),
        ("rule", rule.into()),
        ("result", ok.into()),
    ])
    .into()
}

fn build_rule(call: &Call<'_>) -> CallResult {
    let tables = Tables::from_call(call)?;
    let rule = tables.rule(call.kwargs().clone())?;
    let rule = if matches!(call.arg("full"), Value::Str(full) if full == "True" || full == "true") {
        for (name, comment) in [
            ("table", "Table needs to be specified"),
            ("chain", "Chain needs to be specified"),
            ("command", "Command needs to be specified"),
        ] {
            if !call.flag(name) {
                return Ok(built(comment, rule, false));
            }
        }
        tables.command(
            &call.text("command"),
            &call.text("table"),
            &call.text("chain"),
            &text(call, "position"),
            &rule,
        )
    } else {
        rule
    };
    let comment = if rule.is_empty() {
        ""
    } else {
        "Successfully built rule"
    };
    Ok(built(comment, rule, true))
}

fn append(call: &Call<'_>) -> CallResult {
    let (table, chain, rule) = (text(call, "table"), text(call, "chain"), text(call, "rule"));
    Ok(Tables::from_call(call)?
        .add(&table, &chain, &rule, None)?
        .into())
}

fn insert(call: &Call<'_>) -> CallResult {
    let (table, chain, rule) = (text(call, "table"), text(call, "chain"), text(call, "rule"));
    let position = text(call, "position");
    let answer = Tables::from_call(call)?.add(&table, &chain, &rule, Some(&position))?;
    Ok(answer.into())
}

fn check(call: &Call<'_>) -> CallResult {
    let (table, chain, rule) = (text(call, "table"), text(call, "chain"), text(call, "rule"));
    Ok(Tables::from_call(call)?.has(&table, &chain, &rule)?.into())
}

fn check_chain(call: &Call<'_>) -> CallResult {
    let (table, chain) = (text(call, "table"), text(call, "chain"));
    Ok(Tables::from_call(call)?.has_chain(&table, &chain)?.into())
}

fn check_table(call: &Call<'_>) -> CallResult {
    Ok(Tables::from_call(call)?
        .has_table(&text(call, "table"))?
        .into())
}

fn get_rule_handle(call: &Call<'_>) -> CallResult {
    let (table, chain, rule) = (text(call, "table"), text(call, "chain"), text(call, "rule"));
    Ok(
        match Tables::from_call(call)?.handle(&table, &chain, &rule)? {
            Ok(handle) => {
                Map::from([("result", Value::from(true)), ("handle", handle.into())]).into()
            }
            Err(answer) => answer.into(),
        },
    )
}

fn new_table(call: &Call<'_>) -> CallResult {
    Ok(Tables::from_call(call)?
        .new_table(&text(call, "table"))?
        .into())
}

fn delete_table(call: &Call<'_>) -> CallResult {
    Ok(Tables::from_call(call)?
        .delete_table(&text(call, "table"))?
        .into())
}

fn new_chain(call: &Call<'_>) -> CallResult {
    let (table, chain) = (text(call, "table"), text(call, "chain"));
    let base = ["table_type", "hook", "priority"].map(|name| call.arg(name));
    Ok(Tables::from_call(call)?
        .new_chain(&table, &chain, base)?
        .into())
}

fn delete_chain(call: &Call<'_>) -> CallResult {
    let (table, chain) = (text(call, "table"), text(call, "chain"));
    Ok(Tables::from_call(call)?
        .delete_chain(&table, &chain)?
        .into())
}

fn delete(call: &Call<'_>) -> CallResult {
    let (table, chain) = (text(call, "table"), text(call, "chain"));
    let (position, rule) = (call.text_opt("position"), call.text_opt("rule"));
    let tables = Tables::from_call(call)?;
    let answer = tables.delete(&table, &chain, position.as_deref(), rule.as_deref())?;
    Ok(answer.into())
}

fn flush(call: &Call<'_>) -> CallResult {
    let (table, chain) = (text(call, "table"), text(call, "chain"));
    Ok(Tables::from_call(call)?.flush(&table, &chain)?.into())
}

fn list_tables(call: &Call<'_>) -> CallResult {
    Ok(Tables::from_call(call)?.list_tables()?.into())
}

fn get_rules(call: &Call<'_>) -> CallResult {
    let rules = Tables::from_call(call)?.rules()?;
    Ok(Value::List(rules.into_iter().map(Value::from).collect()))
}

fn get_rules_json(call: &Call<'_>) -> CallResult {
    Ok(Tables::from_call(call)?.rules_json()?.into())
}

fn get_saved_rules(call: &Call<'_>) -> CallResult {
    let file = call.text_opt("conf_file");
    let file = file.as_deref().unwrap_or("/etc/nftables");
    let text =
        paths::read_to_string(call.host().path(file)).map_err(|error| os_error(&error, file))?;
    let lines = text.split_inclusive('\n').filter(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    Ok(Value::List(lines.map(Value::from).collect()))
}

fn save(call: &Call<'_>) -> CallResult {
    let file = call.text_opt("filename");
    Ok(Tables::from_call(call)?.save(file.as_deref())?.into())
}

fn get_policy(call: &Call<'_>) -> CallResult {
    if !call.flag("chain") {
        return Ok("Error: Chain needs to be specified".into());
    }
    let (table, chain) = (call.text("table"), call.text("chain"));
    let policy = Tables::from_call(call)?.policy(&table, &chain)?;
    Ok(policy.map_or(Value::Nil, Value::from))
}

fn set_policy(call: &Call<'_>) -> CallResult {
    for (name, text) in [
        ("chain", "Error: Chain needs to be specified"),
        ("policy", "Error: Policy needs to be specified"),
    ] {
        if !call.flag(name) {
            return Ok(text.into());
        }
    }
    let (table, chain, policy) = (call.text("table"), call.text("chain"), call.text("policy"));
    Ok(Tables::from_call(call)?
        .set_policy(&table, &chain, &policy)?
        .into())
}
