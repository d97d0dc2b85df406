//! Refreshes grains, pillar and modules while the minion runs.

use halite_proto::Value;

use halite_call::{Call, CallError, CallResult, Refresh, python};

pub(super) fn refresh_grains(call: &Call<'_>) -> CallResult {
    let kwargs = call.clean_kwargs();
    for (key, _) in &kwargs {
        let known = ["clean_pillar_cache", "refresh_pillar"];
        if !key.as_str().is_some_and(|key| known.contains(&key)) {
            return Err(CallError::invocation(format!(
                "The following keyword arguments are not valid: {}={}",
                python::str(key),
                python::str(kwargs.get_value(key).unwrap_or(&Value::Nil))
            )));
        }
    }
    let clean_cache = kwargs.get("clean_pillar_cache").is_some_and(Value::is_true);
    let refreshed = if kwargs.get("refresh_pillar").is_none_or(Value::is_true) {
        call.ctx.refresh(Refresh::Pillar { clean_cache }, None)?
    } else {
        call.ctx.refresh(Refresh::Grains, None)?
    };
    Ok(refreshed.into())
}

pub(super) fn refresh_pillar(call: &Call<'_>) -> CallResult {
    let wait = if call.flag("wait") {
        Some(u64::try_from(call.int("timeout")?).unwrap_or_default())
    } else {
        None
    };
    let clean_cache = call.flag("clean_cache");
    Ok(call
        .ctx
        .refresh(Refresh::Pillar { clean_cache }, wait)?
        .into())
}

pub(super) fn refresh_modules(call: &Call<'_>) -> CallResult {
    Ok(call.ctx.refresh(Refresh::Modules, None)?.into())
}

pub(super) fn refresh_beacons(call: &Call<'_>) -> CallResult {
    Ok(call.ctx.refresh(Refresh::Beacons, None)?.into())
}

pub(super) fn refresh_matchers(call: &Call<'_>) -> CallResult {
    Ok(call.ctx.refresh(Refresh::Matchers, None)?.into())
}

pub(super) fn refresh_resources(call: &Call<'_>) -> CallResult {
    let Some(bus) = call.ctx.local_bus() else {
        return Ok(false.into());
    };
    let fired = bus.fire_local("resource_refresh", halite_proto::Map::new());
    Ok(fired.unwrap_or_default().into())
}
