//! `config.*`, `error.*` and `minions.*`: the master itself.

use std::fs;
use std::path::Path;

use halite_call::Bound;
use halite_crypto::files::{MODE_SECRET, WriteOptions, write_atomic};
use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump};

use super::{Done, Function, Wheel, WheelError, function, text};
use crate::error::chain;

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "config.apply",
        "(key, value)",
        apply,
        "Sets one option in the configuration file; use config.update_config, which writes a \
         separate file.",
    ),
    function(
        "config.update_config",
        "(file_name, yaml_contents)",
        update_config,
        "Writes options to a file in the directory of default_include. They take effect when the \
         master is restarted.",
    ),
    function("config.values", "()", values, "All options of the master."),
    function(
        "error.error",
        "(name=None, message='')",
        error,
        "Raises the given error, or does nothing.",
    ),
    function(
        "minions.connected",
        "()",
        connected,
        "The minions with a connection to the wheel.",
    ),
];

/// Options that are never shown.
const SECRET: [&str; 4] = [
    "key_pass",
    "sharedsecret",
    "signing_key_pass",
    // A URL may have a password.
    "store",
];

/// The last parts of the names of options that hold passwords, such as
/// `returner.pgjsonb.pass`: of servers, of programs, of users' own modules.
const PASSWORDS: [&str; 6] = ["bindpw", "pass", "passwd", "password", "secret", "token"];

fn is_secret(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    SECRET.contains(&name) || PASSWORDS.contains(&last)
}

fn values(wheel: &Wheel, _: &Bound) -> Done {
    let opts = wheel.general.opts.iter();
    let told: Map = opts
        .filter(|(name, _)| !name.as_str().is_some_and(is_secret))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Ok(told.into())
}

fn apply(_: &Wheel, _: &Bound) -> Done {
    Err(WheelError::Failed(
        "config.apply would rewrite the configuration file without its comments; use \
         config.update_config, which writes a separate file"
            .to_owned(),
    ))
}

/// Whether a name can be that of a file in the directory, and not a hidden one.
fn is_file_name(name: &str) -> bool {
    const CHARS_MAX: usize = 64;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty()
        && name.len() <= CHARS_MAX
        && !name.starts_with('.')
        && name.chars().all(is_plain)
}

fn update_config(wheel: &Wheel, bound: &Bound) -> Done {
    let name = text(bound, "file_name").unwrap_or_default();
    if !is_file_name(name) {
        return Ok("Invalid path".into());
    }
    let contents = match bound.get("yaml_contents") {
        Some(Value::Map(contents)) => contents.clone(),
        _ => {
            return Err(WheelError::Failed(
                "yaml_contents must be a map of options".to_owned(),
            ));
        }
    };
    let option = |name: &str| wheel.general.opts.get(name).and_then(Value::as_str);
    let Some(config_dir) = option("config_dir") else {
        return Err(WheelError::Failed("there is no config_dir".to_owned()));
    };
    let include = option("default_include").unwrap_or("master.d/*.conf");
    let below = Path::new(include)
        .parent()
        .unwrap_or_else(|| Path::new("master.d"));
    let dir = Path::new(config_dir).join(below);
    let file = format!("{name}.conf");
    let failed = |error: &dyn std::error::Error| WheelError::Failed(chain(error));
    fs::create_dir_all(&dir).map_err(|error| failed(&error))?;
    let yaml = dump(&contents.into(), DumpOptions::default());
    write_atomic(
        &dir.join(&file),
        WriteOptions::new(MODE_SECRET),
        yaml.as_bytes(),
    )
    .map_err(|error| failed(&error))?;
    Ok(format!("Wrote {file}").into())
}

fn error(_: &Wheel, bound: &Bound) -> Done {
    match text(bound, "name") {
        None => Ok(Map::new().into()),
        Some(name) => {
            let message = text(bound, "message").unwrap_or_default();
            Err(WheelError::Failed(format!("{name}: {message}")))
        }
    }
}

fn connected(wheel: &Wheel, _: &Bound) -> Done {
    Ok(Value::List(
        wheel.fleet.connected().iter().map(Value::from).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_name_becomes_a_file() {
        assert!(is_file_name("gui") && is_file_name("a-b_c.d"));
        for name in ["", "../x", "a/b", ".x", "x y", "x\0", "ä"] {
            assert!(!is_file_name(name), "{name:?}");
        }
    }
}
