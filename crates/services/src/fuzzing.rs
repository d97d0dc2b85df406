//! Gives the fuzz targets access to the private parsers of this crate; no
//! interface.

use crate::cron::tab::{Entry, Tab, When};

/// A crontab: what is written runs the same commands at the same times, and
/// what is left alone is there as it was.
///
/// # Panics
/// When it does not.
pub fn crontab(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let tab = Tab::parse(&text);
    let again = Tab::parse(&tab.text());
    assert_eq!(again.pre, tab.pre);
    assert_eq!(runs(&again.crons), runs(&tab.crons));
    assert_eq!(runs(&again.special), runs(&tab.special));
}

fn runs(entries: &[Entry]) -> Vec<(&When, &str, bool)> {
    entries
        .iter()
        .map(|entry| (&entry.when, entry.cmd.as_str(), entry.commented))
        .collect()
}
