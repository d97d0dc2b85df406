//! The system's `curl`, so that proxies and certificates are those of the machine.
//!
//! Invariant: `curl` reads the request and the password from its standard input, so
//! they appear in no process list.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use crate::job::Cancel;

/// What `curl` is asked for, in the language of its configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CurlConfig(String);

impl CurlConfig {
    /// Adds a switch.
    pub fn switch(&mut self, name: &str) {
        self.0.push_str(name);
        self.0.push('\n');
    }

    /// Adds an option with its value, which stays one whatever is in it.
    pub fn option(&mut self, name: &str, value: &str) {
        self.0.push_str(name);
        self.0.push_str(" = \"");
        for char in value.chars() {
            match char {
                '"' | '\\' => self.0.extend(['\\', char]),
                '\n' => self.0.push_str("\\n"),
                '\r' => self.0.push_str("\\r"),
                '\t' => self.0.push_str("\\t"),
                '\u{b}' => self.0.push_str("\\v"),
                char => self.0.push(char),
            }
        }
        self.0.push_str("\"\n");
    }
}

/// Runs `curl` with a configuration, beside its arguments, and waits for it. The
/// end of the job ends it.
///
/// # Errors
/// When it cannot be started or waited for.
pub fn run(curl: &mut Command, config: &CurlConfig, cancel: &Cancel) -> io::Result<Output> {
    let mut child = curl
        .args(["--config", "-"])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let guard = cancel.watch(i32::try_from(child.id()).unwrap_or(i32::MAX));
    // All of it is read before curl begins; one that ended says so itself.
    let written = child
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(config.0.as_bytes()));
    if let Err(error) = written {
        tracing::debug!(%error, "curl did not read its configuration");
    }
    let done = child.wait_with_output();
    drop(guard);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_become_options() {
        let mut config = CurlConfig::default();
        config.switch("silent");
        config.option("header", "a\"\nurl = \"x\\");
        config.option("url", "http://u:p@h/\"a\\\noutput = \"/x");
        assert_eq!(
            config.0,
            "silent\nheader = \"a\\\"\\nurl = \\\"x\\\\\"\n\
             url = \"http://u:p@h/\\\"a\\\\\\noutput = \\\"/x\"\n"
        );
    }
}
