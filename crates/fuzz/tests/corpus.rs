//! Every target, without a fuzzer: on the inputs that are kept for it, and on
//! damaged ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;

use halite_fuzz::{corpus, run_of, targets};
use halite_test_support::inputs;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

#[test]
fn every_target_survives_what_is_kept_for_it() {
    for target in targets() {
        let inputs = inputs::read(&corpus(target.name)).unwrap();
        assert!(!inputs.is_empty(), "{}", target.name);
        // As the program of this target finds it.
        let run = run_of(target.name);
        for input in inputs {
            run(&input);
        }
    }
}

#[test]
fn every_file_is_of_a_target() {
    let dir = corpus("").parent().unwrap().to_owned();
    for entry in std::fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.strip_suffix(".txt").unwrap();
        assert!(halite_fuzz::target(name).is_some(), "{name}");
    }
}

/// The page of figures has a row for each target and for nothing else.
#[test]
fn every_target_has_its_figures() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fuzzing.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows: BTreeSet<_> = rows.filter_map(|row| row.split('`').next()).collect();
    let names: BTreeSet<_> = targets().map(|target| target.name).collect();
    assert_eq!(rows, names);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn every_target_survives_damaged_inputs(
        chosen in any::<Index>(),
        damage in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Index>(),
    ) {
        for target in targets() {
            let inputs = inputs::read(&corpus(target.name)).unwrap();
            let mut input = chosen.get(&inputs).clone();
            if input.is_empty() {
                continue;
            }
            for (at, byte) in &damage {
                let at = at.index(input.len());
                input[at] = *byte;
            }
            (target.run)(&input);
            (target.run)(&input[..cut.index(input.len())]);
        }
    }
}
