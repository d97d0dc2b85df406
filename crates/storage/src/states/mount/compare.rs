//! Compares a mount with the wanted one.

use halite_call::{Call, CallError, python};

use crate::mount::{self, Active};

/// Options that the kernel does not show.
const INVISIBLE: &[&str] = &[
    "_netdev",
    "actimeo",
    "bg",
    "comment",
    "defaults",
    "delay_connect",
    "direct-io-mode",
    "intr",
    "loop",
    "nointr",
    "nobootwait",
    "nofail",
    "password",
    "reconnect",
    "retry",
    "soft",
    "auto",
    "noauto",
    "users",
    "user",
    "bind",
    "nonempty",
    "transform_symlinks",
    "port",
    "backup-volfile-servers",
    "credentials",
    "secretfile",
    "rw",
];

/// Sizes in kibibytes, as the kernel shows them.
fn normal(opt: &str) -> String {
    let Some(size) = opt.strip_prefix("size=") else {
        return opt.to_owned();
    };
    let (number, unit) = size.split_at(
        size.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(size.len()),
    );
    let factor = match unit {
        "k" | "K" => 1,
        "m" | "M" => 1024,
        "g" | "G" => 1024 * 1024,
        _ => return opt.to_owned(),
    };
    match number.parse::<u64>() {
        Ok(number) => format!("size={}k", number.saturating_mul(factor)),
        Err(_) => opt.to_owned(),
    }
}

/// The options that what is mounted lacks.
pub(super) fn missing(call: &Call<'_>, opts: &[String], now: &Active) -> Vec<String> {
    let mut invisible: Vec<String> = INVISIBLE.iter().map(|opt| (*opt).to_owned()).collect();
    for arg in [
        "extra_mount_invisible_options",
        "hidden_opts",
        "extra_mount_invisible_keys",
    ] {
        invisible.extend(mount::options(call.arg(arg)));
    }
    let active: Vec<String> = now.opts.iter().map(|opt| normal(opt)).collect();
    let mut missing: Vec<String> = opts
        .iter()
        .map(|opt| normal(opt))
        .filter(|opt| {
            let key = opt.split('=').next().unwrap_or(opt);
            !active.contains(opt)
                && !invisible
                    .iter()
                    .any(|hidden| hidden == opt || hidden == key)
                && !opt.starts_with("x-")
        })
        .collect();
    missing.sort();
    missing
}

/// Whether what is mounted is the wanted device, under one of its names.
pub(super) fn is_device(call: &Call<'_>, wanted: &str, now: &str) -> bool {
    let real = |device: &str| {
        let by = [
            ("UUID=", "by-uuid"),
            ("LABEL=", "by-label"),
            ("PARTUUID=", "by-partuuid"),
        ];
        let named = by.iter().find_map(|(prefix, directory)| {
            let id = device.strip_prefix(prefix)?.trim_matches('"');
            Some(format!("/dev/disk/{directory}/{id}"))
        });
        let path = named.unwrap_or_else(|| device.to_owned());
        let real = std::fs::canonicalize(call.host().path(&path));
        real.map_or(path, |path| path.display().to_string())
    };
    wanted == now || (now.starts_with('/') && real(wanted) == real(now))
}

/// Whether what is mounted may have its name, though it is not the wanted one
/// (`device_name_regex`): some file systems show one server of many.
pub(super) fn is_named_so(call: &Call<'_>, now: &str) -> Result<bool, CallError> {
    for pattern in python::texts(call.arg("device_name_regex")) {
        let matches = halite_target::pcre::match_start(&pattern, now).map_err(|error| {
            CallError::command(format!("device_name_regex {pattern:?}: {error}"))
        })?;
        if matches {
            return Ok(true);
        }
    }
    Ok(false)
}
