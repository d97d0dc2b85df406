//! What the REST interface takes: a command over ten minions, and the list of a hundred
//! thousand jobs.
//!
//! Invariant: the client is a socket. A time begins before the connection is made.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use halite_crypto::{HashType, hash_hex};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::{
    Daemon, Fleet, Kind, Master, Minion, Ports, Program, Programs, START, until,
};
use serde_json::json;

use crate::daemons::{self, new_fleet};
use crate::measure::{Effort, Numbers, Unit, median, millis};

/// The minions that are pinged.
const MINIONS: usize = 10;

/// The jobs that are listed.
const JOBS: u64 = 100_000;

/// How long ago the jobs were published that are listed.
const PUBLISHED_BEFORE: Duration = Duration::from_secs(24 * 3600);

/// By when all minions answer: ten of Salt start one beside the other.
const ALL_START: Duration = Duration::from_secs(300);

/// How long an answer may take; Salt's takes minutes for such a list.
const SILENT_MAX: Duration = Duration::from_secs(300);

/// The directory beside the peers with the web server that Salt's API needs.
const WEB_SERVER: &str = "rest-server";

/// What is longer than the head of an answer.
const HEAD_MAX: usize = 16 * 1024;

/// Commands of both, and the list of jobs of ours.
pub(crate) fn rest(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let mut served = Served::start(&fleet, kind)?;
    let minions = (1..=MINIONS).map(|number| -> Result<Minion> {
        let id = format!("web{number}");
        let minion = fleet.minion(&id, kind).of(&served.master);
        let minion = minion.set("log_level_logfile", "error").start()?;
        served.master.wait_minion(&id)?;
        Ok(minion)
    });
    let minions: Vec<Minion> = minions.collect::<Result<_>>()?;
    let ping = json!([{ "client": "local", "tgt": "*", "fun": "test.ping" }]).to_string();
    let ping = || -> Result<(usize, Answer)> {
        let answer = served.ask("POST", "/", &ping)?;
        let answered = answer.text.matches(": true").count();
        Ok((answered, answer))
    };
    // A minion of Salt says that it is ready before its subscription has reached the
    // master: it may miss what is published at once.
    until("all minions answer", ALL_START, || {
        Ok((ping()?.0 == MINIONS).then_some(()))
    })?;
    let mut times = Vec::new();
    for _ in 0..effort.pings {
        let (answered, answer) = ping()?;
        ensure!(answered == MINIONS, "{}", answer.text);
        times.push(answer.first_byte);
    }
    numbers.add(
        "API: `test.ping`, 10 minions, first byte",
        median(times)?,
        Unit::Milliseconds,
        "12 ms",
    );
    drop(minions);
    match kind {
        Kind::Ours => {
            // Whoever listens decodes each answer once more, on the same processors.
            served.master.stop_listening();
            jobs(&served, effort, numbers)
        }
        // It would take an hour.
        _ => Ok(()),
    }
}

/// The list of all jobs: the first one, for which the master reads them, and later ones.
fn jobs(served: &Served, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    fill(&served.master)?;
    let mut times = Vec::new();
    for number in 0..=effort.calls {
        let answer = served.ask("GET", "/jobs", "")?;
        let listed = answer.text.matches("\"StartTime\"").count();
        ensure!(listed as u64 >= JOBS, "only {listed} jobs are listed");
        match number {
            0 => numbers.add(
                "API: `/jobs`, 100,000 jobs, the first time",
                millis(answer.whole),
                Unit::Milliseconds,
                "",
            ),
            _ => times.push(answer.whole),
        }
    }
    numbers.add(
        "API: `/jobs`, 100,000 jobs",
        median(times)?,
        Unit::Milliseconds,
        "300 ms",
    );
    Ok(())
}

/// Puts jobs into the job cache: one every twenty seconds, from the first of January on.
fn fill(master: &Master) -> Result<()> {
    let cache = master.dir().join("cache/jobs");
    for number in 0..JOBS {
        let second = number * 20;
        let (day, hour) = (second / 86_400 + 1, second / 3600 % 24);
        let (minute, second) = (second / 60 % 60, second % 60);
        let jid = format!("202601{day:02}{hour:02}{minute:02}{second:02}000000");
        let hash = hash_hex(HashType::Sha256, jid.as_bytes());
        let (shard, rest) = hash.split_at(2);
        let dir = cache.join(shard).join(rest);
        fs::create_dir_all(&dir)?;
        let load = Item::map([
            ("jid", Item::from(jid.as_str())),
            ("fun", Item::from("test.ping")),
            ("arg", Item::List(Vec::new())),
            (
                "tgt",
                Item::from(format!("node{:04}", number % 1000).as_str()),
            ),
            ("tgt_type", Item::from("glob")),
            ("ret", Item::from("")),
            ("user", Item::from("root")),
        ]);
        fs::write(dir.join("jid"), &jid)?;
        let mut file = File::create(dir.join(".load.p"))?;
        file.write_all(&load.pack())?;
        // What was published lately is compared with its file each time.
        file.set_modified(SystemTime::now() - PUBLISHED_BEFORE)?;
    }
    Ok(())
}

/// An API in front of a master.
struct Served {
    at: SocketAddr,
    session: String,
    master: Master,
    _api: Daemon,
    _ports: Ports<1>,
}

/// An answer, and when its first byte and its last one came.
struct Answer {
    text: String,
    first_byte: Duration,
    whole: Duration,
}

impl Served {
    fn start(fleet: &Fleet, kind: Kind) -> Result<Self> {
        let ports = Ports::<1>::claim()?;
        let [port] = ports.numbers;
        let at = SocketAddr::from(([127, 0, 0, 1], port));
        let users = fleet.path().join("users");
        fs::write(&users, "alice:secret1\n")?;
        let logins = json!({ "file": {
            "^filename": users, "^hashtype": "plaintext", "alice": [".*", "@runner"],
        }});
        let master = daemons::laid(fleet, kind)
            .set("keep_jobs_seconds", 0)
            .set("external_auth", logins)
            .set("netapi_enable_clients", json!(["local", "runner"]))
            .set(
                "rest_cherrypy",
                json!({ "port": port, "host": "127.0.0.1", "disable_ssl": true }),
            )
            .start()?;
        let mut recipe = master.tools(kind).recipe(Program::Api, &[])?;
        if kind != Kind::Ours {
            let server = Programs::peers_dir()?.join(WEB_SERVER);
            recipe = recipe.env("PYTHONPATH", &server.display().to_string());
        }
        let mut api = Daemon::new(recipe, master.dir().join("api-console"));
        api.start()?;
        until("the API listens", START, || {
            api.check_runs()?;
            Ok(TcpStream::connect(at).ok())
        })?;
        let mut served = Self {
            at,
            session: String::new(),
            master,
            _api: api,
            _ports: ports,
        };
        let proof = json!({ "username": "alice", "password": "secret1", "eauth": "file" });
        let said = served.ask("POST", "/login", &proof.to_string())?.text;
        let lines = said.lines();
        let token = lines
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("x-auth-token"));
        let (_, token) = token.with_context(|| format!("no session: {said}"))?;
        served.session = token.trim().to_owned();
        Ok(served)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Result<Answer> {
        let session = match self.session.as_str() {
            "" => String::new(),
            token => format!("X-Auth-Token: {token}\r\n"),
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAccept: */*\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n{session}\r\n{body}",
            self.at,
            body.len()
        );
        let begun = Instant::now();
        let mut stream = TcpStream::connect(self.at)?;
        stream.set_read_timeout(Some(SILENT_MAX))?;
        stream.write_all(request.as_bytes())?;
        let mut said = vec![0; HEAD_MAX];
        let read = stream.read(&mut said)?;
        let first_byte = begun.elapsed();
        said.truncate(read);
        stream.read_to_end(&mut said)?;
        let whole = begun.elapsed();
        let text = String::from_utf8(said)?;
        ensure!(
            text.starts_with("HTTP/1.1 200 "),
            "{}",
            text.chars().take(HEAD_MAX).collect::<String>()
        );
        Ok(Answer {
            text,
            first_byte,
            whole,
        })
    }
}
