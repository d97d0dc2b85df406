//! `salt-api` compared with real Salt's: the same requests must have the same
//! answers.
//!
//! The requests are in `requests.yaml`, with the list of differences. The answers
//! of Salt 3008.5, with its own master and minion, are recorded beside it; the long
//! form asks it again, and with `HALITE_UPDATE_REST_API` set it records instead
//! (our own answers where they are meant to differ, in the short form). Cookies are
//! compared apart from the rest, since Salt sends one with nearly every answer.

mod answer;
mod batches;
mod browser;
mod clients;
mod complete;
mod cookie;
mod crowds;
mod embedded;
mod git_hook;
mod http;
mod leaving;
mod masters;
mod options;
mod page;
mod page_behind_nginx;
mod page_jobs;
mod page_keys;
mod page_masters;
mod pepper;
mod saltgui;
mod served;
mod stage;
mod strangers;
mod streams;
mod table;
mod tls;
mod tokens;
mod two;
mod unread;

use std::path::PathBuf;
use std::ptr;

use anyhow::{Result, bail, ensure};
use halite_integration_tests::Kind;

use answer::{Answer, Answers};
use served::Served;
use table::Table;

/// Fewer would not be the comparison that it claims to be.
const REQUESTS_MIN: usize = 300;

fn at(name: &str) -> PathBuf {
    let dir = halite_integration_tests::package_dir().join("tests/rest_api");
    dir.join(name)
}

fn updates() -> bool {
    std::env::var_os("HALITE_UPDATE_REST_API").is_some()
}

/// What an API of a kind answers to the whole table.
fn answers(kind: Kind, table: &Table) -> Result<Answers> {
    let requests = table.requests()?;
    let served = Served::start(kind)?;
    let mut answers = Answers::new();
    for request in requests {
        answers.insert(request.name.clone(), served.ask(&request)?);
    }
    Ok(answers)
}

#[test]
fn our_api_answers_as_salts_does() -> Result<()> {
    let table = Table::read(&at("requests.yaml"))?;
    let count = table.requests()?.len();
    ensure!(count >= REQUESTS_MIN, "only {count} requests");
    let salt = answer::read(&at("salt-3008.5.json"))?;
    let known = answer::read(&at("ours.json"))?;
    let ours = answers(Kind::Ours, &table)?;
    let mut differing = Answers::new();
    let mut wrong = wrong_cookies(&table, &salt, &ours);
    for (name, answer) in &ours {
        let Some(of_salt) = salt.get(name) else {
            wrong.push(format!("{name}: never recorded"));
            continue;
        };
        let (answer, of_salt) = (&answer.without_cookies(), &of_salt.without_cookies());
        if answer == of_salt {
            continue;
        }
        differing.insert(name.clone(), answer.clone());
        if table.why(name).is_none() {
            wrong.push(describe_difference(name, of_salt, answer));
        } else if !updates() && known.get(name) != Some(answer) {
            wrong.push(match known.get(name) {
                Some(known) => describe_difference(&format!("{name} (ours before)"), known, answer),
                None => describe_difference(name, of_salt, answer),
            });
        }
    }
    for difference in &table.differences {
        ensure!(
            !difference.why.is_empty(),
            "no reason for {}",
            difference.of
        );
        if !differing
            .keys()
            .any(|name| name.starts_with(&difference.of))
        {
            wrong.push(format!("as Salt's, although listed: {}", difference.of));
        }
    }
    if updates() {
        answer::write(&at("ours.json"), &differing)?;
    }
    report(&wrong)
}

/// Compares the cookies of our answers with those of Salt's, or with what the table says
/// instead.
fn wrong_cookies(table: &Table, salt: &Answers, ours: &Answers) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, answer) in ours {
        // One that was never recorded is reported with the answers.
        let Some(of_salt) = salt.get(name) else {
            continue;
        };
        let listed = table.cookies_of(name, answer.status);
        let wanted = listed.map_or(&of_salt.cookies, |difference| &difference.ours);
        if answer.cookies != *wanted {
            let found = &answer.cookies;
            wrong.push(format!("{name}: cookies\n   {wanted:?}\n   {found:?}"));
        }
    }
    for difference in &table.cookies {
        let is_its = |(name, answer): (&String, &Answer)| {
            let listed = table.cookies_of(name, answer.status);
            listed.is_some_and(|listed| ptr::eq(listed, difference))
                && salt
                    .get(name)
                    .is_some_and(|of_salt| of_salt.cookies != answer.cookies)
        };
        if difference.why.is_empty() || !ours.iter().any(is_its) {
            wrong.push(format!(
                "cookies as Salt's, or without a reason, although listed: {:?}",
                difference.of
            ));
        }
    }
    wrong
}

#[test]
#[ignore = "the long form: cargo xtask test --long"]
fn salts_api_answers_as_recorded() -> Result<()> {
    let table = Table::read(&at("requests.yaml"))?;
    let path = at("salt-3008.5.json");
    let salt = answers(Kind::Salt3008, &table)?;
    if updates() {
        return answer::write(&path, &salt);
    }
    let before = answer::read(&path)?;
    let mut wrong = Vec::new();
    for (name, answer) in &salt {
        match before.get(name) {
            Some(known) if known == answer => {}
            Some(known) => wrong.push(describe_difference(name, known, answer)),
            None => wrong.push(format!("{name}: never recorded")),
        }
    }
    report(&wrong)
}

fn describe_difference(name: &str, wanted: &Answer, found: &Answer) -> String {
    let line = |answer: &Answer| {
        let headers = serde_json::json!(answer.headers);
        let cookies = &answer.cookies;
        format!("{} {headers} {cookies:?} {}", answer.status, answer.body)
    };
    format!("{name}\n   {}\n   {}", line(wanted), line(found))
}

fn report(wrong: &[String]) -> Result<()> {
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("{} requests:\n{}", wrong.len(), wrong.join("\n"))
}
