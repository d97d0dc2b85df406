//! Some 1,700 command lines, which our programs must answer as real Salt does.
//!
//! The chapters are in `commands/`. The answers of real Salt 3008.5 are recorded
//! beside them; the long form runs them on real Salt again. With
//! `HALITE_UPDATE_COMMANDS` set, the long form records instead, and the short one
//! records our answers where the chapter says that they differ.
//! `HALITE_COMMANDS_RELEASE` makes the long form ask another release: its report
//! then shows how the releases differ.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use halite_integration_tests::Kind;
use halite_integration_tests::commands::{Answer, Chapter, Recorded, Row, Stage, exits};

/// Fewer would not be the table that it claims to be.
const COMMANDS_MIN: usize = 300;

macro_rules! chapters {
    ($($name:ident)*) => {
        const CHAPTERS: &[&str] = &[$(stringify!($name)),*];

        $(#[test]
        fn $name() -> Result<()> {
            compare(stringify!($name))
        })*

        mod salt_answers_as_recorded {
            $(#[test]
            #[ignore = "the long form: cargo xtask test --long"]
            fn $name() -> anyhow::Result<()> {
                super::play_salt(stringify!($name))
            })*
        }
    };
}

chapters! {
    arguments
    batches
    call
    carries
    core
    data
    day
    errors
    files
    jobs
    keys
    looks
    more_reports
    outputters
    reports
    runners
    scripts
    states
    system
    targets
}

fn dir() -> PathBuf {
    halite_integration_tests::package_dir().join("tests/commands")
}

/// The real Salt that the long form asks.
fn asked() -> Result<Kind> {
    let Ok(release) = std::env::var("HALITE_COMMANDS_RELEASE") else {
        return Ok(Kind::Salt3008);
    };
    Kind::of_release(&release).with_context(|| format!("no release {release} in these tests"))
}

fn updates() -> bool {
    std::env::var_os("HALITE_UPDATE_COMMANDS").is_some()
}

/// Plays a chapter; gives what was not answered at all.
fn play(
    kind: Kind,
    chapter: &Chapter,
    found: &mut impl FnMut(&Row, Answer),
) -> Result<Vec<String>> {
    let stage = Stage::start(kind, chapter, &dir().join("tree"))?;
    let mut silent = Vec::new();
    for row in &chapter.rows {
        match stage.play(row) {
            Ok(answer) => found(row, answer),
            Err(error) => silent.push(format!("{error:#}")),
        }
    }
    Ok(silent)
}

/// Our answers beside those that are recorded of real Salt.
fn compare(name: &str) -> Result<()> {
    let chapter = Chapter::read(&dir().join(format!("{name}.txt")))?;
    let path = dir().join(format!("{name}.json"));
    let mut recorded = Recorded::read(&path)?;
    let mut wrong = Vec::new();
    let mut ours = std::collections::BTreeMap::new();
    let silent = play(Kind::Ours, &chapter, &mut |row, answer| {
        let Some(salt) = recorded.salt.get(&row.line) else {
            return wrong.push(format!("never recorded: {}", row.line));
        };
        let verdict = match (&row.differs, answer == *salt) {
            (None, true) => None,
            (None, false) => Some("not as Salt answers"),
            (Some(_), true) => Some("as Salt answers, although the table says otherwise"),
            (Some(_), false) => {
                let known = recorded.ours.get(&row.line);
                let is_known = known == Some(&answer) || updates();
                ours.insert(row.line.clone(), answer.clone());
                (!is_known).then_some("differs in another way than it did")
            }
        };
        if let Some(verdict) = verdict {
            let places = salt.differences(&answer).join("\n   ");
            wrong.push(format!("{verdict}: {}\n   {places}", row.line));
        }
    })?;
    if updates() {
        recorded.ours = ours;
        recorded.write(&path)?;
    }
    wrong.extend(silent);
    report(&wrong)
}

fn report(wrong: &[String]) -> Result<()> {
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("{} commands:\n{}", wrong.len(), wrong.join("\n"))
}

/// Real Salt's answers beside those that are recorded of it.
fn play_salt(name: &str) -> Result<()> {
    let chapter = Chapter::read(&dir().join(format!("{name}.txt")))?;
    let path = dir().join(format!("{name}.json"));
    let mut recorded = Recorded::read(&path)?;
    let before = std::mem::take(&mut recorded.salt);
    let mut wrong = Vec::new();
    let asked = asked()?;
    let silent = play(asked, &chapter, &mut |row, answer| {
        match before.get(&row.line) {
            Some(known) if *known == answer => {}
            Some(known) => {
                let places = known.differences(&answer).join("\n   ");
                wrong.push(format!("{}\n   {places}", row.line));
            }
            None => wrong.push(format!("never recorded: {}", row.line)),
        }
        recorded.salt.insert(row.line.clone(), answer);
    })?;
    if updates() && asked == Kind::Salt3008 {
        recorded.write(&path)?;
        wrong.clear();
    }
    wrong.extend(silent);
    report(&wrong)
}

/// The table is as large as it claims, and the READMEs say how much of it is compared.
#[test]
fn the_table_is_as_large_as_it_claims() -> Result<()> {
    let (mut count, mut types_only, mut exit_only) = (0, 0, 0);
    for entry in std::fs::read_dir(dir())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.extension().is_some_and(|kind| kind == "txt") {
            assert!(CHAPTERS.contains(&&*name), "{name} is played by no test");
            let rows = Chapter::read(&path)?.rows;
            count += rows.len();
            types_only += rows.iter().filter(|row| row.compare.types_only).count();
            exit_only += rows.iter().filter(|row| row.compare.exit_only).count();
        }
    }
    assert!(count >= COMMANDS_MIN, "{count} commands");
    let split = format!("{types_only} by the types of their values, {exit_only} by the exit code");
    let package = halite_integration_tests::package_dir();
    for readme in [package.join("README.md"), package.join("../README.md")] {
        let text = std::fs::read_to_string(&readme)?;
        let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(&split),
            "{} does not say {split:?}",
            readme.display()
        );
    }
    Ok(())
}

#[test]
fn the_page_of_exit_codes_is_true() -> Result<()> {
    let mut chapters = Vec::new();
    for name in CHAPTERS {
        let chapter = Chapter::read(&dir().join(format!("{name}.txt")))?;
        let recorded = Recorded::read(&dir().join(format!("{name}.json")))?;
        chapters.push((chapter, recorded));
    }
    let path = halite_integration_tests::package_dir().join("../docs/exit-codes.md");
    let page = exits(&chapters);
    if updates() {
        std::fs::write(&path, &page)?;
    }
    let known = std::fs::read_to_string(&path)?;
    assert!(known == page, "{} is not true any more", path.display());
    Ok(())
}
