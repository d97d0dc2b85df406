//! One API for two masters: one dies, comes back, and the other one dies.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{
    Daemon, Fleet, Kind, Master, Minion, Ports, Program, SHORT, START, until,
};
use serde_json::{Value, json};

use crate::http::{Listening, ask, body, header};

const AWAY: &str = "halite-masters-away";

/// Two masters with one minion, and an API beside each that lists the other.
struct Two {
    masters: Vec<Master>,
    apis: Vec<Daemon>,
    at: [SocketAddr; 2],
    minion: Minion,
    _ports: Ports<2>,
    _fleet: Fleet,
}

impl Two {
    fn start(shares_tokens: bool) -> Result<Self> {
        let fleet = Fleet::new("rest-api-masters")?;
        let ports = Ports::<2>::claim()?;
        let at = ports
            .numbers
            .map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let users = fleet.path().join("users");
        fs::write(&users, "alice:secret1\n")?;
        let tokens = fleet.path().join("tokens");
        fs::create_dir(&tokens)?;
        fs::set_permissions(&tokens, fs::Permissions::from_mode(0o700))?;
        let mut masters: Vec<Master> = Vec::new();
        for (number, own) in at.iter().enumerate() {
            let name = format!("m{}", number + 1);
            let mut plan = fleet
                .master(&name, Kind::Ours)
                .auto_accept()
                .set("id", name)
                .set("timeout", 10)
                .set("gather_job_timeout", 5)
                .set(
                    "external_auth",
                    json!({ "file": {
                        "^filename": users, "^hashtype": "plaintext",
                        "alice": [".*", "@runner", "@wheel", "@jobs"],
                    }}),
                )
                .set(
                    "netapi_enable_clients",
                    json!(["local", "local_async", "runner"]),
                )
                .set(
                    "rest_cherrypy",
                    json!({
                        "port": own.port(), "host": "127.0.0.1", "disable_ssl": true,
                        // The same list on both, as administrators write it.
                        "other_masters": at.map(|at| format!("http://{at}")),
                    }),
                );
            if let Some(first) = masters.first() {
                plan = plan.key_pair_of(first);
            }
            let mut master = plan.lay()?;
            if shares_tokens {
                symlink(&tokens, master.dir().join("cache/tokens"))?;
            }
            master.start()?;
            masters.push(master);
        }
        let minion = fleet.minion("web1", Kind::Ours);
        let minion = minion.of(&masters[0]).of(&masters[1]).start()?;
        let mut apis = Vec::new();
        for (master, at) in masters.iter().zip(at) {
            master.wait_minion("web1")?;
            let recipe = master.tools(Kind::Ours).recipe(Program::Api, &[])?;
            let mut api = Daemon::new(recipe, master.dir().join("api-console"));
            api.start()?;
            until("the API listens", START, || {
                api.check_runs()?;
                Ok(TcpStream::connect(at).ok())
            })?;
            apis.push(api);
        }
        Ok(Self {
            masters,
            apis,
            at,
            minion,
            _ports: ports,
            _fleet: fleet,
        })
    }

    fn login(&self, api: usize) -> Result<String> {
        let proof = json!({ "username": "alice", "password": "secret1", "eauth": "file" });
        let said = self.post(api, "/login", "", &proof)?;
        let session = header(&said, "x-auth-token").with_context(|| said.clone())?;
        Ok(session.to_owned())
    }

    fn post(&self, api: usize, path: &str, session: &str, low: &Value) -> Result<String> {
        let mut headers = vec![("Content-Type", "application/json")];
        if !session.is_empty() {
            headers.push(("X-Auth-Token", session));
        }
        Ok(ask(self.at[api], "POST", path, &headers, &low.to_string())?)
    }

    fn get(&self, api: usize, path: &str, session: &str) -> Result<String> {
        let headers = [("X-Auth-Token", session)];
        Ok(ask(self.at[api], "GET", path, &headers, "")?)
    }

    /// Checks that a ping is answered; the masters that the answer is without.
    fn ping(&self, api: usize, session: &str) -> Result<Option<String>> {
        let low = json!([{ "client": "local", "tgt": "*", "fun": "test.ping" }]);
        let said = self.post(api, "/", session, &low)?;
        ensure!(body(&said)?["return"][0]["web1"] == true, "{said}");
        Ok(header(&said, AWAY).map(str::to_owned))
    }

    /// Waits until an API reaches both masters: the one that was started first has
    /// looked for the other one too early.
    fn wait_whole(&self, api: usize, session: &str) -> Result<()> {
        until("the API reaches both masters", SHORT, || {
            Ok(self.ping(api, session)?.is_none().then_some(()))
        })
    }

    /// Starts a job that writes a line; its id.
    fn write(&self, api: usize, session: &str, line: &str) -> Result<Option<String>> {
        let command = format!("echo {line} >> {}", self.written().display());
        let low =
            json!([{ "client": "local_async", "tgt": "*", "fun": "cmd.run", "arg": [command] }]);
        let said = self.post(api, "/", session, &low)?;
        if !said.starts_with("HTTP/1.1 200") {
            return Ok(None);
        }
        let jid = body(&said)?["return"][0]["jid"].as_str().map(str::to_owned);
        Ok(Some(jid.with_context(|| said)?))
    }

    fn written(&self) -> std::path::PathBuf {
        self.minion.dir().join("written")
    }

    fn lines(&self) -> Result<Vec<String>> {
        let text = fs::read_to_string(self.written()).unwrap_or_default();
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// Waits for the return of a job, which is to be told once.
fn wait_return(heard: &Listening, jid: &str) -> Result<()> {
    let tag = format!("salt/job/{jid}/ret/web1");
    until("the return is told", SHORT, || {
        Ok((!heard.of(&tag).is_empty()).then_some(()))
    })
}

fn check_once(heard: &Listening, tag: &str) -> Result<()> {
    let told = heard.of(tag);
    ensure!(
        told.len() == 1,
        "{tag} is told {} times: {told:?}",
        told.len()
    );
    Ok(())
}

/// Fires an event at one API and waits until it is heard; twice, so that a second
/// copy of the first one had its time.
fn check_hook(two: &Two, api: usize, session: &str, heard: &Listening, name: &str) -> Result<()> {
    for name in [name.to_owned(), format!("{name}-after")] {
        let said = two.post(api, &format!("/hook/{name}"), session, &json!({ "n": 1 }))?;
        ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
        let tag = format!("salt/netapi/hook/{name}");
        until("the event is told", SHORT, || {
            Ok((!heard.of(&tag).is_empty()).then_some(()))
        })?;
    }
    check_once(heard, &format!("salt/netapi/hook/{name}"))
}

#[test]
fn one_api_answers_for_two_masters_while_each_dies() -> Result<()> {
    let mut two = Two::start(true)?;
    let (first, second) = (two.login(0)?, two.login(1)?);
    let heard = Listening::start(two.at[0], &first)?;

    // Both live: events and jobs of both are at the first API, each once.
    two.wait_whole(0, &first)?;
    check_hook(&two, 0, &first, &heard, "of-first")?;
    check_hook(&two, 1, &second, &heard, "of-second")?;
    let of_second = two.write(1, &second, "a")?.context("no job")?;
    wait_return(&heard, &of_second)?;
    check_jobs(&two, &first, &of_second)?;

    // The first master dies while commands come: what is answered is done once.
    let mut jobs = Vec::new();
    for number in 0..20 {
        let line = format!("line{number}");
        let jid = two.write(0, &first, &line)?;
        jobs.push((line, jid.context("a command is not answered")?));
        if number == 5 {
            let (line, jid) = &jobs[5];
            wait_written(&two, line)?;
            wait_return(&heard, jid)?;
            two.masters[0].kill9()?;
        }
    }
    for (line, jid) in &jobs {
        wait_written(&two, line)?;
        wait_return(&heard, jid)?;
        check_once(&heard, &format!("salt/job/{jid}/ret/web1"))?;
    }
    check_written_once(&two)?;
    until("the notice of the first master's death", SHORT, || {
        let away = heard.of("salt/netapi/master/away");
        Ok(away.iter().any(|data| data["master"] == "m1").then_some(()))
    })?;
    ensure!(two.ping(0, &first)?.as_deref() == Some("m1"));
    let said = two.get(0, "/jobs", &first)?;
    ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    ensure!(header(&said, AWAY) == Some("m1"), "{said}");
    // Who comes now is let in by the other master, and stays in.
    let late = two.login(0)?;
    ensure!(two.ping(0, &late)?.as_deref() == Some("m1"));
    check_hook(&two, 1, &second, &heard, "while-away")?;

    // It comes back, and the other one dies.
    two.masters[0].start()?;
    until("the first master is back", START, || {
        Ok((!heard.of("salt/netapi/master/back").is_empty()).then_some(()))
    })?;
    two.masters[0].wait_minion("web1")?;
    two.wait_whole(0, &late)?;
    check_hook(&two, 0, &first, &heard, "back")?;
    two.masters[1].kill9()?;
    let name = two.at[1].to_string();
    until("the notice of the second master's death", SHORT, || {
        Ok((two.ping(0, &first)?.as_ref() == Some(&name)).then_some(()))
    })?;
    let said = two.get(0, "/jobs", &first)?;
    ensure!(header(&said, AWAY) == Some(&name), "{said}");
    check_hook(&two, 0, &first, &heard, "alone")?;

    // With streams open the API ends within its time.
    for api in &mut two.apis {
        ensure!(api.stop(std::time::Duration::from_secs(5))? == 0);
    }
    Ok(())
}

fn check_jobs(two: &Two, session: &str, of_second: &str) -> Result<()> {
    let all = body(&two.get(0, "/jobs", session)?)?;
    ensure!(all["return"][0].get(of_second).is_some(), "{all}");
    let job = body(&two.get(0, &format!("/jobs/{of_second}"), session)?)?;
    ensure!(job["return"][0].get("web1").is_some(), "{job}");
    // What another API asks is answered for one master.
    let headers = [("X-Auth-Token", session), ("Halite-Relayed", "x")];
    let own = body(&ask(two.at[0], "GET", "/jobs", &headers, "")?)?;
    ensure!(own["return"][0].get(of_second).is_none(), "{own}");
    Ok(())
}

fn wait_written(two: &Two, line: &str) -> Result<()> {
    until("the command has run", SHORT, || {
        Ok(two.lines()?.iter().any(|one| one == line).then_some(()))
    })
}

fn check_written_once(two: &Two) -> Result<()> {
    let mut lines = two.lines()?;
    let all = lines.len();
    lines.sort();
    lines.dedup();
    ensure!(lines.len() == all, "something ran twice: {lines:?}");
    Ok(())
}

#[test]
fn a_token_that_the_other_master_does_not_know_is_refused_with_the_reason() -> Result<()> {
    let mut two = Two::start(false)?;
    let session = two.login(0)?;
    two.wait_whole(0, &session)?;
    let said = two.get(0, "/jobs", &session)?;
    let name = two.at[1].to_string();
    ensure!(header(&said, AWAY) == Some(&name), "{said}");
    two.masters[0].kill9()?;
    let low = json!([{ "client": "local", "tgt": "*", "fun": "test.ping" }]);
    let said = two.post(0, "/", &session, &low)?;
    ensure!(said.starts_with("HTTP/1.1 401"), "{said}");
    ensure!(said.contains("keep tokens in one store"), "{said}");
    Ok(())
}
