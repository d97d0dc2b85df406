//! Executors in Python: wrappers through which functions run (`module_executors`).

use crate::signature::Bound;
use halite_proto::Value;
use halite_pyworker::{Request, Workers};

use super::host::{CallHost, failure};
use super::{ExtensionKind, function, of_salt};
use crate::call::Call;
use crate::context::MinionContext;
use crate::job::Job;
use crate::run::{Outcome, run_with};

/// Runs a function through the executor of this name; a return of nothing
/// leaves the function to the next one. None if there is no such executor,
/// neither of users nor in an installed Salt.
pub fn execute(
    ctx: &dyn MinionContext,
    executor: &str,
    fun: &str,
    args: &[Value],
    job: &Job,
) -> Option<Outcome> {
    let name = format!("{executor}.execute");
    let salt = function(ctx, ExtensionKind::Executors, &name).is_none();
    if salt {
        of_salt(ctx, ExtensionKind::Executors, &name)?;
    }
    let mut data = job.load.clone();
    data.get_or_insert_with("fun", || fun.into());
    Some(run_with(ctx, fun, args, job, |_, args, kwargs, retcode| {
        let call = Call::new(ctx, job, Bound::default(), retcode, 1);
        let request = Request::Execute {
            name: &name,
            fun,
            data: &data,
            args: &args,
            kwargs: &kwargs,
            salt,
            job: job.jid(),
        };
        Workers::global()
            .run(&CallHost(&call), request)
            .map_err(|error| failure(fun, error))
    }))
}
