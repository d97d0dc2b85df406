//! Links through the engine: a stream of bytes each way, as over TCP, each on a
//! subject of its own. TLS runs over it, and proves the other end and the integrity
//! of the data.
//!
//! Pieces are numbered. If the engine loses one, the link ends; a repeated piece is
//! ignored.

use std::cmp::Ordering;

use async_nats::{Message, Subject, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use halite_crypto::random_bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::sync::mpsc;

use super::bus::Bus;
use super::engine::{Engine, failed};
use super::subjects::End;
use crate::error::MeshError;
use crate::limits::{BUS_LINK_BYTES, BUS_LINK_PIECE_BYTES, BUS_QUEUE_MESSAGES_MAX};
use crate::peer::PeerId;

/// The answer to who opens a link.
const OPENED: &[u8] = b"opened";
const REFUSED: &[u8] = b"refused";

/// Where answers are wanted: what the client makes for its requests, and never a subject
/// on which something else is said.
const INBOX: &str = "_INBOX.";

const LINK_BYTES: usize = 16;

const NUMBER_BYTES: usize = 8;

/// Somebody wants a link, and says who it is.
pub(crate) struct Opening {
    /// Who it says it is.
    pub(crate) from: PeerId,
    link: u128,
    /// Where it hears whether it is taken.
    reply: Subject,
}

/// Opens a link to a peer.
pub(crate) async fn dial(bus: &Bus, peer: &PeerId) -> Result<DuplexStream, MeshError> {
    let engine = bus.engine()?;
    if !engine.is_connected() {
        return Err(MeshError::BusAway);
    }
    engine.piece_bytes_max()?;
    let link = u128::from_be_bytes(random_bytes());
    let heard = engine
        .subscribe(bus.subjects.said_by(End::Listener, link))
        .await?;
    let mut request = link.to_be_bytes().to_vec();
    request.extend_from_slice(bus.options.own.as_str().as_bytes());
    let answer = engine
        .client
        .request(bus.subjects.open(peer), request.into());
    if answer.await.map_err(failed)?.payload != OPENED {
        return Err(MeshError::Frame {
            what: "a refusal of the link",
        });
    }
    Ok(stream(bus, engine, heard, (End::Dialler, link)))
}

/// Where links to this master are opened.
pub(crate) async fn listen(bus: &Bus) -> Result<Subscriber, MeshError> {
    let engine = bus.connect().await;
    engine.subscribe(bus.subjects.open(&bus.options.own)).await
}

/// Reads who wants a link; `None` if it does not say, or wants no answer.
pub(crate) fn opening(message: Message) -> Option<Opening> {
    let reply = message.reply.filter(|reply| reply.starts_with(INBOX))?;
    let (link, from) = message.payload.split_first_chunk::<LINK_BYTES>()?;
    Some(Opening {
        from: PeerId::parse(std::str::from_utf8(from).ok()?).ok()?,
        link: u128::from_be_bytes(*link),
        reply,
    })
}

impl Opening {
    /// Takes the link.
    pub(crate) async fn take(self, bus: &Bus) -> Result<DuplexStream, MeshError> {
        let engine = bus.engine()?;
        let subject = bus.subjects.said_by(End::Dialler, self.link);
        let heard = engine.subscribe(subject).await?;
        self.answer(engine, OPENED).await?;
        Ok(stream(bus, engine, heard, (End::Listener, self.link)))
    }

    /// Says that it is not taken.
    pub(crate) async fn refuse(self, bus: &Bus) -> Result<(), MeshError> {
        self.answer(bus.engine()?, REFUSED).await
    }

    async fn answer(&self, engine: &Engine, answer: &'static [u8]) -> Result<(), MeshError> {
        let reply = self.reply.clone();
        let sent = engine.client.publish(reply, Bytes::from_static(answer));
        sent.await.map_err(failed)
    }
}

/// The stream of a link, until either end drops it.
fn stream(bus: &Bus, engine: &Engine, heard: Subscriber, of: (End, u128)) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(BUS_LINK_BYTES);
    let subject = bus.subjects.said_by(of.0, of.1);
    let client = engine.client.clone();
    let (reader, writer) = split(theirs);
    tokio::spawn(async move {
        tokio::select! {
            () = say(&client, &subject, reader) => {}
            () = hear(heard, writer) => {}
        }
        // The other end need not wait for silence.
        let _ = client.publish(subject, numbered(u64::MAX, &[])).await;
    });
    ours
}

async fn say(client: &async_nats::Client, subject: &str, mut reader: ReadHalf<DuplexStream>) {
    let mut piece = vec![0; BUS_LINK_PIECE_BYTES];
    let mut number = 0;
    while let Ok(bytes @ 1..) = reader.read(&mut piece).await {
        let said = numbered(number, &piece[..bytes]);
        if client.publish(subject.to_owned(), said).await.is_err() {
            return;
        }
        number += 1;
    }
}

/// Hears the other end, until it ends the link or a piece is missing.
async fn hear(mut heard: Subscriber, mut writer: WriteHalf<DuplexStream>) {
    let (sender, mut pieces) = mpsc::channel::<Bytes>(BUS_QUEUE_MESSAGES_MAX);
    // Never waits: what waits for a slow reader is counted here, where pieces are short,
    // and not by the client, which counts messages of any length.
    let take = async move {
        let mut next = 0;
        while let Some(message) = heard.next().await {
            let piece = match next_piece(next, message.payload) {
                Next::Repeated => continue,
                Next::Ends => return,
                Next::Piece(piece) => piece,
            };
            if sender.try_send(piece).is_err() {
                return;
            }
            next += 1;
        }
    };
    let write = async {
        while let Some(piece) = pieces.recv().await {
            if writer.write_all(&piece).await.is_err() {
                return;
            }
        }
    };
    tokio::pin!(write);
    tokio::select! {
        () = take => write.await,
        () = &mut write => {}
    }
}

/// What a message of a link is.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Piece(Bytes),
    /// Somebody says again what was said.
    Repeated,
    /// The end, a gap, or nothing that a master says.
    Ends,
}

fn next_piece(next: u64, mut said: Bytes) -> Next {
    if said.len() > NUMBER_BYTES + BUS_LINK_PIECE_BYTES {
        return Next::Ends;
    }
    let Some(number) = said.first_chunk().map(|number| u64::from_be_bytes(*number)) else {
        return Next::Ends;
    };
    match number.cmp(&next) {
        Ordering::Less => Next::Repeated,
        Ordering::Greater => Next::Ends,
        Ordering::Equal => Next::Piece(said.split_off(NUMBER_BYTES)),
    }
}

fn numbered(number: u64, bytes: &[u8]) -> Bytes {
    let mut said = Vec::with_capacity(NUMBER_BYTES + bytes.len());
    said.extend_from_slice(&number.to_be_bytes());
    said.extend_from_slice(bytes);
    said.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_order_once_and_short() {
        let piece = |of: &'static [u8]| Next::Piece(Bytes::from_static(of));
        assert_eq!(next_piece(3, numbered(3, b"three")), piece(b"three"));
        assert_eq!(next_piece(3, numbered(2, b"two")), Next::Repeated);
        assert_eq!(next_piece(3, numbered(4, b"four")), Next::Ends);
        assert_eq!(next_piece(3, numbered(u64::MAX, b"")), Next::Ends);
        assert_eq!(next_piece(3, Bytes::from_static(b"junk")), Next::Ends);
        let longest = [7; BUS_LINK_PIECE_BYTES];
        let is_piece = |next| matches!(next, Next::Piece(_));
        assert!(is_piece(next_piece(0, numbered(0, &longest))));
        let too_long = [7; BUS_LINK_PIECE_BYTES + 1];
        assert_eq!(next_piece(0, numbered(0, &too_long)), Next::Ends);
    }

    #[test]
    fn only_who_waits_for_an_answer_opens_a_link() {
        let asks = |reply: Option<&str>| {
            let mut payload = 7u128.to_be_bytes().to_vec();
            payload.extend_from_slice(b"m2");
            opening(Message {
                subject: "halite.c.open.m1".into(),
                reply: reply.map(Subject::from),
                payload: payload.into(),
                headers: None,
                status: None,
                description: None,
                length: 0,
            })
        };
        assert_eq!(asks(Some("_INBOX.abc")).unwrap().from.as_str(), "m2");
        for elsewhere in [
            "$JS.API.STREAM.PURGE.HALITE_c",
            "halite.c.told.m1",
            "_INBOX",
        ] {
            assert!(asks(Some(elsewhere)).is_none(), "{elsewhere}");
        }
        assert!(asks(None).is_none());
    }
}
