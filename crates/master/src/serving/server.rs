//! The request port: takes requests off the network, hands them to the
//! workers, and sends what they answer in any order.

use std::io;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;

use halite_transport::fleet::{Incoming, Replies, RequestPort};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use super::Serving;
use crate::core::gate::Cause;
use crate::core::lane::{Lane, lane_of};
use crate::limits::{
    LATER_ANSWERS_MAX, LOGIN_BYTES_WAITING_MAX, LOGIN_THREADS_MAX, LOGINS_WAITING_MAX,
    REQUEST_BYTES_WAITING_MAX, REQUEST_WAIT_MAX, REQUESTS_WAITING_MAX, SIGN_IN_WAIT_MAX,
    SLOW_ANSWERS_MAX, WORKER_THREADS_MAX,
};
use crate::serving::request_pipeline::{Answer, answer, slow_answer_time};
use crate::telemetry::Telemetry;
use crate::workers::{LaneLimits, Work, Workers};

impl Work for Incoming {
    fn bytes(&self) -> usize {
        self.payload.len()
    }
}

/// The workers behind the request port.
pub(crate) struct Server {
    telemetry: Arc<Telemetry>,
    sign_ins: Workers<Incoming>,
    general: Workers<Incoming>,
    logins: Arc<Workers<Incoming>>,
}

impl Server {
    /// Starts the workers; answers go to `replies`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn start(serving: Serving, replies: &Replies) -> io::Result<Self> {
        let cpus = available_parallelism().map_or(1, usize::from);
        let limits = LaneLimits {
            // A sign-in is nothing but arithmetic: more threads than
            // processors would only take turns.
            threads: cpus.min(WORKER_THREADS_MAX),
            waiting_max: REQUESTS_WAITING_MAX,
            bytes_max: REQUEST_BYTES_WAITING_MAX,
            wait_max: SIGN_IN_WAIT_MAX,
        };
        let responder = Responder {
            serving: serving.clone(),
            replies: replies.clone(),
            runtime: Handle::current(),
            later: Arc::new(Semaphore::new(LATER_ANSWERS_MAX)),
            slow: Arc::new(Semaphore::new(SLOW_ANSWERS_MAX)),
            logins: None,
        };
        let logins = Arc::new(
            responder.open(
                Lane::Logins,
                LaneLimits {
                    // Without a way to log in there is nothing to judge.
                    threads: match serving
                        .master
                        .access
                        .settings
                        .external_auth
                        .rules
                        .is_empty()
                    {
                        true => 1,
                        false => LOGIN_THREADS_MAX,
                    },
                    waiting_max: LOGINS_WAITING_MAX,
                    bytes_max: LOGIN_BYTES_WAITING_MAX,
                    wait_max: SIGN_IN_WAIT_MAX,
                },
            )?,
        );
        let responder = Responder {
            logins: Some(Arc::clone(&logins)),
            ..responder
        };
        let sign_ins = responder.open(Lane::SignIn, limits)?;
        let general = responder.open(
            Lane::General,
            LaneLimits {
                threads: serving.settings.worker_threads.clamp(1, WORKER_THREADS_MAX),
                wait_max: REQUEST_WAIT_MAX,
                ..limits
            },
        )?;
        Ok(Self {
            telemetry: Arc::clone(&serving.master.telemetry),
            sign_ins,
            general,
            logins,
        })
    }

    /// Takes requests until the port fails.
    pub(crate) async fn serve(&self, port: &mut RequestPort) {
        while let Some(incoming) = port.recv().await {
            let workers = match lane_of(&incoming.payload) {
                Lane::SignIn => &self.sign_ins,
                Lane::Logins => &*self.logins,
                Lane::General => &self.general,
            };
            if workers.submit(incoming).is_err() {
                self.telemetry.count_refusal(Cause::Overload, None);
            }
        }
    }

    /// Finishes what is queued; false if that is not done by `deadline`.
    pub(crate) fn drain(&self, deadline: Instant) -> bool {
        // All lanes are drained, whatever comes of the first.
        let sign_ins = self.sign_ins.drain(deadline);
        let general = self.general.drain(deadline);
        self.logins.drain(deadline) && sign_ins && general
    }
}

/// What a worker needs to answer a request.
#[derive(Clone)]
struct Responder {
    serving: Serving,
    replies: Replies,
    runtime: Handle,
    later: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    /// The workers of the lane of logins; `None` for these workers themselves.
    logins: Option<Arc<Workers<Incoming>>>,
}

impl Responder {
    fn open(&self, lane: Lane, limits: LaneLimits) -> io::Result<Workers<Incoming>> {
        let responder = self.clone();
        let telemetry = Arc::clone(&self.serving.master.telemetry);
        Workers::start(
            thread_name(lane),
            limits,
            move |incoming| responder.handle(incoming, lane),
            move |_| telemetry.count_refusal(Cause::Overload, None),
        )
    }

    fn handle(&self, incoming: Incoming, lane: Lane) {
        let permit = match lane {
            Lane::SignIn | Lane::General => None,
            // Before the password is checked: a missing answer would tell that
            // it is wrong, without the delay of a refusal.
            Lane::Logins => match self.may_be_slow() {
                Some(permit) => Some(permit),
                None => return self.refuse_overload(),
            },
        };
        let peer = incoming.peer;
        match answer(&self.serving, &incoming.payload, lane) {
            // An error means that the port is closed: the daemon stops.
            Answer::Now(reply) => {
                let _ = self.replies.send(peer, reply);
            }
            Answer::LogsIn => {
                let logins = self.logins.as_ref();
                if logins.is_none_or(|logins| logins.submit(incoming).is_err()) {
                    self.refuse_overload();
                }
            }
            Answer::Slow(reply) => {
                let Some(permit) = permit.or_else(|| self.may_be_slow()) else {
                    return self.refuse_overload();
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
                    return self.refuse_overload();
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

    /// Counts a request that there is no room for.
    fn refuse_overload(&self) {
        let telemetry = &self.serving.master.telemetry;
        telemetry.count_refusal(Cause::Overload, None);
    }

    fn may_be_slow(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slow).try_acquire_owned().ok()
    }
}

fn thread_name(lane: Lane) -> &'static str {
    match lane {
        Lane::SignIn => "sign-in",
        Lane::Logins => "login",
        Lane::General => "worker",
    }
}
