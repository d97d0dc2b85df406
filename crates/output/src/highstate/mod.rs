//! Results of state runs, as `state.apply` prints them (`salt/output/highstate.py`,
//! 3008.5).
//!
//! Data that is not the result of a state run is rejected; the caller shows it in
//! another way.

mod compress;
mod counts;
mod fields;
mod host;
mod line;
mod tabular;

use std::borrow::Cow;

use halite_proto::Value;

use crate::{RenderOptions, Unfit};

/// How much deeper changes stand than the fields they belong to.
const CHANGES_INDENT: usize = 14;

pub(crate) fn render(data: &Value, options: &RenderOptions) -> Result<String, Unfit> {
    hosts(data, options, 1)
}

/// The hosts of `data`; `depth` counts state runs inside state runs.
fn hosts(data: &Value, options: &RenderOptions, depth: usize) -> Result<String, Unfit> {
    let data = unwrapped(data);
    match data {
        Value::Str(text) => return Ok(text.clone()),
        Value::Nil => return Ok("None".to_owned()),
        _ => {}
    }
    let mut hosts = Cow::Borrowed(data.as_map().ok_or(Unfit)?);
    let mut masters = 0;
    for key in hosts.keys() {
        if key.as_str().ok_or(Unfit)?.ends_with("_master") {
            masters += 1;
        }
    }
    // What an orchestration returns has its exit code beside the master's id.
    if masters == 1 && hosts.contains_key("retcode") {
        hosts.to_mut().remove("retcode");
    }
    if options.highstate.compress_ids
        && let Some(compressed) = compress::compressed(&hosts)
    {
        hosts = Cow::Owned(compressed);
    }
    let mut texts = Vec::new();
    for (id, states) in hosts.iter() {
        texts.push(host::render(id.as_str().ok_or(Unfit)?, states, options, depth)?.text);
    }
    Ok(texts.join("\n"))
}

/// The states inside the envelopes of a runner, of an orchestration or of a job
/// that was looked up.
fn unwrapped(data: &Value) -> &Value {
    let data = data.get("return").unwrap_or(data);
    let data = data.get("data").unwrap_or(data);
    if let Some(map) = data.as_map()
        && map.len() == 1
        && let Some(only @ Value::Map(inner)) = map.values().next()
        && inner.contains_key("jid")
        && inner.contains_key("fun")
    {
        return only
            .get("return")
            .and_then(|value| value.get("data"))
            .unwrap_or(data);
    }
    data
}
