//! Which piece of a file `cp.recv_chunked` gets, given by its argument `append`
//! between Halite peers. To a minion of Salt the first is false and the others are
//! true, which is what Salt's own `salt-cp` sends.

use std::fmt;

/// Where a piece of several belongs.
///
/// The job of the first piece names the copy, since Salt's minions leave no
/// room in that piece for anything else: pieces of several copies to one place
/// never meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PiecePosition<'a> {
    /// The beginning.
    First,
    /// Neither the first nor the last.
    More(Behind<'a>),
    /// The file is whole with it.
    Last(Behind<'a>),
}

/// Where a piece belongs that is not the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind<'a> {
    /// The job of the first piece.
    pub first: &'a str,
    /// How many bytes are before it.
    pub loc: u64,
}

impl<'a> PiecePosition<'a> {
    /// Reads the argument; nothing if it says something else.
    pub fn parse(text: &'a str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::First);
        }
        let (place, behind) = text.split_once(':')?;
        let (first, loc) = behind.split_once(':')?;
        let loc = loc.parse().ok()?;
        // It becomes a part of a file's name.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if !first.chars().all(is_plain) {
            return None;
        }
        let behind = Behind { first, loc };
        match place {
            "more" => Some(Self::More(behind)),
            "last" => Some(Self::Last(behind)),
            _ => None,
        }
    }
}

impl fmt::Display for PiecePosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, Behind { first, loc }) = match self {
            Self::First => return Ok(()),
            Self::More(behind) => ("more", behind),
            Self::Last(behind) => ("last", behind),
        };
        write!(f, "{place}:{first}:{loc}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let behind = Behind {
            first: "20260101000000000001",
            loc: 65_536,
        };
        for place in [
            PiecePosition::First,
            PiecePosition::More(behind),
            PiecePosition::Last(behind),
        ] {
            assert_eq!(PiecePosition::parse(&place.to_string()), Some(place));
        }
        for other in [
            "yes",
            "more",
            "more:1",
            "more:1:x",
            "more:1:-1",
            "more:../1:2",
            "past:1:2",
        ] {
            assert_eq!(PiecePosition::parse(other), None, "{other}");
        }
    }
}
