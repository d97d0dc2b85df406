//! A hook of a repository that posts to the API: a push is served at once, and jobs
//! name the commit.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, START, until};
use halite_test_support::have_programs;
use serde_json::{Value, json};

use crate::http::{ask, body};
use crate::served::Served;

/// Commits a file in a repository; the id of the commit.
fn commit(dir: &Path, path: &str, text: &str) -> Result<String> {
    let git = |words: &[&str]| -> Result<String> {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(words)
            .current_dir(dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()?;
        ensure!(output.status.success(), "git {words:?}: {output:?}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    if !dir.exists() {
        fs::create_dir_all(dir)?;
        git(&["init", "-q", "-b", "main"])?;
    }
    fs::write(dir.join(path), text)?;
    git(&["add", "-A"])?;
    git(&["commit", "-q", "-m", "x"])?;
    git(&["rev-parse", "HEAD"])
}

#[test]
fn what_is_pushed_is_served_when_its_hook_has_posted_to_the_api() -> Result<()> {
    if !have_programs(&["git"]) {
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let states = dir.path().join("states");
    let first = commit(&states, "it.sls", "first: test.nop\n")?;
    let reaction = dir.path().join("pushed.sls");
    fs::write(
        &reaction,
        "update:\n  runner.fileserver.update:\n    - args:\n      - remotes: states\n",
    )?;
    let url = format!("file://{}", states.display());
    let served = Served::start_with(Kind::Ours, |plan| {
        plan.set("fileserver_backend", json!(["git"]))
            .set("gitfs_base", "main")
            .set("gitfs_update_interval", 3600)
            .set("gitfs_remotes", json!([{ &url: [{ "name": "states" }] }]))
            .set(
                "reactor",
                json!([{ "salt/netapi/hook/pushed": [reaction] }]),
            )
    })?;
    let alice = served.session("alice")?;
    let low = |chunk: Value| -> Result<Value> {
        let said = body(&served.post("/", alice, &json!([chunk]))?)?;
        Ok(said["return"][0].clone())
    };
    let runner = |fun: &str| low(json!({ "client": "runner", "fun": fun }));
    let base = || -> Result<Value> {
        let status = runner("fileserver.status")?;
        Ok(status[&url]["envs"]["base"].clone())
    };
    runner("fileserver.update")?;
    ensure!(base()? == json!(first), "{}", base()?);
    let second = commit(&states, "it.sls", "second: test.nop\n")?;
    ensure!(base()? == json!(first), "it was fetched by itself");
    let refused = served.post("/hook/pushed", "", &json!({}))?;
    ensure!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let said = served.post("/hook/pushed", alice, &json!({ "ref": "main" }))?;
    ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    until("the commit that was pushed", START, || {
        Ok((base()? == json!(second)).then_some(()))
    })?;

    // A job from it says so.
    let apply = json!({
        "client": "local_async", "tgt": "web1", "fun": "state.apply", "arg": ["it"],
    });
    let begun = low(apply)?;
    let jid = begun["jid"].as_str().context("no job")?;
    let job = until("the result of the job", START, || {
        let headers = [("X-Auth-Token", alice), ("Accept", "application/json")];
        let path = format!("/jobs/{jid}");
        let said = body(&ask(served.address(), "GET", &path, &headers, "")?)?;
        let job = said["info"][0].clone();
        Ok(job["Result"]["web1"].is_object().then_some(job))
    })?;
    ensure!(job.to_string().contains("second"), "{job}");
    ensure!(
        job["Commits"] == json!({ "web1": { "base": { "states": second } } }),
        "{job}"
    );
    Ok(())
}
