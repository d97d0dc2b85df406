//! Gives files to other masters, to several at a time.

use std::collections::BTreeMap;
use std::io::Read;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use halite_cluster::PeerId;
use halite_cluster::limits::{ROOT_PIECE_BYTES_MAX, ROOTS_ASKED_AT_ONCE_MAX};
use halite_cluster::roots::{Answer, Question, RootEnv, RootFile};
use halite_proto::{Map, Value};

use super::cluster_roots::{Env, Outcome, Own};
use crate::cluster::Cluster;
use crate::jobs::stop::{Stop, Why};
use crate::limits::ROOTS_TAKERS_AT_ONCE_MAX;
use crate::shared_roots::SharedRoots;
use crate::shared_roots::tree::OwnFile;

/// How long it is waited before it is looked whether the runner is to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What all members are given, and how.
pub(super) struct Gift<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) roots: &'a SharedRoots,
    pub(super) stop: &'a Stop,
    pub(super) own: &'a [Own],
    /// How long a member may take for one answer.
    pub(super) answer_max: Duration,
    pub(super) is_test: bool,
}

/// A member that files are given to.
struct Taker<'a> {
    gift: &'a Gift<'a>,
    peer: &'a PeerId,
}

/// The result shown for a member.
pub(super) struct Said {
    pub(super) shown: Value,
    /// It has refused a file.
    pub(super) has_failed: bool,
}

/// Why no more is sent to a member.
enum Lost {
    /// It does not answer.
    Silent(String),
    /// The runner is to end.
    Stopped(Why),
}

impl From<Why> for Lost {
    fn from(why: Why) -> Self {
        Self::Stopped(why)
    }
}

impl Gift<'_> {
    /// Sends the files to these members, to some at a time, so that a slow one does not
    /// delay the others.
    pub(super) fn give_all(&self, peers: &[PeerId]) -> Result<BTreeMap<PeerId, Said>, Why> {
        let next = AtomicUsize::new(0);
        let said = Mutex::new(BTreeMap::new());
        let give_some = || -> Result<(), Why> {
            while let Some(peer) = peers.get(next.fetch_add(1, Ordering::Relaxed)) {
                let given = self.give_one(peer)?;
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                said.insert(peer.clone(), given);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let count = peers.len().min(ROOTS_TAKERS_AT_ONCE_MAX);
            // This thread is one of them, in case there is no other.
            let others: Vec<_> = (1..count)
                .map_while(|_| {
                    thread::Builder::new()
                        .spawn_scoped(scope, give_some)
                        .inspect_err(|error| {
                            tracing::warn!(
                                "could not start a thread, sending files to fewer members at a \
                                 time: {error}"
                            );
                        })
                        .ok()
                })
                .collect();
            let own = give_some();
            let others = others.into_iter().map(|other| match other.join() {
                Ok(ended) => ended,
                Err(panic) => resume_unwind(panic),
            });
            others.fold(own, Result::and)
        })?;
        Ok(said.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn give_one(&self, peer: &PeerId) -> Result<Said, Why> {
        let mut members = self.cluster.mesh.peers().into_iter();
        if !members.any(|of| of.peer == *peer && of.is_connected()) {
            return Ok(Said {
                shown: "the member is not connected: nothing was sent".into(),
                has_failed: true,
            });
        }
        Taker { gift: self, peer }.give()
    }
}

impl Taker<'_> {
    fn give(&self) -> Result<Said, Why> {
        let mut options = Map::new();
        let mut has_failed = false;
        for own in self.gift.own {
            let mut outcome = Outcome::default();
            let given = own
                .envs
                .iter()
                .try_for_each(|env| self.give_env(env, &mut outcome));
            let shown = outcome.shown(self.gift.is_test);
            has_failed |= outcome.failed_count > 0;
            options.insert(own.which.option(), shown);
            match given {
                Ok(()) => {}
                Err(Lost::Stopped(why)) => return Err(why),
                Err(Lost::Silent(why)) => {
                    has_failed = true;
                    options.insert("stopped", why);
                    break;
                }
            }
        }
        Ok(Said {
            shown: options.into(),
            has_failed,
        })
    }

    fn give_env(&self, all: &Env, outcome: &mut Outcome) -> Result<(), Lost> {
        for files in all.files.chunks(ROOTS_ASKED_AT_ONCE_MAX) {
            let described = files.iter().map(|(_, file)| file.clone()).collect();
            let places = match self.ask(Question::Compare(all.env.clone(), described))? {
                Answer::Differ(places) => places,
                Answer::Refused(why) => {
                    outcome.fail(&all.env, "", why);
                    return Ok(());
                }
                Answer::Taken => {
                    return Err(Lost::Silent("the member's answer is invalid".to_owned()));
                }
            };
            outcome.same += files.len().saturating_sub(places.len());
            for (own, file) in places.into_iter().filter_map(|place| files.get(place)) {
                if self.gift.is_test {
                    outcome.written += 1;
                    continue;
                }
                match self.give_file(&all.env, own, file)? {
                    Ok(()) => outcome.written += 1,
                    Err(why) => outcome.fail(&all.env, file.path.as_str(), why),
                }
            }
        }
        Ok(())
    }

    /// Sends a file; returns why the member has refused it, if it has.
    fn give_file(
        &self,
        env: &RootEnv,
        own: &OwnFile,
        file: &RootFile,
    ) -> Result<Result<(), String>, Lost> {
        let (mut from, mode) = match own.open() {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let mut offset = 0;
        loop {
            let mut data = Vec::new();
            let piece = from.by_ref().take(ROOT_PIECE_BYTES_MAX as u64);
            // What has been put behind since is not of the file that was compared.
            let left = file.size - offset;
            if let Err(error) = piece.take(left).read_to_end(&mut data) {
                return Ok(Err(error.to_string()));
            }
            let sent = data.len() as u64;
            if sent == 0 && left > 0 {
                return Ok(Err("the file became shorter while it was read".to_owned()));
            }
            let question = Question::Take {
                env: env.clone(),
                file: file.clone(),
                mode,
                offset,
                data,
            };
            match self.ask(question)? {
                Answer::Taken => offset += sent,
                Answer::Refused(why) => return Ok(Err(why)),
                Answer::Differ(_) => {
                    return Err(Lost::Silent("the member's answer is invalid".to_owned()));
                }
            }
            if offset >= file.size {
                return Ok(Ok(()));
            }
        }
    }

    fn ask(&self, question: Question) -> Result<Answer, Lost> {
        let pending = self.gift.roots.ask(self.peer, question);
        let until = Instant::now() + self.gift.answer_max;
        loop {
            match pending.answer.recv_timeout(LOOK_EVERY) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Lost::Silent(
                        "the connection to the member was lost: the rest was not sent".to_owned(),
                    ));
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                    let seconds = self.gift.answer_max.as_secs();
                    let why = format!("no answer from the member within {seconds} s");
                    return Err(Lost::Silent(why));
                }
                Err(RecvTimeoutError::Timeout) => self.gift.stop.check()?,
            }
        }
    }
}
