//! Somebody without a key who knocks at ports.

use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use nix::unistd::{User, geteuid};
use serde_json::{Value, json};

/// Who knocks: nobody of the daemons, where the test runs as root.
const STRANGER: &str = "nobody";

/// Sends each of some texts on a connection of its own to each of some addresses, and
/// says what came back until the end or a silence.
const KNOCK: &str = "
import concurrent.futures, json, socket, sys
def knock(at):
    return [once(at[0], at[1], bytes.fromhex(data)) for data in asked['sends']]
def once(host, port, data):
    came = b''
    with socket.create_connection((host, port), timeout=10) as to:
        to.settimeout(1.5)
        try:
            to.sendall(data)
            while len(came) < 1 << 20:
                more = to.recv(65536)
                if not more:
                    break
                came += more
        except OSError:
            pass
    return came.hex()
asked = json.load(sys.stdin)
with concurrent.futures.ThreadPoolExecutor(16) as several:
    print(json.dumps(list(several.map(knock, asked['ports']))))
";

pub(crate) const SENDS: usize = 5;

/// Nothing, noise, a request of HTTP, the beginning of TLS, and a peer of ZeroMQ.
fn sends() -> [Vec<u8>; SENDS] {
    let noise = halite_crypto::random_bytes::<16384>();
    let http = b"GET / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nConnection: close\r\n\r\n";
    let mut greeting = vec![0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0];
    greeting.extend(b"NULL");
    greeting.resize(64, 0);
    greeting.extend(b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03REQ");
    let tls = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &noise[..506]].concat();
    // The first byte is that of no protocol.
    let noise = [&[0x55][..], &noise[1..]].concat();
    [Vec::new(), noise, http.to_vec(), tls, greeting]
}

/// What each port has said to each of the texts.
pub(crate) fn knock(at: &[(&str, SocketAddr)]) -> Result<Vec<Vec<Vec<u8>>>> {
    let mut command = Command::new("python3");
    command.args(["-I", "-c", KNOCK]).current_dir("/");
    if geteuid().is_root() {
        let user = User::from_name(STRANGER)?.context("no such user")?;
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let sends: Vec<String> = sends().iter().map(|bytes| hex(bytes)).collect();
    let ports: Vec<Value> = at
        .iter()
        .map(|(_, at)| json!([at.ip().to_string(), at.port()]))
        .collect();
    let asked = json!({ "sends": sends, "ports": ports }).to_string();
    let mut stdin = child.stdin.take().context("no stdin")?;
    stdin.write_all(asked.as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "nobody could knock");
    let said: Vec<Vec<String>> = serde_json::from_slice(&output.stdout)?;
    said.iter()
        .map(|of| of.iter().map(|hex| bytes(hex)).collect())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

fn bytes(hex: &str) -> Result<Vec<u8>> {
    let pairs = (0..hex.len()).step_by(2).map(|at| hex.get(at..at + 2));
    pairs
        .map(|pair| Ok(u8::from_str_radix(pair.context("half a byte")?, 16)?))
        .collect()
}
