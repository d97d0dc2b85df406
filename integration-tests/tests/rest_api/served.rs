//! An API before a master with one minion, and requests to it.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use halite_integration_tests::{
    Daemon, Fleet, Kind, Master, MasterPlan, Minion, Ports, Program, Programs, START, own_kib,
    until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::http::{self, body, header};
use crate::table::Request;

/// The directory beside the peers with the web server that Salt's API needs.
const WEB_SERVER: &str = "rest-server";

/// Of a session that nobody has, by repetition.
const STALE: &str = "0123456789abcdef";

/// The clients that may be used.
const CLIENTS: [&str; 8] = [
    "local",
    "local_async",
    "local_batch",
    "local_subset",
    "runner",
    "runner_async",
    "wheel",
    "wheel_async",
];

/// An API with a fleet behind it.
pub(crate) struct Served {
    at: SocketAddr,
    metrics: SocketAddr,
    /// `root_prefix`.
    prefix: String,
    sessions: BTreeMap<String, String>,
    jid: String,
    api: Daemon,
    _minion: Minion,
    master: Master,
    _ports: Ports<2>,
    _fleet: Fleet,
}

impl Served {
    /// Starts all of a kind. `alice` may do everything, `bob` only ping.
    pub(crate) fn start(kind: Kind) -> Result<Self> {
        Self::start_with(kind, |plan| plan)
    }

    /// The same with further options of the master.
    pub(crate) fn start_with(
        kind: Kind,
        change: impl for<'a> FnOnce(MasterPlan<'a>) -> MasterPlan<'a>,
    ) -> Result<Self> {
        Self::start_all(kind, change, &[])
    }

    /// Ours with further options of the API.
    pub(crate) fn start_api(of_api: &[(&str, Value)]) -> Result<Self> {
        Self::start_all(Kind::Ours, |plan| plan, of_api)
    }

    fn start_all(
        kind: Kind,
        change: impl for<'a> FnOnce(MasterPlan<'a>) -> MasterPlan<'a>,
        of_api: &[(&str, Value)],
    ) -> Result<Self> {
        let fleet = Fleet::new("rest-api")?;
        let ports = Ports::<2>::claim()?;
        let [at, metrics] = ports
            .numbers
            .map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let users = fleet.path().join("users");
        fs::write(&users, "alice:secret1\nbob:secret2\n")?;
        let logins = json!({ "file": {
            "^filename": users, "^hashtype": "plaintext",
            "alice": [".*", "@runner", "@wheel", "@jobs"], "bob": ["test.ping"],
        }});
        let option = |name: &str| {
            let mut given = of_api.iter();
            given
                .find(|(option, _)| *option == name)
                .map(|(_, value)| value)
        };
        let mut api = json!({
            "port": at.port(), "host": "127.0.0.1", "disable_ssl": true, "metrics": {
                "enabled": kind == Kind::Ours, "exporter": "prometheus",
                "prometheus": { "port": metrics.port() },
            },
        });
        for (option, value) in of_api {
            api[*option] = value.clone();
        }
        let master = change(fleet.master("m1", kind))
            .auto_accept()
            .set("timeout", 20)
            .set("gather_job_timeout", 5)
            .set("external_auth", logins)
            .set("netapi_enable_clients", json!(CLIENTS))
            .set("rest_cherrypy", api)
            .start()?;
        let minion = fleet.minion("web1", kind).of(&master).start()?;
        master.wait_minion("web1")?;
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
            metrics,
            prefix: option("root_prefix")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            sessions: BTreeMap::new(),
            jid: String::new(),
            api,
            _minion: minion,
            master,
            _ports: ports,
            _fleet: fleet,
        };
        if option("enable_sessions") == Some(&json!(false)) {
            return Ok(served);
        }
        for (user, password) in [("alice", "secret1"), ("bob", "secret2")] {
            let proof = json!({ "username": user, "password": password, "eauth": "file" });
            let said = served.post("/login", "", &proof)?;
            let token = header(&said, "x-auth-token").context("no session")?;
            served.sessions.insert(user.to_owned(), token.to_owned());
        }
        served.jid = served.job()?;
        Ok(served)
    }

    /// The id of a job that is in the job cache.
    fn job(&self) -> Result<String> {
        let ping = json!([{ "client": "local_async", "tgt": "web1", "fun": "test.ping" }]);
        let token = self.session("alice")?;
        let started = body(&self.post("/", token, &ping)?)?;
        let jid = started["return"][0]["jid"]
            .as_str()
            .context("no job")?
            .to_owned();
        until("the job is in the cache", START, || {
            let lookup = json!([{ "client": "runner", "fun": "jobs.lookup_jid", "jid": jid }]);
            let found = body(&self.post("/", token, &lookup)?)?;
            Ok(found.to_string().contains("web1").then_some(()))
        })?;
        Ok(jid)
    }

    /// Where the API listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.at
    }

    /// A number of its page of metrics.
    pub(crate) fn metric(&self, name: &str) -> Result<f64> {
        let page = http::ask(self.metrics, "GET", "/metrics", &[], "")?;
        let value = page.lines().find_map(|line| {
            let (named, value) = line.rsplit_once(' ')?;
            (named == name).then_some(value)
        });
        // A counter without a line has counted nothing.
        Ok(value.map_or(Ok(0.0), str::parse)?)
    }

    /// What the API has written of its memory itself, in KiB.
    pub(crate) fn own_kib(&self) -> Result<u64> {
        own_kib(&self.api.processes()?)
    }

    /// The master behind it.
    pub(crate) const fn master(&self) -> &Master {
        &self.master
    }

    /// The same, to be ended and started.
    pub(crate) const fn master_mut(&mut self) -> &mut Master {
        &mut self.master
    }

    /// Sends the master behind it a signal.
    pub(crate) fn signal_master(&mut self, signal: Signal) -> Result<()> {
        self.master.daemon().signal(signal)
    }

    /// Ends the API as a service manager does; its exit code.
    pub(crate) fn end(&mut self, within: Duration) -> Result<i32> {
        self.api.stop(within)
    }

    /// The session of a user.
    pub(crate) fn session(&self, user: &str) -> Result<&str> {
        let token = self.sessions.get(user);
        Ok(token.with_context(|| format!("no session of {user}"))?)
    }

    /// Posts low data.
    pub(crate) fn post(&self, path: &str, token: &str, low: &Value) -> Result<String> {
        let mut headers = vec![("Content-Type", "application/json")];
        if !token.is_empty() {
            headers.push(("X-Auth-Token", token));
        }
        self.send("POST", path, &headers, &low.to_string())
    }

    /// The answer to a request of the table.
    pub(crate) fn ask(&self, request: &Request) -> Result<Answer> {
        let filled = |text: &str| {
            let mut text = text.replace("{jid}", &self.jid);
            for (user, token) in &self.sessions {
                text = text.replace(&format!("{{{user}}}"), token);
            }
            text
        };
        let mut headers: Vec<(String, String)> = Vec::new();
        for (name, value) in &request.headers {
            headers.push((name.clone(), filled(value)));
        }
        match request.by.split_once(" by ") {
            _ if request.by == "nobody" => {}
            _ if request.by == "a stale token" => {
                headers.push(("X-Auth-Token".to_owned(), STALE.repeat(4)));
            }
            _ if request.by == "a stale cookie" => {
                let cookie = format!("session_id={}", STALE.repeat(4));
                headers.push(("Cookie".to_owned(), cookie));
            }
            Some((user, "cookie")) => {
                let cookie = format!("session_id={}", self.session(user)?);
                headers.push(("Cookie".to_owned(), cookie));
            }
            _ => {
                let token = self.session(&request.by)?.to_owned();
                headers.push(("X-Auth-Token".to_owned(), token));
            }
        }
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let path = filled(&request.path);
        let said = self.send(&request.method, &path, &headers, &filled(&request.body))?;
        Answer::read(&said)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<String> {
        let path = format!("{}{path}", self.prefix);
        Ok(http::ask(self.at, method, &path, headers, body)?)
    }
}
