//! Two masters with one minion, and an API beside each that lists the other.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, ensure};
use halite_integration_tests::proxy::Proxy;
use halite_integration_tests::{
    Daemon, Fleet, Kind, Master, MasterPlan, Minion, Ports, Program, SHORT, START, until,
};
use halite_test_services::Certificates;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::http::{ask, body, header};

/// The header that names the masters that an answer is without.
pub(crate) const AWAY: &str = "halite-masters-away";

/// The port for peers of a cluster: each master has an address of its own.
const POOL_PORT: u16 = 4522;

/// What the masters have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bond {
    /// They are in their minion's list, and know no tokens of each other.
    List,
    /// They are in their minion's list, and share a directory with tokens.
    SharedTokens,
    /// They are a cluster, and share no files.
    Cluster,
}

/// Two masters with one minion, and an API beside each that lists the other.
pub(crate) struct Two {
    pub(crate) masters: Vec<Master>,
    pub(crate) apis: Vec<Daemon>,
    pub(crate) at: [SocketAddr; 2],
    pub(crate) minion: Minion,
    /// From the minion to the first master.
    pub(crate) cable: Proxy,
    /// The certificates of both APIs, where they speak TLS.
    pub(crate) tls: Option<Certificates>,
    bond: Bond,
    _ports: Ports<2>,
    fleet: Fleet,
}

impl Two {
    pub(crate) fn start(bond: Bond) -> Result<Self> {
        Self::start_in(Fleet::new("rest-api-masters")?, bond, None)
    }

    /// The same with TLS. Only the first API trusts who has signed the certificate.
    pub(crate) fn start_tls(bond: Bond) -> Result<Self> {
        let fleet = Fleet::new("rest-api-tls")?;
        let tls = Certificates::make(fleet.path(), Ipv4Addr::LOCALHOST.into())?;
        Self::start_in(fleet, bond, Some(tls))
    }

    fn start_in(fleet: Fleet, bond: Bond, tls: Option<Certificates>) -> Result<Self> {
        let ports = Ports::<2>::claim()?;
        let at = ports
            .numbers
            .map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        fs::write(fleet.path().join("users"), "alice:secret1\n")?;
        let mut masters = match bond {
            Bond::Cluster => lay_cluster(&fleet, at, tls.as_ref())?,
            Bond::List | Bond::SharedTokens => lay_list(&fleet, at, tls.as_ref())?,
        };
        if bond == Bond::SharedTokens {
            share_tokens(&fleet, &masters)?;
        }
        start_at_once(&mut masters)?;
        let minion = fleet.minion("web1", Kind::Ours);
        let cable = Proxy::before(&masters[0])?;
        let addresses = [cable.request(), masters[1].address().request()];
        let minion = minion.set("master", json!(addresses)).start()?;
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
            cable,
            tls,
            bond,
            _ports: ports,
            fleet,
        })
    }

    /// What a master is called by itself, and by its API.
    pub(crate) fn name(&self, master: usize) -> String {
        match self.bond {
            Bond::Cluster => self.masters[master].address().ip().to_string(),
            Bond::List | Bond::SharedTokens => format!("m{}", master + 1),
        }
    }

    pub(crate) fn login(&self, api: usize) -> Result<String> {
        let proof = json!({ "username": "alice", "password": "secret1", "eauth": "file" });
        let said = self.post(api, "/login", "", &proof)?;
        let session = header(&said, "x-auth-token").with_context(|| said.clone())?;
        Ok(session.to_owned())
    }

    pub(crate) fn post(
        &self,
        api: usize,
        path: &str,
        session: &str,
        low: &Value,
    ) -> Result<String> {
        let mut headers = vec![("Content-Type", "application/json")];
        if !session.is_empty() {
            headers.push(("X-Auth-Token", session));
        }
        Ok(ask(self.at[api], "POST", path, &headers, &low.to_string())?)
    }

    pub(crate) fn get(&self, api: usize, path: &str, session: &str) -> Result<String> {
        let headers = [("X-Auth-Token", session)];
        Ok(ask(self.at[api], "GET", path, &headers, "")?)
    }

    /// Checks that a ping is answered; the masters that the answer is without.
    pub(crate) fn ping(&self, api: usize, session: &str) -> Result<Option<String>> {
        let low = json!([{ "client": "local", "tgt": "*", "fun": "test.ping" }]);
        let said = self.post(api, "/", session, &low)?;
        ensure!(body(&said)?["return"][0]["web1"] == true, "{said}");
        Ok(header(&said, AWAY).map(str::to_owned))
    }

    /// Waits until an API reaches both masters: the one that was started first has
    /// looked for the other one too early.
    pub(crate) fn wait_whole(&self, api: usize, session: &str) -> Result<()> {
        until("the API reaches both masters", SHORT, || {
            Ok(self.ping(api, session)?.is_none().then_some(()))
        })
    }

    /// Waits until an API says that the minion is connected to these masters.
    pub(crate) fn wait_masters(&self, api: usize, session: &str, wanted: &[usize]) -> Result<()> {
        let mut names: Vec<String> = wanted.iter().map(|master| self.name(*master)).collect();
        names.sort();
        let mut last = String::new();
        let found = until("the masters of web1", START, || {
            last = self.get(api, "/connections?tgt=web*&tgt_type=glob", session)?;
            let row = &body(&last)?["return"][0]["web1"];
            let is_so = row["masters"] == json!(names) && row["connected"] == true;
            Ok(is_so.then_some(()))
        });
        found.with_context(|| format!("not {names:?}: {last}"))
    }

    /// Starts a job that writes a line; its id.
    pub(crate) fn write(&self, api: usize, session: &str, line: &str) -> Result<Option<String>> {
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

    fn written(&self) -> PathBuf {
        self.minion.dir().join("written")
    }

    pub(crate) fn lines(&self) -> Result<Vec<String>> {
        let text = fs::read_to_string(self.written()).unwrap_or_default();
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// A browser that shows nothing yet.
    pub(crate) fn browser(&self) -> Result<Option<Browser>> {
        let home = self.fleet.path().join("browser");
        fs::create_dir_all(&home)?;
        Browser::start(&home)
    }
}

/// The options of an API.
fn of_api(number: usize, at: [SocketAddr; 2], tls: Option<&Certificates>) -> Value {
    let scheme = tls.map_or("http", |_| "https");
    let mut options = json!({
        "port": at[number].port(),
        "host": "127.0.0.1",
        "disable_ssl": tls.is_none(),
        // The same list on both, as administrators write it.
        "other_masters": at.map(|at| format!("{scheme}://{at}")),
    });
    if let Some(tls) = tls {
        options["ssl_crt"] = json!(tls.cert);
        options["ssl_key"] = json!(tls.key);
        if number == 0 {
            options["other_masters_ca"] = json!(tls.ca);
        }
    }
    options
}

/// A master with the options that all have.
fn plan<'f>(
    fleet: &'f Fleet,
    number: usize,
    at: [SocketAddr; 2],
    tls: Option<&Certificates>,
) -> MasterPlan<'f> {
    fleet
        .master(&format!("m{}", number + 1), Kind::Ours)
        .auto_accept()
        .set("timeout", 10)
        .set("gather_job_timeout", 5)
        .set("presence_events", true)
        .set(
            "external_auth",
            json!({ "file": {
                "^filename": fleet.path().join("users"), "^hashtype": "plaintext",
                "alice": [".*", "@runner", "@wheel", "@jobs"],
            }}),
        )
        .set(
            "netapi_enable_clients",
            json!(["local", "local_async", "runner", "wheel"]),
        )
        .set("rest_cherrypy", of_api(number, at, tls))
}

fn lay_list(fleet: &Fleet, at: [SocketAddr; 2], tls: Option<&Certificates>) -> Result<Vec<Master>> {
    let mut first = plan(fleet, 0, at, tls).set("id", "m1").lay()?;
    // It makes the key pair that is copied.
    first.start()?;
    let second = plan(fleet, 1, at, tls).set("id", "m2").key_pair_of(&first);
    let second = second.lay()?;
    first.stop()?;
    Ok(vec![first, second])
}

fn lay_cluster(
    fleet: &Fleet,
    at: [SocketAddr; 2],
    tls: Option<&Certificates>,
) -> Result<Vec<Master>> {
    let lay = |number| plan(fleet, number, at, tls).lay();
    let masters = (0..at.len()).map(lay).collect::<Result<Vec<_>>>()?;
    let names: Vec<String> = masters
        .iter()
        .map(|master| master.address().ip().to_string())
        .collect();
    for (master, name) in masters.iter().zip(&names) {
        let peers: Vec<&String> = names.iter().filter(|peer| *peer != name).collect();
        let options = json!({
            "id": name,
            "cluster_id": "master_cluster",
            "cluster_peers": peers,
            "cluster_pool_port": POOL_PORT,
            "cluster_pki_dir": master.dir().join("cluster_pki"),
            "cluster_secret": "a secret of this test",
            "cluster_isolated_filesystem": true,
        });
        let dir = master.dir().join("master.d");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("cluster.conf"), options.to_string())?;
    }
    Ok(masters)
}

fn share_tokens(fleet: &Fleet, masters: &[Master]) -> Result<()> {
    let tokens = fleet.path().join("tokens");
    fs::create_dir(&tokens)?;
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o700))?;
    for master in masters {
        let place = master.dir().join("cache/tokens");
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        symlink(&tokens, place)?;
    }
    Ok(())
}

/// Masters of a cluster wait for each other.
fn start_at_once(masters: &mut [Master]) -> Result<()> {
    std::thread::scope(|scope| {
        let starting: Vec<_> = masters
            .iter_mut()
            .map(|master| scope.spawn(|| master.start()))
            .collect();
        starting.into_iter().try_for_each(|one| {
            one.join()
                .unwrap_or_else(|_| Err(anyhow!("a start panicked")))
        })
    })
}
