//! Automatic mounts on access: the file `auto_master`.

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, CallResult, os_text, python};
use halite_proto::{Map, Value};

/// An automount: place, options, what is mounted there.
fn automount(line: &str) -> Option<[&str; 3]> {
    if line.starts_with('#') {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    words.try_into().ok()
}

/// The device of `nfs:server:/path` or `:/dev/x`: what is behind the first
/// colon.
fn device(text: &str) -> &str {
    text.split(':').nth(1).unwrap_or_default()
}

pub(super) fn automaster(call: &Call<'_>) -> CallResult {
    let text = super::functions::text_of(call, &call.text("config"))?;
    let mut all = Map::new();
    for [name, options, what] in text.lines().filter_map(automount) {
        let mut options = options.split(',');
        let kind = options.next().unwrap_or_default();
        let options: Vec<Value> = options.map(Value::from).collect();
        let about = Map::from([
            ("device", Value::from(device(what))),
            ("fstype", kind.into()),
            ("opts", options.into()),
        ]);
        all.insert(name.replace("/..", ""), about);
    }
    Ok(all.into())
}

fn write(call: &Call<'_>, config: &str, text: &str) -> Result<(), CallError> {
    replace_file(&call.host().path(config), text.as_bytes()).map_err(|error| {
        CallError::command(format!(
            "Couldn't write to {config}: {}",
            os_text(&error, config)
        ))
    })
}

pub(super) fn rm_automaster(call: &Call<'_>) -> CallResult {
    let (name, config) = (call.text("name"), call.text("config"));
    let wanted = call.text_opt("device");
    let text = call.host().read_to_change(&config)?;
    let is_it = |line: &str| {
        automount(line).is_some_and(|[place, _, what]| {
            place.replace("/..", "") == name
                && wanted
                    .as_deref()
                    .is_none_or(|wanted| device(what) == wanted)
        })
    };
    if !text.lines().any(is_it) {
        return Ok(true.into());
    }
    let kept = text.lines().filter(|line| !is_it(line));
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    write(call, &config, &kept)?;
    Program::new(call, &["automount", "-cv"]).may_fail().run()?;
    Ok(true.into())
}

pub(super) fn set_automaster(call: &Call<'_>) -> CallResult {
    let text = |name: &str| call.text(name);
    let (config, kind) = (text("config"), text("fstype"));
    let options = match call.arg("opts") {
        Value::List(options) => options
            .iter()
            .map(python::str)
            .collect::<Vec<_>>()
            .join(","),
        one => python::str(one),
    };
    let (place, what) = (format!("/..{}", text("name")), text("device"));
    let what = match kind.as_str() {
        "smbfs" => format!(":{what}"),
        kind => format!("{kind}:{what}"),
    };
    let options = format!("-fstype={kind},{options}");
    for word in [&place, &options, &what] {
        if word.contains(char::is_whitespace) {
            return Err(CallError::invocation(format!("a blank is in {word:?}")));
        }
    }
    let entry = format!("{place}\t{options}\t{what}");
    let is_test = call.flag("test") || call.is_test();
    let host = call.host();
    if !host.path(&config).is_file() && !is_test {
        write(call, &config, "")?;
        let master = "/etc/auto_master";
        let known = host.read_to_change(master)?;
        write(call, master, &format!("{known}/-\t\t\t{config}\n"))?;
    }
    let old = host.read_to_change(&config)?;
    let (mut is_there, mut is_changed) = (false, false);
    let mut lines: Vec<String> = Vec::new();
    for line in old.lines() {
        let is_it = automount(line).is_some_and(|[known, _, of]| known == place || of == what);
        if !is_it {
            lines.push(line.to_owned());
            continue;
        }
        is_there = true;
        let stays = call.flag("not_change") || automount(line) == automount(&entry);
        is_changed |= !stays;
        lines.push(if stays {
            line.to_owned()
        } else {
            entry.clone()
        });
    }
    let done = match (is_changed, is_there) {
        (true, _) => "change",
        (false, true) => return Ok("present".into()),
        (false, false) => {
            lines.push(entry);
            "new"
        }
    };
    if !is_test {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        write(call, &config, &text)?;
    }
    Ok(done.into())
}
