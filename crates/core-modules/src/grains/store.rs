//! Static grains: the file `grains` beside the configuration.
//!
//! Invariant: the file is replaced whole or not at all, and only by a content that
//! can be read again.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use halite_proto::{Map, Value};
use halite_yaml::DumpOptions;

use crate::limits::{GRAIN_LEVELS_MAX, REFRESH_SECONDS_MAX};
use halite_call::{
    Call, CallError, CallResult, Refresh,
    replace::{Dress, replace_with},
};

pub(super) fn setval(call: &Call<'_>) -> CallResult {
    let new = Map::from([(call.arg("key").clone(), call.arg("val").clone())]);
    store(
        call,
        new,
        call.flag("destructive"),
        call.flag("refresh_pillar"),
    )
}

pub(super) fn setvals(call: &Call<'_>) -> CallResult {
    let new = match call.arg("grains") {
        Value::Map(map) => map.clone(),
        _ => {
            return Err(CallError::exception(
                "salt.exceptions.SaltException",
                "setvals grains must be a dictionary.",
            ));
        }
    };
    store(
        call,
        new,
        call.flag("destructive"),
        call.flag("refresh_pillar"),
    )
}

/// Writes the grains and has them, and the pillar that may depend on them,
/// made new. Returns what was set.
pub(super) fn store(
    call: &Call<'_>,
    new: Map,
    destructive: bool,
    refresh_pillar: bool,
) -> CallResult {
    let path = file(call);
    let failed = |error: &dyn std::fmt::Display| {
        CallError::command(format!(
            "Unable to write to grains file {}: {error}",
            path.display()
        ))
    };
    let mut grains = read(&path).map_err(|error| failed(&error))?;
    for (key, value) in &new {
        if value.is_nil() && destructive {
            grains.retain(|known, _| known != key);
        } else {
            grains.insert(key.clone(), value.clone());
        }
    }
    write(&path, &grains).map_err(|error| failed(&error))?;
    let refreshed = call.ctx.refresh(Refresh::Grains, Some(REFRESH_SECONDS_MAX));
    if let Err(error) = refreshed {
        tracing::debug!(%error, "the grains were not refreshed");
    }
    if refresh_pillar
        && let Err(error) = call
            .ctx
            .refresh(Refresh::Pillar { clean_cache: true }, None)
    {
        tracing::debug!(%error, "the pillar was not refreshed");
    }
    Ok(new.into())
}

fn file(call: &Call<'_>) -> PathBuf {
    let conf = call.opt_text("conf_file").map(PathBuf::from);
    match conf {
        Some(conf) if conf.is_dir() => conf.join("grains"),
        _ => call.ctx.config_dir().join("grains"),
    }
}

fn read(path: &Path) -> Result<Map, String> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(error.to_string()),
    };
    match halite_yaml::load_bytes(&bytes, &path.to_string_lossy()) {
        Ok(node) => match node.into_value() {
            Value::Map(map) => Ok(map),
            Value::Nil => Ok(Map::new()),
            _ => Err("the file does not hold a map".to_owned()),
        },
        Err(error) => Err(format!(
            "the file cannot be read as YAML\n{}",
            error.render()
        )),
    }
}

fn write(path: &Path, grains: &Map) -> io::Result<()> {
    const NEW_FILE_MODE: u32 = 0o644;
    let text = halite_yaml::dump(&grains.clone().into(), DumpOptions::block());
    if let Err(error) = halite_yaml::load(&text, &path.to_string_lossy()) {
        return Err(io::Error::other(error.to_string()));
    }
    replace_with(path, Dress::kept(NEW_FILE_MODE), |file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    })
}

/// Checks that a place is none that lies deeper than anything can be read.
pub(super) fn check_levels(key: &str, delimiter: &str) -> Result<(), CallError> {
    let levels = match delimiter {
        "" => 1,
        delimiter => key.matches(delimiter).count() + 1,
    };
    match levels > GRAIN_LEVELS_MAX {
        true => Err(CallError::invocation(format!(
            "a place in the grains has at most {GRAIN_LEVELS_MAX} levels"
        ))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_not_deeper_than_can_be_read() {
        let place = |levels: usize| vec!["a"; levels].join("::");
        assert!(check_levels(&place(GRAIN_LEVELS_MAX), "::").is_ok());
        assert!(check_levels(&place(GRAIN_LEVELS_MAX + 1), "::").is_err());
        assert!(check_levels(&place(30_000), "").is_ok());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("grains");
        let deep = (0..150).fold(Value::from(1), |inner, _| Map::from([("a", inner)]).into());
        assert!(write(&path, &Map::from([("deep", deep)])).is_err());
        assert!(!path.exists());
    }
}
