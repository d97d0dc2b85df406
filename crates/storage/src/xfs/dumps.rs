//! Backups of XFS file systems.

use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

use super::{checked, device};
use halite_call::host::{need, plain, run};

pub(super) fn dump(call: &Call<'_>) -> CallResult {
    if !call.host().has("xfsdump") {
        return Err(CallError::command(
            "Utility \"xfsdump\" has to be installed or missing.",
        ));
    }
    let device = device(call)?;
    let destination = call.text("destination");
    plain(&destination)?;
    let label = call.text_opt("label").unwrap_or_else(|| {
        let now = jiff::Zoned::now().strftime("%Y.%m.%d, %H:%M").to_string();
        format!("XFS dump for \"{device}\" of {now}")
    });
    let level = call.int("level")?.to_string();
    let mut words = vec!["xfsdump", "-F"];
    if !call.flag("noerase") {
        words.push("-E");
    }
    words.extend(["-L", &label, "-l", &level, "-f", &destination, &device]);
    let ran = checked(run(call, &words)?)?;
    let fields = [
        ("session id:", "Session ID"),
        ("session label:", "Session label"),
        ("media file size", "Media size"),
        ("dump complete:", "Dump complete"),
        ("Dump Status:", "Status"),
    ];
    let mut done = Map::new();
    for line in ran.stdout.lines().map(str::trim) {
        let line = line.strip_prefix("xfsdump: ").unwrap_or(line);
        for (prefix, name) in fields {
            if let Some(rest) = line.strip_prefix(prefix) {
                done.insert(name, rest.trim());
            }
        }
    }
    Ok(done.into())
}

/// What `xfsrestore -I` prints: keys with values, and keys of what is indented
/// below.
pub(super) fn inventory(call: &Call<'_>) -> CallResult {
    need(call, "xfsrestore")?;
    let ran = checked(run(call, &["xfsrestore", "-I"])?)?;
    let lines: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let Some((last, above)) = lines.split_last() else {
        return Ok(Map::new().into());
    };
    if above.is_empty() && last.to_lowercase().contains("restore status") {
        return Ok(Map::from([("restore_status", *last)]).into());
    }
    let mut at = 0;
    let mut all = indented(above, &mut at, 0);
    all.insert("restore_status", *last);
    Ok(all.into())
}

/// How deep such a listing may be indented; what is deeper is left out.
const INDENT_MAX: usize = 32;

fn indented(lines: &[&str], at: &mut usize, depth: usize) -> Map {
    let indent = |line: &str| line.chars().take_while(|c| *c == '\t').count();
    let mut found = Map::new();
    while let Some(line) = lines.get(*at) {
        if indent(line) < depth {
            break;
        }
        *at += 1;
        let (key, value) = line
            .trim()
            .split_once(':')
            .unwrap_or_else(|| (line.trim(), ""));
        let value = value.trim();
        if !value.is_empty() {
            found.insert(key.trim(), value);
        } else if depth < INDENT_MAX {
            let below = lines.get(*at).map_or(0, |next| indent(next));
            let inner = match below > indent(line) {
                true => indented(lines, at, indent(line) + 1),
                false => Map::new(),
            };
            found.insert(key.trim(), inner);
        }
    }
    found
}

pub(super) fn prune_dump(call: &Call<'_>) -> CallResult {
    need(call, "xfsinvutil")?;
    let session = call.text("sessionid");
    plain(&session)?;
    let ran = checked(run(call, &["xfsinvutil", "-s", &session, "-F"])?)?;
    // What is wanted is between two lines of dashes, the first line apart.
    let mut lines = ran
        .stdout
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let found = lines.by_ref().find(|line| line.starts_with('-'));
    let about: Map = lines
        .take_while(|line| found.is_some() && !line.starts_with('-'))
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim().to_lowercase().replace(' ', "_"), value.trim()))
        .collect();
    match about.get("uuid").and_then(Value::as_str) == Some(&session) {
        true => Ok(about.into()),
        false => Err(CallError::command(format!(
            "Session UUID \"{session}\" was not found."
        ))),
    }
}
