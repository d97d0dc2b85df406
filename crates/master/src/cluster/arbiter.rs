//! The arbiter that keeps the register of the lease: the bus of the cluster, or the
//! store that its masters share.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use halite_mesh::{Mesh, MeshError};
use halite_store::{Cache, StoreError};
use thiserror::Error;
use tokio::sync::oneshot;

use super::settings::ClusterSettings;
use crate::core::lease::Register;

/// The bank of a store that has a register for each cluster.
const BANK: &str = "halite/lease";

/// What holds a register whose text no master has written.
const UNKNOWN: &str = "?";

/// Stores a register, and changes it for callers that know its present value.
pub(crate) enum Arbiter {
    Bus(Mesh),
    Store(StoreRegister),
}

/// Why it has not answered.
#[derive(Debug, Error)]
pub(crate) enum ArbiterError {
    #[error(transparent)]
    Bus(#[from] MeshError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the store has not answered the previous request yet")]
    Busy,
}

impl Arbiter {
    /// The arbiter of a cluster: its bus, otherwise the store that its masters share;
    /// `None` if it has neither.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn of(
        settings: &ClusterSettings,
        mesh: &Mesh,
        store: Option<Cache>,
    ) -> io::Result<Option<Self>> {
        if settings.bus.is_some() {
            return Ok(Some(Self::Bus(mesh.clone())));
        }
        let register = store.map(|cache| StoreRegister::start(cache, &settings.id));
        Ok(register.transpose()?.map(Self::Store))
    }

    /// Its name in messages.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Bus(_) => "the bus of the cluster",
            Self::Store(_) => "the store of the masters",
        }
    }

    /// Reads the register.
    pub(crate) async fn read(&self) -> Result<Register, ArbiterError> {
        match self {
            Self::Bus(mesh) => {
                let register = mesh.register().await?;
                Ok(Register {
                    serial: register.serial,
                    holder: String::from_utf8_lossy(&register.value).into_owned(),
                })
            }
            Self::Store(store) => store.ask(Question::Read).await,
        }
    }

    /// Sets the holder if the register is what is expected; the new serial number, or none
    /// if it is something else.
    pub(crate) async fn replace(
        &self,
        expected: &Register,
        holder: &str,
    ) -> Result<Option<u64>, ArbiterError> {
        match self {
            Self::Bus(mesh) => {
                let set = mesh.set_register(expected.serial, holder.as_bytes());
                Ok(set.await?)
            }
            Self::Store(store) => {
                let (serial, holder) = (expected.serial, holder.to_owned());
                let set = |asker| Question::Set {
                    serial,
                    holder,
                    asker,
                };
                store.ask(set).await
            }
        }
    }
}

/// A register in a store: `<serial number> <holder>`.
///
/// It has a thread of its own, which ends with this: where the store hangs, the others
/// wait for it too.
pub(crate) struct StoreRegister {
    questions: SyncSender<Question>,
}

enum Question {
    Read(Asker<Register>),
    Set {
        serial: u64,
        holder: String,
        asker: Asker<Option<u64>>,
    },
}

type Asker<T> = oneshot::Sender<Result<T, StoreError>>;

impl StoreRegister {
    fn start(cache: Cache, cluster: &str) -> io::Result<Self> {
        // One waits at most: nobody asks before there is an answer, or none came in time.
        let (questions, asked) = sync_channel(1);
        let mut stored = Stored {
            cache,
            key: cluster.to_owned(),
            serial: 0,
            text: None,
        };
        let thread = thread::Builder::new().name("lease".to_owned());
        thread.spawn(move || {
            for question in asked {
                stored.answer(question);
            }
        })?;
        Ok(Self { questions })
    }

    async fn ask<T>(&self, question: impl FnOnce(Asker<T>) -> Question) -> Result<T, ArbiterError> {
        let (asker, answer) = oneshot::channel();
        let sent = self.questions.try_send(question(asker));
        sent.map_err(|_| ArbiterError::Busy)?;
        Ok(answer.await.map_err(|_| ArbiterError::Busy)??)
    }
}

/// The register, and what it was when it was last seen.
struct Stored {
    cache: Cache,
    key: String,
    serial: u64,
    text: Option<Vec<u8>>,
}

impl Stored {
    fn answer(&mut self, question: Question) {
        // Nobody asks for what has come too late.
        match question {
            Question::Read(asker) if !asker.is_closed() => {
                let _ = asker.send(self.read());
            }
            Question::Set {
                serial,
                holder,
                asker,
            } if !asker.is_closed() => {
                let _ = asker.send(self.set(serial, &holder));
            }
            _ => {}
        }
    }

    fn read(&mut self) -> Result<Register, StoreError> {
        let text = self.cache.fetch(BANK, &self.key)?;
        let register = text.as_deref().map_or_else(Register::default, parse);
        (self.serial, self.text) = (register.serial, text);
        Ok(register)
    }

    fn set(&mut self, serial: u64, holder: &str) -> Result<Option<u64>, StoreError> {
        if self.serial != serial {
            return Ok(None);
        }
        // Never 0, which says that there is none.
        let next = serial.checked_add(1).unwrap_or(1);
        let text = format!("{next} {holder}").into_bytes();
        let expected = self.text.clone();
        if !(self.cache).replace(BANK, &self.key, expected, text.clone())? {
            return Ok(None);
        }
        (self.serial, self.text) = (next, Some(text));
        Ok(Some(next))
    }
}

/// Parses a register. A text that no master has written counts as held by an unknown
/// master: it is left alone until it is stale, and then overwritten.
fn parse(text: &[u8]) -> Register {
    let known = || {
        let (serial, holder) = std::str::from_utf8(text).ok()?.split_once(' ')?;
        let serial = serial.parse().ok().filter(|serial| *serial > 0)?;
        Some(Register {
            serial,
            holder: holder.to_owned(),
        })
    };
    known().unwrap_or_else(|| Register {
        serial: 1,
        holder: UNKNOWN.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_master_has_written_is_held_by_somebody_unknown() {
        let register = |serial, holder: &str| Register {
            serial,
            holder: holder.to_owned(),
        };
        assert_eq!(parse(b"7 m1 00ff"), register(7, "m1 00ff"));
        assert_eq!(parse(b"8 "), register(8, ""));
        for text in [&b""[..], b"\xff\xfe", b"0 m1", b"-1 m1", b"7", b"m1 7"] {
            assert_eq!(parse(text), register(1, UNKNOWN), "{text:?}");
        }
    }
}
