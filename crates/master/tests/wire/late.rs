//! Programs that subscribe after they have published, and minions that try to reach
//! them in place of others.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

use halite_proto::event::Event;
use halite_proto::publish::FunSpec;
use halite_proto::request::{FiredEvent, MinionEvent, MinionRequest};
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::stream::FrameReader;
use halite_proto::{Jid, Map, Tag, Value};
use halite_transport::Endpoint;
use halite_transport::ipc::{EventPusher, EventSubscriber};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::jobs::publish;
use crate::support::{Master, Minion, SOON, wait_event};

/// A master with its bus on ports, and these.
fn master_on_ports() -> (Master, [Endpoint; 2]) {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // None that the kernel gives to who does not ask for one.
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let candidates = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed));
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let ports: Vec<u16> = candidates.filter(free).take(2).collect();
    let options = format!(
        "ipc_mode: tcp\ntcp_master_pub_port: {}\ntcp_master_pull_port: {}",
        ports[0], ports[1]
    );
    let ends = [ports[0], ports[1]].map(|port| Endpoint::tcp("127.0.0.1", port));
    (Master::start(&options), ends)
}

fn return_of(jid: &str, text: &str) -> MinionRequest {
    let jid = ReturnJid::Jid(Jid::parse(jid).unwrap());
    let fun = FunSpec::from("test.ping");
    let job = JobReturn::new(jid, fun, Vec::new(), text.into(), 0);
    MinionRequest::Return(Box::new(job))
}

/// Publishes a job; its id.
async fn job(master: &Master, ours: bool) -> String {
    let mut load = publish(master, "*", "glob");
    if ours {
        load.insert("halite_listens", true);
    }
    let reply = master.ask_clear(load).await;
    let jid = reply.get("load").and_then(|load| load.get("jid"));
    jid.and_then(Value::as_str).unwrap().to_owned()
}

/// What a program hears that connects now, of the time before: the tags, and
/// how many bytes they are of.
async fn heard_late(ports: &[Endpoint; 2], mark: &str) -> (Vec<String>, usize) {
    let Endpoint::Tcp { host, port } = &ports[0] else {
        panic!("no port");
    };
    let mut stream = TcpStream::connect((host.as_str(), *port)).await.unwrap();
    let mut sender = EventPusher::connect(&ports[1]).await.unwrap();
    let event = Event::new(Tag::parse(mark).unwrap(), Map::new());
    let event = event.pack().unwrap();
    let mut frames = FrameReader::detecting();
    let (mut tags, mut bytes) = (Vec::new(), 0);
    let mut buffer = vec![0; 64 * 1024];
    let listen = async {
        // What comes late comes before everything else.
        sender.push(&event).await.unwrap();
        loop {
            while let Some(frame) = frames.next_frame().unwrap() {
                if !frame.is_late() {
                    return;
                }
                let event = frame.into_event().unwrap();
                bytes += event.len();
                tags.push(Event::unpack(&event).unwrap().tag.to_string());
            }
            let read = stream.read(&mut buffer).await.unwrap();
            assert!(read > 0, "the master has hung up");
            frames.push(&buffer[..read]);
        }
    };
    timeout(SOON, listen).await.expect("nothing is heard");
    (tags, bytes)
}

/// Only returns of jobs of programs that may come late are kept, and a minion
/// that floods a master takes nobody's place.
#[tokio::test]
async fn a_minion_does_not_drown_others_for_who_comes_late() {
    let (master, ports) = master_on_ports();
    let evil = Minion::signed_in(&master, "evil").await;
    let good = Minion::signed_in(&master, "web1").await;
    let jid = job(&master, false).await;
    let ours = job(&master, true).await;
    good.ask(return_of(&jid, "good")).await;
    good.ask(return_of(&ours, "good")).await;
    // Events are no returns, whatever their tags.
    let junk = (0..500).map(|_| FiredEvent {
        tag: Tag::parse(format!("salt/job/{jid}/ret/evil")).unwrap(),
        data: Map::from([("junk", "x".repeat(1000))]).into(),
    });
    let junk = MinionEvent::many(junk.collect(), None);
    evil.ask(MinionRequest::MinionEvent(junk)).await;
    let (tags, _) = heard_late(&ports, "mark/1").await;
    assert_eq!(tags, [format!("salt/job/{jid}/ret/web1")]);

    // A second, different return is told of.
    for n in 0..8 {
        if n == 4 {
            good.ask(return_of(&jid, "better")).await;
        }
        let text = n.to_string() + &"x".repeat(300_000);
        evil.ask(return_of(&jid, &text)).await;
    }
    let (tags, bytes) = heard_late(&ports, "mark/2").await;
    let of = |id: &str| {
        let wanted = format!("salt/job/{jid}/ret/{id}");
        tags.iter().filter(|tag| **tag == wanted).count()
    };
    assert!((1..=2).contains(&of("web1")), "{tags:?}");
    assert!((1..=6).contains(&of("evil")), "{tags:?}");
    assert_eq!(of("web1") + of("evil"), tags.len(), "{tags:?}");
    assert!(bytes <= 2 << 20, "{bytes} bytes");

    let mut program_of_ours = EventSubscriber::connect(&ports[0]).await.unwrap();
    let mut sender = EventPusher::connect(&ports[1]).await.unwrap();
    let event = Event::new(Tag::parse("mark/3").unwrap(), Map::new());
    sender.push(&event.pack().unwrap()).await.unwrap();
    let first = timeout(SOON, program_of_ours.next()).await.unwrap();
    assert_eq!(first.unwrap().unwrap().tag(), "mark/3");
    wait_event_after(&mut program_of_ours, &mut sender).await;
    master.stop().await;
}

/// The subscription goes on.
async fn wait_event_after(events: &mut EventSubscriber, sender: &mut EventPusher) {
    let event = Event::new(Tag::parse("mark/4").unwrap(), Map::new());
    sender.push(&event.pack().unwrap()).await.unwrap();
    wait_event(events, "mark/4").await;
}

/// What a program says of itself is not told on.
#[tokio::test]
async fn that_a_program_listens_is_between_it_and_the_master() {
    let (master, ports) = master_on_ports();
    let mut events = EventSubscriber::connect(&ports[0]).await.unwrap();
    let _minion = Minion::signed_in(&master, "web1").await;
    let jid = job(&master, true).await;
    for what in ["new", "publish"] {
        let told = wait_event(&mut events, &format!("salt/job/{jid}/{what}")).await;
        assert!(!format!("{told:?}").contains("listens"), "{told:?}");
    }
    master.stop().await;
}

/// Publications come by a file of the master's user, whatever `ipc_mode` says:
/// who may send one is root on every minion.
#[tokio::test]
async fn no_port_takes_publications() {
    use std::os::unix::fs::PermissionsExt as _;
    let (master, _) = master_on_ports();
    let file = master.path("run/publish_pull.ipc");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    master.stop().await;
}
