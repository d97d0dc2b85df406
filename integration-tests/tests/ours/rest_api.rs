//! `salt-api` before our master: who gets in, what they may do, and what a stranger
//! or another page cannot do.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Daemon, Fleet, Kind, Master, Minion, Ports, Program, SHORT, until};
use halite_test_support::http;
use serde_json::{Value, json};

struct Served {
    api: Daemon,
    at: SocketAddr,
    _minion: Minion,
    _master: Master,
    _ports: Ports<1>,
    _fleet: Fleet,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.body).with_context(|| format!("{}: {}", self.status, self.body))
    }
}

impl Served {
    fn start() -> Result<Self> {
        let fleet = Fleet::new("api")?;
        let ports = Ports::<1>::claim()?;
        let at = SocketAddr::from(([127, 0, 0, 1], ports.numbers[0]));
        let users = fleet.path().join("users");
        fs::write(&users, "alice:secret1\nbob:secret2\n")?;
        let logins = json!({ "file": {
            "^filename": users, "^hashtype": "plaintext",
            "alice": [".*", "@runner", "@wheel"], "bob": ["test.ping"],
        }});
        let master = fleet
            .master("m1", Kind::Ours)
            .auto_accept()
            .set("external_auth", logins)
            .set(
                "netapi_enable_clients",
                json!([
                    "local",
                    "local_async",
                    "local_batch",
                    "runner",
                    "wheel",
                    "wheel_async"
                ]),
            )
            .set(
                "rest_cherrypy",
                json!({ "port": at.port(), "disable_ssl": true, "login_failures_per_minute": 4 }),
            )
            .start()?;
        let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
        master.wait_minion("web1")?;
        let recipe = master.tools(Kind::Ours).recipe(Program::Api, &[])?;
        let mut api = Daemon::new(recipe, master.dir().join("api-console"));
        api.start()?;
        until("the API listens", SHORT, || Ok(TcpStream::connect(at).ok()))?;
        Ok(Self {
            api,
            at,
            _minion: minion,
            _master: master,
            _ports: ports,
            _fleet: fleet,
        })
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Answer> {
        let said = http::ask(self.at, method, path, headers, body)?;
        let (head, body) = said.split_once("\r\n\r\n").context("no answer")?;
        Ok(Answer {
            status: http::status(&said).context("no status")?,
            head: head.to_owned(),
            body: body.to_owned(),
        })
    }

    fn post(&self, path: &str, headers: &[(&str, &str)], low: &Value) -> Result<Answer> {
        let mut headers = headers.to_vec();
        headers.push(("Content-Type", "application/json"));
        self.ask("POST", path, &headers, &low.to_string())
    }

    fn log_in(&self, user: &str, password: &str) -> Result<Answer> {
        let proof = json!({ "username": user, "password": password, "eauth": "file" });
        self.post("/login", &[], &proof)
    }

    fn session(&self, user: &str, password: &str) -> Result<String> {
        let answer = self.log_in(user, password)?;
        Ok(answer
            .header("X-Auth-Token")
            .context("no session")?
            .to_owned())
    }
}

#[test]
fn a_session_commands_with_the_rights_of_its_user() -> Result<()> {
    let served = Served::start()?;
    let alice = served.session("alice", "secret1")?;
    let bob = served.session("bob", "secret2")?;
    let low = |low: Value, token: &str| served.post("/", &[("X-Auth-Token", token)], &low);

    let ping = json!([{ "client": "local", "tgt": "*", "fun": "test.ping" }]);
    for token in [&alice, &bob] {
        let answer = low(ping.clone(), token)?;
        ensure!(
            answer.json()? == json!({ "return": [{ "web1": true }] }),
            "{}",
            answer.body
        );
    }
    let echo = json!({ "client": "local", "tgt": "web1", "fun": "test.echo", "arg": "x" });
    ensure!(low(echo.clone(), &alice)?.json()?["return"][0]["web1"] == "x");
    ensure!(low(echo, &bob)?.status == 401);
    let up = json!({ "client": "runner", "fun": "manage.up" });
    ensure!(low(up.clone(), &alice)?.json()?["return"][0] == json!(["web1"]));
    ensure!(low(up, &bob)?.status == 401);
    // CVE-2021-25281: a wheel function that is not waited for is judged, too.
    for client in ["wheel", "wheel_async"] {
        let keys = json!({ "client": client, "fun": "key.list_all" });
        ensure!(low(keys.clone(), &alice)?.status == 200, "{client}");
        ensure!(low(keys, &bob)?.status == 401, "{client}");
    }
    let started = served.post("/minions", &[("X-Auth-Token", &alice)], &ping)?;
    ensure!(started.status == 202, "{}", started.body);
    let link = started.json()?["_links"]["jobs"][0]["href"].clone();
    let link = link.as_str().context("no link")?.to_owned();
    until("the job is in the cache", SHORT, || {
        let job = served.ask("GET", &link, &[("X-Auth-Token", &alice)], "")?;
        let is_there = job.json()?["return"][0]["web1"] == true;
        Ok(is_there.then_some(()))
    })?;

    let out = served.post("/logout", &[("X-Auth-Token", &alice)], &json!({}))?;
    ensure!(out.status == 200, "{}", out.body);
    ensure!(low(ping, &alice)?.status == 401);
    Ok(())
}

#[test]
fn strangers_and_other_pages_have_nothing_done() -> Result<()> {
    let served = Served::start()?;
    let ping = json!([{ "client": "local", "tgt": "*", "fun": "test.ping" }]);
    let proven = |more: Value| {
        let mut low = json!({ "client": "local", "tgt": "*", "fun": "test.ping" });
        let more = more.as_object().cloned().unwrap_or_default();
        low.as_object_mut()
            .into_iter()
            .for_each(|low| low.extend(more.clone()));
        served.post("/run", &[], &low)
    };
    ensure!(served.post("/", &[], &ping)?.status == 401);
    ensure!(proven(json!({}))?.status == 401);
    // CVE-2018-15751, CVE-2020-25592: what is no proof is none, and a token is
    // no path.
    for token in ["", "zz", "abcd", "../../../etc/passwd"] {
        ensure!(
            proven(json!({ "token": token }))?.status == 401,
            "{token:?}"
        );
    }
    let named = json!({ "eauth": "nope", "username": "alice", "password": "secret1" });
    ensure!(proven(named)?.status == 401);
    // CVE-2017-5200: there is no ssh.
    for client in ["ssh", "destroy"] {
        let low = json!({ "client": client, "tgt": "*", "fun": "test.ping", "token": "abcd" });
        ensure!(served.post("/run", &[], &low)?.status == 400, "{client}");
    }
    let alice = json!({ "eauth": "file", "username": "alice", "password": "secret1" });
    ensure!(proven(alice.clone())?.status == 200);
    let mut raw = alice;
    raw["raw_shell"] = json!(true);
    ensure!(proven(raw)?.status == 401);

    // A page of another origin, in a browser with a session.
    let session = served.session("alice", "secret1")?;
    let cookie = format!("session_id={session}");
    let from = |origin: &str| served.post("/", &[("Cookie", &cookie), ("Origin", origin)], &ping);
    ensure!(from("https://evil.example")?.status == 403);
    ensure!(from("null")?.status == 403);
    let own = from(&format!("http://{}", served.at))?;
    ensure!(own.status == 200, "{}", own.body);
    let read = served.ask(
        "GET",
        "/minions",
        &[("Cookie", &cookie), ("Origin", "https://evil.example")],
        "",
    )?;
    ensure!(
        read.header("Access-Control-Allow-Origin").is_none(),
        "{}",
        read.head
    );
    let cookie = served.log_in("alice", "secret1")?;
    let cookie = cookie.header("Set-Cookie").context("no cookie")?.to_owned();
    ensure!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    // The browser would not send it back over plain HTTP.
    ensure!(!cookie.contains("Secure"), "{cookie}");

    // What would write headers, records or keys of its own.
    let token = ("X-Auth-Token", session.as_str());
    let hook = served.ask(
        "POST",
        "/hook/a%0a%0adata:%20x",
        &[token, ("Content-Type", "text/plain")],
        "x",
    )?;
    ensure!(hook.status == 400, "{}", hook.body);
    let key = json!({ "mid": "x\r\nSet-Cookie: a=b", "username": "alice", "password": "secret1", "eauth": "file" });
    ensure!(served.post("/keys", &[], &key)?.status == 400);

    // Behind a proxy on this machine failures count for whom it names last, and
    // those with a token as those with a password.
    let login = |password: &str, from: &str| {
        let proof = json!({ "username": "bob", "password": password, "eauth": "file" });
        served.post("/login", &[("X-Forwarded-For", from)], &proof)
    };
    let token = |from: &str| {
        let low = json!({
            "client": "local", "tgt": "*", "fun": "test.ping", "token": "aa", "timeout": 86400,
        });
        served.post("/run", &[("X-Forwarded-For", from)], &low)
    };
    for _ in 0..4 {
        ensure!(login("wrong", "192.0.2.1, 192.0.2.7")?.status == 401);
        ensure!(token("192.0.2.7")?.status == 401);
    }
    ensure!(login("secret2", "192.0.2.7")?.status == 429);
    ensure!(token("192.0.2.7")?.status == 429);
    ensure!(login("secret2", "192.0.2.7, 192.0.2.8")?.status == 200);

    for _ in 0..4 {
        ensure!(served.log_in("bob", "wrong")?.status == 401);
    }
    let late = served.log_in("bob", "secret2")?;
    ensure!(late.status == 429, "{}", late.body);
    ensure!(late.header("Retry-After").is_some(), "{}", late.head);
    Ok(())
}

#[test]
fn events_come_live_and_the_end_waits_for_no_stream() -> Result<()> {
    let mut served = Served::start()?;
    let session = served.session("alice", "secret1")?;
    let token = ("X-Auth-Token", session.as_str());
    ensure!(served.ask("GET", "/events", &[], "")?.status == 401);
    ensure!(served.ask("GET", "/events?token=x", &[token], "")?.status == 400);
    let mut stream = http::begin(served.at, "GET", "/events", &[token], "")?;
    let mut heard = String::new();
    let mut read_until = |text: &str| -> Result<()> {
        let mut piece = [0; 4096];
        while !heard.contains(text) {
            let read = stream.read(&mut piece)?;
            ensure!(read > 0, "the stream has ended: {heard}");
            heard.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        Ok(())
    };
    read_until("retry: 400\n")?;
    let proof = ("Authorization", "Basic c2VjcmV0");
    let fired = served.post(
        "/hook/deploy/done",
        &[token, proof],
        &json!({ "build": 17 }),
    )?;
    ensure!(
        fired.json()? == json!({ "success": true }),
        "{}",
        fired.body
    );
    read_until("tag: salt/netapi/hook/deploy/done\ndata: {")?;
    read_until("\"post\": {\"build\": 17}")?;
    read_until("Remote-Addr")?;
    ensure!(!heard.contains("c2VjcmV0"), "{heard}");
    let begun = Instant::now();
    ensure!(served.api.stop(SHORT)? == 0, "{}", served.api.said());
    ensure!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    Ok(())
}

/// Without a browser: what it is told, and where nothing leads.
#[test]
fn the_page_of_the_fleet_is_served_with_a_strict_policy() -> Result<()> {
    let served = Served::start()?;
    let get = |path: &str| served.ask("GET", path, &[], "");
    for path in ["/fleet", "//fleet", "///fleet"] {
        let answer = get(path)?;
        ensure!(answer.status == 308, "{path}: {}", answer.status);
        ensure!(
            answer.header("Location") == Some("/fleet/"),
            "{}",
            answer.head
        );
    }
    for (path, kind) in [
        ("/fleet/", "text/html"),
        ("/fleet/main.js", "text/javascript"),
    ] {
        let answer = get(path)?;
        ensure!(answer.status == 200, "{path}: {}", answer.status);
        let found = answer.header("Content-Type").unwrap_or_default();
        ensure!(found.starts_with(kind), "{path}: {found}");
        let policy = answer.header("Content-Security-Policy").unwrap_or_default();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
        ] {
            ensure!(policy.contains(part), "{path}: {policy}");
        }
        ensure!(answer.header("Set-Cookie").is_none(), "{}", answer.head);
    }
    for path in [
        "/fleet/none.js",
        "/fleet/../fleet/x",
        "/fleet/%2e%2e/master",
        "/fleet/a/b",
    ] {
        ensure!(get(path)?.status == 404, "{path}");
    }
    ensure!(served.post("/fleet/", &[], &json!({}))?.status == 405);
    let described = get("/openapi.json")?.json()?;
    ensure!(described["paths"]["/login"]["post"].is_object());
    Ok(())
}
