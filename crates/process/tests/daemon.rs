//! Going into the background, from the view of the typed command, and becoming
//! another user. The test binary has no harness: both need a process with one
//! thread.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use halite_process::daemon::{Forked, StartReport, daemonize};
use halite_process::privileges::{self, User};

fn main() {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("--as-daemon") => as_daemon(&args.next().unwrap(), &args.next().unwrap()),
        Some("--as-user") => as_user(&args.next().unwrap()),
        // Listing tests and the like: nothing to do.
        Some("--list") => {}
        _ => {
            for test in TESTS {
                test();
            }
            // The line of libtest that `cargo xtask test` counts by.
            println!(
                "test result: ok. {} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
                TESTS.len()
            );
        }
    }
}

const TESTS: [fn(); 4] = [
    a_ready_daemon_lets_its_parent_go,
    a_failed_daemon_says_why,
    a_daemon_that_dies_is_noticed,
    whoever_gives_up_root_has_a_home_of_their_own,
];

/// What the child does: becomes a daemon, writes what it is, and reports.
fn as_daemon(how: &str, file: &str) {
    match daemonize().unwrap() {
        Forked::Parent(StartReport::Ready) => println!("parent goes"),
        Forked::Parent(StartReport::Failed { exit_code, message }) => {
            println!("{message}");
            std::process::exit(exit_code.into());
        }
        Forked::Daemon(readiness) => match how {
            "ready" => {
                let stat = fs::read_to_string("/proc/self/stat").unwrap();
                let cwd = std::env::current_dir().unwrap();
                fs::write(file, format!("{}\n{stat}", cwd.display())).unwrap();
                readiness.ready();
                println!("nobody hears this");
            }
            "fail" => {
                assert!(readiness.failed(73, "the port is in use"));
            }
            _ => {}
        },
    }
}

fn start(how: &str, file: &Path) -> (Option<i32>, String) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--as-daemon", how])
        .arg(file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = String::new();
    // Ends only when the daemon has let go of the output as well.
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    (child.wait().unwrap().code(), text)
}

fn a_ready_daemon_lets_its_parent_go() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("daemon");
    assert_eq!(start("ready", &file), (Some(0), "parent goes\n".to_owned()));
    let told = fs::read_to_string(&file).unwrap();
    let (cwd, stat) = told.split_once('\n').unwrap();
    assert_eq!(cwd, "/");
    // pid (name) state ppid pgrp session tty: no terminal, no session leader.
    let after_name: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let pid = stat.split_whitespace().next().unwrap();
    assert_ne!(after_name[3], pid, "it leads its session");
    assert_eq!(after_name[4], "0", "it has a terminal");
}

fn a_failed_daemon_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let told = start("fail", &dir.path().join("x"));
    assert_eq!(told, (Some(73), "the port is in use\n".to_owned()));
}

fn a_daemon_that_dies_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let told = start("die", &dir.path().join("x"));
    assert_eq!(
        told,
        (Some(1), "the daemon ended before it was ready\n".to_owned())
    );
}

fn as_user(name: &str) {
    privileges::become_user(&User::lookup(name).unwrap()).unwrap();
    let told = ["HOME", "USER", "SHELL"].map(|name| std::env::var(name).unwrap_or_default());
    println!("{}", told.join(" "));
}

fn whoever_gives_up_root_has_a_home_of_their_own() {
    const OTHER: &str = "nobody";
    if !privileges::is_root() {
        halite_test_support::not_run_named(
            "whoever_gives_up_root_has_a_home_of_their_own",
            "only root can become somebody else",
        );
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--as-user", OTHER])
        .env("HOME", "/root")
        .env("USER", "root")
        .env_remove("SHELL")
        .output()
        .unwrap();
    let home = User::lookup(OTHER).unwrap().home;
    // What was not set stays so.
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{} {OTHER} \n", home.display())
    );
}
