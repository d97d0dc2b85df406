//! The examples of the documentation are calls that their functions take.

#![allow(clippy::unwrap_used, reason = "tests")]

use halite_call::manual::EXAMPLES;
use halite_call::{args, shlex};

#[test]
fn examples_bind_to_the_signatures_of_their_functions() {
    for (fun, examples) in EXAMPLES {
        let function = halite_state_run::registry().get(fun);
        let function = function.unwrap_or_else(|| panic!("there is no {fun}"));
        let signature = function.parse_signature().unwrap();
        for example in *examples {
            let words = shlex::split(example).unwrap();
            let is_named = |word: &&String| args::keyword(word).is_some();
            let positional = words.iter().filter(|word| !is_named(word)).count();
            let named: Vec<String> = words
                .iter()
                .filter_map(|word| args::keyword(word).map(|(name, _)| name.to_string()))
                .collect();
            let params = &signature.params;
            assert!(
                positional <= params.len() || signature.varargs.is_some(),
                "{fun} {example}: too many arguments"
            );
            let mut all = params.iter().chain(&signature.keyword_only);
            for name in &named {
                let known = all.clone().any(|param| param.name == *name);
                assert!(
                    known || signature.kwargs.is_some(),
                    "{fun} {example}: {name}"
                );
            }
            let missing = all
                .by_ref()
                .skip(positional)
                .find(|param| param.default.is_none() && !named.contains(&param.name));
            assert!(missing.is_none(), "{fun} {example}: {missing:?}");
        }
    }
}
