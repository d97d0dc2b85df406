//! Manual pages and completions exist for every program and name its options.

use std::fs;

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
