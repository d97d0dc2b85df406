//! What more minions than were measured need, computed from the tables of
//! docs/scale.md. It measures nothing.

use super::masters::Layout;
use super::names::{
    DESCRIPTORS, IDLE, JOINED, JOINED_BYTES, MEMORY, MEMORY_EACH, OF_MODEL, PING, PING_BYTES,
    PING_CPU, RETURNED, heading,
};
use super::tables::Table;

/// The line before what is computed.
pub(super) const BEGIN: &str = "<!-- begin: cargo xtask scale --model -->";

/// Numbers of minions that are computed.
const MINIONS: [u32; 2] = [10_000, 100_000];

/// Masters of each layout that are computed.
const LAYOUTS: [(Layout, u32); 8] = [
    (Layout::List, 1),
    (Layout::List, 3),
    (Layout::Mesh, 3),
    (Layout::Mesh, 5),
    (Layout::Mesh, 9),
    (Layout::Nats, 3),
    (Layout::Nats, 5),
    (Layout::Nats, 9),
];

/// Masters of the measured lists and clusters.
const MEASURED: u32 = 3;

/// All masters have enough cores for their minions to return within this time.
const BACK_WITHIN_S: f64 = 60.0;

/// Descriptors of a minion while it makes several requests at once: two connections, and
/// up to three more.
const DESCRIPTORS_EACH: f64 = 5.0;

/// A machine that the needs of one master are compared with.
const MACHINE_CORES: f64 = 8.0;
const MACHINE_MIB: f64 = 16.0 * 1024.0;
const MACHINE_DESCRIPTORS: f64 = 524_288.0;

/// What masters need for a fleet; nothing where a row was not measured.
#[derive(Debug)]
struct Need {
    /// Cores of each master.
    cores: Option<f64>,
    /// Memory of each master, in MiB.
    mib: Option<f64>,
    /// Descriptors of each master.
    descriptors: Option<f64>,
    /// Idle, all masters together, in percent of a core.
    idle: Option<f64>,
    /// Whether that is only a bound, since one run does not show how it grows.
    idle_is_bound: bool,
    ping_s: Option<f64>,
    /// Processor time of all masters together.
    ping_cpu_s: Option<f64>,
    /// Processor time of all masters together while all minions join.
    join_cpu_s: Option<f64>,
    /// How long that takes with the cores above.
    join_s: Option<f64>,
    /// Between masters, in MB.
    join_mb: Option<f64>,
    ping_mb: Option<f64>,
}

/// The tables that one layout is computed from.
struct Costs<'t> {
    one: &'t Table,
    own: &'t Table,
    layout: Layout,
    masters: f64,
}

/// The section: the inputs, and what follows from them.
pub(super) fn section(document: &str) -> String {
    let one = Table::find(document, &Layout::List.title(1));
    let mut text = inputs(document);
    text.push_str(
        "\n| minions | masters | cores of each | memory of each, MiB | descriptors of each | \
         idle, all, % of a core | ping of all, s | its processor time, all, s | all join: \
         processor time, all, s | all have joined after, s | all join: between masters, MB | ping: between masters, MB | \
         nearest limit of a master |\n|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
    );
    for minions in MINIONS {
        for (layout, masters) in LAYOUTS {
            let title = layout.title(masters);
            let own = Table::find(document, &layout.title(MEASURED.min(masters)));
            let (Some(one), Some(own)) = (&one, &own) else {
                text.push_str(&format!("| {minions} | {title} | not measured |\n"));
                continue;
            };
            let costs = Costs {
                one,
                own,
                layout,
                masters: f64::from(masters),
            };
            text.push_str(&line(minions, &title, &costs.need(f64::from(minions))));
        }
    }
    text
}

/// The rows that the model is fed with.
fn inputs(document: &str) -> String {
    let layouts = [
        (Layout::List, 1),
        (Layout::List, MEASURED),
        (Layout::Mesh, MEASURED),
        (Layout::Nats, MEASURED),
    ];
    let titles = layouts.map(|(layout, masters)| layout.title(masters));
    let tables = titles.clone().map(|title| Table::find(document, &title));
    let mut text = String::from("| measured row |");
    for (title, table) in titles.iter().zip(&tables) {
        let most = table.as_ref().map_or(0.0, Table::most_minions);
        text.push_str(&format!(" {title}, {most:.0} minions |"));
    }
    text.push_str(&format!("\n|---|{}\n", "--:|".repeat(titles.len())));
    for row in OF_MODEL {
        text.push_str(&format!("| {} |", heading(row)));
        for table in &tables {
            let value = table.as_ref().and_then(|table| table.last(row));
            text.push_str(&format!(" {} |", number(value, 2)));
        }
        text.push('\n');
    }
    text
}

fn line(minions: u32, title: &str, need: &Need) -> String {
    let numbers = [
        (need.cores, 0),
        (need.mib, 0),
        (need.descriptors, 0),
        (need.idle, 1),
        (need.ping_s, 1),
        (need.ping_cpu_s, 1),
        (need.join_cpu_s, 0),
        (need.join_s, 0),
        (need.join_mb, 0),
        (need.ping_mb, 1),
    ];
    let mut numbers = numbers.map(|(value, digits)| number(value, digits));
    if need.idle_is_bound {
        numbers[3].insert_str(0, "at most ");
    }
    let bottleneck = need.bottleneck();
    format!(
        "| {minions} | {title} | {} | {bottleneck} |\n",
        numbers.join(" | ")
    )
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

impl Costs<'_> {
    fn need(&self, minions: f64) -> Need {
        let connected = match self.layout {
            Layout::List => minions,
            Layout::Mesh | Layout::Nats => minions / self.masters,
        };
        let of_fleet = |row| self.of_all(|table| table.at(row, minions));
        // What a minion costs is the same in a larger fleet.
        let per_minion = |row| Some(self.of_all(|table| table.last(row))? * minions);
        let join_cpu_s = [JOINED, RETURNED].map(|row| Some(per_minion(row)? / 1e3));
        let join_cpu_s = join_cpu_s.into_iter().flatten().reduce(f64::max);
        let of_one = join_cpu_s.map(|all| all / self.masters);
        let cores = of_one.map(|seconds| (seconds / BACK_WITHIN_S).ceil().max(1.0));
        Need {
            cores,
            mib: self.mib(minions, connected),
            descriptors: self
                .one
                .last(DESCRIPTORS)
                .map(|_| connected * DESCRIPTORS_EACH),
            idle: of_fleet(IDLE),
            idle_is_bound: !self.own.shows_growth(),
            ping_s: self.own.at(PING, minions),
            ping_cpu_s: of_fleet(PING_CPU),
            join_cpu_s,
            join_s: of_one.zip(cores).map(|(seconds, cores)| seconds / cores),
            join_mb: per_minion(JOINED_BYTES).map(|kb| kb / 1e3),
            ping_mb: per_minion(PING_BYTES).map(|kb| kb / 1e3),
        }
    }

    /// A cost of all masters together. In a list each master has the same. In a cluster
    /// there is the cost of a single master, and what each other one adds to it.
    fn of_all(&self, cost: impl Fn(&Table) -> Option<f64>) -> Option<f64> {
        let own = cost(self.own)?;
        let measured = f64::from(MEASURED);
        if self.masters < measured {
            return Some(own);
        }
        match self.layout {
            Layout::List => Some(own / measured * self.masters),
            Layout::Mesh | Layout::Nats => {
                let one = cost(self.one).unwrap_or(0.0).min(own);
                let other = (own - one) / (measured - 1.0);
                Some(one + other * (self.masters - 1.0))
            }
        }
    }

    /// Memory of one master: what it takes without minions, and what the connected
    /// minions and those of other masters take.
    fn mib(&self, minions: f64, connected: f64) -> Option<f64> {
        const KIB: f64 = 1024.0;
        let (each, most) = (self.own.last(MEMORY_EACH)?, self.own.most_minions());
        let whole = self.own.last(MEMORY)?;
        if self.layout == Layout::List {
            return Some(whole + (minions - most) * each / KIB);
        }
        let measured = f64::from(MEASURED);
        let empty = whole - most / measured * each / KIB;
        let one = self.one.last(MEMORY_EACH)?.min(each);
        let other = (each - one) / (measured - 1.0);
        Some(empty + (connected * one + (minions - connected) * other) / KIB)
    }
}

impl Need {
    /// What one master needs most of, as a share of what a machine has.
    fn bottleneck(&self) -> String {
        let shares = [
            ("processor", self.cores, MACHINE_CORES),
            ("memory", self.mib, MACHINE_MIB),
            ("descriptors", self.descriptors, MACHINE_DESCRIPTORS),
        ];
        let shares = shares.into_iter();
        let shares = shares.filter_map(|(name, need, has)| Some((name, need? / has * 100.0)));
        let most = shares.max_by(|one, other| one.1.total_cmp(&other.1));
        most.map_or_else(
            || "-".to_owned(),
            |(name, share)| format!("{name}, {share:.0} %"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(title: &str, values: [f64; 8]) -> String {
        let mut text = format!(
            "{}\n| minions | 1000 |\n|---|--:|\n",
            super::super::tables::begin(title)
        );
        for (row, value) in OF_MODEL.iter().zip(values) {
            text.push_str(&format!("| {} | {value:.2} |\n", heading(*row)));
        }
        text + "<!-- end -->\n"
    }

    /// Values in the order of the rows, without those of the traffic.
    fn page() -> String {
        [
            table("1 master", [1.0, 2.0, 20.0, 10.24, 2028.0, 1.0, 0.2, 0.1]),
            table("3 masters", [6.0, 3.0, 20.0, 10.24, 2028.0, 3.0, 0.2, 0.1]),
            table(
                "a cluster of 3",
                [5.0, 1.0, 20.0, 15.36, 700.0, 5.0, 0.6, 0.5],
            ),
        ]
        .concat()
    }

    fn need(layout: Layout, masters: u32, minions: f64) -> Need {
        let page = page();
        let measured = layout.title(MEASURED.min(masters));
        Costs {
            one: &Table::find(&page, "1 master").unwrap(),
            own: &Table::find(&page, &measured).unwrap(),
            layout,
            masters: f64::from(masters),
        }
        .need(minions)
    }

    #[test]
    fn what_is_computed_for_what_was_measured_is_what_was_measured() {
        for (layout, masters, join) in [
            (Layout::List, 1, 2.0),
            (Layout::List, 3, 6.0),
            (Layout::Mesh, 3, 5.0),
        ] {
            let need = need(layout, masters, 1000.0);
            let mib = need.mib.unwrap();
            assert!((mib - 20.0).abs() < 1.0, "{need:?}");
            assert_eq!(need.join_cpu_s, Some(join), "{need:?}");
            assert_eq!(need.join_mb, None, "it was not measured");
        }
    }

    #[test]
    fn ten_times_more_minions_take_ten_times_more() {
        let need = need(Layout::Mesh, 3, 10_000.0);
        assert_eq!((need.join_cpu_s, need.cores), (Some(50.0), Some(1.0)));
        assert_eq!(
            need.join_s.map(f64::round),
            Some(17.0),
            "a third of it at each"
        );
        let rounded = [need.ping_s, need.idle].map(|value| value.map(f64::round));
        assert_eq!(rounded, [Some(6.0), Some(50.0)]);
        // 15 MiB without minions, 10.24 KiB for each of its own, 2.56 for each other.
        let mib = need.mib.unwrap();
        let expected = 15.0 + (10.24 * 10_000.0 / 3.0 + 2.56 * 20_000.0 / 3.0) / 1024.0;
        assert!((mib - expected).abs() < 0.1, "{mib} {expected}");
    }

    #[test]
    fn another_master_of_a_cluster_adds_its_part() {
        let (three, five) = (need(Layout::Mesh, 3, 1000.0), need(Layout::Mesh, 5, 1000.0));
        // One alone: 1 %, three: 5 %, so each other one adds 2 %.
        assert_eq!((three.idle, five.idle), (Some(5.0), Some(9.0)));
        assert_eq!(five.descriptors, Some(1000.0));
        let list = need(Layout::List, 5, 1000.0);
        assert_eq!((list.idle, list.descriptors), (Some(5.0), Some(5000.0)));
    }

    #[test]
    fn the_nearest_limit_is_named() {
        assert_eq!(
            need(Layout::List, 1, 100_000.0).bottleneck(),
            "descriptors, 95 %"
        );
        let none = Need {
            cores: Some(16.0),
            mib: None,
            descriptors: Some(10.0),
            idle: None,
            idle_is_bound: false,
            ping_s: None,
            ping_cpu_s: None,
            join_cpu_s: None,
            join_s: None,
            join_mb: None,
            ping_mb: None,
        };
        assert_eq!(none.bottleneck(), "processor, 200 %");
    }

    #[test]
    fn a_layout_that_was_not_measured_says_so() {
        let text = section(&page());
        assert!(
            text.contains("| 10000 | a cluster of 3 on NATS | not measured |"),
            "{text}"
        );
        assert!(text.contains("| 100000 | a cluster of 5 |"), "{text}");
        assert!(
            text.contains("| salt '*' test.ping, s | 0.20 | 0.20 | 0.60 | - |"),
            "{text}"
        );
    }
}
