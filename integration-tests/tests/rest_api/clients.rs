//! Clients that people have, unmodified: pepper, and curl through nginx.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, Output, Program, Programs, Recipe, run};
use halite_test_services::{Nginx, find_program};
use halite_test_support::have_programs;
use serde_json::Value;

use crate::served::Served;

const DEADLINE: Duration = Duration::from_secs(60);

/// The directory beside the peers with pepper.
const PEPPER: &str = "pepper";

struct Pepper<'s> {
    served: &'s Served,
    home: PathBuf,
}

impl Pepper<'_> {
    fn ask(&self, password: &str, args: &[&str]) -> Result<Output> {
        let place = Programs::peers_dir()?.join(PEPPER);
        let program = place.join("bin/pepper").display().to_string();
        let url = format!("http://{}", self.served.address());
        let login = [
            "-u",
            &url,
            "-a",
            "file",
            "--username",
            "alice",
            "--password",
            password,
        ];
        let python = Programs::from_env()?.path(Kind::Salt3008, Program::Python)?;
        let recipe = Recipe::new("pepper", python, &self.home)
            .env("PYTHONPATH", &place.display().to_string())
            .args(&[program.as_str()])
            .args(&login)
            .args(args);
        run(&recipe, DEADLINE)
    }
}

#[test]
fn pepper_works_unmodified() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let home = served.master().dir().join("pepper-home");
    fs::create_dir_all(&home)?;
    let pepper = Pepper {
        served: &served,
        home,
    };
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
        let output = pepper.ask("secret1", args)?.ok()?;
        ensure!(output.stdout.contains(wanted), "{output}");
    }
    let refused = pepper.ask("wrong", &["*", "test.ping"])?;
    ensure!(refused.code != 0, "{refused}");
    Ok(())
}

/// The lines that the documentation asks for in nginx's configuration.
fn lines_for_nginx() -> Result<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/api.md");
    let page = fs::read_to_string(page)?;
    let lines: Vec<&str> = page
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("proxy_") && line.ends_with(';'))
        .collect();
    ensure!(!lines.is_empty(), "the page has no lines for nginx");
    Ok(lines.join("\n"))
}

#[test]
fn curl_works_through_nginx_with_tls() -> Result<()> {
    if !have_programs(&["curl"]) {
        return Ok(());
    }
    let served = Served::start(Kind::Ours)?;
    let Some(nginx) = Nginx::for_test(served.address(), &lines_for_nginx()?) else {
        return Ok(());
    };
    let tls = nginx.tls.as_ref().context("no certificates")?;
    let home = served.master().dir().to_owned();
    let cookies = home.join("cookies").display().to_string();
    let ca = tls.ca.display().to_string();
    let curl = |path: &str, args: &[&str]| -> Result<Output> {
        let url = format!("https://{}{path}", nginx.address);
        let program = find_program("curl").context("no curl")?;
        let recipe = Recipe::new("curl", program, &home)
            .args(&["-sS", "--cacert", &ca, "-b", &cookies, "-c", &cookies, &url])
            .args(args);
        run(&recipe, DEADLINE)
    };
    let login = [
        "-d",
        "username=alice",
        "-d",
        "password=secret1",
        "-d",
        "eauth=file",
    ];
    let session: Value = serde_json::from_str(&curl("/login", &login)?.ok()?.stdout)?;
    let token = session["return"][0]["token"].as_str().context("no token")?;
    ensure!(fs::read_to_string(&cookies)?.contains("session_id"));

    // By the cookie, which asks for https, and by the header.
    let ping = ["-d", "client=local", "-d", "tgt=*", "-d", "fun=test.ping"];
    let header = format!("X-Auth-Token: {token}");
    for more in [vec![], vec!["-H", &header, "-b", "none=1"]] {
        let said = curl("/", &[&ping[..], &more[..]].concat())?.ok()?;
        ensure!(
            said.stdout.trim() == r#"{"return": [{"web1": true}]}"#,
            "{said}"
        );
    }
    let low = r#"[{"client": "runner", "fun": "manage.up"}]"#;
    let said = curl("/", &["-H", "Content-Type: application/json", "-d", low])?.ok()?;
    ensure!(said.stdout.trim() == r#"{"return": [["web1"]]}"#, "{said}");
    let said = curl(
        "/",
        &[&ping[..], &["-H", "Accept: application/x-yaml"]].concat(),
    )?
    .ok()?;
    ensure!(said.stdout.trim() == "return:\n- web1: true", "{said}");

    // An event arrives while its stream is open.
    let begun = Instant::now();
    let tag = "salt/netapi/hook/through/nginx";
    let stream = std::thread::scope(|scope| -> Result<Output> {
        let stream = scope.spawn(|| curl("/events", &["-N", "--max-time", "4"]));
        while !stream.is_finished() && begun.elapsed() < DEADLINE {
            curl("/hook/through/nginx", &["-d", "build=17"])?.ok()?;
        }
        stream
            .join()
            .map_err(|_| anyhow::anyhow!("the stream failed"))?
    })?;
    ensure!(stream.stdout.contains(tag), "{stream}");
    Ok(())
}
