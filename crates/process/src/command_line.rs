//! Hides arguments of this process, such as passwords, from the process list.
//!
//! Invariant: only bytes of the process's own arguments are written, and only
//! where they are the word that is to be hidden.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

/// What stands in place of a hidden value, as far as there is room.
const MASK: &[u8] = b"XXXXXXXXXX";

/// The words behind the program's name. The values of `options` (`--password`)
/// are no longer to be seen in the list of processes when this returns; to be
/// called first of all. Where the system does not allow that they stay as they
/// are: that is no reason not to do what was asked.
pub fn words_hiding(options: &[&str]) -> Vec<OsString> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let secrets = secrets(&words, options);
    if !secrets.is_empty() {
        // Nothing is logged yet.
        let _ = hide(&words, &secrets);
    }
    words.into_iter().skip(1).collect()
}

/// A value: in which word, and from which byte of it to its end.
type Secret = (usize, usize);

fn secrets(words: &[OsString], options: &[&str]) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut is_value = false;
    for (index, word) in words.iter().enumerate().skip(1) {
        let bytes = word.as_bytes();
        if std::mem::take(&mut is_value) {
            found.push((index, 0));
        } else if bytes == b"--" {
            break;
        } else if is_one_of(options, bytes) {
            is_value = true;
        } else if let Some(at) = bytes.iter().position(|byte| *byte == b'=')
            && is_one_of(options, bytes.get(..at).unwrap_or_default())
        {
            found.push((index, at + 1));
        }
    }
    found
}

/// Whether a word is the name of one of the options, or the beginning of it
/// that is enough.
fn is_one_of(options: &[&str], word: &[u8]) -> bool {
    const NAME_BYTES_MIN: usize = "--p".len();
    let is = |option: &&str| option.as_bytes().starts_with(word);
    word.len() >= NAME_BYTES_MIN && options.iter().any(is)
}

/// Writes over the values where the kernel looks for the command line. A
/// process may write its own memory through this file; what is there is
/// nobody's but C's `argv`, which is read as bytes that end with a zero.
fn hide(words: &[OsString], secrets: &[Secret]) -> io::Result<()> {
    let begin = arguments_begin()?;
    let memory = File::options()
        .read(true)
        .write(true)
        .open("/proc/self/mem")?;
    for (index, from) in secrets {
        let Some((word, before)) = words.get(*index).zip(words.get(..*index)) else {
            continue;
        };
        let before: usize = before.iter().map(|word| word.len() + 1).sum();
        let value = word.as_bytes().get(*from..).unwrap_or_default();
        let at = begin + (before + from) as u64;
        let mut there = vec![0; value.len()];
        memory.read_exact_at(&mut there, at)?;
        if there != value {
            return Err(io::Error::other("the arguments are elsewhere"));
        }
        there.fill(0);
        for (byte, mask) in there.iter_mut().zip(MASK) {
            *byte = *mask;
        }
        memory.write_all_at(&there, at)?;
    }
    Ok(())
}

/// Where the arguments begin: field 48 of the process's own `stat`.
fn arguments_begin() -> io::Result<u64> {
    const BEHIND_THE_NAME: usize = 45;
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").map(|(_, fields)| fields);
    let begin = fields.and_then(|fields| fields.split(' ').nth(BEHIND_THE_NAME));
    begin
        .and_then(|begin| begin.parse().ok())
        .filter(|begin| *begin != 0)
        .ok_or_else(|| io::Error::other("the place of the arguments is not told"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_however_they_are_given() {
        let found = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            secrets(&words, &["--password"])
        };
        assert_eq!(found("salt --password abc * test.ping"), [(2, 0)]);
        assert_eq!(found("salt --password=abc * test.ping"), [(1, 11)]);
        assert_eq!(found("salt --passw abc --pass=abc"), [(2, 0), (3, 7)]);
        assert_eq!(
            found("salt * test.arg --password= --password --"),
            [(3, 11), (5, 0)]
        );
        assert_eq!(found("salt * test.arg -- --password abc"), []);
        assert_eq!(found("salt * test.arg password=abc --passwords x"), []);
        assert_eq!(found("salt --password"), []);
    }

    #[test]
    fn the_arguments_begin_where_this_programs_name_is() {
        let begin = arguments_begin().unwrap();
        let name = std::env::args_os().next().unwrap();
        let mut there = vec![0; name.len()];
        let memory = File::open("/proc/self/mem").unwrap();
        memory.read_exact_at(&mut there, begin).unwrap();
        assert_eq!(there, name.as_bytes());
    }
}
