//! `salt` against a master whose answers the test chooses.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::ffi::OsString;
use std::time::Duration;

use halite_cli::options::{SaltOptions, parse};
use halite_cli::{Environment, Screen, salt};
use halite_crypto::HashType;
use halite_proto::clear::PublishReply;
use halite_proto::envelope::RequestEnvelope;
use halite_proto::event::Event;
use halite_proto::msgpack::pack_wire;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Tag, Value};
use halite_store::{Jobs, StoreOptions};
use halite_transport::Endpoint;
use halite_transport::fleet::{Peer, RequestPort, RequestPortOptions};
use halite_transport::ipc::{BusOptions, EventBus, Framing};

const JID: &str = "20261120141841939742";

/// A master's sockets and directories, without a master.
struct Master {
    dir: tempfile::TempDir,
    requests: RequestPort,
    framing: Framing,
    bus: Option<EventBus>,
}

impl Master {
    fn start(framing: Framing) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sock")).unwrap();
        std::fs::create_dir_all(dir.path().join("cache")).unwrap();
        std::fs::create_dir_all(dir.path().join("pki/minions")).unwrap();
        std::fs::write(dir.path().join("sock/publish_pull.ipc"), "").unwrap();
        let endpoint = Endpoint::tcp("127.0.0.1", 0);
        let requests = RequestPort::bind(&[endpoint], RequestPortOptions::default()).unwrap();
        let mut master = Self {
            dir,
            requests,
            framing,
            bus: None,
        };
        master.write_key("k1");
        master.start_bus();
        master
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn write_key(&self, key: &str) {
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid());
        let user = user.unwrap().unwrap().name;
        std::fs::write(self.path("cache").join(format!(".{user}_key")), key).unwrap();
    }

    fn accept(&self, id: &str) {
        std::fs::write(self.path("pki/minions").join(id), "").unwrap();
    }

    fn start_bus(&mut self) {
        let socket = |name: &str| Endpoint::ipc(self.path("sock").join(name));
        let options = BusOptions::master(self.framing);
        let (publish, pull) = (
            socket("master_event_pub.ipc"),
            socket("master_event_pull.ipc"),
        );
        self.bus = Some(EventBus::bind(&publish, &pull, options).unwrap());
    }

    async fn stop_bus(&mut self) {
        self.bus.take().unwrap().close().await;
    }

    fn opts(&self, more: &[(&str, Value)]) -> Map {
        let path = |name: &str| Value::from(self.path(name).to_str().unwrap());
        let mut opts = Map::from([
            ("sock_dir", path("sock")),
            ("cachedir", path("cache")),
            ("pki_dir", path("pki")),
            ("interface", "127.0.0.1".into()),
            (
                "ret_port",
                self.requests.endpoints()[0].port().unwrap().into(),
            ),
            ("timeout", 5.into()),
            ("gather_job_timeout", 5.into()),
        ]);
        opts.extend(more.iter().cloned());
        opts
    }

    /// The load of the next request, and who sent it.
    async fn asked(&mut self) -> (Map, Peer) {
        let incoming = self.requests.recv().await.unwrap();
        match RequestEnvelope::decode(&incoming.payload).unwrap() {
            RequestEnvelope::Clear { load, .. } => (load, incoming.peer),
            RequestEnvelope::Aes { .. } => panic!("the request is not in the clear"),
        }
    }

    /// The load of the next job: a master that has not said that it is one of
    /// ours is asked nothing else.
    async fn asked_to_run(&mut self) -> (Map, Peer) {
        let (load, peer) = self.asked().await;
        assert!(load.contains_key("fun"), "{load:?}");
        (load, peer)
    }

    async fn answer(&self, peer: Peer, reply: &PublishReply) {
        let packed = pack_wire(&reply.to_value()).unwrap();
        self.requests.replies().send(peer, packed).unwrap();
    }

    fn fire(&self, tag: &str, data: Map) {
        let event = Event::new(Tag::parse(tag).unwrap(), data);
        self.bus.as_ref().unwrap().fire(&event.pack().unwrap());
    }

    fn fire_return(&self, jid: &str, id: &str, value: impl Into<Value>) {
        let data = Map::from([
            ("id", Value::from(id)),
            ("return", value.into()),
            ("retcode", 0.into()),
            ("jid", jid.into()),
        ]);
        self.fire(&format!("salt/job/{jid}/ret/{id}"), data);
    }
}

fn accepted(jid: &str, minions: &[&str]) -> PublishReply {
    PublishReply::Accepted {
        jid: Jid::parse(jid).unwrap(),
        minions: minions
            .iter()
            .map(|id| MinionId::parse(*id).unwrap())
            .collect(),
        missing: Vec::new(),
        is_ours: false,
        trouble: None,
    }
}

/// Standard output, standard error and exit code of `salt`, while `master` says
/// what it says.
async fn salt(words: &[&str], opts: Map, master: impl Future<Output = ()>) -> (String, String, u8) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen::to_writers(&mut out, &mut err);
    let options = parse::<SaltOptions>(words.iter().map(OsString::from)).unwrap();
    let environment = Environment::default();
    let run = salt::run(&options, &opts, &environment, &mut screen);
    let both = async { tokio::join!(run, master).0 };
    let exit = tokio::time::timeout(Duration::from_secs(120), both)
        .await
        .unwrap();
    drop(screen);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), text(err), exit.code())
}

#[tokio::test]
async fn a_command_is_sent_as_by_salts_client_and_its_returns_are_shown() {
    for framing in [Framing::Bare, Framing::Prefixed] {
        let mut master = Master::start(framing);
        let opts = master.opts(&[]);
        let words = ["web*", "test.arg", "1", "k=v", "--return=redis"];
        let shown = salt(&words, opts, async {
            let (load, peer) = master.asked().await;
            let user = load.get("user").cloned().unwrap();
            let expect = [
                ("cmd", Value::from("publish")),
                ("tgt", "web*".into()),
                ("fun", "test.arg".into()),
                (
                    "arg",
                    Value::List(vec![
                        1.into(),
                        Map::from([("__kwarg__", Value::from(true)), ("k", "v".into())]).into(),
                    ]),
                ),
                ("key", "k1".into()),
                ("tgt_type", "glob".into()),
                ("ret", "redis".into()),
                ("jid", "".into()),
                (
                    "kwargs",
                    Map::from([
                        ("show_timeout", Value::from(true)),
                        ("show_jid", false.into()),
                        ("delimiter", ":".into()),
                    ])
                    .into(),
                ),
                ("user", user),
            ];
            let entries: Vec<(Value, Value)> = load.into_iter().collect();
            assert_eq!(entries, expect.map(|(name, value)| (name.into(), value)));
            master.answer(peer, &accepted(JID, &["web1", "web2"])).await;
            master.fire_return(JID, "web2", true);
            master.fire_return(JID, "web2", false);
            master.fire_return("20200101000000000000", "web1", "another job");
            master.fire_return(JID, "web1", "hi");
        });
        let expect = "web2:\n    True\nweb1:\n    hi\n";
        assert_eq!(shown.await, (expect.to_owned(), String::new(), 0));
    }
}

#[tokio::test]
async fn a_refusal_is_no_success() {
    for (reply, text) in [
        (
            PublishReply::Denied(halite_proto::clear::ErrorReply::authentication()),
            "Authentication error occurred.",
        ),
        (
            PublishReply::Denied(halite_proto::clear::ErrorReply::authorization()),
            "Authorization error occurred.",
        ),
        (PublishReply::Error("disk full".to_owned()), "disk full"),
        (
            PublishReply::Refused(halite_proto::Refusal::HandlerFailed),
            "Some exception handling minion payload",
        ),
    ] {
        let mut master = Master::start(Framing::Bare);
        let opts = master.opts(&[]);
        let shown = salt(&["*", "test.ping"], opts, async {
            let (_, peer) = master.asked().await;
            master.answer(peer, &reply).await;
        });
        assert_eq!(shown.await, (format!("{text}\n"), String::new(), 1));
    }
}

#[tokio::test]
async fn nobody_meant_is_said_and_is_exit_code_2() {
    let mut master = Master::start(Framing::Bare);
    let opts = master.opts(&[]);
    let shown = salt(&["nosuch", "test.ping", "--out=json"], opts, async {
        let (_, peer) = master.asked().await;
        let error = "Master could not resolve minions for target nosuch".to_owned();
        master
            .answer(peer, &PublishReply::NoMinions { error })
            .await;
    });
    let expect = "No minions matched the target. No command was sent, no jid was assigned.\n{}\n";
    let error = "ERROR: No return received\n";
    assert_eq!(shown.await, (expect.to_owned(), error.to_owned(), 2));
}

#[tokio::test]
async fn a_key_that_changed_is_read_again() {
    let mut master = Master::start(Framing::Bare);
    let opts = master.opts(&[]);
    let shown = salt(&["web1", "test.ping", "--async"], opts, async {
        let (load, peer) = master.asked().await;
        assert_eq!(load.get("key"), Some(&"k1".into()));
        master.write_key("k2");
        master.answer(peer, &PublishReply::Nothing).await;
        let (load, peer) = master.asked().await;
        assert_eq!(load.get("key"), Some(&"k2".into()));
        master.answer(peer, &accepted(JID, &["web1"])).await;
    });
    let expect = format!("Executed command with job ID: {JID}\n");
    assert_eq!(shown.await, (expect, String::new(), 0));
}

#[tokio::test]
async fn who_is_silent_is_asked_and_then_missing() {
    const QUESTION: &str = "20261120141842939742";
    let mut master = Master::start(Framing::Bare);
    master.accept("web1");
    let opts = master.opts(&[
        ("timeout", Value::from(1)),
        ("gather_job_timeout", 2.into()),
    ]);
    let shown = salt(&["web*", "test.ping"], opts, async {
        let (_, peer) = master.asked_to_run().await;
        // web2 has no accepted key: it cannot be asked.
        master.answer(peer, &accepted(JID, &["web1", "web2"])).await;
        let (load, peer) = master.asked_to_run().await;
        assert_eq!(load.get("fun"), Some(&"saltutil.find_job".into()));
        assert_eq!(load.get("tgt"), Some(&Value::List(vec!["web1".into()])));
        assert_eq!(load.get("arg"), Some(&Value::List(vec![JID.into()])));
        assert_eq!(load.get("tgt_type"), Some(&"list".into()));
        master.answer(peer, &accepted(QUESTION, &["web1"])).await;
        let running = Map::from([("jid", JID), ("fun", "test.ping")]);
        master.fire_return(QUESTION, "web1", running);
        // Still running: asked again; then it returns.
        let (_, peer) = master.asked_to_run().await;
        master.answer(peer, &accepted(QUESTION, &["web1"])).await;
        master.fire_return(JID, "web1", true);
    });
    let (out, err, exit) = shown.await;
    let lookup = format!("    salt-run jobs.lookup_jid {JID}\n");
    assert!(
        out.starts_with("web1:\n    True\nweb2:\n    Minion did not return. [No response]\n"),
        "{out}"
    );
    assert!(out.ends_with(&lookup), "{out}");
    assert_eq!(err, "ERROR: Minions returned with non-zero exit code\n");
    assert_eq!(exit, 1);
}

#[tokio::test]
async fn returns_of_the_time_the_bus_was_away_are_not_lost() {
    let mut master = Master::start(Framing::Bare);
    let opts = master.opts(&[]);
    let shown = salt(&["web*", "test.ping"], opts, async {
        let (_, peer) = master.asked().await;
        master.answer(peer, &accepted(JID, &["web1", "web2"])).await;
        master.fire_return(JID, "web1", "seen");
        master.stop_bus().await;
        let store = StoreOptions::local_fs(master.path("cache"), HashType::Sha256);
        let jobs = halite_store::open(&store).jobs;
        for id in ["web1", "web2"] {
            save_return(&jobs, id);
        }
        master.start_bus();
    });
    let expect = "web1:\n    seen\nweb2:\n    stored\n";
    assert_eq!(shown.await, (expect.to_owned(), String::new(), 0));
}

fn save_return(jobs: &Jobs, id: &str) {
    let jid = Jid::parse(JID).unwrap();
    jobs.prepare(&jid, false).unwrap();
    let ret = JobReturn::new(
        ReturnJid::Jid(jid.clone()),
        "test.ping".into(),
        Vec::new(),
        "stored".into(),
        0,
    );
    jobs.save_return(&jid, &MinionId::parse(id).unwrap(), &ret)
        .unwrap();
}

#[tokio::test]
async fn a_master_that_does_not_answer_is_given_up() {
    let mut master = Master::start(Framing::Bare);
    let opts = master.opts(&[("timeout", 1.into())]);
    let shown = salt(&["*", "test.ping"], opts, async {
        let _ = master.asked().await;
    });
    let (out, _, exit) = shown.await;
    assert!(
        out.starts_with("Salt request timed out. The master is not responding."),
        "{out}"
    );
    assert_eq!(exit, 1);
}

#[tokio::test]
async fn one_document_without_those_who_did_not_return() {
    let mut master = Master::start(Framing::Bare);
    let opts = master.opts(&[
        ("timeout", Value::from(1)),
        ("gather_job_timeout", 1.into()),
    ]);
    let shown = salt(&["*", "test.ping", "--static", "--out=json"], opts, async {
        let (_, peer) = master.asked().await;
        master.answer(peer, &accepted(JID, &["web1", "web2"])).await;
        master.fire_return(JID, "web1", true);
    });
    let expect = "{\n    \"web1\": true\n}\n";
    assert_eq!(shown.await, (expect.to_owned(), String::new(), 0));
}
