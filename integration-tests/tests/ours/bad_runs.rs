//! States that cannot do their work: each fails with a clear comment, the old file
//! is still there, no temporary file is left, and the run goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Minion, Program, Recipe, SHORT, Signal, run, until};
use serde_json::{Map, Value, json};

/// How long a run may take before it counts as hung.
const DEADLINE: Duration = Duration::from_secs(180);

/// A minion without a master, with states of its own.
struct Alone {
    fleet: Fleet,
    minion: Minion,
    target: PathBuf,
}

impl Alone {
    fn new(states: &str) -> Result<Self> {
        let fleet = Fleet::new("bad")?;
        let (roots, target) = (fleet.path().join("roots"), fleet.path().join("target"));
        fs::create_dir_all(roots.join("folder"))?;
        fs::create_dir(&target)?;
        let large = "a line of the large file\n".repeat(50_000);
        fs::write(roots.join("large"), &large)?;
        fs::write(roots.join("folder/large"), &large)?;
        fs::write(roots.join("folder/small"), "small\n")?;
        let states = states
            .replace("TARGET", &target.display().to_string())
            .replace("ROOTS", &roots.display().to_string());
        fs::write(roots.join("bad.sls"), states)?;
        let minion = fleet
            .minion("web1", Kind::Ours)
            .set("master", "127.0.0.1")
            .set("file_client", "local")
            .set("file_roots", json!({ "base": [roots] }))
            .lay()?;
        Ok(Self {
            fleet,
            minion,
            target,
        })
    }

    /// Applies the states below a shell that has run `before`; the states by
    /// their ids.
    fn apply(&self, before: &str) -> Result<Map<String, Value>> {
        let call = self.fleet.programs().path(Kind::Ours, Program::Call)?;
        let script = format!("{before}\nexec \"$@\"");
        let (call, conf) = (
            call.display().to_string(),
            self.minion.dir().display().to_string(),
        );
        let recipe = Recipe::new("sh", PathBuf::from("/bin/sh"), self.fleet.path()).args(&[
            "-c",
            &script,
            "sh",
            &call,
            "--local",
            "-c",
            &conf,
            "--out=json",
            "state.apply",
            "bad",
        ]);
        let returned = run(&recipe, DEADLINE)?.of("local")?;
        let states = returned.as_object().context("no states")?;
        Ok(states
            .values()
            .map(|state| {
                (
                    state["__id__"].as_str().unwrap_or_default().to_owned(),
                    state.clone(),
                )
            })
            .collect())
    }
}

fn check(states: &Map<String, Value>, id: &str, result: bool, says: &str) -> Result<()> {
    let state = states.get(id).with_context(|| format!("no state {id}"))?;
    let comment = state["comment"].as_str().unwrap_or_default();
    ensure!(
        state["result"] == result && comment.contains(says),
        "{id}: {state:#}"
    );
    let changed = state["changes"]
        .as_object()
        .is_some_and(|map| !map.is_empty());
    ensure!(
        result || !changed,
        "{id} failed and says changes: {state:#}"
    );
    Ok(())
}

/// States that write much, each over an old file of its own.
const LARGE: &str = "
{% set long = ('x' * 99 ~ ' ') * 13000 %}
managed: {file.managed: [{name: TARGET/managed}, {source: ROOTS/large}]}
new: {file.managed: [{name: TARGET/new}, {source: ROOTS/large}]}
contents: {file.managed: [{name: TARGET/contents}, {contents: {{ long }}}]}
serialized: {file.serialize: [{name: TARGET/serialized}, {serializer: json}, {dataset: {a: {{ range(100000) | list }}}}]}
appended: {file.append: [{name: TARGET/appended}, {text: {{ long }}}]}
prepended: {file.prepend: [{name: TARGET/prepended}, {text: {{ long }}}]}
replaced: {file.replace: [{name: TARGET/replaced}, {pattern: old}, {repl: {{ long }}}, {backup: False}]}
line: {file.line: [{name: TARGET/line}, {match: old}, {mode: replace}, {content: {{ long }}}]}
block: {file.blockreplace: [{name: TARGET/block}, {append_if_not_found: True}, {backup: False}, {content: {{ long }}}]}
copied: {file.copy: [{name: TARGET/copied}, {source: ROOTS/large}, {force: True}]}
options: {ini.options_present: [{name: TARGET/options}, {sections: {a: {b: {{ long }}}}}]}
needs: {test.nop: [{require: [{file: managed}]}]}
child: {cmd.run: [{name: 'head -c 1000000 /dev/zero > TARGET/child'}]}
last: test.nop
";

const OLD: [&str; 10] = [
    "managed",
    "contents",
    "serialized",
    "appended",
    "prepended",
    "replaced",
    "line",
    "block",
    "copied",
    "options",
];

fn check_old(target: &Path) -> Result<()> {
    for name in OLD {
        ensure!(
            fs::read(target.join(name))? == b"old\n",
            "{name} was changed"
        );
    }
    ensure!(
        !target.join("new").exists(),
        "a part of a new file is there"
    );
    let left: Vec<_> = fs::read_dir(target)?
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    ensure!(left.len() == OLD.len(), "left behind: {left:?}");
    Ok(())
}

/// A file may not become larger than some 100 KiB: the disk is full in the
/// middle of each write.
#[test]
fn a_write_that_ends_in_the_middle_leaves_the_old_file() -> Result<()> {
    let alone = Alone::new(LARGE)?;
    for name in OLD {
        fs::write(alone.target.join(name), "old\n")?;
    }
    let states = alone.apply("ulimit -f 200")?;
    for id in OLD.iter().copied().chain(["new"]) {
        let says = if id == "copied" {
            "Failed to copy"
        } else {
            "File too large"
        };
        check(&states, id, false, says)?;
    }
    check(
        &states,
        "needs",
        false,
        "One or more requisite failed: bad.managed",
    )?;
    check(&states, "last", true, "")?;
    // Programs that we run are killed by the signal, as the system has it.
    // A shell may tell of it, or have become the program.
    let code = &states["child"]["changes"]["retcode"];
    let signal = Signal::SIGXFSZ as i32;
    ensure!(
        *code == 128 + signal || *code == -signal,
        "{:#}",
        states["child"]
    );
    fs::remove_file(alone.target.join("child"))?;
    check_old(&alone.target)?;
    // With room again all of it is done.
    let states = alone.apply("")?;
    for (id, state) in &states {
        ensure!(state["result"] == true, "{id}: {state:#}");
    }
    Ok(())
}

const WRONG: &str = "
missing: {file.managed: [{name: TARGET/f}, {source: 'salt://nope'}]}
none of them: {file.managed: [{name: TARGET/f}, {source: ['salt://nope', /nope/too]}]}
hash: {file.managed: [{name: TARGET/f}, {source: ROOTS/folder/small}, {source_hash: 'sha256=0000000000000000000000000000000000000000000000000000000000000000'}]}
no hash: {file.managed: [{name: TARGET/f}, {source: ROOTS/folder/small}, {source_hash: nonsense}]}
folder: {file.recurse: [{name: TARGET/folder}, {source: 'salt://nope'}]}
no way: {file.managed: [{name: TARGET/no/way}, {contents: x}]}
command: {cmd.run: [{name: 'sleep 300 & echo $! > TARGET/child; sleep 300'}, {timeout: 5}]}
ignored: {cmd.run: [{name: 'sleep 300'}, {timeout: 1}, {ignore_timeout: True}]}
no program: {cmd.run: [{name: /nonexistent/program}]}
no directory: {cmd.run: [{name: 'true'}, {cwd: /nonexistent}]}
repository: {git.latest: [{name: 'file:///nonexistent.git'}, {target: TARGET/git}]}
last: test.nop
";

#[test]
fn what_is_not_there_fails_alone_and_a_command_ends_with_its_children() -> Result<()> {
    let alone = Alone::new(WRONG)?;
    fs::write(alone.target.join("f"), "old\n")?;
    let states = alone.apply("")?;
    for (id, says) in [
        (
            "missing",
            "Source file salt://nope not found in saltenv 'base'",
        ),
        ("none of them", "none of the specified sources were found"),
        ("hash", "does not match actual checksum"),
        ("no hash", "Source hash nonsense format is invalid"),
        ("folder", "none of the specified sources were found"),
        ("no way", "Parent directory not present"),
        (
            "no directory",
            "Desired working directory \"/nonexistent\" is not available",
        ),
        ("repository", "nonexistent.git"),
    ] {
        check(&states, id, false, says)?;
    }
    for id in ["command", "no program"] {
        ensure!(states[id]["result"] == false, "{:#}", states[id]);
    }
    let out = states["command"]["changes"]["stdout"]
        .as_str()
        .unwrap_or_default();
    ensure!(out.ends_with(": Timed out after 5 seconds"), "{out}");
    check(&states, "ignored", true, "")?;
    check(&states, "last", true, "")?;
    ensure!(fs::read(alone.target.join("f"))? == b"old\n");
    let child = fs::read_to_string(alone.target.join("child"))?;
    let child = Path::new("/proc").join(child.trim()).join("cmdline");
    until("the end of the command's child", SHORT, || {
        // One that has ended and is not waited for yet has no command line.
        let over = fs::read(&child).is_ok_and(|line| line.is_empty()) || !child.exists();
        Ok(over.then_some(()))
    })
}
