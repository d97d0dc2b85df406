//! The secret by which masters join: the configured one, or the one that was made
//! at the running cluster, which each master keeps in a file.
//!
//! Invariant: a joiner's proof is checked against the secret in the file; a new
//! secret is in the file before it counts.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_crypto::files::{FileError, MODE_SECRET, WriteOptions, read_limited, write_atomic};
use halite_crypto::{Secret, SharedSecret};
use halite_mesh::PeerId;
use halite_proto::Value;

use super::message::Message;
use super::settings::ClusterSettings;
use super::{Channel, Cluster};
use crate::clock::now_micros;
use crate::core::cluster_secret::{KeptSecret, Made, MadeSecret};
use crate::error::{StartError, chain};
use crate::limits::{SECRET_FILE_BYTES_MAX, SECRET_LEAD_US_MAX};

/// The file in `cluster_pki_dir`.
const FILE: &str = "cluster_secret";

/// The name under which masters talk about it.
const CHANNEL: &str = "secret";

/// What secrets of clusters are for.
const PURPOSE: &str = "halite: secret of a cluster: ";

/// The secret of this master's cluster.
pub(crate) struct ClusterSecret {
    path: PathBuf,
    purpose: String,
    configured: Option<Secret<String>>,
    state: Mutex<State>,
}

struct State {
    /// The secret made by `cluster.rotate_secret`.
    kept: Option<KeptSecret>,
    /// What holds, ready to be proven, once that was asked for.
    proofs: Option<Option<SharedSecret>>,
    /// A secret received from a peer that could not be written to disk: the peer does not
    /// send it again.
    unwritten: Option<MadeSecret>,
}

impl ClusterSecret {
    /// Reads what was made at the running cluster before.
    ///
    /// # Errors
    /// When its file cannot be read, or holds something else.
    pub(crate) fn open(settings: &ClusterSettings) -> Result<Self, StartError> {
        let path = settings.pki_dir.join(FILE);
        let read = |source| StartError::File {
            what: "the secret of the cluster",
            source,
        };
        let kept = match read_limited(&path, SECRET_FILE_BYTES_MAX) {
            Ok(bytes) => {
                let text = Secret::new(String::from_utf8(bytes).unwrap_or_default());
                let kept = KeptSecret::parse(text.expose());
                Some(kept.ok_or_else(|| StartError::Option {
                    option: "cluster_secret",
                    why: format!(
                        "{} is damaged: remove it, and the other masters send the secret again",
                        path.display()
                    ),
                })?)
            }
            Err(error) if error.kind() == Some(ErrorKind::NotFound) => None,
            Err(error) => return Err(read(error)),
        };
        let configured = settings.secret.clone();
        if let Some(kept) = &kept
            && !kept.holds_over(configured.as_ref())
        {
            tracing::warn!(
                "`cluster_secret` was changed here after `cluster.rotate_secret`: this master uses \
                 the configured secret, not the one in {}",
                path.display()
            );
        }
        Ok(Self {
            path,
            purpose: format!("{PURPOSE}{}", settings.id),
            configured,
            state: Mutex::new(State {
                kept,
                proofs: None,
                unwritten: None,
            }),
        })
    }

    /// What holds, ready to be proven; `None` if it is empty. The first time after a
    /// change this takes a tenth of a second.
    pub(crate) fn proofs(&self) -> Option<SharedSecret> {
        let mut state = self.state();
        let State { kept, proofs, .. } = &mut *state;
        let make = || {
            let configured = self.configured.as_ref();
            let kept = kept.as_ref().filter(|kept| kept.holds_over(configured));
            let secret = kept.map(|kept| &kept.made.secret).or(configured)?;
            SharedSecret::new(secret, &self.purpose)
        };
        proofs.get_or_insert_with(make).clone()
    }

    /// When the secret was made at the running cluster, and by which master.
    pub(crate) fn made(&self) -> Option<Made> {
        self.kept().map(|made| made.made)
    }

    /// The file with the secret that was made at the running cluster.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Makes another secret.
    ///
    /// # Errors
    /// When it cannot be written down; the one before then holds.
    fn rotate(&self, me: &PeerId) -> Result<MadeSecret, FileError> {
        let mut state = self.state();
        let before = state.kept.as_ref().map(|kept| &kept.made);
        let made = MadeSecret::make(now_micros(), me, before);
        self.keep(&mut state, made.clone())?;
        Ok(made)
    }

    /// Adopts a secret sent by a peer, if it is later than the own one; returns whether
    /// it is.
    fn adopt(&self, made: MadeSecret) -> Result<bool, FileError> {
        let mut state = self.state();
        let before = state.kept.as_ref().map(|kept| &kept.made.made);
        let waiting = state.unwritten.as_ref().map(|waiting| &waiting.made);
        if before
            .max(waiting)
            .is_some_and(|before| *before >= made.made)
        {
            return Ok(false);
        }
        let kept = self.keep(&mut state, made.clone());
        if kept.is_err() {
            state.unwritten = Some(made);
        }
        kept.map(|()| true)
    }

    fn keep(&self, state: &mut State, made: MadeSecret) -> Result<(), FileError> {
        let kept = KeptSecret::new(made, self.configured.as_ref());
        let options = WriteOptions::new(MODE_SECRET);
        write_atomic(&self.path, options, kept.to_text().expose().as_bytes())?;
        *state = State {
            kept: Some(kept),
            proofs: None,
            unwritten: None,
        };
        Ok(())
    }

    /// Writes down what could not be before, if there is such; whether it holds now.
    fn write_again(&self) -> bool {
        let mut state = self.state();
        let Some(made) = state.unwritten.clone() else {
            return false;
        };
        self.keep(&mut state, made).is_ok()
    }

    fn kept(&self) -> Option<MadeSecret> {
        self.state().kept.as_ref().map(|kept| kept.made.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cluster {
    /// Makes another secret for those who join, and tells the members.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub(crate) fn rotate_secret(&self) -> Result<(), FileError> {
        let made = self.secret.rotate(&self.own)?;
        tracing::info!("the secret of the cluster was changed");
        // Those alone whose keys are there: the others may have been removed just now.
        for (peer, _) in self.living() {
            self.tell_secret(&peer, &made);
        }
        self.secret.proofs();
        Ok(())
    }

    /// Tries again to write a secret that could not be written when a peer sent it. Waits
    /// for the disk.
    pub(crate) fn write_secret_again(&self) {
        if self.secret.write_again() {
            tracing::info!("the new secret of the cluster could now be written, and is in use");
            self.secret.proofs();
        }
    }

    fn tell_secret(&self, peer: &PeerId, made: &MadeSecret) {
        self.tell_one(peer, &Message::Channel(CHANNEL.to_owned(), made.to_value()));
    }
}

/// What masters tell each other about the secret.
pub(crate) struct SecretChannel(pub(crate) Arc<Cluster>);

impl Channel for SecretChannel {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn peer_is_up(&self, peer: &PeerId) {
        if let Some(made) = self.0.secret.kept() {
            self.0.tell_secret(peer, &made);
        }
    }

    fn peer_is_down(&self, _: &PeerId) {}

    fn receive(&self, peer: &PeerId, body: Value) {
        let Some(made) = MadeSecret::from_value(body) else {
            return tracing::warn!(
                %peer,
                "cannot read the peer's message about the secret of the cluster"
            );
        };
        // One of a time that never comes could not be replaced any more.
        let latest = now_micros().saturating_add(SECRET_LEAD_US_MAX);
        if made.made.0 > latest {
            return tracing::warn!(
                %peer,
                "refused the peer's secret of the cluster, which is dated in the future: \
                 synchronise the clocks"
            );
        }
        match self.0.secret.adopt(made) {
            Ok(true) => {
                tracing::info!(%peer, "the secret of the cluster was changed");
                self.0.secret.proofs();
            }
            Ok(false) => {}
            Err(error) => {
                tracing::error!(
                    %peer,
                    "could not write the new secret of the cluster, trying again: {}",
                    chain(&error)
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_cannot_be_written_down_is_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gone").join(FILE);
        let secret = ClusterSecret {
            path: path.clone(),
            purpose: PURPOSE.to_owned(),
            configured: None,
            state: Mutex::new(State {
                kept: None,
                proofs: None,
                unwritten: None,
            }),
        };
        let peer = PeerId::parse("m2").unwrap();
        let older = MadeSecret::make(1, &peer, None);
        let made = MadeSecret::make(7, &peer, Some(&older));
        assert!(secret.adopt(made.clone()).is_err());
        assert_eq!(secret.made(), None);
        assert!(!secret.write_again());
        // What is older does not take its place, nor is it told as an error again.
        assert!(matches!(secret.adopt(older), Ok(false)));
        assert!(matches!(secret.adopt(made.clone()), Ok(false)));
        fs::create_dir(dir.path().join("gone")).unwrap();
        assert!(secret.write_again());
        assert_eq!(secret.made(), Some(made.made));
        assert!(path.exists() && !secret.write_again());
    }
}
