//! All minions of a herd: started at a given rate, ended and started again, and the
//! messages that they send by themselves.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use halite_crypto::random_bytes;
use halite_minion::Minion;
use halite_minion::link::channel::Patience;
use halite_proto::chance::Chance;
use halite_proto::{Map, Value, chain};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, sleep_until, timeout};
use tracing::{Instrument, error, error_span};

use crate::limits::{EVENTS_IN_FLIGHT_MAX, STARTING_MAX, STOP_MAX};
use crate::member::{Member, Shared};
use crate::tally::count;

/// How often something that happens many times a second is looked at.
const TICK: Duration = Duration::from_millis(20);

/// How long an event may take.
const EVENT_PATIENCE: Patience = Patience {
    timeout: Duration::from_secs(10),
    tries: 1,
};

/// A herd that runs.
pub struct Herd {
    shared: Arc<Shared>,
    places: Vec<Arc<Slot>>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

/// Where one minion after the other lives that has this number.
struct Slot {
    number: u32,
    /// The minion of now.
    minion: Mutex<Option<Arc<Minion>>>,
    /// How often it is to begin anew.
    again: watch::Sender<u64>,
}

impl Slot {
    fn minion(&self) -> Option<Arc<Minion>> {
        let minion = self.minion.lock().unwrap_or_else(PoisonError::into_inner);
        minion.clone()
    }

    fn set(&self, minion: Option<Arc<Minion>>) {
        *self.minion.lock().unwrap_or_else(PoisonError::into_inner) = minion;
    }
}

impl Herd {
    /// Starts the minions, at the pace of the plan.
    pub fn start(shared: Arc<Shared>) -> Self {
        let (stop, _) = watch::channel(false);
        let places = shared.plan.numbers().map(|number| {
            Arc::new(Slot {
                number,
                minion: Mutex::new(None),
                again: watch::channel(0).0,
            })
        });
        let mut herd = Self {
            places: places.collect(),
            shared,
            stop,
            tasks: JoinSet::new(),
        };
        let starting = Arc::new(Semaphore::new(STARTING_MAX));
        let begin = Instant::now();
        let pace = herd.shared.plan.ramp_per_s.filter(|pace| *pace > 0.0);
        for (at, place) in herd.places.iter().enumerate() {
            let delay = pace.map_or(0.0, |pace| at as f64 / pace);
            let due = begin + Duration::try_from_secs_f64(delay).unwrap_or_default();
            let lives = live(
                Arc::clone(&herd.shared),
                Arc::clone(place),
                Arc::clone(&starting),
                herd.stop.subscribe(),
                due,
            );
            let span = error_span!("minion", number = place.number);
            herd.tasks.spawn(lives.instrument(span));
        }
        herd.keep_busy();
        herd
    }

    /// Starts what they do of their own accord.
    fn keep_busy(&mut self) {
        let (events, churn) = (self.shared.plan.events_per_s, self.shared.plan.churn_per_s);
        if events > 0.0 {
            let sends = send_events(Arc::clone(&self.shared), self.places.clone(), events);
            self.tasks.spawn(until(sends, self.stop.subscribe()));
        }
        if churn > 0.0 {
            let churns = churn_on(self.places.clone(), churn);
            self.tasks.spawn(until(churns, self.stop.subscribe()));
        }
    }

    /// Ends all minions, or leaves those that do not end in time.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        let _ = timeout(STOP_MAX, ended).await;
    }
}

/// One minion after the other with the number of a place.
async fn live(
    shared: Arc<Shared>,
    place: Arc<Slot>,
    starting: Arc<Semaphore>,
    mut stop: watch::Receiver<bool>,
    due: Instant,
) {
    let mut again = place.again.subscribe();
    sleep_until(due.into()).await;
    while !*stop.borrow() {
        let Ok(permit) = starting.acquire().await else {
            return;
        };
        let member = match Member::prepare(&shared, place.number).await {
            Ok(member) => member,
            Err(cause) => {
                error!("{}", chain(&cause));
                count(&shared.tally.failed);
                return;
            }
        };
        drop(permit);
        place.set(Some(member.minion()));
        again.mark_unchanged();
        let ends = async {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => {}
                _ = again.changed() => {}
            }
        };
        member.run(ends).await;
        place.set(None);
    }
}

async fn until(work: impl Future<Output = ()>, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        () = work => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// Calls `once` so many times a second, a few at a time.
async fn at_pace(per_s: f64, mut once: impl FnMut()) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let begin = Instant::now();
    let mut done = 0_u64;
    loop {
        ticks.tick().await;
        while (done as f64) < begin.elapsed().as_secs_f64() * per_s {
            done += 1;
            once();
        }
    }
}

/// Ends minions by chance; each starts again at once.
async fn churn_on(places: Vec<Arc<Slot>>, per_s: f64) {
    let mut chance = Chance::new(u64::from_le_bytes(random_bytes()));
    at_pace(per_s, || {
        if let Some(place) = one_of(&places, &mut chance) {
            place.again.send_modify(|times| *times += 1);
        }
    })
    .await;
}

async fn send_events(shared: Arc<Shared>, places: Vec<Arc<Slot>>, per_s: f64) {
    let mut chance = Chance::new(u64::from_le_bytes(random_bytes()));
    let in_flight = Arc::new(Semaphore::new(EVENTS_IN_FLIGHT_MAX));
    // The first minions sign in.
    while shared.tally.ready.load(Ordering::Relaxed) == 0 {
        sleep(TICK).await;
    }
    at_pace(per_s, || {
        let minion = one_of(&places, &mut chance).and_then(|place| place.minion());
        let permit = Arc::clone(&in_flight).try_acquire_owned();
        let (Some(minion), Ok(permit)) = (minion, permit) else {
            count(&shared.tally.events_failed);
            return;
        };
        let tally = Arc::clone(&shared.tally);
        tokio::spawn(async move {
            let began = Instant::now();
            match send_event(&minion).await {
                true => {
                    tally.event_times.add(began.elapsed());
                    count(&tally.events);
                }
                false => count(&tally.events_failed),
            }
            drop(permit);
        });
    })
    .await;
}

/// Sends one event to the first master; whether it was taken.
async fn send_event(minion: &Minion) -> bool {
    let Some(master) = minion.masters.first() else {
        return false;
    };
    let data = Map::from([("load", Value::from(0.5)), ("emulated", true.into())]);
    let event = Map::from([
        ("id", Value::from(&minion.id)),
        ("cmd", "_minion_event".into()),
        ("pretag", Value::Nil),
        ("data", data.into()),
        ("tag", "emulate/load".into()),
    ]);
    master.channel.request(event, EVENT_PATIENCE).await.is_ok()
}

fn one_of<'a>(places: &'a [Arc<Slot>], chance: &mut Chance) -> Option<&'a Arc<Slot>> {
    let count = u64::try_from(places.len())
        .ok()
        .filter(|count| *count > 0)?;
    places.get(usize::try_from(chance.next_u64() % count).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_happens_faster_than_the_pace() {
        const PER_S: f64 = 500.0;
        const TIMES: u32 = 100;
        let (done, mut seen) = watch::channel(0_u32);
        let begun = Instant::now();
        tokio::select! {
            () = at_pace(PER_S, || done.send_modify(|times| *times += 1)) => {}
            _ = seen.wait_for(|times| *times >= TIMES) => {}
        }
        assert!(*done.borrow() >= TIMES);
        let least = Duration::from_secs_f64(f64::from(TIMES - 1) / PER_S);
        assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
    }

    #[test]
    fn each_place_has_its_turn_and_an_empty_herd_none() {
        let place = |number| {
            Arc::new(Slot {
                number,
                minion: Mutex::new(None),
                again: watch::channel(0).0,
            })
        };
        let places: Vec<Arc<Slot>> = (0..3).map(place).collect();
        let mut chance = Chance::new(1);
        let mut times = [0; 3];
        for _ in 0..300 {
            let number = one_of(&places, &mut chance).map_or(9, |place| place.number);
            times[number as usize] += 1;
        }
        assert!(times.iter().all(|times| *times > 50), "{times:?}");
        assert!(one_of(&[], &mut chance).is_none());
    }
}
