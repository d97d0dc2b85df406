//! Attributes of files (`chattr`), through the tools of e2fsprogs.

use std::path::Path;

use halite_call::{CallError, StateReturn};
use halite_process::child;
use halite_proto::Map;

/// The letters there are, in the order lists have them.
const LETTERS: &str = "aAcCdDeijPsStTu";

/// The attributes of a file; nothing where the tool is missing or knows none.
pub(crate) fn of(path: &Path) -> Option<String> {
    let out = child::command("lsattr").arg("-d").arg(path).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let flags = text.split_whitespace().next()?;
    (out.status.success() && flags.contains('-'))
        .then(|| flags.chars().filter(|c| LETTERS.contains(*c)).collect())
}

/// Sets or removes attributes: `+i`, `-i`.
pub(crate) fn change(path: &Path, change: &str) -> bool {
    let done = child::command("chattr").arg(change).arg(path).output();
    done.is_ok_and(|out| out.status.success())
}

/// Makes the attributes those wanted (`e`, the extents, is nobody's choice).
pub(crate) fn check(
    ret: &mut StateReturn,
    path: &Path,
    wanted: &str,
    test: bool,
    complaints: &mut Vec<String>,
) -> Result<(), CallError> {
    let Some(now) = of(path) else { return Ok(()) };
    let add: String = wanted
        .chars()
        .filter(|c| *c != 'e' && !now.contains(*c))
        .collect();
    let remove: String = now
        .chars()
        .filter(|c| *c != 'e' && !wanted.contains(*c))
        .collect();
    if add.is_empty() && remove.is_empty() {
        return Ok(());
    }
    if test {
        ret.result = None;
        ret.changes.insert("attrs", wanted);
        return Ok(());
    }
    let mut done = true;
    if !remove.is_empty() {
        done &= change(path, &format!("-{remove}"));
    }
    if !add.is_empty() {
        done &= change(path, &format!("+{add}"));
    }
    if done {
        let change = Map::from([("old", now.as_str()), ("new", wanted)]);
        ret.changes.insert("attrs", change);
    } else {
        ret.result = Some(false);
        complaints.push(format!("Failed to change attributes to {wanted}"));
    }
    Ok(())
}
