//! The form of addresses in logs and answers: without passwords.

/// A text with no name and no password in the addresses that it names.
#[must_use]
pub fn redacted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(['/', ' ', '\'', '"', '\n'])
            .unwrap_or(after.len());
        let (host, tail) = after.split_at(end);
        match host.rsplit_once('@') {
            Some((_, host)) => {
                out.push_str("<redacted>@");
                out.push_str(host);
            }
            None => out.push_str(host),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn no_login_is_shown() {
        assert_eq!(
            redacted("x https://a:b@h/p 'http://c@d'"),
            "x https://<redacted>@h/p 'http://<redacted>@d'"
        );
        assert_eq!(redacted("git@h:p.git"), "git@h:p.git");
        assert_eq!(redacted("http://h/a@b"), "http://h/a@b");
        assert_eq!(redacted("http://h?q=a@b"), "http://<redacted>@b");
    }
}
