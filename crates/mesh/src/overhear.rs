//! The listening side of a link beside a bus: joins the pieces that the engine
//! delivers, reads missed ones from its stream, and reports those that are not
//! there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use halite_crypto::BroadcastOpener;
use halite_proto::chain;
use tokio::io::AsyncRead;
use tokio::sync::{mpsc, watch};

use crate::error::MeshError;
use crate::frame::Frame;
use crate::limits::{BUS_CATCH_UP_PIECES, HELLO_BYTES_MAX, NO_LIMIT};
use crate::nats::{Book, Bus, HeardMessage, Stored, Taken};
use crate::peer::{Incarnation, PeerId};
use crate::shared::Shared;
use crate::wire::{Work, read_frame};

/// What was heard of one peer, and where it goes.
struct Overhearing<'a> {
    mesh: &'a Shared,
    bus: &'a Bus,
    peer: &'a PeerId,
    /// The key that the peer has proven to have.
    key: &'a str,
    book: Book,
    work: &'a mpsc::Sender<Work>,
    /// What the peer is told to lack.
    lacks: &'a watch::Sender<Option<u64>>,
}

/// Hears a peer until the link ends. `heard` is what was handled before.
pub(crate) async fn overhear(
    (mesh, bus): (&Arc<Shared>, &Arc<Bus>),
    (peer, life, key): (&PeerId, Incarnation, &str),
    heard: u64,
    mut reader: impl AsyncRead + Unpin,
    (work, lacks): (&mpsc::Sender<Work>, &watch::Sender<Option<u64>>),
) -> Result<(), MeshError> {
    let mut pieces = bus.hear(peer);
    let mut returns = bus.returns();
    let own = bus.options.own.clone();
    let mut hearing = Overhearing {
        mesh,
        bus,
        peer,
        key,
        book: Book::new(own, (&mesh.cluster, peer), life, heard),
        work,
        lacks,
    };
    // A frame that is half read must not be given up for a piece.
    let (sender, mut frames) = mpsc::channel(1);
    let said = Mutex::new(Instant::now());
    let read = async {
        loop {
            let frame = read_frame(&mut reader, HELLO_BYTES_MAX, NO_LIMIT).await?;
            note_said(bus, peer, &said);
            if sender.send(frame).await.is_err() {
                return Ok(());
            }
        }
    };
    let take = async {
        loop {
            let done = tokio::select! {
                Some(frame) = frames.recv() => hearing.heard(frame).await,
                Some(piece) = pieces.recv() => hearing.handed(&piece).await,
                () = returns.next() => hearing.ask_for_missed(),
                else => return Ok(()),
            };
            if !done? {
                return Ok(());
            }
            // Also of a peer that says nothing but that it is there.
            hearing.check_pin()?;
        }
    };
    tokio::select! {
        ended = read => ended,
        ended = take => ended,
        () = bus.signs.silence(peer, &said) => Err(MeshError::Silent),
    }
}

/// A peer has said something on a link.
pub(crate) fn note_said(bus: &Bus, peer: &PeerId, said: &Mutex<Instant>) {
    let now = Instant::now();
    *said.lock().unwrap_or_else(PoisonError::into_inner) = now;
    bus.signs.heard(now, peer);
}

impl Overhearing<'_> {
    /// The peer says something on the link. False when there is nobody to handle it.
    async fn heard(&mut self, frame: Frame) -> Result<bool, MeshError> {
        let bad = |what| MeshError::Frame { what };
        match frame {
            Frame::Key(epoch, key) => {
                let key = BroadcastOpener::from_shared(key.0.expose());
                self.book.add_key(epoch, key.ok_or_else(|| bad("no key"))?);
                Ok(true)
            }
            Frame::Gap(number) => {
                self.book.skip_to(number);
                self.give_out(Work::Missed(number)).await
            }
            Frame::Stored {
                number,
                place,
                clock_ms,
            } => {
                let stored = Stored {
                    number,
                    sequence: place,
                };
                self.book.note_stored(Instant::now(), stored, clock_ms);
                match self.book.behind() {
                    Some(place) => self.catch_up(place).await,
                    None => Ok(true),
                }
            }
            _ => Err(bad("something else than how far the bus is")),
        }
    }

    /// The engine hands something out.
    async fn handed(&mut self, piece: &Bytes) -> Result<bool, MeshError> {
        let taken = self.book.take(Instant::now(), piece);
        if taken != Taken::Nothing {
            self.bus.signs.heard(Instant::now(), self.peer);
        }
        match taken {
            Taken::Nothing | Taken::Part => Ok(true),
            Taken::Messages(messages) => self.hand_on(messages).await,
            Taken::Behind => self.catch_up(self.book.sequence()).await,
        }
    }

    /// The engine was away from here: what the peer has told meanwhile did not come, and the
    /// engine need not have it.
    fn ask_for_missed(&self) -> Result<bool, MeshError> {
        self.lacks.send_replace(Some(self.book.taken()));
        Ok(true)
    }

    /// Reads what is missing from the engine's stream.
    async fn catch_up(&mut self, mut place: u64) -> Result<bool, MeshError> {
        let before = self.book.taken();
        for _ in 0..BUS_CATCH_UP_PIECES {
            let found = match self.bus.engine()?.stored_from(self.peer, place).await {
                Ok(found) => found,
                Err(error) => {
                    tracing::debug!(peer = %self.peer, "not read: {}", chain(&error));
                    return Ok(true);
                }
            };
            let Some((at, piece)) = found else {
                break;
            };
            place = at.saturating_add(1);
            match self.book.take(Instant::now(), &piece) {
                Taken::Nothing | Taken::Part => {}
                Taken::Messages(messages) => {
                    if !self.hand_on(messages).await? {
                        return Ok(false);
                    }
                }
                Taken::Behind => break,
            }
        }
        // Whoever came a bit further asks again when it hears how far the bus is.
        if self.book.behind().is_some() && self.book.taken() == before {
            self.lacks.send_replace(Some(before));
        }
        Ok(true)
    }

    async fn hand_on(&self, messages: Vec<HeardMessage>) -> Result<bool, MeshError> {
        for heard in messages {
            let work = match heard.message {
                Some(message) => Work::Message(heard.number, heard.age, message),
                None => Work::Skip(heard.number),
            };
            if !self.give_out(work).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives one thing out, unless the peer is none any more: it may have been removed
    /// while what it told before waited. False when there is nobody to handle it.
    async fn give_out(&self, work: Work) -> Result<bool, MeshError> {
        let Ok(place) = self.work.reserve().await else {
            return Ok(false);
        };
        self.check_pin()?;
        place.send(work);
        Ok(true)
    }

    fn check_pin(&self) -> Result<(), MeshError> {
        if self.mesh.is_pinned(self.key, self.peer) {
            return Ok(());
        }
        Err(MeshError::Unpinned {
            dir: self.mesh.pins.dir().to_owned(),
        })
    }
}
