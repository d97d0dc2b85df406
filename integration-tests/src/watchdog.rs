//! A process that survives a test program that is killed, and ends what the program
//! can then no longer end itself.
//!
//! Invariant: it signals only process groups that this program has started and
//! whose end it has not seen.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Reads `+ GROUP` and `- GROUP` until the program is gone, however it went;
/// then ends the groups that are left.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
groups=
while read -r what group; do
    others=
    for known in $groups; do
        [ "$known" = "$group" ] || others="$others $known"
    done
    groups=$others
    [ "$what" = - ] || groups="$groups $group"
done
for group in $groups; do
    kill -9 "-$group"
done
"#;

static LINE: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// A process group that must not outlive this program.
pub(crate) fn started(group: i32) {
    say(&format!("+ {group}\n"));
}

/// A process group that has ended, or may live on.
pub(crate) fn ended(group: i32) {
    say(&format!("- {group}\n"));
}

fn say(line: &str) {
    let mut pipe = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    if pipe.is_none() {
        *pipe = Command::new("sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok()
            .and_then(|mut child| child.stdin.take());
    }
    // Without the watchdog a program that is killed leaves its daemons behind;
    // one that ends by itself does not.
    if let Some(pipe) = pipe.as_mut() {
        pipe.write_all(line.as_bytes()).ok();
    }
}
