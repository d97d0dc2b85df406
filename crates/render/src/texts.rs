//! Texts before and after rendering: their names, whether they are texts at all,
//! and places in them.

use std::path::Path;

use halite_yaml::{SourceLocation, Span};

use crate::error::{ErrorKind, RenderError};
use crate::limits::TEXT_BYTES_MAX;

/// The byte at a place of a text.
pub(crate) fn offset_of(text: &str, span: Span) -> usize {
    let number = |count: u32| usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines.by_ref().take(number(span.line)).map(str::len).sum();
    let line = lines.next().unwrap_or_default();
    let within: usize = line
        .chars()
        .take(number(span.column))
        .map(char::len_utf8)
        .sum();
    before + within
}

pub(crate) fn name_of(path: Option<&Path>, sls: &str) -> String {
    match path {
        Some(path) => path.display().to_string(),
        None if sls.is_empty() => "<text>".to_owned(),
        None => sls.to_owned(),
    }
}

pub(crate) fn text_of<'b>(bytes: &'b [u8], name: &str) -> Result<&'b str, RenderError> {
    if bytes.len() > TEXT_BYTES_MAX {
        let message = format!("{name} has more than {TEXT_BYTES_MAX} bytes");
        return Err(RenderError::new(ErrorKind::Limit, message));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let byte = bytes.get(at).copied().unwrap_or_default();
        let good = String::from_utf8_lossy(bytes.get(..at).unwrap_or_default());
        let line = good.matches('\n').count() + 1;
        let column = good
            .rsplit('\n')
            .next()
            .map_or(1, |last| last.chars().count() + 1);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let span = Span {
            line: number(line),
            column: number(column),
        };
        let message = format!(
            "'utf-8' codec can't decode byte {byte:#04x} in position {at}: invalid start byte"
        );
        RenderError::new(ErrorKind::Data, message)
            .foreign("UnicodeDecodeError")
            .at(Some(SourceLocation::new(name, &good, span)))
    })
}

/// A template with Windows' line ends gives a text with them.
pub(crate) fn with_newlines_of(source: &str, text: String) -> String {
    if source.contains("\r\n") && !text.contains("\r\n") {
        text.replace('\n', "\r\n")
    } else {
        text
    }
}
