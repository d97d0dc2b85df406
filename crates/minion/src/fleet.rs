//! The links of a minion: made together, each running on its own.

use std::sync::Arc;

use halite_crypto::random_bytes;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tracing::{Instrument, error_span};

use crate::channel::Channel;
use crate::core::link::Phase;
use crate::core::sign_in::Identity;
use crate::limits::LINK_INPUTS_MAX;
use crate::link_task::{LinkInput, LinkOutput, LinkSettings, LinkTask};
use crate::state::Master;
use crate::trust_store::TrustStore;

/// Runs the links of all masters and hears from them.
pub struct Fleet {
    inputs: Vec<mpsc::Sender<LinkInput>>,
    outputs: mpsc::Receiver<(usize, LinkOutput)>,
    tasks: JoinSet<()>,
}

impl Fleet {
    /// Starts a link to each of the named masters.
    pub fn start(
        links: Vec<(String, LinkSettings)>,
        identity: &Arc<Identity>,
        trust: &Arc<TrustStore>,
    ) -> (Self, Vec<Master>) {
        let (to_minion, outputs) = mpsc::channel(LINK_INPUTS_MAX);
        let mut fleet = Self {
            inputs: Vec::new(),
            outputs,
            tasks: JoinSet::new(),
        };
        let mut masters = Vec::new();
        let algorithms = trust.trust();
        for (index, (name, settings)) in links.into_iter().enumerate() {
            let (input, inputs) = mpsc::channel(LINK_INPUTS_MAX);
            let (output, mut from_link) = mpsc::channel(LINK_INPUTS_MAX);
            let (session, sessions) = watch::channel(None);
            let (phase, phases) = watch::channel(Phase::Idle);
            let span = error_span!("master", uri = %settings.uri);
            let seed = u64::from_le_bytes(random_bytes());
            let task = LinkTask::new(
                settings,
                Arc::clone(identity),
                Arc::clone(trust),
                (input.clone(), inputs),
                output,
                session,
                phase,
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
                channel: Channel::new(
                    Arc::clone(identity),
                    sessions,
                    input.clone(),
                    algorithms.enc_algo.name(),
                    algorithms.sig_algo.name(),
                ),
                phase: phases,
                pillar: watch::channel(None).0,
            });
            fleet.inputs.push(input);
        }
        (fleet, masters)
    }

    /// What the next link has to say, and which one it is.
    pub async fn next(&mut self) -> Option<(usize, LinkOutput)> {
        self.outputs.recv().await
    }

    /// Closes all links.
    pub async fn stop(mut self) {
        for input in &self.inputs {
            let _ = input.try_send(LinkInput::Stop);
        }
        drop(self.outputs);
        while self.tasks.join_next().await.is_some() {}
    }
}
