//! A ZeroMQ peer of one connection: a REQ, a SUB, or a raw stream for data that no
//! library would send.
//!
//! Protocol: ZMTP 3.0, mechanism NULL. Invariant: reads and writes end at a
//! deadline, so a silent peer is an error and not a hang.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// Frames beyond this are a sign of a broken peer.
const FRAME_MAX: u64 = 256 * 1024 * 1024;

/// One connection to one peer.
#[derive(Debug)]
pub struct Connection {
    // A message costs one call to read and one to write, as with the real
    // library, so that under load the peer is measured and not this client.
    stream: BufReader<TcpStream>,
    deadline: Duration,
}

impl Connection {
    /// Connects and greets as a socket of the given type: `REQ`, `SUB`, ...
    pub fn open(peer: SocketAddr, socket_type: &str, deadline: Duration) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&peer, deadline)
            .with_context(|| format!("no connection to {peer}"))?;
        Self::accept(stream, socket_type, deadline)
            .with_context(|| format!("no greeting from {peer}"))
    }

    /// Greets over a connection that somebody has made.
    pub fn accept(stream: TcpStream, socket_type: &str, deadline: Duration) -> Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(deadline))?;
        stream.set_write_timeout(Some(deadline))?;
        let stream = BufReader::new(stream);
        let mut this = Self { stream, deadline };
        this.greet(socket_type)?;
        Ok(this)
    }

    fn greet(&mut self, socket_type: &str) -> Result<()> {
        let mut greeting = [0_u8; 64];
        greeting[0] = 0xff;
        greeting[9] = 0x7f;
        greeting[10] = 3;
        greeting[12..16].copy_from_slice(b"NULL");
        self.write_raw(&greeting)?;
        let mut theirs = [0_u8; 64];
        self.stream.read_exact(&mut theirs)?;
        if theirs[10] < 3 || &theirs[12..17] != b"NULL\0" {
            bail!("a peer that speaks no ZMTP 3 without security");
        }
        let mut ready = b"\x05READY\x0bSocket-Type".to_vec();
        ready.extend(u32::try_from(socket_type.len())?.to_be_bytes());
        ready.extend(socket_type.as_bytes());
        self.write_frame(COMMAND, &ready)?;
        let (flags, body) = self.read_frame()?;
        if flags & COMMAND == 0 || !body.starts_with(b"\x05READY") {
            bail!("a peer that does not say READY");
        }
        Ok(())
    }

    /// Sends a request and waits for its reply (REQ).
    pub fn ask(&mut self, payload: &[u8]) -> Result<Vec<u8>> {
        self.send_request(payload)?;
        let mut frames = self.receive()?;
        match (frames.len(), frames.pop()) {
            (2, Some(reply)) => Ok(reply),
            (count, _) => bail!("a reply of {count} frames"),
        }
    }

    /// Sends a request without waiting (REQ).
    pub fn send_request(&mut self, payload: &[u8]) -> Result<()> {
        self.send(&[b"", payload])
    }

    /// Sends the frames of one message.
    pub fn send(&mut self, frames: &[&[u8]]) -> Result<()> {
        let mut message = Vec::new();
        for (number, frame) in frames.iter().enumerate() {
            let flags = if number + 1 < frames.len() { MORE } else { 0 };
            append_frame(&mut message, flags, frame);
        }
        self.write_raw(&message)
    }

    /// Subscribes to everything that begins with `topic` (SUB).
    pub fn subscribe(&mut self, topic: &[u8]) -> Result<()> {
        let mut frame = vec![1];
        frame.extend(topic);
        self.write_frame(0, &frame)
    }

    /// The frames of the next message.
    pub fn receive(&mut self) -> Result<Vec<Vec<u8>>> {
        let begun = Instant::now();
        let mut frames = Vec::new();
        loop {
            if begun.elapsed() > self.deadline {
                bail!("no message within {} s", self.deadline.as_secs());
            }
            let (flags, body) = self.read_frame()?;
            if flags & COMMAND != 0 {
                self.answer_command(&body)?;
                continue;
            }
            frames.push(body);
            if flags & MORE == 0 {
                return Ok(frames);
            }
        }
    }

    /// Sends bytes as they are, whatever they mean.
    pub fn write_raw(&mut self, bytes: &[u8]) -> Result<()> {
        let mut stream = self.stream.get_ref();
        stream.write_all(bytes).context("could not send")
    }

    /// A heartbeat wants its context back; everything else needs no answer.
    fn answer_command(&mut self, body: &[u8]) -> Result<()> {
        if let Some(ping) = body.strip_prefix(b"\x04PING") {
            let mut pong = b"\x04PONG".to_vec();
            pong.extend(ping.get(2..).unwrap_or_default());
            self.write_frame(COMMAND, &pong)?;
        }
        Ok(())
    }

    fn write_frame(&mut self, flags: u8, body: &[u8]) -> Result<()> {
        let mut frame = Vec::new();
        append_frame(&mut frame, flags, body);
        self.write_raw(&frame)
    }

    fn read_frame(&mut self) -> Result<(u8, Vec<u8>)> {
        let mut flags = [0_u8];
        self.stream
            .read_exact(&mut flags)
            .context("no frame from the peer")?;
        let len = if flags[0] & LONG == 0 {
            let mut len = [0_u8];
            self.stream.read_exact(&mut len)?;
            u64::from(len[0])
        } else {
            let mut len = [0_u8; 8];
            self.stream.read_exact(&mut len)?;
            u64::from_be_bytes(len)
        };
        if len > FRAME_MAX {
            bail!("a frame of {len} bytes");
        }
        let mut body = vec![0; usize::try_from(len)?];
        self.stream.read_exact(&mut body)?;
        Ok((flags[0], body))
    }
}

fn append_frame(message: &mut Vec<u8>, flags: u8, body: &[u8]) {
    message.reserve(body.len() + 9);
    match u8::try_from(body.len()) {
        Ok(len) => message.extend([flags, len]),
        Err(_) => {
            message.push(flags | LONG);
            message.extend((body.len() as u64).to_be_bytes());
        }
    }
    message.extend(body);
}
