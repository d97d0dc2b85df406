//! `salt` in batches, on subsets, after a login; `salt-cp`.

use std::fs;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Minion};
use serde_json::{Value, json};

struct Three {
    master: Master,
    minions: Vec<Minion>,
    fleet: Fleet,
}

impl Three {
    fn start() -> Result<Self> {
        let fleet = Fleet::new("batches")?;
        let rules = json!({ "auto": { "alice": [{ "*": ["test.*"] }, "@runner"] } });
        let master = fleet
            .master("m1", Kind::Ours)
            .auto_accept()
            .set("timeout", 15)
            .set("gather_job_timeout", 5)
            .set("external_auth", rules)
            .start()?;
        let mut minions = Vec::new();
        for id in ["web1", "web2", "web3"] {
            minions.push(fleet.minion(id, Kind::Ours).of(&master).start()?);
            master.wait_minion(id)?;
        }
        Ok(Self {
            master,
            minions,
            fleet,
        })
    }
}

#[test]
fn a_batch_goes_on_as_places_become_free() -> Result<()> {
    let three = Three::start()?;
    let batch = three.master.salt(&["*", "test.ping", "-b", "1"])?.ok()?;
    let text = &batch.stdout;
    // samples/salt-batch1.txt: who is next is said before what came.
    ensure!(
        text.starts_with(
            "\nExecuting run on ['web1']\n\n\nExecuting run on ['web2']\n\njid:\n    "
        ),
        "unexpected {batch}"
    );
    ensure!(
        text.contains("\nretcode:\n    0\nweb1:\n    True\n"),
        "unexpected {batch}"
    );
    let half = three
        .master
        .salt(&["*", "cmd.run", "exit 3", "-b", "50%"])?;
    assert_eq!(half.code, 3, "{half}");
    let stopped = three
        .master
        .salt(&["*", "cmd.run", "exit 4", "-b", "1", "--failhard"])?;
    assert_eq!(stopped.code, 4, "{stopped}");
    ensure!(!stopped.stdout.contains("web2"), "unexpected {stopped}");
    let merged = three
        .master
        .salt(&["*", "test.ping", "-b", "2", "--static", "--out=json"])?
        .ok()?;
    assert_eq!(
        merged.json()?,
        json!({ "web1": true, "web2": true, "web3": true })
    );
    let safe = three
        .master
        .salt(&[
            "*",
            "test.ping",
            "--batch-safe-limit=3",
            "--batch-safe-size=2",
        ])?
        .ok()?;
    ensure!(
        safe.stdout
            .starts_with("\nNOTICE: Too many minions targeted, switching to batch execution.\n"),
        "unexpected {safe}"
    );
    let nobody = three
        .master
        .salt(&["nosuch", "test.ping", "-b", "1"])?
        .exit(2)?;
    // The second line is the client's, as with Salt.
    assert_eq!(
        nobody.stdout,
        "No minions matched the target. No command was sent, no jid was assigned.\n\
         No minions matched the target.\n"
    );
    three
        .master
        .salt(&["*", "test.ping", "-b", "x"])?
        .exit(64)?;
    Ok(())
}

#[test]
fn all_parts_of_a_batch_are_one_job() -> Result<()> {
    let mut three = Three::start()?;
    if let Some(web3) = three.minions.last_mut() {
        web3.kill9()?;
    }
    let batch = three
        .master
        .salt(&["*", "test.echo", "part", "-b", "1", "--out=json"])?
        .ok()?;
    ensure!(
        batch
            .stdout
            .starts_with("Minion web3 did not respond. No job will be sent.\n"),
        "unexpected {batch}"
    );
    let (_, jid) = batch.stdout.split_once("\"jid\": \"").context("no jid")?;
    let jid = jid.get(..20).context("a short jid")?;
    let found = three
        .master
        .tools(Kind::Ours)
        .runner(&["jobs.lookup_jid", jid, "--out=json"])?
        .ok()?
        .json()?;
    assert_eq!(found, json!({ "web1": "part", "web2": "part" }));
    Ok(())
}

#[test]
fn a_subset_is_so_many_minions_with_the_function() -> Result<()> {
    let three = Three::start()?;
    let two = three
        .master
        .salt(&["*", "test.ping", "--subset=2", "--out=json"])?
        .ok()?;
    assert_eq!(two.by_minion()?.len(), 2);
    three
        .master
        .salt(&["*", "no.such", "--subset=2"])?
        .exit(2)?;
    let preview = three
        .master
        .salt(&["-C", "web* and not web2", "--preview-target", "--out=json"])?
        .ok()?;
    assert_eq!(preview.json()?, json!(["web1", "web3"]));
    Ok(())
}

#[test]
fn who_logs_in_may_do_what_the_rules_say() -> Result<()> {
    let three = Three::start()?;
    let login = ["-a", "auto", "--password", "x", "--username"];
    let salt = |user: &str, more: &[&str]| {
        let mut args = login.to_vec();
        args.push(user);
        args.extend(more);
        three.master.salt(&args)
    };
    salt("alice", &["web1", "test.ping"])?.ok()?;
    let denied = salt("alice", &["web1", "cmd.run", "id"])?.exit(1)?;
    assert_eq!(denied.stdout, "Authorization error occurred.\n");
    // Whom no entry means is told nothing.
    let denied = salt("mallory", &["web1", "test.ping"])?.exit(1)?;
    assert_eq!(denied.stdout, "Authentication error occurred.\n");
    let unknown = three
        .master
        .salt(&[
            "-a",
            "nosuch",
            "--username",
            "x",
            "--password",
            "x",
            "*",
            "test.ping",
        ])?
        .exit(2)?;
    assert_eq!(
        unknown.stdout,
        "The specified external authentication system \"nosuch\" is not available\n\
         Available eauth types: auto, file, ldap, pam, rest, sharedsecret\n"
    );
    assert_eq!(unknown.stderr, "ERROR: Authentication failed\n");
    let mut args = login.to_vec();
    args.extend(["alice", "manage.up", "--out=json"]);
    let up = three.master.tools(Kind::Ours).runner(&args)?.ok()?;
    assert_eq!(up.json()?, json!(["web1", "web2", "web3"]));
    salt("alice", &["-T", "web1", "test.ping"])?.ok()?;
    ensure!(
        three.fleet.path().join("salt_token").exists(),
        "no token was kept"
    );
    Ok(())
}

#[test]
fn a_return_too_large_for_an_event_comes_from_the_cache() -> Result<()> {
    let fleet = Fleet::new("large")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("max_event_size", 4000)
        .set("peer", json!({ "web1": ["cmd.run"] }))
        .start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let long = "x".repeat(9000);
    let command = "head -c 9000 /dev/zero | tr '\\0' x";
    let asked = ["web1", "cmd.run", command, "--out=json"];
    let shown = master.salt(&asked)?.ok()?;
    assert_eq!(shown.of("web1")?, Value::from(long.as_str()));
    let shown = master.salt(&[&["-b", "1"], &asked[..]].concat())?.ok()?;
    ensure!(shown.stdout.contains(&long), "unexpected {shown}");
    // A minion that has others run it, too.
    for (function, shown) in [
        ("publish.publish", json!(long)),
        ("publish.full_data", json!({ "ret": long })),
    ] {
        let asked = [function, "web1", "cmd.run", command, "timeout=30"];
        let said = &minion.called(&asked)?["web1"];
        let said = match function {
            "publish.full_data" => json!({ "ret": said["ret"] }),
            _ => said.clone(),
        };
        assert_eq!(said, shown, "{function}");
    }
    Ok(())
}

#[test]
fn files_are_copied_whole_and_in_pieces() -> Result<()> {
    let three = Three::start()?;
    let from = three.fleet.path().join("from");
    let to = three.fleet.path().join("to");
    fs::create_dir_all(from.join("dir/void"))?;
    fs::create_dir_all(&to)?;
    fs::write(from.join("text"), "žluťoučký\n")?;
    let large: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(from.join("dir/large"), &large)?;
    let path = |dir: &std::path::Path, name: &str| dir.join(name).display().to_string();
    let tools = three.master.tools(Kind::Ours);
    let there = path(&to, "text");
    let copied = tools
        .cp(&["web1", &path(&from, "text"), &there, "--out=json"])?
        .ok()?;
    assert_eq!(copied.json()?, json!({ "web1": { there.as_str(): true } }));
    assert_eq!(fs::read_to_string(&there)?, "žluťoučký\n");

    let dir = path(&from, "dir");
    let refused = tools.cp(&["web1", &dir, &path(&to, "")])?.exit(1)?;
    ensure!(
        refused
            .stdout
            .contains("is a directory, only files are supported"),
        "unexpected {refused}"
    );
    tools.cp(&["-C", "web1", &dir, &path(&to, "")])?.ok()?;
    ensure!(
        fs::read(to.join("dir/large"))? == large,
        "it arrived changed"
    );
    ensure!(to.join("dir/void").is_dir(), "no empty directory");
    tools.cp(&["web1", "only-one"])?.exit(64)?;
    Ok(())
}
