//! The options of `rest_cherrypy` that open or close something: what each lets through,
//! and what it does not.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, SHORT, until};
use serde_json::{Value, json};

use crate::crowds::connect_from;
use crate::http::{ask, begin, header, status};
use crate::served::Served;

/// The body of a request by default, at most.
const BODY_BYTES: usize = 1_048_576;

/// How long a body may take, and a while for a busy machine.
const BODY_WITHIN: Duration = Duration::from_secs(60 + 45);

const PORTAL: &str = "https://portal.example";

fn check(said: &str, wanted: u16) -> Result<()> {
    ensure!(status(said) == Some(wanted), "not {wanted}: {said}");
    Ok(())
}

fn get(served: &Served, path: &str, headers: &[(&str, &str)]) -> Result<String> {
    Ok(ask(served.address(), "GET", path, headers, "")?)
}

fn ping() -> Value {
    json!([{ "client": "local", "tgt": "*", "fun": "test.ping" }])
}

fn proof(user: &str, password: &str) -> Value {
    json!({ "username": user, "password": password, "eauth": "file" })
}

/// A request with JSON from an address of this machine.
fn post_from(served: &Served, from: Ipv4Addr, path: &str, low: &Value) -> Result<String> {
    let low = low.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: api\r\nConnection: close\r\nAccept: */*\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{low}",
        low.len()
    );
    let mut stream = connect_from(from, served.address())?;
    stream.set_read_timeout(Some(SHORT))?;
    stream.write_all(request.as_bytes())?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}

#[test]
fn without_options_all_but_the_login_is_closed() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let slow = begin_half(&served)?;
    let session = [("X-Auth-Token", served.session("alice")?)];

    check(
        &served.post("/hook/open", "", &json!({ "build": 17 }))?,
        401,
    )?;
    check(&get(&served, "/stats", &[])?, 401)?;
    check(&get(&served, "/stats", &session)?, 200)?;
    for path in ["/favicon.ico", "/app", "/static/a.txt", "/salt/login"] {
        check(&get(&served, path, &session)?, 404)?;
    }
    let from_portal = [session[0], ("Origin", PORTAL)];
    let read = get(&served, "/minions", &from_portal)?;
    check(&read, 200)?;
    ensure!(
        header(&read, "access-control-allow-origin").is_none(),
        "{read}"
    );
    let asked = ask(served.address(), "OPTIONS", "/", &[("Origin", PORTAL)], "")?;
    check(&asked, 405)?;

    // A form with a value of so many bytes is no login, but it is read.
    check(&large(&served, "/login", BODY_BYTES)?, 401)?;
    check(&declared(&served, "/login", BODY_BYTES + 1)?, 413)?;
    check_late(slow)
}

/// Begins a login of which only a part is sent.
fn begin_half(served: &Served) -> Result<TcpStream> {
    let at = served.address();
    let head = format!(
        "POST /login HTTP/1.1\r\nHost: {at}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n\r\n{{\"username\": "
    );
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(BODY_WITHIN))?;
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

/// What was not sent in time is refused, and nothing more is read.
fn check_late(mut slow: TcpStream) -> Result<()> {
    let mut said = String::new();
    slow.read_to_string(&mut said)
        .with_context(|| said.clone())?;
    check(&said, 408)
}

/// The answer to a body that is only said to be so long.
fn declared(served: &Served, path: &str, bytes: usize) -> Result<String> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: api\r\nAccept: */*\r\nContent-Length: {bytes}\r\n\r\n"
    );
    first_line(served, &head)
}

/// The first line of the answer to a request.
fn first_line(served: &Served, request: &str) -> Result<String> {
    let mut stream = TcpStream::connect(served.address())?;
    stream.set_read_timeout(Some(SHORT))?;
    stream.write_all(request.as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}

/// A form of so many bytes.
fn large(served: &Served, path: &str, bytes: usize) -> Result<String> {
    let begun = "username=alice&password=wrong&eauth=file&more=";
    let body = format!("{begun}{}", "x".repeat(bytes - begun.len()));
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    Ok(ask(served.address(), "POST", path, &form, &body)?)
}

#[test]
fn what_options_open_is_open_and_nothing_else() -> Result<()> {
    const LIMIT: usize = 2000;
    let files = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> Result<String> {
        let path = files.path().join(name);
        fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let shared = files.path().join("shared");
    fs::create_dir(&shared)?;
    fs::write(shared.join("a.txt"), "shared text")?;
    let served = Served::start_api(&[
        ("root_prefix", json!("/salt")),
        ("app", json!(file("app.html", "<p>the app</p>")?)),
        ("app_path", json!("/console")),
        ("favicon", json!(file("icon.ico", "an icon")?)),
        ("static", json!(shared.display().to_string())),
        ("static_path", json!("/files")),
        ("webhook_url", json!("/in")),
        ("webhook_disable_auth", json!(true)),
        ("stats_disable_auth", json!(true)),
        ("cors_origins", json!([PORTAL])),
        ("max_request_body_size", json!(LIMIT)),
    ])?;
    let session = ("X-Auth-Token", served.session("alice")?);

    // The prefix is that of all pages.
    for path in ["/login", "/console", "/files/a.txt", "/favicon.ico", "/"] {
        check(&get(&served, path, &[])?, 404)?;
    }
    check(&get(&served, "/saltlogin", &[])?, 404)?;
    check(&get(&served, "/salt/login", &[])?, 200)?;

    let said = get(&served, "/salt/console", &[])?;
    check(&said, 200)?;
    ensure!(said.ends_with("<p>the app</p>"), "{said}");
    // A browser gets it in the place of other pages.
    let said = get(&served, "/salt/minions", &[("Accept", "text/html")])?;
    ensure!(said.ends_with("<p>the app</p>"), "{said}");
    check(&get(&served, "/salt/app", &[])?, 404)?;
    let said = get(&served, "/salt/favicon.ico", &[])?;
    check(&said, 200)?;
    ensure!(said.ends_with("an icon"), "{said}");
    let said = get(&served, "/salt/files/a.txt", &[])?;
    check(&said, 200)?;
    ensure!(said.ends_with("shared text"), "{said}");
    check(&get(&served, "/salt/files/../app.html", &[])?, 403)?;
    check(&get(&served, "/salt/static/a.txt", &[])?, 404)?;

    // Hooks and counters are open, commands are not.
    check(&served.post("/in/open", "", &json!({ "build": 17 }))?, 200)?;
    check(&served.post("/hook/open", "", &json!({}))?, 404)?;
    check(&get(&served, "/salt/stats", &[])?, 200)?;
    check(&served.post("/", "", &ping())?, 401)?;
    check(&get(&served, "/salt/minions", &[])?, 401)?;

    check_origins(&served, session)?;

    check(&large(&served, "/salt/login", LIMIT)?, 401)?;
    check(&declared(&served, "/salt/login", LIMIT + 1)?, 413)?;
    // One that does not say how long it is, by somebody who may command.
    let chunked = [session, ("Accept", "*/*"), ("Transfer-Encoding", "chunked")];
    let piece = format!("{:x}\r\n{}\r\n0\r\n\r\n", LIMIT + 1, "x".repeat(LIMIT + 1));
    check(&chunks(&served, &chunked, &piece)?, 413)
}

/// A listed origin may read and ask, another one may not.
fn check_origins(served: &Served, session: (&str, &str)) -> Result<()> {
    let cookie = format!("session_id={}", session.1);
    for (origin, is_listed) in [(PORTAL, true), ("https://evil.example", false)] {
        let allowed = |said: &str| {
            let named = header(said, "access-control-allow-origin") == Some(origin);
            let any = header(said, "access-control-allow-origin").is_some();
            ensure!(named == is_listed && any == is_listed, "{origin}: {said}");
            Ok(())
        };
        let from = ("Origin", origin);
        let read = get(served, "/salt/minions", &[session, from])?;
        check(&read, 200)?;
        allowed(&read)?;
        let question = [from, ("Access-Control-Request-Method", "POST")];
        let asked = ask(served.address(), "OPTIONS", "/salt/", &question, "")?;
        check(&asked, if is_listed { 200 } else { 405 })?;
        allowed(&asked)?;
        let names = header(&asked, "access-control-allow-headers").unwrap_or_default();
        ensure!(names.contains("X-Auth-Token") == is_listed, "{asked}");
        let low = ping().to_string();
        let json = ("Content-Type", "application/json");
        let headers = [("Cookie", cookie.as_str()), from, json];
        let commanded = ask(served.address(), "POST", "/salt/", &headers, &low)?;
        check(&commanded, if is_listed { 200 } else { 403 })?;
    }
    Ok(())
}

/// A post whose body is in chunks.
fn chunks(served: &Served, headers: &[(&str, &str)], body: &str) -> Result<String> {
    let mut request = "POST /salt/ HTTP/1.1\r\nHost: api\r\nConnection: close\r\n".to_owned();
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    first_line(served, &format!("{request}\r\n{body}"))
}

#[test]
fn addresses_and_users_that_are_not_listed_are_refused() -> Result<()> {
    let [own, other, unlisted] = [
        Ipv4Addr::LOCALHOST,
        Ipv4Addr::new(127, 0, 0, 41),
        Ipv4Addr::new(127, 0, 0, 42),
    ];
    let served = Served::start_api(&[
        ("authorized_ips", json!([own, other])),
        (
            "api_acl",
            json!({ "users": { "alice": [own], "bob": ["*"] } }),
        ),
    ])?;
    let (alice, bob) = (proof("alice", "secret1"), proof("bob", "secret2"));
    let from = |from, path: &str, low: &Value| post_from(&served, from, path, low);

    for (address, user, wanted) in [(own, &alice, 200), (other, &alice, 401), (other, &bob, 200)] {
        check(&from(address, "/login", user)?, wanted)?;
        check(&from(address, "/token", &json!([user]))?, wanted)?;
        let mut low = ping()[0].clone();
        let fields = user.as_object().cloned().unwrap_or_default();
        low.as_object_mut().context("a map")?.extend(fields);
        check(&from(address, "/run", &low)?, wanted)?;
    }
    // No page answers an address that is not listed.
    for path in ["/login", "/run", "/hook/x", "/none"] {
        check(&from(unlisted, path, &bob)?, 403)?;
    }
    let mut stream = connect_from(unlisted, served.address())?;
    let session = served.session("alice")?;
    let head = format!(
        "GET /minions HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\
         X-Forwarded-For: {own}\r\nX-Auth-Token: {session}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    check(&said, 403)
}

#[test]
fn without_sessions_only_a_proof_in_the_request_counts() -> Result<()> {
    let mut served = Served::start_api(&[("enable_sessions", json!(false))])?;
    for path in ["/login", "/minions", "/jobs", "/history", "/connections"] {
        check(&get(&served, path, &[])?, 404)?;
    }
    check(&served.post("/login", "", &proof("alice", "secret1"))?, 404)?;
    check(&served.post("/logout", "", &json!({}))?, 404)?;
    check(&served.post("/", "", &ping())?, 401)?;
    let mut low = ping()[0].clone();
    low["username"] = json!("alice");
    low["eauth"] = json!("file");
    low["password"] = json!("wrong");
    check(&served.post("/run", "", &low)?, 401)?;
    low["password"] = json!("secret1");
    check(&served.post("/run", "", &low)?, 200)?;

    check_health(&mut served)
}

/// `/health` needs no login, and follows the master.
fn check_health(served: &mut Served) -> Result<()> {
    let at = served.address();
    let health = |wanted: u16| {
        until("the state of the master", SHORT, || {
            let said = ask(at, "GET", "/health", &[], "")?;
            Ok((status(&said) == Some(wanted)).then_some(said))
        })
    };
    let said = ask(at, "GET", "/health", &[], "")?;
    check(&said, 200)?;
    ensure!(said.ends_with("\r\n\r\nready\n"), "{said}");
    check(&ask(at, "GET", "/health/more", &[], "")?, 404)?;
    check(&ask(at, "POST", "/health", &[], "")?, 405)?;
    let mut begun = begin(at, "HEAD", "/health", &[], "")?;
    let mut said = String::new();
    begun.read_to_string(&mut said)?;
    check(&said, 200)?;
    served.master_mut().kill9()?;
    health(503)?;
    served.master_mut().start()?;
    health(200)?;
    Ok(())
}
