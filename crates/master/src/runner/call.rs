//! A running runner, as its function sees it.

use std::cell::Cell;
use std::sync::Arc;

use halite_proto::{Jid, Map, MinionId, Value};
use halite_signature::{Bound, Signature};
use tokio::runtime::Handle;

use super::table::Function;
use super::{Run, RunnerError};
use crate::core::jobs::DELIMITER_DEFAULT;
use crate::core::targets::{Asked, resolve};
use crate::master::Master;

/// The call of a runner.
pub(crate) struct Call<'a> {
    /// The master.
    pub(crate) master: &'a Arc<Master>,
    /// The arguments in their places.
    pub(crate) bound: Bound,
    /// The job.
    pub(crate) jid: &'a Jid,
    /// Who asks.
    pub(crate) user: &'a str,
    pub(super) runtime: &'a Handle,
    tag: &'a str,
    /// The return code, where the function sets one.
    pub(super) retcode: Cell<i64>,
}

impl<'a> Call<'a> {
    /// Puts the arguments in their places.
    pub(super) fn bind(
        master: &'a Arc<Master>,
        runtime: &'a Handle,
        run: &'a Run,
        function: &Function,
    ) -> Result<Self, RunnerError> {
        let signature = Signature::parse(function.signature)
            .map_err(|error| RunnerError::Failed(error.to_string()))?;
        let asked = &run.asked;
        let mut kwargs = asked.kwargs.clone();
        // What Salt's clients add for themselves.
        kwargs.retain(|name, _| !name.as_str().is_some_and(|name| name.starts_with("__pub_")));
        let bound = signature
            .bind(function.python_name(), asked.args.clone(), kwargs)
            .map_err(RunnerError::BadArguments)?;
        Ok(Self {
            master,
            bound,
            jid: &run.jid,
            user: &asked.user,
            runtime,
            tag: &run.tag,
            retcode: Cell::new(0),
        })
    }

    /// A call without arguments of its own, within a runner that has been
    /// called: for functions that command minions while the runner runs.
    pub(super) fn within(
        master: &'a Arc<Master>,
        runtime: &'a Handle,
        jid: &'a Jid,
        user: &'a str,
        tag: &'a str,
    ) -> Self {
        Self {
            master,
            bound: Bound::default(),
            jid,
            user,
            runtime,
            tag,
            retcode: Cell::new(0),
        }
    }

    /// The tag that the events of this runner begin with.
    pub(super) fn tag(&self) -> &str {
        self.tag
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
    pub(super) fn seconds(&self, name: &str, default: std::time::Duration) -> std::time::Duration {
        let value = self.arg(name);
        let seconds = value
            .as_f64()
            .or_else(|| value.as_str()?.trim().parse().ok());
        seconds
            .filter(|seconds| *seconds > 0.0)
            .and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds).ok())
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

    /// Tells of progress.
    pub(super) fn progress(&self, data: Map) {
        self.master
            .bus
            .fire(&format!("{}/progress", self.tag), data);
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
        };
        let resolved = resolve(asked, &**self.master)
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
