//! `config.*`: settings of the minion, its pillar and its master.

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use halite_call::{Call, CallError, CallResult, Function, Module, dicts, os_error, paths, python};

pub(super) const MODULE: Module = Module {
    name: "config",
    functions: &[
        Function::new(
            "config.backup_mode",
            "(backup='')",
            backup_mode,
            "How states keep the files they replace: as asked, or as configured.",
        ),
        Function::new(
            "config.dot_vals",
            "(value)",
            dot_vals,
            "All settings whose names start with `value.`.",
        ),
        Function::new(
            "config.gather_bootstrap_script",
            "(bootstrap=None)",
            gather_bootstrap_script,
            "Fetches the script that installs minions and returns where it is.",
        ),
        Function::new(
            "config.get",
            "(key, default='', delimiter=':', merge=None, omit_opts=False, omit_pillar=False, omit_master=False, omit_grains=False)",
            get,
            "A setting, looked for in the minion's options, then in its grains, in the\npillar and in the master's options. With merge=recurse or overwrite, maps\nfound in several places are merged.",
        ),
        Function::new("config.items", "()", items, "All options of the minion."),
        Function::new(
            "config.manage_mode",
            "(mode)",
            manage_mode,
            "A file mode as four octal digits.",
        ),
        Function::new(
            "config.merge",
            "(value, default='', omit_opts=False, omit_master=False, omit_pillar=False)",
            merge,
            "A setting, merged from the places where it is a map or list.",
        ),
        Function::new(
            "config.option",
            "(value, default=None, omit_opts=False, omit_grains=False, omit_pillar=False, omit_master=False, omit_all=False, wildcard=False)",
            option,
            "A setting by its whole name; with wildcard, all that match a pattern.",
        ),
        Function::new(
            "config.valid_fileproto",
            "(uri)",
            valid_fileproto,
            "Whether files can be fetched from an address of this kind.",
        ),
    ],
};

/// Where the script that installs minions comes from.
const BOOTSTRAP: &str =
    "https://github.com/saltstack/salt-bootstrap/releases/latest/download/bootstrap-salt.sh";

/// Settings that modules have when nobody configures them.
const DEFAULTS: &[(&str, &str)] = &[
    ("mongo.db", "salt"),
    ("mongo.password", ""),
    ("mongo.user", ""),
    ("mongo.host", "salt"),
    ("mongo.indexes", ""),
    ("redis.db", "0"),
    ("redis.host", "salt"),
    ("test.foo", "unconfigured"),
    ("ca.cert_base_path", "/etc/pki"),
    ("solr.cores", ""),
    ("solr.host", "localhost"),
    ("solr.port", "8983"),
    ("poudriere.config", "/usr/local/etc/poudriere.conf"),
    ("poudriere.config_dir", "/usr/local/etc/poudriere.d"),
    ("ldap.uri", ""),
    ("ldap.server", "localhost"),
    ("ldap.port", "389"),
];

fn default_of(name: &str) -> Option<Value> {
    let found = DEFAULTS.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| (*value).into())
}

/// Where settings are looked for, in this order.
fn places(call: &Call<'_>) -> Vec<Map> {
    let mut places = Vec::new();
    let pillar = call.ctx.pillar();
    if !call.flag("omit_opts") {
        places.push(call.ctx.opts().clone());
    }
    if call.get("omit_grains").is_some_and(|omit| !omit.is_true()) {
        places.push(Map::clone(&call.ctx.grains()));
    }
    if !call.flag("omit_pillar") {
        places.push(Map::clone(&pillar));
    }
    if !call.flag("omit_master")
        && let Some(master) = pillar.get("master").and_then(Value::as_map)
    {
        places.push(master.clone());
    }
    places
}

fn get(call: &Call<'_>) -> CallResult {
    let (key, delimiter) = (call.text("key"), call.text("delimiter"));
    let found = match call.text_opt("merge") {
        Some(strategy) => {
            let all = merged(call, &strategy);
            python::traverse_map(&all, &key, &delimiter).cloned()
        }
        None => places(call)
            .iter()
            .find_map(|place| python::traverse_map(place, &key, &delimiter).cloned())
            .or_else(|| default_of(&key)),
    };
    resolved(call, found.unwrap_or_else(|| call.arg("default").clone()))
}

/// What is behind a setting that is an address of `sdb`.
fn resolved(call: &Call<'_>, value: Value) -> CallResult {
    match value.as_str() {
        Some(text) if text.starts_with("sdb://") => call.salt("sdb.get", &[value], Map::new()),
        _ => Ok(value),
    }
}

/// Fetches the script that installs a minion and puts it where Salt does.
fn gather_bootstrap_script(call: &Call<'_>) -> CallResult {
    let given = call.text_opt("bootstrap");
    let option = call.opt_text("bootstrap_script_url");
    let usual = option.unwrap_or_else(|| BOOTSTRAP.to_owned());
    let source = given.unwrap_or_else(|| usual.clone());
    let name = match source == usual {
        true => "bootstrap-salt.sh",
        false => source.rsplit('/').next().unwrap_or(&source),
    };
    if name.is_empty() || name.starts_with('.') {
        return Err(CallError::invocation(format!(
            "no script is called {name:?}"
        )));
    }
    let folder = call.ctx.config_dir().join("cloud.deploy.d");
    let failed = |error: std::io::Error| os_error(&error, &folder);
    paths::create_dir_all(&folder).map_err(failed)?;
    let target = folder.join(name).display().to_string();
    let args = [Value::from(source.as_str()), target.as_str().into()];
    let fetched = match source.contains("://") {
        true => call.salt("cp.get_url", &args, Map::new())?.is_true(),
        false => paths::read(&source)
            .and_then(|script| paths::write(&target, script))
            .map_err(failed)
            .map(|()| true)?,
    };
    match fetched {
        true => Ok(target.into()),
        false => Err(CallError::command(format!(
            "Failed to download the latest stable version of the bootstrap-salt.sh script from {source}."
        ))),
    }
}

/// All settings in one map; the minion's own options have the last word. As in
/// Salt nothing is left out here, whatever the call says.
fn merged(call: &Call<'_>, strategy: &str) -> Map {
    let (pillar, grains) = (call.ctx.pillar(), call.ctx.grains());
    let mut all: Map = DEFAULTS
        .iter()
        .map(|(name, value)| (Value::from(*name), Value::from(*value)))
        .collect();
    let master = pillar.get("master").and_then(Value::as_map);
    let places = [
        master,
        Some(&*pillar),
        Some(&*grains),
        Some(call.ctx.opts()),
    ];
    for place in places.into_iter().flatten() {
        if strategy == "overwrite" {
            all.extend(place.clone());
        } else {
            dicts::update(&mut all, place, false);
        }
    }
    all
}

fn items(call: &Call<'_>) -> CallResult {
    Ok(call.ctx.opts().clone().into())
}

fn option(call: &Call<'_>) -> CallResult {
    let name = call.text("value");
    let default = match call.arg("default") {
        Value::Nil => Value::from(""),
        default => default.clone(),
    };
    if call.flag("omit_all") {
        return Ok(default_of(&name).unwrap_or(default));
    }
    let places = places(call);
    if call.flag("wildcard") {
        let mut found = Map::new();
        for place in places.iter().rev() {
            for (key, value) in place {
                if fnmatch(&name, &python::str(key)) {
                    found.insert(key.clone(), value.clone());
                }
            }
        }
        return Ok(if found.is_empty() {
            default
        } else {
            found.into()
        });
    }
    let found = places.iter().find_map(|place| place.get(&name).cloned());
    resolved(call, found.or_else(|| default_of(&name)).unwrap_or(default))
}

fn merge(call: &Call<'_>) -> CallResult {
    let name = call.text("value");
    let mut merged: Option<Value> = None;
    for place in places(call) {
        let Some(value) = place.get(&name) else {
            continue;
        };
        match (&mut merged, value) {
            (None, Value::Map(_) | Value::List(_)) => merged = Some(value.clone()),
            (None, other) => return Ok(other.clone()),
            (Some(Value::Map(known)), Value::Map(more)) => {
                let mut under = more.clone();
                dicts::update(&mut under, known, false);
                *known = under;
            }
            (Some(Value::List(known)), Value::List(more)) => known.extend(more.iter().cloned()),
            _ => {}
        }
    }
    Ok(merged
        .or_else(|| default_of(&name))
        .unwrap_or_else(|| call.arg("default").clone()))
}

fn dot_vals(call: &Call<'_>) -> CallResult {
    let prefix = format!("{}.", call.text("value"));
    let mut found = Map::new();
    for place in [&*call.ctx.pillar(), call.ctx.opts()] {
        for (key, value) in place {
            if key.as_str().is_some_and(|key| key.starts_with(&prefix)) {
                found.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(found.into())
}

fn manage_mode(call: &Call<'_>) -> CallResult {
    let mode = call.arg("mode");
    if mode.is_nil() {
        return Ok(Value::Nil);
    }
    let text = python::str(mode);
    let digits = text.trim_matches(['"', '\'']).trim_start_matches("0o");
    let digits = digits.trim_start_matches('0');
    if digits.bytes().any(|byte| !byte.is_ascii_digit()) {
        return Ok(text.trim_matches(['"', '\'']).into());
    }
    Ok(format!("{digits:0>4}").into())
}

fn valid_fileproto(call: &Call<'_>) -> CallResult {
    const KINDS: &[&str] = &["salt", "http", "https", "ftp", "s3", "swift"];
    let uri = call.text("uri");
    Ok(uri
        .split_once("://")
        .is_some_and(|(kind, _)| KINDS.contains(&kind))
        .into())
}

fn backup_mode(call: &Call<'_>) -> CallResult {
    let asked = call.arg("backup");
    if asked.is_true() {
        return Ok(asked.clone());
    }
    Ok(call.opt_text("backup_mode").unwrap_or_default().into())
}
