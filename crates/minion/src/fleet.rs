//! The links of a minion: made together, each running on its own.

mod replay;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use halite_crypto::random_bytes;
use halite_transport::Endpoint;
use halite_transport::fleet::Requester;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tracing::{Instrument, error_span};

use self::replay::Replay;
use crate::core::sign_in::Identity;
use crate::limits::{LINK_INPUTS_MAX, REPLAY_INTERVAL, REPLAY_INTERVAL_MAX};
use crate::link::TrustStore;
use crate::link::channel::Channel;
use crate::link::ping;
use crate::link::signs::Signs;
use crate::link::status::reports;
use crate::link::task::LinkTask;
use crate::link::words::{LinkInput, LinkOutput, LinkSettings};
use crate::minion::{Master, Minion};
use crate::records::gates::KeptGates;

/// How long a master whose link is down may take to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the links of all masters and hears from them.
pub struct Fleet {
    inputs: Vec<mpsc::Sender<LinkInput>>,
    settings: Vec<LinkSettings>,
    answers: mpsc::Sender<(usize, LinkOutput)>,
    outputs: mpsc::Receiver<(usize, LinkOutput)>,
    tasks: JoinSet<()>,
}

impl Fleet {
    /// Makes a link to each of the named masters; all are down.
    pub fn new(
        links: Vec<(String, LinkSettings)>,
        identity: &Arc<Identity>,
        trust: &Arc<TrustStore>,
        gates: &Arc<KeptGates>,
    ) -> (Self, Vec<Master>) {
        let (to_minion, outputs) = mpsc::channel(LINK_INPUTS_MAX);
        let mut fleet = Self {
            inputs: Vec::new(),
            settings: Vec::new(),
            answers: to_minion.clone(),
            outputs,
            tasks: JoinSet::new(),
        };
        let mut masters = Vec::new();
        let algorithms = trust.trust();
        for (index, (name, settings)) in links.into_iter().enumerate() {
            let (input, inputs) = mpsc::channel(LINK_INPUTS_MAX);
            let (output, mut from_link) = mpsc::channel(LINK_INPUTS_MAX);
            let (session, sessions) = watch::channel(None);
            let (reporter, reports) = reports();
            let signs = Arc::<Signs>::default();
            let span = error_span!("master", uri = %settings.uri);
            let seed = u64::from_le_bytes(random_bytes());
            let (uri, host) = (settings.uri.clone(), settings.uri.host().to_owned());
            fleet.settings.push(settings.clone());
            let task = LinkTask::new(
                settings,
                Arc::clone(identity),
                Arc::clone(trust),
                (input.clone(), inputs),
                output,
                session,
                reporter,
                Arc::clone(gates),
                Arc::clone(&signs),
                seed,
            );
            fleet.tasks.spawn(task.run().instrument(span));
            let to_minion = to_minion.clone();
            fleet.tasks.spawn(async move {
                while let Some(output) = from_link.recv().await {
                    if to_minion.send((index, output)).await.is_err() {
                        break;
                    }
                }
            });
            masters.push(Master {
                name,
                host,
                channel: Channel::new(
                    Arc::clone(identity),
                    sessions,
                    input.clone(),
                    algorithms.enc_algo.name(),
                    algorithms.sig_algo.name(),
                ),
                phase: reports.phase.clone(),
                reports,
                others: Mutex::default(),
                signs,
                pillar: watch::channel(None).0,
                grains: Mutex::default(),
                opts: std::sync::OnceLock::new(),
                uri,
            });
            fleet.inputs.push(input);
        }
        (fleet, masters)
    }

    /// Brings a link up.
    pub async fn up(&self, link: usize) {
        self.tell(link, LinkInput::Up).await;
    }

    /// Brings all links up.
    pub async fn all_up(&self) {
        for link in 0..self.inputs.len() {
            self.up(link).await;
        }
    }

    /// Takes a link down.
    pub async fn down(&self, link: usize) {
        self.tell(link, LinkInput::Down).await;
    }

    /// Asks the master of a link that is down for a sign of life; an answer
    /// comes as [`LinkOutput::Answered`].
    pub fn ping(&self, link: usize) {
        let Some(settings) = self.settings.get(link) else {
            return;
        };
        let endpoint = Endpoint::from(&settings.uri);
        let options = settings.request.clone();
        let answers = self.answers.clone();
        tokio::spawn(async move {
            let requester = Requester::connect(endpoint, options);
            if ping(&requester, PING_TIMEOUT).await {
                let _ = answers.send((link, LinkOutput::Answered)).await;
            }
        });
    }

    /// Asks a master that has just become ready for the jobs that this minion may have
    /// missed, and repeatedly while it stays ready; they arrive as
    /// [`LinkOutput::Missed`].
    pub fn replay(&self, link: usize, minion: &Arc<Minion>) {
        if let Some(replay) = self.missed(link, minion) {
            tokio::spawn(replay.run());
        }
    }

    /// Asks a master once, after a new sign-in of a link that stayed ready.
    pub fn ask_missed(&self, link: usize, minion: &Arc<Minion>) {
        if let Some(replay) = self.missed(link, minion) {
            tokio::spawn(replay.run_once());
        }
    }

    fn missed(&self, link: usize, minion: &Arc<Minion>) -> Option<Replay> {
        let (inputs, settings) = (self.inputs.get(link)?, self.settings.get(link)?);
        Some(Replay {
            link,
            minion: Arc::clone(minion),
            answers: self.answers.clone(),
            inputs: inputs.clone(),
            interval_max: match settings.timing.alive_interval {
                // Who wants to know of a dead master so soon asks it.
                Some(_) => Duration::ZERO,
                None => REPLAY_INTERVAL_MAX,
            },
            interval: settings
                .timing
                .alive_interval
                .unwrap_or(REPLAY_INTERVAL)
                .min(REPLAY_INTERVAL),
            timeout: settings.auth_timeout,
        })
    }

    /// The next output of a link, and the number of the link.
    pub async fn next(&mut self) -> Option<(usize, LinkOutput)> {
        self.outputs.recv().await
    }

    /// Closes all links.
    pub async fn stop(mut self) {
        drop(self.outputs);
        for input in &self.inputs {
            let _ = input.send(LinkInput::End).await;
        }
        while self.tasks.join_next().await.is_some() {}
    }

    async fn tell(&self, link: usize, input: LinkInput) {
        if let Some(inputs) = self.inputs.get(link) {
            // A link's task ends only when it is told to.
            let _ = inputs.send(input).await;
        }
    }
}
