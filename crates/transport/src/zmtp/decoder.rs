//! From bytes to frames, without any I/O.
//!
//! Invariant: whatever the bytes, no call panics, and no more is kept than was fed.

use super::WireError;

/// Bytes of a greeting.
pub(super) const GREETING_BYTES: usize = 64;

/// The largest command that is read: `READY` with its properties.
const COMMAND_BYTES_MAX: usize = 4096;

/// Memory allocated at first for the body of a frame; it grows as bytes arrive.
const BODY_BYTES_FIRST: usize = 4096;

// Flags of a frame.
pub(super) const MORE: u8 = 1;
pub(super) const LONG: u8 = 2;
pub(super) const COMMAND: u8 = 4;

/// A decoded item.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// The peer is ready; the kind of its socket.
    Ready(Vec<u8>),
    /// The peer asks for a sign of life, to be answered with these bytes.
    Ping(Vec<u8>),
    /// A frame of a message.
    Frame {
        /// Further frames of the message follow.
        more: bool,
        /// The body; `None` if it exceeded the limit.
        body: Option<Vec<u8>>,
    },
}

/// A connection's bytes so far.
#[derive(Debug)]
pub(crate) struct Decoder {
    state: State,
    /// Frames above it end the connection.
    frame_bytes_max: usize,
    /// Bodies above it are read, but not kept.
    kept_bytes_max: usize,
    is_ready: bool,
}

#[derive(Debug)]
enum State {
    Greeting(Vec<u8>),
    Head([u8; 9], usize),
    Body {
        flags: u8,
        left: usize,
        body: Option<Vec<u8>>,
    },
}

impl Decoder {
    /// A connection that begins.
    pub(crate) fn new(frame_bytes_max: usize) -> Self {
        Self {
            state: State::Greeting(Vec::new()),
            frame_bytes_max,
            kept_bytes_max: frame_bytes_max,
            is_ready: false,
        }
    }

    /// From the next frame on, bodies above `bytes` are not kept.
    pub(crate) fn keep_at_most(&mut self, bytes: usize) {
        self.kept_bytes_max = bytes;
    }

    /// Whether the handshake is done.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Whether a frame has begun and not ended.
    pub(crate) fn is_within(&self) -> bool {
        match &self.state {
            State::Greeting(_) => true,
            State::Head(_, have) => *have > 0,
            State::Body { .. } => true,
        }
    }

    /// Bytes of the begun frame that are kept.
    pub(crate) fn kept(&self) -> usize {
        match &self.state {
            State::Body {
                body: Some(body), ..
            } => body.capacity(),
            _ => 0,
        }
    }

    /// Bytes that the begun frame still lacks.
    pub(crate) fn left(&self) -> usize {
        match &self.state {
            State::Body { left, .. } => *left,
            _ => 0,
        }
    }

    /// Reads from `input` up to the end of the next item.
    ///
    /// # Errors
    /// When this is no ZMTP, or more than allowed.
    pub(crate) fn feed(&mut self, input: &mut &[u8]) -> Result<Option<Item>, WireError> {
        loop {
            match &mut self.state {
                State::Greeting(have) => {
                    take(have, input, GREETING_BYTES);
                    check_greeting(have)?;
                    if have.len() < GREETING_BYTES {
                        return Ok(None);
                    }
                    self.state = State::Head([0; 9], 0);
                }
                State::Head(head, have) => {
                    let Some((&byte, rest)) = input.split_first() else {
                        return Ok(None);
                    };
                    *input = rest;
                    head[*have] = byte;
                    *have += 1;
                    let is_long = head[0] & LONG != 0;
                    if *have < if is_long { 9 } else { 2 } {
                        continue;
                    }
                    let (head, flags) = (*head, head[0]);
                    let size = match is_long {
                        true => u64::from_be_bytes(std::array::from_fn(|n| head[n + 1])),
                        false => u64::from(head[1]),
                    };
                    self.state = self.begin(flags, size)?;
                }
                State::Body { flags, left, body } => {
                    let count = input.len().min(*left);
                    let (now, rest) = input.split_at(count);
                    if let Some(body) = body {
                        grow(body, count, *left);
                        body.extend_from_slice(now);
                    }
                    *input = rest;
                    *left -= count;
                    if *left > 0 {
                        return Ok(None);
                    }
                    let (flags, body) = (*flags, body.take());
                    self.state = State::Head([0; 9], 0);
                    match flags & COMMAND {
                        0 => {
                            let more = flags & MORE != 0;
                            return Ok(Some(Item::Frame { more, body }));
                        }
                        _ => {
                            if let Some(item) = self.command(&body.unwrap_or_default())? {
                                return Ok(Some(item));
                            }
                        }
                    }
                }
            }
        }
    }

    fn begin(&self, flags: u8, size: u64) -> Result<State, WireError> {
        let is_command = flags & COMMAND != 0;
        if flags & !(MORE | LONG | COMMAND) != 0 || (is_command && flags & MORE != 0) {
            return Err(WireError::Frame);
        }
        if !is_command && !self.is_ready {
            return Err(WireError::Handshake);
        }
        let max = match is_command {
            true => COMMAND_BYTES_MAX,
            false => self.frame_bytes_max,
        };
        let left = usize::try_from(size)
            .ok()
            .filter(|size| *size <= max)
            .ok_or(WireError::TooLarge)?;
        let is_kept = is_command || left <= self.kept_bytes_max;
        Ok(State::Body {
            flags,
            left,
            body: is_kept.then(Vec::new),
        })
    }

    fn command(&mut self, body: &[u8]) -> Result<Option<Item>, WireError> {
        const PING_TTL_BYTES: usize = 2;
        let (name, data) = named(body).ok_or(WireError::Frame)?;
        match name {
            b"READY" if !self.is_ready => {
                let kind = socket_type(data).ok_or(WireError::Handshake)?;
                self.is_ready = true;
                Ok(Some(Item::Ready(kind)))
            }
            _ if !self.is_ready => Err(WireError::Handshake),
            b"PING" => {
                let context = data.get(PING_TTL_BYTES..).ok_or(WireError::Frame)?;
                Ok(Some(Item::Ping(context.to_vec())))
            }
            // Whatever later versions may say besides.
            _ => Ok(None),
        }
    }
}

/// Makes room for `count` more bytes of a body that lacks `left`: twice what
/// has arrived, and no more than there will be.
fn grow(body: &mut Vec<u8>, count: usize, left: usize) {
    if body.capacity() - body.len() < count {
        let wanted = body.len().max(BODY_BYTES_FIRST).max(count).min(left);
        body.reserve_exact(wanted);
    }
}

fn take(have: &mut Vec<u8>, input: &mut &[u8], wanted: usize) {
    let (now, rest) = input.split_at(input.len().min(wanted - have.len()));
    have.extend_from_slice(now);
    *input = rest;
}

/// Checks the part of a greeting that has arrived, so that other protocols are refused at
/// once.
fn check_greeting(have: &[u8]) -> Result<(), WireError> {
    const MAJOR: u8 = 3;
    let mechanism = b"NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let is_good = have.iter().enumerate().all(|(at, byte)| match at {
        0 => *byte == 0xff,
        9 => byte & 1 == 1,
        10 => *byte >= MAJOR,
        12..32 => *byte == mechanism[at - 12],
        _ => true,
    });
    is_good.then_some(()).ok_or(WireError::Greeting)
}

/// The short text at the beginning of a command, and what follows.
fn named(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&len, rest) = body.split_first()?;
    rest.split_at_checked(usize::from(len))
}

/// The property `Socket-Type`.
fn socket_type(mut properties: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    while !properties.is_empty() {
        let (name, rest) = named(properties)?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let len = usize::try_from(u32::from_be_bytes(*len)).ok()?;
        let (value, rest) = rest.split_at_checked(len)?;
        if name.eq_ignore_ascii_case(b"Socket-Type") {
            found = Some(value.to_vec());
        }
        properties = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::encoder::{
        encode, encode_command, encode_greeting, encode_head, encode_pong,
    };
    use super::*;

    const MAX: usize = 1 << 20;

    fn greeted(kind: &str) -> Decoder {
        let mut decoder = Decoder::new(MAX);
        let hello = encode_greeting(kind);
        let items = feed_all(&mut decoder, &hello).unwrap();
        assert_eq!(items, [Item::Ready(kind.as_bytes().to_vec())]);
        decoder
    }

    fn feed_all(decoder: &mut Decoder, mut bytes: &[u8]) -> Result<Vec<Item>, WireError> {
        let mut items = Vec::new();
        while let Some(item) = decoder.feed(&mut bytes)? {
            items.push(item);
        }
        assert!(bytes.is_empty());
        Ok(items)
    }

    fn frame(more: bool, body: &[u8]) -> Item {
        let body = Some(body.to_vec());
        Item::Frame { more, body }
    }

    #[test]
    fn messages_are_read_however_they_are_cut() {
        let long = vec![7; 300];
        let message = encode(&[b"", &long]);
        for cut in 1..message.len() {
            let mut decoder = greeted("REQ");
            let mut items = feed_all(&mut decoder, &message[..cut]).unwrap();
            assert!(decoder.kept() <= MAX);
            items.extend(feed_all(&mut decoder, &message[cut..]).unwrap());
            assert_eq!(items, [frame(true, b""), frame(false, &long)]);
            assert!(!decoder.is_within());
        }
    }

    #[test]
    fn what_is_announced_takes_no_memory() {
        let mut decoder = greeted("REQ");
        let mut head = Vec::new();
        encode_head(&mut head, false, MAX);
        feed_all(&mut decoder, &head).unwrap();
        assert_eq!((decoder.kept(), decoder.left()), (0, MAX));
        feed_all(&mut decoder, &[1; 10]).unwrap();
        assert!(decoder.kept() <= BODY_BYTES_FIRST);
    }

    #[test]
    fn what_is_not_to_be_kept_is_not() {
        let mut decoder = greeted("REQ");
        decoder.keep_at_most(0);
        let items = feed_all(&mut decoder, &encode(&[&[1; 5000], b""])).unwrap();
        let gone = Item::Frame {
            more: true,
            body: None,
        };
        assert_eq!(items, [gone, frame(false, b"")]);
    }

    #[test]
    fn strangers_are_told_by_their_first_bytes() {
        let error = |bytes: &[u8]| feed_all(&mut Decoder::new(MAX), bytes).unwrap_err();
        assert_eq!(error(b"GET / HTTP/1.1\r\n"), WireError::Greeting);
        assert_eq!(error(b"\xff\0\0\0\0\0\0\0\0\x7f\x01"), WireError::Greeting);
        let mut plain = encode_greeting("REQ");
        plain[12..17].copy_from_slice(b"PLAIN");
        assert_eq!(error(&plain), WireError::Greeting);
        // A message before the handshake.
        let mut early = encode_greeting("REQ")[..GREETING_BYTES].to_vec();
        early.extend(encode(&[b"x"]));
        assert_eq!(error(&early), WireError::Handshake);
    }

    #[test]
    fn frames_out_of_order_end_the_connection() {
        let error = |bytes: &[u8]| feed_all(&mut greeted("REQ"), bytes).unwrap_err();
        assert_eq!(error(b"\x80\x01"), WireError::Frame);
        assert_eq!(error(b"\x05\x01\x00"), WireError::Frame);
        assert_eq!(
            error(b"\x02\xff\xff\xff\xff\xff\xff\xff\xff"),
            WireError::TooLarge
        );
        assert_eq!(error(b"\x06\0\0\0\0\0\0\x20\0"), WireError::TooLarge);
        assert_eq!(error(b"\x04\x01\xff"), WireError::Frame);
    }

    #[test]
    fn a_ping_gives_its_context_and_other_commands_nothing() {
        let mut decoder = greeted("SUB");
        let mut bytes = Vec::new();
        encode_command(&mut bytes, b"\x04PING\0\x10abc");
        encode_command(&mut bytes, b"\x05OTHER");
        let items = feed_all(&mut decoder, &bytes).unwrap();
        assert_eq!(items, [Item::Ping(b"abc".to_vec())]);
        assert_eq!(encode_pong(b"abc"), b"\x04\x08\x04PONGabc");
    }

    #[test]
    fn whatever_arrives_does_no_harm() {
        // A small generator of its own: the same bytes every time.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..20_000 {
            let mut bytes = encode_greeting("REQ");
            for _ in 0..random() % 4 {
                let at = usize::try_from(random()).unwrap_or(0) % bytes.len();
                bytes[at] = random().to_le_bytes()[0];
            }
            bytes.extend((0..random() % 64).map(|_| random().to_le_bytes()[0] & 0x1f));
            let mut decoder = Decoder::new(MAX);
            let mut input = &bytes[..];
            while let Ok(Some(_)) = decoder.feed(&mut input) {}
            assert!(decoder.kept() <= bytes.len().max(BODY_BYTES_FIRST));
        }
    }
}
