//! Decodes the event stream of another API, for the fuzz targets.

use super::sse::Reader;
use crate::event_text::Text;

/// Reads a stream at once and in pieces: both have the same records, and each record
/// is one of ours again.
pub(crate) fn event_stream(bytes: &[u8]) {
    let whole = Reader::default().take(bytes).unwrap_or_default();
    let mut reader = Reader::default();
    let pieces = bytes
        .chunks(3)
        .flat_map(|piece| reader.take(piece).unwrap_or_default());
    assert!(
        pieces.eq(whole.iter().cloned()),
        "the pieces make another stream"
    );
    for record in whole {
        let Some(text) = Text::from_record(&record.tag, &record.json) else {
            continue;
        };
        let again = Reader::default().take(&text.record()).unwrap_or_default();
        assert_eq!(again.len(), 1, "a record is not one record");
    }
}
