//! `cargo xtask services`: the databases that tests use, for experiments by hand.
//!
//! Invariant: they listen on loopback addresses only, keep their data in temporary
//! directories, and end with this command, however it ends.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use halite_test_services::{Certificates, Etcd, MariaDb, Postgres, Redis, Wanted};
use nix::sys::signal::{SigSet, Signal};

/// The servers by their names.
const NAMES: [&str; 4] = ["redis", "postgres", "etcd", "mariadb"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The password that all of them ask for; none by default
    #[arg(long)]
    password: Option<String>,
    /// Lets all of them speak TLS, with certificates of their own
    #[arg(long)]
    tls: bool,
    /// Only these
    #[arg(long, value_delimiter = ',', value_parser = NAMES)]
    only: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    crate::provide::run()?;
    // Before the first thread, so that the signal comes to the wait below.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals.thread_block().context("could not block signals")?;

    let mut wanted = Wanted::default();
    if let Some(password) = &args.password {
        wanted = wanted.password(password);
    }
    if args.tls {
        wanted = wanted.tls();
    }
    let is_wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|only| only == name);

    let redis = is_wanted("redis").then(|| Redis::start(&wanted));
    let redis = print_place("redis", redis, |redis| (redis.url(), redis.tls.clone()));
    let postgres = is_wanted("postgres").then(|| Postgres::start(&wanted));
    let postgres = print_place("postgres", postgres, |postgres| {
        (postgres.url("salt"), postgres.tls.clone())
    });
    let etcd = is_wanted("etcd").then(|| Etcd::start(&wanted));
    let etcd = print_place("etcd", etcd, |etcd| (etcd.url(), etcd.tls.clone()));
    let mariadb = is_wanted("mariadb").then(|| MariaDb::start(&wanted));
    let mariadb = print_place("mariadb", mariadb, |mariadb| {
        (mariadb.url("salt"), mariadb.tls.clone())
    });

    println!("Ctrl-C ends them");
    signals.wait().context("could not wait for a signal")?;
    drop((redis, postgres, etcd, mariadb));
    Ok(ExitCode::SUCCESS)
}

/// Prints where a server is, or why it is not there.
fn print_place<T>(
    name: &str,
    started: Option<Result<T>>,
    place: impl FnOnce(&T) -> (String, Option<Certificates>),
) -> Option<T> {
    match started? {
        Ok(server) => {
            let (url, tls) = place(&server);
            println!("{name:<9} {url}");
            if let Some(tls) = tls {
                println!("          CA {}", tls.ca.display());
            }
            Some(server)
        }
        Err(error) => {
            println!("{name:<9} not run: {error:#}");
            None
        }
    }
}
