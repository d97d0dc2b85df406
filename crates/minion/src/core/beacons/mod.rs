//! The table of a minion's beacons: what is configured, which are due now, and how
//! that changes while the minion runs.
//!
//! Pure: the time is an argument. Invariant: a beacon is never due while it, or all
//! of them, are turned off.

mod hours;
mod manage;
mod settings;
mod validate;
mod waiting;

use std::collections::BTreeMap;
use std::time::Duration;

use halite_proto::{Map, Value};

pub use hours::minute_of_day;
pub use manage::Managed;
pub use settings::{Settings, module};
pub use validate::{AVAILABLE, threshold, validate};
pub use waiting::{Bounds, Failure, Parcel, Untold, Waiting};

/// The entry of the configuration that is not a beacon.
const ENABLED: &str = "enabled";

/// A beacon that is to be looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// Its name.
    pub name: String,
    /// The kind of beacon that it is.
    pub module: String,
    /// Its configuration.
    pub settings: Settings,
    /// It is turned off after its first check.
    pub run_once: bool,
    /// It is paused while states run.
    pub pauses_for_states: bool,
}

/// The errors in configured beacons, by name. `is_users` tells which kinds users have
/// added.
pub fn faults(configured: &Map, is_users: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let fault = |(name, config): (&str, &Value)| {
        let kind = module(name, config);
        let text = match AVAILABLE.contains(&kind.as_str()) {
            true => validate(&kind, config).err()?,
            false if is_users(&kind) => return None,
            false => format!(
                "beacon {kind} is not built in; it is looked for in `_beacons` and in an installed \
                 Salt"
            ),
        };
        Some((name.to_owned(), text))
    };
    beacons(configured).filter_map(fault).collect()
}

/// The configured beacons.
#[derive(Debug, Default)]
pub struct Table {
    own: Map,
    pillar: Map,
    /// When the beacons with an interval are due next.
    next: BTreeMap<String, Duration>,
}

impl Table {
    /// The beacons of the configuration.
    pub fn new(own: Map) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// Uses the beacons of a new pillar.
    pub fn set_pillar(&mut self, pillar: Map) {
        self.pillar = pillar;
    }

    /// All beacons; those of the pillar win.
    fn all(&self) -> Map {
        let mut all = self.own.clone();
        all.extend(self.pillar.clone());
        all
    }

    /// Whether anything could ever be due.
    pub fn is_idle(&self) -> bool {
        let all = self.all();
        is_off(&all) || !all.keys().any(|name| name.as_str() != Some(ENABLED))
    }

    /// The names of all beacons that are turned on, with their kinds.
    pub fn active(&self) -> BTreeMap<String, String> {
        let all = self.all();
        if is_off(&all) {
            return BTreeMap::new();
        }
        beacons(&all)
            .filter(|(_, config)| settings::flag(config, ENABLED) != Some(false))
            .map(|(name, config)| (name.to_owned(), module(name, config)))
            .collect()
    }

    /// The beacons that are due. `now` counts from any fixed moment.
    pub fn due(&mut self, now: Duration) -> Vec<Due> {
        let all = self.all();
        if is_off(&all) {
            return Vec::new();
        }
        let mut due = Vec::new();
        let mut next = BTreeMap::new();
        for (name, config) in beacons(&all) {
            if settings::flag(config, ENABLED) == Some(false) {
                continue;
            }
            if let Some(interval) = settings::interval(config) {
                let at = *self
                    .next
                    .get(name)
                    .map_or(&(now + interval), |at| at)
                    // A shorter interval begins at once.
                    .min(&(now + interval));
                if now < at {
                    next.insert(name.to_owned(), at);
                    continue;
                }
                next.insert(name.to_owned(), now + interval);
            }
            due.push(Due {
                name: name.to_owned(),
                module: module(name, config),
                settings: Settings::of(config),
                run_once: settings::flag(config, "run_once") == Some(true),
                pauses_for_states: settings::flag(config, "disable_during_state_run") == Some(true),
            });
        }
        self.next = next;
        due
    }

    /// The configuration of a beacon.
    pub fn config(&self, name: &str) -> Option<&Value> {
        self.pillar.get(name).or_else(|| self.own.get(name))
    }

    /// Turns a beacon off that was to be looked at once.
    pub fn was_run_once(&mut self, name: &str) {
        let config = match self.pillar.get_mut(name) {
            Some(config) => Some(config),
            None => self.own.get_mut(name),
        };
        if let Some(config) = config {
            settings::set_enabled(config, false);
        }
    }
}

fn is_off(all: &Map) -> bool {
    all.get(ENABLED).is_some_and(|enabled| !enabled.is_true())
}

fn beacons(all: &Map) -> impl Iterator<Item = (&str, &Value)> {
    all.iter()
        .filter_map(|(name, config)| Some((name.as_str()?, config)))
        .filter(|(name, _)| *name != ENABLED)
}

#[cfg(test)]
mod tests {
    #[test]
    fn faults_are_told_by_name() {
        let settings =
            |key: &'static str, value: &str| Value::List(vec![Map::from([(key, value)]).into()]);
        let configured = Map::from([
            ("memusage", settings("percent", "63%")),
            ("disk", settings("beacon_module", "diskusage")),
            ("load", Value::from("often")),
            ("inotfy", settings("files", "x")),
            ("own", settings("x", "y")),
            ("enabled", true.into()),
        ]);
        let faults = faults(&configured, |kind| kind == "own");
        let names: Vec<_> = faults.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["load", "inotfy"]);
        assert_eq!(faults[0].1, "Configuration for load beacon must be a list.");
    }

    use super::*;

    fn item<const N: usize>(entries: [(&str, Value); N]) -> Value {
        Map::from(entries).into()
    }

    fn names(due: &[Due]) -> Vec<&str> {
        due.iter().map(|due| due.name.as_str()).collect()
    }

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn those_with_an_interval_wait_for_it() {
        let often = vec![item([("percent", 1.into())])];
        let seldom = vec![
            item([("percent", 1.into())]),
            item([("interval", 5.into())]),
            item([("beacon_module", "memusage".into())]),
        ];
        let mut table = Table::new(Map::from([("memusage", often), ("other", seldom)]));
        assert_eq!(names(&table.due(seconds(0))), ["memusage"]);
        assert_eq!(names(&table.due(seconds(4))), ["memusage"]);
        let due = table.due(seconds(5));
        assert_eq!(names(&due), ["memusage", "other"]);
        assert_eq!(due[1].module, "memusage");
        let percent = Map::from([("percent", Value::from(1))]);
        assert_eq!(due[1].settings.items(), [percent]);
        assert_eq!(names(&table.due(seconds(9))), ["memusage"]);
        assert_eq!(names(&table.due(seconds(10))), ["memusage", "other"]);
    }

    #[test]
    fn what_is_off_is_not_due() {
        let off = vec![item([("percent", 1.into()), ("enabled", false.into())])];
        let on = Value::List(Vec::new());
        let mut table = Table::new(Map::from([("a", off.into()), ("b", on)]));
        assert_eq!(names(&table.due(seconds(0))), ["b"]);
        assert!(table.active().contains_key("b"));
        table.set_pillar(Map::from([("enabled", false)]));
        assert_eq!(names(&table.due(seconds(0))), [""; 0]);
        assert!(table.is_idle());
        table.set_pillar(Map::new());
        table.was_run_once("b");
        assert_eq!(names(&table.due(seconds(1))), [""; 0]);
    }

    #[test]
    fn the_pillar_wins_and_the_configuration_stays() {
        let mut table = Table::new(Map::from([
            ("a", vec![item([("x", 1.into())])]),
            ("b", Vec::new()),
        ]));
        table.set_pillar(Map::from([("a", vec![item([("x", 2.into())])])]));
        let due = table.due(seconds(0));
        assert_eq!(names(&due), ["a", "b"]);
        assert_eq!(due[0].settings.merged().get("x"), Some(&Value::from(2)));
    }
}
