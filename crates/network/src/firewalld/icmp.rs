//! Kinds of ICMP that a zone blocks.

use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

use super::functions::listed;
use super::zones;

fn knows(call: &Call<'_>, kind: &Value) -> Result<bool, CallError> {
    let permanent = Map::from([("permanent", call.flag("permanent"))]);
    let kinds = call.salt("firewalld.get_icmp_types", &[], permanent)?;
    Ok(kinds.as_list().is_some_and(|kinds| kinds.contains(kind)))
}

pub(super) fn switch(call: &Call<'_>, block: bool) -> CallResult {
    let kind = call.text("icmp");
    if !knows(call, &kind.as_str().into())? {
        tracing::error!("Invalid ICMP type: {kind}");
        return Ok(false.into());
    }
    let blocked = listed(call, "list-icmp-blocks")?;
    if blocked.split_whitespace().any(|word| word == kind) == block {
        return Ok("success".into());
    }
    let verb = if block { "add" } else { "remove" };
    zones::asked(call, &format!("{verb}-icmp-block={kind}"))
}
