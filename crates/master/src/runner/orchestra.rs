//! The master as the minion of its own state runs: its files, its pillar, its
//! grains, and the fleet behind it.
//!
//! Invariant: an orchestration acts with the rights of the user who asked for the
//! runner, by jobs and runners of their own.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use halite_call::{
    Commander, ContextError, Daemon, Files, Jobs, LocalBus, MasterAnswer, MasterBus,
    MasterFunction, MinionContext, MinionReturn, MinionsAnswer, MinionsCommand, PillarRequest,
    Recall, Refresh, Registry, Runners, Upstream,
};
use halite_gather::batch::BatchSize;
use halite_grains::GrainsOptions;
use halite_pillar::Request;
use halite_proto::publish::FunSpec;
use halite_proto::{Jid, Map, Value};
use tokio::time::sleep_until;

use super::call::Around;
use super::gather::{Command, Row};
use super::run::BAD_ARGUMENTS;
use super::{Asked, Call, run_and_tell};
use crate::error::chain;
use crate::wheel;

/// The pillar and environment given for an orchestration.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) pillar: Map,
    pub(super) saltenv: Option<String>,
    pub(super) pillarenv: Option<String>,
}

/// A master that runs states.
pub(super) struct Orchestra {
    around: Around,
    opts: Map,
    plan: Plan,
    grains: OnceLock<Arc<Map>>,
    pillar: OnceLock<Arc<Map>>,
}

impl Orchestra {
    pub(super) fn new(call: &Call<'_>, plan: Plan) -> Self {
        let mut opts = call.runners.functions.context().opts().clone();
        opts.insert("id", call.runners.general.id.as_str());
        opts.insert("__role", "master");
        opts.insert("file_client", "local");
        // Its states tell of what they command under this id.
        opts.insert(halite_state_run::ORCHESTRATION, call.jid);
        Self {
            around: call.around(),
            opts,
            plan,
            grains: OnceLock::new(),
            pillar: OnceLock::new(),
        }
    }

    fn compiled(&self, request: &PillarRequest) -> Map {
        let or_plan =
            |asked: &Option<String>, plan: &Option<String>| asked.clone().or_else(|| plan.clone());
        self.around.runners.pillars.compile(&Request {
            id: self.id(),
            grains: self.grains(),
            saltenv: or_plan(&request.saltenv, &self.plan.saltenv),
            pillarenv: or_plan(&request.pillarenv, &self.plan.pillarenv),
            overrides: match &request.overrides {
                Some(overrides) => overrides.clone(),
                None => self.plan.pillar.clone(),
            },
            ..Request::default()
        })
    }

    fn asked(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Asked {
        Asked {
            args,
            kwargs,
            told: Map::from([("__pub_user", self.around.user.as_str())]),
            proven_by: self.around.proven_by.clone(),
            ..Asked::new(fun, &self.around.user)
        }
    }

    fn wheel(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> MasterAnswer {
        let answer = wheel::run(
            &self.around.runners.wheel,
            fun,
            args,
            kwargs,
            (&self.around.user, self.around.proven_by.as_ref()),
        );
        let data = answer.get("data").and_then(Value::as_map);
        let of = |name: &str| data.and_then(|data| data.get(name)).cloned();
        MasterAnswer {
            ret: of("return").unwrap_or_else(|| answer.clone()),
            success: of("success").is_some_and(|success| success.is_true()),
            jid: of("jid").and_then(|jid| jid.as_str().map(str::to_owned)),
        }
    }

    /// One job for the minions of `tgt`.
    fn job(
        &self,
        call: &Call<'_>,
        command: &MinionsCommand,
        tgt: Value,
        tgt_type: &str,
    ) -> Result<(Option<Jid>, Vec<Row>), ContextError> {
        let mut arg = command.arg.clone();
        if !command.kwarg.is_empty() {
            let mut marked = Map::from([("__kwarg__", true)]);
            marked.extend(command.kwarg.clone());
            arg.push(marked.into());
        }
        let mut job = Command::new(call, tgt, tgt_type, &command.fun);
        job.fun = FunSpec::One(command.fun.clone());
        job.arg = arg;
        job.ret = &command.ret;
        if let Some(timeout) = command.timeout {
            job.timeout = timeout;
        }
        call.publish(&job)
            .map_err(|error| ContextError::Other(chain(&error)))
    }

    /// Whom the command means, where that must be known before it is sent.
    fn chosen(
        &self,
        call: &Call<'_>,
        command: &MinionsCommand,
    ) -> Result<Vec<String>, ContextError> {
        let meant = call
            .targeted(&command.tgt, &command.tgt_type)
            .map_err(|error| ContextError::Other(chain(&error)))?;
        let mut ids: Vec<String> = meant.iter().map(ToString::to_string).collect();
        if let Some(subset) = command.subset {
            shuffle(&mut ids);
            ids.truncate(subset);
        }
        Ok(ids)
    }
}

/// Puts ids into an order that nobody can foretell.
fn shuffle(ids: &mut [String]) {
    ids.sort_by_cached_key(|id| {
        let mut bytes = halite_crypto::random_bytes::<16>().to_vec();
        bytes.extend(id.as_bytes());
        bytes
    });
}

fn as_return(row: Row) -> MinionReturn {
    MinionReturn {
        ret: (!row.is_missing).then_some(row.ret),
        retcode: match row.is_missing {
            // Salt counts it as failed by its missing return, not by a code.
            true => 0,
            false => row.retcode.as_i64().unwrap_or(0),
        },
        id: row.id,
    }
}

impl MinionContext for Orchestra {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn registry(&self) -> &'static Registry {
        halite_state_run::registry()
    }

    fn grains(&self) -> Arc<Map> {
        let grains = self.grains.get_or_init(|| {
            let options = GrainsOptions {
                id: self.id(),
                ..GrainsOptions::default()
            };
            Arc::new(halite_grains::collect(&options))
        });
        Arc::clone(grains)
    }

    fn pillar(&self) -> Arc<Map> {
        let compile = || Arc::new(self.compiled(&PillarRequest::default()));
        Arc::clone(self.pillar.get_or_init(compile))
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        Ok(self.compiled(request))
    }

    fn refresh(&self, _what: Refresh, _wait: Option<u64>) -> Result<bool, ContextError> {
        Ok(true)
    }

    fn recall(&self) -> Option<&Recall> {
        None
    }

    fn files(&self) -> &dyn Files {
        self.around.runners.functions.context().files()
    }

    fn upstream(&self) -> Result<&dyn Upstream, ContextError> {
        Err(ContextError::NoMaster)
    }

    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError> {
        Ok(&*self.around.runners.bus)
    }

    fn local_bus(&self) -> Option<&dyn LocalBus> {
        Some(&*self.around.runners.bus)
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        None
    }

    fn daemon(&self) -> Option<&dyn Daemon> {
        None
    }

    fn runners(&self) -> Result<&dyn Runners, ContextError> {
        Ok(self)
    }

    fn commander(&self, _what: &'static str) -> Result<&dyn Commander, ContextError> {
        Ok(self)
    }
}

impl Runners for Orchestra {
    fn run(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, ContextError> {
        self.run_on_master(MasterFunction::Runner, fun, args, kwargs)
            .map(|answer| answer.ret)
    }
}

impl Commander for Orchestra {
    fn run_on_master(
        &self,
        kind: MasterFunction,
        fun: &str,
        args: Vec<Value>,
        kwargs: Map,
    ) -> Result<MasterAnswer, ContextError> {
        if kind == MasterFunction::Wheel {
            return Ok(self.wheel(fun, args, kwargs));
        }
        let asked = self.asked(fun, args, kwargs);
        let told = run_and_tell(&self.around.runners, asked, self.around.stop.within())
            .map_err(|error| ContextError::Other(chain(&error)))?;
        let retcode = told.get("retcode").and_then(Value::as_i64);
        let ret = told.get("return").cloned().unwrap_or_default();
        // `salt-run` shows the documentation then; here nothing was done.
        let bad_arguments = ret
            .as_str()
            .is_some_and(|text| text.starts_with(BAD_ARGUMENTS));
        let success = told.get("success").is_some_and(Value::is_true);
        Ok(MasterAnswer {
            success: success && !bad_arguments && retcode.unwrap_or(0) == 0,
            jid: told.get("jid").and_then(Value::as_str).map(str::to_owned),
            ret,
        })
    }

    fn command_minions(&self, command: &MinionsCommand) -> Result<MinionsAnswer, ContextError> {
        let call = Call::within(&self.around);
        if command.batch.is_none() && command.subset.is_none() {
            let (jid, rows) = self.job(&call, command, command.tgt.clone(), &command.tgt_type)?;
            return Ok(MinionsAnswer {
                jid: jid.map(|jid| jid.to_string()),
                returns: rows.into_iter().map(as_return).collect(),
            });
        }
        let ids = self.chosen(&call, command)?;
        let size = match &command.batch {
            Some(text) => BatchSize::parse(text)
                .ok_or_else(|| {
                    ContextError::Other(format!(
                        "batch: '{text}' is neither a number nor a percentage"
                    ))
                })?
                .count(ids.len()),
            None => ids.len().max(1),
        };
        let mut answer = MinionsAnswer::default();
        for some in ids.chunks(size) {
            let tgt = Value::List(some.iter().map(|id| id.as_str().into()).collect());
            let (jid, rows) = self.job(&call, command, tgt, "list")?;
            answer.jid = answer.jid.or_else(|| jid.map(|jid| jid.to_string()));
            answer.returns.extend(rows.into_iter().map(as_return));
            let failed = |of: &MinionReturn| of.ret.is_none() || of.retcode != 0;
            if command.failhard && answer.returns.iter().any(failed) {
                break;
            }
        }
        Ok(answer)
    }

    fn watch_events(
        &self,
        wait: Duration,
        seen: &mut dyn FnMut(&str, &Map) -> bool,
    ) -> Result<bool, ContextError> {
        let mut events = self.around.runners.bus.subscribe(String::new());
        let until = Instant::now() + wait;
        loop {
            let event = self.around.runtime.block_on(async {
                tokio::select! {
                    event = events.recv() => event,
                    () = sleep_until(until.into()) => None,
                    () = self.around.stop.stopped() => None,
                }
            });
            if let Some(why) = self.around.stop.why() {
                return Err(ContextError::Other(why.to_string()));
            }
            match event {
                Some(event) => {
                    if let Ok(event) = event.unpack()
                        && seen(event.tag.as_str(), &event.data)
                    {
                        return Ok(true);
                    }
                }
                None => return Ok(false),
            }
        }
    }
}
