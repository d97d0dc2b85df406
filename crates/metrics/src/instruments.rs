//! Counters, histograms and gauges under Salt's names.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::limits::SERIES_MAX;
use crate::names::{Names, Word};
use crate::process::Process;
use crate::settings::MetricsSettings;

type Labels = Vec<(&'static str, String)>;

/// Upper bounds of milliseconds, where the configuration names none: Salt's, and
/// finer ones below, since most requests here take less than one.
const BOUNDARIES_MS: [f64; 15] = [
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 5000.0, 10_000.0,
];

/// All instruments of a daemon.
pub struct Instruments {
    registry: Registry,
    boundaries: BTreeMap<String, Vec<f64>>,
}

impl Instruments {
    /// None yet but those of the process itself.
    pub fn new(settings: &MetricsSettings) -> Self {
        let mut registry = Registry::default();
        let info: Labels = settings.info();
        let target = Family::<Labels, prometheus_client::metrics::gauge::Gauge>::default();
        target.get_or_create(&info).set(1);
        registry.register("target_info", "What is measured", target);
        registry.register_collector(Box::new(Process));
        Self {
            registry,
            boundaries: settings.boundaries.clone(),
        }
    }

    /// A counter; `name` with dots, as Salt calls it.
    pub fn count(&mut self, name: &str, help: &str, labels: &'static [&'static str]) -> Count {
        let count = Count {
            family: Family::default(),
            labels,
            names: labels.iter().map(|_| Names::default()).collect(),
        };
        self.registry
            .register(shown(name), help, count.family.clone());
        count
    }

    /// A histogram of times with one label.
    pub fn timing(&mut self, name: &str, help: &str, label: &'static str) -> Timing {
        let boundaries = self.boundaries.get(name).cloned();
        let boundaries = Boundaries(boundaries.unwrap_or_else(|| BOUNDARIES_MS.to_vec()));
        let timing = Timing {
            family: Family::new_with_constructor(boundaries),
            label,
            names: Names::default(),
        };
        let unit = Unit::Other("milliseconds".to_owned());
        self.registry
            .register_with_unit(shown(name), help, unit, timing.family.clone());
        timing
    }

    /// A value that is read whenever the page is asked for.
    pub fn gauge(
        &mut self,
        name: &str,
        help: &'static str,
        read: impl Fn() -> f64 + Send + Sync + 'static,
    ) {
        self.registry.register_collector(Box::new(Read {
            name: shown(name),
            help,
            read: Box::new(read),
        }));
    }

    /// The same with one label: a value for each of the label's, at most
    /// [`SERIES_MAX`] of them.
    pub fn gauges(
        &mut self,
        name: &str,
        help: &'static str,
        label: &'static str,
        read: impl Fn() -> Vec<(String, f64)> + Send + Sync + 'static,
    ) {
        self.registry.register_collector(Box::new(ReadSeveral {
            name: shown(name),
            help,
            label,
            read: Box::new(read),
        }));
    }

    /// A number that only grows, counted elsewhere and read whenever the page is asked
    /// for.
    pub fn total(
        &mut self,
        name: &str,
        help: &'static str,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        self.registry.register_collector(Box::new(ReadTotal {
            name: shown(name),
            help,
            read: Box::new(read),
        }));
    }

    /// The same with one label, at most [`SERIES_MAX`] values of it.
    pub fn totals(
        &mut self,
        name: &str,
        help: &'static str,
        label: &'static str,
        read: impl Fn() -> Vec<(String, u64)> + Send + Sync + 'static,
    ) {
        self.registry.register_collector(Box::new(ReadTotals {
            name: shown(name),
            help,
            label,
            read: Box::new(read),
        }));
    }

    /// The page, in the notation of OpenMetrics.
    ///
    /// # Errors
    /// When an instrument cannot be written.
    pub fn page(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode(&mut page, &self.registry)?;
        Ok(page)
    }
}

impl fmt::Debug for Instruments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instruments").finish_non_exhaustive()
    }
}

/// As exporters write a name with dots.
fn shown(name: &str) -> String {
    name.replace('.', "_")
}

/// A counter with labels. Clones count together.
#[derive(Clone, Debug)]
pub struct Count {
    family: Family<Labels, Counter>,
    labels: &'static [&'static str],
    names: Vec<Names>,
}

impl Count {
    /// Keeps a place for each of these values of the first label.
    #[must_use]
    pub fn reserving(self, values: &[&str]) -> Self {
        if let Some(names) = self.names.first() {
            names.reserve(values);
        }
        self
    }

    /// Has the values of its first label in common with another counter: what that
    /// one counts has a place here.
    #[must_use]
    pub fn naming_as(mut self, other: &Self) -> Self {
        if let (Some(own), Some(others)) = (self.names.first_mut(), other.names.first()) {
            *own = others.clone();
        }
        self
    }

    /// Counts one; a value for each label, in their order.
    pub fn add(&self, values: &[&str]) {
        self.add_as(values, 1, Word::Own);
    }

    /// Counts several at once.
    pub fn add_many(&self, values: &[&str], count: u64) {
        self.add_as(values, count, Word::Own);
    }

    /// Counts one that has values of a minion's choice: they have fewer places, and
    /// take none of the others.
    pub fn add_heard(&self, values: &[&str]) {
        self.add_as(values, 1, Word::Heard);
    }

    fn add_as(&self, values: &[&str], count: u64, word: Word) {
        let labels = self.labels.iter().zip(&self.names).zip(values);
        let labels: Labels = labels
            .map(|((label, names), value)| (*label, names.bounded(value, word).to_owned()))
            .collect();
        self.family.get_or_create(&labels).inc_by(count);
    }
}

/// A histogram of times with a label. Clones measure together.
#[derive(Clone, Debug)]
pub struct Timing {
    family: Family<Labels, Histogram, Boundaries>,
    label: &'static str,
    names: Names,
}

impl Timing {
    /// Counts something that has taken so long.
    pub fn add(&self, value: &str, took: Duration) {
        const MS: f64 = 1000.0;
        let labels = vec![(self.label, self.names.bounded(value, Word::Own).to_owned())];
        let histogram = self.family.get_or_create(&labels);
        histogram.observe(took.as_secs_f64() * MS);
    }
}

#[derive(Clone, Debug)]
struct Boundaries(Vec<f64>);

impl MetricConstructor<Histogram> for Boundaries {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

struct Read {
    name: String,
    help: &'static str,
    read: Box<dyn Fn() -> f64 + Send + Sync>,
}

impl fmt::Debug for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Read").field(&self.name).finish()
    }
}

impl Collector for Read {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let gauge = ConstGauge::new((self.read)());
        let kind = gauge.metric_type();
        gauge.encode(encoder.encode_descriptor(&self.name, self.help, None, kind)?)
    }
}

struct ReadSeveral {
    name: String,
    help: &'static str,
    label: &'static str,
    read: Box<dyn Fn() -> Vec<(String, f64)> + Send + Sync>,
}

impl fmt::Debug for ReadSeveral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadSeveral").field(&self.name).finish()
    }
}

impl Collector for ReadSeveral {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let kind = ConstGauge::new(0.0).metric_type();
        let mut all = encoder.encode_descriptor(&self.name, self.help, None, kind)?;
        for (value, number) in (self.read)().into_iter().take(SERIES_MAX) {
            let labels: Labels = vec![(self.label, value)];
            ConstGauge::new(number).encode(all.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

struct ReadTotal {
    name: String,
    help: &'static str,
    read: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl fmt::Debug for ReadTotal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadTotal").field(&self.name).finish()
    }
}

impl Collector for ReadTotal {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let total = ConstCounter::new((self.read)());
        let kind = total.metric_type();
        total.encode(encoder.encode_descriptor(&self.name, self.help, None, kind)?)
    }
}

struct ReadTotals {
    name: String,
    help: &'static str,
    label: &'static str,
    read: Box<dyn Fn() -> Vec<(String, u64)> + Send + Sync>,
}

impl fmt::Debug for ReadTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadTotals").field(&self.name).finish()
    }
}

impl Collector for ReadTotals {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let kind = ConstCounter::new(0_u64).metric_type();
        let mut all = encoder.encode_descriptor(&self.name, self.help, None, kind)?;
        for (value, number) in (self.read)().into_iter().take(SERIES_MAX) {
            let labels: Labels = vec![(self.label, value)];
            ConstCounter::new(number).encode(all.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_elsewhere_is_read_when_the_page_is() {
        let mut instruments = Instruments::new(&MetricsSettings::for_test());
        instruments.total("halite.lost", "Lost", || 7);
        instruments.totals("halite.gone", "Gone", "role", || {
            vec![("jobs".to_owned(), 2), ("events".to_owned(), 0)]
        });
        instruments.gauges("halite.there", "There", "role", || {
            let roles = (0..2 * SERIES_MAX).map(|number| (format!("r\"{number}"), 1.0));
            roles.collect()
        });
        let page = instruments.page().unwrap();
        assert!(page.contains("# TYPE halite_lost counter\n"), "{page}");
        assert!(page.contains("\nhalite_lost_total 7\n"), "{page}");
        let gone = "\nhalite_gone_total{role=\"jobs\"} 2\nhalite_gone_total{role=\"events\"} 0\n";
        assert!(page.contains(gone), "{page}");
        assert!(
            page.contains("halite_there{role=\"r\\\"0\"} 1.0\n"),
            "{page}"
        );
        assert_eq!(page.matches("halite_there{").count(), SERIES_MAX);
    }

    #[test]
    fn minions_do_not_crowd_out_what_was_commanded() {
        let mut instruments = Instruments::new(&MetricsSettings::for_test());
        let published = instruments.count("published", "Jobs", &["fun"]);
        let completed = instruments.count("completed", "Returns", &["fun", "success"]);
        let completed = completed.naming_as(&published);
        for number in 0..1000 {
            completed.add_heard(&[&format!("made.up{number}"), "true"]);
        }
        published.add(&["state.apply"]);
        completed.add_heard(&["state.apply", "true"]);
        let page = instruments.page().unwrap();
        let line = "completed_total{fun=\"state.apply\",success=\"true\"} 1";
        assert!(page.contains(line), "{page}");
        assert!(page.matches("completed_total{").count() < 200, "{page}");
    }

    #[test]
    fn names_are_those_of_salts_exporter() {
        let mut instruments = Instruments::new(&MetricsSettings::for_test());
        let published = instruments.count("salt.jobs.published", "Jobs published", &["fun"]);
        let handled = instruments.timing("salt.master.requests.duration", "Times", "cmd");
        instruments.gauge("salt.master.connected_minions.count", "Minions", || 7.0);
        published.add(&["test.ping"]);
        published.clone().add(&["test.ping"]);
        handled.add("_return", Duration::from_micros(700));
        let page = instruments.page().unwrap();
        for line in [
            "salt_jobs_published_total{fun=\"test.ping\"} 2",
            "salt_master_requests_duration_milliseconds_bucket{le=\"0.5\",cmd=\"_return\"} 0",
            "salt_master_requests_duration_milliseconds_bucket{le=\"1.0\",cmd=\"_return\"} 1",
            "salt_master_connected_minions_count 7.0",
            "process_start_time_seconds ",
            "target_info{service_name=\"salt-test\"",
        ] {
            assert!(page.contains(line), "{line} is not in\n{page}");
        }
    }
}
