//! Every screen on a narrow and a wide terminal, without colours, and in a pipe.
//! `HALITE_UPDATE_SCREENS` writes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use halite_integration_tests::commands::{Answer, Chapter, Stage};
use halite_integration_tests::{Fleet, Kind, Program, START, Terminal, run};

/// Where a program's texts go.
#[derive(Clone, Copy)]
enum Medium {
    Pipe,
    Terminal(u16),
    NoColor(u16),
}

const PIPE: (&str, Medium) = ("pipe", Medium::Pipe);
const NARROW: (&str, Medium) = ("narrow", Medium::Terminal(40));
const WIDE: (&str, Medium) = ("wide", Medium::Terminal(160));
const NO_COLOR: (&str, Medium) = ("no-color", Medium::NoColor(80));
const MEDIA: [(&str, Medium); 4] = [PIPE, NARROW, WIDE, NO_COLOR];

fn dir() -> PathBuf {
    halite_integration_tests::package_dir().join("tests/screens")
}

/// All screens of a chapter on one medium.
fn screens(stage: &Stage, chapter: &Chapter, medium: Medium) -> Result<String> {
    let mut all = String::new();
    for row in &chapter.rows {
        let recipe = stage.recipe(row)?;
        let (code, text) = match medium {
            Medium::Pipe => {
                let output = run(&recipe, START)?;
                let mut text = output.stdout;
                for line in output.stderr.lines() {
                    text.push_str(&format!("2> {line}\n"));
                }
                (output.code, text)
            }
            Medium::Terminal(columns) => Terminal::start(&recipe, columns)?.end(START)?,
            Medium::NoColor(columns) => {
                let recipe = recipe.env("NO_COLOR", "1");
                Terminal::start(&recipe, columns)?.end(START)?
            }
        };
        let text = Answer::text_of(&text, &stage.places()).replace('\u{1b}', "\\e");
        let text = match row.program {
            Program::Minion => without_ages(&text),
            _ => text,
        };
        all.push_str(&format!(
            "$ {}\n{}\n",
            row.line,
            text.trim_end_matches('\n')
        ));
        if code != 0 {
            all.push_str(&format!("[{code}]\n"));
        }
        all.push('\n');
    }
    Ok(all)
}

/// The state of a minion without its process and its ages, which also widen
/// the columns.
fn without_ages(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        // `1 min 5 s ago` is said of one that has run for longer than a minute.
        while let Some(at) = words.windows(4).position(is_long_age) {
            words.drain(at..at + 2);
        }
        for at in 0..words.len() {
            let is_age = words.get(at + 2) == Some(&"ago");
            if is_age || at.checked_sub(1).and_then(|at| words.get(at)) == Some(&"process") {
                words[at] = "<number>";
            }
        }
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether these words are `1 min 5 s`, or `2 h 1 min`.
fn is_long_age(words: &[&str]) -> bool {
    let is_number = |at: usize| {
        words
            .get(at)
            .is_some_and(|word| word.parse::<u64>().is_ok())
    };
    is_number(0)
        && is_number(2)
        && matches!(
            (words.get(1), words.get(3)),
            (Some(&"min"), Some(&"s")) | (Some(&"h"), Some(&"min"))
        )
}

/// Compares the screens of a chapter on some media.
fn check(name: &str, media: &[(&str, Medium)]) -> Result<()> {
    let path = dir().join(format!("{name}.txt"));
    let chapter = Chapter::read_screens(&path)?;
    let tree = halite_integration_tests::package_dir().join("tests/commands/tree");
    let stage = Stage::start(Kind::Ours, &chapter, &tree)?;
    let mut wrong = Vec::new();
    for &(medium_name, medium) in media {
        let path = dir().join(format!("{name}.{medium_name}.screen"));
        let found = screens(&stage, &chapter, medium)?;
        if std::env::var_os("HALITE_UPDATE_SCREENS").is_some() {
            fs::write(&path, &found)?;
            continue;
        }
        let expected = fs::read_to_string(&path)
            .with_context(|| format!("no {}: HALITE_UPDATE_SCREENS=1", path.display()))?;
        let lines = expected.lines().zip(found.lines());
        if let Some((number, (expected, found))) = lines
            .enumerate()
            .find(|(_, (expected, found))| expected != found)
        {
            wrong.push(format!(
                "{}:{}\n   expected {expected}\n   found    {found}",
                path.display(),
                number + 1
            ));
        } else if expected != found {
            wrong.push(format!("{}: more or fewer lines", path.display()));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("{}", wrong.join("\n"))
}

// Some of the commands wait: each medium has a fleet of its own, to wait meanwhile.

#[test]
fn screens_in_a_pipe_are_as_they_were() -> Result<()> {
    check("commands", &[PIPE])
}

#[test]
fn screens_on_a_narrow_terminal_are_as_they_were() -> Result<()> {
    check("commands", &[NARROW])
}

#[test]
fn screens_on_a_wide_terminal_are_as_they_were() -> Result<()> {
    check("commands", &[WIDE])
}

#[test]
fn screens_without_colours_are_as_they_were() -> Result<()> {
    check("commands", &[NO_COLOR])
}

#[test]
fn screens_of_tabular_states_are_as_they_were() -> Result<()> {
    check("tabular", &MEDIA)
}

#[test]
fn screens_of_states_with_percentages_are_as_they_were() -> Result<()> {
    check("percentages", &MEDIA)
}

/// A state that waits for a file, after one that does not.
fn waiting(go: &Path) -> String {
    format!(
        "first:\n  test.nop: []\nwaits:\n  cmd.run:\n    - name: until [ -e {} ]; do sleep 0.02; done\n",
        go.display()
    )
}

#[test]
fn a_state_run_on_a_terminal_shows_where_it_is() -> Result<()> {
    let fleet = Fleet::new("live")?;
    let go = fleet.path().join("go");
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("slow.sls", &waiting(&go))
        .start()?;
    let minions = [
        fleet.minion("web1", Kind::Ours).of(&master).start()?,
        fleet.minion("web2", Kind::Ours).of(&master).start()?,
    ];
    for minion in &minions {
        master.wait_minion(minion.id())?;
    }
    let tools = master.tools(Kind::Ours);
    let recipe = tools.recipe(Program::Salt, &["*", "state.apply", "slow"])?;

    let mut terminal = Terminal::start(&recipe, 100)?;
    for line in [
        "web1  2 of 2  waits (cmd.run)",
        "web2  2 of 2  waits (cmd.run)",
        "0 of 2 answered, 2 running",
    ] {
        terminal.wait(line, START)?;
    }
    // It goes on counting; a busy machine may leave out the first that is shown.
    terminal.wait_for("the seconds", START, |written| {
        (2..60).any(|second| written.contains(&format!(", {second} s")))
    })?;
    fs::write(&go, "")?;
    let (code, text) = terminal.end(START)?;
    assert_eq!(code, 0, "{text}");
    ensure!(!text.contains("running"), "lines are left behind: {text}");
    ensure!(
        text.trim_end().ends_with("2 minions: 2 changed"),
        "no last line in {text}"
    );

    // In a pipe there is nothing of it, and minions are not asked to tell.
    let mark = master.events()?.mark();
    let output = run(&recipe, START)?.ok()?;
    ensure!(output.stderr.is_empty(), "unexpected {output}");
    ensure!(!output.stdout.contains("2 minions"), "unexpected {output}");
    let told = master.events()?.events().split_off(mark);
    ensure!(
        !told.iter().any(|event| event.tag.contains("/at/")),
        "told all the same"
    );
    Ok(())
}

/// From the publication of the job; a busy machine may need more than one try.
#[test]
fn a_terminal_shows_within_half_a_second_who_is_waited_for() -> Result<()> {
    const WITHIN: Duration = Duration::from_millis(500);
    const TRIES: usize = 10;
    let fleet = Fleet::new("who")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let minions = [
        fleet.minion("web1", Kind::Ours).of(&master).start()?,
        fleet.minion("web2", Kind::Ours).of(&master).start()?,
    ];
    for minion in &minions {
        master.wait_minion(minion.id())?;
    }
    let mut least = Duration::MAX;
    for number in 0..TRIES {
        let go = fleet.path().join(format!("go{number}"));
        let command = format!(
            "true; {{% if grains.id == 'web2' %}}until [ -e {} ]; do sleep 0.02; done{{% endif %}}",
            go.display()
        );
        let words = ["*", "cmd.run", &command, "template=jinja"];
        let recipe = master.tools(Kind::Ours).recipe(Program::Salt, &words)?;
        let mut terminal = Terminal::start(&recipe, 100)?;
        let go_path = go.display().to_string();
        master.events()?.wait("the job", START, |event| {
            event.tag.ends_with("/new") && event.data.to_string().contains(&go_path)
        })?;
        let begun = Instant::now();
        terminal.wait("1 of 2 answered, 1 running (web2", START)?;
        least = least.min(begun.elapsed());
        fs::write(go, "")?;
        terminal.end(START)?;
        if least < WITHIN {
            break;
        }
    }
    ensure!(least < WITHIN, "it took {least:?}");
    Ok(())
}

#[test]
fn a_minion_of_salt_is_never_asked_to_tell() -> Result<()> {
    // Seen from the wire: the master's publication of such a job.
    let fleet = Fleet::new("quiet")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let keys = master.dir().join("pki/minions");
    fs::copy(keys.join("web1"), keys.join("unknown1"))?;
    let tools = master.tools(Kind::Ours);
    let args = [
        "-L",
        "web1,unknown1",
        "-t",
        "1",
        "state.single",
        "test.nop",
        "x",
    ];
    let recipe = tools.recipe(Program::Salt, &args)?;
    let mark = master.events()?.mark();
    Terminal::start(&recipe, 80)?.end(START)?;
    let asked = |event: &halite_integration_tests::Event| {
        event.tag.ends_with("/publish") && event.data.get("progress").is_some()
    };
    let events = master.events()?.events().split_off(mark);
    ensure!(!events.iter().any(asked), "it was asked: {events:?}");
    drop(minion);
    Ok(())
}
