//! What is mounted when the machine starts.

use halite_modules::host::replace_file;
use halite_modules::{Call, CallError};

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
    let by_device = name == "none";
    let mut outcome = "new";
    let mut new = String::new();
    for old in text.split_inclusive('\n') {
        let is_it = fields(old).is_some_and(|words| {
            if by_device {
                words[0] == device
            } else {
                words[1] == name
            }
        });
        if !is_it {
            new.push_str(old);
            continue;
        }
        let mut words = fields(old).unwrap_or_default();
        words.resize(6, "0");
        if words == [device, name, fstype, opts, dump, pass] {
            return Ok("present");
        }
        if outcome == "new" {
            new.push_str(&line);
        }
        outcome = "change";
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
