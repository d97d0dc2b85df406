//! Alternatives of programs: `update-alternatives`.

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, CallResult, Function, Module};
use halite_proto::Value;

pub(crate) const MODULE: Module = Module {
    name: "alternatives",
    functions: &[
        Function::new(
            "alternatives.auto",
            "(name)",
            auto_,
            "Has the system choose.",
        ),
        Function::new(
            "alternatives.check_exists",
            "(name, path)",
            check_exists,
            "Whether a program may stand for a name.",
        ),
        Function::new(
            "alternatives.check_installed",
            "(name, path)",
            check_installed,
            "Whether a program stands for a name.",
        ),
        Function::new(
            "alternatives.display",
            "(name)",
            display,
            "The programs that may stand for a name.",
        ),
        Function::new(
            "alternatives.install",
            "(name, link, path, priority)",
            install_,
            "Adds a program that may stand for a name.",
        ),
        Function::new(
            "alternatives.remove",
            "(name, path)",
            remove_,
            "Removes a program that may stand for a name.",
        ),
        Function::new(
            "alternatives.set",
            "(name, path)",
            set_fn,
            "Chooses a program.",
        ),
        Function::new(
            "alternatives.show_current",
            "(name)",
            show_current,
            "The program that stands for a name.",
        ),
        Function::new(
            "alternatives.show_link",
            "(name)",
            show_link,
            "The link of a name.",
        ),
    ],
};

fn tool(call: &Call<'_>) -> &'static str {
    let grains = call.ctx.grains();
    match grains.get("os_family").and_then(Value::as_str) {
        Some("RedHat") => "alternatives",
        _ => "update-alternatives",
    }
}

fn run(call: &Call<'_>, words: &[&str]) -> Result<Ran, CallError> {
    let mut line = vec![tool(call)];
    line.extend(words);
    Program::new(call, &line).may_fail().run()
}

fn said(ran: Ran) -> String {
    if !ran.ok() && !ran.stderr.is_empty() {
        ran.stderr
    } else {
        ran.stdout
    }
}

/// What `--display` says.
pub(crate) fn shown(call: &Call<'_>, name: &str) -> Result<String, CallError> {
    Ok(run(call, &["--display", name])?.stdout)
}

/// The program that stands for a name.
pub(crate) fn current(call: &Call<'_>, name: &str) -> Option<String> {
    let link = call.host().path(format!("/etc/alternatives/{name}"));
    std::fs::read_link(link)
        .ok()
        .map(|target| target.display().to_string())
}

/// Whether a program may stand for a name.
pub(crate) fn exists(call: &Call<'_>, name: &str, path: &str) -> Result<bool, CallError> {
    let ran = run(call, &["--display", name])?;
    let start = format!("{path} - priority");
    Ok(ran.ok() && ran.stdout.lines().any(|line| line.starts_with(&start)))
}

/// The link that a name has.
pub(crate) fn link(call: &Call<'_>, name: &str) -> Result<Option<String>, CallError> {
    let text = call
        .host()
        .read(format!("/var/lib/dpkg/alternatives/{name}"));
    if let Some(link) = text.lines().nth(1) {
        return Ok(Some(link.to_owned()));
    }
    let text = shown(call, name)?;
    Ok(text.lines().find_map(|line| {
        line.trim()
            .strip_prefix("link ")
            .and_then(|rest| rest.split_once(" is ").map(|(_, link)| link.to_owned()))
    }))
}

pub(crate) fn install(
    call: &Call<'_>,
    name: &str,
    link: &str,
    path: &str,
    priority: &str,
) -> Result<Ran, CallError> {
    run(call, &["--install", link, name, path, priority])
}

pub(crate) fn remove(call: &Call<'_>, name: &str, path: &str) -> Result<Ran, CallError> {
    run(call, &["--remove", name, path])
}

pub(crate) fn set(call: &Call<'_>, name: &str, path: &str) -> Result<Ran, CallError> {
    run(call, &["--set", name, path])
}

pub(crate) fn auto(call: &Call<'_>, name: &str) -> Result<String, CallError> {
    Ok(said(run(call, &["--auto", name])?))
}

fn name(call: &Call<'_>) -> String {
    call.text("name")
}

fn display(call: &Call<'_>) -> CallResult {
    Ok(said(run(call, &["--display", &name(call)])?).into())
}

fn show_current(call: &Call<'_>) -> CallResult {
    Ok(current(call, &name(call)).map_or(Value::Bool(false), Value::from))
}

fn show_link(call: &Call<'_>) -> CallResult {
    Ok(link(call, &name(call))?.map_or(Value::Bool(false), Value::from))
}

fn check_exists(call: &Call<'_>) -> CallResult {
    Ok(exists(call, &name(call), &call.text("path"))?.into())
}

fn check_installed(call: &Call<'_>) -> CallResult {
    Ok((current(call, &name(call)) == Some(call.text("path"))).into())
}

fn install_(call: &Call<'_>) -> CallResult {
    let (link, path) = (call.text("link"), call.text("path"));
    Ok(said(install(
        call,
        &name(call),
        &link,
        &path,
        &call.text("priority"),
    )?)
    .into())
}

fn remove_(call: &Call<'_>) -> CallResult {
    Ok(said(remove(call, &name(call), &call.text("path"))?).into())
}

fn set_fn(call: &Call<'_>) -> CallResult {
    Ok(said(set(call, &name(call), &call.text("path"))?).into())
}

fn auto_(call: &Call<'_>) -> CallResult {
    Ok(auto(call, &name(call))?.into())
}
