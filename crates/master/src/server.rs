//! The request port: takes requests off the network, hands them to the
//! workers, and sends what they answer in any order.

use std::io;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;

use halite_transport::zeromq::{Incoming, Replies, Router};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::core::gate::Cause;
use crate::core::lane::{Lane, lane_of};
use crate::door::{Answer, answer};
use crate::limits::{
    LATER_ANSWERS_MAX, REQUEST_BYTES_WAITING_MAX, REQUEST_WAIT_MAX, REQUESTS_WAITING_MAX,
    SIGN_IN_WAIT_MAX, WORKER_THREADS_MAX,
};
use crate::master::Master;
use crate::workers::{LaneLimits, Work, Workers};

impl Work for Incoming {
    fn bytes(&self) -> usize {
        self.payload.len()
    }
}

/// The workers behind the request port.
pub(crate) struct Server {
    master: Arc<Master>,
    sign_ins: Workers<Incoming>,
    others: Workers<Incoming>,
}

impl Server {
    /// Starts the workers; answers go to `replies`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn start(master: Arc<Master>, replies: &Replies) -> io::Result<Self> {
        let cpus = available_parallelism().map_or(1, usize::from);
        let limits = LaneLimits {
            // A sign-in is nothing but arithmetic: more threads than
            // processors would only take turns.
            threads: cpus.min(WORKER_THREADS_MAX),
            waiting_max: REQUESTS_WAITING_MAX,
            bytes_max: REQUEST_BYTES_WAITING_MAX,
            wait_max: SIGN_IN_WAIT_MAX,
        };
        let desk = Desk {
            master: Arc::clone(&master),
            replies: replies.clone(),
            runtime: Handle::current(),
            later: Arc::new(Semaphore::new(LATER_ANSWERS_MAX)),
        };
        let sign_ins = desk.open("sign-in", limits)?;
        let others = desk.open(
            "worker",
            LaneLimits {
                threads: master.settings.worker_threads.clamp(1, WORKER_THREADS_MAX),
                wait_max: REQUEST_WAIT_MAX,
                ..limits
            },
        )?;
        Ok(Self {
            master,
            sign_ins,
            others,
        })
    }

    /// Takes requests until the port fails.
    pub(crate) async fn serve(&self, router: &mut Router) {
        while let Some(incoming) = router.recv().await {
            let lane = match lane_of(&incoming.payload) {
                Lane::SignIn => &self.sign_ins,
                Lane::Work => &self.others,
            };
            if lane.submit(incoming).is_err() {
                self.master.complain(Cause::Overload, None);
            }
        }
    }

    /// Finishes what is queued; false if that is not done by `deadline`.
    pub(crate) fn drain(&self, deadline: Instant) -> bool {
        // Both, whatever comes of the first.
        let sign_ins = self.sign_ins.drain(deadline);
        self.others.drain(deadline) && sign_ins
    }
}

/// Where a worker gets its answers from and brings them to.
#[derive(Clone)]
struct Desk {
    master: Arc<Master>,
    replies: Replies,
    runtime: Handle,
    later: Arc<Semaphore>,
}

impl Desk {
    fn open(&self, name: &'static str, limits: LaneLimits) -> io::Result<Workers<Incoming>> {
        let desk = self.clone();
        let master = Arc::clone(&self.master);
        Workers::start(
            name,
            limits,
            move |incoming| desk.handle(incoming),
            move |_| master.complain(Cause::Overload, None),
        )
    }

    fn handle(&self, incoming: Incoming) {
        let Incoming { peer, payload } = incoming;
        match answer(&self.master, &payload) {
            // An error means that the port is closed: the daemon stops.
            Answer::Now(reply) => {
                let _ = self.replies.blocking_send(peer, reply);
            }
            Answer::Later(reply) => {
                let Ok(permit) = Arc::clone(&self.later).try_acquire_owned() else {
                    return self.master.complain(Cause::Overload, None);
                };
                let replies = self.replies.clone();
                self.runtime.spawn(async move {
                    let reply = reply.await;
                    if !reply.is_empty() {
                        let _ = replies.send(peer, reply).await;
                    }
                    drop(permit);
                });
            }
        }
    }
}
