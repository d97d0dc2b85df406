//! The pages of the documentation: their examples are valid calls of functions and
//! states, and their answers are the real ones.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashSet;
use std::path::Path;

use halite_call::manual;
use halite_call::{Function, Signature, args, shlex};
use halite_proto::{Map, Value};

use crate::local_minion::LocalMinion;
use crate::local_minion::compare::{as_json, shown};

/// The names that a function with `**kwargs` takes beside its parameters: those
/// that its text has, and the arguments of the state that it is given.
fn documented(function: &Function, words: &[String]) -> HashSet<String> {
    let is_of_name = |c: char| c == '_' || c.is_alphanumeric();
    let text = function.doc.split(|c| !is_of_name(c));
    let mut names: HashSet<String> = text.map(str::to_owned).collect();
    let page = manual::function(function.name);
    for named in page.map_or(&[][..], |page| &page.named[..]) {
        let all = named.split(':').next().unwrap_or_default().split(", ");
        names.extend(all.map(str::to_owned));
    }
    if function.name == "state.single" {
        let state = words.first().unwrap();
        let state = halite_state_run::registry().state(state);
        let signature = state.unwrap().parse_signature().unwrap();
        let params = signature.params.into_iter().chain(signature.keyword_only);
        names.extend(params.map(|param| param.name));
    }
    names
}

/// What keeps a function from taking the arguments of an example.
fn fault(function: &Function, example: &str) -> Option<String> {
    let signature = function.parse_signature().unwrap();
    let words = match shlex::split(example) {
        Ok(words) => words,
        Err(error) => return Some(error.to_string()),
    };
    let is_named = |word: &&String| args::keyword(word).is_some();
    let positional = words.iter().filter(|word| !is_named(word)).count();
    let named: Vec<String> = words
        .iter()
        .filter_map(|word| args::keyword(word).map(|(name, _)| name.to_string()))
        .collect();
    if positional > signature.params.len() && signature.varargs.is_none() {
        return Some("too many arguments".to_owned());
    }
    let documented = documented(function, &words);
    let all = || signature.params.iter().chain(&signature.keyword_only);
    for name in &named {
        let known = all().any(|param| param.name == *name);
        let is_further = signature.kwargs.is_some() && documented.contains(name);
        if !(known || is_further) {
            return Some(format!("{name} is not documented"));
        }
    }
    let missing = all()
        .skip(positional)
        .find(|param| param.default.is_none() && !named.contains(&param.name))?;
    Some(format!("{} is missing", missing.name))
}

/// Whether a call may have arguments.
fn takes_arguments(signature: &Signature) -> bool {
    !signature.params.is_empty() || !signature.keyword_only.is_empty()
}

#[test]
fn examples_bind_to_the_signatures_of_their_functions() {
    let mut faults = Vec::new();
    for page in manual::functions() {
        let Some(function) = halite_state_run::registry().get(page.name) else {
            faults.push(format!("there is no {}", page.name));
            continue;
        };
        for example in &page.examples {
            let fault = fault(function, &example.text);
            faults.extend(fault.map(|fault| format!("{} {}: {fault}", page.name, example.text)));
        }
        let signature = function.parse_signature().unwrap();
        if page.examples.len() < 1 + usize::from(takes_arguments(&signature)) {
            faults.push(format!("{} has too few examples", page.name));
        }
        assert!(function.doc_text().contains("\n    Returns:\n\n        "));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_name_that_no_text_has_is_not_documented() {
    let install = halite_state_run::registry().get("pkg.install").unwrap();
    assert_eq!(fault(install, "nginx version=1"), None);
    let fault = fault(install, "nginx vesion=1").unwrap();
    assert_eq!(fault, "vesion is not documented");
}

#[test]
fn arguments_of_functions_with_pages_have_types() {
    let registry = halite_state_run::registry();
    let functions = manual::functions().filter_map(|page| registry.get(page.name));
    let states = manual::states().filter_map(|page| registry.state(page.name));
    let mut without = Vec::new();
    for function in functions.chain(states) {
        let signature = function.parse_signature().unwrap();
        let params = signature.params.iter().chain(&signature.keyword_only);
        let shown = params.filter(|param| !param.name.starts_with('_'));
        for param in shown.filter(|param| manual::kind_of(param).is_none()) {
            without.push(format!("{}: {}", function.name, param.name));
        }
    }
    assert!(without.is_empty(), "{}", without.join("\n"));
}

#[test]
fn answers_are_those_of_the_functions() {
    let dir = tempfile::tempdir().unwrap();
    let minion = LocalMinion::laid_out(dir.path(), ("os_family", "Debian"));
    let mut count = 0;
    for page in manual::functions() {
        for example in &page.examples {
            let Some(answer) = example.answer else {
                continue;
            };
            let words = shlex::split(&example.text).unwrap();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let outcome = minion.call(page.name, &words);
            let call = format!("{} {}: {outcome:?}", page.name, example.text);
            let ret = shown(outcome).unwrap_or_else(|| panic!("{call}"));
            let wanted: serde_json::Value = serde_json::from_str(answer).unwrap();
            assert_eq!(as_json(&ret), wanted, "{call}");
            count += 1;
        }
    }
    assert!(count > 80, "{count}");
}

/// What every state takes, and what the compiler adds.
const COMMON: [&str; 13] = [
    "name",
    "state",
    "fun",
    "order",
    "unless",
    "onlyif",
    "creates",
    "watch",
    "require_in",
    "failhard",
    "__id__",
    "__sls__",
    "__env__",
];

/// The programs without which states with pages are not available.
const PROGRAMS: [&str; 4] = ["crontab", "git", "iptables", "rsync"];

/// A minion of a machine of its own, whose programs are there and always fail.
fn with_failing_programs(root: &Path) -> LocalMinion {
    let bin = root.join("bin");
    std::fs::create_dir_all(root.join("machine/etc")).unwrap();
    std::fs::create_dir(&bin).unwrap();
    for program in PROGRAMS {
        std::os::unix::fs::symlink("/bin/false", bin.join(program)).unwrap();
    }
    let text = |path: &Path| Value::from(path.to_str().unwrap());
    let opts = Map::from([
        ("__host_path__", text(&bin)),
        ("__host_root__", text(&root.join("machine"))),
        ("python_fallback", false.into()),
    ]);
    LocalMinion::laid_out_with(root, ("os_family", "Debian"), opts)
}

/// Each example compiles to its state, whose signature has all its arguments.
#[test]
fn examples_of_states_are_states() {
    let dir = tempfile::tempdir().unwrap();
    let minion = with_failing_programs(dir.path());
    let mut faults = Vec::new();
    for page in manual::states() {
        let Some(function) = halite_state_run::registry().state(page.name) else {
            faults.push(format!("there is no {}", page.name));
            continue;
        };
        if page.examples.len() < 2 {
            faults.push(format!("{} has too few examples", page.name));
        }
        for example in &page.examples {
            std::fs::write(dir.path().join("srv/example.sls"), &example.text).unwrap();
            let low = minion.call("state.show_low_sls", &["example"]).ret;
            let chunks = low.as_list().unwrap_or_default();
            let mut chunks = chunks.iter().filter_map(Value::as_map);
            match chunks.find(|chunk| name_of(chunk) == page.name) {
                Some(chunk) => faults.extend(fault_of_chunk(function, chunk)),
                None => faults.push(format!("{}: {low:?}", example.text)),
            }
        }
        let shown = function.state_doc_text();
        assert!(shown.contains("    Changes:\n\n        "), "{shown}");
        assert!(shown.contains("    Example:\n\n        "), "{shown}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The state of a chunk of low data.
fn name_of(chunk: &Map) -> String {
    let text = |key: &str| chunk.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{}.{}", text("state"), text("fun"))
}

fn fault_of_chunk(function: &Function, chunk: &Map) -> Option<String> {
    let signature = function.parse_signature().unwrap();
    let known = |key: &str| {
        let mut known = signature.params.iter().chain(&signature.keyword_only);
        COMMON.contains(&key) || known.any(|param| param.name == key) || signature.kwargs.is_some()
    };
    let unknown = chunk
        .keys()
        .filter_map(Value::as_str)
        .find(|key| !known(key))?;
    Some(format!("{}: {unknown} is not taken", function.name))
}

/// Each example runs in test mode and changes nothing; whatever its result is on
/// a machine without programs, its arguments are fine.
#[test]
fn examples_of_states_run_in_test_mode() {
    let dir = tempfile::tempdir().unwrap();
    let minion = with_failing_programs(dir.path());
    let mut faults = Vec::new();
    for page in manual::states().filter(|page| !NEEDS_A_MASTER.contains(&module(page.name))) {
        for example in &page.examples {
            std::fs::write(dir.path().join("srv/example.sls"), &example.text).unwrap();
            let ret = minion.call("state.apply", &["example", "test=True"]).ret;
            let states = ret.as_map().into_iter().flat_map(Map::values);
            let mut count = 0;
            for state in states.filter_map(Value::as_map) {
                count += 1;
                let text = |key: &str| state.get(key).and_then(Value::as_str);
                let comment = text("comment").unwrap_or_default();
                let is_about_arguments = WRONG.iter().any(|wrong| comment.contains(wrong));
                if is_about_arguments || state.get("result").is_none() {
                    faults.push(format!("{}: {comment}", example.text));
                }
            }
            if count == 0 {
                faults.push(format!("{}: {ret:?}", example.text));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// States of orchestrations, which a minion does not run.
const NEEDS_A_MASTER: [&str; 1] = ["salt"];

/// What a state says of arguments that it does not take.
const WRONG: [&str; 4] = [
    "argument",
    "was not found in SLS",
    "TypeError",
    "is not formed as a",
];

fn module(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// Sections of the page of differences that are not about functions and states as
/// minions call them.
const OF_OTHER_THINGS: [&str; 4] = [
    "What will stop you",
    "`salt`",
    "`salt-run`",
    "Between Salt's releases",
];

/// The functions and states that the rows of the page of differences are about.
fn named_in_differences() -> HashSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/differences.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut names = HashSet::new();
    let mut is_about_functions = false;
    for line in page.lines() {
        if let Some(section) = line.strip_prefix("## ") {
            is_about_functions = !OF_OTHER_THINGS.contains(&section);
        }
        let Some((about, _)) = line
            .strip_prefix("| ")
            .and_then(|row| row.split_once(" | "))
        else {
            continue;
        };
        // What stands between two backticks; words behind the name are arguments.
        let quoted = about.split('`').skip(1).step_by(2);
        let first_words = quoted.filter_map(|text| text.split_whitespace().next());
        if is_about_functions {
            names.extend(first_words.map(str::to_owned));
        }
    }
    names
}

#[test]
fn what_the_page_of_differences_says_is_said_by_sys_doc() {
    let mut count = 0;
    for name in named_in_differences() {
        let pages = [manual::function(&name), manual::state(&name)];
        let mut pages = pages.into_iter().flatten().peekable();
        if pages.peek().is_some() {
            count += 1;
            assert!(pages.any(|page| !page.differs.is_empty()), "{name}");
        }
    }
    assert!(count > 100, "{count}");
}
