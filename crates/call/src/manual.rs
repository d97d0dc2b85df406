//! The additions of `sys.doc` and `sys.state_doc` to a function's own text: its
//! arguments with their types, its return, examples, and differences from Salt.
//!
//! Invariant: each example binds to the signature of its function or state, and
//! each answer shown is the real one; a test of the crate with all functions binds
//! and runs them.

mod arguments;
mod pages;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(crate) use self::arguments::arguments;
pub use self::arguments::kind_of;
pub use self::pages::{Example, Page};
use self::pages::{function_pages, state_pages};

/// What differs from Salt, a line each: `NAME: SENTENCE` of a function, and
/// `state NAME: SENTENCE`.
const DIFFERENCES: &str = include_str!("manual/pages/differences.txt");

/// Begins a line about a state.
const OF_A_STATE: &str = "state ";

static FUNCTIONS: LazyLock<BTreeMap<&'static str, Page>> = LazyLock::new(|| {
    let mut pages = by_name(&[
        function_pages(include_str!("manual/pages/files.txt")),
        function_pages(include_str!("manual/pages/machine.txt")),
        function_pages(include_str!("manual/pages/minion.txt")),
        function_pages(include_str!("manual/pages/network.txt")),
        function_pages(include_str!("manual/pages/packages.txt")),
        function_pages(include_str!("manual/pages/values.txt")),
    ]);
    add_differences(&mut pages, |line| {
        (!line.starts_with(OF_A_STATE)).then_some(line)
    });
    pages
});

static STATES: LazyLock<BTreeMap<&'static str, Page>> = LazyLock::new(|| {
    let mut pages = by_name(&[
        state_pages(include_str!("manual/pages/states_files.txt")),
        state_pages(include_str!("manual/pages/states_machine.txt")),
        state_pages(include_str!("manual/pages/states_packages.txt")),
        state_pages(include_str!("manual/pages/states_run.txt")),
    ]);
    add_differences(&mut pages, |line| line.strip_prefix(OF_A_STATE));
    pages
});

/// The pages of execution functions, in the order of their names.
pub fn functions() -> impl Iterator<Item = &'static Page> {
    FUNCTIONS.values()
}

/// The pages of states, in the order of their names.
pub fn states() -> impl Iterator<Item = &'static Page> {
    STATES.values()
}

/// The page of an execution function, if there is one.
pub fn function(name: &str) -> Option<&'static Page> {
    FUNCTIONS.get(name)
}

/// The page of a state, if there is one.
pub fn state(name: &str) -> Option<&'static Page> {
    STATES.get(name)
}

fn by_name(files: &[Vec<Page>]) -> BTreeMap<&'static str, Page> {
    let pages = files.iter().flatten();
    pages.map(|page| (page.name, page.clone())).collect()
}

/// Adds what differs to the pages, of which `chosen` gives the lines.
fn add_differences(
    pages: &mut BTreeMap<&'static str, Page>,
    chosen: impl Fn(&'static str) -> Option<&'static str>,
) {
    let lines = DIFFERENCES.lines().filter_map(chosen);
    for (name, sentence) in lines.filter_map(|line| line.split_once(": ")) {
        if let Some(page) = pages.get_mut(name) {
            page.differs.push(sentence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_on_a_page() {
        for line in DIFFERENCES.lines() {
            let (name, sentence) = line.split_once(": ").unwrap();
            let page = match name.strip_prefix(OF_A_STATE) {
                Some(name) => state(name),
                None => function(name),
            };
            let page = page.unwrap_or_else(|| panic!("{name} has no page"));
            assert!(page.differs.contains(&sentence), "{line}");
        }
    }

    #[test]
    fn pages_are_found_by_their_names() {
        let page = function("pkg.install").unwrap();
        assert!(page.examples.len() > 1 && page.returns.starts_with("a map"));
        assert!(state("file.managed").is_some() && state("no.such").is_none());
        assert!(function("no.such").is_none());
    }
}
