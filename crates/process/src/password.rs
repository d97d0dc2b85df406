//! Password checks with PAM, in a process of their own.
//!
//! PAM modules block, fork and keep memory, which a daemon must not. So the daemon
//! starts its own program again with [`FLAG`], which asks once and ends. Invariant:
//! name and password travel through a pipe, never through arguments or the
//! environment, and the helper ends in time.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use thiserror::Error;

use crate::limits::{PASSWORD_CHECK_TIME_MAX, PASSWORD_CHECKS_MAX};
use crate::sys;

/// The first argument of a program that is to check one password.
pub const FLAG: &str = "--halite-check-password";

/// Bytes of service, name and password together. Less than a pipe takes.
const QUESTION_BYTES_MAX: usize = 16 * 1024;

/// Exit codes of the helper.
const RIGHT: u8 = 0;
const WRONG: u8 = 1;
const UNUSABLE: u8 = 2;

/// Why nobody can say whether a password is right.
#[derive(Debug, Error)]
pub enum PasswordError {
    /// Too many are being checked.
    #[error("{PASSWORD_CHECKS_MAX} passwords are being checked already")]
    Busy,
    /// The question cannot be asked.
    #[error(
        "PAM cannot be asked: the name is empty, or the texts are too long or contain a NUL byte"
    )]
    Question,
    /// The helper does not run.
    #[error("could not run the helper for PAM")]
    Helper(#[source] io::Error),
    /// It did not answer in time.
    #[error("PAM did not answer within {PASSWORD_CHECK_TIME_MAX:?}")]
    Time,
    /// PAM cannot be used.
    #[error("PAM cannot be used: {0}")]
    Pam(String),
}

/// Whether PAM takes the password of `user` for `service`. Blocks.
///
/// # Errors
/// When PAM cannot be asked.
pub fn is_right(service: &str, user: &str, password: &str) -> Result<bool, PasswordError> {
    // The program that runs, also when its file was replaced meanwhile.
    let program = Path::new("/proc/self/exe");
    ask(program, [service, user, password], PASSWORD_CHECK_TIME_MAX)
}

fn ask(program: &Path, parts: [&str; 3], time_max: Duration) -> Result<bool, PasswordError> {
    let [_, user, _] = parts;
    // A pipe takes the whole question, so that nothing waits for a helper that
    // does not read it.
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    if parts.iter().any(|part| part.contains('\0')) || user.is_empty() || bytes > QUESTION_BYTES_MAX
    {
        return Err(PasswordError::Question);
    }
    let _slot = CheckSlot::acquire()?;
    let mut child = crate::child::command(program)
        .arg(FLAG)
        .env_clear()
        .current_dir("/")
        // What modules start ends with it.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(PasswordError::Helper)?;
    let asked = match child.stdin.take() {
        Some(mut input) => input.write_all(parts.join("\0").as_bytes()),
        None => Ok(()),
    };
    let code = wait(&mut child, time_max)?;
    asked.map_err(PasswordError::Helper)?;
    match code.and_then(|code| u8::try_from(code).ok()) {
        Some(RIGHT) => Ok(true),
        Some(WRONG) => Ok(false),
        _ => {
            const WHY_BYTES_MAX: u64 = 4096;
            let mut why = String::new();
            if let Some(errors) = child.stderr.take() {
                let _ = errors.take(WHY_BYTES_MAX).read_to_string(&mut why);
            }
            let why = why.trim();
            let why = if why.is_empty() {
                "the helper died"
            } else {
                why
            };
            Err(PasswordError::Pam(why.to_owned()))
        }
    }
}

/// Waits for the helper; one that takes too long is ended, with what a module of
/// PAM has started in it.
fn wait(child: &mut Child, time_max: Duration) -> Result<Option<i32>, PasswordError> {
    const STEP: Duration = Duration::from_millis(5);
    let until = Instant::now() + time_max;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code()),
            Ok(None) if Instant::now() < until => thread::sleep(STEP),
            Ok(None) => {
                if let Ok(group) = i32::try_from(child.id()) {
                    let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
                }
                let _ = child.kill();
                let _ = child.wait();
                return Err(PasswordError::Time);
            }
            Err(error) => return Err(PasswordError::Helper(error)),
        }
    }
}

/// What the helper does: reads the question and asks PAM. Its exit code.
pub fn helper() -> u8 {
    let mut question = String::new();
    let read = io::stdin()
        .take(QUESTION_BYTES_MAX as u64 + 2)
        .read_to_string(&mut question);
    let mut parts = question.splitn(3, '\0');
    let (Ok(_), Some(service), Some(user), Some(password)) =
        (read, parts.next(), parts.next(), parts.next())
    else {
        return UNUSABLE;
    };
    match sys::check_password(service, user, password) {
        Ok(true) if is_spelled(user, account_of(user).as_deref()) => RIGHT,
        Ok(_) => WRONG,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            UNUSABLE
        }
    }
}

/// The name of the account that the machine has under a name.
fn account_of(user: &str) -> Option<String> {
    let account = nix::unistd::User::from_name(user).ok().flatten();
    account.map(|account| account.name)
}

/// Whether a user is spelled as the account is: directories find `BOB` and mean
/// `bob`, whom a blacklist of the configuration may name. Where PAM lets in who
/// has no account here, only its own spelling counts.
fn is_spelled(user: &str, account: Option<&str>) -> bool {
    account.is_none_or(|account| account == user)
}

static CHECKS: AtomicUsize = AtomicUsize::new(0);

/// One of the checks that may run at once.
struct CheckSlot;

impl CheckSlot {
    fn acquire() -> Result<Self, PasswordError> {
        if CHECKS.fetch_add(1, Ordering::Relaxed) >= PASSWORD_CHECKS_MAX {
            CHECKS.fetch_sub(1, Ordering::Relaxed);
            return Err(PasswordError::Busy);
        }
        Ok(Self)
    }
}

impl Drop for CheckSlot {
    fn drop(&mut self) {
        CHECKS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn asked(script: &str) -> Result<bool, PasswordError> {
        asked_within(script, PASSWORD_CHECK_TIME_MAX)
    }

    fn asked_within(script: &str, time_max: Duration) -> Result<bool, PasswordError> {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("helper");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        loop {
            match ask(&program, ["login", "ali", "open sesame"], time_max) {
                // Another test's child still holds the script open for writing.
                Err(PasswordError::Helper(error))
                    if error.kind() == io::ErrorKind::ExecutableFileBusy => {}
                answer => return answer,
            }
        }
    }

    #[test]
    fn the_answer_is_the_exit_code_of_the_helper() {
        let compare = "[ \"$1\" = --halite-check-password ] || exit 2\n\
                       [ \"$(tr '\\0' ,)\" = 'login,ali,open sesame' ]";
        assert!(matches!(asked(compare), Ok(true)));
        assert!(matches!(asked("cat > /dev/null; exit 1"), Ok(false)));
        let error = asked("cat > /dev/null; echo no libpam >&2; exit 2").unwrap_err();
        assert_eq!(error.to_string(), "PAM cannot be used: no libpam");
        let error = asked("cat > /dev/null; kill -9 $$").unwrap_err();
        assert_eq!(error.to_string(), "PAM cannot be used: the helper died");
        let true_ = Path::new("/bin/true");
        let nul = ask(true_, ["login", "a\0b", "x"], PASSWORD_CHECK_TIME_MAX);
        assert!(matches!(nul, Err(PasswordError::Question)));
    }

    /// A module of PAM that hangs, perhaps in a program that it has started, lets
    /// nobody in, and nothing of it is left.
    #[test]
    fn what_hangs_is_ended_with_all_that_it_has_started() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let script = format!(
            "sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait",
            pid.display()
        );
        let asked = asked_within(&script, Duration::from_secs(2));
        assert!(matches!(asked, Err(PasswordError::Time)), "{asked:?}");
        let started = std::fs::read_to_string(&pid).unwrap();
        let stat = format!("/proc/{}/stat", started.trim());
        let until = Instant::now() + Duration::from_secs(30);
        // One that nobody has waited for yet is over, too.
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < until, "it goes on");
            thread::yield_now();
        }
    }

    /// As a directory that ignores case has them.
    #[test]
    fn a_user_has_the_spelling_of_the_account() {
        assert!(is_spelled("bob", Some("bob")));
        assert!(is_spelled("bob", None));
        assert!(!is_spelled("BOB", Some("bob")));
        assert!(!is_spelled("bob", Some("bob@corp")));
        assert_eq!(account_of("root").as_deref(), Some("root"));
        assert_eq!(account_of("no such user"), None);
    }

    /// A helper that reads nothing, in which a module hangs, holds nobody up
    /// before the time is measured.
    #[test]
    fn what_a_pipe_does_not_take_is_not_asked() {
        let begun = Instant::now();
        let long = "x".repeat(100_000);
        let cat = Path::new("/bin/cat");
        let asked = ask(cat, ["login", "ali", &long], PASSWORD_CHECK_TIME_MAX);
        assert!(matches!(asked, Err(PasswordError::Question)), "{asked:?}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
