//! What a server has answered, byte by byte.

use crate::RangeError;
use crate::limits::HOSTS_MAX;

/// The hosts of a whole answer of HTTP.
pub(crate) fn hosts(answer: &[u8]) -> Result<Vec<String>, RangeError> {
    let (head, body) = split(answer).ok_or(RangeError::NotHttp)?;
    let head = std::str::from_utf8(head).map_err(|_| RangeError::NotHttp)?;
    let mut lines = head.lines();
    let status = lines.next().and_then(status).ok_or(RangeError::NotHttp)?;
    let mut length = None;
    let mut is_plain = true;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "rangeexception" => return Err(RangeError::Refused(shown(value))),
            "content-length" => length = value.parse().ok(),
            "transfer-encoding" => is_plain = value.eq_ignore_ascii_case("identity"),
            _ => {}
        }
    }
    if status != 200 {
        return Err(RangeError::Status(status));
    }
    if !is_plain || length.is_some_and(|length: usize| body.len() < length) {
        return Err(RangeError::Incomplete);
    }
    let body = body.get(..length.unwrap_or(body.len())).unwrap_or(body);
    let text = std::str::from_utf8(body).map_err(|_| RangeError::NotHosts)?;
    let hosts: Vec<String> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    if hosts.len() > HOSTS_MAX {
        return Err(RangeError::TooLarge);
    }
    // A page of HTML from some other server is no list of hosts.
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, ',' | '<' | '>');
    if hosts.iter().any(|host| host.contains(is_odd)) {
        return Err(RangeError::NotHosts);
    }
    Ok(hosts)
}

fn split(answer: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    Some((answer.get(..at)?, answer.get(at + 4..)?))
}

fn status(line: &str) -> Option<u16> {
    let mut words = line.strip_prefix("HTTP/1.")?.split(' ');
    words.next()?;
    words.next()?.parse().ok()
}

/// A text of the server's for people: one line, not endless.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &str) -> Result<Vec<String>, String> {
        hosts(answer.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn hosts_stand_one_a_line() {
        let found = read("HTTP/1.1 200 OK\r\nServer: x\r\n\r\nweb1.a\r\n\nweb2.a\n");
        assert_eq!(found.unwrap(), ["web1.a", "web2.a"]);
        let found = read("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\na\nbcd");
        assert_eq!(found.unwrap(), ["a", "b"]);
        assert!(read("HTTP/1.0 200 OK\r\n\r\n").unwrap().is_empty());
    }

    #[test]
    fn whatever_else_comes_is_an_error() {
        for (answer, text) in [
            (
                "HTTP/1.1 200 OK\r\nrangeexception: NOCLUSTERDEF: %x\r\n\r\n",
                "the range server says: NOCLUSTERDEF: %x",
            ),
            (
                "HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\n\r\n",
                "the range server answers with status 302",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na\nb",
                "the range server's answer is not complete",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n",
                "the range server's answer is not complete",
            ),
            (
                "HTTP/1.1 200 OK\r\n\r\n<html> <p>",
                "the range server's answer is no list of hosts",
            ),
            ("SSH-2.0-x\r\n", "the range server does not speak HTTP"),
            ("", "the range server does not speak HTTP"),
        ] {
            assert_eq!(read(answer).unwrap_err(), text, "{answer}");
        }
    }
}
