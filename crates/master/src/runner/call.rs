//! A running runner, from the view of its function.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use halite_call::{Bound, Job, Signature};
use halite_proto::{Jid, Map, MinionId, Value};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::table::Found;
use super::{Run, RunnerError, Runners};
use crate::core::jobs::DELIMITER_DEFAULT;
use crate::core::owner::ProvenBy;
use crate::core::targets::{Asked, resolve};
use crate::jobs::stop::Stop;

/// What progress is called that is text for the standard output.
const PRINT: &str = "print";

/// The context of a function of the master while it runs.
#[derive(Clone)]
pub(super) struct Around {
    pub(super) runners: Arc<Runners>,
    pub(super) runtime: Handle,
    pub(super) jid: Jid,
    pub(super) tag: String,
    pub(super) user: String,
    pub(super) proven_by: Option<ProvenBy>,
    pub(super) stop: Stop,
    /// How long commands wait for minions.
    pub(super) timeout: Duration,
}

/// The call of a runner.
pub(crate) struct Call<'a> {
    /// The parts of the master that runners use.
    pub(crate) runners: &'a Arc<Runners>,
    /// The arguments in their places.
    pub(crate) bound: Bound,
    /// The job.
    pub(crate) jid: &'a Jid,
    /// The user who asks.
    pub(crate) user: &'a str,
    /// How they have proven it.
    pub(super) proven_by: Option<&'a ProvenBy>,
    /// Whether that is the master's own user, at this machine and without a login,
    /// and this is what they have asked for themselves.
    pub(super) is_owner: bool,
    pub(super) runtime: &'a Handle,
    pub(super) stop: &'a Stop,
    /// How long commands wait for minions.
    pub(super) timeout: Duration,
    tag: &'a str,
    /// The return code, where the function sets one.
    pub(super) retcode: Cell<i64>,
    /// Whether what it returns may be packed: nobody needs the values.
    pub(super) takes_packed: bool,
    /// What it returns, where that is packed.
    packed: Cell<Option<Vec<u8>>>,
}

/// Waits for the end of a call, see [`Call::stopping`].
pub(super) struct Stopping(JoinHandle<()>);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<'a> Call<'a> {
    /// Puts the arguments in their places.
    pub(super) fn bind(
        runners: &'a Arc<Runners>,
        runtime: &'a Handle,
        run: &'a Run,
        found: &Found,
    ) -> Result<Self, RunnerError> {
        let asked = &run.asked;
        let mut kwargs = asked.kwargs.clone();
        // What Salt's clients add for themselves.
        kwargs.retain(|name, _| !name.as_str().is_some_and(|name| name.starts_with("__pub_")));
        Ok(Self {
            runners,
            bound: bound(found, asked.args.clone(), kwargs)?,
            jid: &run.jid,
            user: &asked.user,
            proven_by: asked.proven_by.as_ref(),
            is_owner: asked.is_owner,
            runtime,
            stop: &run.stop,
            timeout: asked.timeout.unwrap_or(runners.general.timeout),
            tag: &run.tag,
            retcode: Cell::new(0),
            takes_packed: asked.takes_packed && runners.jobs.takes_packed(),
            packed: Cell::default(),
        })
    }

    /// A call without arguments of its own: for functions that command minions
    /// while a runner runs.
    pub(super) fn within(around: &'a Around) -> Self {
        Self {
            runners: &around.runners,
            bound: Bound::default(),
            jid: &around.jid,
            user: &around.user,
            proven_by: around.proven_by.as_ref(),
            is_owner: false,
            runtime: &around.runtime,
            stop: &around.stop,
            timeout: around.timeout,
            tag: &around.tag,
            retcode: Cell::new(0),
            takes_packed: false,
            packed: Cell::default(),
        }
    }

    /// The call of another function from within this one: the owner may not even
    /// know of it.
    pub(super) fn nested(
        &self,
        found: &Found,
        args: Vec<Value>,
        kwargs: Map,
    ) -> Result<Self, RunnerError> {
        Ok(Self {
            bound: bound(found, args, kwargs)?,
            is_owner: false,
            retcode: Cell::new(0),
            takes_packed: false,
            packed: Cell::default(),
            ..*self
        })
    }

    /// Returns what is packed, where it [takes](Self::takes_packed) that: the function
    /// returns this value.
    pub(super) fn return_packed(&self, packed: Vec<u8>) -> Value {
        self.packed.set(Some(packed));
        Value::Nil
    }

    /// What it has returned packed.
    pub(super) fn take_packed(&self) -> Option<Vec<u8>> {
        self.packed.take()
    }

    /// Sets a flag when this call is to end, until what is returned is dropped.
    pub(super) fn stopping(&self, flag: &Arc<AtomicBool>) -> Stopping {
        let (ordered, flag) = (self.stop.clone(), Arc::clone(flag));
        Stopping(self.runtime.spawn(async move {
            ordered.stopped().await;
            flag.store(true, Ordering::Relaxed);
        }))
    }

    /// The context of this call, which may outlive the call.
    pub(super) fn around(&self) -> Around {
        Around {
            runners: Arc::clone(self.runners),
            runtime: self.runtime.clone(),
            jid: self.jid.clone(),
            tag: self.tag.to_owned(),
            user: self.user.to_owned(),
            proven_by: self.proven_by.cloned(),
            stop: self.stop.clone(),
            timeout: self.timeout,
        }
    }

    /// The job of functions that minions have, when the master runs them: it
    /// ends with the runner.
    pub(super) fn job(&self) -> Job {
        Job {
            cancel: self.stop.cancel().clone(),
            ..Job::default()
        }
    }

    /// Waits.
    ///
    /// # Errors
    /// When the runner is to end before.
    pub(super) fn wait(&self, time: Duration) -> Result<(), RunnerError> {
        match Instant::now().checked_add(time) {
            Some(until) => Ok(self.stop.wait_until(self.runtime, until)?),
            None => Err(RunnerError::Failed("the time is too long".to_owned())),
        }
    }

    /// An argument; nil if it was not given.
    pub(super) fn arg(&self, name: &str) -> &Value {
        self.bound.get(name).unwrap_or(&Value::Nil)
    }

    /// An argument that is text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.arg(name).as_str().filter(|text| !text.is_empty())
    }

    /// An argument as a truth.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.arg(name).is_true()
    }

    /// An argument that is a number of seconds, or `default`.
    pub(super) fn seconds(&self, name: &str, default: Duration) -> Duration {
        let value = self.arg(name);
        let seconds = value
            .as_f64()
            .or_else(|| value.as_str()?.trim().parse().ok());
        seconds
            .filter(|seconds| *seconds > 0.0)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or(default)
    }

    /// A job id: text, or a number that looks like one.
    pub(super) fn jid_arg(&self, name: &str) -> Option<Jid> {
        let text = match self.arg(name) {
            Value::Int(int) => int.to_string(),
            other => other.as_str()?.to_owned(),
        };
        Jid::parse(text).ok()
    }

    /// What its events begin with.
    pub(super) fn tag(&self) -> &str {
        self.tag
    }

    /// Fires an event about the run.
    pub(super) fn event(&self, suffix: &str, data: Map) {
        self.runners
            .bus
            .fire(&format!("{}/{suffix}", self.tag), data);
    }

    /// Reports progress.
    pub(super) fn progress(&self, data: Map) {
        self.event("progress", data);
    }

    /// Text that `salt-run` prints unchanged and at once.
    pub(super) fn print(&self, text: impl Into<Value>) {
        self.progress(Map::from([(PRINT, text.into())]));
    }

    /// Whom a target means among the accepted minions.
    pub(super) fn targeted(
        &self,
        tgt: &Value,
        tgt_type: &str,
    ) -> Result<Vec<MinionId>, RunnerError> {
        let asked = Asked {
            tgt,
            tgt_type,
            delimiter: DELIMITER_DEFAULT,
            with_unknown: self.runners.fleet.settings.targets_uncached,
            ranges: Some(&self.runners.fleet.range_server),
        };
        let resolved = resolve(asked, &*self.runners.fleet)
            .map_err(|error| RunnerError::Failed(error.to_string()))?;
        Ok(resolved.minions)
    }

    /// Whom the arguments `tgt` and `tgt_type` mean; everybody without a
    /// target.
    pub(super) fn targets(&self) -> Result<Vec<MinionId>, RunnerError> {
        let everybody = Value::from("*");
        let tgt = match self.arg("tgt") {
            Value::Nil => &everybody,
            tgt => tgt,
        };
        self.targeted(tgt, self.text("tgt_type").unwrap_or("glob"))
    }
}

fn bound(found: &Found, args: Vec<Value>, kwargs: Map) -> Result<Bound, RunnerError> {
    let signature = Signature::parse(found.signature())
        .map_err(|error| RunnerError::Failed(error.to_string()))?;
    signature
        .bind(found.python_name(), args, kwargs)
        .map_err(RunnerError::BadArguments)
}
