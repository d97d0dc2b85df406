//! Real clients, unmodified, through nginx with TLS: curl, and a websocket.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, Output, Program, Programs, Recipe, run};
use halite_test_services::{Nginx, find_program};
use halite_test_support::have_programs;
use serde_json::Value;

use crate::served::Served;

const DEADLINE: Duration = Duration::from_secs(60);

/// Opens a websocket over TLS by the standard library alone, says that it is ready, and
/// prints what it hears until a message has the wanted text.
const WEBSOCKET: &str = r#"
import socket, ssl, sys
host, port, ca, session, wanted = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
raw = socket.create_connection((host, int(port)), timeout=30)
line = context.wrap_socket(raw, server_hostname=host)
line.sendall((f"GET /ws/{session} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode())
heard = line.makefile("rb")
status = heard.readline()
assert b" 101 " in status, status
while heard.readline().strip():
    pass
line.sendall(b"\x81\x85\0\0\0\0ready")
print("ready", flush=True)
while True:
    first, length = heard.read(2)
    if length > 125:
        length = int.from_bytes(heard.read(2 if length == 126 else 8), "big")
    text = heard.read(length).decode()
    if wanted in text:
        print(text, flush=True)
        break
"#;

#[test]
fn a_websocket_works_through_nginx_with_tls() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let Some(nginx) = Nginx::for_test(served.address(), &lines_for_nginx()?) else {
        return Ok(());
    };
    let ca = &nginx.tls.as_ref().context("no certificates")?.ca;
    let session = served.session("alice")?;
    let tag = "salt/netapi/hook/through/tls";
    let python = Programs::from_env()?.path(Kind::Salt3008, Program::Python)?;
    let recipe = Recipe::new("websocket", python, served.master().dir()).args(&[
        "-c",
        WEBSOCKET,
        &nginx.address.ip().to_string(),
        &nginx.address.port().to_string(),
        &ca.display().to_string(),
        session,
        tag,
    ]);
    let begun = Instant::now();
    let heard = std::thread::scope(|scope| -> Result<Output> {
        let socket = scope.spawn(|| run(&recipe, DEADLINE));
        while !socket.is_finished() && begun.elapsed() < DEADLINE {
            let said = served.post("/hook/through/tls", session, &serde_json::json!({}))?;
            ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
        }
        socket
            .join()
            .map_err(|_| anyhow::anyhow!("the websocket failed"))?
    })?;
    ensure!(heard.ok()?.stdout.contains(tag));
    Ok(())
}

/// The lines that the documentation asks for in nginx's configuration.
pub(crate) fn lines_for_nginx() -> Result<String> {
    let page = halite_integration_tests::package_dir().join("../docs/api.md");
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
    // Its fourth field says whether it is for TLS only.
    let kept = fs::read_to_string(&cookies)?;
    let line = kept.lines().find(|line| line.contains("session_id"));
    let fields: Vec<&str> = line.context("no cookie")?.split('\t').collect();
    ensure!(fields.get(3) == Some(&"TRUE"), "{kept}");

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
