//! Mail aliases of local names: the execution module `aliases`.

use std::path::PathBuf;

use halite_call::host::{Program, replace_file};
use halite_call::{
    Call, CallError, CallResult, Function, Module, check_one_line, is_one_line, os_error, python,
};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "aliases",
    functions: &[
        Function::new(
            "aliases.get_target",
            "(alias)",
            get_target,
            "Where mail for a name goes; empty if it has no alias.",
        ),
        Function::new(
            "aliases.has_target",
            "(alias, target)",
            has_target,
            "Whether mail for a name goes there.",
        ),
        Function::new(
            "aliases.list_aliases",
            "()",
            |call| Ok(all(call)?.into()),
            "All aliases with where mail for them goes.",
        ),
        Function::new("aliases.rm_alias", "(alias)", rm_alias, "Removes an alias."),
        Function::new(
            "aliases.set_target",
            "(alias, target)",
            set_target,
            "Has mail for a name go there.",
        ),
    ],
};

/// A line of the file: an alias with its target, or none, and what else is on
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    alias: String,
    target: String,
    rest: String,
}

fn path(call: &Call<'_>) -> Result<PathBuf, CallError> {
    let option = call.salt("config.option", &["aliases.file".into()], Map::new())?;
    let path = python::str(&option);
    let path = if path.is_empty() {
        "/etc/aliases"
    } else {
        &path
    };
    Ok(call.host().path(path))
}

fn parse(line: &str) -> Line {
    // The comment begins at a `#` with a blank before it, or at the start.
    let is_mark = |(at, _): &(usize, &str)| {
        *at == 0
            || line
                .get(..*at)
                .is_some_and(|before| before.ends_with(char::is_whitespace))
    };
    let at = line
        .match_indices('#')
        .find(is_mark)
        .map_or(line.len(), |(at, _)| at);
    let (text, _) = line.split_at(at);
    let text = text.trim_end();
    let rest = line
        .get(text.len()..)
        .unwrap_or_default()
        .trim_end()
        .to_owned();
    match text.split_once(':') {
        Some((alias, target)) => Line {
            alias: alias.to_owned(),
            target: target.trim().to_owned(),
            rest,
        },
        None => Line {
            alias: text.to_owned(),
            target: String::new(),
            rest,
        },
    }
}

fn lines(call: &Call<'_>) -> Result<Vec<Line>, CallError> {
    let text = halite_call::paths::read_to_string(path(call)?).unwrap_or_default();
    Ok(text.lines().map(parse).collect())
}

fn all(call: &Call<'_>) -> Result<Map, CallError> {
    let lines = lines(call)?.into_iter();
    let aliases = lines.filter(|line| !line.alias.is_empty());
    Ok(aliases.map(|line| (line.alias, line.target)).collect())
}

fn write(call: &Call<'_>, lines: &[Line]) -> Result<(), CallError> {
    let text: String = lines
        .iter()
        .map(
            |line| match line.alias.is_empty() || line.target.is_empty() {
                true => format!("{}\n", line.rest),
                false => format!("{}: {}{}\n", line.alias, line.target, line.rest),
            },
        )
        .collect();
    let path = path(call)?;
    replace_file(&path, text.as_bytes()).map_err(|error| os_error(&error, &path))?;
    if call.host().has("newaliases") {
        let ran = Program::new(call, &["newaliases"]).may_fail().run()?;
        if !ran.ok() {
            tracing::error!("newaliases: {}", ran.complaint());
        }
    }
    Ok(())
}

/// The argument as one target.
fn target(call: &Call<'_>) -> Result<String, CallError> {
    let target = match call.arg("target") {
        Value::List(targets) => targets
            .iter()
            .map(python::str)
            .collect::<Vec<_>>()
            .join(", "),
        one => python::str(one),
    };
    if target.is_empty() {
        return Err(CallError::invocation("target can not be an empty string"));
    }
    check_one_line("a target", &target)?;
    Ok(target)
}

fn get_target(call: &Call<'_>) -> CallResult {
    let found = all(call)?.get(&call.text("alias")).cloned();
    Ok(found.unwrap_or_else(|| "".into()))
}

fn has_target(call: &Call<'_>) -> CallResult {
    let target = target(call)?;
    let all = all(call)?;
    let known = all.get(&call.text("alias")).and_then(Value::as_str);
    Ok((known == Some(&target)).into())
}

fn set_target(call: &Call<'_>) -> CallResult {
    let alias = call.text("alias");
    if alias.is_empty() {
        return Err(CallError::invocation("alias can not be an empty string"));
    }
    if alias.contains([':', '#']) || !is_one_line(&alias) {
        return Err(CallError::invocation(format!("not an alias: {alias:?}")));
    }
    let target = target(call)?;
    let mut lines = lines(call)?;
    let known = lines.iter().position(|line| line.alias == alias);
    match known.and_then(|at| lines.get_mut(at)) {
        Some(line) if line.target == target => return Ok(true.into()),
        Some(line) => line.target = target,
        None => lines.push(Line {
            alias: alias.clone(),
            target,
            rest: String::new(),
        }),
    }
    // The first is the one that counts.
    let mut seen = false;
    lines.retain(|line| {
        let is_again = line.alias == alias && seen;
        seen |= line.alias == alias;
        !is_again
    });
    write(call, &lines)?;
    Ok(true.into())
}

fn rm_alias(call: &Call<'_>) -> CallResult {
    let alias = call.text("alias");
    let mut lines = lines(call)?;
    let count = lines.len();
    lines.retain(|line| line.alias != alias || line.target.is_empty());
    if lines.len() != count {
        write(call, &lines)?;
    }
    Ok(true.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let part = |line| {
            let Line {
                alias,
                target,
                rest,
            } = parse(line);
            (alias, target, rest)
        };
        let texts = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(part("root: me, you"), texts("root", "me, you", ""));
        assert_eq!(part("a:b  # why"), texts("a", "b", "  # why"));
        assert_eq!(part("# only"), texts("", "", "# only"));
        assert_eq!(part(""), texts("", "", ""));
    }
}
