//! Whether the places of data are available, and what waits for them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use halite_proto::{Map, Value};
use halite_store::{BackendOptions, Events, Jobs, PlaceStatus, Places, Waits};

use crate::core::unkept_data::Unkept;

/// The role of `ext_job_cache`.
const EXT: &str = "ext_job_cache";

/// The role of `event_return`.
const EVENTS: &str = "events";

/// The store of `ext_job_cache`, which takes copies of loads and the returns.
#[derive(Clone)]
pub(crate) struct ExtJobs {
    /// Where it is.
    pub(crate) place: BackendOptions,
    pub(crate) jobs: Jobs,
}

/// The state of the stores.
pub(crate) struct StoreHealth {
    /// Each role with its place.
    roles: Vec<(&'static str, BackendOptions)>,
    data: BackendOptions,
    jobs: Jobs,
    ext: Option<Jobs>,
    /// Databases that get the events.
    events: Mutex<Vec<Arc<Events>>>,
}

impl StoreHealth {
    /// Watches these stores and the writes that wait for the stores of jobs.
    pub(crate) fn new(places: &Places, jobs: Jobs, ext: Option<&ExtJobs>) -> Self {
        let store = &places.store;
        let mut roles = vec![
            ("jobs", store.jobs.clone()),
            ("data", store.data.clone()),
            ("banks", store.banks.clone()),
            ("tokens", store.tokens.clone()),
        ];
        if let Some(keys) = &places.keys {
            roles.push(("keys", keys.clone()));
        }
        if let Some(ext) = ext {
            roles.push((EXT, ext.place.clone()));
        }
        Self {
            roles,
            data: store.data.clone(),
            jobs,
            ext: ext.map(|ext| ext.jobs.clone()),
            events: Mutex::default(),
        }
    }

    /// Where minion data is kept.
    pub(crate) fn data_place(&self) -> &BackendOptions {
        &self.data
    }

    /// Also tells of a database that gets the events.
    pub(crate) fn watch(&self, events: Arc<Events>) {
        self.events().push(events);
    }

    fn events(&self) -> MutexGuard<'_, Vec<Arc<Events>>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of the store of each role, and how much minion data and how many results
    /// (and bytes of them) wait in memory. A server that has not been used lately is
    /// pinged.
    pub(crate) fn report(&self, unkept: Option<&Unkept>, results: (usize, usize)) -> Map {
        let mut report = Map::new();
        for (role, place) in &self.roles {
            let mut told = place_status(&place.look());
            if let Some(waits) = self.waits_of(role) {
                told.insert("waiting", told_of_waits(&waits));
            }
            if *role == "jobs" && results.0 > 0 {
                let (count, bytes) = (number(results.0), number(results.1));
                told.insert("in_memory", Map::from([("count", count), ("bytes", bytes)]));
            }
            if let Some(unkept) = unkept.filter(|_| *role == "data") {
                told.insert("waiting", told_of_unkept(unkept));
            }
            report.insert(*role, told);
        }
        // Not held while servers are pinged.
        let events = self.events().clone();
        let told = events.iter().map(|events| {
            let mut told = place_status(&events.place().look());
            told.insert("waiting", told_of_waits(&events.waits()));
            told.into()
        });
        let told: Vec<Value> = told.collect();
        if !told.is_empty() {
            report.insert(EVENTS, Value::List(told));
        }
        report
    }

    /// The writes of a role that wait on disk.
    fn waits_of(&self, role: &str) -> Option<Waits> {
        match role {
            "jobs" => self.jobs.waits(),
            EXT => self.ext.as_ref()?.waits(),
            _ => None,
        }
    }

    /// What kind of place each role has. Nothing is asked.
    pub(crate) fn kinds(&self) -> Map {
        let kind = |place: &BackendOptions| {
            let place = place.status().place;
            let kind = place.split_once("://").map(|(kind, _)| kind.to_owned());
            Value::from(kind.unwrap_or(place))
        };
        let roles = self.roles.iter();
        roles
            .map(|(role, place)| (Value::from(*role), kind(place)))
            .collect()
    }

    /// Whether the place of each role is there, as far as is known. Nothing is asked. Of
    /// several databases of events all have to be.
    pub(crate) fn are_there(&self) -> Vec<(&'static str, bool)> {
        let is_there = |place: &BackendOptions| place.status().away_since.is_none();
        let roles = self.roles.iter();
        let mut all: Vec<_> = roles
            .map(|(role, place)| (*role, is_there(place)))
            .collect();
        let events = self.events();
        if !events.is_empty() {
            let are_there = events.iter().all(|events| is_there(events.place()));
            all.push((EVENTS, are_there));
        }
        all
    }

    /// The writes that wait for the stores of jobs and for the databases that receive
    /// events.
    pub(crate) fn waits(&self) -> Vec<(&'static str, Waits)> {
        let stores = ["jobs", EXT].into_iter();
        let stores = stores.filter_map(|role| Some((role, self.waits_of(role)?)));
        let events = self.events();
        let events = events.iter().map(|events| (EVENTS, events.waits()));
        stores.chain(events).collect()
    }

    /// Each role with its place, events included.
    fn all_places(&self) -> Vec<(&'static str, BackendOptions)> {
        let events = self.events();
        let events = events.iter().map(|it| (EVENTS, it.place().clone()));
        self.roles.iter().cloned().chain(events).collect()
    }

    /// What somebody who commands should know, also of results that wait in memory; `None`
    /// if all is well. Nothing is asked.
    pub(crate) fn trouble(&self, results: usize) -> Option<String> {
        let mut troubles = Vec::new();
        let mut seen: Vec<&BackendOptions> = Vec::new();
        let places = self.all_places();
        for (_, place) in &places {
            if seen.contains(&place) {
                continue;
            }
            let status = place.status();
            let (what, since) = match (status.away_since, &status.refuses) {
                (Some(since), _) => ("has been unreachable since", since),
                (None, Some(refuses)) => ("has refused writes since", refuses.since),
                (None, None) => continue,
            };
            let of = places.iter().filter(|(_, other)| other == place);
            let roles: Vec<&str> = of.map(|(role, _)| *role).collect();
            let roles = roles.join(", ");
            seen.push(place);
            troubles.push(format!(
                "the store {} ({roles}) {what} {}",
                status.place,
                time(since)
            ));
        }
        for (role, waits) in self.waits() {
            let what = match role {
                "jobs" => "writes to the job cache",
                EVENTS => "batches of events",
                _ => "writes to ext_job_cache",
            };
            if waits.count > 0 {
                let count = waits.count;
                troubles.push(format!("{count} {what} wait on this master's disk"));
            }
        }
        if results > 0 {
            troubles.push(format!(
                "the job cache refuses {results} results, which are kept in this master's memory \
                 until it accepts them"
            ));
        }
        (!troubles.is_empty()).then(|| troubles.join("; "))
    }
}

fn place_status(status: &PlaceStatus) -> Map {
    let mut told = Map::from([
        ("place", Value::from(status.place.as_str())),
        ("available", status.away_since.is_none().into()),
    ]);
    if let Some(since) = status.away_since {
        told.insert("away_since", time(since));
    }
    if let Some(reason) = &status.reason {
        told.insert("reason", reason.as_str());
    }
    if let Some(refuses) = &status.refuses {
        told.insert("refuses_since", time(refuses.since));
        told.insert("refusal", refuses.reason.as_str());
    }
    told
}

fn told_of_waits(waits: &Waits) -> Map {
    let mut told = Map::from([
        ("count", number(waits.count)),
        ("bytes", Value::from(waits.bytes)),
        ("refused", number(waits.refused)),
    ]);
    if let Some(since) = waits.since {
        told.insert("since", time(since));
    }
    if let Some(reason) = &waits.reason {
        told.insert("reason", reason.as_str());
    }
    told
}

fn told_of_unkept(unkept: &Unkept) -> Map {
    Map::from([
        ("count", number(unkept.count)),
        ("bytes", number(unkept.bytes)),
        ("since", time(unkept.since).into()),
        ("reason", unkept.reason.as_str().into()),
    ])
}

fn number(number: usize) -> Value {
    Value::from(u64::try_from(number).unwrap_or(u64::MAX))
}

/// A moment in UTC, to the second.
fn time(moment: SystemTime) -> String {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH);
    let seconds = i64::try_from(since.unwrap_or_default().as_secs()).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_second(seconds);
    time.map_or_else(|_| "an unknown time".to_owned(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use halite_crypto::HashType;
    use halite_store::StoreOptions;

    use super::*;

    #[test]
    fn files_are_never_away() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::of(StoreOptions::local_fs(dir.path(), HashType::Sha256));
        let health = StoreHealth::new(&places, halite_store::open(&places.store).jobs, None);
        assert_eq!(health.trouble(0), None);
        let trouble = health.trouble(2).unwrap();
        assert!(trouble.contains("2 results"), "{trouble}");
        let report = health.report(None, (2, 900));
        let jobs = report.get("jobs").unwrap();
        assert_eq!(jobs.get("place"), Some(&"localfs".into()));
        assert_eq!(jobs.get("available"), Some(&true.into()));
        assert_eq!(jobs.get("waiting"), None);
        let in_memory = Map::from([("count", 2), ("bytes", 900)]);
        assert_eq!(jobs.get("in_memory"), Some(&in_memory.into()));
    }

    #[test]
    fn moments_are_told_to_the_second() {
        let moment = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(86_400_999);
        assert_eq!(time(moment), "1970-01-02T00:00:00Z");
    }
}
