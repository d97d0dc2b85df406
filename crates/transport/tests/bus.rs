//! The local event bus, with programs connected to it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use halite_proto::event::Event;
use halite_proto::stream::FrameReader;
use halite_transport::ipc::{
    BusEvent, BusOptions, ConnectError, EventBus, EventPusher, EventSubscriber, ForLate, Framing,
    LateListening, Origin,
};
use halite_transport::{BindError, Endpoint};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(60);

struct Bus {
    bus: EventBus,
    dir: TempDir,
    publish: Endpoint,
    pull: Endpoint,
}

fn bus_with(options: BusOptions) -> Bus {
    let dir = tempfile::tempdir().unwrap();
    let publish = Endpoint::ipc(dir.path().join("master_event_pub.ipc"));
    let pull = Endpoint::ipc(dir.path().join("master_event_pull.ipc"));
    Bus {
        bus: EventBus::bind(&publish, &pull, options).unwrap(),
        dir,
        publish,
        pull,
    }
}

fn bus(framing: Framing) -> Bus {
    bus_with(BusOptions::master(framing))
}

fn event(tag: &str, data: &[u8]) -> Vec<u8> {
    [tag.as_bytes(), b"\n\n", data].concat()
}

async fn next(subscriber: &mut EventSubscriber) -> Option<BusEvent> {
    timeout(SOON, subscriber.next()).await.unwrap().unwrap()
}

/// Waits until the bus has accepted a subscriber: it sees what is fired.
async fn subscribe(bus: &Bus) -> EventSubscriber {
    let mut subscriber = EventSubscriber::connect(&bus.publish).await.unwrap();
    loop {
        bus.bus.fire(&event("probe", b"\x80"));
        let got = timeout(Duration::from_millis(20), subscriber.next()).await;
        if let Ok(got) = got {
            assert_eq!(got.unwrap().unwrap().tag(), "probe");
            break;
        }
    }
    bus.bus.fire(&event("start", b"\x80"));
    while next(&mut subscriber).await.unwrap().tag() != "start" {}
    subscriber
}

#[tokio::test]
async fn what_one_program_sends_all_others_get_in_order() {
    for framing in [Framing::Prefixed, Framing::Bare] {
        let bus = bus(framing);
        let mut first = subscribe(&bus).await;
        let mut second = subscribe(&bus).await;
        let mut local = bus.bus.subscribe_to(vec!["t/".to_owned()]);
        let mut pusher = EventPusher::connect(&bus.pull).await.unwrap();
        for number in 0..1000u32 {
            let packed = event(&format!("t/{number}"), &number.to_be_bytes());
            pusher.push(&packed).await.unwrap();
        }
        for number in 0..1000u32 {
            let tag = format!("t/{number}");
            let got = timeout(SOON, local.recv()).await.unwrap().unwrap();
            assert_eq!((got.tag(), got.data()), (&*tag, &number.to_be_bytes()[..]));
            assert_eq!(next(&mut second).await.unwrap().tag(), tag);
        }
        for number in 0..1000u32 {
            loop {
                let got = next(&mut first).await.unwrap();
                if got.tag().starts_with("t/") {
                    assert_eq!(got.tag(), format!("t/{number}"));
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn large_events_pass_whole() {
    let bus = bus(Framing::Bare);
    let mut subscriber = subscribe(&bus).await;
    let mut pusher = EventPusher::connect(&bus.pull).await.unwrap();
    let large = event("large", &vec![0x42; 3_000_000]);
    pusher.push(&large).await.unwrap();
    pusher.push(&event("small", b"\x80")).await.unwrap();
    assert_eq!(next(&mut subscriber).await.unwrap().bytes(), large);
    assert_eq!(next(&mut subscriber).await.unwrap().tag(), "small");
}

#[tokio::test]
async fn sockets_have_their_modes_and_are_removed() {
    let bus = bus(Framing::Bare);
    let mode =
        |endpoint: &Endpoint| std::fs::metadata(endpoint.path().unwrap()).unwrap().mode() & 0o777;
    assert_eq!(mode(&bus.publish), 0o660);
    assert_eq!(mode(&bus.pull), 0o600);
    drop(bus.bus);
    assert_eq!(std::fs::read_dir(bus.dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_second_bus_is_refused_and_a_dead_one_replaced() {
    let bus = bus(Framing::Bare);
    let options = BusOptions::master(Framing::Bare);
    let error = EventBus::bind(&bus.publish, &bus.pull, options.clone()).unwrap_err();
    assert!(matches!(error, BindError::InUse { .. }), "{error}");
    // As a killed process leaves it.
    let stale = Endpoint::ipc(bus.dir.path().join("stale.ipc"));
    drop(std::os::unix::net::UnixListener::bind(stale.path().unwrap()).unwrap());
    let other = Endpoint::ipc(bus.dir.path().join("other.ipc"));
    EventBus::bind(&stale, &other, options).unwrap();
}

#[tokio::test]
async fn the_last_events_are_read_before_the_bus_ends() {
    let Bus {
        bus,
        dir: _dir,
        publish,
        pull,
    } = bus(Framing::Bare);
    let shared = Bus {
        bus: bus.clone(),
        dir: tempfile::tempdir().unwrap(),
        publish: publish.clone(),
        pull,
    };
    let mut subscriber = subscribe(&shared).await;
    drop(shared);
    for number in 0..100 {
        bus.fire(&event(&format!("last/{number}"), b"\x80"));
    }
    bus.close().await;
    for number in 0..100 {
        let got = next(&mut subscriber).await.unwrap();
        assert_eq!(got.tag(), format!("last/{number}"));
    }
    assert!(next(&mut subscriber).await.is_none());
    let error = EventSubscriber::connect(&publish).await.err().unwrap();
    assert!(matches!(error, ConnectError::NotRunning { .. }), "{error}");
}

#[tokio::test]
async fn a_subscriber_that_does_not_read_is_given_up_alone() {
    let bus = bus_with(BusOptions {
        events_max: 100,
        ..BusOptions::master(Framing::Bare)
    });
    let mut good = subscribe(&bus).await;
    let mut bad = UnixStream::connect(bus.publish.path().unwrap())
        .await
        .unwrap();
    // Its first byte shows that it is subscribed; after that it reads nothing.
    let mut byte = [0];
    loop {
        bus.bus.fire(&event("probe", b"\x80"));
        let read = timeout(Duration::from_millis(20), bad.read_exact(&mut byte)).await;
        if read.is_ok() {
            break;
        }
    }
    let counters = bus.bus.counters();
    let load = vec![0x42; 10_000];
    let mut number = 0;
    while counters.closed() == 0 {
        bus.bus.fire(&event(&format!("n/{number}"), &load));
        loop {
            let got = next(&mut good).await.unwrap();
            if got.tag().starts_with("n/") {
                assert_eq!(got.tag(), format!("n/{number}"));
                break;
            }
        }
        number += 1;
        assert!(number < 10_000, "the slow subscriber is never given up");
    }
    // It gets what was on its way, and then the end.
    let mut rest = Vec::new();
    let end = timeout(SOON, bad.read_to_end(&mut rest)).await.unwrap();
    end.unwrap();
    bus.bus.fire(&event("after", b"\x80"));
    assert_eq!(next(&mut good).await.unwrap().tag(), "after");
}

#[tokio::test]
async fn a_sender_of_nonsense_is_closed_and_others_are_served() {
    let bus = bus(Framing::Bare);
    let mut local = bus.bus.subscribe();
    for nonsense in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"\xff\xff\xff\xff",
        b"\x82\xc1\xc1",
    ] {
        let mut stream = UnixStream::connect(bus.pull.path().unwrap()).await.unwrap();
        stream.write_all(nonsense).await.unwrap();
        let mut rest = Vec::new();
        let end = timeout(SOON, stream.read_to_end(&mut rest)).await.unwrap();
        assert!(end.is_err() || rest.is_empty());
    }
    assert_eq!(bus.bus.counters().malformed(), 3);
    let mut pusher = EventPusher::connect(&bus.pull).await.unwrap();
    let untagged = b"an event without an end of its tag";
    pusher.push(untagged).await.unwrap();
    pusher.push(&event("fine", b"\x80")).await.unwrap();
    let got = timeout(SOON, local.recv()).await.unwrap().unwrap();
    assert_eq!(got.tag(), "fine");
    assert_eq!(bus.bus.counters().malformed(), 4);
}

#[tokio::test]
async fn events_of_this_daemon_are_forwarded_in_their_order() {
    let bus = EventBus::in_process(BusOptions::master(Framing::Bare));
    bus.fire(&event("before", b"\x80"));
    let (forwarded, tags) = std::sync::mpsc::channel();
    bus.forward(move |event| forwarded.send(event.tag().to_owned()).unwrap());
    assert!(!bus.has_subscriber("first"));
    let mut local = bus.subscribe_to(vec!["f".to_owned()]);
    assert!(bus.has_subscriber("first") && !bus.has_subscriber("second"));
    bus.fire(&event("first", b"\x80"));
    bus.fire_from(&event("from/elsewhere", b"\x80"), Origin::Elsewhere, None);
    bus.fire_from(&event("from/here", b"\x80"), Origin::HereAndSent, None);
    bus.fire(&event("second", b"\x80"));
    assert_eq!(tags.try_iter().collect::<Vec<_>>(), ["first", "second"]);
    for (tag, origin) in [
        ("first", Origin::Here),
        ("from/elsewhere", Origin::Elsewhere),
        ("from/here", Origin::HereAndSent),
    ] {
        let heard = local.recv().await.unwrap();
        assert_eq!((heard.tag(), heard.origin()), (tag, origin));
    }
}

#[tokio::test]
async fn a_bus_works_over_loopback_tcp_and_without_sockets() {
    let any = Endpoint::tcp("127.0.0.1", 0);
    let bus = EventBus::bind(&any, &any, BusOptions::minion(Framing::Prefixed)).unwrap();
    let mut local = bus.subscribe();
    let mut pusher = EventPusher::connect(&bus.endpoints()[1]).await.unwrap();
    pusher.push(&event("over/tcp", b"\x80")).await.unwrap();
    let got = timeout(SOON, local.recv()).await.unwrap().unwrap();
    assert_eq!(got.tag(), "over/tcp");

    let bus = EventBus::in_process(BusOptions::minion(Framing::Bare));
    let mut local = bus.subscribe();
    bus.fire(&event("inside", b"\x80"));
    assert_eq!(local.recv().await.unwrap().tag(), "inside");
    bus.close().await;
    assert!(local.recv().await.is_none());
}

#[tokio::test]
async fn each_subscriber_gets_the_framing_that_its_process_wants() {
    fn prefixed_for_me(pid: u32) -> Option<Framing> {
        (pid == std::process::id()).then_some(Framing::Prefixed)
    }
    let bus = bus_with(BusOptions {
        framing_of: Some(prefixed_for_me),
        ..BusOptions::master(Framing::Bare)
    });
    let mut stream = UnixStream::connect(bus.publish.path().unwrap())
        .await
        .unwrap();
    let mut length = [0; 4];
    loop {
        bus.bus.fire(&event("probe", b"\x80"));
        let read = timeout(Duration::from_millis(20), stream.read_exact(&mut length)).await;
        if read.is_ok() {
            break;
        }
    }
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    timeout(SOON, stream.read_exact(&mut frame))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(frame[0], 0x82);
}

/// Fires a return that is kept for late listeners.
fn fire_kept(bus: &EventBus, owner: &str, tag: &str) {
    let asked = Instant::now();
    let why = ForLate { owner, asked };
    bus.fire_from(&event(tag, b"\x80"), Origin::Here, Some(why));
}

/// The next frame of a stream: whether it is marked as late, and its tag.
async fn next_frame(stream: &mut TcpStream, frames: &mut FrameReader) -> (bool, String) {
    loop {
        if let Some(frame) = frames.next_frame().unwrap() {
            let late = frame.is_late();
            let event = Event::unpack(&frame.into_event().unwrap()).unwrap();
            return (late, event.tag.to_string());
        }
        let mut bytes = [0; 4096];
        let read = timeout(SOON, stream.read(&mut bytes)).await;
        let read = read.unwrap().unwrap();
        assert!(read > 0, "the bus has hung up");
        frames.push(&bytes[..read]);
    }
}

#[tokio::test]
async fn who_connects_late_hears_what_is_kept_and_programs_of_ours_do_not() {
    let late = LateListening {
        span: SOON * 2,
        owner_bytes_max: 4096,
        bytes_max: 8192,
    };
    for framing in [Framing::Prefixed, Framing::Bare] {
        let options = BusOptions {
            late: Some(late),
            ..BusOptions::master(framing)
        };
        let any = Endpoint::tcp("127.0.0.1", 0);
        let bus = EventBus::bind(&any, &any, options.clone()).unwrap();
        let at = bus.endpoints()[0].clone();
        fire_kept(&bus, "web", "salt/job/1/ret/web");
        bus.fire(&event("salt/job/2/ret/evil", b"\x80"));
        let address = at.to_string().replace("tcp://", "");
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut frames = FrameReader::detecting();
        let first = next_frame(&mut stream, &mut frames).await;
        assert_eq!(first, (true, "salt/job/1/ret/web".to_owned()));
        let mut ours = EventSubscriber::connect(&at).await.unwrap();
        fire_until_heard(&bus, &mut ours).await;
        let second = next_frame(&mut stream, &mut frames).await;
        assert_eq!(second, (false, "probe".to_owned()));

        let bus = bus_with(options);
        fire_kept(&bus.bus, "web", "salt/job/1/ret/web");
        let mut ours = EventSubscriber::connect(&bus.publish).await.unwrap();
        fire_until_heard(&bus.bus, &mut ours).await;
    }
}

/// Fires until a subscriber hears it, and has heard nothing else.
async fn fire_until_heard(bus: &EventBus, subscriber: &mut EventSubscriber) {
    loop {
        bus.fire(&event("probe", b"\x80"));
        let got = timeout(Duration::from_millis(20), subscriber.next()).await;
        if let Ok(got) = got {
            assert_eq!(got.unwrap().unwrap().tag(), "probe");
            break;
        }
    }
}

#[tokio::test]
async fn files_go_on_demand_while_handles_are_held() {
    let bus = bus(Framing::Bare);
    let held = bus.bus.clone();
    assert_eq!(std::fs::read_dir(bus.dir.path()).unwrap().count(), 2);
    bus.bus.remove_files();
    assert_eq!(std::fs::read_dir(bus.dir.path()).unwrap().count(), 0);
    // What others put there since is theirs.
    let other = EventBus::bind(&bus.publish, &bus.pull, BusOptions::master(Framing::Bare)).unwrap();
    held.remove_files();
    drop((held, bus.bus));
    assert_eq!(std::fs::read_dir(bus.dir.path()).unwrap().count(), 2);
    drop(other);
}

#[tokio::test]
async fn sockets_that_somebody_removes_are_made_again() {
    let bus = bus(Framing::Bare);
    let mut before = subscribe(&bus).await;
    let dir = bus.dir.path().to_owned();
    std::fs::remove_dir_all(&dir).unwrap();
    let back = async {
        while !(dir.join("master_event_pub.ipc").exists()
            && dir.join("master_event_pull.ipc").exists())
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, back).await.unwrap();
    let mode = std::fs::metadata(dir.join("master_event_pub.ipc")).unwrap();
    assert_eq!(mode.mode() & 0o777, 0o660);
    let mut after = subscribe(&bus).await;
    let mut pusher = EventPusher::connect(&bus.pull).await.unwrap();
    pusher.push(&event("later", b"\x80")).await.unwrap();
    for subscriber in [&mut before, &mut after] {
        while next(subscriber).await.unwrap().tag() != "later" {}
    }
}

/// `ipc_mode: tcp`: a port has no owner and no mode, and is as private as the
/// socket files all the same.
#[tokio::test(flavor = "multi_thread")]
async fn ports_are_for_root_and_the_daemons_user() {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    const NOBODY: u32 = 65_534;
    if !halite_test_support::have_root() {
        return;
    }
    let any = Endpoint::tcp("127.0.0.1", 0);
    let bus = EventBus::bind(&any, &any, BusOptions::minion(Framing::Bare)).unwrap();
    let mut heard = bus.subscribe();
    // Says a line to a port, and shows what comes back until it is closed.
    let talk = |endpoint: &Endpoint, frame: Vec<u8>, user: u32| {
        let port = endpoint.port().unwrap();
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat >&3; head -c 1 <&3");
        let mut command = Command::new("bash");
        let command = command.args(["-c", &script]).uid(user);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        tokio::task::spawn_blocking(move || {
            use std::io::Write as _;
            let _ = stdin.write_all(&frame);
            drop(stdin);
            child.wait_with_output().unwrap().stdout
        })
    };
    let frame = |tag: &str| {
        let event = event(tag, b"\x80");
        halite_proto::stream::frame_push(&event).unwrap()
    };
    let [publish, pull] = bus.endpoints() else {
        panic!("two ports");
    };
    let reads = talk(publish, Vec::new(), NOBODY);
    talk(pull, frame("stranger"), NOBODY);
    assert!(timeout(SOON, reads).await.unwrap().unwrap().is_empty());
    let mut of_root = EventPusher::connect(pull).await.unwrap();
    of_root.push(&event("root", b"\x80")).await.unwrap();
    let first = timeout(SOON, heard.recv()).await.unwrap().unwrap();
    assert_eq!(first.tag(), "root");
    until("both to be refused", || bus.counters().strangers() == 2).await;
    let reads = talk(publish, Vec::new(), 0);
    until("root to be read to", || {
        bus.fire(&event("again", b"\x80"));
        reads.is_finished()
    })
    .await;
    assert_eq!(reads.await.unwrap().len(), 1);
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < end, "waited for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
