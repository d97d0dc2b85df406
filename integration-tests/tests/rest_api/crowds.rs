//! What one user, one address, or many strangers can take from others: places for
//! commands, and connections.
//!
//! The API is told that only 127.0.0.1 is a proxy, so that the other addresses of this
//! machine are strangers to it.

use std::io::{BufRead, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use halite_integration_tests::{START, until};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};
use serde_json::{Value, json};

use crate::http::{self, begin, status};
use crate::served::Served;
use crate::unread::websocket_over;

/// Connections that one address may have.
const OF_ONE_ADDRESS: usize = 64;

/// All connections.
const ALL: usize = 4096;

/// Those of them that one user may have.
const OF_ONE_USER_ALL: usize = ALL / 4;

/// Streams of a user, fewer than one may have.
const STREAMS: usize = 500;

/// Those of them on which nobody has proven anything.
const UNPROVEN: usize = ALL / 4;

/// How soon somebody is answered, whatever others do: sooner than the API ends
/// connections because nothing is asked on them.
const WITHIN: Duration = Duration::from_secs(5);

/// Places for commands that run; as many again as are for one user, and for each of them
/// two that wait.
const POOL: usize = 4;
const OF_ONE_USER: usize = POOL / 2 * 3;

fn believing_one_address() -> Result<Served> {
    Served::start_api(&[("trusted_proxies", json!(["127.0.0.1"]))])
}

/// A connection from an address of this machine.
pub(crate) fn connect_from(from: Ipv4Addr, at: SocketAddr) -> Result<TcpStream> {
    let SocketAddr::V4(at) = at else {
        bail!("{at} is no address of IPv4");
    };
    let flags = SockFlag::SOCK_CLOEXEC;
    let stream = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    let [a, b, c, d] = from.octets();
    bind(stream.as_raw_fd(), &SockaddrIn::new(a, b, c, d, 0))?;
    connect(stream.as_raw_fd(), &SockaddrIn::from(at))?;
    let stream = TcpStream::from(stream);
    stream.set_read_timeout(Some(WITHIN))?;
    Ok(stream)
}

/// Asks for the welcome, and leaves the connection open; nothing if it is closed.
fn status_of(stream: &mut TcpStream, session: Option<&str>) -> Result<Option<u16>> {
    let session = session.map(|id| format!("X-Auth-Token: {id}\r\n"));
    let head = format!(
        "HEAD / HTTP/1.1\r\nHost: api\r\n{}\r\n",
        session.unwrap_or_default()
    );
    let mut line = String::new();
    let asked = stream.write_all(head.as_bytes());
    let mut reader = BufReader::new(stream);
    let answered = asked.and_then(|()| reader.read_line(&mut line));
    match answered {
        Ok(0) => return Ok(None),
        Err(error) if is_closed(error.kind()) => return Ok(None),
        answered => answered.context("no answer")?,
    };
    let status = status(&line).with_context(|| line.clone())?;
    while line != "\r\n" {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "half a head");
    }
    Ok(Some(status))
}

fn is_closed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Whether the other end has closed a connection; what it has said is left out.
fn is_ended(stream: &mut TcpStream) -> Result<bool> {
    stream.set_nonblocking(true)?;
    let ended = loop {
        match stream.read(&mut [0; 1024]) {
            Ok(0) => break true,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break false,
            Err(error) if is_closed(error.kind()) => break true,
            Err(error) => return Err(error.into()),
        }
    };
    stream.set_nonblocking(false)?;
    Ok(ended)
}

/// Begins a command that takes minutes.
fn begin_slow(served: &Served, path: &str, proof: &Value) -> Result<TcpStream> {
    let mut low = json!({
        "client": "local", "tgt": "web1", "fun": "test.sleep", "arg": [300], "timeout": 300,
    });
    let session = proof.as_str().unwrap_or_default();
    for (name, value) in proof.as_object().into_iter().flatten() {
        low[name] = value.clone();
    }
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Auth-Token", session),
    ];
    Ok(begin(
        served.address(),
        "POST",
        path,
        &headers,
        &low.to_string(),
    )?)
}

fn wait_running(served: &Served, count: usize) -> Result<()> {
    until("the commands are under way", START, || {
        let running = served.metric("halite_api_commands_running")?;
        Ok((running == count as f64).then_some(()))
    })
}

fn assert_pings(served: &Served, user: &str) -> Result<()> {
    let ping = json!([{ "client": "local", "tgt": "web1", "fun": "test.ping" }]);
    let begun = Instant::now();
    let said = served.post("/", served.session(user)?, &ping)?;
    ensure!(
        said.starts_with("HTTP/1.1 200") && said.contains("web1"),
        "{said}"
    );
    ensure!(begun.elapsed() < WITHIN, "after {:?}", begun.elapsed());
    Ok(())
}

#[test]
fn one_user_leaves_places_for_the_commands_of_others() -> Result<()> {
    let served = Served::start_api(&[("thread_pool", json!(POOL))])?;
    let of_alice = json!(served.session("alice")?);
    let _slow: Vec<_> = (0..OF_ONE_USER)
        .map(|_| begin_slow(&served, "/", &of_alice))
        .collect::<Result<_>>()?;
    wait_running(&served, OF_ONE_USER)?;
    let ping = json!([{ "client": "local", "tgt": "web1", "fun": "test.ping" }]);
    let refused = served.post("/", served.session("alice")?, &ping)?;
    ensure!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    // Nor with the token itself.
    let login = json!({ "username": "alice", "password": "secret1", "eauth": "file" });
    let tokens = http::body(&served.post("/token", "", &login)?)?;
    let mut chunk = ping[0].clone();
    chunk["token"] = tokens[0]["token"].clone();
    let refused = served.post("/run", "", &json!([chunk]))?;
    ensure!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert_pings(&served, "bob")
}

#[test]
fn one_address_leaves_places_for_the_passwords_of_others() -> Result<()> {
    // Half of the places are for passwords, and half of these for one address.
    let served = Served::start_api(&[("thread_pool", json!(2 * POOL))])?;
    let login = json!({ "username": "alice", "password": "secret1", "eauth": "file" });
    let _slow: Vec<_> = (0..OF_ONE_USER + 2)
        .map(|_| begin_slow(&served, "/run", &login))
        .collect::<Result<_>>()?;
    until("what exceeds the share is refused", START, || {
        let headers = [("X-Auth-Token", served.session("alice")?)];
        let stats = http::body(&http::ask(served.address(), "GET", "/stats", &headers, "")?)?;
        Ok((stats["answers"]["5xx"] == 2).then_some(()))
    })?;
    let chunk = json!([{
        "client": "local", "tgt": "web1", "fun": "test.ping",
        "username": "bob", "password": "secret2", "eauth": "file",
    }]);
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Forwarded-For", "192.0.2.2"),
    ];
    let said = http::ask(
        served.address(),
        "POST",
        "/run",
        &headers,
        &chunk.to_string(),
    )?;
    ensure!(
        said.starts_with("HTTP/1.1 200") && said.contains("web1"),
        "{said}"
    );
    Ok(())
}

#[test]
fn a_websocket_is_one_of_the_connections_of_its_address() -> Result<()> {
    let served = believing_one_address()?;
    let at = served.address();
    let (near, other) = (Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::new(127, 0, 0, 3));
    let session = served.session("alice")?;
    let mut sockets = (0..OF_ONE_ADDRESS)
        .map(|_| websocket_over(connect_from(near, at)?, at, session))
        .collect::<Result<Vec<_>>>()?;
    let answer_to = |from| status_of(&mut connect_from(from, at)?, None);
    ensure!(answer_to(near)?.is_none(), "one more is served");
    ensure!(
        answer_to(other)? == Some(200),
        "another address is not served"
    );
    sockets.pop();
    until("the place of a closed one is free", START, || {
        Ok((answer_to(near)? == Some(200)).then_some(()))
    })
}

#[test]
fn strangers_do_not_hold_the_connections_of_those_who_have_logged_in() -> Result<()> {
    let served = believing_one_address()?;
    let at = served.address();
    let session = served.session("alice")?;
    let user = Ipv4Addr::new(127, 0, 0, 2);
    let mut proven = websocket_over(connect_from(user, at)?, at, session)?;
    // As many as there are, and each address no more than it may have.
    let mut strangers = Vec::new();
    for number in 0..ALL {
        let last = u8::try_from(1 + number / OF_ONE_ADDRESS)?;
        let mut stream = connect_from(Ipv4Addr::new(127, 0, 1, last), at)?;
        // Some have asked for what anybody may see.
        if number % 8 == 0 {
            stream.write_all(b"HEAD / HTTP/1.1\r\nHost: api\r\n\r\n")?;
        }
        strangers.push(stream);
    }
    let begun = Instant::now();
    let mut late = connect_from(user, at)?;
    ensure!(status_of(&mut late, Some(session))? == Some(200));
    ensure!(begun.elapsed() < WITHIN, "after {:?}", begun.elapsed());
    ensure!(!is_ended(proven.get_mut())?, "it had to give way");
    // The newest of each address are still there.
    let newest = strangers.last_mut().context("no stranger")?;
    ensure!(!is_ended(newest)?, "the newest had to give way");
    until("the oldest have given way", WITHIN, || {
        let mut open = 0;
        for stranger in &mut strangers {
            open += usize::from(!is_ended(stranger)?);
        }
        Ok((open <= UNPROVEN).then_some(()))
    })
}

/// What the API says to a request for its events on a new connection.
fn status_of_events(served: &Served, session: &str) -> Result<Option<u16>> {
    let headers = [("X-Auth-Token", session)];
    let said = http::ask(served.address(), "HEAD", "/events", &headers, "")?;
    Ok(status(&said))
}

#[test]
fn one_user_leaves_connections_for_others_whatever_their_addresses() -> Result<()> {
    let served = believing_one_address()?;
    let at = served.address();
    let login = json!({ "username": "alice", "password": "secret1", "eauth": "file" });
    let log_in = || -> Result<String> {
        let said = served.post("/login", "", &login)?;
        let session = http::header(&said, "x-auth-token");
        Ok(session.with_context(|| said.clone())?.to_owned())
    };
    let sessions = [log_in()?, log_in()?, log_in()?];
    // Streams, and then connections that the API ends soon because nothing more is asked on
    // them; over many addresses and several sessions.
    let (mut sockets, mut asked) = (Vec::new(), Vec::new());
    for number in 0..OF_ONE_USER_ALL {
        let from = Ipv4Addr::new(127, 0, 2, u8::try_from(1 + number / OF_ONE_ADDRESS)?);
        let mut stream = connect_from(from, at)?;
        let session = &sessions[number % sessions.len()];
        if number < STREAMS {
            sockets.push(websocket_over(stream, at, session)?);
        } else {
            let answered = status_of(&mut stream, Some(session))?;
            ensure!(answered == Some(200), "{answered:?} to {number}");
            asked.push(stream);
        }
    }
    let other = Ipv4Addr::new(127, 0, 3, 1);
    let mut late = connect_from(other, at)?;
    let refused = status_of(&mut late, Some(&sessions[0]))?;
    ensure!(refused == Some(503), "{refused:?}");
    let refused = status_of_events(&served, &sessions[1])?;
    ensure!(refused == Some(503), "{refused:?}");
    // A session that is new is one of the same user's.
    let refused = status_of(&mut late, Some(&log_in()?))?;
    ensure!(refused == Some(503), "{refused:?}");
    assert_pings(&served, "bob")?;
    ensure!(status_of(&mut late, Some(served.session("bob")?))? == Some(200));
    // A session can be ended all the same, and what is closed makes room.
    let said = served.post("/logout", &sessions[2], &json!({}))?;
    ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    drop((sockets, asked));
    until("there is room again", START, || {
        let answered = status_of(&mut connect_from(other, at)?, Some(&sessions[0]))?;
        Ok((answered == Some(200)).then_some(()))
    })
}
