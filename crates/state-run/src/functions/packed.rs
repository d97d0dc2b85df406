//! The function that runs the states of an archive.

use std::path::Path;
use std::sync::Arc;

use halite_call::{Call, CallError, CallResult, Function, within_call};
use halite_state::compile::Compiler;

use super::run::{refused, shown_as_states};
use super::single::turn;
use crate::applied;
use crate::context::{StateContext, part_is_over};
use crate::package::Package;
use crate::source::with_source;

pub(super) const PKG: Function = shown_as_states(Function::new(
    "state.pkg",
    "(pkg_path, pkg_sum, hash_type, test=None, **kwargs)",
    pkg,
    "Runs the states of an archive on this machine (a tar.gz with lowstate.json,\npillar.json, roster_grains.json, and a directory of files for each environment),\nif pkg_sum is its sum.",
));

fn pkg(call: &Call<'_>) -> CallResult {
    let path = call.text("pkg_path");
    let (sum, hash_type) = (call.text("pkg_sum"), call.text("hash_type"));
    let mut opts = call.ctx.opts().clone();
    let mut package =
        Package::open(Path::new(&path), &sum, &hash_type, &opts).map_err(CallError::command)?;
    let _turn = match turn(call)? {
        Ok(turn) => turn,
        Err(others) => return Ok(refused(call, others)),
    };
    // Whatever it was that this minion has done before.
    part_is_over(call.ctx);
    let pillar = match package.pillar.take() {
        Some(pillar) => Arc::new(pillar),
        None => call.ctx.pillar(),
    };
    let grains = match package.grains.take() {
        Some(grains) => Arc::new(grains),
        None => call.ctx.grains(),
    };
    let chunks = std::mem::take(&mut package.chunks);
    opts.insert("file_client", "local");
    opts.insert("file_roots", package.file_roots.clone());
    opts.insert("test", applied::test_mode(call));
    let ctx = StateContext::new(call.ctx, opts, pillar).of_package(&package.files, grains);
    let compiled = within_call(&ctx, call.job, |inner| {
        with_source(inner, |source| {
            applied::ready(source, &Compiler::new(source), chunks)
        })
    });
    let applied = compiled.run(call, &ctx)?;
    call.set_retcode(applied.retcode());
    Ok(applied.into_value())
}
