//! Links through the engine: a stream of bytes each way, as over TCP, each on a
//! subject of its own. Who is at the other end, and that nothing was changed, is
//! TLS's affair, which runs over it.
//!
//! Pieces are numbered: the engine may lose what it does not keep, which ends the
//! link, and what somebody says again is ignored.

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use halite_crypto::random_bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, split};

use super::bus::Bus;
use super::engine::{Engine, failed};
use super::subjects::End;
use crate::error::MeshError;
use crate::limits::{BUS_LINK_BYTES, BUS_LINK_PIECE_BYTES};
use crate::peer::PeerId;

/// The answer to who opens a link.
const OPENED: &[u8] = b"opened";
const REFUSED: &[u8] = b"refused";

const LINK_BYTES: usize = 16;

/// Somebody wants a link, and says who it is.
pub(crate) struct Opening {
    /// Who it says it is.
    pub(crate) from: PeerId,
    link: u128,
    message: Message,
}

/// Opens a link to a peer.
pub(crate) async fn dial(bus: &Bus, peer: &PeerId) -> Result<DuplexStream, MeshError> {
    let engine = bus.engine()?;
    if !engine.is_connected() {
        return Err(MeshError::BusAway);
    }
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

/// Reads who wants a link; `None` if it does not say.
pub(crate) fn opening(message: Message) -> Option<Opening> {
    let (link, from) = message.payload.split_first_chunk::<LINK_BYTES>()?;
    Some(Opening {
        from: PeerId::parse(std::str::from_utf8(from).ok()?).ok()?,
        link: u128::from_be_bytes(*link),
        message,
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
        let Some(reply) = self.message.reply.clone() else {
            return Ok(());
        };
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

async fn hear(mut heard: Subscriber, mut writer: WriteHalf<DuplexStream>) {
    let mut next = 0;
    while let Some(message) = heard.next().await {
        let Some((number, bytes)) = message.payload.split_first_chunk() else {
            continue;
        };
        let number = u64::from_be_bytes(*number);
        if number > next || (number == next && writer.write_all(bytes).await.is_err()) {
            return;
        }
        next += u64::from(number == next);
    }
}

fn numbered(number: u64, bytes: &[u8]) -> Bytes {
    let mut said = Vec::with_capacity(8 + bytes.len());
    said.extend_from_slice(&number.to_be_bytes());
    said.extend_from_slice(bytes);
    said.into()
}
