//! Functions of a master for its admins: ending runners, batches in the background,
//! logins, wheel functions, rules of the reactor.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{
    Fleet, KeyState, Kind, Master, Minion, Output, Program, START, run, until,
};
use serde_json::{Value, json};

struct Pair {
    master: Master,
    _minions: Vec<Minion>,
    fleet: Fleet,
}

impl Pair {
    fn start(name: &str, options: &[(&str, Value)]) -> Result<Self> {
        let fleet = Fleet::new(name)?;
        let mut recipe = fleet
            .master("m1", Kind::Ours)
            .auto_accept()
            .set("timeout", 20)
            .set("gather_job_timeout", 10)
            .file("web.sls", "x: test.nop\n")
            .file(
                "_runners/own.py",
                "def call():\n    return __salt__['test.arg'](1, a=__opts__['id'])\n\
                 def endless():\n    while True:\n        pass\n",
            );
        for (option, value) in options {
            recipe = recipe.set(option, value.clone());
        }
        let master = recipe.start()?;
        let mut minions = Vec::new();
        for id in ["web1", "web2"] {
            minions.push(fleet.minion(id, Kind::Ours).of(&master).start()?);
            master.wait_minion(id)?;
        }
        Ok(Self {
            master,
            _minions: minions,
            fleet,
        })
    }

    fn run(&self, args: &[&str]) -> Result<Output> {
        self.master.tools(Kind::Ours).runner(args)
    }

    fn returned(&self, args: &[&str]) -> Result<Value> {
        let mut all = args.to_vec();
        all.push("--out=json");
        self.run(&all)?.ok()?.json()
    }

    /// The job id of the runner `fun`, once it runs.
    fn running(&self, fun: &str) -> Result<String> {
        until("the runner to run", START, || {
            let running = self.returned(&["jobs.master"])?;
            let found = running.as_array().context("no list")?.iter();
            let mut found = found.filter(|job| job["fun"] == format!("runner.{fun}"));
            Ok(found
                .next()
                .and_then(|job| job["jid"].as_str().map(str::to_owned)))
        })
    }
}

#[test]
fn a_runner_is_ended_from_outside_also_one_in_python() -> Result<()> {
    let pair = Pair::start("kill", &[])?;
    assert_eq!(
        pair.returned(&["saltutil.sync_runners"])?,
        json!(["runners.own"])
    );
    let called = pair.returned(&["own.call"])?;
    assert_eq!(called["args"], json!([1]));
    assert_eq!(called["kwargs"]["a"], pair.returned(&["config.get", "id"])?);
    for (words, fun, said) in [
        (vec!["test.sleep", "600"], "test.sleep", "600\n"),
        (vec!["own.endless"], "own.endless", ""),
    ] {
        let tools = pair.master.tools(Kind::Ours).recipe(Program::Run, &words)?;
        let waiting = thread::spawn(move || run(&tools, START));
        let jid = pair.running(fun)?;
        assert_eq!(pair.returned(&["jobs.kill", &jid])?, json!(true));
        let ended = waiting.join().ok().context("a panic")??.exit(1)?;
        assert_eq!(
            ended.stdout,
            format!("{said}Exception occurred in runner {fun}: it was stopped by jobs.kill\n")
        );
        assert_eq!(pair.returned(&["jobs.kill", &jid])?, json!(false));
        // It is kept like one that has failed.
        let kept = pair.returned(&["jobs.lookup_jid", &jid])?;
        ensure!(kept.to_string().contains("stopped by jobs.kill"), "{kept}");
    }
    Ok(())
}

#[test]
fn a_runner_that_takes_too_long_ends_by_itself() -> Result<()> {
    let pair = Pair::start("timeout", &[("runner_timeout", json!(1))])?;
    let ended = pair.run(&["test.sleep", "600"])?.exit(1)?;
    assert_eq!(
        ended.stdout,
        "600\nException occurred in runner test.sleep: it has taken longer than runner_timeout \
         allows\n"
    );
    Ok(())
}

#[test]
fn batches_go_on_without_their_program() -> Result<()> {
    let pair = Pair::start("background", &[])?;
    let events = pair.master.events()?;
    let start = |args: &[&str]| -> Result<String> {
        let mut all = vec!["--async", "-b", "1", "*"];
        all.extend(args);
        let output = pair.master.salt(&all)?.ok()?;
        let text = output.stdout.trim();
        let jid = text.strip_prefix("Executed batch command with job ID: ");
        Ok(jid.context("no job id")?.to_owned())
    };
    let jid = start(&["test.echo", "part"])?;
    let tag = |jid: &str, what: &str| format!("salt/batch/{jid}/{what}");
    let complete = tag(&jid, "complete");
    let done = events.wait("the batch to complete", START, |event| {
        event.tag == complete
    })?;
    assert_eq!(
        (&done.data["completed"], &done.data["total_minions"]),
        (&json!(2), &json!(2))
    );
    let found = pair.returned(&["jobs.lookup_jid", &jid])?;
    assert_eq!(found, json!({ "web1": "part", "web2": "part" }));
    let status = pair.returned(&["batch.status", &jid])?;
    assert_eq!(
        (&status["completed"], &status["halted"]),
        (&json!(2), &json!(false))
    );
    // One at a time: never two parts at once.
    let parts: Vec<String> = events
        .events()
        .into_iter()
        .filter(|event| event.tag.starts_with(&format!("salt/job/{jid}/")))
        .map(|event| event.tag.rsplit('/').next().unwrap_or_default().to_owned())
        .filter(|what| what == "publish" || what.starts_with("web"))
        .collect();
    assert_eq!(parts.first().map(String::as_str), Some("publish"));
    assert_eq!(
        parts.get(2).map(String::as_str),
        Some("publish"),
        "{parts:?}"
    );

    let jid = start(&["test.sleep", "600"])?;
    until("the batch to begin", START, || {
        let active = pair.returned(&["batch.list_active"])?;
        Ok((active[0]["active"] == json!(1)).then_some(()))
    })?;
    assert_eq!(
        pair.returned(&["batch.stop", &jid, "kill=True"])?,
        json!(true)
    );
    let halted = tag(&jid, "halted");
    let halted = events.wait("the batch to stop", START, |event| event.tag == halted)?;
    assert_eq!(halted.data["reason"], "stop");
    assert_eq!(
        halted.data["abandoned_pending"].as_array().map(Vec::len),
        Some(1)
    );

    let jid = start(&["--failhard", "cmd.run", "exit 3"])?;
    let halted = tag(&jid, "halted");
    let halted = events.wait("the batch to fail", START, |event| event.tag == halted)?;
    assert_eq!(halted.data["reason"], "failhard");
    Ok(())
}

#[test]
fn a_batch_outlives_its_master() -> Result<()> {
    let mut pair = Pair::start("restart", &[])?;
    let gate = pair.fleet.path().join("gate");
    let command = format!(
        "until [ -e {} ]; do sleep 0.05; done; echo done",
        gate.display()
    );
    let started = pair
        .master
        .salt(&["--async", "-b", "1", "*", "cmd.run", &command])?
        .ok()?;
    let jid = started
        .stdout
        .trim()
        .rsplit(' ')
        .next()
        .context("no id")?
        .to_owned();
    until("the batch to begin", START, || {
        let active = pair.returned(&["batch.list_active"])?;
        Ok((active[0]["active"] == json!(1)).then_some(()))
    })?;
    pair.master.stop()?;
    pair.master.start()?;
    fs::write(&gate, "")?;
    until("the batch to complete", START, || {
        let status = pair.returned(&["batch.status", &jid])?;
        Ok((status["completed"] == json!(2)).then_some(()))
    })?;
    let found = pair.returned(&["jobs.lookup_jid", &jid])?;
    assert_eq!(found, json!({ "web1": "done", "web2": "done" }));
    Ok(())
}

/// A web server that knows one password, and answers with rights.
fn web_server() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                let lower = line.to_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
                line.clear();
            }
            let mut body = vec![0; length];
            let is_right = reader.read_exact(&mut body).is_ok()
                && String::from_utf8_lossy(&body) == "username=fred&password=open+sesame";
            let (status, rights) = match is_right {
                true => ("200 OK", "[\"test.*\"]"),
                false => ("401 Unauthorized", "[]"),
            };
            let _ = write!(
                reader.get_mut(),
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{rights}",
                rights.len()
            );
        }
    });
    Ok(port)
}

#[test]
fn a_web_server_and_pam_say_who_may_log_in() -> Result<()> {
    let port = web_server()?;
    let rules = json!({
        "rest": { "^url": format!("http://127.0.0.1:{port}/login"), "fred": [] },
        // A service that there is not: nobody can log in.
        "pam": { "*": ["test.*"] },
    });
    let pair = Pair::start(
        "logins",
        &[
            ("external_auth", rules),
            ("auth.pam.service", json!("halite-no-such-service")),
        ],
    )?;
    let salt = |way: &str, password: &str, more: &[&str]| {
        let mut args = vec!["-a", way, "--username", "fred", "--password", password];
        args.extend(more);
        pair.master.salt(&args)
    };
    salt("rest", "open sesame", &["web1", "test.ping"])?.ok()?;
    let denied = salt("rest", "open sesame", &["web1", "cmd.run", "id"])?.exit(1)?;
    assert_eq!(denied.stdout, "Authorization error occurred.\n");
    let denied = salt("rest", "wrong", &["web1", "test.ping"])?.exit(1)?;
    assert_eq!(denied.stdout, "Authentication error occurred.\n");
    let denied = salt("pam", "x", &["web1", "test.ping"])?.exit(1)?;
    assert_eq!(denied.stdout, "Authentication error occurred.\n");
    // The rights of the login are kept in the token.
    salt("rest", "open sesame", &["-T", "web1", "test.ping"])?.ok()?;
    ensure!(
        pair.fleet.path().join("salt_token").exists(),
        "no token was kept"
    );
    let log = fs::read_to_string(pair.master.dir().join("log"))?;
    ensure!(!log.contains("sesame"), "a password is in the log");
    Ok(())
}

#[test]
fn rules_of_the_reactor_come_and_go() -> Result<()> {
    let pair = Pair::start("rules", &[])?;
    let dir = pair.master.dir().join("reactions");
    fs::create_dir(&dir)?;
    let touched = pair.fleet.path().join("touched");
    fs::write(
        dir.join("a.sls"),
        format!(
            "# two reactions\nbroken:\n  nowhere.x.y: []\ntouch:\n  caller.file.touch:\n    \
             - args:\n      - {}\n",
            touched.display()
        ),
    )?;
    let glob = dir.join("*.sls").display().to_string();
    let added = pair.returned(&["reactor.add", "my/*", &glob])?;
    assert_eq!(
        added,
        json!({ "status": true, "comment": "Reactor added." })
    );
    assert_eq!(
        pair.returned(&["reactor.list"])?,
        json!([{ "my/*": [glob] }])
    );
    pair.returned(&["event.send", "my/tag"])?;
    until("the reaction", START, || Ok(touched.exists().then_some(())))?;
    let place = format!("{}:2", dir.join("a.sls").display());
    until("the complaint with its place", START, || {
        let log = fs::read_to_string(pair.master.dir().join("log"))?;
        Ok(log.contains(&place).then_some(()))
    })?;
    let deleted = pair.returned(&["reactor.delete", "my/*"])?;
    assert_eq!(
        deleted,
        json!({ "status": true, "comment": "Reactor deleted." })
    );
    assert_eq!(pair.returned(&["reactor.list"])?, json!([]));
    Ok(())
}

#[test]
fn banks_hold_what_runners_keep_and_nothing_of_the_masters() -> Result<()> {
    let pair = Pair::start("banks", &[])?;
    assert_eq!(
        pair.returned(&["cache.store", "a/b", "k", "{x: 1}"])?,
        Value::Null
    );
    assert_eq!(
        pair.returned(&["cache.fetch", "a/b", "k"])?,
        json!({ "x": 1 })
    );
    assert_eq!(pair.returned(&["cache.list", "a"])?, json!(["b"]));
    assert_eq!(
        pair.returned(&["cache.list", "grains"])?,
        json!(["web1", "web2"])
    );
    for bank in ["../x", "tokens", "sessions", ".root_key", "/etc"] {
        pair.run(&["cache.list", bank])?.exit(1)?;
    }
    pair.run(&["cache.store", "a", "../../x", "1"])?.exit(1)?;
    let same = pair.run(&["cache.migrate"])?.exit(1)?;
    ensure!(
        same.stdout.contains("source and destination are the same"),
        "unexpected {same}"
    );
    Ok(())
}

#[test]
fn keys_are_changed_by_who_logs_in_and_maps_of_keys_are_maps() -> Result<()> {
    let fleet = Fleet::new("key-login")?;
    let passwords = fleet.path().join("passwords");
    fs::write(&passwords, "keeper:right\nreader:right\n")?;
    let rules = json!({ "file": {
        "^filename": passwords,
        "keeper": ["@wheel"],
        "reader": [{ "@wheel": ["key.list_all"] }],
    }});
    let master = fleet
        .master("m1", Kind::Ours)
        .set("external_auth", rules)
        .file(
            "keys.sls",
            // A text where a map belongs means no key.
            "text:\n  salt.wheel:\n    - name: key.accept_dict\n    - match: '*'\n\
             map:\n  salt.wheel:\n    - name: key.reject_dict\n    - match:\n        \
             minions_pre: [web2, nobody]\n",
        )
        .start()?;
    let _web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    let _web2 = fleet.minion("web2", Kind::Ours).of(&master).start()?;
    for id in ["web1", "web2"] {
        master.wait_key(id, KeyState::Pending)?;
    }
    let run = &["state.orchestrate", "keys", "--out=json"];
    let run = master.tools(Kind::Ours).runner(run)?.ok()?.json()?;
    let states = run["data"]
        .as_object()
        .and_then(|data| data.values().next())
        .and_then(Value::as_object)
        .context("no states")?;
    let returned: Vec<&Value> = states
        .values()
        .map(|state| &state["changes"]["return"])
        .collect();
    assert_eq!(
        returned,
        [&json!({}), &json!({ "minions_rejected": ["web2"] })]
    );
    master.wait_key("web1", KeyState::Pending)?;

    let key = |user: &str, password: &str, more: &[&str]| {
        let mut args = vec!["--auth", "file", "--username", user, "--password", password];
        args.extend(more);
        master.key(&args)
    };
    let listed = key("reader", "right", &["-L", "--out=json"])?
        .ok()?
        .json()?;
    assert_eq!(listed["minions_pre"], json!(["web1"]));
    assert_eq!(listed["minions_rejected"], json!(["web2"]));
    ensure!(
        key("reader", "right", &["-y", "-a", "web1"])?.code != 0,
        "accepted"
    );
    ensure!(
        key("keeper", "wrong", &["-y", "-a", "web1"])?.code == 1,
        "accepted"
    );
    master.wait_key("web1", KeyState::Pending)?;
    key("keeper", "right", &["-y", "-a", "web1"])?.ok()?;
    master.wait_minion("web1")?;
    key("keeper", "right", &["-y", "-d", "web2"])?.ok()?;
    let listed = key("keeper", "right", &["-L", "--out=json"])?
        .ok()?
        .json()?;
    assert_eq!(listed["minions"], json!(["web1"]));
    Ok(())
}
