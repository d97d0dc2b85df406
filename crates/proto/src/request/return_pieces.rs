//! A large return that a minion sends piece by piece.

use crate::fields::{Fields, MessageError, Put};
use crate::{Map, MinionId, Value};

/// A piece of a return. One without data asks how much the master has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnPiece {
    /// The SHA-256 of the whole, in hexadecimal digits: its name.
    pub parcel: String,
    /// How long the whole is: a `_return` request, packed as it would travel.
    pub bytes: u64,
    /// How much of it is before this piece.
    pub at: u64,
    /// The piece.
    pub data: Vec<u8>,
}

/// What a master says to a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PieceAnswer {
    /// It has so much of the return, without a gap: the next piece begins there.
    Has(u64),
    /// It has no room for pieces now: the return may come whole.
    NoRoom,
    /// It has all of it, and this is its answer to the return.
    Answered(Value),
}

/// Digits of a parcel's name.
const PARCEL_DIGITS: usize = 64;

const HAS: &str = "has";

const ANSWER: &str = "answer";

impl ReturnPiece {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        let piece = Self {
            parcel: fields.need("parcel", Fields::text)?,
            bytes: fields.need("bytes", Fields::uint)?,
            at: fields.need("at", Fields::uint)?,
            data: fields.need("data", Fields::bytes)?,
        };
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if piece.parcel.len() != PARCEL_DIGITS || !piece.parcel.bytes().all(is_digit) {
            return Err(fields.bad_value("parcel", "is no SHA-256"));
        }
        Ok(piece)
    }

    pub(super) fn put(&self, cmd: &'static str, id: &MinionId, map: &mut Map) {
        map.put("cmd", cmd);
        map.put("id", id);
        map.put("parcel", self.parcel.as_str());
        map.put("bytes", self.bytes);
        map.put("at", self.at);
        map.put_bytes("data", self.data.clone());
    }
}

impl PieceAnswer {
    /// As it travels.
    pub fn into_value(self) -> Value {
        let answer = match self {
            Self::Has(bytes) => (HAS, Value::from(bytes)),
            Self::NoRoom => (HAS, Value::Nil),
            Self::Answered(value) => (ANSWER, value),
        };
        Map::from([answer]).into()
    }

    /// Reads it; any other value is the master's answer to the whole return.
    pub fn from_value(value: Value) -> Self {
        let Value::Map(mut map) = value else {
            return Self::Answered(value);
        };
        match (map.remove(HAS), map.remove(ANSWER)) {
            (_, Some(answer)) => Self::Answered(answer),
            (Some(has), None) => match has.as_int().map(u64::try_from) {
                Some(Ok(bytes)) => Self::Has(bytes),
                _ => Self::NoRoom,
            },
            (None, None) => Self::NoRoom,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::MinionRequest;

    #[test]
    fn a_piece_comes_back_as_it_was_and_its_name_is_a_hash() {
        let piece = ReturnPiece {
            parcel: "0a".repeat(32),
            bytes: 100,
            at: 50,
            data: vec![7; 50],
        };
        let id = MinionId::parse("web1").unwrap();
        let mut map = MinionRequest::ReturnPiece(piece.clone()).to_map(&id);
        map.remove("id");
        assert_eq!(
            MinionRequest::from_map(map.clone()),
            Ok(MinionRequest::ReturnPiece(piece))
        );
        for odd in ["", "../../etc", &"0A".repeat(32), &"0a".repeat(33)] {
            map.insert("parcel", odd);
            assert!(MinionRequest::from_map(map.clone()).is_err(), "{odd}");
        }
    }

    #[test]
    fn an_answer_comes_back_as_it_was_and_others_are_those_to_the_return() {
        let answers = [
            PieceAnswer::Has(7),
            PieceAnswer::NoRoom,
            PieceAnswer::Answered(Value::Nil),
            PieceAnswer::Answered("".into()),
        ];
        for answer in answers {
            let value = answer.clone().into_value();
            assert_eq!(PieceAnswer::from_value(value), answer);
        }
        let refused = PieceAnswer::from_value(false.into());
        assert_eq!(refused, PieceAnswer::Answered(false.into()));
        let odd = PieceAnswer::from_value(Map::from([(HAS, -1)]).into());
        assert_eq!(odd, PieceAnswer::NoRoom);
    }
}
