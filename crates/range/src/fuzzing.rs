//! Gives the fuzz targets access to the private parsers of this crate; no
//! interface.

use crate::answer;

/// The body of a range server's answer: each host is a word, and a list of them is read
/// as the same list. What a server says for people is one line.
///
/// # Panics
/// When it is not.
pub fn answer(bytes: &[u8]) {
    let shown = answer::shown(&String::from_utf8_lossy(bytes));
    assert!(shown.lines().count() <= 1, "{shown:?}");
    let Ok(hosts) = answer::hosts(bytes) else {
        return;
    };
    let again = answer::hosts(hosts.join("\n").as_bytes());
    assert_eq!(again.ok().as_ref(), Some(&hosts));
    let is_word = |host: &String| !host.is_empty() && host.split_whitespace().count() == 1;
    assert!(hosts.iter().all(is_word), "{hosts:?}");
}
