//! Packages of Ruby, through `gem`: the execution module `gem`.

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult, Function, Module};
use halite_proto::{Map, Value};

use crate::pkg::version::plain;

pub(crate) const MODULE: Module = Module {
    name: "gem",
    functions: &[
        Function::new(
            "gem.install",
            "(gems, ruby=None, gem_bin=None, runas=None, version=None, rdoc=False, ri=False, pre_releases=False, proxy=None, source=None)",
            install,
            "Installs gems. The program is gem_bin, or gem; ruby names one of rvm and rbenv,\nwhich are not asked here.",
        ),
        Function::new(
            "gem.list",
            "(prefix='', ruby=None, runas=None, gem_bin=None)",
            list,
            "The gems that are there, whose names begin so, and their versions.",
        ),
        Function::new(
            "gem.list_upgrades",
            "(ruby=None, runas=None, gem_bin=None)",
            list_upgrades,
            "The gems of which there are newer versions, and these.",
        ),
        Function::new(
            "gem.sources_add",
            "(source_uri, ruby=None, runas=None, gem_bin=None)",
            |call| said(call, &["sources", "--add", &call.text("source_uri")]),
            "Adds a place where gems come from.",
        ),
        Function::new(
            "gem.sources_list",
            "(ruby=None, runas=None, gem_bin=None)",
            sources_list,
            "The places where gems come from.",
        ),
        Function::new(
            "gem.sources_remove",
            "(source_uri, ruby=None, runas=None, gem_bin=None)",
            |call| said(call, &["sources", "--remove", &call.text("source_uri")]),
            "Removes a place where gems come from.",
        ),
        Function::new(
            "gem.uninstall",
            "(gems, ruby=None, runas=None, gem_bin=None)",
            |call| on_gems(call, "uninstall", &["-a", "-x"]),
            "Removes gems, in all versions.",
        ),
        Function::new(
            "gem.update",
            "(gems, ruby=None, runas=None, gem_bin=None)",
            |call| on_gems(call, "update", &[]),
            "Brings gems up to date.",
        ),
        Function::new(
            "gem.update_system",
            "(version='', ruby=None, runas=None, gem_bin=None)",
            |call| said(call, &["update", "--system", &call.text("version")]),
            "Brings RubyGems itself up to date.",
        ),
        Function::new(
            "gem.version",
            "(ruby=None, runas=None, gem_bin=None)",
            version,
            "The version of RubyGems.",
        ),
    ],
};

/// The program, as the user of the call.
fn gem<S: AsRef<str>>(call: &Call<'_>, words: &[S]) -> Result<String, CallError> {
    let program = call
        .text_given("gem_bin")
        .unwrap_or_else(|| "gem".to_owned());
    let user = call.text_given("runas");
    let words = words.iter().map(AsRef::as_ref);
    let words: Vec<&str> = [program.as_str()].into_iter().chain(words).collect();
    let ran = Program::new(call, &words).user(user.as_deref()).run()?;
    if ran.ok() {
        Ok(ran.stdout)
    } else {
        Err(CallError::command(ran.stderr))
    }
}

fn said<S: AsRef<str>>(call: &Call<'_>, words: &[S]) -> CallResult {
    Ok(gem(call, words)?.into())
}

/// The gems of a call, of which a text may name several.
fn gems(call: &Call<'_>) -> Vec<String> {
    let names = call.texts("gems");
    names
        .iter()
        .flat_map(|names| names.split_whitespace())
        .map(str::to_owned)
        .collect()
}

fn on_gems(call: &Call<'_>, what: &str, options: &[&str]) -> CallResult {
    let mut words = vec![what.to_owned()];
    words.extend(gems(call));
    words.extend(options.iter().map(|option| (*option).to_owned()));
    said(call, &words)
}

/// The first number of a version.
fn major(version: &str) -> u32 {
    let digits = version.split('.').next().unwrap_or_default();
    digits.trim().parse().unwrap_or(0)
}

fn install(call: &Call<'_>) -> CallResult {
    let mut words = vec!["install".to_owned()];
    words.extend(gems(call));
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    option("--version", call.text_given("version"));
    let (rdoc, ri) = (call.flag("rdoc"), call.flag("ri"));
    if !rdoc || !ri {
        let none: &[&str] = match (rdoc, ri) {
            _ if major(&gem(call, &["--version"])?) >= 2 => &["--no-document"],
            (false, false) => &["--no-rdoc", "--no-ri"],
            (false, true) => &["--no-rdoc"],
            _ => &["--no-ri"],
        };
        words.extend(none.iter().map(|option| (*option).to_owned()));
    }
    if call.flag("pre_releases") {
        words.push("--prerelease".to_owned());
    }
    for (name, argument) in [("-p", "proxy"), ("--source", "source")] {
        if let Some(value) = call.text_given(argument) {
            words.extend([name.to_owned(), value]);
        }
    }
    said(call, &words)
}

/// `rake (13.0.6, 12.3.3)`: a name, and what is in the brackets.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(" (")?;
    let inside = rest.trim_end().strip_suffix(')')?;
    (!name.is_empty() && !name.contains(' ')).then_some((name, inside))
}

fn list(call: &Call<'_>) -> CallResult {
    let mut words = vec!["list".to_owned()];
    words.extend(call.text_given("prefix"));
    let listed = gem(call, &words)?;
    let found = listed.lines().filter_map(entry).map(|(name, versions)| {
        let versions = versions.split(',').map(|version| version.trim().into());
        (name, Value::List(versions.collect()))
    });
    Ok(found.collect::<Map>().into())
}

fn list_upgrades(call: &Call<'_>) -> CallResult {
    let listed = gem(call, &["outdated"])?;
    let found = listed.lines().filter_map(entry);
    let found = found.filter_map(|(name, versions)| {
        let (_, new) = versions.split_once(" < ")?;
        Some((name, new))
    });
    Ok(found.collect::<Map>().into())
}

fn sources_list(call: &Call<'_>) -> CallResult {
    let listed = gem(call, &["sources"])?;
    // A headline, and an empty line.
    let sources = listed.lines().skip(2).map(Value::from);
    Ok(sources.collect::<Vec<_>>().into())
}

fn version(call: &Call<'_>) -> CallResult {
    let said = gem(call, &["--version"])?;
    let numbers = said
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .find(|part| part.contains('.'));
    Ok(numbers.map_or(Value::Nil, Value::from))
}

/// Whether the first of the versions that are there meets what `>= 1.2` says.
pub(crate) fn satisfies(there: &[String], wanted: &str) -> bool {
    let operators = [">=", "<=", ">", "<"];
    let operator = operators
        .into_iter()
        .find(|operator| wanted.starts_with(operator));
    let (Some(operator), Some(first)) = (operator, there.first()) else {
        return false;
    };
    let first = first.trim_start_matches("default: ").trim();
    let order = plain(first, wanted[operator.len()..].trim());
    match operator {
        ">=" => order.is_ge(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_lt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_about_the_first_version() {
        let there = ["default: 1.10.0".to_owned(), "1.2".to_owned()];
        assert!(satisfies(&there, ">= 1.9"));
        assert!(satisfies(&there, "<1.11"));
        assert!(!satisfies(&there, "< 1.9"));
        assert!(!satisfies(&there, "1.10.0"));
        assert!(!satisfies(&[], ">= 1"));
    }
}
