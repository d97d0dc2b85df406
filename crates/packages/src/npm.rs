//! Packages of Node, through `npm`: the execution module `npm`.

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, CallResult, Function, Module};
use halite_proto::{Map, Value, json};

use crate::words;

pub(crate) const MODULE: Module = Module {
    name: "npm",
    functions: &[
        Function::new(
            "npm.cache_clean",
            "(path=None, runas=None, env=None, force=False)",
            cache_clean,
            "Empties the cache of npm, or takes one package from it.",
        ),
        Function::new(
            "npm.cache_list",
            "(path=None, runas=None, env=None)",
            cache_list,
            "What the cache of npm holds.",
        ),
        Function::new(
            "npm.cache_path",
            "(runas=None, env=None)",
            cache_path,
            "Where the cache of npm is.",
        ),
        Function::new(
            "npm.install",
            "(pkg=None, pkgs=None, dir=None, runas=None, registry=None, env=None, dry_run=False, silent=True)",
            install,
            "Installs packages, in a directory or for everybody; without a package, what\nthe directory's package.json names.",
        ),
        Function::new(
            "npm.list",
            "(pkg=None, dir=None, runas=None, env=None, depth=None)",
            list,
            "The packages that are there, in a directory or for everybody.",
        ),
        Function::new(
            "npm.uninstall",
            "(pkg, dir=None, runas=None, env=None)",
            uninstall,
            "Removes a package, from a directory or for everybody.",
        ),
    ],
};

/// The program in a directory, as the user and with the environment of the call.
fn npm(call: &Call<'_>, words: &[String], directory: Option<&str>) -> Result<Ran, CallError> {
    let words = words.iter().map(String::as_str);
    let words: Vec<&str> = ["npm"].into_iter().chain(words).collect();
    let user = call.text_given("runas");
    let program = Program::new(call, &words).envs(call.arg("env"));
    program.user(user.as_deref()).cwd(directory).run()
}

/// JSON that may come after lines of other text.
fn read(text: &str) -> Option<Value> {
    let mut rest = text;
    loop {
        if rest.trim_start().starts_with(['{', '['])
            && let Ok(value) = json::read(rest.trim())
        {
            return Some(value);
        }
        rest = rest.split_once('\n')?.1;
    }
}

fn install(call: &Call<'_>) -> CallResult {
    let directory = call.text_given("dir");
    let mut args = words(&["install", "--json"]);
    if call.flag("silent") {
        args.push("--silent".to_owned());
    }
    if directory.is_none() {
        args.push("--global".to_owned());
    }
    if let Some(registry) = call.text_given("registry") {
        args.push(format!("--registry={registry}"));
    }
    if call.flag("dry_run") {
        args.push("--dry-run".to_owned());
    }
    args.extend(call.text_given("pkg"));
    if call.flag("pkgs") {
        args.extend(call.texts("pkgs"));
    }
    let ran = npm(call, &args, Some(directory.as_deref().unwrap_or("/tmp")))?;
    if !ran.ok() {
        return Err(CallError::command(ran.stderr));
    }
    Ok(read(&ran.stdout).unwrap_or_else(|| ran.stdout.into()))
}

fn list(call: &Call<'_>) -> CallResult {
    let directory = call.text_given("dir");
    let mut args = words(&["list", "--json", "--silent"]);
    if directory.is_none() {
        args.push("--global".to_owned());
    }
    match call.arg("depth") {
        Value::Nil => {}
        _ => args.push(format!("--depth={}", call.int("depth")?)),
    }
    args.extend(call.text_given("pkg"));
    let ran = npm(call, &args, directory.as_deref())?;
    // It fails where a package is not there, too, and says so in its answer.
    if !ran.ok() && !ran.stderr.is_empty() {
        return Err(CallError::command(ran.stderr));
    }
    let found = read(&ran.stdout);
    let packages = found.as_ref().and_then(|found| found.get("dependencies"));
    Ok(packages.cloned().unwrap_or_else(|| Map::new().into()))
}

fn uninstall(call: &Call<'_>) -> CallResult {
    let directory = call.text_given("dir");
    let mut args = words(&["uninstall", &call.text("pkg")]);
    if directory.is_none() {
        args.push("--global".to_owned());
    }
    let ran = npm(call, &args, directory.as_deref())?;
    if !ran.ok() {
        tracing::error!("{}", ran.stderr);
    }
    Ok(ran.ok().into())
}

fn cache_clean(call: &Call<'_>) -> CallResult {
    let mut args = words(&["cache", "clean"]);
    args.extend(call.text_given("path"));
    if call.flag("force") {
        args.push("--force".to_owned());
    }
    let ran = npm(call, &args, None)?;
    if !ran.ok() {
        tracing::error!("{}", ran.stderr);
    }
    Ok(ran.ok().into())
}

/// What it says; its complaint is an error.
fn said(call: &Call<'_>, args: &[String]) -> CallResult {
    let ran = npm(call, args, None)?;
    if !ran.ok() {
        return Err(CallError::command(ran.stderr));
    }
    Ok(ran.stdout.into())
}

fn cache_list(call: &Call<'_>) -> CallResult {
    let mut args = words(&["cache", "ls"]);
    args.extend(call.text_given("path"));
    said(call, &args)
}

fn cache_path(call: &Call<'_>) -> CallResult {
    said(call, &words(&["config", "get", "cache"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_npm_says_before_its_answer_is_passed_over() {
        let answer = read("npm warn [old]\n[not json]\n[{\"name\": \"a\"}]\n");
        let items = answer.as_ref().and_then(Value::as_list).unwrap();
        assert_eq!(items[0].get("name").and_then(Value::as_str), Some("a"));
        assert_eq!(read("nothing"), None);
    }
}
