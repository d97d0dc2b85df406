//! What a test reports can be read although libtest takes it for passed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

use halite_test_support::{REPORT_FILE, not_run};

/// Set for the process that plays the test that cannot run.
const PLAY: &str = "HALITE_PLAY_NOT_RUN";

const NAME: &str = "a_report_bears_the_name_of_its_test";

#[test]
fn a_report_bears_the_name_of_its_test() {
    if std::env::var_os(PLAY).is_some() {
        return not_run("a thing\nand another");
    }
    let line = format!("not run: {NAME}: a thing and another\n");
    let said = play(None);
    assert!(String::from_utf8(said.stderr).unwrap().contains(&line));

    let file = tempfile();
    let said = play(Some(&file));
    assert!(!String::from_utf8(said.stderr).unwrap().contains(&line));
    let report = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(report, line);
}

fn play(report: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", NAME, "--test-threads=1"])
        .env(PLAY, "");
    match report {
        Some(path) => command.env(REPORT_FILE, path),
        None => command.env_remove(REPORT_FILE),
    };
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

/// An empty file of this process alone.
fn tempfile() -> String {
    let name = format!("halite-report-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::File::create_new(&path).unwrap();
    path.to_str().unwrap().to_owned()
}
