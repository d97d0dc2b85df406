//! Asks a Halite master, while its link is ready, for missed jobs: those that were
//! published while this minion was away, and those that a dead subscription has
//! lost. While the master answers signs of life over the subscription and knows of
//! nothing that is open, there is little to ask for.
//!
//! Salt's masters do not keep missed jobs and are not asked. Invariant: one of
//! these runs per link that is ready, and it ends with the link's readiness.

use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_proto::request::{MinionRequest, Replay as Question, Replayed};
use tokio::sync::mpsc;
use tokio::time::{sleep, sleep_until, timeout};
use tracing::{debug, warn};

use crate::core::link::Phase;
use crate::core::origin::JobName;
use crate::core::publication::Verified;
use crate::core::sign_in::chain;
use crate::limits::{PUBLICATION_UNDER_WAY, REPLAY_AGAIN, SIGN_ANSWER_LATE};
use crate::link::channel::Patience;
use crate::link::words::{LinkInput, LinkOutput};
use crate::minion::{Master, Minion};

/// The questions to one master.
pub(crate) struct Replay {
    /// Which link.
    pub(crate) link: usize,
    /// Whose.
    pub(crate) minion: Arc<Minion>,
    /// Where missed jobs go.
    pub(crate) answers: mpsc::Sender<(usize, LinkOutput)>,
    /// The link's task.
    pub(crate) inputs: mpsc::Sender<LinkInput>,
    /// How often to ask.
    pub(crate) interval: Duration,
    /// How often at least, while signs of life are answered.
    pub(crate) interval_max: Duration,
    /// How long a master may take to answer.
    pub(crate) timeout: Duration,
}

impl Replay {
    /// Asks until the link is not ready any more.
    pub(crate) async fn run(self) {
        let Some(master) = self.minion.masters.get(self.link) else {
            return;
        };
        if !master.channel.capabilities().replay {
            return;
        }
        let mut phase = master.phase.clone();
        // The phase is told after what happened.
        let _ = timeout(self.timeout, phase.wait_for(|phase| *phase == Phase::Ready)).await;
        tokio::select! {
            () = self.ask_again_and_again(master) => {}
            _ = phase.wait_for(|phase| *phase != Phase::Ready) => {}
        }
    }

    /// Asks once, of a link that is ready.
    pub(crate) async fn run_once(self) {
        if let Some(master) = self.minion.masters.get(self.link)
            && master.channel.capabilities().replay
        {
            let jobs = self.ask(master).await;
            self.hand_on(jobs).await;
        }
    }

    async fn ask_again_and_again(&self, master: &Master) {
        // Once more a little later: what was published between the first
        // question and the moment the master knew of the subscription went to
        // nobody.
        for pause in [Duration::ZERO, REPLAY_AGAIN] {
            sleep(pause).await;
            let jobs = self.ask(master).await;
            self.hand_on(jobs).await;
        }
        let mut not_ours: Vec<JobName> = Vec::new();
        loop {
            self.until_due(master).await;
            let mut jobs = self.ask(master).await;
            jobs.retain(|job| self.is_new(master, job));
            // What the master does not hold for open any more is not told again.
            not_ours.retain(|known| jobs.iter().any(|job| job.name(&master.name) == *known));
            jobs.retain(|job| !not_ours.contains(&job.name(&master.name)));
            if jobs.is_empty() {
                continue;
            }
            sleep(PUBLICATION_UNDER_WAY).await;
            jobs.retain(|job| self.is_new(master, job));
            let names: Vec<JobName> = jobs.iter().map(|job| job.name(&master.name)).collect();
            self.hand_on(jobs).await;
            sleep(PUBLICATION_UNDER_WAY).await;
            if names.iter().any(|name| self.minion.jobs().knows(name)) {
                warn!(
                    master = master.name,
                    "jobs do not arrive through the subscription: connecting again"
                );
                let _ = self.inputs.send(LinkInput::Deaf).await;
                return;
            }
            // The master believes that they are meant for this minion; the
            // minion has judged otherwise.
            not_ours.extend(names);
        }
    }

    /// Returns when it is time for the next question: the master has not said for so long
    /// that nothing was missed, or none was asked for very long.
    async fn until_due(&self, master: &Master) {
        let asked = Instant::now();
        let mut known = asked;
        let wait = match master.channel.capabilities().answered_signs {
            true => self.interval + SIGN_ANSWER_LATE.min(self.interval_max),
            false => self.interval,
        };
        loop {
            sleep_until((known + wait).into()).await;
            match master.signs.nothing_missed_at() {
                Some(at) if at > known && asked.elapsed() < self.interval_max => known = at,
                _ => return,
            }
        }
    }

    fn is_new(&self, master: &Master, job: &Verified) -> bool {
        !self.minion.jobs().knows(&job.name(&master.name))
    }

    async fn ask(&self, master: &Master) -> Vec<Verified> {
        let is_told_of_others = master.channel.capabilities().processes;
        let process = is_told_of_others.then(|| self.minion.process.clone());
        let ask = MinionRequest::Replay(Question { process }).to_map(&self.minion.id);
        // The second try goes over a new connection.
        let patience = Patience {
            timeout: self.timeout,
            tries: 2,
        };
        match master.channel.request(ask, patience).await {
            Ok(answer) => {
                let Replayed { jobs, others } = Replayed::from_value(answer);
                master.hear_of_others(others);
                let jobs = Verified::replayed(jobs, master.channel.publisher());
                debug!(
                    master = master.name,
                    jobs = jobs.len(),
                    "asked for missed jobs"
                );
                jobs
            }
            Err(error) => {
                warn!(master = master.name, "missed jobs: {}", chain(&error));
                let _ = self.inputs.send(LinkInput::Pinged(false)).await;
                Vec::new()
            }
        }
    }

    async fn hand_on(&self, jobs: Vec<Verified>) {
        if !jobs.is_empty() {
            let _ = self
                .answers
                .send((self.link, LinkOutput::Missed(jobs)))
                .await;
        }
    }
}
