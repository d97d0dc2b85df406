//! The mounts at the start of the machine.

use halite_call::host::replace_file;
use halite_call::{Call, CallError, CallResult, check_one_line, os_text, python};
use halite_proto::Value;

/// The fields of a line of fstab.
pub(super) fn fields(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let words: Vec<&str> = line.split_whitespace().collect();
    (!line.starts_with('#') && words.len() >= 4).then_some(words)
}

/// A table of what is mounted at the start: the names of its fields, and how a
/// line is written.
struct Table<const N: usize> {
    names: [&'static str; N],
    /// How many of them a line has at least; the others are `0`.
    least: usize,
    line: fn(&[String; N]) -> String,
}

/// `/etc/fstab`.
const FSTAB: Table<6> = Table {
    names: ["device", "name", "fstype", "opts", "dump", "pass_num"],
    least: 4,
    line: |[device, name, fstype, opts, dump, pass]| {
        format!("{device}\t\t{name}\t{fstype}\t{opts}\t{dump} {pass}\n")
    },
};

/// `/etc/vfstab` of Solaris.
const VFSTAB: Table<7> = Table {
    names: [
        "device",
        "device_fsck",
        "name",
        "fstype",
        "pass_fsck",
        "mount_at_boot",
        "opts",
    ],
    least: 7,
    line: |[device, fsck, name, fstype, pass, boot, opts]| {
        format!("{device:<11} {fsck:<3} {name:<19} {fstype:<8} {pass:<3} {boot:<6} {opts}\n")
    },
};

/// `present`, `new`, `change` or `bad config`; writes unless `test`.
pub(crate) fn set_fstab(
    call: &Call<'_>,
    config: &str,
    entry: [&str; 6],
    test: bool,
) -> Result<&'static str, CallError> {
    if !call.host().path(config).is_file() {
        return Ok("bad config");
    }
    FSTAB.set(call, config, entry, test)
}

/// `mount.set_vfstab`.
pub(super) fn set_vfstab(call: &Call<'_>) -> CallResult {
    let config = call.text("config");
    if !call.host().path(&config).is_file() {
        return Err(CallError::command(format!("Bad config file \"{config}\"")));
    }
    let entry = VFSTAB.names.map(|name| call.text(name));
    let entry = entry.each_ref().map(String::as_str);
    Ok(VFSTAB.set(call, &config, entry, call.flag("test"))?.into())
}

impl<const N: usize> Table<N> {
    fn fields<'l>(&self, line: &'l str) -> Option<Vec<&'l str>> {
        let mut words = fields(line).filter(|words| words.len() >= self.least)?;
        words.resize(N, "0");
        Some(words)
    }

    fn set(
        &self,
        call: &Call<'_>,
        config: &str,
        entry: [&str; N],
        test: bool,
    ) -> Result<&'static str, CallError> {
        for (name, field) in self.names.iter().zip(&entry) {
            check_one_line(name, field)?;
        }
        let escaped = entry.map(|field| field.replace(' ', "\\040"));
        let line = (self.line)(&escaped);
        let text = call.host().read_to_change(config)?;
        let fstype = self.names.iter().zip(&escaped);
        let fstype = fstype
            .filter(|(name, _)| **name == "fstype")
            .map(|(_, t)| t);
        let fstype = fstype.map(String::as_str).next().unwrap_or_default();
        let keys = entry_keys(call.get("match_on"), fstype, &self.names)?;
        let not_change = call.get("not_change").is_some_and(Value::is_true);
        let mut outcome = "new";
        let mut new = String::new();
        for old in text.split_inclusive('\n') {
            let words = self.fields(old);
            let words = words.filter(|words| keys.iter().all(|key| words[*key] == escaped[*key]));
            let Some(words) = words else {
                new.push_str(old);
                continue;
            };
            if not_change || words == escaped {
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
            replace_file(&call.host().path(config), new.as_bytes())
                .map_err(|_| CallError::command(format!("File not writable {config}")))?;
        }
        Ok(outcome)
    }
}

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
fn entry_keys(
    match_on: Option<&Value>,
    fstype: &str,
    fields: &[&str],
) -> Result<Vec<usize>, CallError> {
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
        let found = fields.iter().position(|field| field == name);
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
    let text = call.host().read_to_change(config)?;
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
    replace_file(&call.host().path(config), new.as_bytes()).map_err(|error| {
        CallError::command(format!(
            "Couldn't write to {config}: {}",
            os_text(&error, config)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_known_by_what_is_asked_for() {
        let keys =
            |match_on: Option<&Value>, fstype| entry_keys(match_on, fstype, &FSTAB.names).unwrap();
        assert_eq!(keys(None, "ext4"), [0]);
        assert_eq!(keys(Some(&"auto".into()), "nfs"), [1]);
        assert_eq!(keys(Some(&"fstype".into()), "nfs"), [2]);
        let two = Value::from(vec![Value::from("name"), "device".into()]);
        assert_eq!(keys(Some(&two), "nfs"), [1, 0]);
        assert!(entry_keys(Some(&"nope".into()), "ext4", &FSTAB.names).is_err());
        assert!(entry_keys(Some(&Value::Bool(true)), "ext4", &FSTAB.names).is_err());
    }

    #[test]
    fn a_line_of_vfstab_has_columns() {
        let entry = ["/dev/b", "-", "/b", "ufs", "-", "yes", "-"].map(str::to_owned);
        assert_eq!(
            (VFSTAB.line)(&entry),
            "/dev/b      -   /b                  ufs      -   yes    -\n"
        );
    }
}
