//! Sets of addresses in the kernel, through `ipset`.

mod entries;
mod functions;
mod sets;

pub(crate) use functions::MODULE;

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError};

/// Runs `ipset`, whose complaints are answers.
pub(crate) fn run(call: &Call<'_>, words: &[&str]) -> Result<Ran, CallError> {
    if !call.host().has("ipset") {
        return Err(CallError::NotFound(
            "The 'ipset' binary was not found in $PATH.".to_owned(),
        ));
    }
    if let Some(word) = words.iter().skip(1).find(|word| is_option(word)) {
        return Err(CallError::invocation(format!("not a name: {word:?}")));
    }
    let all: Vec<&str> = ["ipset"].into_iter().chain(words.iter().copied()).collect();
    Program::new(call, &all).may_fail().run()
}

/// Whether `ipset` would take a word for an option.
fn is_option(word: &str) -> bool {
    word.starts_with('-') && !["-t", "-exist"].contains(&word)
}
