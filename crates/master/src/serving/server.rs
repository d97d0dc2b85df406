//! The request port: takes requests off the network, hands them to the workers, and
//! sends their answers in any order.

use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::available_parallelism;
use std::time::Instant;

use halite_crypto::random_bytes;
use halite_proto::Refusal;
use halite_transport::fleet::{Incoming, Origin, Replies, RequestPort};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::Serving;
use super::admission::{Admission, Decision};
use super::local_commands::rank_of_command;
use crate::access::Access;
use crate::core::gate::Cause;
use crate::core::lane::{Lane, lane_of_packed};
use crate::core::preferred_queue::Rank;
use crate::core::refusal_pace::RefusalPace;
use crate::core::turns::Turns;
use crate::limits::{
    LATER_ANSWERS_MAX, LOGIN_BYTES_WAITING_MAX, LOGIN_THREADS_MAX, LOGIN_THREADS_PER_ORIGIN_MAX,
    LOGINS_WAITING_MAX, REQUEST_BYTES_WAITING_MAX, REQUEST_WAIT_MAX, REQUESTS_WAITING_MAX,
    SEEK_THREADS, SIGN_IN_WAIT_MAX, SLOW_ANSWER_MAX, SLOW_ANSWER_MIN, SLOW_ANSWER_SPREAD,
    SLOW_ANSWERS_MAX, SLOW_ANSWERS_PER_ORIGIN_MAX, WORKER_THREADS_MAX,
};
use crate::serving::request_pipeline::{Answer, answer, encode};
use crate::telemetry::Telemetry;
use crate::workers::{LaneLimits, NoRoom, Work, Workers};

impl Work for Incoming {
    fn bytes(&self) -> usize {
        self.payload.len()
    }

    fn origin(&self) -> Origin {
        self.from
    }
}

/// The workers behind the request port.
pub(crate) struct Server {
    telemetry: Arc<Telemetry>,
    access: Arc<Access>,
    lanes: Arc<Lanes>,
    admission: Arc<Admission>,
    replies: Replies,
}

/// The workers of each lane; all that get requests are there before the first one.
#[derive(Default)]
struct Lanes {
    sign_ins: OnceLock<Workers<Incoming>>,
    general: OnceLock<Workers<Incoming>>,
    control: OnceLock<Workers<Incoming>>,
    logins: OnceLock<Workers<Incoming>>,
    tokens: OnceLock<Workers<Incoming>>,
}

impl Lanes {
    fn slot(&self, lane: Lane) -> &OnceLock<Workers<Incoming>> {
        match lane {
            Lane::SignIn => &self.sign_ins,
            Lane::Logins => &self.logins,
            Lane::Tokens => &self.tokens,
            Lane::General => &self.general,
            Lane::Control => &self.control,
        }
    }

    /// Queues a request, or counts it as refused if there is no room.
    fn submit(&self, lane: Lane, rank: Rank, incoming: Incoming, telemetry: &Telemetry) {
        let workers = self.slot(lane).get().ok_or(NoRoom);
        let given_up = workers.and_then(|workers| workers.submit_as(rank, incoming));
        for _ in 0..given_up.unwrap_or(1) {
            telemetry.count_refusal(Cause::Overload, None);
        }
    }
}

impl Server {
    /// Starts the workers; answers go to `replies`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn start(serving: Serving, replies: &Replies) -> io::Result<Self> {
        let telemetry = Arc::clone(&serving.master.telemetry);
        let access = Arc::clone(&serving.master.access);
        let lanes = Arc::<Lanes>::default();
        let sign_in_threads = limits_of(Lane::SignIn, &serving).threads;
        let admission = Arc::new(Admission::new(sign_in_threads));
        let responder = Responder {
            replies: replies.clone(),
            runtime: Handle::current(),
            later: Arc::new(Semaphore::new(LATER_ANSWERS_MAX)),
            slow_logins: Arc::new(slow_places()),
            slow_tokens: Arc::new(slow_places()),
            pace: Arc::new(RefusalPace::new(
                SLOW_ANSWER_MIN,
                SLOW_ANSWER_SPREAD,
                SLOW_ANSWER_MAX,
            )),
            lanes: Arc::downgrade(&lanes),
            admission: Arc::clone(&admission),
            serving,
        };
        let shares_tokens = responder.serving.master.shared_data.is_some();
        let tokens = shares_tokens.then_some(Lane::Tokens);
        let others = [Lane::Logins, Lane::SignIn, Lane::Control, Lane::General];
        for lane in tokens.into_iter().chain(others) {
            let workers = responder.open(lane, limits_of(lane, &responder.serving))?;
            let _ = lanes.slot(lane).set(workers);
        }
        Ok(Self {
            telemetry,
            access,
            lanes,
            admission,
            replies: replies.clone(),
        })
    }

    /// Takes requests until the port fails.
    pub(crate) async fn serve(&self, port: &mut RequestPort) {
        while let Some(incoming) = port.recv().await {
            let lane = lane_of_packed(&incoming.payload);
            let rank = match lane {
                Lane::SignIn => self.rank_of_sign_in(&incoming),
                Lane::Control => Some(rank_of_command(&self.access.local_keys, &incoming.payload)),
                _ => Some(Rank::Other),
            };
            if let Some(rank) = rank {
                self.lanes.submit(lane, rank, incoming, &self.telemetry);
            }
        }
    }

    /// The rank of a sign-in that waits; `None` if it has its answer already.
    fn rank_of_sign_in(&self, incoming: &Incoming) -> Option<Rank> {
        let sign_ins = self.lanes.sign_ins.get();
        let ahead = sign_ins.map_or(0, |workers| workers.ahead_of(incoming.from));
        match self.admission.decide(incoming, ahead) {
            Decision::Wait(rank) => Some(rank),
            Decision::ComeAgain(answer) => {
                self.answer_at_once(incoming, Cause::ComeAgain, answer);
                None
            }
            Decision::TooLarge => {
                let answer = encode(&Refusal::BadLoad.to_value());
                self.answer_at_once(incoming, Cause::BadLoad, answer);
                None
            }
        }
    }

    fn answer_at_once(&self, incoming: &Incoming, cause: Cause, answer: Vec<u8>) {
        self.telemetry.count_refusal(cause, None);
        // An error means that the port is closed: the daemon stops.
        let _ = self.replies.send(incoming.peer, answer);
    }

    /// How many requests wait in each lane.
    pub(crate) fn waiting(&self) -> Vec<(&'static str, usize)> {
        let mut lanes = vec![
            ("sign_ins", Lane::SignIn),
            ("logins", Lane::Logins),
            ("tokens", Lane::Tokens),
            ("control", Lane::Control),
            ("general", Lane::General),
        ];
        let waiting = |lane| self.lanes.slot(lane).get().map_or(0, Workers::waiting);
        // Of a lane that there is not nothing is said.
        lanes.retain(|(_, lane)| self.lanes.slot(*lane).get().is_some());
        let lanes = lanes.into_iter();
        lanes.map(|(name, lane)| (name, waiting(lane))).collect()
    }

    /// Finishes what is queued; false if that is not done by `deadline`.
    pub(crate) fn drain(&self, deadline: Instant) -> bool {
        // All lanes are drained, whatever comes of the first; those last whose
        // requests come from others.
        let order = [
            Lane::General,
            Lane::Control,
            Lane::SignIn,
            Lane::Logins,
            Lane::Tokens,
        ];
        let mut is_done = true;
        for lane in order {
            let workers = self.lanes.slot(lane).get();
            is_done &= workers.is_none_or(|workers| workers.drain(deadline));
        }
        is_done
    }
}

fn limits_of(lane: Lane, serving: &Serving) -> LaneLimits {
    let limits = LaneLimits {
        // A sign-in is nothing but arithmetic: more threads than processors
        // would only take turns.
        threads: available_parallelism()
            .map_or(1, usize::from)
            .min(WORKER_THREADS_MAX),
        gives_way: false,
        busy_per_origin_max: usize::MAX,
        waiting_max: REQUESTS_WAITING_MAX,
        bytes_max: REQUEST_BYTES_WAITING_MAX,
        wait_max: SIGN_IN_WAIT_MAX,
    };
    match lane {
        // Strangers can have it busy without end, and who has signed in goes before.
        Lane::SignIn => LaneLimits {
            gives_way: true,
            ..limits
        },
        Lane::General | Lane::Control => LaneLimits {
            threads: serving.settings.worker_threads.clamp(1, WORKER_THREADS_MAX),
            wait_max: REQUEST_WAIT_MAX,
            ..limits
        },
        Lane::Tokens => LaneLimits {
            threads: SEEK_THREADS,
            waiting_max: LOGINS_WAITING_MAX,
            bytes_max: LOGIN_BYTES_WAITING_MAX,
            ..limits
        },
        Lane::Logins => LaneLimits {
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
            busy_per_origin_max: LOGIN_THREADS_PER_ORIGIN_MAX,
            waiting_max: LOGINS_WAITING_MAX,
            bytes_max: LOGIN_BYTES_WAITING_MAX,
            ..limits
        },
    }
}

/// The parts that a worker needs to answer a request.
#[derive(Clone)]
struct Responder {
    serving: Serving,
    replies: Replies,
    runtime: Handle,
    later: Arc<Semaphore>,
    /// Places of the passwords that are judged and of refused ones.
    slow_logins: Arc<Turns<Origin>>,
    /// Places of refused tokens.
    slow_tokens: Arc<Turns<Origin>>,
    pace: Arc<RefusalPace>,
    /// Where a request goes that another lane has to answer.
    lanes: Weak<Lanes>,
    admission: Arc<Admission>,
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
        let begun = Instant::now();
        let place = match lane {
            Lane::SignIn | Lane::Control | Lane::General | Lane::Tokens => None,
            // Before the password is checked: a missing answer would tell that
            // it is wrong, without the delay of a refusal.
            Lane::Logins => match self.slow_logins.take(&incoming.from) {
                Some(place) => Some(place),
                None => return self.refuse_overload(),
            },
        };
        let peer = incoming.peer;
        let answer = answer(&self.serving, &incoming, lane);
        if lane == Lane::SignIn {
            self.admission.served(begun.elapsed());
        }
        match answer {
            // An error means that the port is closed: the daemon stops.
            Answer::Now(reply) => {
                let _ = self.replies.send(peer, reply);
            }
            Answer::Nothing => {}
            Answer::Elsewhere(lane) => {
                if let Some(lanes) = self.lanes.upgrade() {
                    let telemetry = &self.serving.master.telemetry;
                    lanes.submit(lane, Rank::Other, incoming, telemetry);
                }
            }
            Answer::Slow(reply) => {
                let place = place.or_else(|| self.slow_tokens.take(&incoming.from));
                let Some(place) = place else {
                    return self.refuse_overload();
                };
                let random = u32::from_ne_bytes(random_bytes());
                let wait = self.pace.wait(begun.elapsed(), random);
                let replies = self.replies.clone();
                self.runtime.spawn(async move {
                    sleep(wait).await;
                    let _ = replies.send(peer, reply);
                    drop(place);
                });
            }
            Answer::Held(reply) => {
                let replies = self.replies.clone();
                self.runtime.spawn(async move {
                    let _ = replies.send(peer, reply.await);
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

    /// Counts a request that was refused because there was no room.
    fn refuse_overload(&self) {
        let telemetry = &self.serving.master.telemetry;
        telemetry.count_refusal(Cause::Overload, None);
    }
}

fn slow_places() -> Turns<Origin> {
    Turns::new(SLOW_ANSWERS_PER_ORIGIN_MAX, SLOW_ANSWERS_MAX)
}

fn thread_name(lane: Lane) -> &'static str {
    match lane {
        Lane::SignIn => "sign-in",
        Lane::Logins => "login",
        Lane::Tokens => "token",
        Lane::Control => "control",
        Lane::General => "worker",
    }
}
