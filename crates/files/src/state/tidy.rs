//! `file.tidied`, `file.pruned`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::paths::HeldName;
use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::Value;
use jiff::Timestamp;

use super::common;
use super::walk;
use crate::core::path;
use crate::core::regex::Pattern;
use crate::exec::tree;

/// What is old or large enough to go.
struct Tidy {
    age: f64,
    unit_seconds: f64,
    size: u64,
    has_age: bool,
    has_size: bool,
    both: bool,
    time: String,
    matches: Vec<Pattern>,
    exclude: Vec<Pattern>,
    full_path: bool,
    rmlinks: bool,
}

pub(super) fn tidied(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let mut ret = StateReturn::new(name.as_str());
    if !path::is_absolute(&name) {
        return common::failed(ret, common::not_absolute(&name));
    }
    let root = Path::new(&name);
    if !root.is_dir() {
        return common::failed(ret, format!("{name} does not exist or is not a directory."));
    }
    let tidy = match Tidy::new(call)? {
        Ok(tidy) => tidy,
        Err(wrong) => return common::failed(ret, wrong),
    };
    let rmdirs = call.flag("rmdirs");
    let mut gone: Vec<PathBuf> = Vec::new();
    for level in walk::walk(root, None).iter().rev() {
        for path in level.file_paths() {
            if tidy.takes(&path)? {
                gone.push(path);
            }
        }
        for path in level.dir_paths() {
            let is_link = path::is_link(&path);
            if is_link && tidy.rmlinks && tidy.takes(&path)? {
                gone.push(path);
            } else if rmdirs && !is_link && tidy.takes(&path)? {
                let left = fs::read_dir(&path)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .filter(|entry| !gone.contains(&entry.path()))
                    .count();
                if left == 0 {
                    gone.push(path);
                }
            }
        }
    }
    if gone.is_empty() {
        return Ok(ret
            .ok(format!("Nothing to remove from directory {name}"))
            .into());
    }
    let shown = |gone: &[PathBuf]| -> Vec<Value> {
        gone.iter()
            .map(|path| path.display().to_string().into())
            .collect()
    };
    if call.is_test() {
        let ret = ret.change("removed", shown(&gone));
        return Ok(ret.pending(format!("{name} is set for tidy")).into());
    }
    let mut removed = Vec::new();
    for path in gone {
        let removal = HeldName::below(root, &path).and_then(|place| place.remove());
        if let Err(error) = removal {
            ret = ret.change("removed", shown(&removed));
            let why = halite_call::os_text(&error, &path);
            return common::failed(ret, why);
        }
        removed.push(path);
    }
    let text = format!(
        "Removed {} files or directories from directory {name}",
        removed.len()
    );
    Ok(ret.change("removed", shown(&removed)).ok(text).into())
}

impl Tidy {
    fn new(call: &Call<'_>) -> Result<Result<Self, String>, CallError> {
        let patterns = |name: &str| -> Result<Vec<Pattern>, CallError> {
            common::list(call.arg(name))
                .iter()
                .map(|pattern| Pattern::new(&python::str(pattern), 0))
                .collect()
        };
        let mut matches = patterns("matches")?;
        if matches.is_empty() {
            matches.push(Pattern::new(".*", 0)?);
        }
        let (age, unit_seconds) = age_of(call.arg("age"));
        let only = call
            .text_opt("age_size_only")
            .map(|only| only.to_lowercase());
        if let Some(bad) = only
            .as_deref()
            .filter(|only| !matches!(*only, "age" | "size"))
        {
            return Ok(Err(format!(
                "age_size_only must be 'age' or 'size', not '{bad}'"
            )));
        }
        Ok(Ok(Self {
            age,
            unit_seconds,
            size: size_of(call.arg("size")),
            has_age: only.as_deref() != Some("size"),
            has_size: only.as_deref() != Some("age"),
            both: call
                .text("age_size_logical_operator")
                .eq_ignore_ascii_case("and"),
            time: call.text("time_comparison"),
            matches,
            exclude: patterns("exclude")?,
            full_path: call.flag("full_path_match"),
            rmlinks: call.flag("rmlinks"),
        }))
    }

    fn takes(&self, path: &Path) -> Result<bool, CallError> {
        let Ok(data) = fs::symlink_metadata(path) else {
            return Ok(false);
        };
        if data.is_symlink() && !self.rmlinks {
            return Ok(false);
        }
        let full = path.display().to_string();
        let name = if self.full_path {
            full.as_str()
        } else {
            path::basename(&full)
        };
        for exclude in &self.exclude {
            if exclude.captures_start(name)?.is_some() {
                return Ok(false);
            }
        }
        let time = match self.time.as_str() {
            "mtime" => data.mtime(),
            "ctime" => data.ctime(),
            _ => data.atime(),
        };
        #[expect(clippy::cast_precision_loss, reason = "ages are days")]
        let age = ((Timestamp::now().as_second() - time) as f64 / self.unit_seconds).floor();
        let old = age >= self.age;
        let large = !data.is_dir() && data.len() >= self.size;
        let meant = match (self.has_age, self.has_size) {
            (true, true) if self.both => old && large,
            // Without a size only the age counts.
            (true, true) if self.size == 0 => old,
            (true, true) if self.age == 0.0 => large,
            (true, true) => old || large,
            (true, false) => old,
            _ => large,
        };
        if !meant {
            return Ok(false);
        }
        for pattern in &self.matches {
            if pattern.captures_start(name)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// `3`: days; `2h`: hours, and so on.
fn age_of(age: &Value) -> (f64, f64) {
    const DAY: f64 = 86_400.0;
    let text = python::str(age);
    let text = text.trim();
    let digits: String = text
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    let seconds = match text.get(digits.len()..).map(str::to_lowercase).as_deref() {
        Some("s") => 1.0,
        Some("m") => 60.0,
        Some("h") => 3600.0,
        Some("w") => 7.0 * DAY,
        _ => DAY,
    };
    (digits.parse().unwrap_or(0.0), seconds)
}

/// `10k`: 10 KiB, and so on; what is no size is 0.
fn size_of(size: &Value) -> u64 {
    let text = python::str(size).to_lowercase();
    let digits: String = text
        .trim()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let unit = match text
        .trim()
        .get(digits.len()..)
        .and_then(|unit| unit.chars().next())
    {
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        Some('t') => 1 << 40,
        _ => 1,
    };
    digits.parse::<u64>().unwrap_or(0).saturating_mul(unit)
}

pub(super) fn pruned(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    let at = Path::new(&name);
    if !at.is_dir() {
        return Ok(ret.ok(format!("Directory {name} is not present")).into());
    }
    if call.is_test() {
        let text = format!("Directory {name} is set for removal");
        return Ok(ret.change("deleted", name).pending(text).into());
    }
    let recurse = call.flag("recurse");
    let older_than = match call.arg("older_than") {
        Value::Nil => None,
        days => Some(python::float(days)?),
    };
    let done = tree::prune(at, recurse, older_than);
    // All are too young.
    if done.errors.is_empty() && done.deleted.is_empty() {
        return Ok(ret.ok("").into());
    }
    if done.errors.is_empty() {
        let text = format!("Removed directory {name}");
        return Ok(ret.change("deleted", name).ok(text).into());
    }
    let mut ret = ret.change("deleted", done.deleted.clone());
    if recurse && call.flag("ignore_errors") && !done.deleted.is_empty() {
        let text = format!("Recursively removed empty directories under {name}");
        return Ok(ret.ok(text).into());
    }
    ret.changes.insert("errors", done.errors);
    common::failed(ret, format!("Failed to remove directory {name}"))
}
