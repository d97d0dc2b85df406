//! Patterns compared with what Python's `fnmatch` and `re` answered.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use halite_target::glob::{Glob, fnmatch};
use halite_target::pcre::Pcre;

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('0') => '\0',
                Some('b') => '\x08',
                other => other.unwrap(),
            },
            c => c,
        });
    }
    out
}

#[test]
fn globs_match_as_in_python() {
    let mut wrong = Vec::new();
    for line in include_str!("fnmatch.tsv").lines() {
        let mut fields = line.split('\t');
        let pattern = unescape(fields.next().unwrap());
        let text = unescape(fields.next().unwrap());
        let expected = fields.next() == Some("1");
        if Glob::new(&pattern).matches(&text) != expected || fnmatch(&pattern, &text) != expected {
            wrong.push((pattern, text, expected));
        }
    }
    assert_eq!(wrong, []);
}

#[test]
fn regular_expressions_match_as_in_python() {
    let mut lines = include_str!("pcre.tsv").lines();
    let texts: Vec<String> = lines
        .next()
        .unwrap()
        .split('\t')
        .skip(1)
        .map(unescape)
        .collect();
    let mut wrong = Vec::new();
    for line in lines {
        let (pattern, expected) = line.split_once('\t').unwrap();
        let pattern = unescape(pattern);
        let answer = match Pcre::new(&pattern) {
            Err(error) => format!("!error: {}", error.message),
            Ok(pcre) => {
                let matching: Vec<String> = (0..texts.len())
                    .filter(|i| pcre.matches_start(&texts[*i]).unwrap())
                    .map(|i| i.to_string())
                    .collect();
                format!("={}", matching.join(","))
            }
        };
        let both_refuse = answer.starts_with('!') && expected.starts_with('!');
        if answer != expected && !both_refuse {
            wrong.push(format!(
                "{pattern:?}: is {answer:?}, in Python {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
