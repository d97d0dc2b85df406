//! Copies the files of `file_roots` and `pillar_roots` from one master of a cluster
//! to the others on command (`cluster.sync_roots`).
//!
//! The sender asks which files the receiver lacks and sends them, a piece at a
//! time; the receiver answers each piece when it is on its disk. So nothing is read
//! ahead, and a link is never filled by it.
//!
//! Invariant: only members send files, and a file arrives below the first root that
//! the configuration of its receiver has for its environment, whole or not at all.
//! Nothing is removed.

mod incoming;
pub(crate) mod tree;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use halite_cluster::PeerId;
use halite_cluster::roots::{Answer, Message, Question, RootEnv, RootFile};
use halite_proto::Value;

use self::incoming::Incoming;
use self::tree::{first_root, is_same};
use crate::cluster::message::Message as ToPeers;
use crate::cluster::{Channel, Cluster};
use crate::error::chain;
use crate::settings::General;

/// The name under which masters talk about this.
const CHANNEL: &str = "roots";

/// What this master gives, and what it is given.
pub(crate) struct SharedRoots {
    cluster: Arc<Cluster>,
    general: Arc<General>,
    /// Questions have rising numbers.
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, (PeerId, SyncSender<Answer>)>>,
    givers: Mutex<BTreeMap<PeerId, Giver>>,
    /// For the threads that answer.
    this: Weak<Self>,
}

/// A member that gives its files.
#[derive(Default)]
struct Giver {
    /// Its last question.
    number: u64,
    /// Whether that is being answered.
    is_busy: bool,
    /// The file of which not all has come.
    file: Option<Incoming>,
}

/// A question that is not answered yet.
pub(crate) struct Pending<'a> {
    roots: &'a SharedRoots,
    number: u64,
    /// The number of the message in which the peer was asked.
    told: Option<u64>,
    /// Has the answer; closed without one when the peer is away.
    pub(crate) answer: Receiver<Answer>,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.roots.waiting().remove(&self.number);
        if let Some(told) = self.told {
            // Pieces of files are not to take the place of what others have missed.
            self.roots.cluster.mesh.release(told);
        }
    }
}

impl SharedRoots {
    /// Nothing is given yet.
    pub(crate) fn new(cluster: Arc<Cluster>, general: Arc<General>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            cluster,
            general,
            next: AtomicU64::new(1),
            waiting: Mutex::default(),
            givers: Mutex::default(),
            this: this.clone(),
        })
    }

    /// Asks a peer.
    pub(crate) fn ask(&self, peer: &PeerId, question: Question) -> Pending<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = sync_channel(1);
        self.waiting().insert(number, (peer.clone(), sender));
        let told = self.send(peer, &Message::Asks(number, question));
        Pending {
            roots: self,
            number,
            told,
            answer,
        }
    }

    fn send(&self, peer: &PeerId, message: &Message) -> Option<u64> {
        let message = ToPeers::Channel(CHANNEL.to_owned(), message.to_value());
        self.cluster.tell_one(peer, &message)
    }

    /// Whether the question of a peer is new and the only one; the file so far.
    fn begin(&self, peer: &PeerId, number: u64) -> Option<Option<Incoming>> {
        let mut givers = self.givers();
        let giver = givers.entry(peer.clone()).or_default();
        // It may be told twice.
        if giver.is_busy || number <= giver.number {
            return None;
        }
        giver.number = number;
        giver.is_busy = true;
        Some(giver.file.take())
    }

    fn end(&self, peer: &PeerId, file: Option<Incoming>) {
        if let Some(giver) = self.givers().get_mut(peer) {
            giver.is_busy = false;
            giver.file = file;
        }
    }

    /// The answer, and the file if it is not complete yet.
    fn answer(
        &self,
        peer: &PeerId,
        question: Question,
        file: Option<Incoming>,
    ) -> (Answer, Option<Incoming>) {
        match question {
            Question::Compare(env, files) => (self.compare(&env, &files), None),
            Question::Take {
                env,
                file: whole,
                mode,
                offset,
                data,
            } => {
                let begun = match offset {
                    0 => self.begin_file(peer, env, whole, mode),
                    _ => file
                        .filter(|file| file.is_at(&env, &whole, offset))
                        .ok_or_else(|| "the pieces before this one are missing".to_owned()),
                };
                let taken = begun.and_then(|file| file.take(&data));
                match taken {
                    Ok(Some(file)) => (Answer::Taken, Some(file)),
                    Ok(None) => (Answer::Taken, None),
                    Err(why) => {
                        tracing::warn!(%peer, "refused a file of the peer's roots: {why}");
                        (Answer::Refused(why), None)
                    }
                }
            }
        }
    }

    fn compare(&self, env: &RootEnv, files: &[RootFile]) -> Answer {
        let Some(root) = first_root(&self.general, env) else {
            let (option, saltenv) = (env.which.option(), &env.saltenv);
            return Answer::Refused(format!("the member has no {option} for {saltenv:?}"));
        };
        let differs = |(place, file)| (!is_same(&root, file)).then_some(place);
        Answer::Differ(files.iter().enumerate().filter_map(differs).collect())
    }

    fn begin_file(
        &self,
        peer: &PeerId,
        env: RootEnv,
        file: RootFile,
        mode: u32,
    ) -> Result<Incoming, String> {
        let root = first_root(&self.general, &env);
        let root = root.ok_or_else(|| {
            format!(
                "no {} is configured for this environment",
                env.which.option()
            )
        })?;
        let staged = self.cluster.own_file(&format!("roots-of-{peer}"));
        Incoming::begin(&staged, (env, root), file, mode)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, (PeerId, SyncSender<Answer>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn givers(&self) -> MutexGuard<'_, BTreeMap<PeerId, Giver>> {
        self.givers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channel for SharedRoots {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn peer_is_up(&self, peer: &PeerId) {
        // It may have begun another life, and counts anew.
        if let Some(giver) = self.givers().get_mut(peer) {
            giver.number = 0;
        }
    }

    fn peer_is_down(&self, peer: &PeerId) {
        self.waiting().retain(|_, (asked, _)| asked != peer);
        if let Some(giver) = self.givers().get_mut(peer) {
            giver.file = None;
        }
    }

    fn receive(&self, peer: &PeerId, body: Value) {
        let (number, question) = match Message::from_value(body) {
            Ok(Message::Asks(number, question)) => (number, question),
            Ok(Message::Answers(number, answer)) => {
                let mut waiting = self.waiting();
                if waiting.get(&number).is_some_and(|(asked, _)| asked == peer)
                    && let Some((_, sender)) = waiting.remove(&number)
                {
                    // Who has asked may have given up.
                    let _ = sender.try_send(answer);
                }
                return;
            }
            Err(error) => {
                return tracing::warn!(
                    %peer,
                    "cannot read the peer's message about files: {}",
                    chain(&error)
                );
            }
        };
        let (Some(this), Some(file)) = (self.this.upgrade(), self.begin(peer, number)) else {
            return;
        };
        let peer = peer.clone();
        // Files are read and written: what else the peer tells does not wait for that.
        let answers = move || {
            let (answer, file) = this.answer(&peer, question, file);
            this.end(&peer, file);
            this.send(&peer, &Message::Answers(number, answer));
        };
        if let Err(error) = thread::Builder::new()
            .name("roots".to_owned())
            .spawn(answers)
        {
            tracing::error!("could not start a thread for the files of another master: {error}");
        }
    }
}
