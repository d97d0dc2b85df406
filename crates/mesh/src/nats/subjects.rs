//! The names that a cluster uses on the engine: `halite.CLUSTER.` and what follows.
//!
//! Pure. Invariant: two peers, or two clusters, never have the same subject,
//! whatever characters are in their names.

use std::fmt::Write as _;

use crate::peer::PeerId;

/// The names of one cluster.
#[derive(Debug, Clone)]
pub(crate) struct Subjects {
    prefix: String,
    stream: String,
    register_stream: String,
}

/// An end of a link through the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Who has dialled.
    Dialler,
    /// Who was dialled.
    Listener,
}

impl Subjects {
    pub(crate) fn new(cluster: &str) -> Self {
        let cluster = token(cluster);
        Self {
            prefix: format!("halite.{cluster}"),
            stream: format!("HALITE_{cluster}"),
            // Never the name of a stream above: those have `_` there.
            register_stream: format!("HALITE-LEASE_{cluster}"),
        }
    }

    /// The stream that keeps what masters tell.
    pub(crate) fn stream(&self) -> &str {
        &self.stream
    }

    /// The stream that keeps the register.
    pub(crate) fn register_stream(&self) -> String {
        self.register_stream.clone()
    }

    /// Where the register is set.
    pub(crate) fn register(&self) -> String {
        format!("{}.lease", self.prefix)
    }

    /// What a master tells all others.
    pub(crate) fn told_by(&self, peer: &PeerId) -> String {
        format!("{}.told.{}", self.prefix, token(peer.as_str()))
    }

    /// What all masters tell.
    pub(crate) fn told_by_all(&self) -> String {
        format!("{}.told.*", self.prefix)
    }

    /// Who has told something under a subject.
    pub(crate) fn teller(&self, subject: &str) -> Option<PeerId> {
        let rest = subject.strip_prefix(&self.prefix)?;
        let name = untoken(rest.strip_prefix(".told.")?)?;
        PeerId::parse(&name).ok()
    }

    /// Where a master hears of links to it.
    pub(crate) fn open(&self, peer: &PeerId) -> String {
        format!("{}.open.{}", self.prefix, token(peer.as_str()))
    }

    /// What one end of a link says.
    pub(crate) fn said_by(&self, end: End, link: u128) -> String {
        let end = match end {
            End::Dialler => "d",
            End::Listener => "l",
        };
        format!("{}.link.{link:032x}.{end}", self.prefix)
    }
}

/// A name as one token of a subject, and as a part of the name of a stream.
fn token(name: &str) -> String {
    let mut token = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => token.push(char::from(byte)),
            _ => {
                let _ = write!(token, "_{byte:02x}");
            }
        }
    }
    token
}

fn untoken(token: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'_' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let (digits, after) = after.split_first_chunk::<2>()?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_token_and_comes_back() {
        let subjects = Subjects::new("my.cluster *");
        assert_eq!(subjects.stream(), "HALITE_my_2ecluster_20_2a");
        for name in ["m1", "10.27.12.13", "a_b", "a_5fb", "m-2.example"] {
            let peer = PeerId::parse(name).unwrap();
            let subject = subjects.told_by(&peer);
            assert_eq!(subject.split('.').count(), 4, "{subject}");
            assert_eq!(subjects.teller(&subject), Some(peer));
        }
        for foreign in [
            "halite.other.told.m1",
            "halite.my_2ecluster_20_2a.open.m1",
            "halite.my_2ecluster_20_2a.told.m_zz",
            "halite.my_2ecluster_20_2a.told._2e_2e_2fa",
        ] {
            assert_eq!(subjects.teller(foreign), None, "{foreign}");
        }
    }
}
