//! Parsing a server's answer.

use crate::RangeError;
use crate::limits::HOSTS_MAX;

/// The hosts of an answer's body.
pub(crate) fn hosts(body: &[u8]) -> Result<Vec<String>, RangeError> {
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

/// A text of the server's for people: one line, not endless.
pub(crate) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_stand_one_a_line() {
        assert_eq!(
            hosts(b"web1.a\r\n\nweb2.a\n").unwrap(),
            ["web1.a", "web2.a"]
        );
        assert!(hosts(b"").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_list_of_hosts_is_an_error() {
        for body in [&b"<html> <p>"[..], b"a,b", b"a b", b"\xff"] {
            let error = hosts(body).unwrap_err().to_string();
            assert_eq!(error, "the range server's answer is not a list of hosts");
        }
    }
}
