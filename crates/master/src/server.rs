//! The request port: takes requests off the network, hands them to the
//! workers, and sends what they answer in any order.

use std::io;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;

use halite_transport::zeromq::{Incoming, Replies, Router};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use crate::core::gate::Cause;
use crate::core::lane::{Lane, lane_of};
use crate::door::{Answer, Clerk, answer, slow_answer_time};
use crate::limits::{
    LATER_ANSWERS_MAX, LOGIN_BYTES_WAITING_MAX, LOGIN_THREADS_MAX, LOGINS_WAITING_MAX,
    REQUEST_BYTES_WAITING_MAX, REQUEST_WAIT_MAX, REQUESTS_WAITING_MAX, SIGN_IN_WAIT_MAX,
    SLOW_ANSWERS_MAX, WORKER_THREADS_MAX,
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
    logins: Arc<Workers<Incoming>>,
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
            slow: Arc::new(Semaphore::new(SLOW_ANSWERS_MAX)),
            logins: None,
        };
        let logins = Arc::new(desk.open(
            "login",
            LaneLimits {
                // Without a way to log in there is nothing to judge.
                threads: match master.settings.external_auth.rules.is_empty() {
                    true => 1,
                    false => LOGIN_THREADS_MAX,
                },
                waiting_max: LOGINS_WAITING_MAX,
                bytes_max: LOGIN_BYTES_WAITING_MAX,
                wait_max: SIGN_IN_WAIT_MAX,
            },
        )?);
        let desk = Desk {
            logins: Some(Arc::clone(&logins)),
            ..desk
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
            logins,
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
        let others = self.others.drain(deadline);
        self.logins.drain(deadline) && sign_ins && others
    }
}

/// Where a worker gets its answers from and brings them to.
#[derive(Clone)]
struct Desk {
    master: Arc<Master>,
    replies: Replies,
    runtime: Handle,
    later: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    /// Those who judge passwords; `None` at their own desk.
    logins: Option<Arc<Workers<Incoming>>>,
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
        let (clerk, permit) = match self.logins {
            Some(_) => (Clerk::Any, None),
            // Before the password is judged: a refusal that is not sent would
            // be one as well.
            None => match self.may_be_slow() {
                Some(permit) => (Clerk::Logins, Some(permit)),
                None => return self.master.complain(Cause::Overload, None),
            },
        };
        let peer = incoming.peer;
        match answer(&self.master, &incoming.payload, clerk) {
            // An error means that the port is closed: the daemon stops.
            Answer::Now(reply) => {
                let _ = self.replies.send(peer, reply);
            }
            Answer::LogsIn => {
                let logins = self.logins.as_ref();
                if logins.is_none_or(|logins| logins.submit(incoming).is_err()) {
                    self.master.complain(Cause::Overload, None);
                }
            }
            Answer::Slow(reply) => {
                let Some(permit) = permit.or_else(|| self.may_be_slow()) else {
                    return self.master.complain(Cause::Overload, None);
                };
                let replies = self.replies.clone();
                self.runtime.spawn(async move {
                    sleep(slow_answer_time()).await;
                    let _ = replies.send(peer, reply);
                    drop(permit);
                });
            }
            Answer::Later(reply) => {
                let Ok(permit) = Arc::clone(&self.later).try_acquire_owned() else {
                    return self.master.complain(Cause::Overload, None);
                };
                let replies = self.replies.clone();
                self.runtime.spawn(async move {
                    let reply = reply.await;
                    if !reply.is_empty() {
                        let _ = replies.send(peer, reply);
                    }
                    drop(permit);
                });
            }
        }
    }

    fn may_be_slow(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slow).try_acquire_owned().ok()
    }
}
