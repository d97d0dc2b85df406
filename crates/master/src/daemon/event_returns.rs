//! `event_return`: sends the events of the bus to the returners of the master.
//!
//! Invariant: a slow returner delays only these events, and the last ones are
//! handed on before the daemon ends.

use std::future::Future;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_call::{
    Cancel, Job, TimeLimit,
    extensions::{ExtensionKind, plugin},
    run_plugin, within_call,
};
use halite_config::MasterConfig;
use halite_output::{Indent, Outputter, RenderOptions, render_as};
use halite_proto::event::Event;
use halite_proto::python;
use halite_proto::{Map, Value};
use halite_store::{Events, PlaceError, append_lines, event_place};
use halite_transport::ipc::LocalEvents;
use tokio::task::spawn_blocking;
use tokio::time::sleep_until;

use super::event_database::EventDatabase;
use super::lost_events::LostEvents;
use crate::core::gathering::{Gathering, Rules};
use crate::error::chain;
use crate::events::bus::{Bus, is_of_a_peer};
use crate::functions::Functions;

/// `rawfile_json.filename`.
const FILE: &str = "/var/log/salt/events";

/// Events may hold what not everybody is to read: the mode of Salt's logs.
const MODE: u32 = 0o640;

/// Events that are written in one go when many wait.
const AT_ONCE_MAX: usize = 1_000;

/// How often the log says that events cannot be stored.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(60);

/// How long a returner in Python may take for the events of one go.
const PYTHON_TIME_MAX: Duration = Duration::from_secs(60);

/// What Salt fires when it begins.
const START: &str = "salt/event_listen/start";

/// Where events go.
#[derive(Clone, Debug)]
enum Returner {
    /// The standard output.
    Local,
    /// Lines of JSON in a file.
    RawfileJson(PathBuf),
    /// A database with Salt's tables.
    Database(EventDatabase),
    /// `event_return` of a module in Python.
    Python(String),
}

/// Which events go where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    returners: Vec<Returner>,
    rules: Rules,
}

impl Plan {
    /// Reads the options.
    ///
    /// # Errors
    /// When those of a returner name no place.
    pub(crate) fn of(config: &MasterConfig) -> Result<Self, PlaceError> {
        let names = config.event_return.0.iter().map(String::as_str);
        let returner = |name| {
            Ok(match name {
                "local" => Returner::Local,
                "rawfile_json" => Returner::RawfileJson(file(config.opts())),
                name => match event_place(name, config.opts())? {
                    Some(place) => Returner::Database(EventDatabase::new(name, place)),
                    None => Returner::Python(name.to_owned()),
                },
            })
        };
        let returners: Result<_, PlaceError> = names.map(returner).collect();
        let seconds = config.event_return_queue_max_seconds;
        Ok(Self {
            returners: returners?,
            rules: Rules {
                count: usize::try_from(config.event_return_queue).unwrap_or(usize::MAX),
                age_max: (seconds > 0).then(|| Duration::from_secs(seconds)),
                allow: config.event_return_whitelist.0.clone(),
                deny: config.event_return_blacklist.0.clone(),
            },
        })
    }

    /// Opens the databases; the spool of each is below the directory.
    pub(crate) fn open(&mut self, waiting: &Path, master: &str) -> Vec<Arc<Events>> {
        let returners = self.returners.iter_mut();
        let databases = returners.filter_map(|returner| match returner {
            Returner::Database(database) => database.open(waiting, master),
            _ => None,
        });
        databases.collect()
    }

    /// Whether nobody is to get anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.returners.is_empty()
    }
}

fn file(opts: &Map) -> PathBuf {
    let text = |value: Option<&Value>| {
        let text = value.and_then(Value::as_str).unwrap_or_default();
        (!text.is_empty()).then(|| PathBuf::from(text))
    };
    let nested = opts.get("rawfile_json").and_then(Value::as_map);
    text(nested.and_then(|map| map.get("filename")))
        .or_else(|| text(opts.get("rawfile_json.filename")))
        .unwrap_or_else(|| FILE.into())
}

/// Hands events on until `shutdown` is done, and then those that are left.
pub(crate) async fn return_events(
    plan: Plan,
    bus: &Bus,
    functions: &Arc<Functions>,
    shutdown: impl Future<Output = ()>,
) {
    // An empty beginning: all tags.
    let mut events = bus.subscribe(String::new());
    bus.fire(START, Map::new());
    let mut delivery = Delivery::new(plan.returners, plan.rules.count, Arc::clone(functions));
    let mut gathering = Gathering::new(plan.rules);
    tokio::pin!(shutdown);
    loop {
        let due = gathering.due_at().map(tokio::time::Instant::from_std);
        let first = tokio::select! {
            first = events.recv() => first,
            () = sleep_until(due.unwrap_or_else(tokio::time::Instant::now)), if due.is_some() => {
                delivery = delivery.hand_on(gathering.take()).await;
                continue;
            }
            () = &mut shutdown => break,
        };
        let Some(first) = first else { break };
        gather(&mut gathering, &mut events, Some(first));
        if gathering.is_due(Instant::now()) {
            delivery = delivery.hand_on(gathering.take()).await;
        }
        delivery.lost.report(events.lost(), Instant::now());
    }
    loop {
        gather(&mut gathering, &mut events, None);
        let left = gathering.take();
        if left.is_empty() {
            return delivery.lost.end(events.lost());
        }
        delivery = delivery.hand_on(left).await;
    }
}

/// Gathers the events that have arrived.
fn gather(
    gathering: &mut Gathering,
    events: &mut LocalEvents,
    first: Option<halite_transport::ipc::BusEvent>,
) {
    let mut next = first.or_else(|| events.try_recv());
    let mut count = 0;
    while let Some(event) = next {
        // Another master of the cluster stores its own.
        if gathering.wants(event.tag()) && !is_of_a_peer(&event) {
            match event.unpack() {
                Ok(unpacked) => gathering.add(unpacked, event.bytes().len(), Instant::now()),
                Err(error) => tracing::warn!("did not store an event that cannot be read: {error}"),
            }
        }
        count += 1;
        if count == AT_ONCE_MAX {
            return;
        }
        next = events.try_recv();
    }
}

/// The returners and their failures.
struct Delivery {
    returners: Vec<Returner>,
    /// Whose functions those in Python may call.
    functions: Arc<Functions>,
    /// Events that `local` shows in one list.
    count: usize,
    complained: Option<Instant>,
    lost: LostEvents,
}

impl Delivery {
    fn new(returners: Vec<Returner>, count: usize, functions: Arc<Functions>) -> Self {
        Self {
            returners,
            functions,
            count: count.max(1),
            complained: None,
            lost: LostEvents::default(),
        }
    }

    /// Passes events to all returners; failures are logged.
    async fn hand_on(self, events: Vec<Event>) -> Self {
        let (returners, count) = (self.returners.clone(), self.count);
        let functions = Arc::clone(&self.functions);
        let work = spawn_blocking(move || {
            let records: Vec<Value> = events.iter().cloned().map(record).collect();
            let deliver = |returner: &Returner| match returner {
                Returner::Local => show(&records, count),
                Returner::RawfileJson(path) => write(path, &records),
                Returner::Database(database) => database.save(&events),
                Returner::Python(name) => in_python(&functions, name, &records),
            };
            returners
                .iter()
                .filter_map(|returner| deliver(returner).err())
                .collect::<Vec<String>>()
        });
        let errors = work.await.unwrap_or_else(|error| vec![error.to_string()]);
        self.complain(&errors)
    }

    fn complain(mut self, errors: &[String]) -> Self {
        let is_time = |last: Instant| last.elapsed() >= COMPLAINT_INTERVAL;
        if !errors.is_empty() && self.complained.is_none_or(is_time) {
            self.complained = Some(Instant::now());
            for error in errors {
                tracing::error!("could not store events: {error}");
            }
        }
        self
    }
}

/// An event as returners of Salt get it.
fn record(event: Event) -> Value {
    Map::from([
        ("data", Value::from(event.data)),
        ("tag", event.tag.as_str().into()),
    ])
    .into()
}

/// `local`: lists of events in Python's notation.
fn show(records: &[Value], count: usize) -> Result<(), String> {
    let mut stdout = io::stdout().lock();
    for records in records.chunks(count) {
        let line = python::repr(&records.to_vec().into()) + "\n";
        let written = stdout.write_all(line.as_bytes());
        written.map_err(|error| format!("standard output: {error}"))?;
    }
    stdout
        .flush()
        .map_err(|error| format!("standard output: {error}"))
}

/// `event_return` of a module in Python.
fn in_python(functions: &Functions, name: &str, records: &[Value]) -> Result<(), String> {
    let context = functions.context();
    let Some(function) = plugin(
        context,
        ExtensionKind::Returners,
        &format!("{name}.event_return"),
    ) else {
        return Err(format!(
            "{name}: no such returner of events, neither built in nor in Python (`salt-run \
             saltutil.sync_returners` fetches those of `_returners`)"
        ));
    };
    let cancel = Cancel::default();
    let _limit = TimeLimit::start(cancel.clone(), PYTHON_TIME_MAX, "a returner of events");
    let job = Job {
        cancel,
        ..Job::default()
    };
    let events = vec![Value::List(records.to_vec())];
    within_call(context, &job, |call| {
        run_plugin(call, function, events, Map::new())
            .map(drop)
            .map_err(|error| format!("{name}: {}", chain(&error)))
    })
}

/// `rawfile_json`: a line of JSON for each event.
fn write(path: &Path, records: &[Value]) -> Result<(), String> {
    let options = RenderOptions {
        indent: Indent::Compact,
        ..RenderOptions::default()
    };
    let mut lines = String::new();
    let mut unwritten = 0;
    for record in records {
        match render_as(Outputter::Json, record, &options) {
            // What the writer gives when it cannot write.
            text if text == "{}" => unwritten += 1,
            text => {
                lines.push_str(&text);
                lines.push('\n');
            }
        }
    }
    append_lines(path, MODE, lines.as_bytes())
        .map_err(|error| format!("{}: {error}", path.display()))?;
    match unwritten {
        0 => Ok(()),
        _ => Err(format!("{unwritten} events cannot be represented as JSON")),
    }
}

#[cfg(test)]
mod tests {
    use halite_fileserver::{FileServer, RootsOptions};

    use halite_proto::Tag;

    use super::*;

    fn event(n: i64) -> Event {
        let data = Map::from([
            ("a", Value::from("é")),
            ("n", n.into()),
            ("_stamp", "2024-02-29T01:08:39.272149+00:00".into()),
        ]);
        Event::new(Tag::parse("my/tag").unwrap(), data)
    }

    #[test]
    fn lines_are_those_of_salt() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events");
        write(&path, &[record(event(1)), record(event(2))]).unwrap();
        let line = |n: u8| {
            format!(
                r#"{{"data": {{"a": "é", "n": {n}, "_stamp": "2024-02-29T01:08:39.272149+00:00"}}, "tag": "my/tag"}}"#
            )
        };
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            format!("{}\n{}\n", line(1), line(2))
        );
        assert!(write(&dir.path().join("no/dir"), &[record(event(1))]).is_err());
    }

    #[test]
    fn the_file_is_named_in_either_way() {
        assert_eq!(file(&Map::new()), PathBuf::from(FILE));
        assert_eq!(
            file(&Map::from([("rawfile_json.filename", "/flat")])),
            PathBuf::from("/flat")
        );
        let nested = Map::from([("filename", "/nested")]);
        assert_eq!(
            file(&Map::from([("rawfile_json", nested)])),
            PathBuf::from("/nested")
        );
    }

    #[tokio::test]
    async fn what_fails_is_told_and_stops_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let good = dir.path().join("good");
        let returners = vec![
            Returner::RawfileJson(dir.path().join("no/dir")),
            Returner::RawfileJson(good.clone()),
        ];
        let files = FileServer::from_roots(RootsOptions::default()).unwrap();
        let functions = Functions::new(&Map::new(), halite_state_run::registry(), Arc::new(files));
        let delivery = Delivery::new(returners, 0, Arc::new(functions));
        let delivery = delivery.hand_on(vec![event(1)]).await;
        assert!(delivery.complained.is_some());
        assert_eq!(std::fs::read_to_string(good).unwrap().lines().count(), 1);
    }
}
