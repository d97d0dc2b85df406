//! Connections of masters that want to become members: TLS as on any link, with a
//! key that is not pinned yet. Both sides talk in turns, and the connection ends
//! after that.

use std::net::SocketAddr;
use std::sync::Arc;

use halite_crypto::PrivateKey;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::error::MeshError;
use crate::frame::Frame;
use crate::limits::{JOIN_BYTES_MAX, JOIN_MAX, JOIN_TURNS_MAX};
use crate::peer::PeerAddress;
use crate::tls::{Secured, Tls};
use crate::wire::{connect, read_frame, write_frame};

/// What both ends know of a connection, and nobody else has.
#[derive(Debug, Clone)]
pub struct JoinLink {
    /// The normalised PEM text of our own key.
    pub own_key: String,
    /// That of the other end, which has proven that it has it.
    pub other_key: String,
    /// Bytes that only the two ends of this connection know.
    pub binding: Vec<u8>,
}

/// What one side says in its turn.
#[derive(Debug)]
pub enum Turn {
    /// This, and it waits for an answer.
    Say(Vec<u8>),
    /// This, and it is done.
    Last(Vec<u8>),
    /// Nothing more.
    End,
}

/// One side of a conversation. Called on threads that may wait.
pub trait Conversation: Send + 'static {
    /// Takes what the other side says.
    fn heard(&mut self, message: &[u8]) -> Turn;
}

/// What a member does with masters that want to join.
pub trait Joins: Send + Sync + 'static {
    /// Somebody wants to join. Whoever cannot be heard now is told so: a joiner
    /// must not take a member that is busy for no member.
    fn begin(&self, from: SocketAddr, link: JoinLink) -> Box<dyn Conversation>;
}

/// Dials a member and talks to it to the end. `begin` gives our side, and what it
/// says first.
///
/// # Errors
/// When the member cannot be reached, is silent, or says something else.
pub async fn converse<C: Conversation>(
    key: &PrivateKey,
    address: &PeerAddress,
    begin: impl FnOnce(JoinLink) -> (C, Vec<u8>),
) -> Result<C, MeshError> {
    let tls = Tls::new(key)?;
    let done = timeout(JOIN_MAX, async {
        let mut secured = tls.connect(connect(address).await?).await?;
        if secured.key == tls.own() {
            return Err(MeshError::Own);
        }
        let (side, first) = begin(link(&tls, &secured));
        write_frame(&mut secured.stream, &Frame::Join(first)).await?;
        talk(&mut secured, side, None).await
    });
    done.await.map_err(|_| MeshError::Silent)?
}

/// A member's side: `first` is what the joiner has said.
pub(crate) async fn answer(
    tls: &Tls,
    joins: Arc<dyn Joins>,
    mut secured: Secured,
    from: SocketAddr,
    first: Vec<u8>,
) -> Result<(), MeshError> {
    let side = joins.begin(from, link(tls, &secured));
    let done = timeout(JOIN_MAX, talk(&mut secured, Boxed(side), Some(first)));
    done.await.map_err(|_| MeshError::Silent)?.map(|_| ())
}

struct Boxed(Box<dyn Conversation>);

impl Conversation for Boxed {
    fn heard(&mut self, message: &[u8]) -> Turn {
        self.0.heard(message)
    }
}

fn link(tls: &Tls, secured: &Secured) -> JoinLink {
    JoinLink {
        own_key: tls.own().to_owned(),
        other_key: secured.key.clone(),
        binding: secured.binding(),
    }
}

/// Talks to the end. `heard` is what the other side has said already.
async fn talk<C: Conversation>(
    secured: &mut Secured,
    mut side: C,
    mut heard: Option<Vec<u8>>,
) -> Result<C, MeshError> {
    for _ in 0..JOIN_TURNS_MAX {
        let message = match heard.take() {
            Some(message) => message,
            None => match read_frame(&mut secured.stream, JOIN_BYTES_MAX, JOIN_MAX).await? {
                Frame::Join(message) => message,
                _ => {
                    return Err(MeshError::Frame {
                        what: "something else than an answer to a join",
                    });
                }
            },
        };
        let taken = spawn_blocking(move || {
            let turn = side.heard(&message);
            (side, turn)
        });
        let turn;
        (side, turn) = taken.await.map_err(std::io::Error::other)?;
        match turn {
            Turn::Say(message) => {
                write_frame(&mut secured.stream, &Frame::Join(message)).await?;
            }
            Turn::Last(message) => {
                write_frame(&mut secured.stream, &Frame::Join(message)).await?;
                return Ok(side);
            }
            Turn::End => return Ok(side),
        }
    }
    Err(MeshError::Frame {
        what: "more than a join has to say",
    })
}
