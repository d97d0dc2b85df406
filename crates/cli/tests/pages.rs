//! Manual pages and completions exist for every program and name its options.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../examples/pages.rs"]
mod pages;

#[test]
fn every_program_has_its_pages() {
    let dir = tempfile::tempdir().unwrap();
    pages::write_all(dir.path()).unwrap();
    let read = |name: String| fs::read_to_string(dir.path().join(name)).unwrap();
    for program in pages::programs() {
        let name = program.get_name();
        let page = read(format!("man/{name}.1"));
        for section in ["EXIT STATUS", "ENVIRONMENT", "FILES"] {
            assert!(page.contains(section), "{name}.1: no {section}");
        }
        let bash = read(format!("completions/{name}.bash"));
        let zsh = read(format!("completions/_{name}"));
        let fish = read(format!("completions/{name}.fish"));
        for argument in program
            .get_arguments()
            .filter(|argument| !argument.is_hide_set())
        {
            let Some(long) = argument.get_long() else {
                continue;
            };
            // Manual pages write a hyphen as `\-`.
            let in_page = format!("\\-\\-{}", long.replace('-', "\\-"));
            assert!(page.contains(&in_page), "{name}.1: no --{long}");
            for other in argument.get_visible_aliases().into_iter().flatten() {
                let in_page = format!("\\-\\-{}", other.replace('-', "\\-"));
                assert!(page.contains(&in_page), "{name}.1: no --{other}");
            }
            assert!(
                bash.contains(&format!("--{long}")),
                "{name}.bash: no --{long}"
            );
            assert!(zsh.contains(&format!("--{long}")), "_{name}: no --{long}");
            assert!(fish.contains(long), "{name}.fish: no --{long}");
        }
    }
}

/// The files of a directory and of those below, by their paths within it.
fn files(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for kind in ["man", "completions"] {
        for entry in fs::read_dir(dir.join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().to_owned();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// Who has the programs but no cargo takes the pages from `docs/pages`.
#[test]
fn the_pages_of_the_repository_are_those_of_this_build() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pages");
    let dir = tempfile::tempdir().unwrap();
    pages::write_all(dir.path()).unwrap();
    if std::env::var_os("HALITE_UPDATE_PAGES").is_some() {
        for kind in ["man", "completions"] {
            let _ = fs::remove_dir_all(kept.join(kind));
        }
        pages::write_all(&kept).unwrap();
    }
    let (wanted, found) = (files(dir.path()), files(&kept));
    let names = |files: &BTreeMap<PathBuf, String>| files.keys().cloned().collect::<Vec<_>>();
    const HOW: &str =
        "HALITE_UPDATE_PAGES=1 cargo test -p halite-cli --test pages writes them anew";
    assert_eq!(names(&found), names(&wanted), "{HOW}");
    for (name, text) in wanted {
        assert!(found[&name] == text, "{}: {HOW}", name.display());
    }
}

/// What a shell says to a script.
fn said(shell: &str, options: &[&str], script: &str, dir: &Path) -> String {
    let output = Command::new(shell)
        .args(options)
        .args(["-c", script])
        .current_dir(dir)
        .env("HOME", dir)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shell}: {script}: {errors}");
    assert_eq!(errors, "", "{shell}: {script}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The names of the programs, and the directory of their completions.
fn completions(dir: &Path) -> (Vec<String>, PathBuf) {
    pages::write_all(dir).unwrap();
    let programs = pages::programs();
    let names = programs.iter().map(|program| program.get_name().to_owned());
    (names.collect(), dir.join("completions"))
}

#[test]
fn bash_takes_the_completions() {
    if !halite_test_support::have_programs(&["bash"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (names, dir) = completions(dir.path());
    for name in names {
        let script = format!(
            "source ./{name}.bash && COMP_WORDS=({name} --ver) COMP_CWORD=1 && \
             read -ra known <<< \"$(complete -p {name})\" && \
             for at in \"${{!known[@]}}\"; do [ \"${{known[at]}}\" = -F ] && \
             function=${{known[at+1]}}; done; $function {name} --ver {name} && \
             echo \"${{COMPREPLY[@]}}\""
        );
        let offered = said("bash", &["--norc", "--noprofile"], &script, &dir);
        assert!(offered.contains("--version"), "{name}: {offered}");
    }
}

#[test]
fn fish_takes_the_completions() {
    if !halite_test_support::have_programs(&["fish"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (names, dir) = completions(dir.path());
    for name in names {
        let script = format!("source {name}.fish; complete -C '{name} --ver'");
        let offered = said("fish", &["--no-config"], &script, &dir);
        assert!(offered.contains("--version"), "{name}: {offered}");
    }
}

#[test]
fn zsh_takes_the_completions() {
    if !halite_test_support::have_programs(&["zsh"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (names, dir) = completions(dir.path());
    for name in names {
        let function = format!("_{name}");
        let script = format!(
            "fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; \
             autoload +X {function} && print ${{_comps[{name}]}}"
        );
        let known = said("zsh", &["-f"], &script, &dir);
        assert_eq!(known.trim(), function);
    }
}
