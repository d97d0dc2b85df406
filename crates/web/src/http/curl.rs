//! One request, and the server's complete answer.

use std::process::Output;

use halite_call::curl::{self, CurlConfig};
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
    pub(super) config: CurlConfig,
    /// Redirections are not followed: they are the answer.
    pub(super) stays: bool,
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
    let config = &mut request.config;
    for name in ["silent", "show-error", "verbose", "globoff", "location"] {
        config.switch(name);
    }
    config.switch("suppress-connect-headers");
    let redirections = if request.stays { 0 } else { REDIRECTS_MAX };
    config.option("max-redirs", &redirections.to_string());
    config.option("max-filesize", &BODY_BYTES_MAX.to_string());
    config.option("proto", "=http,https");
    config.option("header", "Expect:");
    config.option("dump-header", "-");
    config.option(
        "write-out",
        &format!("{MARK}%{{http_code}} %{{size_download}}"),
    );
    let mut program = child::command(program);
    let program = program
        // Nobody's configuration but what it reads.
        .arg("--disable")
        .env_clear()
        .envs(call.job.env.all());
    let done = curl::run(program, config, call.cancel())
        .map_err(|error| CallError::command(format!("curl: {error}")))?;
    if call.cancel().ended_by().is_some() {
        return Err(ended(call));
    }
    Ok(understood(&done))
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
    fn the_last_head_counts() {
        let text = "HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\nHTTP/2 200\r\nset-cookie: a\r\nSet-Cookie: b\r\n\r\n";
        let (reason, headers) = head_of(text);
        assert_eq!(reason, "");
        assert_eq!(headers, [("Set-Cookie".to_owned(), "a,b".to_owned())]);
    }
}
