//! The day of `examples/long-day`: every line after a `$` of its page, in one
//! shell, and its output.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Address, Fleet, Kind, Program, Recipe, run};

/// What the files of the example say, to be replaced by what is free here.
const EXAMPLE_DIR: &str = "/tmp/long-day";
const EXAMPLE_ADDRESS: &str = "127.0.0.21";

/// Stands for any text.
const ANYTHING: &str = "[..]";

/// Ends what a command has printed; its exit code follows.
const END: &str = "@@@ end of command: ";

/// How long the day may take before it counts as hung.
const DAY: Duration = Duration::from_secs(300);

/// A command of the page and what it prints.
#[derive(Debug)]
struct Step {
    command: String,
    prints: Vec<String>,
    code: i32,
}

/// The commands of a page; `[2]` as the last line is an exit code.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
        let text = line.strip_prefix("    ");
        match text.map(|text| (text.strip_prefix("$ "), text)) {
            Some((Some(command), _)) => {
                steps.push(Step {
                    command: command.to_owned(),
                    prints: Vec::new(),
                    code: 0,
                });
                is_open = true;
            }
            Some((None, text)) if is_open => {
                if let Some(step) = steps.last_mut() {
                    step.prints.push(text.to_owned());
                }
            }
            // An empty line belongs to what is printed if more follows.
            None if is_open && line.is_empty() => {
                if let Some(step) = steps.last_mut() {
                    step.prints.push(String::new());
                }
            }
            _ => is_open = false,
        }
    }
    for step in &mut steps {
        while step.prints.last().is_some_and(String::is_empty) {
            step.prints.pop();
        }
        let last = step.prints.last().and_then(|line| {
            let code = line.strip_prefix('[')?.strip_suffix(']')?;
            code.parse().ok()
        });
        if let Some(code) = last {
            step.prints.pop();
            step.code = code;
        }
    }
    steps
}

/// Whether a line is what the page says.
fn is_like(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split(ANYTHING);
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether the lines are what the page says; a line of nothing but `[..]`
/// stands for any number of them.
fn are_like(lines: &[&str], patterns: &[String]) -> bool {
    match patterns.split_first() {
        None => lines.is_empty(),
        Some((pattern, rest)) if pattern == ANYTHING => {
            (0..=lines.len()).any(|skipped| are_like(&lines[skipped..], rest))
        }
        Some((pattern, rest)) => lines
            .split_first()
            .is_some_and(|(line, more)| is_like(line, pattern) && are_like(more, rest)),
    }
}

/// Copies the example with this directory and this address in it.
fn copy(from: &Path, to: &Path, change: &dyn Fn(String) -> String) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("no {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target, change)?;
        } else {
            fs::write(target, change(fs::read_to_string(entry.path())?))?;
        }
    }
    Ok(())
}

#[test]
fn the_long_day_goes_as_its_page_says() -> Result<()> {
    let example = halite_integration_tests::package_dir().join("../examples/long-day");
    let fleet = Fleet::new("day")?;
    let address = Address::claim()?;
    let dir = fleet.path().display().to_string();
    let change = |text: String| {
        text.replace(EXAMPLE_DIR, &dir)
            .replace(EXAMPLE_ADDRESS, &address.ip().to_string())
    };
    copy(&example, fleet.path(), &change)?;
    let user = nix_user()?;
    for daemon in ["master/master", "web1/minion", "web2/minion", "db1/minion"] {
        let path = fleet.path().join(daemon);
        let text = fs::read_to_string(&path)?;
        fs::write(&path, format!("{text}user: {user}\n"))?;
    }
    let page = change(fs::read_to_string(example.join("README.md"))?);
    let steps = steps(&page);
    ensure!(steps.len() > 20, "only {} commands", steps.len());

    let mut script = String::new();
    for step in &steps {
        script.push_str(&format!("{{ {}\n}} 2>&1\necho \"{END}$?\"\n", step.command));
    }
    let salt = fleet.programs().path(Kind::Ours, Program::Salt)?;
    let programs = salt.parent().context("a program without a directory")?;
    let path = format!(
        "{}:{}",
        programs.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let shell = Recipe::new("sh", "/bin/sh".into(), fleet.path())
        .args(&["-c", &script])
        .env("PATH", &path);
    let output = run(&shell, DAY)?;

    let mut printed = output.stdout.as_str();
    for step in &steps {
        let (lines, rest) = printed
            .split_once(END)
            .with_context(|| format!("no end of `{}` in {}", step.command, output.stdout))?;
        let (code, rest) = rest.split_once('\n').context("no exit code")?;
        let lines: Vec<&str> = lines.lines().collect();
        ensure!(
            code == step.code.to_string() && are_like(&lines, &step.prints),
            "`{}` exited with {code} and printed\n{}\ninstead of {} and\n{}",
            step.command,
            lines.join("\n"),
            step.code,
            step.prints.join("\n")
        );
        printed = rest;
    }
    Ok(())
}

fn nix_user() -> Result<String> {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid())?;
    Ok(user.context("the user has no name")?.name)
}
