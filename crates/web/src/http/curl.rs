//! One request through the system's `curl`, so that proxies and certificates
//! are those of the machine.
//!
//! Invariant: what is asked, and with which password, is told to `curl` on its
//! standard input, where no list of processes shows it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Output, Stdio};

use halite_call::{Call, CallError};
use halite_process::child;

use super::ended;

/// Redirections that are followed.
const REDIRECTS_MAX: u32 = 5;

/// Bytes of an answer; a longer one is an error.
const BODY_BYTES_MAX: u64 = 100 * 1024 * 1024;

/// Before what `curl` says of the transfer.
const MARK: &str = "\nhalite-http-query ";

/// What is asked.
#[derive(Debug, Default)]
pub(super) struct Request {
    options: Vec<String>,
    /// Redirections are not followed: they are the answer.
    pub(super) stays: bool,
}

impl Request {
    /// Adds a switch.
    pub(super) fn switch(&mut self, name: &str) {
        self.options.push(name.to_owned());
    }

    /// Adds an option with its value.
    pub(super) fn option(&mut self, name: &str, value: &str) {
        let mut quoted = String::with_capacity(value.len() + 2);
        for c in value.chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                '\t' => quoted.push_str("\\t"),
                '\u{b}' => quoted.push_str("\\v"),
                c => quoted.push(c),
            }
        }
        self.options.push(format!("{name} = \"{quoted}\""));
    }
}

/// What a server said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) reason: String,
    /// Names as servers usually write them, each once.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Fault {
    /// The time was over.
    Timeout(&'static str),
    /// The connection was not made, or broke.
    Connection(String),
}

/// Asks.
///
/// # Errors
/// The outer one when there is no `curl`, or the job ended.
pub(super) fn ask(
    call: &Call<'_>,
    mut request: Request,
) -> Result<Result<Answer, Fault>, CallError> {
    let Some(program) = call.host().which("curl") else {
        return Err(CallError::command("there is no curl on this machine"));
    };
    for name in ["silent", "show-error", "verbose", "globoff", "location"] {
        request.switch(name);
    }
    request.switch("suppress-connect-headers");
    let redirections = if request.stays { 0 } else { REDIRECTS_MAX };
    request.option("max-redirs", &redirections.to_string());
    request.option("max-filesize", &BODY_BYTES_MAX.to_string());
    request.option("proto", "=http,https");
    request.option("header", "Expect:");
    request.option("dump-header", "-");
    request.option(
        "write-out",
        &format!("{MARK}%{{http_code}} %{{size_download}}"),
    );
    let done = run(call, &program, &request)?;
    if call.cancel().ended_by().is_some() {
        return Err(ended(call));
    }
    Ok(understood(&done))
}

fn run(call: &Call<'_>, program: &std::path::Path, request: &Request) -> Result<Output, CallError> {
    let failed = |error: std::io::Error| CallError::command(format!("curl: {error}"));
    let mut child = child::command(program)
        // Nobody's configuration, and all of it from standard input.
        .args(["--disable", "--config", "-"])
        .env_clear()
        .envs(call.job.env.all())
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let group = i32::try_from(child.id()).unwrap_or(i32::MAX);
    let guard = call.cancel().watch(group);
    let mut text = request.options.join("\n");
    text.push('\n');
    // All of it is read before curl begins; one that ended says so itself.
    let written = child
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
    if let Err(error) = written {
        tracing::debug!(%error, "curl did not read its configuration");
    }
    let done = child.wait_with_output();
    drop(guard);
    done.map_err(failed)
}

fn understood(done: &Output) -> Result<Answer, Fault> {
    let complaints = String::from_utf8_lossy(&done.stderr);
    let code = done.status.code().unwrap_or(-1);
    let at = done
        .stdout
        .windows(MARK.len())
        .rposition(|window| window == MARK.as_bytes());
    let (data, about) = done.stdout.split_at(at.unwrap_or(done.stdout.len()));
    let about = String::from_utf8_lossy(about.get(MARK.len()..).unwrap_or_default()).into_owned();
    let (status, size) = about.split_once(' ').unwrap_or_default();
    let (status, size) = (status.parse().unwrap_or(0), size.parse().unwrap_or(0));
    // Too many redirections: the last of them is the answer.
    if (code == 0 || code == 47) && status != 0 {
        let (head, body) = data.split_at(data.len().saturating_sub(size));
        let (reason, headers) = head_of(&String::from_utf8_lossy(head));
        return Ok(Answer {
            status,
            reason,
            headers,
            body: body.to_vec(),
        });
    }
    Err(match code {
        6 => Fault::Connection("[Errno -2] Name or service not known".to_owned()),
        7 if complaints.contains("Connection refused") => {
            Fault::Connection("[Errno 111] Connection refused".to_owned())
        }
        28 if complaints.contains("Connected to") => Fault::Timeout("Timeout during request"),
        28 => Fault::Timeout("Timeout while connecting"),
        _ => {
            let said = complaints.lines().rev().find_map(|line| {
                let (_, rest) = line.strip_prefix("curl: (")?.split_once(") ")?;
                Some(rest.to_owned())
            });
            Fault::Connection(said.unwrap_or_else(|| format!("curl ended with {code}")))
        }
    })
}

/// The reason and the headers of the last answer of several.
fn head_of(text: &str) -> (String, Vec<(String, String)>) {
    let (mut reason, mut headers) = (String::new(), Vec::<(String, String)>::new());
    for line in text.lines() {
        if line.starts_with("HTTP/") {
            headers.clear();
            reason = line.splitn(3, ' ').nth(2).unwrap_or_default().to_owned();
        } else if let Some((name, value)) = line.split_once(':') {
            let (name, value) = (capitalised(name.trim()), value.trim());
            match headers.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => {
                    known.push(',');
                    known.push_str(value);
                }
                None => headers.push((name, value.to_owned())),
            }
        }
    }
    (reason, headers)
}

/// `x-two-b` is `X-Two-B`.
fn capitalised(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        format!("{}{}", first.to_uppercase(), rest.to_lowercase())
    });
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_become_options() {
        let mut request = Request::default();
        request.option("header", "a\"\nurl = \"x\\");
        assert_eq!(request.options, ["header = \"a\\\"\\nurl = \\\"x\\\\\""]);
    }

    #[test]
    fn the_last_head_counts() {
        let text = "HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\nHTTP/2 200\r\nset-cookie: a\r\nSet-Cookie: b\r\n\r\n";
        let (reason, headers) = head_of(text);
        assert_eq!(reason, "");
        assert_eq!(headers, [("Set-Cookie".to_owned(), "a,b".to_owned())]);
    }
}
