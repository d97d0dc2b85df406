//! Command lines that need no master.

use super::*;
use crate::options;

/// Standard output, standard error, exit code.
fn ran(words: &[&str], opts: &Map) -> (String, String, u8) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen::to_writers(&mut out, &mut err);
    let exit = match options::parse::<SaltOptions>(words.iter().map(std::ffi::OsString::from)) {
        Err(stop) => stop.show(&mut screen),
        Ok(parsed) => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(run(&parsed, opts, &Environment::default(), &mut screen)),
    };
    drop(screen);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), text(err), exit.code())
}

#[test]
fn incomplete_commands_show_the_help() {
    let (out, err, exit) = ran(&[], &Map::new());
    assert!(
        out.contains("Usage: salt [options] '<target>' <function> [arguments]"),
        "{out}"
    );
    assert_eq!(
        err,
        "\nCannot execute command without defining a target.\n\n"
    );
    assert_eq!(exit, 42);
    let (_, err, exit) = ran(&["*"], &Map::new());
    assert_eq!(
        (err.as_str(), exit),
        ("\nIncomplete options passed.\n\n", 42)
    );
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    for (words, error) in [
        (&["*", "test.ping", "-1"][..], "no such option: -1"),
        (&["*", "test.ping", "--nosuch"], "no such option: --nosuch"),
        (&["*", "test.ping", "-t"], "-t option requires 1 argument"),
        (
            &["*", "test.ping", "-t", "x"],
            "option -t: invalid integer value: 'x'",
        ),
        (
            &["*", "test.ping", "-b", "x"],
            "Invalid batch data sent: x\nData must be in the form of %10, 10% or 3",
        ),
        (
            &["-E", "-L", "*", "test.ping"],
            "The options --pcre/--list are mutually exclusive. Please only choose one of them",
        ),
        (
            &["-d", "*", "a", "b"],
            "You can only get documentation for one method at one time.",
        ),
    ] {
        let expect = format!(
            "Usage: salt [options] '<target>' <function> [arguments]\n\nsalt: error: {error}\n"
        );
        assert_eq!(
            ran(words, &Map::new()),
            (String::new(), expect, 64),
            "{words:?}"
        );
    }
}

#[test]
fn versions_are_shown() {
    let (out, err, exit) = ran(&["--version"], &Map::new());
    assert_eq!(
        out,
        format!("salt {} (Halite)\n", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!((err.as_str(), exit), ("", 0));
    let (out, _, exit) = ran(&["-V"], &Map::new());
    assert!(out.starts_with("Salt Version:\n          Salt: "), "{out}");
    assert_eq!(exit, 0);
    let (out, _, exit) = ran(&["--help"], &Map::new());
    assert!(out.contains("--preview-target") && exit == 0);
}

#[test]
fn without_a_master_one_line_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let opts = Map::from([("sock_dir", dir.path().to_str().unwrap())]);
    let text = "The salt master could not be contacted. Is master running?";
    assert_eq!(
        ran(&["*", "test.ping"], &opts),
        (format!("{text}\n"), String::new(), 1)
    );
    let quoted = format!("\"{text}\"\n");
    assert_eq!(ran(&["*", "test.ping", "--out=json"], &opts).0, quoted);
    assert_eq!(ran(&["*", "test.ping", "--async"], &opts).2, 1);
}

#[test]
fn the_configuration_is_dumped() {
    let opts = Map::from([("timeout", Value::from(5)), ("id", "m1_master".into())]);
    let (out, _, exit) = ran(&["--config-dump"], &opts);
    assert_eq!((out.as_str(), exit), ("id: m1_master\ntimeout: 5\n", 0));
}
