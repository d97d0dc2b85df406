//! The time zone of the system: the execution module `timezone`.

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, CallResult, Function, Module, os_error, paths};

pub(crate) const MODULE: Module = Module {
    name: "timezone",
    functions: &[
        Function::new(
            "timezone.get_hwclock",
            "()",
            get_hwclock,
            "Whether the clock has UTC or localtime.",
        ),
        Function::new(
            "timezone.get_offset",
            "()",
            get_offset,
            "How far the zone is from UTC.",
        ),
        Function::new("timezone.get_zone", "()", get_zone_, "The time zone."),
        Function::new(
            "timezone.get_zonecode",
            "()",
            get_zonecode,
            "The letters of the time zone.",
        ),
        Function::new(
            "timezone.set_hwclock",
            "(clock)",
            set_hwclock_,
            "Sets what the clock has.",
        ),
        Function::new(
            "timezone.set_zone",
            "(timezone)",
            set_zone_,
            "Sets the time zone.",
        ),
        Function::new(
            "timezone.zone_compare",
            "(timezone)",
            zone_compare_,
            "Whether a zone is that of the system.",
        ),
    ],
};

const ZONES: &str = "/usr/share/zoneinfo";

fn has_timedatectl(call: &Call<'_>) -> bool {
    call.host().has("timedatectl") && call.host().path("/run/systemd/system").is_dir()
}

/// The zone of the system.
pub(crate) fn zone(call: &Call<'_>) -> Result<String, CallError> {
    let host = call.host();
    if has_timedatectl(call) {
        let ran = Program::new(call, &["timedatectl"]).run()?;
        let zone = ran.stdout.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            let is_zone = key.trim().eq_ignore_ascii_case("time zone") || key.trim() == "Timezone";
            is_zone
                .then(|| value.split_whitespace().next())
                .flatten()
                .map(str::to_owned)
        });
        return zone.ok_or_else(|| {
            CallError::command(format!(
                "Failed to parse timedatectl output: {}\nPlease file an issue with SaltStack",
                ran.stdout
            ))
        });
    }
    let link = std::fs::read_link(host.path("/etc/localtime"));
    let from_link = link.ok().and_then(|link| {
        let text = link.display().to_string();
        text.split_once("zoneinfo/")
            .map(|(_, zone)| zone.to_owned())
    });
    let named = host.read("/etc/timezone");
    let named = named
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'));
    from_link
        .or_else(|| named.map(str::to_owned))
        .ok_or_else(|| CallError::command("Unable to get timezone from /etc/localtime"))
}

fn zone_file(call: &Call<'_>, zone: &str) -> Result<std::path::PathBuf, CallError> {
    let sound = !zone.is_empty()
        && !zone.starts_with('/')
        && zone.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let path = call.host().path(format!("{ZONES}/{zone}"));
    if sound && path.is_file() {
        Ok(path)
    } else {
        Err(CallError::invocation(format!(
            "Can't find a timezone named \"{zone}\""
        )))
    }
}

/// Whether `wanted` is the zone of the system, under this or another name.
pub(crate) fn is_zone(call: &Call<'_>, wanted: &str) -> Result<bool, CallError> {
    let path = call.host().path("/etc/localtime");
    if !path.exists() {
        return Err(CallError::command(
            "/etc/localtime does not exist; the time zone is not set",
        ));
    }
    let file = zone_file(call, wanted)?;
    if zone(call).is_ok_and(|zone| zone == wanted) {
        return Ok(true);
    }
    let read = |path| paths::read(path).unwrap_or_default();
    Ok(read(&file) == read(&path))
}

/// Sets the zone.
pub(crate) fn set_zone(call: &Call<'_>, zone: &str) -> Result<bool, CallError> {
    zone_file(call, zone)?;
    if has_timedatectl(call) {
        let ran = Program::new(call, &["timedatectl", "set-timezone", zone]).run()?;
        if !ran.ok() {
            return Err(CallError::command(ran.stderr));
        }
        return Ok(true);
    }
    let host = call.host();
    let failed = |error: std::io::Error| os_error(&error, "/etc/localtime");
    let new = host.path("/etc/.localtime.new");
    let _ = paths::remove_file(&new);
    paths::symlink(format!("{ZONES}/{zone}"), &new).map_err(failed)?;
    paths::rename(&new, host.path("/etc/localtime")).map_err(failed)?;
    let debian = call
        .ctx
        .grains()
        .get("os_family")
        .and_then(halite_proto::Value::as_str)
        == Some("Debian");
    if debian || host.path("/etc/timezone").exists() {
        replace_file(&host.path("/etc/timezone"), format!("{zone}\n").as_bytes())
            .map_err(failed)?;
    }
    Ok(true)
}

/// `UTC` or `localtime`.
pub(crate) fn hwclock(call: &Call<'_>) -> Result<String, CallError> {
    if has_timedatectl(call) {
        let ran = Program::new(call, &["timedatectl"]).run()?;
        let local = ran
            .stdout
            .lines()
            .filter(|line| line.to_lowercase().contains("rtc in local tz"))
            .any(|line| line.to_lowercase().ends_with("yes"));
        return Ok(if local { "localtime" } else { "UTC" }.to_owned());
    }
    let text = call.host().read("/etc/adjtime");
    Ok(match text.lines().nth(2).map(str::trim) {
        Some("LOCAL") => "localtime",
        _ => "UTC",
    }
    .to_owned())
}

/// Sets what the clock has.
pub(crate) fn set_hwclock(call: &Call<'_>, clock: &str) -> Result<bool, CallError> {
    let local = match clock {
        "UTC" => false,
        "localtime" => true,
        other => {
            return Err(CallError::invocation(format!(
                "localtime or UTC must be specified, not {other}"
            )));
        }
    };
    if has_timedatectl(call) {
        let word = if local { "true" } else { "false" };
        return Ok(Program::new(call, &["timedatectl", "set-local-rtc", word])
            .run()?
            .ok());
    }
    let option = if local { "--localtime" } else { "--utc" };
    Ok(Program::new(call, &["hwclock", "--systohc", option])
        .run()?
        .ok())
}

fn get_zone_(call: &Call<'_>) -> CallResult {
    Ok(zone(call)?.into())
}

fn date(call: &Call<'_>, format: &str) -> CallResult {
    Ok(Program::new(call, &["date", format]).run()?.stdout.into())
}

fn get_zonecode(call: &Call<'_>) -> CallResult {
    date(call, "+%Z")
}

fn get_offset(call: &Call<'_>) -> CallResult {
    date(call, "+%z")
}

fn set_zone_(call: &Call<'_>) -> CallResult {
    Ok(set_zone(call, &call.text("timezone"))?.into())
}

fn zone_compare_(call: &Call<'_>) -> CallResult {
    Ok(is_zone(call, &call.text("timezone"))?.into())
}

fn get_hwclock(call: &Call<'_>) -> CallResult {
    Ok(hwclock(call)?.into())
}

fn set_hwclock_(call: &Call<'_>) -> CallResult {
    Ok(set_hwclock(call, &call.text("clock"))?.into())
}
