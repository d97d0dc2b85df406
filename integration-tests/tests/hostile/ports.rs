//! The ports: what each says to somebody who has no key, whatever is sent to it, and
//! what that costs. A daemon that listens where no row stands fails the test.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::wire::zmtp::Connection;
use halite_integration_tests::{
    Daemon, Fleet, Kind, Master, Minion, Ports, Program, SHORT, START, until,
};
use halite_test_support::have_programs;
use nix::unistd::geteuid;
use serde_json::json;

use crate::knock::{SENDS, knock};

/// What a port says to a stranger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    /// Nothing, or that it speaks TLS only.
    Nothing,
    /// At most the greeting of ZeroMQ, and what kind of socket it is: it is sent to whoever
    /// connects, and lost where the connection is reset before it is read.
    Greeting,
    /// A page with this status.
    Page(u16),
}
use Says::{Greeting, Nothing, Page};

/// A port.
struct Door {
    name: &'static str,
    /// What it says to each of [`sends`].
    says: [Says; SENDS],
    /// Bytes of one answer.
    answer_bytes: usize,
}

const DOORS: &[Door] = &[
    Door {
        name: "requests",
        says: [Greeting; SENDS],
        answer_bytes: 200,
    },
    Door {
        name: "publications",
        says: [Greeting; SENDS],
        answer_bytes: 200,
    },
    // Other masters show a key that is pinned, or prove the secret of the cluster.
    Door {
        name: "other masters",
        says: [Nothing; SENDS],
        answer_bytes: 4096,
    },
    // Without a password, as pages of monitoring are; what is in them is counted.
    Door {
        name: "health",
        says: [Nothing, Page(400), Page(200), Page(400), Page(400)],
        answer_bytes: 300,
    },
    Door {
        name: "metrics",
        says: [Nothing, Page(400), Page(404), Page(400), Page(400)],
        answer_bytes: 300,
    },
    Door {
        name: "metrics of a minion",
        says: [Nothing, Page(400), Page(404), Page(400), Page(400)],
        answer_bytes: 300,
    },
    // Who may command logs in.
    Door {
        name: "API",
        says: [Nothing, Page(400), Page(200), Page(400), Page(400)],
        answer_bytes: 4096,
    },
    // With `ipc_mode: tcp`: root's and the daemon's user's alone.
    Door {
        name: "events",
        says: [Nothing; SENDS],
        answer_bytes: 0,
    },
    Door {
        name: "events to be fired",
        says: [Nothing; SENDS],
        answer_bytes: 0,
    },
];

/// A master with every port that it can have, and what stands beside it.
struct Stage {
    master: Master,
    minion: Minion,
    api: Daemon,
    at: Vec<(&'static str, SocketAddr)>,
    _ports: Ports<5>,
    _fleet: Fleet,
}

impl Stage {
    fn start() -> Result<Self> {
        let fleet = Fleet::new("ports")?;
        let ports = Ports::<5>::claim()?;
        let [metrics, of_minion, api, events, pull] = ports.numbers;
        let (health, peers) = (4530, 4520);
        let page = |port: u16| json!({ "enabled": true, "exporter": "prometheus", "prometheus": { "port": port } });
        let mut master = fleet
            .master("m1", Kind::Ours)
            .auto_accept()
            .set("ipc_mode", "tcp")
            .set("tcp_master_pub_port", events)
            .set("tcp_master_pull_port", pull)
            .set("health_port", health)
            .set("metrics", page(metrics))
            .set("cluster_id", "ports")
            .set("cluster_peers", json!(["127.0.0.98"]))
            .set("cluster_pool_port", peers)
            .set("netapi_enable_clients", json!(["local"]))
            .set(
                "rest_cherrypy",
                json!({ "port": api, "host": "127.0.0.1", "disable_ssl": true }),
            )
            .lay()?;
        let ip = IpAddr::from(master.address().ip());
        let dir = master.dir().join("master.d");
        fs::create_dir_all(&dir)?;
        let shared = master.dir().join("shared");
        let text = format!("id: {ip}\ncluster_pki_dir: {}\n", shared.display());
        fs::write(dir.join("cluster.conf"), text)?;
        master.start_on_ports()?;
        let minion = fleet
            .minion("web1", Kind::Ours)
            .of(&master)
            .set("metrics", page(of_minion))
            .start()?;
        let mut running = Daemon::new(
            master.tools(Kind::Ours).recipe(Program::Api, &[])?,
            master.dir().join("api-console"),
        );
        running.start()?;
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let at = vec![
            ("requests", master.address().request()),
            ("publications", master.address().publish()),
            ("other masters", SocketAddr::new(ip, peers)),
            ("health", SocketAddr::new(ip, health)),
            ("metrics", local(metrics)),
            ("metrics of a minion", local(of_minion)),
            ("API", local(api)),
            ("events", local(events)),
            ("events to be fired", local(pull)),
        ];
        for (name, at) in &at {
            until(&format!("{name} to listen"), START, || {
                running.check_runs()?;
                Ok(TcpStream::connect(at).ok())
            })?;
        }
        Ok(Self {
            master,
            minion,
            api: running,
            at,
            _ports: ports,
            _fleet: fleet,
        })
    }

    /// Where its processes listen.
    fn listening(&mut self) -> Result<BTreeSet<SocketAddr>> {
        let mut processes = self.master.daemon().processes()?;
        processes.extend(self.minion.daemon().processes()?);
        processes.extend(self.api.processes()?);
        let mut sockets = BTreeSet::new();
        for pid in processes {
            let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
                continue;
            };
            for file in files.flatten() {
                let to = fs::read_link(file.path()).unwrap_or_default();
                sockets.insert(to.display().to_string());
            }
        }
        ensure!(!sockets.is_empty(), "no process has a file open");
        let mut found = BTreeSet::new();
        for line in fs::read_to_string("/proc/net/tcp")?.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, local, _, "0A", .., _] = fields[..] else {
                continue;
            };
            let inode = fields.get(9).context("a line without an inode")?;
            if sockets.contains(&format!("socket:[{inode}]")) {
                found.insert(address(local)?);
            }
        }
        Ok(found)
    }

    /// The bytes of all logs.
    fn log_bytes(&self) -> Result<u64> {
        let dirs = [self.master.dir(), self.minion.dir()];
        dirs.iter().try_fold(0, |bytes, dir| {
            Ok(bytes + fs::metadata(dir.join("log"))?.len())
        })
    }
}

/// An address as the kernel writes it: four bytes from the back, and the port.
fn address(text: &str) -> Result<SocketAddr> {
    let (ip, port) = text.split_once(':').context("no port")?;
    let ip = Ipv4Addr::from(u32::from_str_radix(ip, 16)?.swap_bytes());
    Ok(SocketAddr::from((ip, u16::from_str_radix(port, 16)?)))
}

fn says(said: &[u8]) -> Option<Says> {
    let text = String::from_utf8_lossy(said);
    match said {
        [] => Some(Nothing),
        // Records of TLS: an alert, or the half of a handshake that is everybody's.
        [0x15 | 0x16, 3, ..] => Some(Nothing),
        [0xff, ..] => Some(Greeting),
        _ => {
            let status = text.strip_prefix("HTTP/1.1 ")?.split(' ').next()?;
            Some(Page(status.parse().ok()?))
        }
    }
}

/// What all that is sent here may add to the logs.
const LOG_BYTES_MAX: u64 = 8 * 1024;

#[test]
fn every_port_says_to_strangers_what_its_row_says() -> Result<()> {
    if !have_programs(&["python3"]) {
        return Ok(());
    }
    let mut stage = Stage::start()?;
    until("web1 to answer", START, || {
        Ok(stage.master.check_ping(&["web1"]).is_ok().then_some(()))
    })?;
    let known: BTreeSet<SocketAddr> = stage.at.iter().map(|(_, at)| *at).collect();
    let listening = stage.listening()?;
    ensure!(
        listening == known,
        "listening: {listening:?}, with a row: {known:?}"
    );
    // Whoever runs the test is whom the ports of the event bus are for, if it is not root.
    let has_stranger = geteuid().is_root();
    let mut at = stage.at.clone();
    at.retain(|(name, _)| has_stranger || !name.starts_with("events"));
    let log_before = stage.log_bytes()?;
    let mut wrong = Vec::new();
    for ((name, _), answers) in at.iter().zip(knock(&at)?) {
        let door = DOORS.iter().find(|door| door.name == *name);
        let door = door.with_context(|| format!("no row for {name}"))?;
        for (number, (said, expect)) in answers.iter().zip(door.says).enumerate() {
            let is_expected = match says(said) {
                Some(Nothing) if expect == Greeting => true,
                said => said == Some(expect),
            };
            if !is_expected || said.len() > door.answer_bytes {
                let shown: String = String::from_utf8_lossy(said).chars().take(200).collect();
                let bytes = said.len();
                wrong.push(format!("{name}, send {number}: {bytes} bytes, {shown:?}"));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let grown = stage.log_bytes()?.saturating_sub(log_before);
    ensure!(grown < LOG_BYTES_MAX, "{grown} bytes of log");
    stage.master.check_ping(&["web1"])
}

/// Connections that somebody holds without a word.
const HELD: usize = 200;

/// Balancers take a master away that does not say in seconds that it serves.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

#[test]
fn who_holds_all_connections_keeps_no_page_from_whom_it_is_for() -> Result<()> {
    let stage = Stage::start()?;
    for (name, path) in [
        ("health", "/health"),
        ("metrics", "/metrics"),
        ("metrics of a minion", "/metrics"),
    ] {
        let (_, at) = stage.at.iter().find(|of| of.0 == name).context(name)?;
        let held = (0..HELD).map(|_| TcpStream::connect_timeout(at, SHORT));
        let held: Vec<TcpStream> = held.collect::<Result<_, _>>()?;
        let mut asks = TcpStream::connect_timeout(at, SHORT)?;
        asks.set_read_timeout(Some(ANSWER_WITHIN))?;
        write!(asks, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")?;
        let mut status = [0; 12];
        asks.read_exact(&mut status)
            .with_context(|| format!("{name} with {} connections", held.len()))?;
        ensure!(&status == b"HTTP/1.1 200", "{name}: {status:?}");
    }
    Ok(())
}

/// Whoever subscribes is told each publication, as with Salt, and can read none: not
/// which minions there are, nor what they are to do.
#[test]
fn who_subscribes_without_a_key_hears_nothing_that_can_be_read() -> Result<()> {
    const ARGUMENT: &str = "what nobody else is to know";
    let fleet = Fleet::new("ports")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let mut listens = Connection::open(master.address().publish(), "SUB", SHORT)?;
    listens.subscribe(b"")?;
    // The first message that it gets shows that it is subscribed; earlier ones are lost.
    let heard = std::thread::scope(|scope| -> Result<Vec<u8>> {
        let listening = scope.spawn(move || listens.receive());
        while !listening.is_finished() {
            master.salt(&["web1", "test.echo", ARGUMENT])?.ok()?;
        }
        let heard = listening.join().map_err(|_| anyhow::anyhow!("a panic"))??;
        Ok(heard.concat())
    })?;
    ensure!(!heard.is_empty(), "nothing was heard");
    for secret in [ARGUMENT, "web1", "test.echo", "root"] {
        let is_heard = heard
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        ensure!(!is_heard, "{secret} was heard");
    }
    Ok(())
}
