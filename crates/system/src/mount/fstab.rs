//! What is mounted when the machine starts.

use halite_modules::host::replace_file;
use halite_modules::{Call, CallError, python};
use halite_proto::Value;

/// The fields of a line of fstab.
pub(super) fn fields(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let words: Vec<&str> = line.split_whitespace().collect();
    (!line.starts_with('#') && words.len() >= 4).then_some(words)
}

/// `present`, `new`, `change` or `bad config`; writes unless `test`.
pub(crate) fn set_fstab(
    call: &Call<'_>,
    config: &str,
    entry: [&str; 6],
    test: bool,
) -> Result<&'static str, CallError> {
    let path = call.host().path(config);
    if !path.is_file() {
        return Ok("bad config");
    }
    let escaped: Vec<String> = entry
        .iter()
        .map(|field| field.replace(' ', "\\040"))
        .collect();
    let [device, name, fstype, opts, dump, pass] = escaped.as_slice() else {
        return Ok("bad config");
    };
    let line = format!("{device}\t\t{name}\t{fstype}\t{opts}\t{dump} {pass}\n");
    let text = call.host().read(config);
    let keys = entry_keys(call.get("match_on"), fstype)?;
    let not_change = call.get("not_change").is_some_and(Value::is_true);
    let mut outcome = "new";
    let mut new = String::new();
    for old in text.split_inclusive('\n') {
        let wanted = [device, name, fstype, opts, dump, pass];
        let words = fields(old).map(|mut words| {
            words.resize(wanted.len(), "0");
            words
        });
        let words = words.filter(|words| keys.iter().all(|key| words[*key] == wanted[*key]));
        let Some(words) = words else {
            new.push_str(old);
            continue;
        };
        if not_change || words == wanted {
            new.push_str(old);
            if outcome == "new" {
                outcome = "present";
            }
        } else {
            new.push_str(&line);
            outcome = "change";
        }
    }
    if outcome == "present" {
        return Ok(outcome);
    }
    if outcome == "new" {
        if !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        new.push_str(&line);
    }
    if !test {
        replace_file(&path, new.as_bytes())
            .map_err(|_| CallError::command(format!("File not writable {config}")))?;
    }
    Ok(outcome)
}

/// The fields of an entry, as `match_on` names them.
const FIELDS: [&str; 6] = ["device", "name", "fstype", "opts", "dump", "pass_num"];

/// File systems whose device says little: an entry is known by its place.
const BY_NAME: &[&str] = &[
    "none",
    "tmpfs",
    "sysfs",
    "proc",
    "fusectl",
    "debugfs",
    "securityfs",
    "devtmpfs",
    "cgroup",
    "btrfs",
    "nfs",
    "nfs4",
    "glusterfs",
    "ceph",
];

/// The fields that make an entry the one that is meant.
fn entry_keys(match_on: Option<&Value>, fstype: &str) -> Result<Vec<usize>, CallError> {
    let names = match match_on {
        None => vec!["auto".to_owned()],
        Some(Value::Str(name)) => vec![name.clone()],
        Some(Value::List(names)) => names.iter().map(python::str).collect(),
        Some(_) => {
            return Err(CallError::command(
                "match_on must be a string or list of strings",
            ));
        }
    };
    let names = match names.as_slice() {
        [auto] if auto == "auto" => {
            let key = if BY_NAME.contains(&fstype) {
                "name"
            } else {
                "device"
            };
            vec![key.to_owned()]
        }
        _ => names,
    };
    let place = |name: &String| {
        let found = FIELDS.iter().position(|field| field == name);
        found
            .ok_or_else(|| CallError::command(format!("Unrecognized keys in match_on: \"{name}\"")))
    };
    names.iter().map(place).collect()
}

/// Whether fstab has a place.
pub(crate) fn in_fstab(call: &Call<'_>, config: &str, name: &str) -> bool {
    let text = call.host().read(config);
    let escaped = name.replace(' ', "\\040");
    text.lines()
        .filter_map(fields)
        .any(|words| words[1] == escaped)
}

/// Removes a place from fstab.
pub(crate) fn rm_fstab(
    call: &Call<'_>,
    config: &str,
    name: &str,
    device: Option<&str>,
) -> Result<(), CallError> {
    let escaped = name.replace(' ', "\\040");
    let text = call.host().read(config);
    let new: String = text
        .split_inclusive('\n')
        .filter(|line| {
            !fields(line).is_some_and(|words| {
                words[1] == escaped && device.is_none_or(|device| words[0] == device)
            })
        })
        .collect();
    if new == text {
        return Ok(());
    }
    replace_file(&call.host().path(config), new.as_bytes())
        .map_err(|error| CallError::command(format!("Couldn't write to {config}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_known_by_what_is_asked_for() {
        let keys = |match_on: Option<&Value>, fstype| entry_keys(match_on, fstype).unwrap();
        assert_eq!(keys(None, "ext4"), [0]);
        assert_eq!(keys(Some(&"auto".into()), "nfs"), [1]);
        assert_eq!(keys(Some(&"fstype".into()), "nfs"), [2]);
        let two = Value::from(vec![Value::from("name"), "device".into()]);
        assert_eq!(keys(Some(&two), "nfs"), [1, 0]);
        assert!(entry_keys(Some(&"nope".into()), "ext4").is_err());
        assert!(entry_keys(Some(&Value::Bool(true)), "ext4").is_err());
    }
}
