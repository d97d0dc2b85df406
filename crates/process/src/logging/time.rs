//! The wall clock of a log line.

use jiff::Zoned;
use jiff::fmt::strtime;

/// The moment an event is written.
pub(crate) struct Moment(Zoned);

impl Moment {
    pub(crate) fn now() -> Self {
        Self(Zoned::now())
    }

    /// In the notation of `strftime`; an unknown directive gives ISO form.
    pub(crate) fn format(&self, format: &str) -> String {
        strtime::format(format, &self.0).unwrap_or_else(|_| self.0.to_string())
    }

    pub(crate) fn milliseconds(&self) -> i64 {
        self.0.millisecond().into()
    }

    pub(crate) fn seconds(&self) -> i64 {
        self.0.timestamp().as_second()
    }
}
