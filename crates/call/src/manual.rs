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

static FUNCTIONS: LazyLock<BTreeMap<&'static str, Page>> = LazyLock::new(|| {
    by_name(&[
        function_pages(include_str!("manual/pages/files.txt")),
        function_pages(include_str!("manual/pages/machine.txt")),
        function_pages(include_str!("manual/pages/minion.txt")),
        function_pages(include_str!("manual/pages/network.txt")),
        function_pages(include_str!("manual/pages/packages.txt")),
        function_pages(include_str!("manual/pages/values.txt")),
    ])
});

static STATES: LazyLock<BTreeMap<&'static str, Page>> = LazyLock::new(|| {
    by_name(&[
        state_pages(include_str!("manual/pages/states_files.txt")),
        state_pages(include_str!("manual/pages/states_machine.txt")),
        state_pages(include_str!("manual/pages/states_packages.txt")),
        state_pages(include_str!("manual/pages/states_run.txt")),
    ])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_their_names() {
        let page = function("pkg.install").unwrap();
        assert!(page.examples.len() > 1 && page.returns.starts_with("a map"));
        assert!(state("file.managed").is_some() && state("no.such").is_none());
        assert!(function("no.such").is_none());
    }
}
