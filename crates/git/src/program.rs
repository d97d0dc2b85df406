//! Starts the git program: what it inherits, what it may do, and cleaning up after
//! it.
//!
//! Invariant: git inherits no variable except `PATH` and reads no configuration
//! except the file that is given to it; it cannot prompt; and no secret is on a
//! command line or in an environment.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use halite_crypto::Secret;
use halite_crypto::files::{WriteOptions, ensure_private_dir, write_atomic};
use halite_process::child::{Finished, RunOptions, command, run};

use crate::limits::{COMPLAINT_CHARS_MAX, LOCAL_TIME_MAX};
use crate::remote::{Auth, Scheme};
use crate::watch::Watch;
use crate::{GitError, Remote};

/// The transports that git may use.
const PROTOCOLS: &str = "file:git:http:https:ssh";

const PATH_DEFAULT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const SECRET_MODE: u32 = 0o600;
const PROGRAM_MODE: u32 = 0o700;

/// The directory with what a run of git needs. Secrets in it go when it is
/// dropped.
#[derive(Debug)]
pub(crate) struct Surroundings {
    dir: PathBuf,
    ssh: Option<String>,
    asks_for_passphrase: bool,
}

impl Surroundings {
    /// Writes down what git needs for a remote.
    pub(crate) fn of(remote: &Remote, dir: &Path) -> Result<Self, GitError> {
        ensure_private_dir(dir, None)?;
        let this = Self {
            dir: dir.to_owned(),
            ssh: (remote.url.scheme() == Scheme::Ssh).then(|| ssh_command(&remote.auth)),
            asks_for_passphrase: remote.auth.passphrase.is_some(),
        };
        let mut config = Config::default();
        config.fixed();
        config.remote(remote);
        if let Some(login) = login(remote) {
            this.write("credentials", SECRET_MODE, login.expose())?;
            let path = quoted(&this.file("credentials").display().to_string());
            // Asked for no other machine, should this one point there.
            let at = remote.url.address().split('/').take(3).collect::<Vec<_>>();
            let helper = format!("!f() {{ test \"$1\" = get && cat {path}; }}; f");
            config.put(
                &format!("credential \"{}\"", at.join("/")),
                "helper",
                &helper,
            );
        }
        if let Some(passphrase) = &remote.auth.passphrase {
            this.write("passphrase", SECRET_MODE, passphrase.expose())?;
            let path = quoted(&this.file("passphrase").display().to_string());
            this.write(
                "askpass",
                PROGRAM_MODE,
                &format!("#!/bin/sh\nexec cat {path}\n"),
            )?;
        }
        this.write(".gitconfig", SECRET_MODE, &config.0)?;
        Ok(this)
    }

    /// A git that works in the repository `git_dir`, which has no work tree, and
    /// in none above it.
    pub(crate) fn git<'a>(
        &self,
        git_dir: &Path,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Command {
        let mut git = bare_git(&self.dir);
        git.env("GIT_CONFIG_GLOBAL", self.file(".gitconfig"));
        if let Some(ssh) = &self.ssh {
            git.env("GIT_SSH_COMMAND", ssh)
                .env("GIT_SSH_VARIANT", "ssh");
        }
        if self.asks_for_passphrase {
            git.env("SSH_ASKPASS", self.file("askpass"))
                .env("SSH_ASKPASS_REQUIRE", "force")
                // Older versions of ssh ask for it only if there is a screen.
                .env("DISPLAY", ":none");
        }
        git.current_dir(git_dir).env("GIT_DIR", ".").args(words);
        git
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn write(&self, name: &str, mode: u32, text: &str) -> Result<(), GitError> {
        // The next run writes its own.
        let durable = false;
        let options = WriteOptions {
            durable,
            ..WriteOptions::new(mode)
        };
        write_atomic(&self.file(name), options, text.as_bytes())?;
        Ok(())
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        remove_secrets(&self.dir);
    }
}

/// Removes the secrets that a killed process has left.
pub(crate) fn remove_secrets(dir: &Path) {
    for name in ["credentials", "passphrase", "askpass"] {
        fs::remove_file(dir.join(name)).ok();
    }
}

/// A git that knows of no remote.
pub(crate) fn bare_git(home: &Path) -> Command {
    in_bare_surroundings("git", home)
}

/// A program that git runs too, with what git inherits.
pub(crate) fn in_bare_surroundings(program: &str, home: &Path) -> Command {
    let mut git = command(program);
    let path = std::env::var_os("PATH");
    git.env_clear()
        .env(
            "PATH",
            path.as_deref().unwrap_or_else(|| OsStr::new(PATH_DEFAULT)),
        )
        .env("HOME", home)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ASKPASS", "false")
        .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_DEFAULT_HASH", "sha1")
        .env("GIT_DEFAULT_REF_FORMAT", "files");
    git
}

/// Runs a git that talks to no remote and reads `input`; what it wrote. The
/// lock is renewed meanwhile.
pub(crate) fn local(
    git: Command,
    input: Option<String>,
    doing: &'static str,
    watch: &Arc<Watch>,
) -> Result<Vec<u8>, GitError> {
    let options = RunOptions {
        own_session: true,
        ends_with_us: true,
        stdin: input.map(String::into_bytes),
        timeout: Some(LOCAL_TIME_MAX),
        ..RunOptions::default()
    };
    let finished = run(git, options, |group| watch.over(group, None));
    if let Some(verdict) = watch.verdict() {
        return Err(verdict);
    }
    let finished = finished.map_err(GitError::Start)?;
    if finished.timed_out {
        return Err(GitError::Slow {
            doing,
            limit: LOCAL_TIME_MAX,
        });
    }
    if finished.code != 0 {
        return Err(failed(doing, &finished, &Auth::default()));
    }
    Ok(finished.stdout)
}

/// The error of a git that has failed.
pub(crate) fn failed(doing: &'static str, finished: &Finished, auth: &Auth) -> GitError {
    let text = String::from_utf8_lossy(&finished.stderr);
    // Not the lines that show how far it is.
    let lines = text.split(['\n', '\r']).map(str::trim);
    let lines = lines.filter(|line| !line.contains("% (") && !line.starts_with("remote: Enumer"));
    let text = lines.collect::<Vec<_>>().join(" ");
    let mut text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    for secret in [&auth.password, &auth.passphrase].into_iter().flatten() {
        text = text.replace(secret.expose().as_str(), "***");
    }
    let length = text.chars().count();
    // The last lines say why.
    let complaint: String = text
        .chars()
        .skip(length.saturating_sub(COMPLAINT_CHARS_MAX))
        .collect();
    GitError::Failed {
        doing,
        complaint: match complaint.is_empty() {
            true => format!("it ended with {}", finished.code),
            false => complaint,
        },
    }
}

/// What git is told when it asks for a user and a password.
fn login(remote: &Remote) -> Option<Secret<String>> {
    let password = remote.auth.password.as_ref()?.expose();
    let user = remote.auth.user.as_deref()?;
    // A line each: what has lines cannot be told.
    (!user.contains('\n') && !password.contains('\n'))
        .then(|| Secret::new(format!("username={user}\npassword={password}\n")))
}

fn ssh_command(auth: &Auth) -> String {
    let mut words = vec!["ssh".to_owned()];
    let mut option = |text: &str| words.extend(["-o".to_owned(), text.to_owned()]);
    option("StrictHostKeyChecking=yes");
    option("PasswordAuthentication=no");
    option("KbdInteractiveAuthentication=no");
    option("NumberOfPasswordPrompts=1");
    option("ConnectTimeout=30");
    option("ServerAliveInterval=15");
    option("ServerAliveCountMax=4");
    option("ForwardAgent=no");
    option("ClearAllForwardings=yes");
    if auth.passphrase.is_none() {
        option("BatchMode=yes");
    }
    if let Some(key) = &auth.privkey {
        option("IdentitiesOnly=yes");
        words.extend(["-i".to_owned(), quoted(&key.display().to_string())]);
    }
    words.join(" ")
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A configuration of git.
#[derive(Default)]
struct Config(String);

impl Config {
    fn put(&mut self, section: &str, name: &str, value: &str) {
        use std::fmt::Write;

        let value = value
            .replace('\\', r"\\")
            .replace('"', r#"\""#)
            .replace('\n', r"\n");
        let _ = writeln!(self.0, "[{section}]\n\t{name} = \"{value}\"");
    }

    fn fixed(&mut self) {
        self.put("core", "hooksPath", "/dev/null");
        self.put("gc", "autoDetach", "false");
        self.put("gc", "pruneExpire", "2.weeks.ago");
        // What comes is kept as it comes: one file whose size is seen.
        self.put("fetch", "unpackLimit", "1");
        self.put("maintenance", "auto", "false");
    }

    fn remote(&mut self, remote: &Remote) {
        const ORIGIN: &str = "remote \"origin\"";
        self.put(ORIGIN, "url", remote.url.address());
        self.put(ORIGIN, "followRemoteHEAD", "never");
        for spec in &remote.refspecs {
            self.put(ORIGIN, "fetch", spec);
        }
        let verify = if remote.ssl_verify { "true" } else { "false" };
        self.put("http", "sslVerify", verify);
        if let Some(proxy) = &remote.proxy {
            self.put("http", "proxy", proxy);
        }
        // Whoever named the directory means it, whoever owns it.
        if let Some(directory) = remote.url.directory() {
            for directory in [directory.to_owned(), format!("{directory}/.git")] {
                self.put("safe", "directory", &directory);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::Limits;
    use crate::lock::{Lock, Taken};

    #[test]
    fn a_git_without_a_remote_ends_too_when_it_is_not_wanted_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let Taken::Here(lock) = Lock::take(&dir.path().join("update.lk"), true).unwrap() else {
            panic!("somebody holds it");
        };
        let stop = Arc::new(AtomicBool::new(true));
        let watch = Arc::new(Watch::new(lock, Limits::default(), stop));
        let mut long = command("sleep");
        long.arg("600");
        let began = Instant::now();
        let error = local(long, None, "gc", &watch).unwrap_err();
        assert!(matches!(error, GitError::Stopped), "{error}");
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
