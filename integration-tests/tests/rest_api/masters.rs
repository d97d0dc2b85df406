//! One API for two masters: one dies, comes back, and the other one dies.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{SHORT, START, until};
use serde_json::json;

use crate::http::{Listening, ask, body, header};
use crate::two::{AWAY, Bond, Two};

/// Waits for the return of a job, which is to be told once.
fn wait_return(heard: &Listening, jid: &str) -> Result<()> {
    let tag = format!("salt/job/{jid}/ret/web1");
    until("the return is told", SHORT, || {
        Ok((!heard.of(&tag).is_empty()).then_some(()))
    })
}

fn check_once(heard: &Listening, tag: &str) -> Result<()> {
    let told = heard.of(tag);
    ensure!(
        told.len() == 1,
        "{tag} is told {} times: {told:?}",
        told.len()
    );
    Ok(())
}

/// Fires an event at one API and waits until it is heard; twice, so that a second
/// copy of the first one had its time.
fn check_hook(two: &Two, api: usize, session: &str, heard: &Listening, name: &str) -> Result<()> {
    for name in [name.to_owned(), format!("{name}-after")] {
        let said = two.post(api, &format!("/hook/{name}"), session, &json!({ "n": 1 }))?;
        ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
        let tag = format!("salt/netapi/hook/{name}");
        until("the event is told", SHORT, || {
            Ok((!heard.of(&tag).is_empty()).then_some(()))
        })?;
    }
    check_once(heard, &format!("salt/netapi/hook/{name}"))
}

#[test]
fn one_api_answers_for_two_masters_while_each_dies() -> Result<()> {
    outlive_each(Two::start(Bond::SharedTokens)?)
}

fn outlive_each(mut two: Two) -> Result<()> {
    let (first, second) = (two.login(0)?, two.login(1)?);
    let heard = Listening::start(two.at[0], &first)?;

    // Both live: events and jobs of both are at the first API, each once.
    two.wait_whole(0, &first)?;
    check_hook(&two, 0, &first, &heard, "of-first")?;
    check_hook(&two, 1, &second, &heard, "of-second")?;
    two.wait_masters(0, &first, &[0, 1])?;
    let of_second = two.write(1, &second, "a")?.context("no job")?;
    wait_return(&heard, &of_second)?;
    check_jobs(&two, &first, &of_second)?;

    // The first master dies while commands come: what is answered is done once.
    let mut jobs = Vec::new();
    for number in 0..20 {
        let line = format!("line{number}");
        let jid = two.write(0, &first, &line)?;
        jobs.push((line, jid.context("a command is not answered")?));
        if number == 5 {
            let (line, jid) = &jobs[5];
            wait_written(&two, line)?;
            wait_return(&heard, jid)?;
            two.masters[0].kill9()?;
        }
    }
    for (line, jid) in &jobs {
        wait_written(&two, line)?;
        wait_return(&heard, jid)?;
        check_once(&heard, &format!("salt/job/{jid}/ret/web1"))?;
    }
    check_written_once(&two)?;
    until("the notice of the first master's death", SHORT, || {
        let away = heard.of("salt/netapi/master/away");
        let is_named = away.iter().any(|data| data["master"] == two.name(0));
        Ok(is_named.then_some(()))
    })?;
    let name = two.name(0);
    ensure!(two.ping(0, &first)?.as_ref() == Some(&name));
    let said = two.get(0, "/jobs", &first)?;
    ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    ensure!(header(&said, AWAY) == Some(&name), "{said}");
    two.wait_masters(0, &first, &[1])?;
    // Who comes now is let in by the other master, and stays in.
    let late = two.login(0)?;
    ensure!(two.ping(0, &late)?.as_ref() == Some(&name));
    check_hook(&two, 1, &second, &heard, "while-away")?;

    // It comes back, and the other one dies.
    two.masters[0].start()?;
    until("the first master is back", START, || {
        Ok((!heard.of("salt/netapi/master/back").is_empty()).then_some(()))
    })?;
    two.masters[0].wait_minion("web1")?;
    two.wait_whole(0, &late)?;
    two.wait_masters(0, &first, &[0, 1])?;
    check_hook(&two, 0, &first, &heard, "back")?;
    two.masters[1].kill9()?;
    let name = two.at[1].to_string();
    until("the notice of the second master's death", SHORT, || {
        Ok((two.ping(0, &first)?.as_ref() == Some(&name)).then_some(()))
    })?;
    let said = two.get(0, "/jobs", &first)?;
    ensure!(header(&said, AWAY) == Some(&name), "{said}");
    two.wait_masters(0, &first, &[0])?;
    check_hook(&two, 0, &first, &heard, "alone")?;

    // With streams open the API ends within its time.
    for api in &mut two.apis {
        ensure!(api.stop(std::time::Duration::from_secs(5))? == 0);
    }
    Ok(())
}

fn check_jobs(two: &Two, session: &str, of_second: &str) -> Result<()> {
    let all = body(&two.get(0, "/jobs", session)?)?;
    ensure!(all["return"][0].get(of_second).is_some(), "{all}");
    let job = body(&two.get(0, &format!("/jobs/{of_second}"), session)?)?;
    ensure!(job["return"][0].get("web1").is_some(), "{job}");
    // What another API asks is answered for one master.
    let headers = [("X-Auth-Token", session), ("Halite-Relayed", "x")];
    let own = body(&ask(two.at[0], "GET", "/jobs", &headers, "")?)?;
    ensure!(own["return"][0].get(of_second).is_none(), "{own}");
    Ok(())
}

fn wait_written(two: &Two, line: &str) -> Result<()> {
    until("the command has run", SHORT, || {
        Ok(two.lines()?.iter().any(|one| one == line).then_some(()))
    })
}

fn check_written_once(two: &Two) -> Result<()> {
    let mut lines = two.lines()?;
    let all = lines.len();
    lines.sort();
    lines.dedup();
    ensure!(lines.len() == all, "something ran twice: {lines:?}");
    Ok(())
}

#[test]
fn a_token_that_the_other_master_does_not_know_is_refused_with_the_reason() -> Result<()> {
    let mut two = Two::start(Bond::List)?;
    let session = two.login(0)?;
    two.wait_whole(0, &session)?;
    let said = two.get(0, "/jobs", &session)?;
    let name = two.at[1].to_string();
    ensure!(header(&said, AWAY) == Some(&name), "{said}");
    two.masters[0].kill9()?;
    let low = json!([{ "client": "local", "tgt": "*", "fun": "test.ping" }]);
    let said = two.post(0, "/", &session, &low)?;
    ensure!(said.starts_with("HTTP/1.1 401"), "{said}");
    ensure!(said.contains("must share one token store"), "{said}");
    Ok(())
}
