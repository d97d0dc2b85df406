//! `salt-emulate`: thousands of minions, to measure a master.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program's own output"
)]

use std::io::{IsTerminal as _, stderr};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use halite_emulate::herd::Herd;
use halite_emulate::keys::KeyPool;
use halite_emulate::limits::{JOB_THREADS_MAX, MINIONS_MAX, STATE_BYTES_MAX};
use halite_emulate::member::{self, Shared};
use halite_emulate::plan::{Plan, Reconnect, Work};
use halite_emulate::report::{self, Usage};
use halite_emulate::tally::{Tally, read};
use halite_grains::GrainsOptions;
use halite_process::limits::raise_open_files;
use halite_process::logging::{self, Level, LogOptions};
use halite_process::shutdown::Signals;
use halite_proto::{MasterUri, Transport};

/// The port of requests where a master is given without one.
const REQUEST_PORT: u16 = 4506;

/// How often the herd is shown.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// Thousands of minions in one process, to measure a master with: the product's
/// own minions, each with connections from a loopback address of its own. Their
/// state runs are made up; nothing on this machine is changed.
#[derive(Debug, Parser)]
#[command(name = "salt-emulate", version)]
struct Args {
    /// A master, HOST or HOST:PORT; may be given several times
    #[arg(long = "master", value_name = "HOST", required = true)]
    masters: Vec<String>,
    /// Minions
    #[arg(long, default_value_t = 100)]
    count: u32,
    /// The number of the first minion: several processes make one herd
    #[arg(long, default_value_t = 0)]
    first: u32,
    /// What the ids begin with
    #[arg(long, default_value = "emu")]
    prefix: String,
    /// Where keys and the minions' directories are kept
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Key pairs that the minions share in turn; 0: each has its own, which
    /// takes a tenth of a second each to make
    #[arg(long, default_value_t = 16)]
    keys: u32,
    /// Bits of a key
    #[arg(long, default_value_t = 2048)]
    keysize: u32,
    /// The address of the first minion, which the others' follow; "any" for the
    /// system's choice
    #[arg(long, default_value = "127.64.0.1")]
    source: String,
    /// Minions to start in a second; 0: as fast as it goes
    #[arg(long, default_value_t = 0.0)]
    ramp: f64,
    /// Forget what earlier runs of these minions have left, except their keys
    #[arg(long)]
    fresh: bool,
    /// Milliseconds that a minion thinks at least before it begins with a job
    #[arg(long, default_value_t = 0)]
    think: u64,
    /// And at most
    #[arg(long, default_value_t = 0)]
    think_max: u64,
    /// Bytes that a state run returns
    #[arg(long, default_value_t = 20_000)]
    state_bytes: usize,
    /// Percent of the state runs that fail
    #[arg(long, default_value_t = 0.0)]
    failing: f64,
    /// Percent of the minions that take jobs and never answer
    #[arg(long, default_value_t = 0.0)]
    silent: f64,
    /// Events that all minions send in a second
    #[arg(long, default_value_t = 0.0)]
    events: f64,
    /// Minions that are ended and started again in a second
    #[arg(long, default_value_t = 0.0)]
    churn: f64,
    /// Minutes between updates of the mine; 0: none
    #[arg(long, default_value_t = 0)]
    mine_interval: u32,
    /// Milliseconds of the first pause before a lost master is tried again; without it,
    /// as a minion that does not set the option
    #[arg(long)]
    recon_default: Option<u64>,
    /// Milliseconds of the longest such pause; without it, as a minion that does not set
    /// the option
    #[arg(long)]
    recon_max: Option<u64>,
    /// Seconds between sign-ins while a key waits for acceptance
    #[arg(long, default_value_t = 10)]
    acceptance_wait_time: u64,
    /// Seconds over which sign-ins after new keys of a master are spread
    #[arg(long, default_value_t = 0)]
    random_reauth_delay: u64,
    /// Seconds that a sign-in may take
    #[arg(long, default_value_t = 5)]
    auth_timeout: u64,
    /// How minions and masters speak
    #[arg(long, default_value = "zeromq")]
    transport: String,
    /// Take only publications for everyone and for oneself (zmq_filtering)
    #[arg(long)]
    zmq_filtering: bool,
    /// End after so many seconds; without it, at a signal
    #[arg(long = "for", value_name = "SECONDS")]
    run_for: Option<f64>,
    /// End as soon as every link was ready once
    #[arg(long)]
    until_ready: bool,
    /// What standard output gets: text at the end, or a line of JSON a second
    #[arg(long, value_enum, default_value_t = Out::Text)]
    out: Out,
    /// Threads for connections; 0: one for each core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// What is logged to standard error
    #[arg(long, default_value = "critical")]
    log_level: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Out {
    Text,
    Json,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("salt-emulate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let level = Level::parse(&args.log_level);
    let level = level.with_context(|| format!("--log-level: no level {:?}", args.log_level))?;
    let logs = LogOptions {
        console_level: Some(level),
        ..LogOptions::default()
    };
    logging::init(&logs).context("could not log")?;
    let plan = plan(args)?;
    let needed = plan.descriptors();
    let allowed = raise_open_files(needed).context("could not read the limit of open files")?;
    ensure!(
        allowed >= needed,
        "{} minions of {} masters need {needed} open files, and this process may have {allowed}: \
         raise `ulimit -n`, or divide the minions among several processes (--first)",
        plan.count,
        plan.masters.len()
    );
    let pool = plan.keys.unwrap_or(plan.first + plan.count);
    let keys = KeyPool::open(&plan.dir.join("keys"), pool, plan.key_bits)?;
    if args.fresh {
        plan.numbers()
            .for_each(|number| member::forget(&plan, number));
    }
    let shared = Arc::new(Shared {
        keys,
        tally: Arc::new(Tally::for_links(plan.links())),
        grains: halite_grains::collect(&GrainsOptions::default()),
        plan,
    });
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if args.threads > 0 {
        builder.worker_threads(args.threads);
    }
    let runtime = builder
        .enable_all()
        .max_blocking_threads(JOB_THREADS_MAX)
        .build()
        .context("could not start the async runtime")?;
    let served = runtime.block_on(serve(args, shared));
    runtime.shutdown_background();
    served
}

async fn serve(args: &Args, shared: Arc<Shared>) -> Result<()> {
    let mut signals = Signals::new().context("could not catch signals")?;
    let links = shared.plan.links() as u64;
    let tally = Arc::clone(&shared.tally);
    let began = Instant::now();
    let deadline = args
        .run_for
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let herd = Herd::start(shared);
    let mut ticks = tokio::time::interval(SHOWN_EVERY);
    let is_live = stderr().is_terminal();
    loop {
        tokio::select! {
            _ = signals.next() => break,
            _ = ticks.tick() => {}
        }
        let elapsed = began.elapsed();
        if args.out == Out::Json {
            println!("{}", report::json(&tally, links, elapsed, Usage::now()));
        } else if is_live {
            eprint!("\r{}", report::line(&tally, links, elapsed, Usage::now()));
        }
        let is_over = deadline.is_some_and(|deadline| elapsed >= deadline);
        let all_were = tally.ready_once.count() >= links;
        if is_over || (args.until_ready && all_were) || read(&tally.failed) >= links {
            break;
        }
    }
    let (elapsed, usage) = (began.elapsed(), Usage::now());
    match args.out {
        Out::Json => println!("{}", report::json(&tally, links, elapsed, usage)),
        Out::Text => print!("\n{}", report::text(&tally, links, elapsed, usage)),
    }
    herd.stop().await;
    ensure!(
        read(&tally.failed) == 0,
        "{} minions could not be started; --log-level error says why",
        read(&tally.failed)
    );
    Ok(())
}

fn plan(args: &Args) -> Result<Plan> {
    ensure!(
        (1..=MINIONS_MAX).contains(&args.count) && args.first <= MINIONS_MAX,
        "--count and --first: one process has 1 to {MINIONS_MAX} minions"
    );
    ensure!(
        args.state_bytes <= STATE_BYTES_MAX,
        "--state-bytes: a state run has {STATE_BYTES_MAX} bytes at most"
    );
    let share = |name: &str, percent: f64| {
        ensure!((0.0..=100.0).contains(&percent), "--{name}: 0 to 100");
        Ok(percent / 100.0)
    };
    let millis = Duration::from_millis;
    Ok(Plan {
        count: args.count,
        first: args.first,
        prefix: args.prefix.clone(),
        masters: args
            .masters
            .iter()
            .map(|text| master(text))
            .collect::<Result<_>>()?,
        dir: std::path::absolute(&args.dir).context("--dir")?,
        keys: Some(args.keys).filter(|keys| *keys > 0),
        key_bits: args.keysize,
        source: match args.source.as_str() {
            "any" => None,
            text => Some(text.parse::<Ipv4Addr>().context("--source")?),
        },
        ramp_per_s: Some(args.ramp).filter(|pace| *pace > 0.0),
        work: Work {
            think_min: millis(args.think),
            think_max: millis(args.think_max.max(args.think)),
            state_bytes: args.state_bytes,
            failing: share("failing", args.failing)?,
            silent: share("silent", args.silent)?,
        },
        reconnect: Reconnect {
            acceptance: Duration::from_secs(args.acceptance_wait_time),
            renew_spread: Duration::from_secs(args.random_reauth_delay),
            auth_timeout: Duration::from_secs(args.auth_timeout),
            ..Reconnect::of_minion(args.recon_default.map(millis), args.recon_max.map(millis))
        },
        events_per_s: args.events,
        churn_per_s: args.churn,
        mine_interval: args.mine_interval,
        transport: Transport::parse(&args.transport)
            .with_context(|| format!("--transport: there is no {:?}", args.transport))?,
        filtering: args.zmq_filtering,
    })
}

/// A master as it is given: a host, and perhaps its port.
fn master(text: &str) -> Result<(String, MasterUri)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => {
            let port = port.parse().with_context(|| format!("--master {text}"))?;
            (host, port)
        }
        _ => (text, REQUEST_PORT),
    };
    let uri = MasterUri::new(host, port).with_context(|| format!("--master {text}"))?;
    Ok((format!("{host}:{port}"), uri))
}
