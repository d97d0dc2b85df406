//! The process that stays: signals, user, directories, logs and pid file, and then
//! the daemon's own work.
//!
//! Invariant: a signal that comes once the pid file exists is handled.

use std::time::Duration;

use anyhow::{Context, Result};
use halite_cli::options::DaemonOptions;
use halite_cli::{Exit, Screen};
use halite_config::{Loaded, Warning};
use halite_process::daemon::Readiness;
use halite_process::logging;
use halite_process::memory::{self, Settling};
use halite_process::pidfile::PidFile;
use halite_process::privileges;
use halite_process::shutdown::{self, Signals};

use super::{Daemon, Process, log_options, wanted_user};

/// When a start is over: first sign-ins are done, and what only they have needed
/// can go.
const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// When the tasks that a daemon starts by itself are over too: the first update of the
/// mine, the first questions to masters.
const SETTLED_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// How soon after a burst of work its memory is given back.
const SETTLING_EVERY: Duration = Duration::from_secs(2);

/// How long work that was left behind may hold up the end.
const RUNTIME_SHUTDOWN: Duration = Duration::from_millis(500);

/// Everything that happens in the process that stays.
pub(super) fn start<D: Daemon>(
    options: &DaemonOptions,
    loaded: Loaded<D::Config>,
    readiness: Readiness,
    screen: &mut Screen,
) -> u8 {
    let process = D::process(&loaded.config);
    let mut readiness = Some(readiness);
    let listening = listen_for_signals(&process);
    // A signal that comes while the pid file is made is heard all the same, so
    // none leaves it behind.
    let prepared = listening.and_then(|heard| {
        Ok((
            heard,
            prepare(&process, options, &loaded.warnings, || {
                D::as_root(&loaded.config)
            })?,
        ))
    });
    let logs_to_console = prepared.is_ok() && !options.daemon;
    let result = prepared.and_then(|((runtime, mut signals), (_pid_file, logs))| {
        let code = runtime.block_on(async {
            tokio::spawn(logs.reopen_on_hangup());
            let stop = async move {
                let signal = signals.next().await;
                tracing::info!(%signal, "stopping");
                halite_process::notify::stopping();
            };
            let ready = || {
                halite_process::notify::ready();
                if let Some(readiness) = readiness.take() {
                    readiness.ready();
                }
                tokio::spawn(give_back_memory());
            };
            D::serve(loaded.config, ready, stop).await
        });
        runtime.shutdown_timeout(RUNTIME_SHUTDOWN);
        code
    });
    match result {
        Ok(code) => code,
        Err(error) => {
            // Before there is a log, and in the background, whoever has started
            // this wants to know all the same.
            let message = format!("{error:#}");
            tracing::error!("{message}");
            let code = Exit::Failure.code();
            let heard = readiness.take().is_some_and(|r| r.failed(code, &message));
            if !heard && !options.daemon && !logs_to_console {
                screen.error_line(&message);
            }
            code
        }
    }
}

/// The runtime, which hears signals from now on.
fn listen_for_signals(process: &Process) -> Result<(tokio::runtime::Runtime, Signals)> {
    let runtime = build_runtime(process)?;
    let signals = {
        let _in_runtime = runtime.enter();
        runtime.spawn(shutdown::inquiries().context("could not catch signals")?);
        Signals::new().context("could not catch signals")?
    };
    Ok((runtime, signals))
}

/// User, directories, logs and pid file.
fn prepare(
    process: &Process,
    options: &DaemonOptions,
    warnings: &[Warning],
    as_root: impl FnOnce() -> Result<()>,
) -> Result<(PidFile, logging::Logs)> {
    let user = wanted_user(process)?;
    let other = user
        .as_ref()
        .filter(|user| user.uid != nix::unistd::geteuid());
    // First: the directories may be those of a daemon that runs.
    let pid_file = PidFile::claim(&process.pidfile, other)?;
    for directory in &process.directories {
        directory.prepare(other, process.permissive_keys)?;
    }
    let logs = logging::init(&log_options(process, options, other.cloned()))?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    if let Some(files) = process.open_files {
        raise_open_files(files);
    }
    if let Some(user) = other {
        if privileges::is_root() {
            as_root()?;
        }
        privileges::become_user(user)?;
    }
    Ok((pid_file, logs))
}

/// Raises the limit of open files, as far as that is possible.
fn raise_open_files(wanted: u64) {
    if let Err(error) = halite_process::limits::raise_open_files(wanted) {
        tracing::warn!(%error, wanted, "could not raise the limit of open files");
    }
}

fn build_runtime(process: &Process) -> Result<tokio::runtime::Runtime> {
    let mut builder = match process.async_threads {
        0 | 1 => tokio::runtime::Builder::new_current_thread(),
        threads => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(threads);
            builder
        }
    };
    builder
        .enable_all()
        .max_blocking_threads(process.blocking_threads)
        .thread_keep_alive(Duration::from_secs(2))
        .build()
        .context("could not start the async runtime")
}

/// After the start and after each burst of work, for ever.
async fn give_back_memory() {
    let settle = || tokio::task::spawn_blocking(memory::give_back);
    tokio::time::sleep(SETTLED_AFTER).await;
    let _ = settle().await;
    let mut settling = Settling::begin();
    let again = tokio::time::sleep(SETTLED_AGAIN_AFTER);
    tokio::pin!(again);
    let mut is_young = true;
    loop {
        tokio::select! {
            () = &mut again, if is_young => {
                is_young = false;
                let _ = settle().await;
            }
            () = tokio::time::sleep(SETTLING_EVERY) => {
                if settling.is_due() {
                    let _ = settle().await;
                }
            }
        }
    }
}
