//! Reads the event stream of another API.
//!
//! Pure. Invariant: whatever the bytes, a record has a tag and data of one line
//! each, and the memory for an unfinished line is bounded.

use crate::limits::{COMMENT_BYTES_MAX, RELAYED_EVENT_BYTES_MAX};

/// A record of a stream, as it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) tag: String,
    /// Tag and data as JSON.
    pub(super) json: String,
}

/// A line of a stream is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {RELAYED_EVENT_BYTES_MAX} bytes")]
pub(super) struct TooLong;

/// The bytes of a stream, so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    line: Vec<u8>,
    tag: Option<String>,
    json: Option<String>,
    /// The last comment that is not empty: an API reports dropped events in it.
    pub(super) comment: Option<String>,
}

impl Reader {
    /// The records that end with these bytes.
    ///
    /// # Errors
    /// When a line is too long: the stream is of no use any more.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Record>, TooLong> {
        let mut records = Vec::new();
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            if self.line.len() + part.len() > RELAYED_EVENT_BYTES_MAX {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            if parts.peek().is_some() {
                let line = std::mem::take(&mut self.line);
                records.extend(self.line(&line));
            }
        }
        Ok(records)
    }

    /// Handles a line; returns the record that it ends, if it is the empty line behind
    /// one.
    fn line(&mut self, line: &[u8]) -> Option<Record> {
        let line = std::str::from_utf8(line).ok()?.trim_end_matches('\r');
        if line.is_empty() {
            let (tag, json) = (self.tag.take(), self.json.take());
            let json = json.filter(|json| json.starts_with('{'))?;
            return Some(Record { tag: tag?, json });
        }
        // Within a line no other line break may hide.
        if line.contains('\r') {
            return None;
        }
        if let Some(tag) = line.strip_prefix("tag: ") {
            self.tag = Some(tag.to_owned());
        } else if let Some(json) = line.strip_prefix("data: ") {
            self.json = Some(json.to_owned());
        } else if let Some(comment) = line.strip_prefix(": ") {
            self.comment = Some(short(comment));
        }
        None
    }
}

/// The beginning of a comment, for the log.
fn short(comment: &str) -> String {
    let end = comment.floor_char_boundary(COMMENT_BYTES_MAX);
    let short = comment.get(..end).unwrap_or_default();
    short.chars().filter(|char| !char.is_control()).collect()
}

/// How many events a stream has lost, as a comment of ours says it.
pub(super) fn lost(comment: &str) -> Option<u64> {
    let (count, _) = comment.split_once(" events were dropped")?;
    count.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(pieces: &[&str]) -> Vec<(String, String)> {
        let mut reader = Reader::default();
        let all = pieces.iter().flat_map(|piece| {
            let records = reader.take(piece.as_bytes());
            records.unwrap()
        });
        all.map(|record| (record.tag, record.json)).collect()
    }

    #[test]
    fn a_stream_is_read_however_it_is_cut() {
        let stream = "retry: 400\n:\n\ntag: a/b\ndata: {\"tag\": \"a/b\"}\n\n: 3 events were \
                      dropped\n\ntag: c\r\ndata: {}\r\n\r\n";
        let expected = vec![
            ("a/b".to_owned(), "{\"tag\": \"a/b\"}".to_owned()),
            ("c".to_owned(), "{}".to_owned()),
        ];
        assert_eq!(records(&[stream]), expected);
        let letters: Vec<String> = stream.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(records(&letters), expected);
    }

    #[test]
    fn a_comment_says_what_was_lost_and_is_short() {
        let mut reader = Reader::default();
        let said = b": 3 events were dropped: this stream is too slow\n\n";
        assert_eq!(reader.take(said), Ok(Vec::new()));
        assert_eq!(reader.comment.take().as_deref().and_then(lost), Some(3));
        let long = format!(": \u{1b}[2J{}\n", "\u{e4}".repeat(COMMENT_BYTES_MAX));
        assert_eq!(reader.take(long.as_bytes()), Ok(Vec::new()));
        let comment = reader.comment.take().unwrap();
        assert!(comment.len() <= COMMENT_BYTES_MAX && comment.starts_with("[2J"));
        assert_eq!(lost(&comment), None);
    }

    #[test]
    fn what_is_no_record_is_dropped() {
        let bad = [
            "tag: a\n\n",
            "data: {}\n\n",
            "tag: a\ndata: x\n\n",
            "tag: a\ndata: {\"x\":\rtag: b\n\n",
        ];
        assert_eq!(records(&bad), []);
    }

    #[test]
    fn an_unfinished_line_is_bounded() {
        let mut reader = Reader::default();
        let piece = vec![b'x'; RELAYED_EVENT_BYTES_MAX / 2];
        assert_eq!(reader.take(&piece), Ok(Vec::new()));
        assert_eq!(reader.take(&piece), Ok(Vec::new()));
        assert_eq!(reader.take(b"x"), Err(TooLong));
    }
}
