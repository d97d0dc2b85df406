//! One frame of a stream, as its reader takes it.

use crate::limits::Limits;
use crate::msgpack::{Head, Heads, Reading, UnpackError, unpack_with};
use crate::stream::FrameError;
use crate::{Map, Value};

/// The field of a frame's head that says that its event was fired before the
/// subscriber came.
pub(crate) const LATE: &str = "late";

/// A frame of the event bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    head: Map,
    body: Value,
}

impl Frame {
    /// Whether it holds an event that was fired before the subscriber came.
    pub fn is_late(&self) -> bool {
        self.head.get(LATE).is_some_and(Value::is_true)
    }

    /// The packed event that it holds.
    ///
    /// # Errors
    /// When the body is not bytes.
    pub fn into_event(self) -> Result<Vec<u8>, FrameError> {
        match self.body {
            Value::Bytes(event) => Ok(event),
            Value::Str(event) => Ok(event.into_bytes()),
            other => Err(FrameError::BodyType(other.type_name())),
        }
    }

    /// The packed event in a frame, where it stands; `None` if it was fired before the
    /// subscriber came.
    ///
    /// # Errors
    /// When the bytes are no frame, or the body is not bytes.
    pub fn new_event(packed: &[u8]) -> Result<Option<&[u8]>, FrameError> {
        let mut heads = Heads::new(packed, Reading::Modern);
        let Head::Map(entries) = heads.head().map_err(FrameError::Unreadable)? else {
            return Err(FrameError::NoBody);
        };
        let (mut body, mut is_late) = (None, false);
        for _ in 0..entries {
            let key = heads.key().map_err(FrameError::Unreadable)?;
            let value = heads.value().map_err(FrameError::Unreadable)?;
            match key {
                Head::Str("body") => body = Some(value),
                // Salt's is empty.
                Head::Str("head") => {
                    let head = unpack_with(value, Reading::Modern, &Limits::MESSAGE);
                    is_late = head.is_ok_and(|head| head.get(LATE).is_some_and(Value::is_true));
                }
                _ => {}
            }
        }
        let mut body = Heads::new(body.ok_or(FrameError::NoBody)?, Reading::Modern);
        match body.head().map_err(FrameError::Unreadable)? {
            _ if heads.left() > 0 => Err(FrameError::Unreadable(UnpackError::Trailing {
                at: heads.at(),
                left: heads.left(),
            })),
            _ if is_late => Ok(None),
            Head::Bytes(event) => Ok(Some(event)),
            Head::Str(event) => Ok(Some(event.as_bytes())),
            other => Err(FrameError::BodyType(other.into_value().type_name())),
        }
    }

    /// Reads one frame.
    ///
    /// # Errors
    /// When the bytes are no frame.
    pub fn decode(packed: &[u8]) -> Result<Self, FrameError> {
        let value = unpack_with(packed, Reading::Modern, &Limits::MESSAGE)
            .map_err(FrameError::Unreadable)?;
        let Value::Map(mut map) = value else {
            return Err(FrameError::NoBody);
        };
        let body = map.remove("body").ok_or(FrameError::NoBody)?;
        let head = match map.remove("head") {
            Some(Value::Map(head)) => head,
            // Salt does not look at it.
            _ => Map::new(),
        };
        Ok(Self { head, body })
    }
}
