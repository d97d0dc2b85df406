//! The mounted file systems.

use std::fs;

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is.
    pub directory: String,
    /// Of which kind it is.
    pub kind: String,
}

/// What is mounted on this machine; nothing if `/proc` cannot be read.
pub fn read() -> Vec<Mount> {
    parse(&fs::read_to_string("/proc/mounts").unwrap_or_default())
}

fn parse(text: &str) -> Vec<Mount> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            Some(Mount {
                directory: unescape(words.next()?),
                kind: words.next()?.to_owned(),
            })
        })
        .collect()
}

/// Blanks and the like are written as `\040`.
fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let code = after
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                rest = &after[3..];
            }
            None => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_in_names_are_read() {
        let mounts = parse("/dev/sda1 /mnt/my\\040disk ext4 rw 0 0\n");
        assert_eq!(
            mounts,
            [Mount {
                directory: "/mnt/my disk".to_owned(),
                kind: "ext4".to_owned(),
            }]
        );
    }
}
