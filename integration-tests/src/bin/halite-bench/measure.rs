//! What is measured, how often, and how a figure is computed.

use std::time::Duration;

use anyhow::{Context, Result};
use halite_integration_tests::Kind;

use crate::{admin, calls, daemons, disk, git, job_lists, rest, runs, silence, stores};

/// How often and how long each number is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effort {
    pub(crate) starts: usize,
    pub(crate) pings: usize,
    pub(crate) publications: usize,
    pub(crate) load: Duration,
    pub(crate) jobs: usize,
    pub(crate) burst: usize,
    pub(crate) calls: usize,
    pub(crate) idleness: Duration,
}

impl Effort {
    /// For numbers that go into the documentation.
    pub(crate) const FULL: Self = Self {
        starts: 5,
        pings: 20,
        publications: 50,
        load: Duration::from_secs(10),
        jobs: 100,
        burst: 160,
        calls: 3,
        idleness: Duration::from_secs(60),
    };

    /// For a first look.
    pub(crate) const QUICK: Self = Self {
        starts: 2,
        pings: 3,
        publications: 10,
        load: Duration::from_secs(2),
        jobs: 20,
        burst: 20,
        calls: 1,
        idleness: Duration::from_secs(5),
    };
}

/// A part of the measurements that can be run on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// From the start of a daemon until it is of use.
    Starts,
    /// Commands and memory of a small fleet.
    Fleet,
    /// Requests per second.
    Load,
    /// States and pillars to data.
    Compile,
    /// State runs of a running minion.
    Runs,
    /// Masters and minions that are gone.
    Silence,
    /// Large files, and targets over large fleets.
    Admin,
    /// Some of it on a disk instead of in memory.
    Disk,
    /// States from git.
    Git,
    /// Some of it with jobs in databases.
    Stores,
    /// Commands and jobs through the API.
    Api,
    /// States from a git with a long history. It takes minutes and gigabytes, so it
    /// is measured only when it is named.
    GitLong,
}

impl Part {
    /// All parts, in the order of the table.
    pub(crate) const ALL: [Self; 11] = [
        Self::Starts,
        Self::Fleet,
        Self::Load,
        Self::Compile,
        Self::Runs,
        Self::Silence,
        Self::Admin,
        Self::Disk,
        Self::Git,
        Self::Stores,
        Self::Api,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Starts => "starts",
            Self::Fleet => "fleet",
            Self::Load => "load",
            Self::Compile => "compile",
            Self::Runs => "runs",
            Self::Silence => "silence",
            Self::Admin => "admin",
            Self::Disk => "disk",
            Self::Git => "git",
            Self::Stores => "stores",
            Self::Api => "api",
            Self::GitLong => "git-long",
        }
    }

    /// Parts by their names, separated by commas.
    ///
    /// # Errors
    /// When there is no part of a name.
    pub(crate) fn parse(names: &str) -> Result<Vec<Self>> {
        names
            .split(',')
            .map(|name| {
                let all = || Self::ALL.into_iter().chain([Self::GitLong]);
                let known = || all().map(Self::name).collect::<Vec<_>>().join(", ");
                all()
                    .find(|part| part.name() == name)
                    .with_context(|| format!("no part `{name}`, only {}", known()))
            })
            .collect()
    }

    fn measure(self, kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
        match self {
            Self::Starts => daemons::starts(kind, effort, numbers),
            Self::Fleet => daemons::fleet(kind, effort, numbers),
            Self::Load => daemons::load(kind, effort, numbers),
            Self::Compile => calls::compile(kind, effort, numbers),
            Self::Runs => runs::runs(kind, effort, numbers),
            Self::Silence => silence::silence(kind, effort, numbers),
            Self::Admin => admin::admin(kind, effort, numbers),
            Self::Disk => disk::disk(kind, effort, numbers),
            Self::Git => git::git(kind, effort, numbers),
            Self::Stores => {
                stores::stores(kind, effort, numbers)?;
                job_lists::job_lists(kind, effort, numbers)
            }
            Self::Api => rest::rest(kind, effort, numbers),
            Self::GitLong => git::long_history(kind, numbers),
        }
    }
}

/// What a number is of, which decides how it is shown and which is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Less is better.
    Milliseconds,
    /// Less is better.
    Seconds,
    /// Less is better.
    Mebibytes,
    /// Less is better.
    Processes,
    /// Less is better.
    Times,
    /// More is better.
    PerSecond,
}

/// A number with its name and the aim for ours.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: Unit,
    pub(crate) aim: &'static str,
}

/// Measures these parts for one kind. What a Salt cannot do leaves its rows empty: it costs
/// none of those that were measured.
///
/// # Errors
/// When a part of ours fails.
pub(crate) fn all(kind: Kind, effort: Effort, parts: &[Part]) -> Result<Vec<Number>> {
    println!("measuring {kind}");
    let mut numbers = Numbers(Vec::new());
    for part in parts {
        let measured = part
            .measure(kind, effort, &mut numbers)
            .with_context(|| format!("part `{}` of {kind}", part.name()));
        match measured {
            Err(error) if kind != Kind::Ours => println!("  not measured: {error:#}"),
            measured => measured?,
        }
    }
    Ok(numbers.0)
}

/// The numbers so far.
pub(crate) struct Numbers(Vec<Number>);

impl Numbers {
    /// Adds one and shows it.
    pub(crate) fn add(&mut self, name: &str, value: f64, unit: Unit, aim: &'static str) {
        println!("  {name}: {value:.1}");
        self.0.push(Number {
            name: name.to_owned(),
            value,
            unit,
            aim,
        });
    }
}

/// The one in the middle.
pub(crate) fn median(mut times: Vec<Duration>) -> Result<f64> {
    times.sort_unstable();
    times
        .get(times.len() / 2)
        .copied()
        .map(millis)
        .context("nothing was measured")
}

/// A time as a number.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// An amount of memory as a number.
pub(crate) fn mebibytes(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// A count as a number.
pub(crate) fn precise(count: usize) -> f64 {
    count as f64
}
