//! pepper, the client of Salt's own project, unmodified: its options and its ways to log
//! in.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, Output, Program, Programs, Recipe, START, run, until};
use halite_test_services::Nginx;
use serde_json::{Value, json};

use crate::clients::lines_for_nginx;
use crate::served::Served;

/// How long one call may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// The directory beside the peers with pepper.
const PEPPER: &str = "pepper";

struct Pepper {
    url: String,
    home: PathBuf,
    /// Who has signed the certificate of that address.
    ca: Option<PathBuf>,
}

impl Pepper {
    fn new(served: &Served, url: String, ca: Option<PathBuf>) -> Result<Self> {
        let home = served.master().dir().join("pepper-home");
        fs::create_dir_all(&home)?;
        Ok(Self { url, home, ca })
    }

    fn ask(&self, password: &str, args: &[&str]) -> Result<Output> {
        let login = [
            "-u",
            &self.url,
            "-a",
            "file",
            "--username",
            "alice",
            "--password",
            password,
        ];
        self.run(&[&login[..], args].concat())
    }

    /// Runs it with these arguments and no others.
    fn run(&self, args: &[&str]) -> Result<Output> {
        let place = Programs::peers_dir()?.join(PEPPER);
        let program = place.join("bin/pepper").display().to_string();
        let python = Programs::from_env()?.path(Kind::Salt3008, Program::Python)?;
        let mut recipe = Recipe::new("pepper", python, &self.home)
            .env("PYTHONPATH", &place.display().to_string());
        if let Some(ca) = &self.ca {
            recipe = recipe.env("SSL_CERT_FILE", &ca.display().to_string());
        }
        let recipe = recipe.args(&[program.as_str()]).args(args);
        run(&recipe, DEADLINE)
    }

    fn check(&self) -> Result<()> {
        let pong = "web1:\n    True";
        let asked: [(&[&str], &str); 10] = [
            (&["*", "test.ping"], pong),
            (&["-L", "web1", "test.ping"], pong),
            (&["-E", "web.*", "test.ping"], pong),
            (&["-G", "kernel:Linux", "test.ping"], pong),
            (&["-C", "G@kernel:Linux and web1", "test.ping"], pong),
            (&["-r", "*", "test.ping"], pong),
            (&["*", "test.kwarg", "a=one"], "a:\n        one"),
            (&["--client=runner", "manage.up"], "web1"),
            (&["--client=wheel", "key.list_all"], "- web1"),
            (&["--client=local_async", "*", "test.ping"], "minions:"),
        ];
        for (args, wanted) in asked {
            let output = self.ask("secret1", args)?.ok()?;
            ensure!(output.stdout.contains(wanted), "{output}");
        }
        let refused = self.ask("wrong", &["*", "test.ping"])?;
        ensure!(refused.code != 0, "{refused}");
        Ok(())
    }
}

#[test]
fn pepper_works_unmodified() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let url = format!("http://{}", served.address());
    Pepper::new(&served, url, None)?.check()
}

#[test]
fn pepper_works_through_nginx_with_tls() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let Some(nginx) = Nginx::for_test(served.address(), &lines_for_nginx()?) else {
        return Ok(());
    };
    let tls = nginx.tls.as_ref().context("no certificates")?;
    let url = format!("https://{}", nginx.address);
    Pepper::new(&served, url, Some(tls.ca.clone()))?.check()
}

#[test]
fn pepper_finds_minions_by_all_kinds_of_targets() -> Result<()> {
    let served = Served::start_with(Kind::Ours, |plan| {
        plan.set("nodegroups", json!({ "webs": "L@web1" }))
    })?;
    let pillar = served.master().dir().join("pillar");
    fs::write(pillar.join("top.sls"), "base:\n  '*':\n    - site\n")?;
    fs::write(pillar.join("site.sls"), "site: basle\n")?;
    let url = format!("http://{}", served.address());
    let pepper = Pepper::new(&served, url, None)?;
    let refreshed = ["*", "saltutil.refresh_pillar"];
    pepper.ask("secret1", &refreshed)?.ok()?;
    let targets: [&[&str]; 9] = [
        &["--pcre", "web[0-9]"],
        &["--list", "web1,web2"],
        &["--grain", "kernel:Linux"],
        &["--grain-pcre", "kernel:Lin.*"],
        &["-I", "site:basle"],
        &["--pillar-pcre", "site:bas.*"],
        &["--compound", "web* and not db*"],
        &["-N", "webs"],
        &["--batch=1", "*"],
    ];
    for target in targets {
        let args = [target, &["test.ping"]].concat();
        // The pillar arrives a moment after the answer.
        until(&format!("{args:?}"), START, || {
            let output = pepper.ask("secret1", &args)?;
            Ok(output.stdout.contains("web1:\n    True").then_some(()))
        })?;
    }
    let nobody = pepper.ask("secret1", &["-I", "site:geneva", "test.ping"])?;
    ensure!(!nobody.stdout.contains("web1"), "{nobody}");
    Ok(())
}

#[test]
fn pepper_logs_in_by_profiles() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let url = format!("http://{}", served.address());
    let pepper = Pepper::new(&served, url.clone(), None)?;
    let config = pepper.home.join("rc");
    fs::write(
        &config,
        format!(
            "[main]\nSALTAPI_URL={url}/\nSALTAPI_USER=alice\nSALTAPI_PASS=secret1\nSALTAPI_EAUTH=file\n\
             [wrong]\nSALTAPI_URL={url}/\nSALTAPI_USER=alice\nSALTAPI_PASS=wrong\nSALTAPI_EAUTH=file\n\
             [nobody]\nSALTAPI_URL={url}/\nSALTAPI_EAUTH=file\n"
        ),
    )?;
    let config = config.display().to_string();
    let pong = "web1:\n    True";
    for uri in [&[][..], &["--run-uri"][..]] {
        let of = |profile, more: &[&str]| {
            let args = [&["-c", &config, "-p", profile][..], uri, more].concat();
            pepper.run(&args)
        };
        let output = of("main", &["*", "test.ping"])?.ok()?;
        ensure!(output.stdout.contains(pong), "{output}");
        let refused = of("wrong", &["*", "test.ping"])?;
        ensure!(refused.code == 1, "{refused}");
        let asks = of("nobody", &["--non-interactive", "*", "test.ping"])?;
        ensure!(asks.code == 1, "{asks}");
    }
    Ok(())
}

#[test]
fn pepper_takes_low_data_and_waits_for_minions() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let url = format!("http://{}", served.address());
    let pepper = Pepper::new(&served, url, None)?;
    let ask = |args: &[&str]| pepper.ask("secret1", args);
    let low = r#"[{"client": "local", "tgt": "*", "fun": "test.ping"}]"#;
    let file = pepper.home.join("low.json");
    fs::write(&file, low)?;
    let file = file.display().to_string();
    let pong = "web1:\n    True";
    for given in [["--json", low], ["--json-file", &file]] {
        let output = ask(&given)?.ok()?;
        ensure!(output.stdout.contains(pong), "{output}");
    }
    ensure!(ask(&["--json", "{what}"])?.code == 1);

    // Runners and wheels take arguments by place and by name, with their types.
    let words = ["one", "two=what", r#"three={"hello": "world"}"#];
    let runner = ["--client=runner", "--out=json", "test.arg"];
    let output = ask(&[&runner[..], &words[..]].concat())?.ok()?;
    let said: Value = serde_json::from_str(&output.stdout)?;
    let wanted = json!({
        "args": ["one"], "kwargs": { "two": "what", "three": { "hello": "world" } },
    });
    ensure!(said == wanted, "{said}");
    let connected = ask(&["--client=wheel", "minions.connected"])?.ok()?;
    ensure!(connected.stdout.contains("- web1"), "{connected}");

    let into = pepper.home.join("output");
    let shown = into.display().to_string();
    ask(&["--out=json", "--output-file", &shown, "*", "test.ping"])?.ok()?;
    let said: Value = serde_json::from_str(&fs::read_to_string(&into)?)?;
    ensure!(said == json!({ "web1": true }), "{said}");

    // It asks the job cache until all have returned, or for as long as it may.
    let all = ask(&["--fail-if-incomplete", "*", "test.sleep", "1"])?;
    ensure!(all.code == 0 && all.stdout.contains(pong), "{all}");
    let late = ask(&["-t", "1", "--fail-if-incomplete", "*", "test.sleep", "30"])?;
    ensure!(late.code == 1 && late.stdout.contains("Failed"), "{late}");

    // What a command ends with is what pepper ends with.
    for (option, command, code) in [
        ("--fail-any", "exit 3", 3),
        ("--fail-all", "exit 3", 3),
        ("--fail-any", "true", 0),
        ("--fail-any-none", "true", 0),
    ] {
        let output = ask(&[option, "*", "cmd.run", command])?;
        ensure!(output.code == code, "{option} {command}: {output}");
    }
    Ok(())
}
