//! `salt`: minions, runners and wheel functions as states, for orchestrations.
//!
//! They run where the [`halite_call::MinionContext`] is that of a master.

mod event;
mod function;
mod master;
mod minions;
mod parallel;
mod state;
mod told;

use halite_call::{Function, Module};

pub use told::ORCHESTRATION;

pub(super) const MODULE: Module = Module {
    name: "salt",
    functions: FUNCTIONS,
};

/// What [`halite_call::MinionContext::commander`] is asked for.
const COMMANDING: &str = "commanding minions";
const MASTER_FUNCTIONS: &str = "running functions of the master";

/// Sorted by name.
const FUNCTIONS: &[Function] = &[
    Function::new(
        "salt.function",
        "(name, tgt, ssh=False, tgt_type='glob', ret='', ret_config=None, ret_kwargs=None, expect_minions=False, fail_minions=None, fail_function=None, arg=None, kwarg=None, timeout=None, batch=None, subset=None, failhard=None, **kwargs)",
        function::function,
        "Runs the function `name` on the minions that `tgt` means. The state fails if\nit fails on one that `fail_minions` does not list.",
    ),
    Function::new(
        "salt.parallel_runners",
        "(name, runners, **kwargs)",
        parallel::parallel_runners,
        "Runs several runners at once. `runners` maps names to lists of `name` (the\nrunner) and `kwarg`.",
    ),
    Function::new(
        "salt.runner",
        "(name, **kwargs)",
        master::runner,
        "Runs the runner `name`, with `arg` and `kwarg` or the other arguments by name.",
    ),
    Function::new(
        "salt.state",
        "(name, tgt, ssh=False, tgt_type='glob', ret='', ret_config=None, ret_kwargs=None, highstate=None, sls=None, top=None, saltenv=None, test=None, pillar=None, pillarenv=None, expect_minions=True, exclude=None, fail_minions=None, allow_fail=0, concurrent=False, timeout=None, batch=None, queue=False, subset=None, orchestration_jid=None, failhard=None, **kwargs)",
        state::state,
        "Applies `sls`, the top file `top` or the highstate on the minions that `tgt`\nmeans. The state fails if it fails on more than `allow_fail` minions that\n`fail_minions` does not list.",
    ),
    Function::new(
        "salt.wait_for_event",
        "(name, id_list, event_id='id', timeout=300, node='master')",
        event::wait_for_event,
        "Waits until events whose tags match `name` have named everybody in\n`id_list`, at most `timeout` seconds.",
    ),
    Function::new(
        "salt.wheel",
        "(name, **kwargs)",
        master::wheel,
        "Runs the wheel function `name`, with `arg` and `kwarg` or the other arguments\nby name.",
    ),
];
