//! Modes of files as people write them: `0644`, `'644'`, `644`, `keep`.

use halite_call::python;
use halite_call::replace::umask;
use halite_proto::Value;

/// A mode as Salt writes it: at least four digits, no quotes, no `0o`.
/// Nothing for `None`.
pub(crate) fn normalize(value: &Value) -> Option<String> {
    if value.is_nil() {
        return None;
    }
    let text = python::str(value);
    let text = text.trim_matches(['"', '\'']);
    let text = text.strip_prefix("0o").unwrap_or(text);
    let text = text.trim_start_matches('0');
    Some(format!("{text:0>4}"))
}

/// The bits of a mode in octal; nothing if it is none.
pub(crate) fn parse(mode: &str) -> Option<u32> {
    let digits = mode.strip_prefix("0o").unwrap_or(mode);
    if digits.is_empty() {
        return Some(0);
    }
    u32::from_str_radix(digits, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777)
}

/// The four digits of a mode.
pub(crate) fn digits(mode: u32) -> String {
    format!("{:04o}", mode & 0o7777)
}

/// The bits of a mode that somebody has to have.
///
/// # Errors
/// When it is none.
pub(crate) fn parse_or_invalid(mode: &str) -> std::io::Result<u32> {
    parse(mode).ok_or_else(|| std::io::Error::from_raw_os_error(nix::libc::EINVAL))
}

/// What a new file has where nobody says: all may read and write, but for the
/// mask of the process.
pub(crate) fn default_mode() -> u32 {
    0o666 & !umask()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_four_digits_however_they_are_written() {
        for (given, want) in [
            (Value::from(644), "0644"),
            (Value::from("0644"), "0644"),
            (Value::from("00644"), "0644"),
            (Value::from("'600'"), "0600"),
            (Value::from("0o755"), "0755"),
            (Value::from("4755"), "4755"),
            (Value::from("abc"), "0abc"),
            (Value::from(0), "0000"),
        ] {
            assert_eq!(normalize(&given).as_deref(), Some(want));
        }
        assert_eq!(normalize(&Value::Nil), None);
        assert_eq!(parse("0644"), Some(0o644));
        assert_eq!(parse("08"), None);
    }
}
