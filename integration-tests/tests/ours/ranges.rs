//! Targets of a range server, wherever they are written.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Minion};
use serde_json::json;

/// A range server that knows of two clusters. Its thread ends with the test.
fn range_server() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming() {
            // Who asks and goes away is no concern of a server.
            let _ = stream.and_then(answer);
        }
    });
    Ok(address)
}

fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut request = BufReader::new(&stream);
    let (mut line, mut other) = (String::new(), String::new());
    request.read_line(&mut line)?;
    // To its end: a connection that is closed over unread bytes is reset, and
    // the answer may be lost.
    while request.read_line(&mut other)? > 2 {
        other.clear();
    }
    let body = match line.split([' ', '?']).nth(2) {
        Some("%25webs") => "web1\nweb2\n",
        Some("%25first") => "web1\n",
        _ => "",
    };
    let refused = match body {
        "" => "RangeException: NOCLUSTERDEF: unknown\r\n",
        _ => "",
    };
    let length = body.len();
    (&stream).write_all(
        format!("HTTP/1.1 200 OK\r\n{refused}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}")
            .as_bytes(),
    )
}

struct Ranged {
    master: Master,
    minions: Vec<Minion>,
    fleet: Fleet,
}

impl Ranged {
    fn start() -> Result<Self> {
        let fleet = Fleet::new("ranges")?;
        let server = range_server()?.to_string();
        let master = fleet
            .master("m1", Kind::Ours)
            .auto_accept()
            .set("range_server", server.as_str())
            .set("nodegroups", json!({ "ranged": "R@%first or db*" }))
            .file(
                "top.sls",
                "base:\n  'R@%first':\n    - match: compound\n    - told\n",
            )
            .file("told.sls", "told:\n  test.nop: []\n")
            .start()?;
        let mut minions = Vec::new();
        for id in ["web1", "web2", "db1"] {
            let mut minion = fleet.minion(id, Kind::Ours).of(&master);
            if id.starts_with("web") {
                minion = minion.set("range_server", server.as_str());
            }
            minions.push(minion.start()?);
            master.wait_minion(id)?;
        }
        Ok(Self {
            master,
            minions,
            fleet,
        })
    }

    /// Checks who answers to a ping of a target.
    fn meant(&self, target: &[&str], ids: &[&str]) -> Result<()> {
        let mut words = target.to_vec();
        words.push("test.ping");
        let answers = self.master.returns(&words)?;
        let mut who: Vec<&str> = answers.keys().map(String::as_str).collect();
        who.sort_unstable();
        ensure!(who == ids, "{target:?} means {who:?}, not {ids:?}");
        Ok(())
    }
}

#[test]
fn hosts_of_a_range_are_commanded() -> Result<()> {
    let ranged = Ranged::start()?;
    ranged.meant(&["-R", "%webs"], &["web1", "web2"])?;
    ranged.meant(&["-C", "R@%webs and not web1"], &["web2"])?;
    ranged.meant(&["-C", "db1 or R@%first"], &["db1", "web1"])?;
    ranged.meant(&["-N", "ranged"], &["db1", "web1"])?;
    ranged.meant(&["-C", "N@ranged and not R@%webs"], &["db1"])?;
    let preview = ["-R", "%webs", "--preview-target", "--out=json"];
    assert_eq!(
        ranged.master.salt(&preview)?.ok()?.json()?,
        json!(["web1", "web2"])
    );
    let batch = [
        "-R",
        "%webs",
        "test.ping",
        "-b",
        "1",
        "--static",
        "--out=json",
    ];
    let batch = ranged.master.salt(&batch)?.ok()?.json()?;
    assert_eq!(batch, json!({ "web1": true, "web2": true }));
    let up = ["manage.up", "%first", "tgt_type=range", "--out=json"];
    let up = ranged.master.tools(Kind::Ours).runner(&up)?.ok()?;
    assert_eq!(up.json()?, json!(["web1"]));
    // A file, where `salt-cp` is told so.
    let from = ranged.fleet.path().join("carried");
    std::fs::write(&from, "carried")?;
    let (from, to) = (
        from.display().to_string(),
        format!("{}.there", from.display()),
    );
    let copied = ranged
        .master
        .tools(Kind::Ours)
        .cp(&["-R", "%first", &from, &to])?;
    assert_eq!(
        copied.ok()?.stdout,
        format!("web1:\n    ----------\n    {to}:\n        True\n")
    );
    Ok(())
}

#[test]
fn minions_that_know_the_server_read_ranges_in_tops() -> Result<()> {
    let ranged = Ranged::start()?;
    let top = |at: usize| ranged.minions[at].called(&["state.show_top"]);
    assert_eq!(top(0)?, json!({ "base": ["told"] }));
    assert_eq!(top(1)?, json!({}), "web2 is not of %first");
    assert_eq!(top(2)?, json!({}), "db1 is not told of the server");
    Ok(())
}

#[test]
fn ranges_that_mean_nobody_say_why() -> Result<()> {
    let ranged = Ranged::start()?;
    let unknown = ranged.master.salt(&["-R", "%none", "test.ping"])?;
    assert_eq!(
        (unknown.code, unknown.stdout.as_str()),
        (2, ""),
        "{unknown}"
    );
    ensure!(unknown.stderr.contains("NOCLUSTERDEF"), "{unknown}");
    let within = ranged
        .master
        .salt(&["-C", "web1 or R@%none", "test.ping"])?;
    assert_eq!(within.code, 2, "{within}");
    let place = "\n  web1 or R@%none\n            ^";
    ensure!(within.stderr.contains(place), "{within}");
    Ok(())
}
