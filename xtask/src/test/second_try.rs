//! A second try for failed tests.
//!
//! Most tests here run several daemons against the clock of a machine that others
//! share. A test that fails beside others and passes alone, on a machine that does
//! nothing else, is called *unsteady*: its output is printed, and its name is shown
//! above the last line of the run. `super::unsteady` says what that means for the
//! run. A test that fails twice has failed.

/// More unsteady tests than this in one run are a failure: something is wrong
/// that is more than a slow machine.
pub(super) const UNSTEADY_MAX: usize = 3;

/// The names of the tests that have failed, from the list at the end of what a
/// test program has written, for a second try. Nothing if there are too many to
/// be unsteady, or if the list does not hold as many as `count`: then it is not
/// understood, or cut off.
pub(super) fn failed_names(text: &str, count: u32) -> Option<Vec<String>> {
    let (_, list) = text.rsplit_once("\nfailures:\n")?;
    let names: Vec<String> = list
        .lines()
        .map_while(|line| line.strip_prefix("    "))
        .map(str::to_owned)
        .collect();
    let is_whole = u32::try_from(names.len()).is_ok_and(|found| found == count);
    (is_whole && (1..=UNSTEADY_MAX).contains(&names.len())).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::failed_names;

    const TEXT: &str = "test a::b ... FAILED\n\nfailures:\n\n---- a::b stdout ----\nno\n\nfailures:\n    a::b\n    c\n\ntest result: FAILED. 1 passed; 2 failed;\n";

    #[test]
    fn the_list_at_the_end_is_understood() {
        assert_eq!(failed_names(TEXT, 2).unwrap(), ["a::b", "c"]);
    }

    #[test]
    fn a_list_that_is_not_whole_is_none() {
        assert_eq!(failed_names(TEXT, 3), None);
        assert_eq!(failed_names("test a ... FAILED\n", 1), None);
        assert_eq!(failed_names("\nfailures:\n\ntest result: ok.", 0), None);
    }

    #[test]
    fn many_failures_are_failures() {
        let text = "\nfailures:\n    a\n    b\n    c\n    d\n\ntest result: FAILED.";
        assert_eq!(failed_names(text, 4), None);
    }
}
