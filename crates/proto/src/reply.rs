//! The reply to a sealed request, before it is opened.

use crate::limits::Limits;
use crate::msgpack::{Reading, UnpackError, string_in, unpack_with, wire_bytes_head};
use crate::{PackError, Refusal, Value};

/// What comes back to a request that was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A sealed answer, still to be opened.
    Sealed(Vec<u8>),
    /// The request was not handled.
    Refused(Refusal),
    /// An answer in the clear: what `_pillar` gets, and errors of old masters.
    Clear(Value),
}

impl Reply {
    /// Reads the reply to a sealed request.
    ///
    /// # Errors
    /// When it is not msgpack.
    pub fn decode(packed: &[u8]) -> Result<Self, UnpackError> {
        unpack_with(packed, Reading::Wire, &Limits::MESSAGE).map(Self::from_value)
    }

    /// The sealed answer in a packed reply, where it lies; `None` for what has to
    /// be read as a whole.
    pub fn sealed_in(packed: &[u8]) -> Option<&[u8]> {
        // A refusal may be a text. It is a short one, and no ciphertext is text.
        string_in(packed).filter(|content| std::str::from_utf8(content).is_err())
    }

    /// Where the large answer begins in a reply that is one; it goes to the end.
    pub fn large_at(packed: &[u8]) -> Option<usize> {
        let content = string_in(packed.strip_prefix(LARGE)?)?;
        Some(packed.len() - content.len())
    }

    /// The reply that an unpacked value is.
    pub fn from_value(value: Value) -> Self {
        if let Some(refusal) = Refusal::from_value(&value) {
            return Self::Refused(refusal);
        }
        match value {
            Value::Bytes(bytes) => Self::Sealed(bytes),
            Value::Str(text) => Self::Sealed(text.into_bytes()),
            other => Self::Clear(other),
        }
    }

    /// The reply as it travels.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Sealed(bytes) => Value::Bytes(bytes.clone()),
            Self::Refused(refusal) => refusal.to_value(),
            Self::Clear(value) => value.clone(),
        }
    }
}

/// Packs a sealed answer: ciphertext as one byte string.
///
/// # Errors
/// When it is longer than the format can hold.
pub fn encode_sealed(ciphertext: &[u8]) -> Result<Vec<u8>, PackError> {
    let mut packed = sealed_head(ciphertext.len())?;
    packed.extend_from_slice(ciphertext);
    Ok(packed)
}

/// What stands before a sealed answer of `len` bytes.
///
/// # Errors
/// When it is longer than the format can hold.
pub fn sealed_head(len: usize) -> Result<Vec<u8>, PackError> {
    wire_bytes_head(len)
}

/// The packed beginning of a large answer, which only a Halite peer that has
/// asked for one gets: a map of one field.
const LARGE: &[u8] = b"\x81\xa5large";

/// What stands before a large answer of `len` bytes.
///
/// # Errors
/// When it is longer than the format can hold.
pub fn large_head(len: usize) -> Result<Vec<u8>, PackError> {
    let head = wire_bytes_head(len)?;
    Ok([LARGE, &head].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::pack_wire;

    #[test]
    fn a_reply_is_told_from_a_refusal() {
        let sealed = encode_sealed(&[0xff; 48]).unwrap();
        assert_eq!(Reply::decode(&sealed), Ok(Reply::Sealed(vec![0xff; 48])));
        assert_eq!(Reply::sealed_in(&sealed), Some(&[0xff; 48][..]));
        let refused = pack_wire(&"bad load".into()).unwrap();
        assert_eq!(
            Reply::decode(&refused),
            Ok(Reply::Refused(Refusal::BadLoad))
        );
        assert_eq!(Reply::sealed_in(&refused), None);
    }

    #[test]
    fn a_large_answer_is_none_of_the_others() {
        let content = vec![0xff; 70_000];
        let packed = [large_head(content.len()).unwrap(), content.clone()].concat();
        let at = Reply::large_at(&packed).unwrap();
        assert_eq!(packed[at..], content);
        assert_eq!(Reply::sealed_in(&packed), None);
        assert!(matches!(Reply::decode(&packed), Ok(Reply::Clear(_))));
        assert_eq!(Reply::large_at(&packed[..packed.len() - 1]), None);
        let sealed = encode_sealed(&content).unwrap();
        assert_eq!(Reply::large_at(&sealed), None);
    }
}
